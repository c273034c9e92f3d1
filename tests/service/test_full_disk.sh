#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# test_full_disk.sh [SKUA] - a verb whose results cannot be written fails, and says so
# in one line
set -uo pipefail
# shellcheck source=tests/service/checks.sh
source "$(dirname "$0")/checks.sh"

skua=${1:-$build/bpf/skua}
hog=$(built tests/programs/hog) || exit
needs "$skua"
if [[ ! -w /dev/full ]]; then
	echo 'there is no /dev/full'
	exit 77
fi

"$hog" 600 >/dev/null &
pid=$!
: >"$scratch/out"

# fails VERB ARG... - with standard output on a disk without room
fails()
{
	code=0
	"$skua" "$@" >/dev/full 2>"$scratch/err" || code=$?
	expect "skua $*" exited 1
	expect "skua $*" err_has 'cannot write the results: No space left on device'
	expect "skua $*" test "$(grep -c '^skua' "$scratch/err")" = 1
}

until "$skua" stats -p $pid >/dev/null 2>&1; do
	sleep 0.05
done
for verb in stats 'stats --json' 'top --once' 'top --csv --interval 0.1' tasks \
	'tasks --json' 'perf --for 0.2'; do
	# shellcheck disable=SC2086
	fails $verb -p $pid
done
fails topo
fails doctor
fails --help
fails --version
fails stats --help
# Those that need BPF.
if "$skua" trace -p $pid --for 0.1 >/dev/null 2>&1; then
	for verb in trace 'trace --json' why 'why --off-cpu'; do
		# shellcheck disable=SC2086
		fails $verb --for 0.2 -p $pid
	done
else
	echo 'trace and why are not looked at: no BPF here'
fi
kill $pid
wait $pid 2>/dev/null
finish 'results that cannot be written are an error'
