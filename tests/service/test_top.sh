#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# test_top.sh [SKUA] - `skua top` finds the tasks that hog the workers of a
# prepared program, behaves on a terminal, and says what it cannot see
set -uo pipefail
# shellcheck source=tests/service/checks.sh
source "$(dirname "$0")/checks.sh"

tests_skua "$@"
hog=$(built tests/programs/hog) || exit
shop=$(built tests/programs/shop) || exit
labelled=$(built tests/programs/labelled) || exit
watched=$(built tests/programs/watched) || exit

# --- help and errors -------------------------------------------------------------

has_help top
refuses 2 "--pid is 'x'; allowed: 1 to 4194304" top -p x
refuses 2 "--interval is '0'; allowed: seconds, 0.01 to 3600" top --interval 0
refuses 2 "--interval is 'nan'; allowed" top --interval=nan
refuses 2 "unexpected argument 'more'" top more
refuses 1 "process $$ is not a skua process" top --once -p $$

# --- hogs ------------------------------------------------------------------------

# shows_hog HOW NAME - the object in $scratch/out, and the table in $scratch/text
shows_hog()
{
	python3 - "$1" "$2" "$scratch/out" "$scratch/text" <<'END'
import json
import sys

how, name, path, text = sys.argv[1:]
top = json.load(open(path))
first = top["types"][0]
assert first["name"] == name, top["types"]
shown = open(text).read().split("\ntasks ")[1].splitlines()
assert shown[1].startswith(name + " "), shown
if how == "endless":
    assert first["one_poll_ns"] > 1e8 * top["interval_s"], first
    assert top["workers"][first["worker"]]["doing"]["name"] == name
    assert f"is in one poll of {name} for " in open(text).read()
    assert "one poll for " in shown[1], shown
else:
    assert first["share"] > 0.5, first
END
}

types=(http_read db_query log_flush)
for type in 0 1 2; do
	for how in often endless; do
		start hog "$hog" "$type" "$how"
		run top --once -p "${pids[hog]}"
		cp "$scratch/out" "$scratch/text"
		run top --once --json --interval 0.5 -p "${pids[hog]}"
		expect "${types[type]} hogs, $how" exited 0
		expect "${types[type]} hogs, $how" \
			shows_hog "$how" "${types[type]}"
		stop hog
	done
done

# has_label KIND NAME LABEL - a task is shown with its label; "": it has none
has_label()
{
	local shown=$2${3:+ ($3)}

	start labelled "$labelled" "$1"
	run top --once -p "${pids[labelled]}"
	expect "the label, $1" out_has " $shown "
	expect "the label, $1" out_has "is in one poll of $shown for "
	run top --once --json --interval 0.5 -p "${pids[labelled]}"
	stop labelled
	code=0
	python3 - "$scratch/out" "$2" "$3" 2>"$scratch/err" <<'END' || code=$?
import json, sys
out, name, label = sys.argv[1:]
top = json.load(open(out))
doing = [w["doing"] for w in top["workers"] if w["doing"]]
assert [(d["name"], d["label"]) for d in doing] == [(name, label or None)], doing
END
	expect "the label, $1" exited 0
}

has_label fiber serve get
has_label poll serve_poll get
has_label stale serve_stale ''

# A poll function of C++ is called what its source calls it.
start shop "$shop"
run top --once -p "${pids[shop]}"
stop shop
expect 'C++' out_has 'shop::Cart::check_out'

# A poll goes on from one interval to the next.
start hog "$hog" 2 endless
"$skua" top --json --interval 0.2 -p "${pids[hog]}" 2>/dev/null |
	head -n 4 >"$scratch/out"
stop hog
code=0
python3 -c '
import json, sys
tops = [json.loads(line) for line in open(sys.argv[1])]
ns = [top["types"][0]["one_poll_ns"] for top in tops]
assert len(ns) == 4 and all(a < b for a, b in zip(ns, ns[1:])), ns
assert ns[3] - ns[0] > 0.9e9 * sum(top["interval_s"] for top in tops[1:]), tops
' "$scratch/out" 2>"$scratch/err" || code=$?
expect 'a poll over several intervals' exited 0

# A poll that blocks has no CPU.
start hog "$hog" 1 blocked
run top --once -p "${pids[hog]}"
expect 'a poll that blocks' out_has ' blocked '
expect 'a poll that blocks' out_has 'is in one poll of db_query for '
run top --once --json --interval 0.5 -p "${pids[hog]}"
stop hog
code=0
python3 -c '
import json, sys
top = json.load(open(sys.argv[1]))
worker = [w for w in top["workers"] if w["shown_state"] == "blocked"]
assert len(worker) == 1, top["workers"]
assert worker[0]["state"] == "running" and worker[0]["busy"] > 0.9, worker
assert worker[0]["on_cpu"] is None or worker[0]["on_cpu"] < 0.5, worker
' "$scratch/out" 2>"$scratch/err" || code=$?
expect 'a poll that blocks' exited 0

