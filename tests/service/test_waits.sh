#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# test_waits.sh [SKUA] - `skua waits` names locks, their holders and deadlocks, and shows
# what channels have; `skua stacks` shows the stacks that gdb shows; of programs as they are
# shipped
set -uo pipefail
# shellcheck source=tests/service/checks.sh
source "$(dirname "$0")/checks.sh"
# shellcheck source=tests/service/ways.sh
source "$(dirname "$0")/ways.sh"

tests_skua "$@"
locks=$(built tests/programs/locks) || exit
built tests/programs/channels >/dev/null || exit
watched=$(built tests/programs/watched) || exit

for verb in waits stacks; do
	has_help "$verb"
	refuses 2 "--pid is 'x'; allowed: 1 to 4194304" "$verb" -p x
	refuses 2 "unexpected argument 'more'" "$verb" more
	refuses 1 "process $$ is not a skua process" "$verb" -p $$
done

# --- deadlocks, however the program was made ---------------------------------------

make_ways locks channels

# deadlocked N TEXT... - the JSON has one deadlock of N waiters, and the text has each
# TEXT and as many stacks as there are fibers in it
deadlocked()
{
	local n=$1 text
	shift
	run waits -p "$pid" --json
	expect "$way: $kind" exited 0
	expect "$way: $kind" shows "len(d['deadlocks']) == 1 and
		len(d['deadlocks'][0]) == $n and
		all(len(w['stack']) >= 4 for w in d['deadlocks'][0]
			if w['waiter'].startswith('fiber'))"
	run waits -p "$pid"
	for text in "$@"; do
		expect "$way: $kind" out_has "$text"
	done
}

# Of skua why: the lock, and what its holder did.
blamed='any(r["kind"] == "waited" and r["lock"]["name"] == "accounts" and
	r["culprit"] in ("debit", "credit") and
	2 * r["lock"]["holder_parts"]["running"] > r["ns"] > 200_000 and
	sum(s["parts"].values()) == s["took_ns"]
		for s in d["slowest"] for r in [s["reason"]] + s["also"])'

# The channels: name, state, contents, and the number of waiters of each side.
channels='
	[(o["name"], o["kind"], o["state"], o["items"], o["capacity"],
		o["receivers"]["waiters"], o.get("senders", {}).get("waiters"))
		for o in d["objects"]] == [
		("events", "spsc", "open", 4, 4, 0, 1),
		("settings", "watch", "open", 2, 0, 1, None),
		("prices", "broadcast", "open", 6, 4, 1, None),
		("answer", "oneshot", "open", 0, 0, 1, None),
		("closed", "channel", "closed", 1, 4, 0, 0),
		("audits", "channel", "open", 3, 4, 0, 0),
		("replies", "channel", "open", 0, 4, 3, 0),
		("orders", "channel", "open", 4, 4, 0, 3)] and
	all(side["longest_ns"] > 10_000_000 if side["waiters"] else
		side["longest_ns"] == 0 and side["of_which"] == "nobody"
		for o in d["objects"] for side in (o["receivers"], o.get("senders"))
		if side) and
	d["objects"][7]["senders"]["of_which"].startswith(("fiber producer ", "thread ")) and
	d["objects"][6]["receivers"]["of_which"].startswith(("fiber consumer ", "task reader ")) and
	sorted(w["kind"] for w in d["waiters"]) == ["broadcast"] +
		3 * ["channel, to receive"] + 3 * ["channel, to send"] + ["oneshot", "spsc, to send", "watch"] and
	[w["waiter"].split()[:2] for w in d["waiters"] if w["done"]] == [["task", "reader"]]'

# Of skua why: the channel that was full or empty, and the task that should have served it.
full='any(r["kind"] == "waited" and r["lock"]["name"] == "orders" and
	r["culprit"] == "consumer" and r["ns"] > 200_000
		for s in d["slowest"] for r in [s["reason"]] + s["also"]) and
	any(c["name"] == "orders" and c["state"] == "full" and c["server"] == "consumer" and
		c["longest_type"] == "producer" for c in d["channels"])'
