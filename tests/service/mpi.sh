# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# mpi.sh - for the tests that run ranks of MPI: start them, and find their processes
#
# Sourced after checks.sh. Without the mpirun of Open MPI, the test is skipped.

# shellcheck disable=SC2154 # set by checks.sh
# shellcheck disable=SC2034 # used by checks.sh
if ! command -v mpirun >/dev/null; then
	echo "mpirun is not installed"
	exit 77
fi
if [[ $(mpirun --version 2>&1) != *'Open MPI'* ]]; then
	echo "mpirun is not that of Open MPI, whose options the test uses"
	exit 77
fi

# Ranks share the CPUs here. Open MPI refuses root without the first option.
mpirun=(mpirun --oversubscribe --bind-to none)
if ((EUID == 0)); then
	mpirun+=(--allow-run-as-root)
fi

# ranks N PROGRAM ARG... - run it in N ranks: $code, $scratch/out and $scratch/err
ranks()
{
	tested=("${mpirun[@]}" -n "$1" "${@:2}")
	run
}

# rank_processes PROGRAM - the ids of its processes that are ranks of $mpirun_pid
rank_processes()
{
	local pid

	for pid in $(ps -o pid= --ppid "$mpirun_pid"); do
		if [[ $(readlink "/proc/$pid/exe") -ef $1 ]]; then
			echo "$pid"
		fi
	done
}

# start_ranks N PROGRAM ARG... - start it in N ranks, and wait until each has its workers:
# $mpirun_pid is the process of mpirun, $rank_pids are the ranks
start_ranks()
{
	"${mpirun[@]}" -n "$1" "${@:2}" >"$scratch/out" 2>"$scratch/err" &
	mpirun_pid=$!
	while kill -0 "$mpirun_pid" 2>/dev/null; do
		mapfile -t rank_pids < <(rank_processes "$2")
		if ((${#rank_pids[@]} == $1)) && all_have_workers; then
			return
		fi
		sleep 0.02
	done
}

all_have_workers()
{
	local pid

	for pid in "${rank_pids[@]}"; do
		grep -qs '^skua-0$' "/proc/$pid"/task/*/comm || return 1
	done
}