# Polls of 4 ms mostly end before they are reported, with a limit of 3 ms. They are
# counted all the same.
SKUA_STALL_LIMIT_NS=3000000 start hog "$hog" 1 often
run top --once --json -p "${pids[hog]}"
cp "$scratch/out" "$scratch/over"
run top --once -p "${pids[hog]}"
expect 'polls over the limit' out_has 'took longer than the limit of 3.0 ms; '
run stats -p "${pids[hog]}"
expect 'polls over the limit' out_has 'took longer than the limit of 3.0 ms; '
stop hog
code=0
python3 -c '
import json, sys
top = json.load(open(sys.argv[1]))
hog = next(t for t in top["types"] if t["name"] == "db_query")
totals = top["totals"]
assert totals["stall_limit_ns"] == 3000000, totals
polls = hog["polls"]
assert polls > 10 and 0.8 * polls <= totals["over_limit"] <= 1.5 * polls, top
' "$scratch/over" 2>"$scratch/err" || code=$?
expect 'polls over the limit' exited 0

# History for a file.
refuses 2 '--csv with --json; allowed: one of them' top --csv --json
start hog "$hog" 1 often
"$skua" top --csv --interval 0.1 -p "${pids[hog]}" 2>/dev/null |
	head -n 4 >"$scratch/out"
stop hog
code=0
python3 -c '
import csv, datetime, sys
rows = list(csv.DictReader(open(sys.argv[1])))
assert len(rows) == 3, rows
times = [datetime.datetime.fromisoformat(row["time"].rstrip("Z")) for row in rows]
now = datetime.datetime.utcnow()
assert times == sorted(times) and abs((now - times[2]).total_seconds()) < 60, rows
for row in rows:
    assert None not in row and all(v is not None for v in row.values()), row
    assert row["busiest_type"] == "db_query" and row["workers"] == "2", row
' "$scratch/out" 2>"$scratch/err" || code=$?
expect 'comma-separated values' exited 0

# Types have their names in memory. Functions that have none any more are shown as
# places, and it is said why.
cp "$hog" "$watched" "$scratch"
strip "$scratch/hog" "$scratch/watched"
start stripped "$scratch/hog" 0 endless
run top --once --interval 0.2 -p "${pids[stripped]}"
expect 'types of a stripped program' out_has 'http_read'
stop stripped
start stripped "$scratch/watched" load
run top --once --interval 0.2 -p "${pids[stripped]}"
expect 'functions of a stripped program' out_has 'watched+0x'
expect 'functions of a stripped program' out_has '/watched has no symbol there'
stop stripped
cp "$watched" "$scratch/gone"
start gone "$scratch/gone" load
rm "$scratch/gone"
run top --once --interval 0.2 -p "${pids[gone]}"
expect 'a program whose file is gone' exited 0
# A user who may follow the links of the kernel finds even those.
expect 'a program whose file is gone' \
	grep -qE 'poll_loaded|(deleted) cannot be read' "$scratch/out"
cp "$hog" "$scratch/gone"
run top --once --interval 0.2 -p "${pids[gone]}"
expect 'a program whose file is another' exited 0
stop gone

# A user without privilege reads the file by its path, while it has one.
other_user=(setpriv --reuid 65534 --regid 65534 --clear-groups --)
if ((EUID == 0)) && [[ ! -r /proc/sys/kernel/yama/ptrace_scope ]] &&
	"${other_user[@]}" true 2>/dev/null; then
	chmod 711 "$scratch" # for the other
	cp "$watched" "$scratch/theirs"
	cp "$skua" "$scratch/skua"
	start theirs "${other_user[@]}" "$scratch/theirs" load
	tested=("${other_user[@]}" "$scratch/skua")
	run top --once --interval 0.2 -p "${pids[theirs]}"
	expect 'names without privilege' out_has 'poll_loaded'
	rm "$scratch/theirs"
	run top --once --interval 0.2 -p "${pids[theirs]}"
	expect 'a file that is gone' out_has 'theirs+0x'
	expect 'a file that is gone' out_has '(deleted) cannot be read'
	cp "$hog" "$scratch/theirs (deleted)" # as the path is printed
	run top --once --interval 0.2 -p "${pids[theirs]}"
	expect 'another file' out_has 'is another file by now'
	tested=("$skua")
	stop theirs
else
	echo 'left out: another user needs root, and no restriction of tracing'
fi

# --- form ------------------------------------------------------------------------

# ASCII alone; and otherwise lines
start load "$watched" load
LC_ALL=C run top --once --interval 0.1 -p "${pids[load]}"
expect 'without line art' exited 0
code=0
LC_ALL=C grep -q '[^ -~]' "$scratch/out" && code=1
expect 'without line art' exited 0
if LC_ALL=C.UTF-8 locale charmap 2>/dev/null | grep UTF-8 >/dev/null; then
	LC_ALL=C.UTF-8 run top --once --interval 0.1 -p "${pids[load]}"
	expect 'with line art' grep -qE '[▏▎▍▌▋▊▉█]' "$scratch/out"
fi

