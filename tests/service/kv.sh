# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# kv.sh - for the tests of skua-kv: $kv is the server, @options its options
#
# Sourced. SKUA_KV_OPTIONS has options for each server that the tests start.

# shellcheck source=tests/service/checks.sh
source "$(dirname "${BASH_SOURCE[0]}")/checks.sh"

kv=$(built bench/kv/skua-kv) || exit
here=$(dirname "${BASH_SOURCE[0]}")
read -ra options <<<"${SKUA_KV_OPTIONS:-}"
missing=() # packages

complain()
{
	echo "$*"
	failed=1
}

# has PROGRAM PACKAGE - whether the program is there
has()
{
	command -v "$1" >/dev/null || {
		missing+=("$2")
		return 1
	}
}

# client NAME - a test of clients in Python passes
client()
{
	python3 -B "$here/kv_$1.py" "$kv" "${options[@]}" || failed=1
}

# The package redis-server would start a server, and is not needed: the program is in
# redis-tools, under another name.
redis=$(command -v redis-server) ||
	{ redis=$(command -v redis-check-rdb) && ln -s "$redis" "$scratch/redis-server" &&
		redis=$scratch/redis-server; }

# compare WHAT - the replies are those of Redis
compare()
{
	if [[ $redis ]]; then
		python3 -B "$here/kv_compare.py" "$1" "$kv" "$redis" "${options[@]}" || failed=1
	else
		missing+=(redis-tools)
	fi
}

finish_kv()
{
	if ((${#missing[@]} && !failed)); then
		echo "passed except for what needs packages: ${missing[*]}"
		exit 77
	fi
	exit "$failed"
}
