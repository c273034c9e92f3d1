#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# test_ranks.sh [SKUA] - the verbs that take several processes or recordings, such as
# the ranks of an MPI job; here, processes with the environment of ranks, without MPI
set -uo pipefail
# shellcheck source=tests/service/checks.sh
source "$(dirname "$0")/checks.sh"

tests_skua "$@"
hog=$(built tests/programs/hog) || exit
watched=$(built tests/programs/watched) || exit

# lines EXPRESSION - Python, of the JSON lines that were printed, as d: true
lines()
{
	python3 -c 'import json, sys
d = [json.loads(line) for line in open(sys.argv[1])]
sys.exit(not eval("(" + sys.argv[2] + ")"))' "$scratch/out" "$1"
}

# row RANK PID WORD... - a row of the table has these words, in this order
row()
{
	python3 - "$scratch/out" "$@" <<'END'
import sys

path, rank, pid, *words = sys.argv[1:]
rows = [line.split() for line in open(path)]
found = [row for row in rows if row[:2] == [rank, pid]]
assert len(found) == 1, rows
rest = iter(found[0])
sys.exit(not all(word in rest for word in words))
END
}

# ranks_in_order RANK... - the first cells of the rows
ranks_in_order()
{
	[[ $(awk 'NR > 1 && NF > 5 { print $1 }' "$scratch/out" | xargs) == "$*" ]]
}

# --- processes -------------------------------------------------------------------

start plain "$watched" load
OMPI_COMM_WORLD_RANK=1 SLURM_PROCID=0 start one "$hog" 1 often
PMIX_RANK=0 start zero "$hog" 0 often
all=("${pids[one]}" "${pids[plain]}" "${pids[zero]}")

run top --once --interval 0.5 -p "${all[0]},${all[1]}" --pid="${all[2]}"
expect 'three processes' exited 0
expect 'three processes' ranks_in_order 0 1 - all
expect 'three processes' row 0 "${pids[zero]}" hog 2 http_read
expect 'three processes' row 1 "${pids[one]}" hog 2 db_query
expect 'three processes' row - "${pids[plain]}" watched 2
expect 'three processes' grep -qE '^ *all +6 ' "$scratch/out"

run top --once --interval 0.2 --json --job $$
expect 'the children of a process' exited 0
expect 'the children of a process' lines '[x["rank"] for x in d] == [0, 1, None]'
expect 'the children of a process' lines \
	"{x['pid'] for x in d} == {${all[0]}, ${all[1]}, ${all[2]}}"
run top --once --interval 0.2 --csv --job $$
expect 'the children of a process' grep -qE ',1$' "$scratch/out"

# A single process is shown as if it had no rank; the same number twice is one process.
run top --once --interval 0.2 -p "${pids[one]}" -p "${pids[one]}"
expect 'one process' out_has "process ${pids[one]} (hog), skua "

refuses 2 "--pid is 'x'; allowed: 1 to 4194304" top -p "${pids[one]},x"
refuses 2 "--pid is ''; allowed: 1 to 4194304" top -p "${pids[one]},"
refuses 2 '--job with --pid; allowed: one of them' top --job 1 -p 1
refuses 2 "--job is '0'; allowed: 1 to 4194304" top --job 0
refuses 1 "process $$ is not a skua process" top --once -p "${pids[one]},$$"
true &
wait $!
refuses 1 "--job: no process $!" top --once --job $!
sleep 100 &
refuses 1 "--job: no process that $! has started has skua in it" top --once --job $!
kill $!

# --- recordings ------------------------------------------------------------------

run record --job $$ --for 0.5 -o "$scratch/job"
expect 'record --job' exited 0
expect 'record --job' err_has "rank 1, process ${pids[one]}:"
expect 'record --job' err_has "process ${pids[plain]}:"
files=("$scratch/job.0" "$scratch/job.1" "$scratch/job.${pids[plain]}")
for file in "${files[@]}"; do
	expect 'record --job' test -s "$file"
	expect 'record --job' err_has "$file: "
done
made=("$scratch"/job.*)
expect 'record --job: no other file' test "${#made[@]}" = 3

# The timeline has all three, of the same time.
run export --format chrome "${files[@]}"
expect 'one timeline' exited 0
expect 'one timeline' err_lacks 'it is not known to be of the same machine'
code=0
python3 - "$scratch/out" "${pids[zero]}" "${pids[one]}" "${pids[plain]}" \
	2>"$scratch/err" <<'END' || code=$?
import json
import sys

