#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# test_why.sh - the blame of `skua why` in programs that were made for it, that parts
# add up, and what it says when something is missing
set -uo pipefail
# shellcheck source=tests/service/checks.sh
source "$(dirname "$0")/checks.sh"

skua=$build/bpf/skua
programs=$build/tests/programs
bench=$build/bench/skua-bench
for program in "$skua" "$bench" "$programs"/{burst,channels,forks,hog,late,locks,neighbour,sockets}; do
	needs "$program"
done
tested=("$skua")
tries=5
left_out=''

# disturbed - nothing was polled, or others had the CPUs for a fifth of the time of
# the slowest, as far as that is known
disturbed()
{
	shows 'd["all"]["count"] == 0 or v["kind"] == "preempted" or
		5 * d["all"]["slow_parts"]["preempted"] >=
			sum(d["all"]["slow_parts"].values()) or
		5e-9 * sum(w["delay_ns"] for w in d["schedstat"] or []) >= d["seconds"]'
}

# blames NAME EXPRESSION - the verdict on the process, soon. Where others keep the
# CPUs busy they are to blame, and it is not shown. Fails unless the verdict was shown:
# then the recording shows no more of it either
blames()
{
	local others=0
	for ((i = 0; i < tries; i++)); do
		run why -p "${pids[$1]}" --for 1 --json -o "$scratch/$1.skua"
		expect "$1" exited 0
		shows "$2" && return
		disturbed && ((others++))
	done
	if ((others == tries)); then
		left_out+="; $1 was not judged: others had the CPUs"
		return 1
	fi
	expect "$1" shows "$2"
}

# adds_up NAME - of all that was recorded of it; $scratch/out has the slowest
adds_up()
{
	until out_lacks '"count":0,"incomplete"'; do # likewise
		run why -p "${pids[$1]}" --for 1 --json -o "$scratch/$1.skua"
	done
	run why "$scratch/$1.skua" --slowest 1000 --json
	expect "a recording of $1" exited 0
	code=0
	python3 -B tests/service/check_why.py "$scratch/$1.skua" \
		"$scratch/out" >"$scratch/sums" 2>&1 || code=$?
	expect "the parts of $1: $(tail -n 1 "$scratch/sums")" exited 0
	sed "s/^/$1: /" "$scratch/sums"
}

# --- help and errors -------------------------------------------------------------

has_help why
refuses 2 "--for is '0'; allowed: seconds, 0.001 to" why -p 1 --for 0
refuses 2 "--slowest is '1001'; allowed: 0 to 1000" why -p 1 --slowest 1001
for time in 2 ms 2m 2.5.0ms 0x2ms -2ms ' 2ms' 1e3us 86401s; do
	refuses 2 "--slower-than is '$time'; allowed: a number and ns, us, ms or s" why \
		-p 1 --slower-than "$time"
done
refuses 2 'both a FILE and an option for recording' why -p 1 some.skua
refuses 2 "unexpected argument '$$'; allowed: --pid $$" why $$
refuses 2 "no option '--wrong'" why --wrong
refuses 1 "process $$ is not a skua process" why -p $$
true &
wait $!
refuses 1 "no process $!" why -p $!
refuses 1 'No such file' why "$scratch/none.skua"
echo 'no recording' >"$scratch/text"
refuses 1 "$scratch/text: not a file of skua record" why "$scratch/text"

# --- files -----------------------------------------------------------------------

# narrow - no line has more than 100 columns, and no two units
narrow()
{
	python3 - "$scratch/out" <<'END'
import re, sys
for line in open(sys.argv[1], errors="replace"):
    line = line.rstrip("\n")
    units = set(re.findall(r"[0-9] (ns|us|ms|s|min|h|d)\b", line))
    if len(line) > 100 or len(units) > 1:
        sys.exit(f"{len(line)} columns, {units}: {line}")
END
}

for name in plain cut lost middle backwards empty quoted large incidents unseen io; do
	python3 -B tests/service/traces.py "$name" >"$scratch/$name.skua"
	run why "$scratch/$name.skua"
	expect "a file: $name" exited 0
	expect "a file: $name" narrow
	expect "a file: $name" out_has 'it was not recorded with --switches'
	run why --json "$scratch/$name.skua"
	expect "a file: $name" exited 0
	expect "a file: $name" shows 'd["source"] == "none" and all(
		sum(s["parts"].values()) == s["took_ns"] for s in d["slowest"]) and all(
		i["tasks"] == 1 for i in d["incidents"] if i["kind"] in ("running", "unknown"))'
