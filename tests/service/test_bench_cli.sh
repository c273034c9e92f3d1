#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# test_bench_cli.sh [SKUA-BENCH] - what skua-bench prints, and how it exits
#
# Built elsewhere than in build/: name it, or set SKUA_BUILD_DIR.
set -uo pipefail
# shellcheck source=tests/service/checks.sh
source "$(dirname "$0")/checks.sh"

bench=${1:-$build/bench/skua-bench}
needs "$bench"
tested=("$bench")

# json WHAT EXPRESSION - the output is one line of JSON, of which this is true;
# checked at the end, all at once
json()
{
	printf '%s\0' "$1" "${2//$'\n'/ }" "$(<"$scratch/out")" >>"$scratch/json"
}

check_json()
{
	python3 - "$scratch/json" <<-'END'
		import json, sys

		def check(text, condition):
		    lines = text.splitlines()
		    assert len(lines) == 1, lines
		    r = json.loads(lines[0])
		    for name in ("workload params workers rounds ops ns_per_op min"
		                 " max rounds_ns ok stats usage counters"
		                 " counters_reason").split():
		        assert name in r, name
		    for name in ("spawned polled stolen parked lifo_hits"
		                 " global_batch_fetches").split():
		        assert type(r["stats"][name]) is int, name
		    if r["counters"] is None:
		        assert r["counters_reason"], "no counters, and no reason"
		    else:
		        for name in ("cycles instructions cache_misses branch_misses"
		                     " run_ratio events").split():
		            assert name in r["counters"], name
		        assert all(0 <= e["running_ns"] <= e["enabled_ns"]
		                   for e in r["counters"]["events"]), r["counters"]
		    assert 0 < r["min"] <= r["ns_per_op"] <= r["max"], r
		    assert len(r["rounds_ns"]) == r["rounds"], r
		    assert [min(r["rounds_ns"]), max(r["rounds_ns"])] == [r["min"], r["max"]]
		    assert eval(condition, {"r": r}), condition

		fields = open(sys.argv[1]).read().split("\0")[:-1]
		failed = 0
		for what, condition, text in zip(*[iter(fields)] * 3):
		    try:
		        check(text, condition)
		    except (AssertionError, ValueError) as error:
		        failed += 1
		        print(f"FAILED: {what}: {error!r}\n  | {text}")
		assert len(fields) >= 3 * 80, len(fields)
		sys.exit(failed > 0)
	END
}

# --- help and list --------------------------------------------------------------

workloads='parallel_map uts spawn_many_local spawn_many_worker
	spawn_many_remote_idle spawn_many_remote_busy1 spawn_many_remote_busy2
	yield_many fiber_yield fiber_spawn ping_pong chained_spawn join_one mutex
	mutex_contended rwlock semaphore notify barrier once channel channel_mpmc
	channel_round_trip select_1 select_2 select_8 spsc oneshot broadcast watch
	wake timers rpc echo_1 echo_50 echo_10k start
	imbalance
	uts_tasks fib integrate nqueens skynet matmul cilksort region spawn_latency for
	reduce
	scan find_early sort_unstable sort_stable sort_by_key'

# shellcheck disable=SC2086 # words
for verb in '' list run report compare $(printf 'run:%s ' $workloads); do
	verb=${verb/:/ }
	# shellcheck disable=SC2086 # words
	run $verb --help
	expect "$verb --help" exited 0
	expect "$verb --help" out_has 'Usage: skua-bench'
	expect "$verb --help" err_lines 0
done

run list
expect list exited 0
for workload in $workloads; do
	expect list out_has "$workload "
done

# --- usage errors: what was wrong, what is allowed -------------------------------

