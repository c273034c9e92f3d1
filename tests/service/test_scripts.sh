#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# test_scripts.sh - what the bpftrace scripts show of processes: exactly what was
# counted, on lines that fit, and no probe that stays on
set -uo pipefail

# Some need the kernel's tracepoints: mounted here alone, if nobody has them.
if [[ ! -d /sys/kernel/tracing/events && ! ${SKUA_SCRIPTS_ALONE:-} ]]; then
	if ! unshare --mount mount -t tracefs none /sys/kernel/tracing 2>/dev/null; then
		echo 'tracefs cannot be mounted here, where bpftrace looks for tracepoints'
		exit 77
	fi
	# shellcheck disable=SC2016 # for the shell in there
	SKUA_SCRIPTS_ALONE=1 exec unshare --mount bash -c \
		'mount -t tracefs none /sys/kernel/tracing && exec bash "$0"' "$0"
fi

# shellcheck source=tests/service/checks.sh
source "$(dirname "$0")/checks.sh"

skua=$(built bpf/skua) || exit
needs "$build/tests/programs/watched"
needs "$build/tests/programs/hog"
if ! command -v bpftrace >/dev/null; then
	echo 'bpftrace is not installed'
	exit 77
fi

# Files of its own: probes are the files', and other tests may trace those.
cp "$build/tests/programs/watched" "$build/tests/programs/hog" "$scratch"
tested=("$skua")
left_out=()
bar='^\[[0-9].*\|@+' # of a histogram

# attach SCRIPT ARG... - in the background; returns when all its probes are attached,
# as bpftrace prints nothing of a script before
attach()
{
	local script=$1
	shift
	: >"$scratch/$script.txt"
	bpftrace "bpf/scripts/$script.bt" "$@" >"$scratch/$script.txt" \
		2>"$scratch/$script.err" &
	pids[$script]=$!
	await_line "$script" '^Tracing' "$scratch/$script.txt" "$scratch/$script.err"
}

# detach SCRIPT... - as by Ctrl-C, and look at what they said
detach()
{
	local script
	for script; do
		kill -INT "${pids[$script]}"
	done
	for script; do
		code=0
		wait "${pids[$script]}" || code=$?
		cp "$scratch/$script.txt" "$scratch/out"
		cp "$scratch/$script.err" "$scratch/err"
		expect "$script.bt" exited 0
		expect "$script.bt" fits
		expect "$script.bt" clean
	done
}

fits() { ! grep -qE '.{80}' "$scratch/out"; }
clean() { ! grep -qE 'WARNING|Lost|failed' "$scratch/err"; }

# said SCRIPT EXPRESSION
said() { grep -qE -- "$2" "$scratch/$1.txt"; }

# sum SCRIPT MAP - of the values of its keys
sum()
{
	awk -v map="@$2[" 'index($0, map) == 1 { sum += $NF } END { print sum + 0 }' \
		"$scratch/$1.txt"
}

# counter FILE NAME - of a snapshot, all workers
counter() { sed -En "s/.*\"totals\":\{[^}]*\"$2\":([0-9]+).*/\1/p" "$1"; }

# semaphores FILE PID - the sum of all that the notes of this program tell of
semaphores()
{
	python3 - "$@" <<'END'
import re
import struct
import subprocess
import sys

file, pid = sys.argv[1:]
notes = subprocess.run(
    ["readelf", "-nW", file], check=True, capture_output=True, text=True
).stdout
header = subprocess.run(
    ["readelf", "-hW", file], check=True, capture_output=True, text=True
).stdout
places = re.findall(r"Provider: skua\s.*?Semaphore: (\S+)", notes, re.DOTALL)
assert len(places) > 5
base = 0
if "DYN" in header:
    maps = [line.split() for line in open(f"/proc/{pid}/maps")]
    first = next(m for m in maps if m[-1] == file and int(m[2], 16) == 0)
    base = int(first[0].split("-")[0], 16)
with open(f"/proc/{pid}/mem", "rb") as memory:
    total = 0
    for place in places:
        memory.seek(base + int(place, 16))
        total += struct.unpack("<H", memory.read(2))[0]
print(total)
END
}