done
run why "$scratch/empty.skua"
expect 'nothing in it' out_has 'verdict: no task was seen to wait and be polled'
run why "$scratch/cut.skua"
expect 'its end is missing' out_has 'the end is missing'

# --- several files ---------------------------------------------------------------

for name in rank0 rank1; do
	python3 -B tests/service/traces.py "$name" >"$scratch/$name.skua"
done
together=("$scratch"/{incidents,rank1,rank0}.skua)
run why "${together[@]}" --slowest 3
expect 'several files' exited 0
expect 'several files' narrow
# A row for each, by rank; then the slowest of all, each with its rank.
expect 'several files' test '0 1 -' = \
	"$(awk 'NR > 1 && $2 == 4711 { print $1 }' "$scratch/out" | xargs)"
expect 'several files' grep -qE '^ 1  \[q{20}\] 21 ms: .*' "$scratch/out"
expect 'several files' out_has 'worker 0 of process 4711'
expect 'several files' grep -qE '^ 2  .* 9\.0 us: http_read on worker 0 of rank 0$' "$scratch/out"
expect 'several files' grep -qE '^ 3  .* 9\.0 us: http_read on worker 0 of rank 1$' "$scratch/out"
expect 'several files' out_lacks ' 4  ['
expect 'several files' out_has 'verdict on rank 1: '
expect 'several files' out_has 'there are no --switches: rank 0, rank 1, process'
run why "${together[@]}" --json
expect 'several files' exited 0
code=0
python3 -c 'import json, sys
d = [json.loads(line) for line in open(sys.argv[1])]
assert [(x["rank"], x["host"]) for x in d] == [(0, "here"), (1, "here"), (None, None)]
slow = [[s["took_ns"] for s in x["slowest"]] for x in d]
assert slow[0] == slow[1] != slow[2], slow' \
	"$scratch/out" 2>"$scratch/err" || code=$?
expect 'several files' exited 0
# A type that only some have
run why "${together[@]}" --type poll_timer
expect 'a type of some files' exited 0
expect 'a type of some files' out_has 'verdict on rank 0: '
expect 'a type of some files' out_lacks 'process 4711'
refuses 1 "--type is 'http', of which no task was polled; these were: " why \
	"${together[@]}" --type http
refuses 1 "$scratch/none.skua: No such file" why "${together[@]}" "$scratch/none.skua"
# One file of a rank is shown as any other.
run why "$scratch/rank1.skua"
expect 'one file' out_has 'process 4711 (traces), '
expect 'one file' out_lacks 'of rank'

# --- waits for locks ---------------------------------------------------------------

python3 -B tests/service/traces.py locks >"$scratch/locks.skua"
run why "$scratch/locks.skua"
expect 'locks' exited 0
expect 'locks' narrow
expect 'locks' out_has '1 task waits for locks at the end, longest http_read: 1.4 ms so far, for mutex 0x6300'
expect 'locks' out_has 'waited 909 us for mutex accounts, held by parse, which ran for 900 us'
expect 'locks' out_has 'waited 948 us for rwlock a "b", to read, held by thread 4720, which'
expect 'locks' out_has ' for 700 us and ran for 248 us'
run why "$scratch/locks.skua" --json
expect 'locks' shows 'd["waiting_for_locks"] == 1'
python3 -B tests/service/check_why.py "$scratch/locks.skua" "$scratch/out" \
	>"$scratch/sums" 2>&1 || code=$?
expect "the parts of locks: $(tail -n 1 "$scratch/sums")" exited 0

# --- waits for channels -------------------------------------------------------------

python3 -B tests/service/traces.py channels >"$scratch/channels.skua"
run why "$scratch/channels.skua"
expect 'channels' exited 0
expect 'channels' narrow
expect 'channels' out_has 'waited 898 us for full channel orders, last receiver parse, which ran for 898 us'
expect 'channels' out_has 'full channel orders: 2 waits, 1.1 ms on average, longest 1.4 ms of http_read, last'
expect 'channels' out_has '1 task waits at the'
expect 'channels' out_has 'empty channel replies: 1 wait, 908 us on average, longest 908 us of http_read, last'
run why "$scratch/channels.skua" --json
expect 'channels' shows 'd["waiting_for_locks"] == 0 and
	[(c["name"], c["kind"], c["state"], c["waits"], c["waiting"], c["server"],
		c["longest_goes_on"], sum(c["server_parts"].values()) == c["longest_ns"])
		for c in d["channels"]] == [
		("orders", "channel, to send", "full", 2, 1, "parse", True, True),
		("replies", "channel, to receive", "empty", 1, 0, "parse", False, True)]'
