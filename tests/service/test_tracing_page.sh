#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# test_tracing_page.sh - each line for bpftrace in skua_tracing(7) shows something of a
# busy process
set -uo pipefail
# shellcheck source=tests/service/checks.sh
source "$(dirname "$0")/checks.sh"

needs "$build/tests/programs/burst"
if ! command -v bpftrace >/dev/null; then
	echo 'bpftrace is not installed'
	exit 77
fi
if ! bpftrace -e 'BEGIN { exit(); }' >"$scratch/out" 2>&1; then
	echo "bpftrace cannot trace here: $(tail -n 1 "$scratch/out")"
	exit 77
fi

# A file of its own: probes are the file's, and other tests may trace it.
cp "$build/tests/programs/burst" "$scratch"
start burst "$scratch/burst"

# shows_something FILE - runs the command until it shows something, longer each time
shows_something()
{
	local seconds command
	grep -q '^interval:s:5 { exit(); }' "$1" || return
	for seconds in 1 2 4 8 16; do
		command=$(sed "s/interval:s:5 /interval:s:$seconds /" "$1")
		code=0
		timeout -k 5 60 bash -c "exec $command" </dev/null \
			>"$scratch/out" 2>"$scratch/err" || code=$?
		((code == 0)) && grep -qE '^@.*: ?[0-9]*$' "$scratch/out" && return 0
	done
	return 1
}

# The literal blocks of the page, one to a file.
awk -v folder="$scratch" '
	/^\.Ed/ { inside = 0 }
	inside { print >(folder "/block" inside) }
	/^\.Bd -literal/ { inside = ++blocks }
' bpf/man/skua_tracing.7
count=0
for file in "$scratch"/block*; do
	sed -i -e "s/ PID / ${pids[burst]} /" -e 's/\\e/\\/g' "$file"
	if grep -q '^bpftrace' "$file"; then
		count=$((count + 1))
		expect "$(<"$file")" shows_something "$file"
	fi
done
expect 'lines for bpftrace' test "$count" -gt 3
stop burst
expect 'the program ends' exited 0
finish "$count lines for bpftrace show something"
