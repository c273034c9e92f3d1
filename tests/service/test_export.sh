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

# exports NAME WORD... - both forms, which hold together and say the same
exports()
{
	local name=$1
	shift
	made "$name"
	run --format perfetto --output "$scratch/perfetto" "$scratch/$name.skua"
	expect "$name: perfetto" exited 0
	run --format chrome "$scratch/$name.skua"
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
refuses 2 "unexpected argument 'b'; allowed: one FILE" --format chrome a b
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
expect 'summary: a worker' row 'worker 1' 1 600 ns 2 1 1 1 2.2 us 0

finish "${checked%; }"
