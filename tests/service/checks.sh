# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# checks.sh - for the tests of a command: run it, and check what it said
#
# Sourced. All checks are made, and each that fails is printed with what the
# command said; finish ends the test.

if ! command -v python3 >/dev/null; then
	echo "python3 is not installed"
	exit 77
fi
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
tested=() # what run runs its arguments with; the test may set it
failed=0

build=${SKUA_BUILD_DIR:-build}

# needs PROGRAM
needs()
{
	if [[ ! -x $1 ]]; then
		echo "$1 is not built"
		exit 77
	fi
}

# built FILE - the path of a program that the build makes: `skua=$(built bpf/skua) || exit`
built()
{
	needs "$build/$1" >&2
	printf '%s\n' "$build/$1"
}

# static_needs - what a program that is linked with libskua.a is linked with as well
static_needs()
{
	local needs

	read -ra needs <<<"$(sed -n 's/^Requires.private: //p' "$build/skua.pc")"
	pkg-config --static --libs "${needs[@]}"
}

# tests_skua [SKUA] - the test runs that program, by default the one of the build: $skua
tests_skua()
{
	skua=${1:-$build/bpf/skua}
	needs "$skua"
	tested=("$skua")
}

# run ARG... - $code, $scratch/out and $scratch/err tell
run()
{
	code=0
	"${tested[@]}" "$@" >"$scratch/out" 2>"$scratch/err" || code=$?
}

# run_beside SIGNALS ARG... - as run, in the background; returns when the command has
# blocked these signals (hexadecimal, as in /proc), for which it waits. $ours is its number
run_beside()
{
	local signals=$1
	shift
	"${tested[@]}" "$@" >"$scratch/out" 2>"$scratch/err" &
	ours=$!
	until grep -q "^SigBlk:\s0*$signals\$" "/proc/$ours/status"; do
		sleep 0.01
	done
}

# watches - wait until the process of run_beside has begun to watch: it sleeps in poll()
# until its end. A kernel that does not say where a thread sleeps has ten seconds
watches()
{
	local i
	for ((i = 0; i < 1000; i++)); do
		grep -q poll "/proc/$ours/wchan" && break
		sleep 0.01
	done
}

# expect WHAT COMMAND... - a check: the command succeeds
expect()
{
	local what=$1
	shift
	if "$@"; then
		return 0
	fi
	printf 'FAILED: %s: %s\n' "$what" "$*"
	printf '  exit code %s; stdout, stderr:\n' "$code"
	sed 's/^/  | /' "$scratch/out" "$scratch/err"
	failed=1
}

# has_help VERB - a check: skua VERB prints its help
has_help()
{
	run "$1" --help
	expect "$1 --help" exited 0
	expect "$1 --help" out_has "Usage: skua $1"
}

# refuses CODE TEXT ARG... - an error of the command: one line, which has the text
refuses()
{
	local code_expected=$1 text=$2
	shift 2
	local what="${tested[*]##*/} $*"
	run "$@"
	expect "$what" exited "$code_expected"
	expect "$what" err_lines 1
	expect "$what" err_has "$text"
	expect "$what" out_empty
}

exited() { ((code == $1)); }
out_has() { grep -qF -- "$1" "$scratch/out"; }
out_lacks() { ! grep -qF -- "$1" "$scratch/out"; }
out_empty() { [[ ! -s $scratch/out ]]; }
err_has() { grep -qF -- "$1" "$scratch/err"; }
err_lacks() { ! grep -qF -- "$1" "$scratch/err"; }
err_lines() { (($(wc -l <"$scratch/err") == $1)); }

# shows EXPRESSION - Python, of the JSON that was printed, as d: true. The places of
# `skua why` are p, its verdict is v
shows()
{
	python3 -c 'import json, sys
d = json.load(open(sys.argv[1]))
p, v = d.get("places"), d.get("verdict")
sys.exit(not eval("(" + sys.argv[2] + ")"))' "$scratch/out" "$1"
}

# start NAME COMMAND... - in the background, until stop NAME; returns when it has
# printed a line, to $scratch/NAME.out. ${pids[NAME]} is its number
declare -A pids inputs
start()
{
	local name=$1 input
	shift
	mkfifo "$scratch/$name.in"
	: >"$scratch/$name.out"
	exec {input}<>"$scratch/$name.in"
	inputs[$name]=$input
	"$@" <"$scratch/$name.in" >"$scratch/$name.out" {input}>&- &
	pids[$name]=$!
	until [[ -s $scratch/$name.out ]]; do
		if ! kill -0 "${pids[$name]}" 2>/dev/null; then
			echo "FAILED: $* does not start"
			exit 1
		fi
		sleep 0.01
	done
}

# stop NAME - give it a line, and wait for it; $code is how it ended
stop()
{
	echo >&"${inputs[$1]}"
	code=0
	wait "${pids[$1]}" || code=$?
	exec {inputs[$1]}>&-
	rm "$scratch/$1.in"
}

# forget NAME - the same for what was ended by other means
forget()
{
	wait "${pids[$1]}" 2>/dev/null
	exec {inputs[$1]}>&-
	rm "$scratch/$1.in"
}

# await PID [FILE] - wait for a background process; $code is its exit code, and
# $scratch/err what it wrote to the file
await()
{
	code=0
	wait "$1" || code=$?
	[[ ! ${2-} ]] || cp "$2" "$scratch/err"
}

# await_line NAME REGEX FILE [LOG] - wait until the file of process NAME has the line;
# the test fails if the process ends before
await_line()
{
	until grep -q "$2" "$3"; do
		if ! kill -0 "${pids[$1]}" 2>/dev/null; then
			echo "FAILED: $1 ends before it says '$2'"
			cat "${4:-$3}"
			exit 1
		fi
		sleep 0.01
	done
}

# loses_no_task FILE - what `watched load` printed, after it was observed
loses_no_task()
{
	code=0
	python3 - "$1" >"$scratch/out" 2>"$scratch/err" <<'END' || code=$?
import json
import sys

counts = json.loads(open(sys.argv[1]).read().splitlines()[-1])
assert counts["spawned"] == counts["ended"] > 1000, counts
END
	expect 'no task is lost' exited 0
}

# finish WHAT - what was shown, unless a check failed
finish()
{
	((failed == 0)) || exit 1
	echo "$1"
}