# totals PID NAME - the same, now
totals()
{
	"$skua" stats --json -p "$1" >"$scratch/now" && counter "$scratch/now" "$2"
}

# preemptions PID - of its workers, as the kernel counts them
preemptions()
{
	local thread sum=0
	for thread in "/proc/$1/task/"*; do
		if [[ $(<"$thread/comm") == skua-[0-9]* ]]; then
			sum=$((sum + $(sed -n 's/^nonvoluntary.*\t//p' "$thread/status")))
		fi
	done
	echo "$sum"
}

# between MIN VALUE MAX
between() { (($1 <= $2 && $2 <= $3)); }

# equal SCRIPT MAP COUNTER... - what was seen is what was counted, between two snapshots
equal()
{
	local script=$1 map=$2 counted=0 name
	shift 2
	for name; do
		counted=$((counted + $(counter "$scratch/after" "$name") -
			$(counter "$scratch/before" "$name")))
	done
	expect "$script.bt: @$map and $*" test "$(sum "$script" "$map")" -eq "$counted"
}

start probe sh -c 'echo ready; read -r line'
if ! bpftrace -e 'BEGIN { exit(); }' >"$scratch/out" 2>&1; then
	stop probe
	echo "bpftrace cannot trace here: $(tail -n 1 "$scratch/out")"
	exit 77
fi
stop probe

# --- exactly what was counted ----------------------------------------------------

# Queues of 16 tasks overflow, and workers that do not spin park.
start later env SKUA_QUEUE_CAPACITY=16 SKUA_SPIN_NS=never "$scratch/watched" later
later=${pids[later]}
for script in steals parklat lifo overflow; do
	attach "$script" -p "$later"
done
expect 'semaphores are raised' test "$(semaphores "$scratch/watched" "$later")" -gt 0
run stats --json -p "$later"
expect 'before' exited 0
cp "$scratch/out" "$scratch/before"
echo >&"${inputs[later]}"
until (($(wc -l <"$scratch/later.out") == 3)); do
	sleep 0.01
done
run stats --json -p "$later"
expect 'after' exited 0
cp "$scratch/out" "$scratch/after"
detach steals parklat lifo overflow
expect 'semaphores are as they were' \
	test "$(semaphores "$scratch/watched" "$later")" -eq 0
equal steals steals steals
equal steals tasks tasks_stolen
equal steals found_nothing searches_failed
equal parklat parks times_parked
equal lifo hits lifo_hits
equal overflow overflows overflows overflows_single
equal overflow injects global_batch_fetches
for what in 'steals steals' 'parklat parks' 'lifo hits'; do
	# shellcheck disable=SC2086 # two words
	expect "$what" test "$(sum $what)" -gt 10000
done
expect 'overflow.bt' test "$(sum overflow overflown)" -gt 0
for script in steals parklat overflow; do
	expect "$script.bt has a histogram" said "$script" "$bar"
done
expect 'parklat.bt tells why' said parklat '^@sleep_ns\[searched, and found nothing\]:'
stop later

# --- a library -------------------------------------------------------------------

soname=$(readlink "$build/libskua.so")
cp "$build/libskua.so" "$scratch/$soname"
if "${CC:-cc}" -std=gnu11 -D_GNU_SOURCE -O2 -I. -Iinclude \
	tests/service/programs/watched.c -o "$scratch/shared" \
	"$scratch/$soname" "-Wl,-rpath,$scratch" -pthread \
	>"$scratch/build.log" 2>&1 &&
	"$scratch/shared" none </dev/null >/dev/null 2>&1; then
	start shared env SKUA_SPIN_NS=never "$scratch/shared" load
	attach steals -p "${pids[shared]}"
	until (($(totals "${pids[shared]}" steals) > 0)); do
		sleep 0.01
	done
	before=$(totals "${pids[shared]}" steals)
	until (($(totals "${pids[shared]}" steals) > before)); do
		sleep 0.01
	done
	detach steals
	expect 'of a library' test "$(sum steals steals)" -gt 0
	stop shared
else
	# It is built with a sanitizer.
	left_out+=('a program with this library cannot be linked here')
fi

# --- the kernel's part -----------------------------------------------------------

