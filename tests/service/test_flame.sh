#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# test_flame.sh - `skua flame` finds which types of tasks use the CPUs, and in which
# functions; what it draws is a picture that a browser shows; and what it cannot see
set -uo pipefail
# shellcheck source=tests/service/checks.sh
source "$(dirname "$0")/checks.sh"

skua=$(built bpf/skua) || exit
calls=$(built tests/programs/calls) || exit
hog=$(built tests/programs/hog) || exit
shop=$(built tests/programs/shop) || exit
tested=("$skua")
left_out=''

# is_svg FILE - well-formed, without anything from elsewhere; as many frames as it
# has names, each inside its parent's row
is_svg()
{
	python3 - "$1" <<'END'
import re
import sys
import xml.etree.ElementTree as ElementTree

SVG = "{http://www.w3.org/2000/svg}"
text = open(sys.argv[1], encoding="utf-8").read()
root = ElementTree.fromstring(text)
assert "href" not in text and "src=" not in text
assert not re.search("https?://(?!www.w3.org/)", text), "a link"
total, rows = int(root.get("data-total")), {}
for frame in root.iter(f"{SVG}g"):
    at, count = int(frame.get("data-x")), int(frame.get("data-n"))
    y = int(frame.find(f"{SVG}rect").get("y"))
    title = frame.find(f"{SVG}title").text
    assert title.count("\n") == 1 and " samples, " in title, title
    assert 0 <= at < at + count <= total
    above = rows.get(y - 19, [(0, total)])[-1]
    assert above[0] <= at and at + count <= above[1], (title, above)
    assert not rows.get(y) or rows[y][-1][1] <= at, title
    rows.setdefault(y, []).append((at, at + count))
END
}

# --- help and errors -------------------------------------------------------------

has_help flame
expect 'flame --help' out_has 'frame pointers'
refuses 2 'both a process and a FILE; allowed' flame -p 1 some.folded
refuses 2 "--pid is 'x'; allowed: 1 to 4194304" flame -p x
refuses 2 "--rate is '0'; allowed: 1 to 10000" flame -p 1 --rate 0
refuses 2 "--for is '0'; allowed: seconds, 0.001 to" flame -p 1 --for 0
refuses 2 '--for, --kernel or --rate with a FILE; allowed: only with --pid' flame --rate 10 some.folded
refuses 2 '--for, --kernel or --rate with a FILE; allowed: only with --pid' flame -k some.folded
refuses 2 "unexpected argument 'more'" flame some.folded more
refuses 1 'is not a skua process' flame -p $$ --folded
true &
wait $!
refuses 1 "no process $!" flame -p $! --folded

# --- folded stacks ---------------------------------------------------------------

printf '%s\n' 'db;query;<T&>::find("x") 60' 'db;query 10' '(searching) 5' \
	'http;read n'$'\xc3\xa4''her 25' >"$scratch/some.folded"
