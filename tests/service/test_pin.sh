#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# test_pin.sh - what `skua pin` leaves behind counts on, can be read by bpftool, and
# is gone after `skua unpin`
set -uo pipefail
# shellcheck source=tests/service/checks.sh
source "$(dirname "$0")/checks.sh"
# shellcheck source=tests/service/tracing.sh
source "$(dirname "$0")/tracing.sh"
PATH=$PATH:/usr/sbin:/sbin
pins=/sys/fs/bpf/skua

# --- help and errors -------------------------------------------------------------

has_help pin
has_help unpin
refuses 2 'no process; allowed: --pid PID, or --all' unpin
refuses 2 '--all with --pid; allowed: one' unpin --all -p 1
refuses 2 "unexpected argument 'more'" pin more
refuses 1 "process $$ is not a skua process" pin -p $$
refuses 1 'no process of that number is pinned' unpin -p $$
run unpin --all
expect 'nothing is all right' exited 0

start bounded "$watched" later
bounded=${pids[bounded]}
while umount /sys/fs/bpf 2>/dev/null; do
	:
done
tested=("$skua")
refuses 1 'do that by: mount -t bpf -o mode=0700 bpf /sys/fs/bpf' pin -p "$bounded"
refuses 1 'no BPF file system is mounted there' unpin --all
mount -t bpf -o mode=0700 none /sys/fs/bpf

# One elsewhere does not help, nor one that may not be written to.
mkdir "$scratch/elsewhere"
mount --move /sys/fs/bpf "$scratch/elsewhere"
refuses 1 'do that by: mount -t bpf -o mode=0700 bpf /sys/fs/bpf' pin -p "$bounded"
mount --move "$scratch/elsewhere" /sys/fs/bpf
mount -o remount,ro /sys/fs/bpf
refuses 1 "$pins: Read-only file system" pin -p "$bounded"
mount -o remount,rw /sys/fs/bpf
semaphores bounded down

# --- counts of a bounded run -----------------------------------------------------

asleep bounded
run stats --json -p "$bounded"
cp "$scratch/out" "$scratch/before.json"
run pin -p "$bounded"
expect 'pin' exited 0
expect 'pin' out_has "$pins/$bounded"
semaphores bounded up
refuses 1 'it is pinned already' pin -p "$bounded"
echo >&"${inputs[bounded]}"
until (($(wc -l <"$scratch/bounded.out") == 3)); do
	sleep 0.01
done
asleep bounded
run stats --json -p "$bounded"
cp "$scratch/out" "$scratch/after.json"
for map in workers matrix switches lost; do
	tested=(bpftool -j map dump pinned "$pins/$bounded/$map")
	run
	expect "bpftool of $map" exited 0
	cp "$scratch/out" "$scratch/$map.json"
done
tested=(bpftool link show pinned "$pins/$bounded/links/sched_switch")
run
expect 'bpftool link' out_has "tp 'sched_switch'"
tested=("$skua")
code=0
python3 - "$scratch" >"$scratch/out" 2>"$scratch/err" <<'END' || code=$?
import json
import sys
from pathlib import Path

read = lambda name: json.loads((Path(sys.argv[1]) / f"{name}.json").read_text())
before, after = read("before"), read("after")
rows = lambda map: [row["formatted"] for row in read(map)]
# The key 0 is of those that have ended.
workers = {
    row["value"]["worker"]: row["value"] for row in rows("workers") if row["key"]
}
# The snapshot that the program took of itself, and its debug area.
own, area = map(
    json.loads,
    (Path(sys.argv[1]) / "bounded.out").read_text().splitlines()[1:],
)
for theirs, ours in {
    "steals": "steals",
    "tasks_stolen": "tasks_stolen",
    "times_parked": "parks",
    "lifo_hits": "lifo_hits",
}.items():
    total = 0
    for old, new, self, words in zip(
        before["workers"], after["workers"], own["workers"], area, strict=True
    ):
        counted = workers[new["index"]][ours]
        assert new[theirs] == self[theirs] == words[theirs], theirs
        assert new[theirs] - old[theirs] == counted, (theirs, new, counted)
        total += counted
    assert total > 10000, theirs
    print(ours, total)
