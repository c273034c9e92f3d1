#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# test_stats.sh [SKUA] - what `skua stats` says of processes: exactly what they
# counted, of all kinds of programs, and why it can say nothing of others
set -uo pipefail
# shellcheck source=tests/service/checks.sh
source "$(dirname "$0")/checks.sh"

tests_skua "$@"
watched=$(built tests/programs/watched) || exit
left_out=()

# works WHAT PID - both forms
works()
{
	run stats --json -p "$2"
	expect "$1" exited 0
	expect "$1" out_has "{\"pid\":$2,"
	run stats -p "$2"
	expect "$1" exited 0
	expect "$1" out_has "process $2 "
	expect "$1" err_lines 0
}

# --- help and errors -------------------------------------------------------------

has_help stats
refuses 2 "--pid is 'x'; allowed: 1 to 4194304" stats -p x
refuses 2 "--pid is '0'; allowed" stats --pid 0
refuses 2 "no option '--wrong'; allowed: --json --pid" stats --wrong
refuses 2 "unexpected argument 'more'" stats -p 1 more

start zombie python3 -c '
import os, sys
child = os.fork()
if child == 0:
    os._exit(0)
os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
print(child, flush=True)
sys.stdin.readline()'
zombie=$(<"$scratch/zombie.out")
refuses 1 "process $zombie has ended (a zombie)" stats -p "$zombie"
refuses 1 "process ${pids[zombie]} is not a skua process" stats -p "${pids[zombie]}"
stop zombie
true &
wait $!
refuses 1 "no process $!" stats -p $!
if [[ -r /proc/2/comm && $(</proc/2/comm) == kthreadd ]]; then
	refuses 1 'process 2 is a thread of the kernel' stats -p 2
else
	left_out+=('no thread of the kernel is seen here')
fi

start none "$watched" none
refuses 1 "process ${pids[none]} has skua in it, but no runtime now" \
	stats -p "${pids[none]}"
stop none

# A program that says that it is of another time.
cat >"$scratch/other.c" <<'END'
#include <stdio.h>
#include "probes/area.h"

static struct area_root root = { .magic = AREA_ROOT_MAGIC, .abi = 99 };

__asm__(".pushsection .note.skua, \"a\", %note\n"
	".balign 4\n.4byte 5, 8, 1\n.asciz \"skua\"\n.balign 4\n"
	"1: .8byte root - 1b\n.popsection\n");

int main(void)
{
	printf("%u\n", root.abi);
	fflush(stdout);
	return getchar() == EOF;
}
END
if "${CC:-cc}" -I. -o "$scratch/other" "$scratch/other.c"; then
	start other "$scratch/other"
	refuses 1 'ABI version 99; this command reads version' \
		stats -p "${pids[other]}"
	stop other
else
	expect 'another ABI' false
fi

# --- exactly what was counted ----------------------------------------------------

start count "$watched" count
run stats --json -p "${pids[count]}"
expect 'of a quiet program' exited 0
cp "$scratch/out" "$scratch/stats.json"
run stats -p "${pids[count]}"
expect 'as text' exited 0
expect 'as text' out_has 'LIFO hits'
cp "$scratch/out" "$scratch/stats.text"
stop count
code=0
python3 - "$scratch" >"$scratch/out" 2>"$scratch/err" <<'END' || code=$?
import json
import sys
from pathlib import Path

scratch = Path(sys.argv[1])
own, area = map(json.loads, (scratch / "count.out").read_text().splitlines())
seen = json.loads((scratch / "stats.json").read_text())
text = (scratch / "stats.text").read_text()


def total(name):
    return sum(worker[name] for worker in own["workers"])


for name in ("steals", "tasks_stolen", "times_parked", "lifo_hits"):
    assert total(name) > 10000, name
    assert f"{total(name):,}" in text, name
assert [w["index"] for w in seen["workers"]] == list(range(len(own["workers"])))
for mine, words, worker in zip(own["workers"], area, seen["workers"], strict=True):
    assert mine.items() <= worker.items(), (mine, worker)
    assert words.items() <= worker.items(), (words, worker)
    assert mine.items() <= (words | {"queue_depth": mine["queue_depth"]}).items()
for name in own["workers"][0].keys() - {"tasks_spawned"}:
    assert seen["totals"][name] == total(name), name
assert own["totals"].items() <= seen["totals"].items(), seen["totals"]
END
expect 'counts of skua_runtime_stats(), the debug area, and skua stats' exited 0

# --- under load ------------------------------------------------------------------

start load "$watched" load 3
wrong=0
for ((i = 0; i < 1000; i++)); do
	"$skua" stats --json -p "${pids[load]}" >/dev/null || wrong=$((wrong + 1))
done
expect '1,000 reads' test "$wrong" -eq 0
stop load
expect 'the program that was read' exited 0
loses_no_task "$scratch/load.out"

# Runtimes come and go: it is one, or none, but never half of one.
start renew "$watched" renew
half=0
for ((i = 0; i < 300; i++)); do
	run stats --json -p "${pids[renew]}"
	if ((code != 0)) && ! err_has 'but no runtime now'; then
		half=$((half + 1))
		cat "$scratch/err"
	fi
