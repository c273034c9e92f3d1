#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# test_record.sh [SKUA] - what `skua record` writes down of programs: exactly what
# they did, also of one that ends meanwhile; and how it exits
set -uo pipefail
# shellcheck source=tests/service/checks.sh
source "$(dirname "$0")/checks.sh"

tests_skua "$@"
programs=$build/tests/programs
needs "$programs/recorded"
needs "$programs/watched"
needs "$programs/hog"
file=$scratch/some.skua

# recording ARG... - in the background; $recorder is its number
recording()
{
	rm -f "$file"
	"$skua" record -o "$file" "$@" >"$scratch/out" 2>"$scratch/err" &
	recorder=$!
}

# recorded - it ends; $code and $scratch/err tell
recorded()
{
	code=0
	wait "$recorder" 2>/dev/null || code=$?
}

# until_so COMMAND... - it succeeds
until_so()
{
	until "$@"; do
		sleep 0.01
	done
}

larger_than() { (($(stat -c %s "$file" 2>/dev/null || echo 0) > $1)); }
said() { [[ $(wc -l <"$scratch/$1.out") -ge $2 ]]; }

# exports WORD... - what was recorded holds together, and has these names
exports()
{
	run export --format chrome --output "$scratch/chrome" "$file"
	expect 'as JSON' exited 0
	if ! command -v protoc >/dev/null; then
		return
	fi
	run export --format perfetto --output "$scratch/perfetto" "$file"
	expect 'as protocol buffers' exited 0
	protoc --proto_path=tests/service --decode=perfetto.protos.Trace \
		perfetto.proto <"$scratch/perfetto" >"$scratch/text"
	code=0
	python3 -B tests/service/check_export.py "$scratch/chrome" \
		"$scratch/text" "$@" >"$scratch/out" 2>&1 || code=1
	expect 'both forms' exited 0
}

# --- help and errors -------------------------------------------------------------

has_help record
refuses 2 'no file to write to; allowed: --output FILE' record -p 1
refuses 2 "--for is '0'; allowed: seconds, 0.001 to" record -p 1 -o "$file" --for 0
refuses 2 "unexpected argument 'more'" record -p 1 -o "$file" more
refuses 1 "process $$ is not a skua process" record -p $$ -o "$file"
expect 'no file without a process' test ! -e "$file"

# --- exactly what it did ---------------------------------------------------------

start recorded "$programs/recorded"
refuses 1 '/no/file: No such file or directory' record -p "${pids[recorded]}" -o "$scratch/no/file"
recording -p "${pids[recorded]}"
until_so said recorded 2
kill -INT "$recorder"
recorded
polls=$(tail -n 1 "$scratch/recorded.out")
expect 'interrupted' exited 0
expect 'interrupted' err_has "$file: "
expect 'nothing is lost' err_has ' events, 0 lost, '
run export --format summary "$file"
expect 'summary' exited 0
expect 'each poll' grep -qE "^counted +${polls:0:-3},${polls: -3} " "$scratch/out"
expect 'one spawner' grep -qE '^spawner +1 ' "$scratch/out"
exports counted spawner ready
code=0
python3 -B - "$scratch/chrome" "$polls" >"$scratch/out" <<'END' || code=1
import json, sys
from collections import Counter

events = json.load(open(sys.argv[1]))["traceEvents"]
polls = [e for e in events if e["ph"] == "X" and e["name"] == "counted"]
assert len(polls) == int(sys.argv[2]), len(polls)
results = Counter(e["args"]["result"] for e in polls)
assert results == {"done": 2000, "yield": 4000}, results
assert all("waited_ns" in e["args"] for e in polls), "a wait is not known"
tasks = Counter(e["args"]["task"] for e in polls)
assert set(tasks.values()) == {3}, "a task was not polled as often as it was"
END
expect 'each poll, its result and its wait' exited 0
run record -p "${pids[recorded]}" -o "$file" --for 1
expect 'for a second' exited 0
stop recorded
expect 'the program goes on' exited 0

# --- while it works --------------------------------------------------------------

# --- until something happens -------------------------------------------------------

refuses 2 '--on without --last; allowed: both' record --on stall -o "$file"
for condition in p99 'p0>1ms' 'p101>1ms' 'x:p9>1ms' ''; do
	refuses 2 "--on is '$condition'; allowed: stall, or a limit such as p99>2ms" record \
		--last --on "$condition" -o "$file"
done
refuses 2 "--on: the limit is '1'; allowed: a number and ns, us, ms or s" record \
	--last --on 'p99>1' -o "$file"
SKUA_STALL_LIMIT_NS=1000000 start hog "$programs/hog" 1 often
run record --last --on stall -p "${pids[hog]}" -o "$file" --for 60
expect 'until a stall' exited 0
expect 'until a stall' grep -qE 'Z: [1-9][0-9]* stalls? in the last second' \
	"$scratch/err"
run export --format summary "$file"
expect 'what was before a stall' out_has db_query
run record --last --on 'p99>1ms' -p "${pids[hog]}" -o "$file" --for 60
expect 'until a quantile' exited 0
expect 'until a quantile' err_has 'p99 of polls in the last second was '
run record --last --on 'waits:p99>60s' -p "${pids[hog]}" -o "$file" --for 1.2
expect 'until nothing' exited 0
expect 'until nothing' err_has 'the condition of --on was not met'
stop hog
start hog "$programs/hog" 1 often
refuses 1 'the process has no limit for polls; set SKUA_STALL_LIMIT_NS' record \
	--last --on stall -p "${pids[hog]}" -o "$file"
stop hog

start load "$programs/watched" load
recording -p "${pids[load]}"
until_so larger_than 1000000
# It is read while it is written.
run export --format summary "$file"
expect 'while it is written' exited 0
expect 'while it is written' err_has 'the end is missing'
kill -TERM "$recorder"
recorded
expect 'a load' exited 0
run record --last -p "${pids[load]}" -o "$file" --for 1
expect 'the last events' exited 0
expect 'the last events' larger_than 100000
run export --format summary "$file"
expect 'the last events' exited 0
recording -p "${pids[load]}"
until_so larger_than 100000
kill -KILL "$recorder"
recorded
run export --format summary "$file"
expect 'a recorder that was killed leaves a file' exited 0

# --- a poll that does not end ------------------------------------------------------

start hog "$programs/hog" 1 endless
run record -p "${pids[hog]}" -o "$file" --for 0.5
expect 'a hog' exited 0
expect 'a hog' err_has 'in one poll of db_query since before'
run export --format summary "$file"
expect 'a hog in the summary' exited 0
expect 'a hog in the summary' grep -qE '^db_query .* > [0-9.]+ m?s ' "$scratch/out"
expect 'a hog in the summary' out_has 'db_query: the beginning or the end of 1 poll was not recorded'
exports db_query http_read
stop hog

# --- a program that ends ---------------------------------------------------------

recording -p "${pids[load]}"
until_so larger_than 100000
stop load
recorded
expect 'the program ended' exited 0
expect 'the program ended' err_has "process ${pids[load]} has ended meanwhile; all events read before are in the file"
run export --format summary "$file"
expect 'the program ended' exited 0

# Runtimes that come and go.
start renew "$programs/watched" renew
run record -p "${pids[renew]}" -o "$file" --for 2
expect 'runtimes that come and go' exited 0
run export --format summary "$file"
expect 'runtimes that come and go' exited 0
stop renew
expect 'runtimes that come and go' exited 0

finish "all of $polls polls, their results and waits; also while the program works, and until it ends"