refuses 2 'allowed: list, run, report, compare'
refuses 2 "no verb 'walk'; allowed: list, run, report, compare" walk
refuses 2 'allowed: parallel_map, uts_tasks' run
refuses 2 'allowed: parallel_map, uts_tasks' run --json
refuses 2 "no workload 'nix'; allowed: parallel_map, uts_tasks" run nix
refuses 2 "no option '--wrong'; allowed: --workers" run uts --wrong
refuses 2 "no option '-x'; allowed: --workers" run uts --json -x
refuses 2 "unexpected argument 'more'" run uts more
refuses 2 '--workers needs a value' run uts --workers
refuses 2 "--workers is 'two'; allowed: 0 to 4096" run uts --workers two
refuses 2 "--workers is '4097'; allowed: 0 to 4096" run uts --workers 4097
refuses 2 "--workers is '-1'; allowed: 0 to 4096" run uts --workers=-1
refuses 2 "--rounds is '0'; allowed: 1 to 10000" run uts --rounds 0
refuses 2 '--json takes no value' run uts --json=1
refuses 2 "--tree is 'T9'; allowed: T1, T3, T1L" run uts --tree T9
refuses 2 "--live is ''; allowed: 0 to" run uts_tasks --live ''
refuses 2 "no option '--live'; allowed: --workers" run uts --live 1
refuses 2 "no option '--serial'; allowed: --workers" run uts_tasks --serial
refuses 2 "--n is '1'; allowed: 2 to 50" run fib --n 1
refuses 2 "--n is '17'; allowed: 1 to 16" run nqueens --n 17
refuses 2 "--n is '0'; allowed: 1 to 8" run skynet --n 0
refuses 2 "--n is 'x'; allowed: 1 to" run cilksort --n x
refuses 2 "--n is '3'; allowed: 4 to" run find_early --n 3
refuses 2 "--root is 'in'; allowed: outside, task, none" run spawn_latency --root in
refuses 2 "--input is 'sort'; allowed: random, sorted" run sort_stable --input sort
refuses 2 "--n is '8193'; allowed: 1 to 8192" run matmul --n 8193
refuses 2 "--n is '41'; allowed: 2 to 40" run region --n 41
refuses 2 "--calls is '0'; allowed: 1 to" run region --calls 0
refuses 2 "no option '--tree'; allowed: --workers" run integrate --tree T1
refuses 2 '--workers is not allowed' run fib --serial --workers 1
refuses 2 "--items is '0'; allowed: 1 to" run parallel_map --items 0
refuses 2 "no option '--tree'; allowed: --workers" run parallel_map --tree T1
refuses 2 '--workers is not allowed' run uts --serial --workers 1
refuses 2 "--tasks is '0'; allowed: 1 to" run ping_pong --tasks 0
refuses 2 "--repeat is 'x'; allowed: 1 to" run chained_spawn --repeat x
refuses 2 "no option '--yields'; allowed: --workers" run join_one --yields 1
refuses 2 "--yields is '0'; allowed: 1 to" run yield_many --yields 0
refuses 2 "--await is 'nix'; allowed: join, group, drain" \
	run spawn_many_local --await nix
refuses 2 "--await is 'drain'; allowed: join, group" \
	run spawn_many_worker --await drain
refuses 2 "--wakes is '0'; allowed: 1 to" run wake --wakes 0
refuses 2 "--gap is '-1'; allowed: 0 to" run wake --gap=-1
refuses 2 "--timers is '0'; allowed: 1 to" run timers --timers 0
refuses 2 "--sleepers is 'x'; allowed: 1 to" run timers --sleepers x
refuses 2 "--load is '96'; allowed: 1 to 95" run rpc --load 96
refuses 2 "--form is 'threads'; allowed: polls, fibers" run echo_1 --form threads
refuses 2 "--client is 'walk'; allowed: auto, spin, sleep" run echo_1 --client walk
refuses 2 "--service is 'uniform'; allowed: exponential, bimodal" \
	run rpc --service uniform
refuses 2 "--scale is '0'; allowed: 1 to 1000" run imbalance --scale 0
refuses 2 "no option '--wrong'; allowed: --out" report --wrong
refuses 2 "no folder '/dev/null/x'" report --out /dev/null/x
refuses 2 "unexpected argument 'all'" list all

# --- run ------------------------------------------------------------------------

for workers in 1 64; do
	run run uts_tasks --tree T3 --workers "$workers" --rounds 1 --json
	expect "uts_tasks on $workers" exited 0
	json "uts_tasks on $workers" "r['ok'] is True
		and r['workers'] == $workers and r['rounds'] == 1
		and r['ops'] == 4112897 and r['params']['tree'] == 'T3'
		and r['stats']['spawned'] == r['stats']['polled'] == r['ops']"
