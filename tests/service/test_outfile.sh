#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# test_outfile.sh - commands of root that write to a file do not follow what another
# user has put into a folder for all, and commands that read a process cannot write it
set -uo pipefail
# shellcheck source=tests/service/checks.sh
source "$(dirname "$0")/checks.sh"

skua=$(built bpf/skua) || exit
burst=$(built tests/programs/burst) || exit
simulator=$(built bench/skua-simulator) || exit
tested=(timeout --signal=KILL 60 "$skua")
if ((EUID != 0)) || ! setpriv --reuid 65534 --regid 65534 --clear-groups true; then
	echo 'setpriv cannot act for another user'
	exit 77
fi
other() { setpriv --reuid 65534 --regid 65534 --clear-groups "$@"; }
# Where the kernel refuses by itself nothing would be shown.
for name in protected_symlinks protected_regular protected_fifos; do
	if [[ $(cat /proc/sys/fs/$name) != 0 ]]; then
		echo "the kernel's fs.$name is on, and refuses first"
		exit 77
	fi
done

start quiet "$burst" 1
pid=${pids[quiet]}
chmod 755 "$scratch"
shared=$scratch/shared
mkdir -m 1777 "$shared"
secret=$scratch/secret
run record -p "$pid" --for 0.2 -o "$scratch/good.skua"
expect 'a recording' exited 0

# The commands, each with its file: writes FILE VERB...
declare -A verbs=(
	[record]="record -p $pid --for 0.1 -o"
	[export]="export $scratch/good.skua -f perfetto -o"
	[flame]="flame -p $pid --for 0.1 -o"
	[why]="why -p $pid --for 0.1 -o"
	[topo]="topo --snapshot"
)
untouched() { [[ $(cat "$secret") == root ]]; }
for verb in "${!verbs[@]}"; do
	read -ra command <<<"${verbs[$verb]}"

	# A file that another user has put there.
	echo root >"$secret"
	other ln -s "$secret" "$shared/link"
	other ln -s "$scratch/new" "$shared/nowhere"
	other touch "$shared/file"
	other mkfifo "$shared/fifo"
	ln "$secret" "$shared/hard"
	refuses 1 'a link of another user' "${command[@]}" "$shared/link"
	refuses 1 'a link of another user' "${command[@]}" "$shared/nowhere"
	refuses 1 'a file of another user' "${command[@]}" "$shared/file"
	refuses 1 'a file of another user' "${command[@]}" "$shared/fifo"
	refuses 1 'a file that has a second name' "${command[@]}" "$shared/hard"
	expect "$verb: the file of root is as before" untouched
	expect "$verb: no file of root's was made" test ! -e "$scratch/new"
	rm "$shared"/*

	# Its own files work: a new file, an old one, a link, a pipe.
	run "${command[@]}" "$shared/mine"
	expect "$verb: a new file" exited 0
	cp "$shared/mine" "$shared/first"
	run "${command[@]}" "$shared/mine"
	expect "$verb: an old file" exited 0
	expect "$verb: an old file" test -s "$shared/mine"
	ln -s "$scratch/$verb.out" "$shared/own"
	run "${command[@]}" "$shared/own"
	expect "$verb: a link of its own" exited 0
	expect "$verb: a link of its own" test -s "$scratch/$verb.out"
	if [[ $verb != why ]]; then # which reads it again
		run "${command[@]}" /dev/null
		expect "$verb: /dev/null" exited 0
	fi
	run "${command[@]}" "$scratch/none/file"
	expect "$verb: no folder" err_has 'No such file or directory'
	rm "$shared"/*
done

# --- a folder -------------------------------------------------------------------------

# skua-simulator writes several files, whose names are its own.
echo root >"$secret"
mkdir -m 1777 "$shared/report"
other ln -s "$secret" "$shared/report/simulation.md"
tested=(timeout --signal=KILL 300 "$simulator")
run report --quick --out "$shared/report"
expect 'skua-simulator: a link' exited 1
expect 'skua-simulator: a link' err_has 'a link of another user'
expect 'skua-simulator: the file of root is as before' untouched
tested=(timeout --signal=KILL 60 "$skua")

# --- memory ---------------------------------------------------------------------------

# mode_of PID - how the process has the memory of the other open: 0 means read-only
mode_of()
{
	local fd modes=''
	for fd in "/proc/$1/fd"/*; do
		[[ $(readlink "$fd") == "/proc/$pid/mem" ]] || continue
		modes+=$(sed -n 's/^flags:.*\(.\)$/\1/p' "/proc/$1/fdinfo/${fd##*/}")
	done
	echo "$modes"
}
start top "$skua" top -p "$pid" --csv
expect 'skua top only reads' test "$(mode_of "${pids[top]}")" = 0
kill -TERM "${pids[top]}"
forget top
stop quiet
finish 'no file of others is written to, and no memory that is only read'