done
expect 'runtimes that come and go' test "$half" -eq 0
stop renew

# --- programs that end, fork, or become others -----------------------------------

# until_refused TEXT PID - read it again and again, until that is said
until_refused()
{
	while "$skua" stats -p "$2" >"$scratch/out" 2>"$scratch/err"; do
		:
	done
	code=$?
	if ! grep -qE -- "$1" "$scratch/err"; then
		expect "$1" false
	fi
}

start killed "$watched" load
(sleep 0.3 && kill -9 "${pids[killed]}") & # whenever it is
{ # bash reports the killed process
	until_refused 'has ended|no process' "${pids[killed]}"
	forget killed
} 2>/dev/null

start exec "$watched" exec
(sleep 0.3 && echo >&"${inputs[exec]}") &
until_refused 'has executed another program|is not a skua process' "${pids[exec]}"
kill "${pids[exec]}"
forget exec

start fork "$watched" fork
child=$(<"$scratch/fork.out")
refuses 1 "process $child has no workers: it is a child that process ${pids[fork]} forked" \
	stats -p "$child"
works 'a program that has forked' "${pids[fork]}"
stop fork

start headless "$watched" headless
until [[ $(sed -n 's/^State:\t\(.\).*/\1/p' "/proc/${pids[headless]}/status") == Z ]]; do
	sleep 0.01
done
works 'a program whose first thread has ended' "${pids[headless]}"
stop headless
expect 'a program whose first thread has ended' exited 0

# --- kinds of programs -----------------------------------------------------------

# build_kind NAME LIBRARY FLAG...
build_kind()
{
	local name=$1 library=$2
	shift 2
	# shellcheck disable=SC2046 # a word a library
	"${CC:-cc}" -std=gnu11 -D_GNU_SOURCE -O2 -I. -Iinclude "$@" \
		tests/service/programs/watched.c -o "$scratch/$name" \
		"$library" $(static_needs) -pthread >"$scratch/build.log" 2>&1
}

# kind NAME - a program that is there works
kind()
{
	start "$1" "$scratch/$1" load
	works "$1" "${pids[$1]}"
	stop "$1"
}

for flag in -no-pie -static -static-pie; do
	if build_kind "is$flag" "$build/libskua.a" "$flag"; then
		kind "is$flag"
	else
		left_out+=("programs that are $flag cannot be linked here")
	fi
done
if build_kind shared "$build/libskua.so" "-Wl,-rpath,$(realpath "$build")"; then
	kind shared
else
	expect 'a shared library' false
fi
cp "$watched" "$scratch/stripped"
strip "$scratch/stripped"
kind stripped

cp "$watched" "$scratch/deleted"
start deleted "$scratch/deleted" load
rm "$scratch/deleted"
works 'a program whose file is gone' "${pids[deleted]}"
stop deleted

# --- without privilege, and in namespaces ----------------------------------------

other_user=(setpriv --reuid 65534 --regid 65534 --clear-groups --)
if ((EUID == 0)) && "${other_user[@]}" true 2>/dev/null; then
	start load "$watched" load
	chmod 711 "$scratch" # for the others
	cp "$skua" "$scratch/skua"
	tested=("${other_user[@]}" "$scratch/skua")
	refuses 1 "no permission to read process ${pids[load]}: it belongs to user 0, and this command runs as user 65534" \
		stats -p "${pids[load]}"
	stop load
	cp "$watched" "$scratch/theirs"
	start theirs "${other_user[@]}" "$scratch/theirs" load
	if [[ ! -r /proc/sys/kernel/yama/ptrace_scope ||
	$(</proc/sys/kernel/yama/ptrace_scope) == 0 ]]; then
		works 'of the same user' "${pids[theirs]}"
	else
		refuses 1 'kernel.yama.ptrace_scope' stats -p "${pids[theirs]}"
	fi
	tested=("$skua")
	works 'of another user, by root' "${pids[theirs]}"
	stop theirs
	start secret "${other_user[@]}" "$scratch/theirs" secret
	tested=("${other_user[@]}" "$scratch/skua")
	refuses 1 'it is not dumpable' stats -p "${pids[secret]}"
	stop secret
	tested=("$skua")
else
	left_out+=('another user needs root')
fi

if [[ -x $scratch/is-static ]] && unshare --mount true 2>/dev/null; then
	mkdir "$scratch/away"
	start away unshare --mount bash -c "
		mount -t tmpfs none '$scratch/away' &&
		cp '$scratch/is-static' '$scratch/away/program' &&
		exec chroot '$scratch/away' /program load"
	works 'in another mount namespace' "${pids[away]}"
	stop away
else
	left_out+=('another mount namespace needs root')
fi
if unshare --pid --fork true 2>/dev/null; then
	start within unshare --pid --fork --kill-child "$watched" load
	within=$(<"/proc/${pids[within]}/task/${pids[within]}/children")
	works 'in another PID namespace' "${within% }"
	stop within
else
	left_out+=('another PID namespace needs root')
fi

((${#left_out[@]} == 0)) || printf 'left out: %s\n' "${left_out[@]}"
finish 'skua stats: exact, and clear about what it cannot read'
