#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# test_trace.sh - what `skua trace` counts is what the program and the kernel count,
# and what it says where it may not
set -uo pipefail
# shellcheck source=tests/service/checks.sh
source "$(dirname "$0")/checks.sh"
# shellcheck source=tests/service/tracing.sh
source "$(dirname "$0")/tracing.sh"
left_out=()

# sums FILE - numbers of switches of all threads
sums()
{
	sed -nE 's/^(non)?voluntary_ctxt_switches:\t//p' \
		"/proc/$1"/task/*/status | paste -sd ' '
}

# --- help and errors -------------------------------------------------------------

has_help trace
refuses 2 "--pid is 'x'; allowed: 1 to 4194304" trace -p x
refuses 2 "--for is '-1'; allowed: seconds, 0.01 to 1000000" trace -p 1 --for -1
refuses 2 "--interval is 'x'; allowed" trace -p 1 --interval x
refuses 2 'both a process and a path; allowed' trace -p 1 path
refuses 1 "process $$ is not a skua process" trace -p $$
true &
wait $!
refuses 1 "no process $!" trace -p $!
refuses 1 "$scratch/none: No such file" trace "$scratch/none"
refuses 1 '/bin/true: it has no probes of skua' trace /bin/true
head -c 5000 "$watched" >"$scratch/cut"
refuses 1 'its ELF headers are impossible, or cut' trace "$scratch/cut"
# Its notes are a hole of 1 TiB, which is full of empty ones.
python3 - "$watched" "$scratch/sparse" <<'END'
import struct, sys

data = bytearray(open(sys.argv[1], "rb").read())
(sections,) = struct.unpack_from("<Q", data, 40)
count, strings = struct.unpack_from("<HH", data, 60)
(names,) = struct.unpack_from("<Q", data, sections + 64 * strings + 24)
for at in range(sections, sections + 64 * count, 64):
    name = names + struct.unpack_from("<I", data, at)[0]
    if data[name : data.index(0, name)] == b".note.stapsdt":
        struct.pack_into("<QQ", data, at + 24, len(data), 1 << 40)
with open(sys.argv[2], "wb") as file:
    file.write(data)
    file.truncate(len(data) + (1 << 40))
END
refuses 1 'a file has more sections or notes than may be read of a process' \
	trace "$scratch/sparse"

# full ARG... - to a full device: one line says that, beside what comes in any case
full()
{
	code=0
	: >"$scratch/out"
	"$skua" "$@" >/dev/full 2>"$scratch/err" || code=$?
	expect "$* to /dev/full" exited 1
	expect "$* to /dev/full" err_has \
		'skua: cannot write the results: No space left on device'
	expect "$* to /dev/full" test "$(grep -c '^skua' "$scratch/err")" -eq 1
}

start full "$watched" load
full trace -p "${pids[full]}" --for 0.1
full trace -p "${pids[full]}" --for 0.1 --json
full flame -p "${pids[full]}" --for 0.1 --rate 1000
full flame -p "${pids[full]}" --for 0.1 --rate 1000 --folded
stop full

# --- exactly what was counted ----------------------------------------------------

# A neighbour on each CPU takes it from the workers now and then.
start bounded "$watched" later
bounded=${pids[bounded]}
asleep bounded
run stats --json -p "$bounded"
cp "$scratch/out" "$scratch/before.json"
begin_trace whole -p "$bounded"
asleep bounded
before=$(sums "$bounded")
neighbours=()
for cpu in $(taskset -cp $$ | sed 's/.*: //; s/[,-]/ /g'); do
	taskset -c "$cpu" python3 -c '
import time

while True:
    until = time.monotonic() + 0.001
    while time.monotonic() < until:
        pass
    time.sleep(0.01)' &
	neighbours+=($!)
done
echo >&"${inputs[bounded]}"
until (($(wc -l <"$scratch/bounded.out") == 3)); do
	sleep 0.01
done
kill "${neighbours[@]}"
wait "${neighbours[@]}" 2>/dev/null
asleep bounded
run stats --json -p "$bounded"
cp "$scratch/out" "$scratch/after.json"
after=$(sums "$bounded")
end_trace whole
expect 'of a bounded run' exited 0
semaphores bounded down
code=0
python3 - "$scratch" "$before" "$after" >"$scratch/out" 2>"$scratch/err" <<'END' ||
import json
import sys
from pathlib import Path

scratch, *switches = sys.argv[1:]
read = lambda name: json.loads((Path(scratch) / name).read_text())
before, after, seen = read("before.json"), read("after.json"), read("whole.json")
assert seen["missing"] == {} and seen["lost"] == 0, seen
NAMES = {
    "steals": "steals",
    "tasks_stolen": "tasks_stolen",
    "searches_failed": "searches_failed",
    "times_parked": "parks",
    "lifo_hits": "lifo_hits",
}
assert all("looks" in worker for worker in seen["workers"])
for theirs, ours in NAMES.items():
    total = 0
    for old, new, worker in zip(
        before["workers"], after["workers"], seen["workers"], strict=True
    ):
        assert new["index"] == worker["index"] and new["tid"] == worker["thread"]
        assert new[theirs] - old[theirs] == worker[ours], (theirs, new, worker)
        total += worker[ours]
    assert total == seen["totals"][ours]
    print(ours, total)
for name in ("steals", "parks", "lifo_hits"):
    assert seen["totals"][name] > 10000, name
assert sum(row["steals"] for row in seen["steals"]) == seen["totals"]["steals"]
assert sum(row["tasks"] for row in seen["steals"]) == seen["totals"]["tasks_stolen"]
assert all(row["thief"] != row["victim"] for row in seen["steals"])
for name, total in (("steal", "steals"), ("parked", "unparks")):
    assert sum(row["count"] for row in seen["histograms"][name]) == seen["totals"][total]

# What the kernel counts itself, thread by thread: voluntary, involuntary, ...
old, new = ([int(word) for word in text.split()] for text in switches)
for at, name in enumerate(("voluntary", "involuntary")):
    kernel = sum(new[at::2]) - sum(old[at::2])
    counted = seen["totals"][name] + seen["others"][name]
    assert kernel == counted, (name, kernel, counted)
    print(name, counted)
totals = seen["totals"]
assert totals["involuntary"] > 0
assert totals["preempted_ns"] > 0
# Of each preemption it is told how long it took, or that this was not seen.
timed = sum(row["count"] for row in seen["histograms"]["preempted"])
assert timed + totals["unseen"] == totals["involuntary"], (timed, totals)
print("unseen", totals["unseen"])
END
	code=$?
expect 'counts of skua stats, the kernel, and skua trace' exited 0
cat "$scratch/out"
stop bounded

# --- threads that come and go ----------------------------------------------------

# Runtimes are made and ended all the time: more threads than maps have room for.
start renew "$watched" renew
begin_trace renewed -p "${pids[renew]}" --interval 0.2
# All of tail's output is read: with grep -q it may end by SIGPIPE, which is a failure.
renewed() {
	tail -n 2 "$scratch/renewed.json" |
		sed -nE 's/.*"ended":\{"threads":([0-9]+),.*/\1/p' | tail -n 1
}
until [[ $(renewed) -ge 3300 ]]; do
	sleep 0.1
