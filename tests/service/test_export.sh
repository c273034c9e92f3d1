#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# test_export.sh [SKUA] - what `skua export` makes of files that nobody recorded
# (traces.py), by Perfetto's schema and as JSON, and how it exits
#
# SKUA_PERFETTO_PROTO: the published perfetto_trace.proto, to read with instead of
# the part of it that is here.
set -uo pipefail
# shellcheck source=tests/service/checks.sh
source "$(dirname "$0")/checks.sh"

skua=${1:-$build/bpf/skua}
needs "$skua"
tested=("$skua" export)
schema=${SKUA_PERFETTO_PROTO:-tests/service/perfetto.proto}
if ! command -v protoc >/dev/null; then
	echo 'protoc is not installed (Debian package protobuf-compiler)'
	exit 77
fi

# made NAME - a file of traces.py
made()
{
	python3 -B tests/service/traces.py "$1" >"$scratch/$1.skua"
}

# exports NAMES WORD... - both forms of these files together, which hold together and say
# the same
exports()
{
	local name=$1 one
	local files=()
	shift
	for one in $name; do
		made "$one"
		files+=("$scratch/$one.skua")
	done
	run --format perfetto --output "$scratch/perfetto" "${files[@]}"
	expect "$name: perfetto" exited 0
	run --format chrome "${files[@]}"
	expect "$name: chrome" exited 0
	mv "$scratch/out" "$scratch/chrome"
	expect "$name: protoc reads it" decode
	python3 -B tests/service/check_export.py "$scratch/chrome" \
		"$scratch/text" "$@" >"$scratch/out" || code=1
	expect "$name: both forms" exited 0
	checked+="$name: $(tail -n 1 "$scratch/out"); "
}

decode()
{
	protoc --proto_path="$(dirname "$schema")" \
		--decode=perfetto.protos.Trace "$(basename "$schema")" \
		<"$scratch/perfetto" >"$scratch/text" 2>"$scratch/err"
}

# --- help and errors -------------------------------------------------------------

run --help
expect '--help' exited 0
expect '--help' out_has 'Usage: skua export'
made plain
refuses 2 '--format is needed; allowed: perfetto chrome summary' "$scratch/plain.skua"
refuses 2 "--format: no 'svg'; allowed: perfetto chrome summary" --format svg
refuses 2 'a FILE is needed' --format chrome
refuses 2 "no option '--wrong'; allowed: --format --output" --wrong
refuses 1 '/nowhere: No such file or directory' --format chrome /nowhere
refuses 1 '/dev/null: not a regular file' --format chrome /dev/null
refuses 1 'not a file of skua record' --format chrome "$0"
: >"$scratch/nothing"
refuses 1 'not a file of skua record' --format chrome "$scratch/nothing"
printf 'skuatrac\2\0\0\0\20\0\0\0' >"$scratch/newer"
refuses 1 'its format has version 2; allowed: 1' --format chrome "$scratch/newer"
refuses 1 '/no/file: No such file or directory' --format chrome \
	--output "$scratch/no/file" "$scratch/plain.skua"
run --format chrome --output /dev/full "$scratch/plain.skua"
expect 'a full disk' exited 1
expect 'a full disk' err_has '/dev/full: No space left on device'

# --- both forms ------------------------------------------------------------------

checked=
exports plain http_read parse poll_timer 'job sort_half' parked search steal \
	stolen ready inject overflow 'nothing to steal' 'stall poll_timer'
expect 'plain: arrows' out_has '4 arrows'
exports switched http_read 'preempted by cc1' 'preempted by a "b"' asleep \
	'woken, not running yet' stopped
expect 'switched: a track' grep -q 'worker 1, without a CPU' "$scratch/chrome"
exports locks 'wait for mutex accounts' 'wait for rwlock a "b", to read' \
	'wait for event 0x6200' 'held by audit' 'held by thread 4720' 'gives up'
exports cut http_read
exports lost 'events lost' 'a poll' http_read
run --format summary "$scratch/lost.skua"
expect 'lost: is said' err_has '10 of 19 events were lost'
exports middle 'a poll' 'a job' parked http_read
exports backwards http_read poll_timer
exports empty
exports quoted 'say "hello"\???' 0x401000
run --format summary "$scratch/cut.skua"
expect 'cut: is said' err_has 'the end is missing'

