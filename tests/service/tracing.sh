# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# tracing.sh - what the tests of tools that attach programs have in common
#
# Sourced after checks.sh. The whole test is in a mount namespace of its own, with a
# file system for pins that no other test has.

# shellcheck disable=SC2154 # of checks.sh
if ((EUID != 0)) || ! unshare --mount true 2>/dev/null; then
	echo 'programs are attached, and file systems mounted, by root'
	exit 77
fi
if [[ ! ${SKUA_OWN_MOUNTS-} ]]; then
	rm -rf "$scratch"
	SKUA_OWN_MOUNTS=1 exec unshare --mount bash "$0" "$@"
fi
if ! mount -t bpf none /sys/fs/bpf; then
	echo 'no BPF file system can be mounted'
	exit 77
fi

skua=$(realpath "$build/bpf/skua")
watched=$(realpath "$build/tests/programs/watched")
needs "$skua"
needs "$watched"

# begin_trace NAME ARG... - skua trace in the background, attached; it is ended by
# end_trace NAME, or by itself, and $scratch/NAME.json has what it printed
begin_trace()
{
	local name=$1
	shift
	: >"$scratch/$name.err"
	"${tested[@]}" trace --json "$@" >"$scratch/$name.json" \
		2>"$scratch/$name.err" &
	pids[$name]=$!
	await_line "$name" '^tracing' "$scratch/$name.err"
}

end_trace()
{
	kill "${pids[$1]}"
	code=0
	wait "${pids[$1]}" || code=$?
	cp "$scratch/$1.json" "$scratch/out"
	cp "$scratch/$1.err" "$scratch/err"
}

# semaphores NAME up|down - of the program that was started so
semaphores()
{
	python3 -B tests/service/semaphores.py "${pids[$1]}" "$watched" "$2" \
		>"$scratch/out" 2>"$scratch/err"
	code=$?
	expect "semaphores of $1 are $2" exited 0
}

# make_older - $scratch/older.so, with which the kernel has no uprobe_multi
make_older()
{
	"${CC:-cc}" -shared -fPIC -o "$scratch/older.so" -x c - -ldl <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdarg.h>
#include <sys/syscall.h>

long syscall(long number, ...)
{
	long (*next)(long, ...) = dlsym(RTLD_NEXT, "syscall");
	long a[6];
	va_list list;

	va_start(list, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(list, long);
	va_end(list);
	if (number == SYS_bpf && a[0] == BPF_LINK_CREATE &&
	    ((const unsigned *)a[1])[2] == 48) {
		errno = EINVAL;
		return -1;
	}
	return next(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
END
}

# asleep NAME - wait until all threads of the program are
asleep()
{
	while grep -lq '^State:.[^S]' "/proc/${pids[$1]}"/task/*/status; do
		sleep 0.01
	done
}

# A tracer that works here, or else this is a machine without.
tested=("$skua")
start probe "$watched" load
run trace -p "${pids[probe]}" --for 0.01 --json
stop probe >/dev/null
cp "$scratch/out" "$scratch/can.json"
run trace --help
if ! grep -q '"missing":{}' "$scratch/can.json"; then
	python3 -c '
import json, sys
print("programs cannot be attached here:",
      *json.load(open(sys.argv[1]))["missing"].values())' "$scratch/can.json"
	exit 77
fi
