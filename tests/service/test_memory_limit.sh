#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# test_memory_limit.sh - the ordinary stress load fits into 64 MB
#
# Runs stress programs, shortened, with 64 MB of addresses, stacks and
# libraries included: what leaks while a runtime runs does not fit. Stacks are
# of 128 KB, so that 200 workers do. That the limit is one is shown by a
# program that does not start with 8 MB. Built elsewhere than in build/: set
# SKUA_BUILD_DIR.
set -uo pipefail

tests=${SKUA_BUILD_DIR:-build}/tests
limit_kb=$((64 * 1024))
stack_kb=128
# Operations as each counts them: some make but a tenth or a hundredth.
ops=3000000
if [[ ${SKUA_TEST_SET-} == quick ]]; then
	ops=300000
fi
failed=0

if [[ ! -x $tests/stress_runtime ]]; then
	echo "$tests/stress_runtime is not built"
	exit 77
fi

# limited KB PROGRAM - run it with so many addresses
limited()
{
	(
		ulimit -s "$stack_kb" && ulimit -v "$1" || exit 77
		SKUA_STRESS_OPS=$ops exec "$tests/$2"
	) 2>&1
}

(ulimit -s "$stack_kb" && ulimit -v "$limit_kb") 2>/dev/null || {
	echo "ulimit cannot set the limits here"
	exit 77
}
if { limited 8192 stress_runtime; } >/dev/null 2>&1; then
	echo "FAILED: stress_runtime ran with 8 MB: the limit does not hold"
	failed=1
fi
for name in runtime wake wakers cancels groups timers forks memory; do
	code=0
	out=$(limited "$limit_kb" "stress_$name") || code=$?
	echo "$out"
	if ((code != 0)); then
		echo "FAILED: stress_$name with 64 MB: exit code $code"
		failed=1
	fi
done
exit "$failed"