code=0
python3 -B tests/service/check_why.py "$scratch/channels.skua" "$scratch/out" \
	>"$scratch/sums" 2>&1 || code=$?
expect "the parts of channels: $(tail -n 1 "$scratch/sums")" exited 0

# --- waits for descriptors -----------------------------------------------------------

python3 -B tests/service/traces.py io >"$scratch/io.skua"
run why "$scratch/io.skua"
expect 'io' exited 0
expect 'io' narrow
expect 'io' out_has '1 look for events of descriptors came more than 1.0 ms late'
expect 'io' out_has 'waited 3.0 ms behind parse on worker 0'
expect 'io' out_has 'before it was ready, no worker had looked for its event for up to 3.0 ms'
expect 'io' out_has 'http_read, to read: 2 waits, 2.0 ms on average, longest 3.5 ms; at most 75'
expect 'io' out_has 'events of descriptors were seen late, behind parse'
run why "$scratch/io.skua" --json
# The event of the second was seen at once, and that of the third never came.
expect 'io' shows '[(r["type"], r["to"], r["waits"], r["waiting"], r["unseen_ns"] // 1000)
		for r in d["descriptors"]] == [
		("http_read", "write", 1, 1, 0), ("http_read", "read", 2, 0, 3001)] and
	d["late_events"]["times"] == 1 and d["late_pollers"]["times"] == 0 and
	[s["late_ns"] // 1000 for s in d["slowest"] if s["late_ns"]] == [3001]'
code=0
python3 -B tests/service/check_why.py "$scratch/io.skua" "$scratch/out" \
	>"$scratch/sums" 2>&1 || code=$?
expect "the parts of io: $(tail -n 1 "$scratch/sums")" exited 0

# --- incidents -------------------------------------------------------------------

run why "$scratch/incidents.skua"
expect 'two incidents' out_has ' 1  ['
expect 'two incidents' grep -q '^    one incident with 10 of the slowest 10 tasks, ' \
	"$scratch/out"
run why "$scratch/incidents.skua" --slowest 1000
expect 'two incidents' out_has 'one incident with 12 of the slowest 21 tasks, from 2023-11-14T22:13:20.001000Z'
expect 'two incidents' out_has 'one incident with 7 of the slowest 21 tasks, from'
run why "$scratch/incidents.skua" --slowest 1000 --json
expect 'two incidents' shows '[(i["tasks"], [t["tasks"] for t in i["types"]])
		for i in d["incidents"] if i["kind"] == "queued"] == [(12, [8, 4]), (7, [4, 3])] and
	all(i["culprit"].endswith("poll_3_x") for i in d["incidents"] if i["kind"] == "queued") and
	sum(i["tasks"] for i in d["incidents"]) == len(d["slowest"]) == 21 and
	all(i["from_ns"] < i["to_ns"] and i["from_time"] < i["to_time"] and
		i["worst_ns"] <= i["to_ns"] - i["from_ns"] for i in d["incidents"])'

# --- times to set beside logs ----------------------------------------------------

# The recording starts at the second 1.7e9 of the wall clock, and 5000 of the other.
export TZ=America/New_York
run why "$scratch/plain.skua"
expect 'wall-clock times' out_has ' from 2023-11-14T22:13:20.000000Z (UTC)'
expect 'wall-clock times' grep -qE '^    at 2023-11-14T22:13:20\.00000[0-9]Z: ' \
	"$scratch/out"
