#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# test_several.sh [SKUA] - verbs that watch several processes: the limit of open files, and
# processes that end meanwhile
set -uo pipefail
# shellcheck source=tests/service/checks.sh
source "$(dirname "$0")/checks.sh"

tests_skua "$@"
burst=$(built tests/programs/burst) || exit
names=(a b c d e f g h)
list=''
for name in "${names[@]}"; do
	start "$name" "$burst" 1
	list+=,${pids[$name]}
done
list=${list#,}

# limited WHICH COUNT ARG... - as run, with a limit of open files
limited()
{
	local which=$1 count=$2
	shift 2
	code=0
	(ulimit "$which" "$count" && "${tested[@]}" "$@") \
		>"$scratch/out" 2>"$scratch/err" || code=$?
}

# --- open files ------------------------------------------------------------------

# Each process takes two descriptors or more, so these need more than the soft limit.
limited -Sn 20 top --once --json --interval 0.05 -p "$list"
expect 'a low soft limit' exited 0
expect 'a low soft limit' test "$(wc -l <"$scratch/out")" = ${#names[@]}
limited -Sn 20 top --once --json --interval 0.05 --job $$
expect 'a low soft limit, --job' exited 0
expect 'a low soft limit, --job' test "$(wc -l <"$scratch/out")" = ${#names[@]}
for which in "-p $list" "--job $$"; do
	# shellcheck disable=SC2086 # two words
	limited -n 20 top --once --interval 0.05 $which
	expect 'a low hard limit' exited 1
	expect 'a low hard limit' err_lines 1
	expect 'a low hard limit' err_has 'this command may open only 20 files'
	# shellcheck disable=SC2086
	limited -n 20 record --for 0.05 $which -o "$scratch/some"
	expect 'a low hard limit, record' exited 1
	expect 'a low hard limit, record' err_has 'this command may open only 20 files'
done

# --- processes that end ----------------------------------------------------------

# missing ARG... - run skua top, and kill process h in its first interval
missing()
{
	"${tested[@]}" top --once --interval 1 "$@" >"$scratch/out" 2>"$scratch/err" &
	ours=$!
	# It has opened the memory of h.
	until [[ $(readlink /proc/$ours/fd/* 2>/dev/null) == *"/proc/${pids[h]}/mem"* ]]; do
		kill -0 $ours || break
		sleep 0.01
	done
	kill -9 "${pids[h]}"
	forget h
	await $ours
}

missing -p "$list"
expect 'a named process ends' exited 1
expect 'a named process ends' err_has "process ${pids[h]} has ended meanwhile"
expect 'a named process ends' out_has "${pids[a]}"
expect 'a named process ends' out_has '1 of 8 processes has ended'
start h "$burst" 1
missing --job $$
expect 'a process of a job ends' exited 0
expect 'a process of a job ends' out_has '1 of 8 processes has ended'
run top --once --interval 0.05 -p "${list%,*},${pids[h]}"
expect 'a process has ended before' exited 1
expect 'a process has ended before' err_has "no process ${pids[h]}"

for name in "${names[@]:0:7}"; do
	stop "$name"
done
finish 'skua top, record: several processes, open files'
