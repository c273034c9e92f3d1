#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# peers.sh - the programs of other schedulers do what skua-bench does
#
# Builds those that can be built here, into the build folder, and runs each
# workload: the same counts as skua-bench's, a right result, the same JSON, and
# the same errors.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit

# shellcheck source=tests/service/checks.sh
source tests/service/checks.sh
folder=$build/bench
build=bench/peers/build
needs "$folder/skua-bench"

# --- building -----------------------------------------------------------------

run "$build"
expect 'build without a folder' exited 2
expect 'build without a folder' err_has 'allowed: OUTDIR [NAME...]'
run "$build" "$scratch/bin" nix
expect 'build of what there is not' exited 2
expect 'build of what there is not' err_has "no peer 'nix'"

# Peers that are not installed are left out, with the name of the package.
run env SKUA_CARGO_REGISTRY="$scratch" CC="$scratch/gcc" CXX="$scratch/g++" \
	"$build" "$scratch/bin" tokio rayon tbb openmp
expect 'nothing is installed' exited 77
for name in tokio rayon tbb openmp; do
	expect 'nothing is installed' err_has "  $name: left out: "
done
expect 'nothing is installed' err_has '(Debian package '

# A compiler that is there and fails is an error, and its log is shown.
cat >"$scratch/gcc" <<'END_OF_SCRIPT'
#!/bin/sh
case " $* " in
*" -c "*) echo "a broken compiler" >&2; exit 1 ;;
esac
exec gcc "$@"
END_OF_SCRIPT
chmod +x "$scratch/gcc"
if command -v gcc >/dev/null; then
	run env CC="$scratch/gcc" "$build" "$scratch/bin" openmp
	if ((code != 77)); then
		expect 'a compiler fails' exited 1
		expect 'a compiler fails' err_has 'a broken compiler'
		expect 'a compiler fails' err_has 'openmp: the build FAILED'
		expect 'a compiler fails' test ! -e "$scratch/bin/skua-peer-openmp"
	fi
fi

files() { find bench/peers -type f -exec cksum {} + | sort; }
files >"$scratch/before"
run "$build" "$folder/peers"
cat "$scratch/err"
if ((code == 77)); then
	echo "no other scheduler can be built here"
	exit 77
fi
expect 'building what can be built' exited 0
expect 'building leaves the tree alone' diff "$scratch/before" <(files)

# --- key-value servers ----------------------------------------------------------

stores=("$folder"/peers/skua-kv-*)
if [[ ${stores[0]} == *-\* ]]; then
	echo "no key-value server of a peer can be built here"
else
	needs "$folder/load/skua-load"
	run python3 -B tests/service/kv_peers.py "$folder/load/skua-load" "${stores[@]}"
	expect 'key-value servers of the peers' exited 0
fi
refuses_store()
{
	local text=$1 store
	shift
	for store in "${stores[@]}"; do
		[[ ! -x $store ]] && continue
		run "$store" "$@"
		expect "${store##*/} $*" exited 2
		expect "${store##*/} $*" err_lines 1
		expect "${store##*/} $*" err_has "$text"
	done
}
refuses_store "--port is '65536'; allowed: 0 to 65535" --port 65536
refuses_store "--workers is '0'; allowed: 1 to 1024" --workers 0
refuses_store 'allowed: --port PORT, --workers N' --wrong 1

# --- what a peer prints -------------------------------------------------------

# same FILE WORKLOAD PEER - the JSON in $scratch/out is what the contract says, and
# has the same operations and parameters as skua-bench's in FILE
same()
{
	python3 - "$scratch/out" "$@" "$workers" <<-'END'
		import json, sys
		out, skua, workload, peer, workers = sys.argv[1:]
		lines = open(out).read().splitlines()
		assert len(lines) == 1, lines
		r = json.loads(lines[0])
		s = json.load(open(skua))
		assert r["peer"] == peer and r["version"], r
		assert r["workload"] == workload
		assert r["workers"] == int(workers) and r["rounds"] == 1, r
		assert 0 < r["min"] <= r["ns_per_op"] <= r["max"], r
		assert r["ok"] is True
		assert r["ops"] == s["ops"], f"{r['ops']} operations, not {s['ops']}"
		if "n" in s["params"]:
		    assert r["params"] == s["params"], r["params"]
		for name, value in r["params"].items():
		    # Their own: where no other thread can be woken, and a bound.
		    if name not in ("alone", "live"):
		        assert s["params"][name] == value, name
		assert ("latency_ns" in s) == ("latency_ns" in r)
		for name in ("latency_ns", "futex_latency_ns", "cold_latency_ns"):
		    if name in r:
		        h = r[name]
		        assert 0 < h["p50"] <= h["p90"] <= h["p99"] <= h["p999"], h
	END
}

# skua WORKLOAD [OPTION...] - what skua-bench prints of it, once; $theirs has it
skua()
{
	theirs="$scratch/skua $*"
	if [[ ! -e $theirs ]]; then
		"$folder/skua-bench" run "$@" --rounds 1 --json >"$theirs"
	fi
}