name=$scratch/some.folded
while ((${#name} < 200)); do name=${name%/*}/./${name##*/}; done # a long title
run flame "$name" -o "$scratch/some.svg"
expect 'a file' exited 0
expect 'a file' out_empty
expect 'a file' is_svg "$scratch/some.svg"
run flame "$scratch/some.folded" --folded
expect 'as it was' exited 0
expect 'as it was' cmp -s "$scratch/out" <(for line in 2 1 4 3; do
	sed -n ${line}p "$scratch/some.folded"
done)
run flame - --folded <"$scratch/some.folded"
expect 'standard input' exited 0
expect 'standard input' out_has 'db;query 10'
refuses 1 'No such file' flame "$scratch/none" --folded
refuses 1 "$scratch: Is a directory" flame "$scratch" --folded
refuses 1 'No such file' flame "$scratch/some.folded" -o "$scratch/no/where"
if [[ -w /dev/full ]]; then
	refuses 1 'No space left' flame "$scratch/some.folded" -o /dev/full
fi

# Any content of the file.
head -c 50 "$scratch/some.folded" >"$scratch/cut"
refuses 1 'line 3: not a folded stack' flame "$scratch/cut" --folded
head -c 100000 /dev/urandom >"$scratch/noise"
run flame "$scratch/noise" --folded
expect 'noise' exited 1
python3 -c 'print("a;" * 500000 + "b 3")' >"$scratch/deep"
run flame "$scratch/deep" -o "$scratch/deep.svg"
expect 'deep' exited 0
expect 'deep' is_svg "$scratch/deep.svg"
python3 -c 'print("a" * 3000000 + " 3")' >"$scratch/long"
refuses 1 'line 1: longer than 1 MiB' flame "$scratch/long" --folded

# --- a browser -------------------------------------------------------------------

# in_browser FILE - what it makes of a picture, to $scratch/dom
in_browser()
{
	timeout 100 chromium --headless --window-size=500,400 --no-sandbox --disable-gpu \
		--no-first-run --user-data-dir="$scratch/browser" \
		--enable-logging=stderr --virtual-time-budget=2000 --dump-dom \
		"file://$1" >"$scratch/dom" 2>"$scratch/browser.log"
}

# A click on a frame, and a search.
cat >"$scratch/clicks" <<'END'
<script><![CDATA[
const shown = () => frames().filter(g => g.style.display !== 'none').length;
const frames = () => Array.from(document.querySelectorAll('.f'));
const frame = name => frames().find(g => g.textContent.startsWith(name + '\n'));
const root = document.documentElement;
root.dataset.all = shown();
frame('http').dispatchEvent(new MouseEvent('click'));
root.dataset.clicked = shown();
dispatchEvent(new KeyboardEvent('keydown', { key: 'Escape' }));
root.dataset.back = shown();
document.querySelector('input').value = 'QUERY';
document.querySelector('input').dispatchEvent(new Event('input'));
const [title, box] = ['.h', 'foreignObject'].map(at =>
  document.querySelector(at).getBoundingClientRect());
root.dataset.beside = title.right < box.left;
root.dataset.found = document.querySelectorAll('.hit').length;
]]></script>
END
if command -v chromium >/dev/null; then
	sed -e "/^<\/svg>/{
		r $scratch/clicks
		d
	}" "$scratch/some.svg" >"$scratch/clicked.svg"
	echo '</svg>' >>"$scratch/clicked.svg"
	if in_browser "$scratch/clicked.svg"; then
		mv "$scratch/dom" "$scratch/out"
		mv "$scratch/browser.log" "$scratch/err"
		expect 'in a browser' test -z "$(grep CONSOLE "$scratch/err")"
		expect 'in a browser' out_has 'data-all="6"'
		expect 'a click' out_has 'data-clicked="2"'
		expect 'Escape' out_has 'data-back="6"'
		expect 'a search' out_has 'data-found="1"'
		expect 'the title' out_has 'data-beside="true"'
		expect 'a search' out_has 'in 70.0 % of all'
	else
		left_out+='; chromium does not start'
	fi
else
	left_out+='; no browser: chromium is not installed'
fi

# --- a process -------------------------------------------------------------------

# why_not - why it cannot be sampled here, if so
why_not()
{
	start probe "$calls"
	run flame -p "${pids[probe]}" --for 1 --folded
	stop probe
	sed -nE 's/^skua flame: (no permission|.*btf|.*BPF).*/&/p' "$scratch/err"
}

# samples PID OPTION... - folded stacks of it, at least 200, in $scratch/out
samples()
{
	local sum=0
	: >"$scratch/all"
	while ((sum < 200)); do
		run flame -p "$1" --for 0.5 --rate 999 --folded "${@:2}"
		((code == 0)) || return
		cat "$scratch/out" >>"$scratch/all"
		sum=$(awk '{ sum += $NF } END { print sum + 0 }' "$scratch/all")
	done
	mv "$scratch/out" "$scratch/last"
	mv "$scratch/all" "$scratch/out"
}

# of PATTERN - how many samples the stacks have that it matches
of()
{
	grep -E -- "$1" "$scratch/out" | awk '{ sum += $NF } END { print sum + 0 }'
}

# adds_up - the last table, and the line above, have as many samples as the stacks
adds_up()
{
	local sum line
	sum=$(awk '{ sum += $NF } END { print sum }' "$scratch/last")
	line=$(tr -d , <"$scratch/err" | grep -oE ': [0-9]+ samples of')
	[[ $line == ": $sum samples of" ]] &&
		(($(tr -d , <"$scratch/err" | awk '/%/ { sum += $(NF - 4) }
			END { print sum }') == sum))
}

reason='this is no root'
((EUID != 0)) || reason=$(why_not)
if [[ $reason ]]; then
	((failed == 0)) || exit 1
	echo "stacks are read and drawn$left_out; no process is sampled: $reason"
	exit 77
fi

start calls "$calls"
samples "${pids[calls]}"
expect 'calls' exited 0
all=$(of '') parser=$(of '^parser;') words=$(of '^count_words;')
expect 'the first type has three quarters' test $((parser * 2)) -gt $((words * 3))
expect 'both have most' test $(((parser + words) * 10)) -gt $((all * 6))
expect 'callers are seen' test $(($(of '^parser;parse;parse_line;hash_word[^;]* ') * 10)) \
	-gt $((parser * 8))
expect 'callers are seen' test $(($(of '^count_words;count_words;hash_word[^;]* ') * 10)) \
	-gt $((words * 8))
expect 'sums' adds_up
# A process that gets little of a CPU is seen late.
until grep -q '<title>parse_line' "$scratch/calls.svg"; do
	run flame -p "${pids[calls]}" --for 1 -o "$scratch/calls.svg"
	((code == 0)) || break
done 2>/dev/null
expect 'a picture' exited 0
expect 'a picture' is_svg "$scratch/calls.svg"
expect 'a picture' grep -q '<title>parse_line' "$scratch/calls.svg"

# Without any file systems of the kernel's for tracers; without its types.
tested=(unshare -m sh -c 'umount -l /sys/kernel/tracing /sys/kernel/debug \
	/sys/fs/bpf 2>/dev/null; exec "$@"' sh "$skua")
samples "${pids[calls]}"
expect 'without tracefs' exited 0
expect 'without tracefs' out_has 'parser;parse;parse_line;hash_word'
tested=(unshare -m sh -c 'mount -t tmpfs none /sys && exec "$@"' sh "$skua")
refuses 1 'CONFIG_DEBUG_INFO_BTF' flame -p "${pids[calls]}" --for 1 --folded
tested=("$skua")

# Threads that are no workers, by name; what the kernel does for them.
start threads "$calls" and-threads
samples "${pids[threads]}"
expect 'threads' exited 0
hasher=$(of '^\(thread hasher\);') reader=$(of '^\(thread reader\);')
expect 'each has its row' test "$hasher" -gt 0 -a "$reader" -gt 0
expect 'one computes, and callers are seen' test $(($(of '^\(thread hasher\);[^;]+(;[^;]+)*;hash_leaf ') * 10)) \
	-gt $((hasher * 7))
expect 'one is in the kernel' test \
	$(($(of '^\(thread reader\);.*;\[kernel\] ') * 2)) -gt "$reader"
expect 'it is one' test "$(of '_\[k\]|\[kernel\].*\[kernel\]')" = 0
samples "${pids[threads]}" --kernel
expect '--kernel' exited 0
reader=$(of '^\(thread reader\);')
if [[ $(head -n 1 /proc/kallsyms 2>/dev/null) == *[1-9a-f]*' '* ]]; then
	# The way into the kernel and back takes the rest, which is half of the time
	# where each change switches page tables.
	expect 'its functions' test \
		$(($(of '^\(thread reader\);.*_\[k\];[^;]*read[^;]*_\[k\]') * 10)) \
		-gt $((reader * 3))
	expect 'its functions' test "$(of '\[kernel\]')" = 0
else
	left_out+='; the kernel does not name its functions to root'
fi
expect '--kernel' adds_up
stop threads

# It ends meanwhile.
run_beside 4002 flame -p "${pids[calls]}" --folded
sleep 1 # or less: it may end at any moment
stop calls
await "$ours"
expect 'the end of the process' exited 0
expect 'the end of the process' err_has 'has ended meanwhile; the results cover the time before'

# Until a signal.
start hog "$hog"
run_beside 4002 flame -p "${pids[hog]}" --folded
kill -INT "$ours"
await "$ours"
expect 'until Ctrl-C' exited 0

# The function that hogs the workers has most of it.
samples "${pids[hog]}"
expect 'a hog' exited 0
expect 'a hog' test $(($(of '^db_query;db_query') * 10)) -gt $(($(of '') * 6))
stop hog

# Functions of C++ are called what their source calls them.
start shop "$shop"
samples "${pids[shop]}"
expect 'C++' exited 0
expect 'C++' test $(($(of '^shop::Cart::check_out;shop::Cart::check_out;shop::Cart::add<long> ') * 10)) \
	-gt $(($(of '') * 7))
expect 'C++' test "$(of '_Z')" = 0
stop shop

# Stripped, and removed; in a container.
cp "$calls" "$scratch/stripped"
strip "$scratch/stripped"
start stripped unshare -p -f "$scratch/stripped"
inside=$(pgrep -P "${pids[stripped]}")
rm "$scratch/stripped"
samples "$inside"
expect 'stripped, in a container' exited 0
expect 'stripped, in a container' test \
	$(($(of '^parser;(\[stripped\+0x[0-9a-f]+\];?){3} ') * 10)) -gt \
	$(($(of '^parser;') * 7))
stop stripped

# With few privileges, and with none.
few=(setpriv --reuid 65534 --clear-groups)
bpf=(--inh-caps=-all,+bpf,+perfmon --ambient-caps=-all,+bpf,+perfmon)
start other "${few[@]}" --inh-caps=-all "$calls"
tested=("${few[@]}" "${bpf[@]}" "$skua")
samples "${pids[other]}"
expect 'with CAP_BPF and CAP_PERFMON' exited 0
expect 'with CAP_BPF and CAP_PERFMON' out_has 'parser;parse;parse_line;hash_word'
tested=("${few[@]}" --inh-caps=-all "$skua")
if ! "${few[@]}" "${bpf[@]}" grep -qE '^0*[1-9a-f]' /proc/kallsyms; then
	tested=("${few[@]}" "${bpf[@]}" "$skua")
	run flame -p "${pids[other]}" --for 1 --folded -k
	expect 'no names of the kernel' exited 0
	expect 'no names of the kernel' err_has 'the kernel is shown as one function, [kernel]'
	tested=("${few[@]}" --inh-caps=-all "$skua")
fi
refuses 1 'no permission to load BPF programs: ' flame -p "${pids[other]}" --for 1 --folded
stop other

finish "skua flame: types, functions, sums, pictures, ends, privileges$left_out"
