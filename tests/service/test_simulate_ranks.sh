#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# test_simulate_ranks.sh - what skua-simulate-ranks prints, and how it exits
#
# $SKUA_BUILD_DIR is the build.
set -uo pipefail
# shellcheck source=tests/service/checks.sh
source "$(dirname "$0")/checks.sh"

simulate=$(built bench/skua-simulate-ranks) || exit
tested=("$simulate")

run --help
expect 'help' exited 0
expect 'help' out_has 'Usage: skua-simulate-ranks'
refuses 2 "--tree is 'T9'; allowed: T1, T3, T1L, T3L, T3W" --tree T9
refuses 2 "--policy is 'x'; allowed: one, few, turn, random" --policy x
refuses 2 "--ranks is '0'; allowed: 1 to 4096" --ranks 0
refuses 2 "--workers is '2000'; allowed: 1 to 1024" --workers 2000
refuses 2 "--node-ns is '9'; allowed: 100 to 1000000000" --node-ns 9

run --ranks 10
expect 'all policies' exited 0
expect 'all policies' err_lines 0
expect 'a table' out_has '|    10 | lifeline '

"$simulate" --ranks 10 --policy four --json >"$scratch/once"
"$simulate" --ranks 10 --policy four --json >"$scratch/again"
"$simulate" --ranks 10 --policy four --json --seed 2 >"$scratch/other"
expect 'the same seed' cmp "$scratch/once" "$scratch/again"
expect 'another seed' test "$(cmp "$scratch/once" "$scratch/other")"
expect 'figures' python3 - "$scratch/once" <<'END'
import json, sys

row = json.load(open(sys.argv[1]))
assert row["nodes"] == 4130071 and row["ranks"] == 10, row
assert 0 < row["efficiency"] < 1 and row["gives"] < row["asks"], row
END

finish "the simulation of ranks says what it does, the same each time"