empty='any(c["name"] == "orders" and c["state"] == "empty" and c["server"] == "producer" and
	c["longest_type"] == "consumer" and c["longest_ns"] > 200_000 for c in d["channels"])'
# It waits itself, so nobody sends any more.
stuck='any(c["name"] == "orders" and c["waiting"] == 1 and c["longest_goes_on"] and
	c["server"] == "producer" and 2 * c["server_parts"]["waited"] > c["longest_ns"]
		for c in d["channels"]) and d["waiting_for_locks"] == 1'

# why_shows NAME SECONDS EXPRESSION - `skua why` shows it, soon: others may have the CPUs
why_shows()
{
	for ((i = 0; i < 100; i++)); do
		run why -p "$pid" --for "$2" --slowest 1000 --json
		shows "$3" && break
	done
	expect "$way: $1: why" exited 0
	expect "$way: $1: why" shows "$3"
}

for way in "${ways[@]}"; do
	begin "$way" channels slow
	why_shows slow 0.5 "$full"
	stop channels
	begin "$way" channels starved
	why_shows starved 0.5 "$empty"
	stop channels

	begin "$way" channels calm
	for ((i = 0; i < 100; i++)); do # until all of them wait
		run waits -p "$pid" --json
		shows "$channels" && break
	done
	expect "$way: channels" exited 0
	expect "$way: channels" shows "$channels"
	run waits -p "$pid" --each
	for text in 'task is done, and still waits' 'watch      settings  open    version 2  rec' \
		'4 of 4' '6 sent' ' waits for channel orders, to send, for '; do
		expect "$way: channels" out_has "$text"
	done
	stop channels

	kind=two
	begin "$way" locks $kind
	deadlocked 2 'fiber debit' 'fiber credit' 'waits for mutex'
	stop locks
	kind=three
	begin "$way" locks $kind
	deadlocked 3 'fiber debit' 'fiber credit' 'fiber audit' 'waits for condition'
	stop locks
	kind=thread
	begin "$way" locks $kind
	deadlocked 2 'fiber debit' 'thread '
	stop locks
	kind=threads
	begin "$way" locks $kind
	deadlocked 2 'waits for mutex accounts' 'waits for mutex journal'
	stop locks

	# A wait of a millisecond at most, with its holder.
	kind=hold
	begin "$way" locks $kind
	for ((i = 0; i < 100; i++)); do
		run waits -p "$pid" --json
		shows 'any(o["name"] == "accounts" and o["waiters"] == 1 and
			o["holder"].startswith("fiber ") and
			o["holder_does"].startswith("running on worker ")
			for o in d["objects"])' && break
	done
	expect "$way: $kind, after $i times" test $i -lt 100
	expect "$way: $kind" shows 'd["deadlocks"] == []'
	why_shows $kind 0.5 "$blamed"
	stop locks
done

# --- a wait that never ends ------------------------------------------------------------

way=default
begin $way channels stuck
run why -p "$pid" --for 5 --slowest 1000 --json
expect stuck exited 0
expect stuck shows "$stuck"
stop channels

# --- each kind of wait -------------------------------------------------------------

start locks "$locks" calm
run waits -p "${pids[locks]}" --json
expect calm exited 0
expect calm shows '
	sorted(w["kind"] for w in d["waiters"]) == ["barrier", "event", "group", "join", "mutex",
		"notify", "once", "rwlock, to read", "rwlock, to write", "select", "semaphore",
		"semaphore", "semaphore", "time"] and d["deadlocks"] == [] and not d["more"]'
expect calm shows '
	[o["waiters"] for o in d["objects"] if o["kind"] == "semaphore"] == [3] and
	all(o["holder"].startswith("thread ") for o in d["objects"]
		if o["kind"] in ("mutex", "once") or o["kind"].startswith("rwlock"))'
