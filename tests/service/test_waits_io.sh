#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# test_waits_io.sh [SKUA] - `skua waits` shows the descriptors and blocking calls that tasks,
# fibers and threads wait for, of programs as they are shipped
set -uo pipefail
# shellcheck source=tests/service/checks.sh
source "$(dirname "$0")/checks.sh"
# shellcheck source=tests/service/ways.sh
source "$(dirname "$0")/ways.sh"

tests_skua "$@"
built tests/programs/sockets >/dev/null || exit
make_ways sockets

# Kind, state, and what each waiter waits to do; the ports are those of the listeners.
calm='
	(four := [x for x in d["descriptors"] if not x["local"].startswith("[")]) and
	sorted((x["kind"], x["state"], w["to"], w["type"]) for x in four for w in x["waits"]) == [
		("TCP", "established", "read", "fiber serve"),
		("TCP", "established", "read", "fiber serve"),
		("TCP", "established", "read", "fiber serve"),
		("TCP", "listening", "accept", "fiber acceptor"),
		("TCP", "syn sent", "connect", "fiber dialler"),
		("UDP", "", "read", "thread"),
		("Unix", "listening", "accept", "fiber acceptor"),
		("Unix datagram", "connected", "write", "fiber writer"),
		("eventfd", "", "read", "fiber reader"),
		("pipe", "", "read", "task reader")] and
	len({x["peer"] for x in four if x["state"] == "established"}) == 3 and
	all(x["peer"].startswith("127.0.0.1:") == (x["state"] in ("established", "syn sent"))
		for x in four) and
	[x["local"] for x in four if x["kind"] == "Unix"] == ["@skua sockets @OWN"] and
	all(x["local"] == "127.0.0.1:@PORT" for x in four
		if x["state"] in ("listening", "established") and x["kind"] == "TCP") and
	[(x["state"], x["local"], x["peer"]) for x in d["descriptors"]
		if x["local"].startswith("[")] == [("listening", "[::1]:@SIX", "")] * (@SIX > 0) and
	all(w["since_ns"] > 0 and not w["delayed"] for x in d["descriptors"] for w in x["waits"]) and
	len({x["fd"] for x in d["descriptors"]}) == len(d["waiters"]) == 10 + (@SIX > 0) and
	not d["more"] and d["deadlocks"] == []'

# The pool of threads for calls that block.
blocking='
	len(d["blocking"]) == 1 and {**d["blocking"][0], "longest_ns": 0, "of_which": ""} == {
		"threads": 2, "max_threads": 2, "running": 2, "queued": 2, "max_queued": 2,
		"waiting_for_a_place": 1, "waiters": 5, "longest_ns": 0, "of_which": ""} and
	d["blocking"][0]["longest_ns"] > 0 and
	d["blocking"][0]["of_which"].startswith("fiber caller ")'

# shows_soon EXPRESSION - until all of them wait
shows_soon()
{
	for ((i = 0; i < 100; i++)); do
		run waits -p "$pid" --json
		shows "$1" && break
	done
	expect "$way" exited 0
	expect "$way" shows "$1"
}

for way in "${ways[@]}"; do
	begin "$way" sockets calm
	read -r _ port six <"$scratch/sockets.out"
	own=$(sed -n 's/^NSpid:.*\t//p' "/proc/$pid/status")
	expected=${calm//@OWN/$own}
	expected=${expected//@PORT/$port}
	expected=${expected//@SIX/$six}
	shows_soon "$expected"
	run waits -p "$pid"
	for text in "TCP            established  read     127.0.0.1:$port" '127.0.0.1:*' \
		'descriptor, to write' 'descriptor, to connect'; do
		expect "$way" out_has "$text"
	done
	expect "$way" grep -qE '^ +[23]  descriptor, to accept +[0-9]' "$scratch/out"
	expect "$way" test "$(grep -c ' established ' "$scratch/out")" = 1
	run waits -p "$pid" --each
	expect "$way" out_has " (TCP 127.0.0.1:$port), to accept, for "
	expect "$way" out_has ' (pipe), to read, for '
	stop sockets

	begin "$way" sockets blocking
	shows_soon "$blocking"
	run waits -p "$pid"
	expect "$way" out_has '          2 of 2     2  2 of 2            1        5'
	stop sockets
done

# Callers that are no fibers are counted, but not known.
way=threads
begin default sockets threads
shows_soon '
	len(d["blocking"]) == 1 and d["blocking"][0] == {
		"threads": 2, "max_threads": 2, "running": 2, "queued": 2, "max_queued": 2,
		"waiting_for_a_place": 1, "waiters": 5, "longest_ns": 0, "of_which": "nobody"} and
	d["waiters"] == []'
run waits -p "$pid"
expect "$way" out_has '          2 of 2     2  2 of 2            1        5'
stop sockets

# The case of a select by a poll: it is not known since when the task waits.
way=select
begin default sockets select
shows_soon '[(x["kind"], [w["to"] for w in x["waits"]]) for x in d["descriptors"]] ==
	[("eventfd", ["read"])]'
run waits -p "$pid" --each
expect "$way" grep -qE '^task .* \(eventfd\), to read$' "$scratch/out"
stop sockets

# An accept that fails is tried again, and counted.
way=hungry
begin default sockets hungry
shows_soon '[(x["state"], [(w["to"], w["delayed"]) for w in x["waits"]])
	for x in d["descriptors"]] == [("listening", [("accept", True)])]'
run waits -p "$pid"
expect "$way" out_has ' accept, again '
run stats -p "$pid" --json
expect "$way" exited 0
expect "$way" shows 'd["totals"]["accepts_delayed"] > 0'
run stats -p "$pid"
expect "$way" grep -qE '^[0-9]+ accepts? failed for lack of descriptors or memory, and w' "$scratch/out"
run metrics --once -p "$pid"
expect "$way" grep -qE '^skua_accepts_delayed_total\{.*\} [1-9]' "$scratch/out"
stop sockets

finish "descriptors are shown with their peers, and blocking calls, in ${#ways[@]} kinds of programs${left_out-}"