done
for workers in 1 2 3 64; do
	run run parallel_map --workers "$workers" --rounds 3 --json
	expect "parallel_map on $workers" exited 0
	json "parallel_map on $workers" "r['ok'] is True
		and r['workers'] == $workers and r['ops'] == 10000
		and r['params'] == {'items': 10000, 'cost': 1}
		and r['stats']['spawned'] == r['stats']['polled'] == 30000"
done

# runs EXPRESSION WORKLOAD OPTION... - on 1, 2, 3 and 64 workers, with a right
# result, of which the expression is true
runs()
{
	local condition=$1 workers
	shift
	for workers in 1 2 3 64; do
		run run "$@" --workers "$workers" --rounds 2 --json
		expect "$* on $workers" exited 0
		json "$* on $workers" "r['workload'] == '$1'
			and r['ok'] is True and r['workers'] == $workers
			and r['rounds'] == 2 and ($condition)"
	done
}

polled_once="r['ops'] == 4000 and
	r['stats']['spawned'] == r['stats']['polled'] == 8000"
for how in join group drain; do
	runs "$polled_once" spawn_many_local --tasks 2000 --repeat 2 --await "$how"
done
runs "$polled_once" spawn_many_remote_idle --tasks 2000 --repeat 2
# A task more in each round spawns and joins the others.
for how in join group; do
	runs "r['ops'] == 4000 and r['stats']['spawned'] == 8002" \
		spawn_many_worker --tasks 2000 --repeat 2 --await "$how"
done
for load in busy1 busy2; do
	for how in join group; do
		runs "r['ops'] == 400 and r['stats']['polled'] >= 800" \
			"spawn_many_remote_$load" --tasks 200 --repeat 2 --await "$how"
	done
done
runs "r['ops'] == 10000 and r['stats']['polled'] == 2 * (10000 + 100)" \
	yield_many --tasks 100 --yields 100 --repeat 1
runs "r['ops'] == 10000 and r['stats']['polled'] == 2 * (10000 + 100)" \
	fiber_yield --tasks 100 --yields 100 --repeat 1
runs "r['ops'] == 2000 and r['stats']['spawned'] == 2 * (2000 + 1)" \
	fiber_spawn --tasks 1000 --repeat 2
# A ping and its pong an operation, and a driver a batch.
runs "r['ops'] == 2000 and r['stats']['spawned'] == 2 * (2 * 2000 + 2)" \
	ping_pong --repeat 2
runs "r['ops'] == 5000 and
	r['stats']['spawned'] == r['stats']['polled'] == 10000" \
	chained_spawn --repeat 5
runs "r['ops'] == 5000 and r['stats']['spawned'] == 2 * (5000 + 1)" \
	join_one --repeat 5
for workload in mutex mutex_contended rwlock semaphore notify barrier once; do
	runs "r['ops'] == 3000 and r['stats']['spawned'] == 2 * 3" \
		"$workload" --tasks 3 --times 1000
done
runs "r['ops'] == 1000 and r['stats']['spawned'] == 2 * 1" channel --times 1000
runs "r['ops'] == 3000 and r['stats']['spawned'] == 2 * 6" \
	channel_mpmc --pairs 3 --times 1000
for workload in channel_round_trip select_1 select_2 select_8 spsc; do
	runs "r['ops'] == 1000 and r['stats']['spawned'] == 2 * 2" \
		"$workload" --times 1000
done
runs "r['ops'] == 1000 and r['stats']['spawned'] == 2 * 1" oneshot --times 1000
runs "r['ops'] == 1000 and r['stats']['spawned'] == 2 * 4" \
	broadcast --receivers 3 --times 1000
runs "r['ops'] == 1000 and r['stats']['spawned'] == 2 * 2" watch --times 1000
runs "r['pair_ns'] > 0 and r['pair_ratio'] > 0" mutex --times 1000
runs "r['ops'] == 5 and all(0 < r[name + '_latency_ns']['p50']
	for name in ('create', 'destroy', 'bare_create', 'bare_destroy'))
	and r['create_latency_ns']['p50'] <= r['begin_latency_ns']['p50']
	and r['stats']['polled'] == 0" \
	start --repeat 5
runs "r['ops'] == 50 and all(0 < h['p50'] <= h['p90'] <= h['p99'] <= h['p999']
	for h in (r['latency_ns'], r['futex_latency_ns']))" wake --wakes 50