expect calm shows '
	[[c["kind"] for c in w["cases"]] for w in d["waiters"] if w["kind"] == "select"] ==
		[["event", "mutex", "time", "descriptor, to read", "group"]]'
run waits -p "${pids[locks]}" --each
expect 'calm --each' out_has 'waits for once '
expect 'calm --each' out_has 'waits for select of 6, '
expect 'calm --each' out_has '    mutex '
expect 'calm --each' out_has '(pipe), to read'
run waits -p "${pids[locks]}"
for text in 'a waker' 'rwlock, to write' 'join' 'select' 'time'; do
	expect calm out_has "$text"
done
run stacks -p "${pids[locks]}"
expect 'stacks' exited 0
expect 'stacks' out_has '3 fibers of debit: one waits for semaphore'
expect 'stacks' out_has 'locks.c:'
run stacks -p "${pids[locks]}" --each
expect 'stacks --each' test "$(grep -c '^fiber .* of debit: ' "$scratch/out")" = 3

# --- the same stacks as in gdb -------------------------------------------------------

"$skua" stacks -p "${pids[locks]}" --json >"$scratch/stacks"
if command -v gdb >/dev/null && [[ $(uname -m) == x86_64 ]]; then
	commands=()
	for ((i = 1; i <= $(wc -l <"$scratch/stacks"); i++)); do
		commands+=(-ex "skua fiber $i bt")
	done
	tested=(timeout 100 gdb -nx -batch -ex 'set debuginfod enabled off'
		-ex 'set pagination off' -ex 'source bpf/scripts/skua-gdb.py'
		-p "${pids[locks]}" "${commands[@]}")
	run
	if grep -qi "operation not permitted" "$scratch/out" "$scratch/err"; then
		left_out+='; gdb may not trace here'
	else
		code=0
		python3 - "$scratch/out" "$scratch/stacks" >"$scratch/compared" 2>&1 <<'END' || code=$?
import json
import re
import sys


def functions(stack):
    """Those that have a frame: of an address, gdb shows the inlined functions first."""
    found = []
    for line in ("#0 " + stack).splitlines():
        frame = re.match(r"#(\d+) +(0x[0-9a-f]+ in )?(\w+) \(", line)
        if frame and (frame[2] or frame[1] == "0"):
            found.append(frame[3])
        elif frame:
            found[-1] = frame[3]
    return found


stacks = re.split(r"^#0 ", open(sys.argv[1]).read(), flags=re.MULTILINE)[1:]
gdb = sorted(functions(stack) for stack in stacks)
ours = sorted(
    [frame["function"] for frame in json.loads(line)["frames"]]
    for line in open(sys.argv[2])
)
sys.exit((gdb != ours or len(ours) < 10) and f"gdb: {gdb}\nskua stacks: {ours}")
END
		cat "$scratch/compared" >>"$scratch/err"
		expect 'gdb shows the same' exited 0
	fi
	tested=("$skua")
else
	left_out+='; gdb is not installed'
fi
stop locks

# --- many fibers, and none -----------------------------------------------------------

start locks "$locks" many
run waits -p "${pids[locks]}" --json
expect many shows 'd["fibers"] == 10000 and len(d["waiters"]) == 10000'
run stacks -p "${pids[locks]}"
expect many out_has '10000 fibers of debit: '
expect many test "$(wc -l <"$scratch/out")" -lt 20
stop locks

start watched "$watched" load
run waits -p "${pids[watched]}"
expect 'no fiber' out_has 'no fiber has a stack; skua tasks shows'
run stacks -p "${pids[watched]}"
expect 'no fiber' out_has 'no fiber has a stack; skua flame shows'
stop watched

finish "deadlocks of fibers and threads are named, and channels shown, in ${#ways[@]} kinds of programs${left_out-}"