run why "$scratch/plain.skua" --json
expect 'wall-clock times' shows 'd["start_time"] == "2023-11-14T22:13:20.000000Z" and
	"2023-11-14T22:13:20.001" < d["stop_time"] < "2023-11-14T22:13:20.002" and
	all(s[k + "_time"] == "2023-11-14T22:13:20.%06dZ" %
			((s[k + "_ns"] - 5000 * 10**9) // 1000)
		for s in d["slowest"] for k in ("ready", "begin", "end"))'
unset TZ

# --- a choice of tasks ------------------------------------------------------------

run why "$scratch/plain.skua" --json
cp "$scratch/out" "$scratch/all"
run why "$scratch/plain.skua" --type http_read --slower-than 2us --json
expect 'a choice' exited 0
expect 'a choice' shows 'd["type"] == "http_read" and d["slower_than_ns"] == 2000 and
	[t["type"] for t in d["types"]] == ["http_read"] and
	d["slowest"] == [s for s in json.load(open("'"$scratch/all"'"))["slowest"]
		if s["type"] == "http_read" and s["took_ns"] > 2000] and
	0 < len(d["slowest"]) == d["slower"] < d["count"]'
run why "$scratch/plain.skua" --type http_read --slower-than 1.5s
expect 'nothing is that slow' exited 0
expect 'nothing is that slow' out_has 'verdict: no task took longer than 1.5 s'
expect 'nothing is that slow' out_has 'only tasks of http_read are shown'
refuses 1 "--type is 'http', of which no task was polled; these were: " why \
	"$scratch/plain.skua" --type http

# --- blame -----------------------------------------------------------------------

start hog "$programs/hog"
while
	run why -p "${pids[hog]}" --for 1 --slowest 1
	out_lacks '[w waited, q queued' # others may keep it from running
do :; done
expect 'as text' exited 0
expect 'as text' grep -qE '^ 1  \[[wqpsrxd? ]{20}\] .* on worker [01](, stolen from worker [01])?$' "$scratch/out"
expect 'as text' grep -q '^verdict: ' "$scratch/out"
known=yes
if out_has 'the threads that had the CPUs are known'; then
	run record -p "${pids[hog]}" --for 1 --switches -o "$scratch/record.skua"
	expect 'record --switches' exited 0
	expect 'record --switches' err_has ' switches, 0 lost'
	run why --json "$scratch/record.skua"
	expect 'record --switches' shows 'd["source"] == "bpf"'
	# The time in which programs load does not count.
	for ((i = 0; i < tries; i++)); do
		run record -p "${pids[hog]}" --for 0.1 --switches -o "$scratch/short.skua"
		grep -qE ': [1-9][0-9,]* events, ' "$scratch/err" && break
	done
	expect 'a tenth of a second' grep -qE ': [1-9][0-9,]* events, ' "$scratch/err"
else
	known=no
	left_out+='; the threads on the CPUs were not tried: '$(sed -n 3p "$scratch/out")
fi
blames hog 'v["kind"] == "queued" and v["culprit"] == "db_query"'
adds_up hog
stop hog

# Nobody notices that it is recorded: why there are no events is said.
start stuck "$programs/hog" 1 stuck
while # both workers are not in such a poll yet
	run top --once --json --interval 0.1 -p "${pids[stuck]}"
	expect 'stuck' exited 0
	! shows 'all(w["doing"] and w["doing"]["name"] == "db_query" and w["doing"]["longer"]
		for w in d["workers"])'
do
	((failed == 0)) || break
done
run why -p "${pids[stuck]}" --for 1
expect 'stuck' exited 0
expect 'stuck' out_has 'is in one poll of db_query'
expect 'stuck' err_has 'worker 1: in one poll of db_query since before the recording: no events'
stop stuck

start burst "$programs/burst"
blames burst 'v["culprit"] == "burst" and 100 <= v["burst"] <= 3000'
adds_up burst
stop burst

# One at a time: neither a queue nor a call that blocks is to blame.
start quiet "$programs/burst" 1
blames quiet 'v["judged"] == 10 and v["culprit"] is None'
stop quiet

if [[ $known == yes ]]; then
	start neighbour "$programs/neighbour"
	if blames neighbour 'v["kind"] == "preempted" and v["culprit"] == "neighbour"'; then
		run why "$scratch/neighbour.skua" --slowest 1000 --json
		expect 'the neighbour is seen' out_has '"culprit":"neighbour"'
	fi
	adds_up neighbour
	stop neighbour
fi

# A mutex that is held for a millisecond, of which nothing tells but the waits for it.
start locks "$programs/locks" hold
if blames locks 'any(r["kind"] == "waited" and r["lock"]["name"] == "accounts" and
	r["culprit"] in ("debit", "credit") and r["ns"] > 200_000 and
	2 * r["lock"]["holder_parts"]["running"] > r["ns"]
		for s in d["slowest"] for r in [s["reason"]] + s["also"])'; then
	run why "$scratch/locks.skua"
	expect locks out_has ' for mutex accounts, held by '
	expect locks narrow
fi
adds_up locks
stop locks

