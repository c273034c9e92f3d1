#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# test_mpi_tools.sh [SKUA] - the ranks of an MPI job in one view: `skua top`, `skua record`,
# `skua export` and `skua why` find them below mpirun
#
# $SKUA_BUILD_DIR is the build.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tests/service/checks.sh
source tests/service/checks.sh
# shellcheck source=tests/service/mpi.sh
source tests/service/mpi.sh

tests_skua "$@"
uts=$(built bench/mpi/skua-uts-ranks) || exit

# The search takes long enough for the test, which ends it.
start_ranks 2 "$uts" --tree T1L --workers 1
expect 'two ranks were found' test "${#rank_pids[@]}" = 2

run top --once --interval 0.5 --job "$mpirun_pid"
expect 'top' exited 0
for rank in 0 1; do
	expect "top: rank $rank" grep -qE "^ *$rank +[0-9]+ +skua-uts-ranks +1 " "$scratch/out"
done
expect 'top: all ranks' grep -qE '^ *all +2 ' "$scratch/out"
run top --once --interval 0.2 --json --job "$mpirun_pid"
expect 'top --json' exited 0
code=0
python3 - "$scratch/out" "${rank_pids[@]}" 2>"$scratch/err" <<'END' || code=$?
import json
import sys

path, *pids = sys.argv[1:]
shown = [json.loads(line) for line in open(path)]
assert [d["rank"] for d in shown] == [0, 1], shown
assert {d["pid"] for d in shown} == set(map(int, pids)), (shown, pids)
END
expect 'top --json' exited 0

run record --job "$mpirun_pid" --for 0.5 -o "$scratch/job"
expect 'record' exited 0
run export --format chrome "$scratch/job.1" "$scratch/job.0"
expect 'export' exited 0
expect 'export' err_lacks 'it is not known to be of the same machine'
expect 'export' out_has '"name":"rank 0 (skua-uts-ranks, pid '
expect 'export' out_has '"name":"rank 1 (skua-uts-ranks, pid '
run why "$scratch/job.1" "$scratch/job.0"
expect 'why' exited 0
expect 'why' test '0 1' = \
	"$(awk 'NR > 1 && $3 == "skua-uts-ranks" { print $1 }' "$scratch/out" | xargs)"
expect 'why' out_has 'verdict on rank 1: '

kill "$mpirun_pid"
wait "$mpirun_pid"

finish 'the ranks of an MPI job are shown together'
