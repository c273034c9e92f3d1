#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# test_kv.sh - skua-kv serves the clients of Redis
set -uo pipefail
# shellcheck source=tests/service/kv.sh
source "$(dirname "$0")/kv.sh"

# --- a server for the clients that follow --------------------------------------

"$kv" --port 0 --workers 2 "${options[@]}" >"$scratch/server" &
server=$!
trap 'kill "$server" 2>/dev/null; rm -rf "$scratch"' EXIT
for ((i = 0; i < 1000; i++)); do
	port=$(sed -n 's/.*port \([0-9]*\),.*/\1/p' "$scratch/server")
	[[ $port ]] && break
	sleep 0.01
done
[[ $port ]] || {
	echo "skua-kv does not say that it listens"
	exit 1
}

# says EXPECTED ARG... - redis-cli prints that
says()
{
	local got expected=$1
	shift
	got=$(redis-cli -p "$port" "$@" 2>&1)
	[[ $got == "$expected" ]] || complain "redis-cli $*: '$got', not '$expected'"
}

if has redis-cli redis-tools; then
	says PONG ping
	says OK set greeting "hello world"
	says "hello world" get greeting
	says OK mset a 1 b 2
	[[ $(redis-cli -p "$port" --scan --pattern '[ab]' | sort) == $'a\nb' ]] ||
		complain "redis-cli --scan"
	says 2 incr a
	says "ERR value is not an integer or out of range" -e incr greeting
	for ((i = 0; i < 1000; i++)); do
		printf 'SET pipe%d %d\r\n' "$i" "$i"
	done >"$scratch/commands"
	redis-cli -p "$port" --pipe <"$scratch/commands" >"$scratch/pipe" 2>&1
	grep -q 'errors: 0, replies: 1000' "$scratch/pipe" ||
		complain "redis-cli --pipe: $(cat "$scratch/pipe")"
	says 1003 dbsize
fi

# benchmark ARG... - no error, and a result for each test
benchmark()
{
	local lines
	if ! redis-benchmark -p "$port" -q -n 1000 "$@" >"$scratch/benchmark" 2>&1 ||
		grep -qi error "$scratch/benchmark"; then
		complain "redis-benchmark $*: $(tr '\r' '\n' <"$scratch/benchmark")"
	fi
	lines=$(grep -c 'requests per second' "$scratch/benchmark")
	((lines == 10)) || complain "redis-benchmark $*: $lines results"
}

if has redis-benchmark redis-tools; then
	tests=ping,set,get,incr,lpush,rpush,lpop,hset,mset
	benchmark -t $tests -P 1 -r 1000
	benchmark -t $tests -P 16 -r 1000
	benchmark -t $tests -P 16 -d 5000 -c 5
fi

# The python3 of the package, if another one comes first.
python=
for candidate in python3 /usr/bin/python3; do
	"$candidate" -c "import redis" 2>/dev/null && python=$candidate && break
done
if [[ $python ]]; then
	"$python" -B "$here/kv_python.py" "$port" || complain "python3-redis failed"
else
	missing+=(python3-redis)
fi

if skua_hiredis=$(pkg-config --cflags --libs hiredis 2>/dev/null); then
	# shellcheck disable=SC2086 # words
	"${CC:-cc}" -o "$scratch/hiredis" "$here/kv_hiredis.c" $skua_hiredis &&
		"$scratch/hiredis" "$port" || complain "hiredis failed"
else
	missing+=(libhiredis-dev)
fi

kill "$server"
wait "$server" || complain "skua-kv ended with $?"
grep -q "all connections have ended" "$scratch/server" ||
	complain "connections are left: $(cat "$scratch/server")"

finish_kv
