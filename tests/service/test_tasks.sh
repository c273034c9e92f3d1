#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# test_tasks.sh [SKUA] - `skua tasks` names what programs that hang wait for
set -uo pipefail
# shellcheck source=tests/service/checks.sh
source "$(dirname "$0")/checks.sh"

tests_skua "$@"
hangs=$(built tests/programs/hangs) || exit

has_help tasks
run tasks -p x
expect 'tasks -p x' exited 2
expect 'tasks -p x' err_has "--pid is 'x'; allowed: 1 to 4194304"
run tasks more
expect 'tasks more' exited 2

# until_shown PID TEXT ARG... - the table comes to say so
until_shown()
{
	local pid=$1 text=$2 i
	shift 2
	for ((i = 0; i < 200; i++)); do
		run tasks "$@" -p "$pid"
		grep -qF -- "$text" "$scratch/out" && break
		sleep 0.05
	done
	expect "tasks $*" exited 0
	expect "tasks $*" out_has "$text"
}

# names KIND TEXT - the program of that kind, by the table
names()
{
	local kind=$1 text=$2 pid
	SKUA_TRACK_TASKS=1 "$hangs" "$kind" 2>"$scratch/log" &
	pid=$!
	until_shown "$pid" "$text"
	expect "$kind" out_has connection
	until_shown "$pid" '"type":"connection"' --json
	until_shown "$pid" connection --each
	kill "$pid"
	wait "$pid" 2>/dev/null
}

names nobody 'nothing wakes it'
expect 'the log has a hint' grep -qF 'nothing refers to it' "$scratch/log"
names leak 'waits for a waker'
names cycle 'waits for a join'
names group 'waits for a group'
names timer 'done, timer left'
expect 'a timer that is never due' grep -qF ' never due ' "$scratch/out"

# In a poll, a task waits for nothing any more.
SKUA_TRACK_TASKS=1 "$hangs" wheel &
pid=$!
until_shown "$pid" 'in a poll'
until_shown "$pid" 'in a poll' --each
row=$(grep '0x.*in a poll' "$scratch/out")
expect "--each: $row" test "$(awk '{ print $7 }' <<<"$row")" = -
until_shown "$pid" '"state":"in a poll"' --json
expect '--json' out_has '"waits_for":0'
until_shown "$pid" 'waits for a timer' --each
row=$(grep -m 1 '0x.*waits for a timer' "$scratch/out")
expect "--each: $row" grep -qE ' (due|in [0-9.]+ [mun]?s) +' <<<"$row"
kill "$pid"
wait "$pid" 2>/dev/null

# A task that was done with a waker has ended once that is dropped.
mkfifo "$scratch/drop"
SKUA_TRACK_TASKS=1 "$hangs" dropped <"$scratch/drop" 2>"$scratch/log" &
pid=$!
exec {drop}>"$scratch/drop"
until_shown "$pid" 'done, waker left'
echo >&"$drop"
until_shown "$pid" '1 task is spawned and not done'
for ((i = 0; i < 200; i++)); do
	run tasks --each -p "$pid"
	out_lacks 'done, waker left' && break
	sleep 0.05
done
expect 'dropped' out_lacks 'done, waker left'
expect 'dropped' out_has 'waits for a waker'
kill "$pid"
wait "$pid" 2>/dev/null

# waits_for TEXT PROGRAM [ARG...] - a program is shown with a task that waits for that
waits_for()
{
	local text=$1 program
	program=$(built "tests/programs/$2") || exit
	mkfifo "$scratch/waits"
	SKUA_TRACK_TASKS=1 "$program" "${@:3}" <"$scratch/waits" >"$scratch/log" &
	pid=$!
	exec {drop}>"$scratch/waits"
	until_shown "$pid" "$text"
	# With the address of the object.
	until_shown "$pid" "\"state\":\"$text\"" --json
	expect "$text" test "$(grep -o "\"state\":\"$text\"[^}]*" "$scratch/out" |
		grep -c '"waits_for":0')" = 0
	exec {drop}>&-
	rm "$scratch/waits"
	kill "$pid" 2>/dev/null
	wait "$pid" 2>/dev/null
}

# Objects of the library: the table itself knows only of a waker.
waits_for 'waits for mutex' locks kept
waits_for 'waits for channel, to receive' channels starved
waits_for 'waits for descriptor, to read' sockets slow

# has_label TEXT ARG... - `labelled ARG...` is shown with that type and label
has_label()
{
	local text=$1 label=${2:-} pid
	mkfifo "$scratch/label"
	SKUA_TRACK_TASKS=1 "$(built tests/programs/labelled)" $label \
		<"$scratch/label" >"$scratch/log" &
	pid=$!
	exec {drop}>"$scratch/label"
	until_shown "$pid" "$text" --each
	until_shown "$pid" '"state":"in a poll"' --json
	if [[ $text == *' (get)'* ]]; then
		expect "$text" out_has '"label":"get"'
	else
		expect "$text" out_has '"label":null'
	fi
	exec {drop}>&-
	rm "$scratch/label"
	wait "$pid"
}

# Of a task that is no fiber, only the label that it set in this poll.
has_label 'serve (get) ' fiber
has_label 'serve_poll (get) ' poll
has_label 'serve_stale  ' stale

# Equal labels at several addresses have one line, in each of several runtimes, which are named.
mkfifo "$scratch/label"
SKUA_TRACK_TASKS=1 "$(built tests/programs/labelled)" equal <"$scratch/label" &
pid=$!
exec {drop}>"$scratch/label"
runtimes_rest()
{
	run tasks -p "$pid"
	[[ $(grep -c '4  rest (get) ' "$scratch/out") == 2 ]]
}
for ((i = 0; i < 200; i++)); do
	runtimes_rest && break
	sleep 0.05
done
expect 'equal labels' runtimes_rest
expect 'equal labels' test 2 = "$(grep -c '2  rest (put) ' "$scratch/out")"
expect 'equal labels' test 4 = "$(grep -c ' rest (' "$scratch/out")"
expect 'two runtimes' test 2 = \
	"$(grep -oE '^runtime 0x[0-9a-f]+ of 2: 6 tasks are ' "$scratch/out" |
		sort -u | wc -l)"
run tasks --json -p "$pid"
expect 'two runtimes' test 2 = \
	"$(grep -oE '"runtime":[1-9][0-9]*' "$scratch/out" | sort -u | wc -l)"
expect 'labels' test 8 = "$(grep -o '"label":"get"' "$scratch/out" | wc -l)"
exec {drop}>&-
rm "$scratch/label"
wait "$pid"

# Without the table: the number, and what to do; the log says that too.
"$hangs" leak 2>"$scratch/log" &
pid=$!
until_shown "$pid" '1 task is spawned and not done'
expect 'one runtime' out_lacks 'runtime 0x'
expect 'not tracked' out_has 'start the process with SKUA_TRACK_TASKS=1'
for ((i = 0; i < 200; i++)); do
	[[ -s $scratch/log ]] && break
	sleep 0.05
done
expect 'the log' grep -qF 'nothing happens: 1 task is left' "$scratch/log"
kill "$pid"
wait "$pid" 2>/dev/null
finish 'programs that hang are named'