# Each round is printed, and the median is that of the operation's time.
runs "len(r['latency_ns']['rounds']) == r['rounds']
	and [h['p50'] for h in r['latency_ns']['rounds']] == r['rounds_ns']
	and all(h['count'] == 50 and h['p50'] <= h['p99'] <= h['p999']
		for name in ('latency_ns', 'awake_latency_ns', 'futex_latency_ns')
		for h in r[name]['rounds'])" wake --wakes 50
runs "[len(r[name]['rounds']) for name in ('latency_ns', 'slowdown')] == 2 * [r['rounds']]
	and sum(h['count'] for h in r['slowdown']['rounds']) == r['latency_ns']['count']
	and all(0.5 <= h['p50'] <= h['p999'] for h in r['slowdown']['rounds'])" \
	rpc --calls 200
runs "sum(h['count'] for h in r['latency_ns']['rounds']) == r['latency_ns']['count']" \
	timers --timers 1000 --sleepers 50
runs "sum(h['count'] for h in r['latency_ns']['rounds']) == r['latency_ns']['count']" \
	spawn_latency --tasks 20
runs "r['params']['alone'] is True and r['latency_ns']['p50'] > 0
	and 'futex_latency_ns' not in r" wake --wakes 50 --gap 0 --alone
runs "r['ops'] == 2500 and r['add_ns'] > 0 and r['cancel_ns'] > 0
	and 0 < r['latency_ns']['p50'] <= r['latency_ns']['p999']" \
	timers --timers 2500 --sleepers 100
runs "r['ops'] == 500 == r['stats']['spawned'] // 2
	and all(1 <= r[s]['p50'] <= r[s]['p90'] <= r[s]['p99'] <= r[s]['p999']
		<= r[s]['p9999'] for s in ('slowdown', 'queue_slowdown')
		+ (('bare_slowdown',) if r['workers'] < $(nproc) else ()))
	and ('p999_of_bare' in r) is (r['workers'] < $(nproc))
	and r['latency_ns']['p50'] >= 10000 and r['p999_of_queue'] > 0" rpc --calls 500 --load 30 --service bimodal
# A client in another process; the figures are its own.
for form in polls fibers; do
	for workload in echo_1 echo_50; do
		runs "r['ops'] == 500 == sum(h['count'] for h in r['latency_ns']['rounds'])
			// r['rounds'] and r['requests_per_s'] > 0
			and r['server_cpu_ns'] > 0 and r['server_switches'] >= 0" \
			"$workload" --requests 500 --form "$form"
	done
done
runs "r['params']['client'] == 'sleep' and r['client_spins'] == 0" \
	echo_1 --requests 100 --client sleep
runs "r['params']['client'] == 'spin' and r['client_spins'] == 1" \
	echo_1 --requests 100 --client spin
# Four feeders beside the tasks.
runs "r['stats']['spawned'] == r['stats']['polled'] == 2 * (r['ops'] + 4)
	and 0 < r['utilisation_percent'] <= 100
	and 0 < r['static_utilisation_percent'] <= 100" imbalance --scale 1

# Of the four ways each is checked. Without forks there is nothing to divide by.
beside="r['serial_ns'] > 0 and r['serial_inlined_ns'] > 0
	and r['one_worker_ns'] > 0 and r['overhead'] > 0 and r['speedup'] > 0
	and ('ns_per_fork' in r) is (r.get('forks', 0) > 0)"
for root in outside task none; do
	runs "r['ops'] == 20 and r['params']['root'] == '$root' and (
		0 < r['latency_ns']['p50'] <= r['latency_ns']['p999']) and (
		'call_ns' in r) is ('$root' != 'none')" \
		spawn_latency --root "$root" --n 12 --tasks 20 --gap 100
done
runs "$beside and r['ops'] == r['forks'] == 10945" fib --n 20
runs "$beside and r['ops'] == r['forks'] == 1" fib --n 2
runs "$beside and r['ops'] == r['forks'] > 10000" integrate --n 20
runs "$beside and r['ops'] == r['forks'] == 2056" nqueens --n 8
runs "$beside and r['ops'] == r['forks'] == 1" nqueens --n 1
runs "$beside and r['ops'] == r['forks'] == 11110" skynet --n 4
runs "$beside and r['ops'] == 512 and r['forks'] == 6 * (1 + 8 + 64)" \
	matmul --n 200
