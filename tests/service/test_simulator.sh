#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# test_simulator.sh [SKUA-SIMULATOR] - what skua-simulator prints, and how it exits
#
# Built elsewhere than in build/: name it, or set SKUA_BUILD_DIR.
set -uo pipefail
# shellcheck source=tests/service/checks.sh
source "$(dirname "$0")/checks.sh"

simulator=${1:-$build/bench/skua-simulator}
needs "$simulator"
tested=("$simulator")

for verb in '' run report; do
	# shellcheck disable=SC2086 # words
	run $verb --help
	expect "$verb --help" exited 0
	expect "$verb --help" out_has 'Usage: skua-simulator'
	expect "$verb --help" err_lines 0
done

refuses 2 'allowed: run, report'
refuses 2 "no verb 'walk'; allowed: run, report" walk
refuses 2 "--policy is 'x'; allowed: runtime, rand, tier" run --policy x
refuses 2 "--workload is 'x'; allowed: even, skew" run --workload x
refuses 2 "--wake is 'x'; allowed: group, all" run --wake x
refuses 2 "--load is '100'; allowed: 1 to 99" run --load 100
refuses 2 "--machine is '2x2'; allowed: SOCKETSx" run --machine 2x2
refuses 2 "--machine is '1x1x1x1x1'; allowed: SOCKETSx" run --machine 1x1x1x1x1
refuses 2 "--machine is '9x9x9x9x9'; allowed: SOCKETSx" run --machine 9x9x9x9x9
refuses 2 "--machine is '1x1x1x2x2x'; allowed: SOCKETSx" run --machine 1x1x1x2x2x
refuses 2 '--workers needs a snapshot' run --workers 2
refuses 2 "no option '--seeds'; allowed: --out" report --seeds 3

run run --machine "$scratch/none"
expect 'no snapshot' exited 1
expect 'no snapshot' err_lines 1
expect 'no snapshot' err_has "--machine is '$scratch/none'"

small=(run --machine 1x2x2x2x2 --time-us 500 --json)
for policy in runtime rand tier samp hint hintw; do
	for workload in even skew single burst tree; do
		"$simulator" "${small[@]}" --policy $policy --workload $workload --depth 8
	done
done >"$scratch/lines"
"$simulator" "${small[@]}" >"$scratch/once"
"$simulator" "${small[@]}" >"$scratch/again"
"$simulator" "${small[@]}" --seed 2 >"$scratch/other"
expect 'the same seed' cmp "$scratch/once" "$scratch/again"
expect 'another seed' test "$(cmp "$scratch/once" "$scratch/other")"
run run --machine "$build/tests/machines/nps4_16_llcs.snapshot" --workers 16
expect 'a snapshot' exited 0
expect 'a snapshot' out_has '16 workers in'

run report --quick --out "$scratch/report"
expect report exited 0
expect report cmp "$scratch/out" "$scratch/report/simulation.md"
expect figures python3 - "$scratch" <<'END'
import json, sys, xml.dom.minidom

runs = [json.loads(line) for line in open(sys.argv[1] + "/lines")]
assert len(runs) == 30
for r in runs:
    assert r["arrived"] == r["done"] + r["left"], r
    assert ("time_by_ideal" if r["params"]["workload"] == "tree"
            else "latency_ns") in r
report = json.load(open(sys.argv[1] + "/report/simulation.json"))
assert len(report["cases"]) == 30 and len(report["costs"]) == 6
for r in report["costs"]:
    groups = r["params"]["groups"]
    assert r["failed_rounds"]["most_lines"] <= groups, r
    assert r["before_sleep"]["most_lines"] <= groups, r
text = open(sys.argv[1] + "/report/simulation.md").read()
for r in report["cases"]:
    assert f"| {r['params']['policy']} " in text
svg = xml.dom.minidom.parse(sys.argv[1] + "/report/simulation.svg")
bars = [r for r in svg.getElementsByTagName("rect")
        if r.getAttribute("width") == "18"]
assert len(bars) == 4 * 6 + 5 * 6, len(bars)
END

finish "the simulator says what it does, the same each time"