# Wherever a file is cut, what is before is used.
size=$(stat -c %s "$scratch/plain.skua")
for ((length = 16; length < size; length += 41)); do
	head -c "$length" "$scratch/plain.skua" >"$scratch/part.skua"
	run --format perfetto --output "$scratch/perfetto" "$scratch/part.skua"
	expect "cut at $length" exited 0
	run --format chrome "$scratch/part.skua"
	mv "$scratch/out" "$scratch/chrome"
	expect "cut at $length: protoc reads it" decode
	python3 -B tests/service/check_export.py "$scratch/chrome" \
		"$scratch/text" >"$scratch/out" || code=1
	expect "cut at $length" exited 0
done

# --- several files ---------------------------------------------------------------

# shifted TRACE RANK NS - of TRACE (chrome), the slices of the rank are those of rank 0,
# this much later
shifted()
{
	python3 - "$@" <<'END'
import json
import sys

path, rank, ns = sys.argv[1:]
events = json.load(open(path))["traceEvents"]
names = {e["args"]["name"]: e["pid"] for e in events if e["name"] == "process_name"}


def slices(rank):
    pid, = (pid for name, pid in names.items() if name.startswith(f"rank {rank} ("))
    return [(e["name"], round(1000 * e["ts"])) for e in events
            if e["pid"] == pid and e["ph"] == "X"]


ours, theirs = slices(rank), slices(0)
assert ours and ours == [(name, at + int(ns)) for name, at in theirs], (ours, theirs)
END
}

# Files of one machine have one clock, whatever the wall clock says. The order is that of
# the ranks; both processes have the same number here, as in containers.
exports 'rank1 rank0' http_read parse
expect 'one machine' out_has '8 arrows'
run --format chrome "$scratch/rank1.skua" "$scratch/rank0.skua"
expect 'one machine' err_lines 0
cp "$scratch/out" "$scratch/chrome"
expect 'one machine' shifted "$scratch/chrome" 1 0
expect 'one machine' out_has '"rank 0 (traces, pid 4711)"'
expect 'one machine: rank 0 first' test \
	"$(grep -n 'rank 0 (' "$scratch/out" | cut -d: -f1)" -lt \
	"$(grep -n 'rank 1 (' "$scratch/out" | cut -d: -f1)"

# Another machine's times are moved by the wall clocks, and this is said.
exports 'rank0 rank1 rank2' http_read parse
run --format chrome "$scratch"/rank[012].skua
expect 'another machine' err_lines 1
expect 'another machine' err_has 'rank2.skua: it is not known to be of the same machine'
cp "$scratch/out" "$scratch/chrome"
expect 'another machine' shifted "$scratch/chrome" 1 0
expect 'another machine' shifted "$scratch/chrome" 2 1000000
expect 'another machine' out_has '"rank 2 (traces, pid 4711 on there)"'
run --format chrome "$scratch"/{rank0,plain}.skua
expect 'no machine in the file' exited 0
expect 'no machine in the file' err_has 'plain.skua: it is not known to be of the same'
expect 'no machine in the file' out_has '"process 4711 (traces)"'
made rank3
made rank4
refuses 1 'rank3.skua: by the wall clock, it was recorded before' --format chrome \
	"$scratch"/rank[03].skua
refuses 1 'rank4.skua: it is not from the same machine' --format chrome \
	"$scratch"/rank[04].skua
run --format summary "$scratch"/rank[034].skua
expect 'summaries of several times' exited 0
cp "$scratch/rank0.skua" "$scratch/kept"
refuses 1 "$scratch/rank0.skua: it is one of the recordings; allowed: another file" \
	--format chrome --output "$scratch/rank0.skua" "$scratch"/rank[01].skua
expect 'the recording is as it was' cmp "$scratch/kept" "$scratch/rank0.skua"
refuses 1 '/nowhere: No such file or directory' --format chrome "$scratch/rank0.skua" \
	/nowhere
run --format summary "$scratch"/rank[01].skua
expect 'summaries' grep -q '^rank 0: traces, process 4711, ' "$scratch/out"
expect 'summaries' grep -q '^rank 1: traces, process 4711, ' "$scratch/out"

# --- summary ---------------------------------------------------------------------

# row NAME FIELD... - a line of the table
row()
{
	local line
	line=$(tr -s ' ' <"$scratch/out" | grep -- "^$1 ")
	shift
	[[ " $line" == *" $* "* || " $line" == *" $*" ]]
}
run --format summary "$scratch/plain.skua"
expect 'summary' exited 0
expect 'summary' err_lines 0
expect 'summary: polls, and what they took' row http_read 3 2.9 us
expect 'summary: a stall' row poll_timer 1 5.0 us
expect 'summary: a worker' row 'worker 1' 1 3.6 us 2 1 1 1 2.2 us 0

finish "${checked%; }"