# same_calls PROGRAM OPTION... - of rpc: the calls are skua-bench's, for the queue
# without overhead takes the same times
same_calls()
{
	local program=$1
	shift
	run "$folder/skua-bench" run rpc --rounds 2 --json "$@"
	expect "skua-bench rpc $*" exited 0
	mv "$scratch/out" "$scratch/calls"
	run "$program" run rpc --rounds 2 --json "$@"
	expect "${program##*/} rpc $*" exited 0
	expect "${program##*/} rpc $*" err_lines 0
	expect "${program##*/} rpc $*" python3 - "$scratch/out" "$scratch/calls" <<-'END'
		import json, sys
		r, s = (json.load(open(path)) for path in sys.argv[1:])
		assert r["ok"] is True
		for name in ("workers", "rounds", "ops", "params",
		             "queue_latency_ns", "queue_slowdown"):
		    assert r[name] == s[name], f"{name}: {r[name]}, not {s[name]}"
		for name in "latency_ns", "slowdown":
		    assert r[name].keys() == s[name].keys()
		    at = list(r[name].values())
		    assert 1 <= at[0] and at == sorted(at), r[name]
		of = r["slowdown"]["p999"] / r["queue_slowdown"]["p999"]
		assert abs(r["p999_of_queue"] - of) < 1e-3, of
	END
}

# measures PEER WORKLOAD WORKERS [OPTION...]
measures()
{
	local peer=$1 workload=$2 workers=$3 what="$*"
	shift 3
	skua "$workload" "$@"
	run "$folder/peers/skua-peer-$peer" run "$workload" \
		--workers "$workers" --rounds=1 --json "$@"
	if ((code == 77)); then
		expect "$what: a skip has a reason" err_lines 1
		expect "$what: a skip has a reason" err_has skipped
		cat "$scratch/err"
		return
	fi
	expect "$what" exited 0
	expect "$what" err_lines 0
	expect "$what" same "$theirs" "$workload" "$peer"
}

# refuses TEXT ARG... - a usage error of $peer: one line, which has the text
refuses()
{
	local text=$1
	shift
	run "$folder/peers/skua-peer-$peer" "$@"
	expect "skua-peer-$peer $*" exited 2
	expect "skua-peer-$peer $*" err_lines 1
	expect "skua-peer-$peer $*" err_has "skua-peer-$peer"
	expect "skua-peer-$peer $*" err_has "$text"
	expect "skua-peer-$peer $*" out_empty
}

refuses_all()
{
	local word
	refuses 'a verb is needed; allowed: list, run'
	refuses "no verb 'walk'; allowed: list, run" walk
	refuses "unexpected argument 'all'" list all
	refuses 'a workload is needed before any options; allowed: parallel_map' run
	refuses 'a workload is needed before any options' run --json
	refuses "no workload 'nix'; allowed: parallel_map, uts" run nix
	refuses "no option '--wrong'; allowed: --workers" run uts --wrong
	refuses "no option '-x'; allowed: --workers" run uts --json -x
	refuses "unexpected argument 'more'" run uts more
	refuses '--json takes no value' run uts --json=1
	refuses '--workers needs a value' run uts --workers
	refuses '--rounds needs a value' run uts --rounds
	for word in 0 1025 -1 +1 two '' 1x 99999999999999999999; do
		refuses "--workers is '$word'; allowed: 1 to 1024" \
			run uts --workers "$word"
	done
	for word in 0 10001 -1 x; do
		refuses "--rounds is '$word'; allowed: 1 to 10000" \
			run parallel_map "--rounds=$word"
	done
	refuses "--tree is 'T9'; allowed: T1, T3, T1L" run uts --tree T9
	refuses "no option '--tree'; allowed: --workers" \
		run parallel_map --tree T1
	refuses "no option '--n'; allowed: --workers" run uts --n 1
}

# refuses_as_skua WORKLOAD OPTION... - word by word as skua-bench does
refuses_as_skua()
{
	local text word workload=$1
	shift
	for word in "$@"; do
		run "$folder/skua-bench" run "$workload" "$word"
		text=$(<"$scratch/err")
		refuses "${text#skua-bench}" run "$workload" "$word"
	done
}

refuses_calls()
{
	refuses_as_skua rpc --load=0 --load=96 --load=x --load= \
		--service=uniform --calls=0 --calls=10000001 --seed=-1 \
		--seed=1000001
	refuses '--load needs a value' run rpc --load
	refuses "no option '--load'; allowed: --workers" run uts --load 60
	refuses "no option '--tree'; allowed: --workers" run rpc --tree T1
}

# small PEER WORKLOAD - of a loop or a sort: few items, of every kind
small()
{
	local peer=$1 workload=$2 least=1 n input workers
	[[ $workload != find_early ]] || least=4
	for n in "$least" 10007; do
		for workers in 1 3; do
			if [[ $workload != sort_* ]]; then
				measures "$peer" "$workload" "$workers" --n "$n"
				continue
			fi
			for input in random sorted reversed equal organ_pipe; do
				measures "$peer" "$workload" "$workers" \
					--n "$n" --input "$input"
			done
		done
	done
	refuses_as_skua "$workload" --n=$((least - 1)) --n=1000000001 --n=x
	refuses '--n needs a value' run "$workload" --n
	if [[ $workload == sort_* ]]; then
		refuses_as_skua "$workload" --input=upside_down --input=
	else
		refuses "no option '--input'; allowed: --workers" \
			run "$workload" --input random
	fi
}