start other "$watched" load
run top
expect 'a list of several' exited 0
expect 'a list of several' out_has "${pids[load]}"
expect 'a list of several' out_has "${pids[other]}"
expect 'a list of several' err_has 'choose one: skua top --pid PID'
run top --json
expect 'a list of several' out_has "{\"pid\":${pids[other]},"
# Other verbs print nothing else than what they are asked for.
for verb in stats perf "record -o $scratch/none.skua"; do
	# shellcheck disable=SC2086 # words
	refuses 2 'several processes have skua in them: ' $verb
done
stop other

# Each of several runtimes is named; the table of one has no such name.
expect 'one runtime' out_lacks ', runtime 0x'
start two "$watched" two
for verb in 'top --once --interval 0.1' stats; do
	# shellcheck disable=SC2086 # words
	run $verb -p "${pids[two]}"
	expect "$verb of two runtimes" test 2 = \
		"$(grep -oE '^process .*, runtime 0x[0-9a-f]+ of 2, up ' "$scratch/out" |
			grep -oE '0x[0-9a-f]+' | sort -u | wc -l)"
done
run top --once --json --interval 0.1 -p "${pids[two]}"
expect 'two runtimes' test 2 = \
	"$(grep -oE '"runtime":[0-9]+' "$scratch/out" | sort -u | wc -l)"
stop two

# Runtimes that come and go are shown when they are there for an interval.
start renew "$watched" renew
"$skua" top --json --interval 0.02 -p "${pids[renew]}" \
	>"$scratch/renew.json" 2>"$scratch/renew.err" &
watcher=$!
sleep 1
expect 'runtimes that come and go' kill -0 "$watcher"
stop renew
await "$watcher" "$scratch/renew.err"
expect 'runtimes that come and go' exited 1
expect 'runtimes that come and go' err_has 'has ended meanwhile'

# --- on a terminal ---------------------------------------------------------------

code=0
timeout 60 python3 - "$skua" "${pids[load]}" >"$scratch/out" 2>"$scratch/err" <<'END' || code=$?
import fcntl
import os
import pty
import re
import signal
import struct
import sys
import termios

skua, process = sys.argv[1:]


class Terminal:
    def __init__(self, rows, columns):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.environ["TERM"] = "xterm"
            # The size first: it is asked for at once.
            os.read(0, 1)
            os.execv(skua, [skua, "top", "--interval", "0.1", "-p", process])
        self.size(rows, columns)
        os.write(self.fd, b"\n")
        self.text = b""

    def size(self, rows, columns):
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def until(self, pattern):
        while not re.search(pattern, self.text, re.DOTALL):
            self.text += os.read(self.fd, 4096)

    def frames(self):
        return self.text.split(b"\x1b[H")[1:-1]

    def end(self):
        try:
            while more := os.read(self.fd, 4096):
                self.text += more
        except OSError:
            pass
        assert self.text.count(b"\x1b[?1049h") == self.text.count(b"\x1b[?1049l") == 1
        assert self.text.count(b"\x1b[?25l") == self.text.count(b"\x1b[?25h") == 1
        return os.waitpid(self.pid, 0)[1]


def fits(frame, rows, columns):
    lines = re.sub(rb"\x1b\[[0-9;]*[A-Za-z]", b"", frame).decode().split("\r\n")
    return len(lines) <= rows and all(len(line.rstrip("\r")) <= columns for line in lines)


terminal = Terminal(30, 100)
terminal.until(rb"worker.*\x1b\[H.*worker.*\x1b\[H")
assert all(fits(frame, 30, 100) for frame in terminal.frames())
terminal.text = b"\x1b[?1049h\x1b[?25l"
terminal.size(10, 40)
terminal.until(rb"\x1b\[J.*\x1b\[H.*\x1b\[J.*\x1b\[H.*\x1b\[J.*\x1b\[H")
assert fits(terminal.frames()[-1], 10, 40), terminal.frames()[-1]
os.write(terminal.fd, b"q")
assert terminal.end() == 0
for number in signal.SIGTERM, signal.SIGINT:
    terminal = Terminal(24, 80)
    terminal.until(rb"worker.*on CPU +stalls.*\ntasks +of busy time +longest ")
    os.kill(terminal.pid, number)
    assert terminal.end() == number
END
expect 'on a terminal' exited 0

# --- a process that ends ---------------------------------------------------------

"$skua" top --json --interval 0.1 -p "${pids[load]}" \
	>"$scratch/stream" 2>"$scratch/stream.err" &
watcher=$!
until (($(wc -l <"$scratch/stream") >= 2)); do
	sleep 0.01
done
stop load
await "$watcher" "$scratch/stream.err"
expect 'the process ends' exited 1
expect 'the process ends' err_has 'has ended meanwhile'
code=0
python3 -c '
import json, sys
lines = [json.loads(line) for line in open(sys.argv[1])]
assert all(line["workers"] and "p99_ns" in line["histograms"]["park"] for line in lines)
' "$scratch/stream" 2>"$scratch/err" || code=$?
expect 'an object a line' exited 0
finish 'skua top: finds the tasks that hog the workers'
