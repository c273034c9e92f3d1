#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# test_symbolize.sh - `skua symbolize` shows the functions and lines of places in a text,
# and hands all else on as it is
set -uo pipefail
# shellcheck source=tests/service/checks.sh
source "$(dirname "$0")/checks.sh"

skua=$(built bpf/skua) || exit
hog=$(built tests/programs/hog) || exit
tested=("$skua")
left_out=''

refuses 2 'no files; allowed: --pid PID, or FILE...' symbolize </dev/null
refuses 2 'No such file' symbolize "$scratch/none" </dev/null
refuses 2 "--pid is 'x'; allowed: 1 to 4194304" symbolize -p x </dev/null
refuses 1 "process $$ is not a skua process" symbolize -p $$ </dev/null

# --- functions and lines -------------------------------------------------------------

# at FUNCTION - as the log of a stall has it
at()
{
	nm "$hog" | awk -v name="$1" '$3 == name { sub(/^0+/, "", $1); print "hog+0x" $1 }'
}

query=$(at db_query) main=$(at main)
if readelf -S "$hog" | grep '\.debug_line' >/dev/null; then
	line=' at [^ ]*tests/service/programs/hog\.c:[0-9]+'
else
	line=''
	left_out+='; lines were not tried, as there is no debug information'
fi
echo "polled by $query; stack: $query ($main), $main." >"$scratch/in"
run symbolize "$hog" <"$scratch/in"
expect 'places' exited 0
expect 'places' grep -qxE "polled by [^ ]+ \(db_query$line\); stack: [^ ]+ \(db_query$line\) \([^ ]+ \(main$line\)\), [^ ]+ \(main$line\)\." "$scratch/out"

start hog "$hog"
run symbolize -p "${pids[hog]}" <"$scratch/in"
cp "$scratch/out" "$scratch/of_process"
stop hog
run symbolize "$hog" <"$scratch/in"
expect 'of a process' cmp "$scratch/out" "$scratch/of_process"

# A program whose place in memory is fixed when it is linked.
cat >"$scratch/fixed.c" <<'END'
int there(void);
int there(void)
{
	return 1;
}
int main(void)
{
	return there() - 1;
}
END
if cc -g -no-pie -O0 "$scratch/fixed.c" -o "$scratch/fixed"; then
	place=$(nm "$scratch/fixed" | awk '$3 == "there" { printf "fixed+0x%x\n", strtonum("0x" $1) - 0x400000 }' 2>/dev/null)
	[[ $place ]] || place=$(python3 -c "print('fixed+%#x' % (int('$(nm "$scratch/fixed" | grep ' there$' | cut -d' ' -f1)', 16) - 0x400000))")
	run symbolize "$scratch/fixed" <<<"$place"
	expect 'at a fixed place' grep -qE '^fixed\+0x[0-9a-f]+ \(there at .*fixed\.c:3\)$' "$scratch/out"
fi

# The stack of a stall, as the log has it.
mkfifo "$scratch/stop"
SKUA_STALL_LIMIT_NS=20000000 "$hog" 1 endless <"$scratch/stop" >/dev/null 2>"$scratch/log" &
ours=$!
exec {stop}>"$scratch/stop"
for ((i = 0; i < 300; i++)); do
	grep -q 'stack: .*hog+' "$scratch/log" && break
	sleep 0.1
done
run symbolize -p $ours <"$scratch/log"
exec {stop}>&-
wait $ours
expect 'a stall' exited 0
# The compiler puts the usual poll into the loop.
expect 'a stall' grep -qE "polled by hog\+0x[0-9a-f]+ \(db_query$line\); stack: .*hog\+0x[0-9a-f]+ \(work$line\).*hog\+0x[0-9a-f]+ \((poll_task|loop_run)" "$scratch/out"

# --- all else ---------------------------------------------------------------------------

# same HOW - what comes out is what went in
same()
{
	run symbolize "$hog" <"$scratch/in"
	expect "$1" exited 0
	expect "$1" cmp "$scratch/in" "$scratch/out"
}

: >"$scratch/in"
same 'nothing'
printf 'no places here\n\n  +0x12 +0x hog+0x hog+ 0x12 hog+0xg\nhog+0xffffffffffffffff hog+0x00000000000000000001' >"$scratch/in"
same 'no places, and no end of the line'
{ head -c 100000 /dev/zero | tr '\0' x && echo ' other+0x12'; } >"$scratch/in"
same 'a long line'
expect 'of no file' err_has 'no file for other, and perhaps for others; name it as FILE'
printf '%s+0x12\n' {a..z}{a..z} >"$scratch/in"
same 'many files'
head -c 100000 "$hog" | tr -d '\000' >"$scratch/in"
same 'bytes'
cp "$scratch/in" "$scratch/garbage"
echo "garbage+0x10" >"$scratch/in"
run symbolize "$scratch/garbage" <"$scratch/in"
expect 'no ELF file' cmp "$scratch/in" "$scratch/out"

finish "skua symbolize: functions, lines, and text as it is$left_out"