# Channels that are full and empty, of which nothing tells but the waits for them.
start channels "$programs/channels" slow
if blames channels 'any(r["kind"] == "waited" and r["culprit"] == "consumer" and
	r["lock"]["name"] == "orders" and r["lock"]["kind"] == "channel, to send"
		for s in d["slowest"] for r in [s["reason"]] + s["also"]) and
	any(c["name"] == "orders" and c["state"] == "full" and c["server"] == "consumer"
		for c in d["channels"])'; then
	run why "$scratch/channels.skua"
	expect channels out_has ' for full channel orders, last receiver consumer'
	expect channels narrow
fi
adds_up channels
stop channels
start channels "$programs/channels" starved
blames channels 'any(c["name"] == "orders" and c["state"] == "empty" and
	c["longest_type"] == "consumer" and c["server"] == "producer" and
	c["longest_ns"] > 200_000 for c in d["channels"]) and
	not any(s["parts"]["waited"] for s in d["slowest"])'
stop channels

# A fiber that has no type is named by its function, also if it is never polled.
start locks "$programs/locks" kept
blames locks 'any(r["kind"] == "waited" and r["culprit"] == "keep_main"
		for s in d["slowest"] for r in [s["reason"]] + s["also"])'
stop locks

# Before its tasks are ready. How long others had the CPU meanwhile changes nothing.
start late "$programs/late"
if blames late '0 < len(d["late_pollers"]["latest"]) <= d["late_pollers"]["times"] and
	any(r["culprit"] == "db_query"
		for p in d["late_pollers"]["latest"] for r in p["reasons"]) and
	"pollers were called late, behind db_query" in v["text"]'; then
	# Of all of them: one that was woken late need not be among the slowest.
	run why "$scratch/late.skua" --type answer --slowest 1000
	expect 'late pollers' exited 0
	expect 'late pollers' narrow
	expect 'late pollers' grep -qE \
		'^before tasks were ready: [0-9]+ calls? of pollers came more than 1.0 ms late$' \
		"$scratch/out"
	expect 'late pollers' grep -qE '^ +waited [0-9.]+ ms behind db_query on worker 0$' \
		"$scratch/out"
	expect 'late pollers' grep -qE \
		'^    before it was ready, worker 0 had not called its pollers for' "$scratch/out"
fi
stop late

# The peer is to blame if nothing else keeps the worker from looking, and a poll if that does.
start sockets "$programs/sockets" slow
blames sockets 'any(r["type"] == "serve" and r["to"] == "read" and r["waits"] > 10 and
	10 * r["unseen_ns"] < r["waited_ns"] for r in d["descriptors"])'
adds_up sockets
stop sockets
start sockets "$programs/sockets" late
blames sockets 'any(r["type"] == "serve" and r["to"] == "read" and
	3 * r["unseen_ns"] > r["waited_ns"] for r in d["descriptors"]) and
	d["late_events"]["times"] > 10 and any(r["culprit"] == "db_query"
		for p in d["late_events"]["latest"] for r in p["reasons"]) and
	"events of descriptors were seen late, behind " in v["text"]'
adds_up sockets
run why "$scratch/sockets.skua"
expect sockets narrow
stop sockets

# It polls no task. How long others have the CPUs changes only the shares.
start forks "$programs/forks"
for ((i = 0; i < tries; i++)); do
	run why -p "${pids[forks]}" --for 1 --json -o "$scratch/forks.skua"
	expect 'a program that forks' exited 0
	shows 'd["fork_join"]["jobs"]["count"] > 1' && break
done
expect 'a program that forks' shows 'all(f[k]["count"] > 1
	for f in [d["fork_join"]] for k in ("calls", "jobs", "joins")) and
	d["fork_join"]["exact"] and sum(d["fork_join"]["callers_ns"].values()) ==
		d["fork_join"]["calls"]["ns"] and
	all(d["fork_join"]["callers_ns"][k] > 0 for k in ("alone", "at_joins"))'
run why "$scratch/forks.skua"
expect 'a program that forks' narrow
expect 'a program that forks' grep -qE \
	'^fork-join: [0-9]+ calls of skua_run\(\) took [0-9.]+ m?s(; 1 began before the recording)?$' \
	"$scratch/out"
expect 'a program that forks' out_has 'verdict: callers of skua_run() were '
stop forks

