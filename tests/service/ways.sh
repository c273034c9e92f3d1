# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# ways.sh - a program of service/programs as people ship it: as it was built, stripped, in a
# container, and stripped and static
#
# Sourced after checks.sh.

# make_ways PROGRAM... - make the programs in each way: $ways. $left_out says what was not
ways=(default stripped container)
make_ways()
{
	local program libraries made=1
	read -ra libraries <<<"$(static_needs)"
	for program; do
		cp "$build/tests/programs/$program" "$scratch/$program.stripped"
		strip "$scratch/$program.stripped"
		if "${CC:-cc}" -O2 -D_GNU_SOURCE -Iinclude -static \
			"tests/service/programs/$program.c" "$build/libskua.a" \
			"${libraries[@]}" -lpthread -o "$scratch/$program.static" 2>"$scratch/err"; then
			strip "$scratch/$program.static"
		else
			left_out='; no static program could be made: '$(tail -n 1 "$scratch/err")
			made=0
		fi
	done
	if ((made)); then
		ways+=(static)
	fi
}

# begin WAY PROGRAM KIND - start the program; $pid is its number
begin()
{
	local way=$1 program=$2 kind=$3
	case $way in
	default) start "$program" "$build/tests/programs/$program" "$kind" ;;
	container)
		start "$program" unshare --mount --pid --net --fork \
			"$scratch/$program.stripped" "$kind"
		;;
	*) start "$program" "$scratch/$program.$way" "$kind" ;;
	esac
	pid=${pids[$program]}
	if [[ $way == container ]]; then
		pid=$(pgrep -P "$pid")
	fi
}