done
run trace -p "${pids[renew]}" --for 1
expect 'of many threads, as text' exited 0
expect 'of many threads, as text' test "$(wc -l <"$scratch/out")" -lt 100
# The rest compares exact counts of a quiet program.
stop renew
await "${pids[renewed]}"
expect 'of many threads' exited 0
code=0
python3 - "$scratch/renewed.json" >"$scratch/out" 2>"$scratch/err" <<'END' || code=$?
import json
import sys

*parts, whole = map(json.loads, open(sys.argv[1]))
assert whole["whole"] and whole["lost"] == 0, whole["lost"]
totals, ended = whole["totals"], whole["ended"]
# Each hit a probe, or else it would be no worker.
hits = ("parks", "unparks", "steals", "searches_failed", "overflows")
assert 2 < ended["threads"] <= sum(ended[name] for name in hits), ended
assert sum(worker["ended"] for worker in whole["workers"]) == 1024
workers = ended["threads"] + len(whole["workers"])
print(whole["others"]["threads"], "other threads,", workers, "workers")
for name in ("parks", "unparks", "parked_ns"):
    assert totals[name] == ended[name] + sum(
        worker[name] for worker in whole["workers"]
    ), name
# Nor are they counted again when they are added up, but those of a moment.
for name in ("unparks", "voluntary"):
    total = sum(part["totals"][name] for part in parts)
    assert total < 1.5 * totals[name], (name, total, totals)
    print(name, total, totals[name])
