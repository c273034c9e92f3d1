#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# test_whole_report.sh [SKUA-BENCH] - a report has every workload that there is
#
# Built elsewhere than in build/: name it, or set SKUA_BUILD_DIR.
set -uo pipefail
# shellcheck source=tests/service/checks.sh
source "$(dirname "$0")/checks.sh"

bench=${1:-$build/bench/skua-bench}
needs "$bench"
tested=("$bench")

run list
expect list exited 0
workloads=$(cut -d ' ' -f 1 "$scratch/out")

run report --quick --no-peers --out "$scratch/report"
expect report exited 0
# shellcheck disable=SC2086 # words
expect report python3 - "$scratch/report" $workloads <<'END'
import json, sys
folder, *workloads = sys.argv[1:]
assert len(workloads) > 10
report = json.load(open(f"{folder}/report.json"))
assert {r["workload"] for r in report["results"]} == set(workloads)
assert all(r["ok"] for r in report["results"])
assert {r["workers"] for r in report["results"]} >= {0, 1}
table = open(f"{folder}/report.md").read()
for name in workloads:
    assert f"| {name} " in table, name
END

finish "a whole report: $(wc -w <<<"$workloads") workloads"