# wait_for SCRIPT EXPRESSION - on a line of it
wait_for()
{
	until said "$@"; do
		if ! kill -0 "${pids[$1]}" 2>/dev/null; then
			return 1
		fi
		sleep 0.01
	done
}

start load env SKUA_SPIN_NS=never "$scratch/watched" load
attach wakelat -p "${pids[load]}"
before=$(totals "${pids[load]}" times_parked)
until (($(totals "${pids[load]}" times_parked) > before + 100)); do
	sleep 0.01
done
parked=$(($(totals "${pids[load]}" times_parked) - before))
detach wakelat
expect 'wakes of all parks' test "$(sum wakelat wakes)" -ge "$((parked - 2))"
expect 'some slept' said wakelat '^@wakes\[[0-9]+, slept\]: '
expect 'wakelat.bt has a histogram' said wakelat "$bar"
stop load

# One type takes turns that are too long, and the thread that watches for these
# takes the CPUs of workers.
start hog env SKUA_STALL_LIMIT_NS=1000000 "$scratch/hog"
hog=${pids[hog]}
attach stalls -p "$hog"
attach lifo -p "$hog"
wait_for stalls '^[0-9:]{8} +[01] +[0-9]+\.[0-9]{3} db_query$'
wait_for lifo '^[0-9:]{8} +[01] +[0-9]+ +[0-9]+ +[0-9]+$'
detach stalls lifo
expect 'stalls by type' test "$(sum stalls stalls)" -gt 0
expect 'only this type stalls' said stalls '^@stalls\[db_query\]: '

# Of another PID namespace the kernel shows numbers that are not ours.
if [[ $(readlink /proc/self/ns/pid) == 'pid:[4026531836]' ]]; then
	least=$(preemptions "$hog")
	attach preempt "$hog"
	before=$(preemptions "$hog")
	until ((($(preemptions "$hog")) > before + 10)); do
		sleep 0.01
	done
	after=$(preemptions "$hog")
	detach preempt
	most=$(preemptions "$hog")
	expect "preemptions, $((after - before)) to $((most - least))" \
		between $((after - before)) "$(sum preempt times)" $((most - least))
	expect 'the threads that ran next' said preempt '^@next\[.+, [0-9]+, .+\]: [0-9]'
	expect 'the threads that ran next' between 1 "$(sum preempt next)" "$(sum preempt times)"
	expect 'preempt.bt has a histogram' said preempt "$bar"
else
	left_out+=('preempt.bt wants PIDs as the kernel has them')
fi
stop hog
tested=(bpftrace)
run bpf/scripts/preempt.bt
expect 'preempt.bt without PID' out_has 'Usage: bpftrace preempt.bt PID'

# --- what is missing --------------------------------------------------------------

# says CODE TEXT ARG... - in a line
says()
{
	local code_expected=$1 text=$2
	shift 2
	run "$@"
	expect "run $*" exited "$code_expected"
	expect "run $*" err_lines 1
	expect "run $*" err_has "$text"
}

tested=(bpf/scripts/run)
says 2 'no SCRIPT was given; allowed: lifo overflow'
says 2 "SCRIPT is 'nope'; allowed: lifo overflow" nope
says 2 "SCRIPT is '../scripts/lifo'; allowed: lifo" ../scripts/lifo
run preempt
expect 'run preempt' out_has 'Usage: bpftrace preempt.bt PID'
# shellcheck disable=SC2016 # for the shell in there
tested=(unshare --mount sh -c 'for at in /sys/kernel/tracing /sys/kernel/debug; do
	[ ! -d "$at" ] || mount -t tmpfs none "$at" || exit 3; done
	exec bpf/scripts/run "$@"' run)
says 1 "preempt.bt needs the kernel's tracepoint sched/sched_switch" preempt 1
says 1 'mount -t tracefs tracefs /sys/kernel/tracing' wakelat -p 1
tested=(setpriv --reuid 65534 --clear-groups bpf/scripts/run)
says 1 'bpftrace needs root, and this is user 65534' steals -p 1

((${#left_out[@]} == 0)) || printf 'left out: %s\n' "${left_out[@]}"
finish 'bpftrace scripts: exact, on lines that fit, and gone afterwards'
