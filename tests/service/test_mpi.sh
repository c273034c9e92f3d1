#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# test_mpi.sh - the library inside ranks of MPI: the published counts of trees, sorted
# numbers, a rank that is stopped for a second, and one that is killed
#
# $SKUA_BUILD_DIR is the build. The set "long" searches a larger tree.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tests/service/checks.sh
source tests/service/checks.sh
# shellcheck source=tests/service/mpi.sh
source tests/service/mpi.sh

uts=$(built bench/mpi/skua-uts-ranks) || exit
sort=$(built bench/mpi/skua-sort-ranks) || exit
trees=(T1 T3)
if [[ ${SKUA_TEST_SET:-} == long ]]; then
	trees+=(T1L)
fi

for tree in "${trees[@]}"; do
	for n in 1 2 4; do
		ranks "$n" "$uts" --tree "$tree" --workers 1
		expect "$tree on $n ranks: the published counts" \
			exited 0
	done
done
ranks 3 "$uts" --tree T3 --workers 2 --multiple
expect "T3 on 3 ranks with 2 workers, MPI_THREAD_MULTIPLE" exited 0
expect "parts went to other ranks" \
	grep -q ', 6 workers: .* [1-9][0-9]* parts given' "$scratch/out"
# More other ranks than a rank asks at once.
ranks 6 "$uts" --tree T3 --workers 2
expect "T3 on 6 ranks with 2 workers" exited 0

for n in 1 2 3; do
	ranks "$n" "$sort" --workers 1 --items 300000
	expect "numbers on $n ranks are sorted" exited 0
done
ranks 3 "$sort" --workers 2 --items 100001 --distinct 3 --multiple
expect "three different numbers on 3 ranks are sorted" exited 0
for items in 0 1 2; do
	ranks 3 "$sort" --workers 1 --items "$items"
	expect "$items numbers on 3 ranks are sorted" exited 0
done

# A rank that has no CPU for a second delays the search, and loses nothing.
start_ranks 2 "$uts" --tree T1 --workers 1
expect "two ranks were found" test "${#rank_pids[@]}" = 2
kill -STOP "${rank_pids[1]}"
sleep 1
kill -CONT "${rank_pids[1]}"
wait "$mpirun_pid"
code=$?
expect "the counts after a rank was stopped" exited 0

# A rank that dies ends the job, with the words of MPI.
start_ranks 2 "$uts" --tree T1 --workers 1
expect "two ranks were found" test "${#rank_pids[@]}" = 2
kill -KILL "${rank_pids[1]}"
wait "$mpirun_pid"
code=$?
expect "the job failed" test "$code" != 0
expect "MPI says that a rank was killed" err_has 'signal 9'
# The other one is ended, too: the test waits for it until its time is up.
while [[ -e /proc/${rank_pids[0]} ]]; do
	sleep 0.02
done

tested=("$uts")
run --tree T9
expect "an unknown tree is refused" \
	err_has "skua-uts-ranks: --tree is 'T9'; allowed: T1, T3, T1L"
expect "exit code of a wrong option" exited 2

finish "ranks of MPI share searches and sorts"
