#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# test_record_hostile.sh - `skua record` of a process whose rings never get empty ends
# when it should, and says what rings are impossible
set -uo pipefail
# shellcheck source=tests/service/checks.sh
source "$(dirname "$0")/checks.sh"

skua=$(built bpf/skua) || exit
lying=$(built tests/programs/lying_rings) || exit
tested=(timeout --signal=KILL 20 "$skua")
file=$scratch/some.skua
bytes() { stat -c %s "$file" 2>/dev/null || echo 0; }
room=$(df --output=avail -B1000000 "$scratch" | tail -n 1)
if ((room < 20000)); then
	echo "20 GB are needed in $scratch for what a recorder that does not end would write"
	exit 77
fi

# A file of this size ends a recorder that ends by nothing else.
ulimit -f 8000000

start lying "$lying"
pid=${pids[lying]}

# for_less SECONDS - the last command took less; by the clock, far beyond noise: one
# round of all rings is 128 GiB
began=0
begin() { began=$(date +%s%N); }
for_less() { (($(date +%s%N) - began < $1 * 1000000000)); }

begin
run record -p "$pid" -o "$file" --for 0.2
expect '--for' exited 0
expect '--for' for_less 5
expect '--for' err_has 'are missing: copying them took too long'
expect 'a part of the rings' test "$(bytes)" -lt 4000000000
run export --format summary "$file"
expect 'the file is whole' exited 0
rm "$file"

for signal in INT TERM HUP; do
	# A job in the background ignores SIGINT, unless something resets it.
	python3 -c 'import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
os.execv(sys.argv[1], sys.argv[1:])' "$skua" record -p "$pid" -o "$file" \
		2>"$scratch/err" >"$scratch/out" &
	recorder=$!
	until (($(bytes) > 50000000)); do
		kill -0 "$recorder" 2>/dev/null || break
		sleep 0.01
	done
	before=$(bytes)
	begin
	kill "-$signal" "$recorder"
	code=0
	wait "$recorder" || code=$?
	expect "SIG$signal" exited 0
	expect "SIG$signal" for_less 3
	# 0.05 s of CPU time copies 0.1 GB here: twenty times that is not noise.
	expect "SIG$signal" test $(($(bytes) - before)) -lt 2000000000
	printf 'SIG%s: ended after %d ms\n' "$signal" \
		$((($(date +%s%N) - began) / 1000000))
	rm "$file"
done

begin
run record -p "$pid" -o "$file" --max-bytes 10000000
expect '--max-bytes' exited 0
expect '--max-bytes' err_has 'ended at its limit of 10000000 bytes'
expect '--max-bytes' test "$(bytes)" -ge 10000000 -a "$(bytes)" -lt 16000000
run export --format summary "$file"
expect '--max-bytes' exited 0
run record -p "$pid" -o "$file" --last --for 0.1 --max-bytes 10000000
expect '--last --max-bytes' err_has 'ended at its limit of 10000000 bytes'
expect '--last --max-bytes' test "$(bytes)" -lt 16000000
refuses 2 "--max-bytes is '9'; allowed: 1000000 to" record -p "$pid" -o "$file" --max-bytes 9
run why -p "$pid" --for 0.2
expect 'why' exited 0
stop lying

start bad "$lying" bad
run record -p "${pids[bad]}" -o "$file" --for 0.1
expect 'impossible rings' exited 0
expect 'impossible rings' err_has 'worker 0: its ring is impossible, and was not read: 24 events'
expect 'impossible rings' err_has '32 more workers lost events, or have none'
stop bad

finish 'skua record ends in time, whatever its process says'
