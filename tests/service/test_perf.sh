#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# test_perf.sh - what `skua perf` counts in a process, and how it ends
set -uo pipefail
# shellcheck source=tests/service/checks.sh
source "$(dirname "$0")/checks.sh"

skua=$(built bpf/skua) || exit
watched=$(built tests/programs/watched) || exit
tested=("$skua")

# adds_up [SOURCE] - the objects that were printed last; SOURCE: of what the kernel
# counts of a thread
adds_up()
{
	python3 - "$scratch/out" "${1:-}" <<'END'
import json
import sys

SOFTWARE = ("task-clock", "context-switches", "page-faults")
path, source = sys.argv[1:]
objects = [json.loads(line) for line in open(path)]
assert objects
for data in objects:
    total, workers = data["totals"], data["workers"]
    assert data["seconds"] > 0 and data["comm"] == "watched"
    assert [w["index"] for w in workers] == list(range(len(workers)))
    polled = [w["tasks_polled"] for w in workers]
    assert total["tasks_polled"] == sum(polled), (total, polled)
    for name, count in total["counts"].items():
        counts = [w["counts"].get(name) for w in workers]
        share = total["per_task"][name]
        if count is None:
            assert data["missing"][name], name
            assert not any(counts) and share is None
            continue
        assert name not in data["missing"]
        assert count["value"] == sum(c["value"] for c in counts)
        assert count["run_ratio"] == min(c["run_ratio"] for c in counts)
        assert 0 < count["run_ratio"] <= 1
        if total["tasks_polled"]:
            expected = count["value"] / total["tasks_polled"]
            assert abs(share - expected) <= 1e-6 * expected
    if source:
        for name in SOFTWARE:
            assert total["counts"][name]["source"] == source, name
    ratio, counts = total["instructions_per_cycle"], total["counts"]
    if counts.get("cycles") and counts.get("instructions"):
        expected = counts["instructions"]["value"] / counts["cycles"]["value"]
        assert abs(ratio - expected) <= 1e-6 * expected
    else:
        assert ratio is None
assert any(o["totals"]["tasks_polled"] > 0 for o in objects)
END
}

# start_load NAME COMMAND... - and wait until each of its two workers has a thread
start_load()
{
	start "$@"
	until "$skua" perf -p "${pids[$1]}" -e task-clock --for 0.001 --json |
		grep -qE '"index":0,"tid":[1-9].*"index":1,"tid":[1-9]'; do
		kill -0 "${pids[$1]}" || break
	done 2>/dev/null
}

# --- help and errors -------------------------------------------------------------

has_help perf
refuses 2 "--pid is '0'; allowed: 1 to 4194304" perf -p 0
refuses 2 "--for is '-1'; allowed: seconds" perf -p 1 --for -1
refuses 2 "--for is 'nan'; allowed: seconds" perf -p 1 --for nan
refuses 2 "--interval is '0'; allowed: seconds" perf -p 1 --interval 0
refuses 2 '--event has an empty name' perf -p 1 -e cycles,,branches
refuses 2 '--event has more than 24 names' perf -p 1 \
	-e "$(printf 'cycles,%.0s' {1..24})cycles"
refuses 2 "no option '--wrong'" perf --wrong
refuses 2 "unexpected argument 'more'" perf -p 1 more
refuses 2 '--list is of this machine' perf --list -p 1
refuses 1 "is not a skua process" perf -p $$
true &
wait $!
refuses 1 "no process $!" perf -p $!

run perf --list page-fau
expect 'a list' exited 0
expect 'a list' out_has 'perf::PAGE-FAULTS'
expect 'a list' out_lacks 'CLOCK'
refuses 1 'no event of this machine has that name' perf --list no-such-event

# --- a process -------------------------------------------------------------------

start_load load "$watched" load 2
pid=${pids[load]}
run perf -p "$pid" --for 0.2
expect 'as text' exited 0
expect 'as text' out_has "process $pid (watched), 2 workers"
expect 'as text' grep -qE '^(task-clock|page-faults \(/proc\)) ' "$scratch/out"
run perf -p "$pid" --for 0.2 --json
expect 'one span' exited 0
expect 'one span' adds_up
cp "$scratch/out" "$scratch/own"
run perf -p "$pid" --for 0.5 --interval 0.1 --json -e task-clock,cycles,no-such
expect 'several spans' exited 0
expect 'several spans' adds_up
expect 'several spans' test "$(wc -l <"$scratch/out")" -ge 3
expect 'an unknown event' out_has '"no-such":"'
refuses 1 'no-such: ' perf -p "$pid" -e no-such

# Until a signal.
run_beside 4002 perf -p "$pid" --json
kill -INT "$ours"
await "$ours"
expect 'until Ctrl-C' exited 0
expect 'until Ctrl-C' test "$(wc -l <"$scratch/out")" = 1

# With counting forbidden, /proc tells. Of others nothing does.
left_out=''
if ((EUID == 0)); then
	tested=(setpriv --reuid 65534 --clear-groups --inh-caps=-all "$skua")
	refuses 1 "process $pid" perf -p "$pid" --for 0.1
	start_load other setpriv --reuid 65534 --clear-groups --inh-caps=-all \
		"$watched" load 2
	run perf -p "${pids[other]}" --for 0.2 --json
	expect 'without privileges' exited 0
	expect 'without privileges' adds_up
	if (($(</proc/sys/kernel/perf_event_paranoid) >= 2)); then
		expect 'without privileges' grep -qE \
			'"context-switches":\{"value":[0-9]+,"run_ratio":1.0,"source":"proc"' \
			"$scratch/out"
	fi
	stop other
	tested=("$skua")
else
	left_out='; without privileges was not tried, as this is no root'
fi

# The process ends meanwhile: what was counted is printed all the same.
run_beside 4002 perf -p "$pid"
sleep 0.1 # or later: it may end at any moment
stop load
await "$ours"
expect 'the end of the process' err_has "process $pid has ended"
expect 'the end of the process' err_lines 1

run perf -p "$pid"
expect 'gone' exited 1

# It executes another program: that ends the command as well.
start changed "$watched" exec
run_beside 4002 perf -p "${pids[changed]}"
watches
echo >&"${inputs[changed]}"
await "$ours"
expect 'another program' exited 0
expect 'another program' err_has 'has executed another program meanwhile'
expect 'another program' err_lines 1
kill "${pids[changed]}"
{ forget changed; } 2>/dev/null

python3 -c 'import json, sys
missing = json.load(sys.stdin)["missing"]
print("missing here:", *(missing or ["nothing"]))' <"$scratch/own"
finish "skua perf: spans, signals, ends, privileges$left_out"