# No event tells of a call that began before the recording, forks nothing and goes on.
start alone "$programs/forks" alone
run why -p "${pids[alone]}" --for 0.5 --json -o "$scratch/alone.skua"
expect 'a program that forks nothing' shows 'd["fork_join"]["began_before"] == 1 and
	[(c["function"], c["thread"]) for c in d["fork_join"]["callers"]] ==
		[("stay_alone", '"${pids[alone]}"')] and
	d["fork_join"]["calls"]["ns"] > 3e8'
run record --last -p "${pids[alone]}" --for 0.5 -o "$scratch/alone.skua"
run why --json "$scratch/alone.skua"
expect 'the last events of a program that forks nothing' shows \
	'd["fork_join"]["calls"]["count"] == 1 and d["fork_join"]["calls"]["ns"] > 3e8'
stop alone

# It never returns; that it is longer than what any task waited does not need CPUs.
start endless "$programs/hog" 1 endless
blames endless 'v["kind"] == "unfinished" and v["culprit"] == "db_query" and
	v["unseen"]'
stop endless

# grows BYTES - the recording of the background is larger than that
grows()
{
	until (($(stat -c %s "$scratch/stopped.skua" 2>/dev/null || echo 0) > $1)); do
		kill -0 $ours 2>/dev/null || return
		sleep 0.02
	done
}

# stops - while it is recorded it is stopped, and goes on; its slowest tell of it
stops()
{
	rm -f "$scratch/stopped.skua"
	"$skua" why -p "${pids[stopped]}" --for 600 -o "$scratch/stopped.skua" \
		>/dev/null 2>&1 &
	ours=$!
	grows 8000
	kill -STOP "${pids[stopped]}"
	sleep 0.3
	kill -CONT "${pids[stopped]}"
	grows $(($(stat -c %s "$scratch/stopped.skua") + 8000))
	kill -INT $ours
	wait $ours
	run why --json --slowest 1000 "$scratch/stopped.skua"
	shows 'any(r["how"] == "stopped" and "was stopped for" in r["text"]
		for s in d["slowest"] for r in [s["reason"]] + s["also"])'
}

if [[ $known == yes ]]; then
	start stopped "$programs/hog"
	stops || stops || expect 'stopped by a signal' stops
	stop stopped
fi

# --- calls, at 80 % of what can be served ----------------------------------------

"$bench" run rpc --load 80 --rounds 1000 >"$scratch/rpc" 2>&1 &
rpc=$!
pids[rpc]=$rpc
until "$skua" stats -p $rpc --json 2>/dev/null | grep '"tasks_polled":[1-9]' >/dev/null; do
	kill -0 $rpc || break
done
run why -p $rpc --for 1 --json -o "$scratch/rpc.skua"
expect rpc exited 0
adds_up rpc

# --- ends ------------------------------------------------------------------------

run_beside 4003 why -p $rpc --for 600 --json
kill -INT $ours
await "$ours"
expect 'until Ctrl-C' exited 0
expect 'until Ctrl-C' shows 'd["verdict"] is not None'

run_beside 4003 why -p $rpc --for 600 --json
kill -KILL $rpc
wait $rpc 2>/dev/null
await "$ours"
expect 'the end of the process' exited 0
expect 'the end of the process' err_has "process $rpc has ended"
expect 'the end of the process' err_lines 1

# --- without privileges ----------------------------------------------------------

if ((EUID == 0)); then
	nobody=(setpriv --reuid 65534 --clear-groups --inh-caps=-all)
	start other "${nobody[@]}" "$programs/hog"
	tested=("${nobody[@]}" "$skua")
	run why -p "${pids[other]}" --for 1
	expect 'without privileges' exited 0
	expect 'without privileges' out_has 'no permission to load BPF programs'
	expect 'without privileges' grep -qE \
		'^worker 0 ran for .*, and waited .* for its CPU' "$scratch/out"
	expect 'without privileges' narrow
	run why -p "${pids[other]}" --for 1 --json
	expect 'without privileges' shows 'd["source"] == "schedstat" and
		len(d["schedstat"]) == 2 and d["missing"] and
		all(s["parts"]["preempted"] == 0 for s in d["slowest"])'
	run record -p "${pids[other]}" --for 1 --switches -o /dev/null
	expect 'without privileges' exited 1
	expect 'without privileges' err_has '--switches: no permission to load BPF'
	stop other
else
	left_out+='; without privileges was not tried, as this is no root'
fi
finish "skua why: culprits, sums, files, ends, privileges$left_out"