runs "$beside and r['ops'] == 1 and r['forks'] == 0" matmul --n 1
for n in 1 2 2049 100003; do
	runs "$beside and r['ops'] == $n and (r['forks'] > 0) is ($n > 2048)" \
		cilksort --n "$n"
done
run run uts --tree T3 --workers 3 --rounds 1 --json
expect 'uts on 3' exited 0
json 'uts on 3' "r['ok'] is True and $beside and r['ops'] == 4112897
	and r['forks'] == 3599033 and r['params'] == {'tree': 'T3'}"
runs "r['ops'] == 20 and all(0 < h['p50'] <= h['p90'] <= h['p99'] <= h['p999']
	for h in (r['latency_ns'], r['cold_latency_ns'], r['serial_latency_ns']))" \
	region --n 12 --calls 20 --gap 10
runs "r['params']['alone'] is True and 'serial_ns' not in r" fib --n 15 --alone
for name in for reduce scan find_early sort_unstable sort_stable sort_by_key; do
	for n in 4 100003; do
		runs "$beside and 'forks' not in r and r['ops'] == (
			r['params']['n'] // 4 * 3 if '$name' == 'find_early' else
			r['params']['n']) and ('by_hand_ns' in r) is ('$name' == 'for')" \
			"$name" --n "$n"
	done
done
for input in sorted reversed equal organ_pipe; do
	runs "$beside and r['params']['input'] == '$input'" \
		sort_stable --n 100003 --input "$input"
	runs "$beside" sort_unstable --n 100003 --input "$input"
done
for name in integrate nqueens skynet matmul cilksort for reduce scan find_early \
	sort_unstable sort_stable sort_by_key; do
	run run "$name" --serial --n 4 --rounds 1 --json
	expect "$name --serial" exited 0
	json "$name --serial" "r['ok'] is True and r['workers'] == 0
		and r['serial_ns'] > 0 and 'overhead' not in r"
done

run run wake --wakes 10 --rounds 1
expect 'wake as text' exited 0
expect 'wake as text' out_has '  latency_ns: p50 '

run run uts --serial --rounds 1 --json
expect 'uts --serial' exited 0
json 'uts --serial' "r['ok'] is True and r['workers'] == 0
	and r['ops'] == 4130071 and r['params']['serial'] is True
	and r['stats']['spawned'] == 0"

# The bound at its ends: one task at a time, and all that there are.
for live in 1 0; do
	run run uts_tasks --tree T3 --live "$live" --rounds 1 --json
	expect "uts_tasks --live $live" exited 0
	json "uts_tasks --live $live" "r['ok'] is True and r['workers'] > 0"
done

run run parallel_map --items 1 --cost 0 --rounds 2
expect 'one item' exited 0
expect 'one item' out_has 'parallel_map items=1 cost=0'
expect 'one item' out_has ', ok'
expect 'one item' err_lines 0

run run parallel_map --items 100 --rounds 1 --json --workers 0
json 'workers 0' "r['workers'] >= 1"

if [[ -w /dev/full ]]; then
	code=0
	"$bench" list >/dev/full 2>"$scratch/err" || code=$?
	expect 'a full disk' exited 1
	expect 'a full disk' err_has 'cannot write'
fi

# --- report ---------------------------------------------------------------------

# All workloads take half a minute: test_whole_report.sh.
run report --quick --no-peers --workload chained_spawn --out "$scratch/report"
expect report exited 0
expect report out_has '| chained_spawn tasks='
expect report grep -q '| chained_spawn tasks=' "$scratch/report/report.md"
expect report python3 - "$scratch/report/report.json" <<'END'
import json, sys
report = json.load(open(sys.argv[1]))
assert report["machine"]["cpus"] > 0
assert {r["workload"] for r in report["results"]} == {"chained_spawn"}
assert all(r["ok"] for r in report["results"])
assert {r["workers"] for r in report["results"]} >= {1}
END
run report --quick --no-peers --workload uts -- --tree T3 --serial
expect 'one case' exited 0
expect 'one case' grep -qE '^\| uts tree=T3 serial +\| +0 ' "$scratch/out"
expect 'one case' test "$(grep -c '^| uts' "$scratch/out")" = 1

check_json || failed=1
finish "skua-bench does what it says"
