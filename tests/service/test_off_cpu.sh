#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# test_off_cpu.sh - `skua why --off-cpu` finds in which functions polls of prepared
# programs block, also those that had begun before or have no end
set -uo pipefail
# shellcheck source=tests/service/checks.sh
source "$(dirname "$0")/checks.sh"

skua=$build/bpf/skua
programs=$build/tests/programs
for program in "$skua" "$programs"/{burst,hog}; do
	needs "$program"
done
tested=("$skua")
left_out=''

# --- errors ----------------------------------------------------------------------

refuses 2 '--off-cpu needs a live process, and records nothing' why --off-cpu -p 1 -o some.skua
refuses 2 '--off-cpu needs a live process, and records nothing' why --off-cpu some.skua
refuses 1 "process $$ is not a skua process" why --off-cpu -p $$

start hog "$programs/hog" 1 blocked
run why --off-cpu -p "${pids[hog]}" --for 0.1
if ((code != 0)); then
	reason=$(cat "$scratch/err")
	stop hog
	echo "where polls block is not seen: $reason"
	exit 77
fi

# --- one that never ends ----------------------------------------------------------

# Its worker slept before anybody looked: the program did not see it leave.
run why --off-cpu -p "${pids[hog]}" --for 0.5
expect 'blocked' exited 0
expect 'blocked' grep -qE '^ 1  db_query blocked once, for [0-9.]+ ms, still blocked; began before skua started$' "$scratch/out"
expect 'blocked' grep -qxE '        (___)?pthread_mutex_lock' "$scratch/out"
sed -i 's/, [^ ]*:[0-9]*$//' "$scratch/out" # lines, which are tried below
expect 'blocked' test "$(grep -A 20 '^ 1 ' "$scratch/out" | grep -m 1 -A 1 -x '        work')" = \
	"$(printf '        %s\n' work db_query)"
run why --off-cpu -p "${pids[hog]}" --for 0.5 --json
expect 'blocked' shows 'p[0]["type"] == "db_query" and p[0]["still"] == 1 and p[0]["before"] and
	p[0]["whole"] and p[0]["functions"][-2:] == ["work", "db_query"] and
	4e8 < p[0]["ns"] < 2e9 * d["seconds"] and p[0]["times"] == 1'

if readelf -S "$programs/hog" | grep '\.debug_line' >/dev/null; then
	expect 'sources and lines' shows \
		'[l.split("/")[-1].split(":")[0] for l in p[0]["lines"][-2:]] == ["hog.c"] * 2'
else
	left_out+='; lines were not tried, as there is no debug information'
fi

# It goes on, and ends: that is counted to the place in which it slept before.
run_beside 4002 why --off-cpu -p "${pids[hog]}" --for 600 --json
# Beside other tests it may take seconds until it has seen where the worker sleeps.
watches
stop hog
await "$ours"
expect 'the end of the process' exited 0
expect 'the end of the process' err_has 'the process has ended; the results cover the time before'
expect 'the end of the process' shows 'any(q["type"] == "db_query" and q["before"] and
	q["still"] == 0 and "work" in q["functions"] for q in p)'

# --- many ---------------------------------------------------------------------------

start hog "$programs/hog" 1 sleeps
run why --off-cpu -p "${pids[hog]}" --for 1 --json
expect 'sleeps' exited 0
expect 'sleeps' shows 'p[0]["type"] == "db_query" and p[0]["times"] > 10 and
	p[0]["ns"] > 3e6 * p[0]["times"] and p[0]["longest_ns"] > 3e6 and
	any("nanosleep" in f for f in p[0]["functions"]) and
	p[0]["functions"][-2:] == ["work", "db_query"] and
	d["lost"] == 0 and d["times"] >= p[0]["times"] - p[0]["still"] and
	sum(q["ns"] for q in p if q["type"] != "db_query") < p[0]["ns"] / 2'
run why --off-cpu -p "${pids[hog]}" --for 1 --json --slower-than 1s
expect 'only long ones' shows 'p == [] and d["times"] > 10 and d["least_ns"] == 10**9'
run why --off-cpu -p "${pids[hog]}" --for 0.5 --type db_query --json
expect 'of one type' shows '{q["type"] for q in p} == {"db_query"}'
refuses 1 "--type is 'none': no poll of this type blocked" why --off-cpu -p "${pids[hog]}" --for 0.5 --type none

run_beside 4002 why --off-cpu -p "${pids[hog]}" --for 600
kill -INT $ours
await "$ours"
expect 'until Ctrl-C' exited 0
stop hog

# A stopped thread does not block, also if that was before the command.
start stopped "$programs/hog" 1 endless
kill -STOP "${pids[stopped]}"
run why --off-cpu -p "${pids[stopped]}" --for 0.5 --json
kill -CONT "${pids[stopped]}"
expect 'stopped' exited 0
expect 'stopped' shows 'p == []'
stop stopped

# Workers that sleep as they have nothing to do block in no poll.
start quiet "$programs/burst" 1
run why --off-cpu -p "${pids[quiet]}" --for 0.5 --json --slower-than 100ms
expect 'nothing blocks' shows 'p == []'
stop quiet

# --- elsewhere ------------------------------------------------------------------------

start inside unshare -p -f "$programs/hog" 1 sleeps
run why --off-cpu -p "$(pgrep -P "${pids[inside]}")" --for 0.5 --json
expect 'in a container' shows 'p[0]["functions"][-2:] == ["work", "db_query"]'
stop inside

if ((EUID == 0)); then
	nobody=(setpriv --reuid 65534 --clear-groups --inh-caps=-all)
	start other "${nobody[@]}" "$programs/hog" 1 sleeps
	tested=("${nobody[@]}" "$skua")
	refuses 1 'no permission to load BPF programs' why --off-cpu -p "${pids[other]}"
	stop other
else
	left_out+='; without privileges was not tried, as this is no root'
fi

finish "skua why --off-cpu: sleeps of polls, and their functions$left_out"