# loops_of PEER - those loops and sorts that its library has
loops_of()
{
	case $1 in
	tbb) echo for reduce scan sort_unstable ;;
	rayon) echo for reduce find_early sort_unstable sort_stable sort_by_key ;;
	openmp)
		echo for reduce sort_unstable sort_stable
		# clang's scan is not fit for use.
		[[ ${CC-gcc} == *clang* ]] || echo scan
		;;
	esac
}

# check_server PEER - of a program that has echo servers only
check_server()
{
	local peer=$1 workload workers
	for workload in $echoes; do
		for workers in 1 3; do
			measures "$peer" "$workload" "$workers" --requests 500
		done
	done
	refuses 'a verb is needed; allowed: list, run'
	refuses "no workload 'uts'; allowed: echo_1, echo_50" run uts
	refuses_echoes
}

refuses_echoes()
{
	refuses_as_skua echo_50 --client=walk --client= --form=threads \
		--requests=-1 --requests=1000000001 --requests=x
	refuses '--requests needs a value' run echo_1 --requests
	refuses "no option '--tree'; allowed: --workers" run echo_1 --tree T1
}

echoes='echo_1 echo_50 echo_10k'
forks='fib integrate nqueens skynet matmul cilksort region'
loops='for reduce scan find_early sort_unstable sort_stable sort_by_key'
fork_join="parallel_map uts spawn_many_local spawn_many_worker chained_spawn
	$forks"
# shellcheck disable=SC2086 # words
all=$("$folder/skua-bench" list | cut -d ' ' -f 1 |
	grep -vxF "$(printf '%s\n' imbalance spawn_latency start uts_tasks $forks $loops)")
echo "imbalance, spawn_latency, start, uts_tasks: skua's own, no peer has them"
echo "$forks $loops: for those that fork and join alone"
for program in "$folder"/peers/skua-peer-*; do
	peer=${program##*/skua-peer-}
	workloads=$fork_join
	if [[ $peer == epoll || $peer == libuv ]]; then
		echo "$peer: only echo servers"
		check_server "$peer"
		continue
	elif [[ $peer == tokio || $peer == go ]]; then
		workloads=$all
	else
		run "$program" run region --rounds 1 --workers 2 --n 10 --json
		expect "$peer region --n" exited 0
		expect "$peer region --n" out_has '"n":10,'
		refuses_as_skua region --n=1 --n=41
		workloads="$fork_join $(loops_of "$peer")"
		# shellcheck disable=SC2086 # words
		echo "$peer: only what suits fork-join, and so no rpc:" $workloads
	fi

	run "$program" list
	expect "$peer list" exited 0
	# shellcheck disable=SC2086 # words
	expect "$peer list" diff <(cut -d ' ' -f 1 "$scratch/out" | sort) \
		<(printf '%s\n' $workloads | sort)
	for verb in --help 'run --help' 'list --help'; do
		# shellcheck disable=SC2086 # words
		run "$program" $verb
		expect "$peer $verb" exited 0
		expect "$peer $verb" out_has "Usage: skua-peer-$peer"
	done
	refuses_all

	for workload in $workloads; do
		if [[ $workload == echo_* ]]; then
			measures "$peer" "$workload" 2 --requests 500
		else
			measures "$peer" "$workload" 2
		fi
	done
	for workload in $(loops_of "$peer"); do
		small "$peer" "$workload"
	done
	run "$program" run uts --rounds 1 --tree T3
	expect "$peer on T3" exited 0
	for workers in 1 3; do
		measures "$peer" spawn_many_local "$workers"
		measures "$peer" chained_spawn "$workers"
	done
	if [[ $workloads == "$all" ]]; then
		measures "$peer" channel_mpmc 2 --pairs 1 --times 1000
		measures "$peer" channel_mpmc 2 --pairs 3 --times 1000
		refuses "--pairs is '0'; allowed: 1 to 1000" \
			run channel_mpmc --pairs 0
		refuses "--times is '0'; allowed: 1 to 1000000000" \
			run channel_mpmc --times 0
		refuses "no option '--pairs'; allowed: --workers" \
			run channel --pairs 1
		refuses_echoes
		refuses_calls
		same_calls "$program" --calls 1
		for service in exponential bimodal; do
			for workers in 1 3; do
				same_calls "$program" --workers "$workers" \
					--service "$service" --load 30 --calls 3000 --seed 7
			done
		done
	fi
	run "$program" run chained_spawn --rounds 2
	expect "$peer as text" exited 0
	expect "$peer as text" out_has ': chained_spawn {"tasks":1000,'
	expect "$peer as text" out_has ', ok'
done

finish "each does what skua-bench does"