for name, total in (("steal", "steals"), ("parked", "unparks")):
    assert sum(row["count"] for row in whole["histograms"][name]) == totals[total]
assert sum(row["steals"] for row in whole["steals"]) == totals["steals"]
assert sum(row["tasks"] for row in whole["steals"]) == totals["tasks_stolen"]
assert ended["steals"] > 0 and len(whole["steals"]) <= 2 * 1024 + 2
END
expect 'of many threads, sums' exited 0
cat "$scratch/out"
# --- forms -----------------------------------------------------------------------

start load "$watched" load 3
run trace -p "${pids[load]}" --for 0.3 --interval 0.1
expect 'as text' exited 0
expect 'as text' out_has 'steals by thief and victim, times'
expect 'as text' out_has 'attached: to 6 probes'
expect 'as text' out_has 'attached: to context switches'
expect 'as text' out_has 'all of '
expect 'as text' out_has 'the last '
run trace "$watched" --for 0.2 --json
expect 'by its path' exited 0
expect 'by its path' out_has '"path":"'
expect 'by its path' out_has "\"pid\":${pids[load]},"
semaphores load down
start other "$watched" load
run trace -p "${pids[other]}" --for 0.2 --json
expect 'of one of two' out_has "\"pid\":${pids[other]},"
begin_trace one -p "${pids[load]}"
semaphores load up
semaphores other down
end_trace one
stop other

# By a perf event each, as before Linux 6.6.
expect 'an older kernel' make_older
tested=(env "LD_PRELOAD=$scratch/older.so" "$skua")
run trace -p "${pids[load]}" --for 1 --json
expect 'an older kernel' exited 0
expect 'an older kernel' out_has '"probes":"perf_event","places":6'
expect 'an older kernel' grep -qE '"totals":\{"steals":[1-9]' "$scratch/out"
run pin -p "${pids[load]}"
expect 'pins on an older kernel' exited 0
semaphores load up
run unpin -p "${pids[load]}"
expect 'pins on an older kernel' exited 0
tested=("$skua")
semaphores load down

# --- again and again -------------------------------------------------------------

rounds=100
if [[ ${SKUA_TEST_SET-} == quick ]]; then
	rounds=10
fi
wrong=0
for ((i = 0; i < rounds; i++)); do
	"$skua" trace -p "${pids[load]}" --for 0.01 --json >"$scratch/out" \
		2>"$scratch/err" || wrong=$((wrong + 1))
done
expect "$rounds attachments" test "$wrong" -eq 0
semaphores load down

begin_trace killed -p "${pids[load]}"
semaphores load up
kill -9 "${pids[killed]}"
{ wait "${pids[killed]}"; } 2>/dev/null
semaphores load down
stop load
expect 'the program that was traced' exited 0
loses_no_task "$scratch/load.out"

# A process that ends has been counted until then.
start ends "$watched" load
begin_trace ends_trace -p "${pids[ends]}"
stop ends
await "${pids[ends_trace]}"
cp "$scratch/ends_trace.json" "$scratch/out"
expect 'until the process ends' exited 0
expect 'until the process ends' out_has '"whole":true'

# --- results ---------------------------------------------------------------------

# The area below the stack stays the leaf function's, also at a probe.
bench=$(realpath "$build/bench/skua-bench")
if [[ -x $bench ]]; then
	begin_trace results "$bench"
	for workload in uts fib nqueens spawn_many_worker; do
		tested=("$bench")
		SKUA_SPIN_NS=never run run "$workload" --workers 2 --rounds 2 --json
		expect "$workload beside a tracer" exited 0
		expect "$workload beside a tracer" out_has '"ok":true'
	done
	tested=("$skua")
	end_trace results
	expect 'what the benchmarks did' exited 0
	expect 'what the benchmarks did' grep -qE '"parks":[1-9]' "$scratch/out"
else
	left_out+=('results of benchmarks: there are none in this build')
fi

# --- kinds of programs -----------------------------------------------------------

steals='"totals":\{"steals":[1-9]'

# counts WHAT NAME - of the program that was started so, some
counts()
{
	# Its workers may have no CPU meanwhile: then once more.
	for _ in {1..50}; do
		run trace -p "$2" --for 0.2 --json
		if ((code)) || grep -qE "$steals" "$scratch/out"; then break; fi
	done
	expect "$1" exited 0
	expect "$1" out_has '"missing":{}'
	expect "$1" grep -qE "$steals" "$scratch/out"
}

