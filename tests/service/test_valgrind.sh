#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# test_valgrind.sh - memcheck finds nothing in the shorter test programs
#
# Memory that is read before it was written, used after it was freed, or lost.
# valgrind runs one thread at a time and ten times slower, so that only those
# are here that neither loop for long nor count on threads that run at once.
# unit.fork is not: its children end with the memory of their parent's runtime,
# as they have to. Built elsewhere than in build/: set SKUA_BUILD_DIR.
set -uo pipefail

tests=${SKUA_BUILD_DIR:-build}/tests
# Operations of the stress program, of which it makes a fifth.
ops=25000
programs=(stress_cancels test_cancel test_runtime_drain test_stats test_call
	test_hooks test_faults test_shutdown test_runtime_failures test_urgent
	test_task_join test_drive test_config test_config_place test_task_spawn
	test_task_state test_env test_environment test_task_detach test_cpu_list)
if [[ ${SKUA_TEST_SET-} == quick ]]; then
	programs=(test_cancel test_stats test_faults test_shutdown test_drive
		test_task_spawn test_task_state test_cpu_list)
fi

if ! command -v valgrind >/dev/null; then
	echo "valgrind is not installed"
	exit 77
fi
if [[ ! -x $tests/test_task_state ]]; then
	echo "$tests/test_task_state is not built"
	exit 77
fi
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# check PROGRAM - one line, and what memcheck or the program said if it failed
check()
{
	local code=0
	SKUA_STRESS_OPS=$ops valgrind --quiet --fair-sched=yes --error-exitcode=99 \
		--leak-check=full --show-leak-kinds=definite,possible \
		--errors-for-leak-kinds=definite,possible \
		--suppressions="$(dirname "$0")/valgrind.supp" \
		"$tests/$1" >"$scratch/$1" 2>&1 || code=$?
	if ((code == 0)); then
		echo "ok $1"
	else
		cat "$scratch/$1"
		echo "FAILED: $1 under valgrind: exit code $code"
	fi
	return "$code"
}

# Two at a time, each waited for by its process id.
failed=0
pids=()
for program in "${programs[@]}"; do
	check "$program" &
	pids+=($!)
	if ((${#pids[@]} == 2)); then
		wait "${pids[0]}" || failed=1
		pids=("${pids[@]:1}")
	fi
done
wait "${pids[0]}" || failed=1
exit "$failed"
