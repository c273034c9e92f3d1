#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# test_load.sh - skua-load measures skua-kv and Redis, and bears bad servers
set -uo pipefail
# shellcheck source=tests/service/checks.sh
source "$(dirname "$0")/checks.sh"

load=$(built bench/load/skua-load) || exit
kv=$(built bench/kv/skua-kv) || exit
here=$(dirname "$0")
tested=("$load")
servers=()
trap 'kill "${servers[@]}" 2>/dev/null; rm -rf "$scratch"' EXIT

# --- options ----------------------------------------------------------------------

run --help
expect '--help' exited 0
expect '--help' out_has '--value-size'
refuses 2 '--rate is needed' --port 1
for word in 0 -1 fast 1x '' 1e99 nan inf maximum; do
	refuses 2 "--rate is '$word'; allowed: 1 to 100000000" --rate "$word"
done
for word in '' 0 0:0 1: :1 1:2:3:4:5 a 1:b -1 1000001; do
	refuses 2 "--mix is '$word'; allowed: GET:SET:INCR:PING" --rate 1 --mix "$word"
done
refuses 2 '--connections is' --rate 1 --connections 0
refuses 2 '--pipeline is' --rate 1 --pipeline 10001
refuses 2 '--port is' --rate 1 --port 65536
refuses 2 '--keys is' --rate 1 --keys 0
refuses 2 '--seconds is' --rate 1 --seconds 0
refuses 2 '--pipeline times --value-size' --rate 1 --pipeline 10000 --value-size 1000000
refuses 2 '--pid is' --rate 1 --pid 5000000
refuses 2 'no option' --rate 1 --threads 2
refuses 2 'unexpected argument' --rate 1 more
refuses 1 '--host no.such.host.invalid: ' --rate 1 --host no.such.host.invalid
# Nothing listens at port 1.
refuses 1 'cannot connect to 127.0.0.1, port 1: Connection refused' --rate 1 --port 1

# --- servers ------------------------------------------------------------------------

# is EXPRESSION - Python, of the JSON that was printed, as d: true. It also checks
# all that a run without errors has in common
is()
{
	python3 -I - "$scratch/out" "$pid" "$1" <<-'END'
		import json, sys
		d = json.load(open(sys.argv[1]))
		at, replies = d["latency_ns"], d["replies"]
		served = sum(replies[k] for k in ("GET", "SET", "INCR", "PING"))
		assert d["ok"] and not d["errors"] and d["lost"] == d["unanswered"] == 0
		assert at["count"] == served == d["arrived"] == d["sent"] > 0
		assert 0 < at["p50"] <= at["p90"] <= at["p99"] <= at["p999"]
		assert at["p999"] <= at["p9999"] <= at["max"]
		assert d["server_pid"] == int(sys.argv[2]) and d["server_cpu_ns"] > 0
		known = d["server_instructions"] is not None
		assert known == (d["server_instructions_reason"] is None)
		assert eval(f"({sys.argv[3]})"), sys.argv[3]
	END
}

# loads EXPRESSION OPTION... - a run without errors against the server at $port
loads()
{
	local expression=$1
	shift
	run --port "$port" --json --warm-up 0.05 --seconds 0.15 --grace 60 --keys 1000 \
		--sleep "$@"
	expect "$name $*" exited 0
	expect "$name $*" is "$expression"
}

measure()
{
	loads 'replies["nil"] == 0 and replies["INCR"] == 0 and 150 < d["arrived"] < 600 and
		d["late_ns"]["count"] == d["arrived"]' --rate 2000 --fill --value-size 100
	loads 'all(replies[k] > 0 for k in ("GET", "SET", "INCR", "PING"))' \
		--rate 2000 --mix 4:3:2:1 --connections 1
	loads 'd["arrived"] % 16 == 0' --rate 20000 --pipeline 16
	loads 'd["late_ns"] is None and d["params"]["rate"] is None' \
		--rate max --pipeline 16 --connections 3
	loads True --rate max --mix 0:1 --value-size 30000 --connections 2 --pipeline 5 --seconds 0.5
	loads True --rate 500 --mix 1:0 --value-size 300000 --pid "$pid"
	run --port "$port" --rate 1000 --seconds 0.1 --warm-up 0 --grace 60
	expect "$name, text" exited 0
	expect "$name, text" out_has 'from the intended time of each request'
	expect "$name, text" out_has 'us of CPU a request'
	expect "$name, text" out_has 'errors        none'
}

# wait_for COMMAND... - until it succeeds
wait_for()
{
	local i
	for ((i = 0; i < 3000; i++)); do
		"$@" && return
		sleep 0.01
	done
	echo "$name does not listen"
	exit 1
}

says_port()
{
	port=$(sed -n 's/.*port \([0-9]*\),.*/\1/p' "$1")
	[[ $port ]]
}

name=skua-kv
"$kv" --port 0 --workers 2 >"$scratch/kv" &
pid=$!
servers+=("$pid")
wait_for says_port "$scratch/kv"
measure
# More connections than the server takes.
"$kv" --port 0 --workers 1 --maxclients 5 >"$scratch/kv_of_5" &
servers+=("$!")
wait_for says_port "$scratch/kv_of_5"
run --port "$port" --rate 1000 --seconds 0.1 --warm-up 0 --connections 20 --json --sleep
expect 'maxclients' exited 1

# The package redis-server would start a server, and is not needed: the program is in
# redis-tools, under another name.
redis=$(command -v redis-server) ||
	{ redis=$(command -v redis-check-rdb) && ln -s "$redis" "$scratch/redis-server" &&
		redis=$scratch/redis-server; }
answers() { (: <"/dev/tcp/127.0.0.1/$port") 2>/dev/null; }
if [[ $redis ]]; then
	name=redis
	port=$(python3 -c 'import socket
print(socket.create_server(("127.0.0.1", 0)).getsockname()[1])')
	"$redis" --port "$port" --save '' --appendonly no --dir "$scratch" >/dev/null &
	pid=$!
	servers+=("$pid")
	wait_for answers
	measure
fi

python3 -B "$here/load_hostile.py" "$load" || failed=1

# --- the comparison -----------------------------------------------------------------

# Where programs cannot be kept on CPUs 0 and 1, there is nothing to compare on.
tested=(bench/load/compare.py --build "$build")
refuses 2 "'nix'; allowed: skua-kv, redis" --servers nix
refuses 2 'argument --cases' --cases max-2
run --cases max-16 --rate 0 --show --out "$scratch/none"
expect 'compare.py, nothing measured' exited 0
if taskset -c 0,1 true 2>/dev/null && [[ $redis ]]; then
	run --servers skua-kv,redis --cases max-16,rate-16-50 --rounds 1 --seconds 0.1 \
		--warm-up 0 --out "$scratch/runs" -- --keys 1000
	expect 'compare.py' exited 0
	expect 'compare.py' out_has 'max-16: as many as the server answers'
	expect 'compare.py' out_has '| skua-kv | '
	cp "$scratch/out" "$scratch/first"
	run --show --out "$scratch/runs"
	expect 'compare.py --show' diff "$scratch/out" "$scratch/first"
	run --servers redis --cases rate-1-80 --out "$scratch/runs"
	expect 'compare.py without a rate' exited 1
	expect 'compare.py without a rate' err_has 'the rate of Redis is not known: run max-1'
fi

if [[ ! $redis ]] && ((!failed)); then
	echo "passed except for what needs packages: redis-tools"
	exit 77
fi
finish "skua-load measures what it says"