path, *pids = sys.argv[1:]
zero, one, plain = map(int, pids)
events = json.load(open(path))["traceEvents"]
names = [(e["pid"], e["args"]["name"]) for e in events if e["name"] == "process_name"]
assert names == [
    (zero, f"rank 0 (hog, pid {zero})"),
    (one, f"rank 1 (hog, pid {one})"),
    (plain, f"process {plain} (watched)"),
], names
spans = {}
for e in events:
    if e["ph"] == "X":
        begin, end = spans.get(e["pid"], (e["ts"], 0))
        spans[e["pid"]] = min(begin, e["ts"]), max(end, e["ts"] + e["dur"])
assert set(spans) == {zero, one, plain}, spans
assert max(s[0] for s in spans.values()) < min(s[1] for s in spans.values()), spans
END
expect 'one timeline' exited 0

run why "${files[@]}"
expect 'why' exited 0
expect 'why' row 0 "${pids[zero]}" hog 0
expect 'why' row 1 "${pids[one]}" hog 0
expect 'why' row - "${pids[plain]}" watched
expect 'why' grep -qE '^ 1  \[.* on worker [01] of (rank [01]|process [0-9]+)' "$scratch/out"

# The condition is met in one process, and ends all recordings.
run record --last --on 'polls:p99>1ms' --for 60 -p "${pids[one]},${pids[plain]}" \
	-o "$scratch/last"
expect 'a condition in one' exited 0
expect 'a condition in one' err_has 'of polls in the last second was'
expect 'a condition in one' err_has 'the condition of --on was not met'
expect 'a condition in one' test -s "$scratch/last.1"
expect 'a condition in one' test -s "$scratch/last.${pids[plain]}"

# Recordings that end at the same time do not cut each other off.
for ((i = 0; i < 5; i++)); do
	run record --last --on 'polls:p50>9s' --for 0.2 --job $$ -o "$scratch/last"
	expect 'an end at the same time' exited 0
	expect 'an end at the same time' err_lacks 'are missing'
done

# A signal ends all.
"${tested[@]}" record -p "${pids[one]},${pids[zero]}" -o "$scratch/signal" \
	2>"$scratch/record.err" &
recorder=$!
until [[ -s $scratch/signal.0 && -s $scratch/signal.1 ]]; do
	sleep 0.01
done
kill -INT "$recorder"
await "$recorder" "$scratch/record.err"
expect 'a signal' exited 0
expect 'a signal' err_has "$scratch/signal.0: "
expect 'a signal' err_has "$scratch/signal.1: "

# One that fails does not keep the others from their files.
mkdir "$scratch/some.0"
run record -p "${pids[one]},${pids[zero]}" --for 0.1 -o "$scratch/some"
expect 'one fails' exited 1
expect 'one fails' err_has "$scratch/some.0: Is a directory"
expect 'one fails' test -s "$scratch/some.1"
PMIX_RANK=1 start again "$watched" load
refuses 1 'both have rank 1; allowed: the processes of one job' record \
	-p "${pids[one]},${pids[again]}" -o "$scratch/twice"
stop again
PMIX_RANK=${pids[plain]} start again "$watched" load
refuses 1 "processes ${pids[again]} and ${pids[plain]} is the rank of the other" record \
	-p "${pids[plain]},${pids[again]}" --for 0.1 -o "$scratch/twice"
stop again
# A parent may ignore SIGCHLD: the ends of the recorders are seen all the same.
code=0
python3 -c 'import os, signal, sys
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
os.execv(sys.argv[1], sys.argv[1:])' "$skua" record -p "${pids[one]},${pids[zero]}" \
	--for 0.1 -o "$scratch/ignored" 2>"$scratch/err" || code=$?
expect 'SIGCHLD is ignored' exited 0
expect 'SIGCHLD is ignored' test -s "$scratch/ignored.1"
refuses 2 '--job with --pid; allowed: one of them' record --job 1 -p 1 -o "$scratch/none"

# --- processes that end ------------------------------------------------------------

# Processes that end leave the table; the last one ends the command.
"$skua" top --json --interval 0.1 -p "${pids[zero]},${pids[one]}" \
	>"$scratch/stream" 2>"$scratch/stream.err" &
watcher=$!
until (($(wc -l <"$scratch/stream") >= 2)); do
	sleep 0.01
done
stop zero
before=$(wc -l <"$scratch/stream")
until (($(wc -l <"$scratch/stream") >= before + 3)); do
	sleep 0.01
done
expect 'a process ends' kill -0 "$watcher"
stop one
await "$watcher" "$scratch/stream.err"
cp "$scratch/stream" "$scratch/out"
expect 'all processes have ended' exited 1
expect 'all processes have ended' err_has 'has ended meanwhile'
expect 'all processes have ended' lines '[x["rank"] for x in d[-2:]] == [1, 1]'
stop plain

finish 'several processes are shown together, by rank'