assert sum(row["value"]["steals"] for row in rows("matrix")) == sum(
    worker["steals"] for worker in workers.values()
)
assert len(rows("switches")) >= len(workers)
assert next(iter(rows("lost")[0]["value"][".bss"][0].values())) == 0
END
expect 'the program, its debug area, skua stats, and bpftool' exited 0
cat "$scratch/out"

# --- unpin -----------------------------------------------------------------------

run unpin -p "$bounded"
expect 'unpin' exited 0
expect 'unpin' test ! -e "$pins"
semaphores bounded down
refuses 1 'no process of that number is pinned' unpin -p "$bounded"
run pin -p "$bounded"
expect 'once more' exited 0
stop bounded
run unpin -p "$bounded"
expect 'of a process that has ended' exited 0

start one "$watched" load
start two "$watched" load
run pin -p "${pids[one]}"
run pin -p "${pids[two]}"
expect 'two processes' exited 0
run unpin --all
expect 'two processes' exited 0
expect 'two processes' test ! -e "$pins"

# --- beside skua trace -----------------------------------------------------------

# It reads what is pinned, and the probes are attached to once.
run pin -p "${pids[one]}"
begin_trace beside -p "${pids[one]}"
run unpin -p "${pids[one]}"
expect 'unpin beside a tracer' exited 0
semaphores one up
end_trace beside
semaphores one down
run trace -p "${pids[one]}" --for 0.1 --json
expect 'no longer pinned' out_has '"probes":"uprobe_multi"'
code=0
python3 - "$scratch/beside.json" >"$scratch/out" 2>"$scratch/err" <<'END' || code=$?
import json
import sys

seen = json.load(open(sys.argv[1]))
assert seen["attached"] == {"probes": "pinned", "switches": True}, seen["attached"]
assert seen["missing"] == {} and seen["totals"]["steals"] > 0, seen
assert [worker["index"] for worker in seen["workers"]] == [0, 1], seen["workers"]
END
expect 'trace of what is pinned' exited 0

# Maps that are none of this version's are not read.
run pin -p "${pids[one]}"
rm "$pins/${pids[one]}/workers"
bpftool map create "$pins/${pids[one]}/workers" type hash key 4 value 8192 \
	entries 16 name workers
run trace -p "${pids[one]}" --for 0.1 --json
expect 'other maps' out_has '"probes":"uprobe_multi"'
run unpin -p "${pids[one]}"
expect 'other maps' exited 0

# Pins of an earlier process with the same number are not this one's.
run pin -p "${pids[one]}"
mv "$pins/${pids[one]}" "$pins/${pids[two]}"
refuses 1 'another process of that number was pinned; end that by: skua unpin -p' \
	pin -p "${pids[two]}"
run trace -p "${pids[two]}" --for 0.1 --json
expect 'pins of another' out_has '"probes":"uprobe_multi"'
run unpin -p "${pids[two]}"
expect 'pins of another' exited 0

# --- interrupted, and at a time --------------------------------------------------

# One that was interrupted leaves all, or nothing; what was killed is no obstacle.
one=${pids[one]}
for delay in 0 0.02 0.04 0.06 0.08; do
	"$skua" pin -p "$one" >/dev/null 2>&1 &
	sleep "$delay"
	kill "$!" 2>/dev/null
	wait "$!"
	"$skua" unpin -p "$one" >/dev/null 2>&1
	expect "interrupted after $delay s" test ! -e "$pins"
done
mkdir -p "$pins/$one/links"
run pin -p "$one"
expect 'a folder without links' exited 0
run unpin -p "$one"
run pin -p "$one"
rm "$pins/$one/begun"
run trace -p "$one" --for 0.1 --json
expect 'pins that are not whole' out_has '"probes":"uprobe_multi"'
run pin -p "$one"
expect 'pins that are not whole' exited 0
run unpin -p "$one"

# Of several at a time one pins, and its pins stay.
pinners=()
for ((i = 0; i < 4; i++)); do
	"$skua" pin -p "$one" >/dev/null 2>&1 &
	pinners+=("$!")
done
pinned=0
for pid in "${pinners[@]}"; do
	wait "$pid" && ((pinned++))
done
expect 'four at a time' test "$pinned" -eq 1
expect 'four at a time' test -e "$pins/$one/links/sched_switch"
semaphores one up
run unpin --all
semaphores one down
stop one
expect 'the program that was pinned' exited 0
stop two

finish 'skua pin: counts without the tool, and skua unpin leaves nothing'