if "${CC:-cc}" -std=gnu11 -D_GNU_SOURCE -O2 -I. -Iinclude \
	tests/service/programs/watched.c -o "$scratch/shared" \
	"$build/libskua.so" -pthread "-Wl,-rpath,$(realpath "$build")" \
	>"$scratch/build.log" 2>&1; then
	start shared "$scratch/shared" load 3
	counts 'a shared library' "${pids[shared]}"
	stop shared
else
	expect 'a shared library' false
fi
cp "$watched" "$scratch/deleted"
strip "$scratch/deleted"
start deleted "$scratch/deleted" load 3
rm "$scratch/deleted"
counts 'a stripped program whose file is gone' "${pids[deleted]}"
stop deleted
start headless "$watched" headless 3
until [[ $(sed -n 's/^State:\t\(.\).*/\1/p' "/proc/${pids[headless]}/status") == Z ]]; do
	sleep 0.01
done
counts 'a program whose first thread has ended' "${pids[headless]}"
stop headless

# The trace ends with the program that it is of, also when no signal ends it.
start changed "$watched" exec
begin_trace became -p "${pids[changed]}" --interval 0.2
echo >&"${inputs[changed]}"
timeout 30 tail --pid="${pids[became]}" -f /dev/null
expect 'a program that executes another' test $? -eq 0
end_trace became 2>/dev/null
expect 'a program that executes another' exited 0
expect 'a program that executes another' err_has 'has executed another program'
kill "${pids[changed]}"
{ forget changed; } 2>/dev/null

mkdir "$scratch/away"
start away unshare --mount bash -c "
	mount -t tmpfs none '$scratch/away' &&
	cp '$watched' '$scratch/away/program' &&
	exec '$scratch/away/program' load 3"
counts 'in another mount namespace' "${pids[away]}"
stop away
if unshare --pid --fork true 2>/dev/null; then
	start within unshare --pid --fork --kill-child "$watched" load 3
	within=$(<"/proc/${pids[within]}/task/${pids[within]}/children")
	counts 'in another PID namespace' "${within% }"
	stop within
else
	left_out+=('another PID namespace cannot be had')
fi

# --- without privilege, and without tracefs --------------------------------------

# The debug area and /proc stand in, and that is said.
start load "$watched" load 3
tested=(setpriv --bounding-set -bpf,-perfmon,-sys_admin --inh-caps -all -- "$skua")
run trace -p "${pids[load]}" --for 0.2
expect 'without CAP_BPF' exited 0
expect 'without CAP_BPF' out_has \
	'run the tool as root, or with CAP_BPF and CAP_PERFMON'
expect 'without CAP_BPF' out_has 'missing: steals by thief and victim'
run trace -p "${pids[load]}" --for 1 --json
expect 'without CAP_BPF' grep -qE '"totals":\{"steals":[1-9]' "$scratch/out"
expect 'without CAP_BPF' out_has '"involuntary":'
# The process counts other looks than the probes do: those of each search.
expect 'without CAP_BPF' out_lacks '"looks"'
tested=("$skua")
stop load

other_user=(setpriv --reuid 65534 --regid 65534 --clear-groups)
chmod 711 "$scratch"
cp "$watched" "$scratch/theirs"
cp "$skua" "$scratch/skua"
start theirs "${other_user[@]}" -- "$scratch/theirs" load 3
if [[ ! -r /proc/sys/kernel/yama/ptrace_scope ||
$(</proc/sys/kernel/yama/ptrace_scope) == 0 ]]; then
	tested=("${other_user[@]}" --inh-caps +bpf,+perfmon
		--ambient-caps +bpf,+perfmon -- "$scratch/skua")
	counts 'with two capabilities' "${pids[theirs]}"
else
	left_out+=('kernel.yama.ptrace_scope')
fi
tested=("${other_user[@]}" -- "$scratch/skua")
stop theirs
tested=("$skua")

start load "$watched" load 3
tested=(unshare --mount bash -c '
	mount -t tmpfs none /sys/kernel/tracing &&
	mount -t tmpfs none /sys/kernel/debug; "$0" "$@"' "$skua")
counts 'without tracefs' "${pids[load]}"
tested=("$skua")
stop load

((${#left_out[@]} == 0)) || printf 'left out: %s\n' "${left_out[@]}"
finish 'skua trace: exact, leaves nothing behind, and says what is missing'
