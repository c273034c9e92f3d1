#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# test_bench_cli.sh [SKUA-BENCH] - what skua-bench prints, and how it exits
#
# All checks are made, and each that fails is printed with what the program
# said. Built elsewhere than in build/: name it, or set SKUA_BUILD_DIR.
set -uo pipefail

bench=${1:-${SKUA_BUILD_DIR:-build}/bench/skua-bench}
if [[ ! -x $bench ]]; then
	echo "$bench is not built"
	exit 77
fi
if ! command -v python3 >/dev/null; then
	echo "python3 is not installed"
	exit 77
fi
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failed=0

# run ARG... - run the program; $code, $scratch/out and $scratch/err tell
run()
{
	code=0
	"$bench" "$@" >"$scratch/out" 2>"$scratch/err" || code=$?
}

# expect WHAT COMMAND... - a check: the command succeeds
expect()
{
	local what=$1
	shift
	if "$@"; then
		return 0
	fi
	printf 'FAILED: %s: %s\n' "$what" "$*"
	printf '  exit code %s; stdout, stderr:\n' "$code"
	sed 's/^/  | /' "$scratch/out" "$scratch/err"
	failed=1
}

exited() { ((code == $1)); }
out_has() { grep -qF -- "$1" "$scratch/out"; }
err_has() { grep -qF -- "$1" "$scratch/err"; }
err_lines() { (($(wc -l <"$scratch/err") == $1)); }
out_empty() { [[ ! -s $scratch/out ]]; }

# json EXPRESSION - the output is one line of JSON, of which this is true
json()
{
	python3 - "$scratch/out" "$1" <<-'END'
		import json, sys
		lines = open(sys.argv[1]).read().splitlines()
		assert len(lines) == 1, lines
		r = json.loads(lines[0])
		for name in ("workload params workers rounds ops ns_per_op min max"
		             " ok stats counters counters_reason").split():
		    assert name in r, name
		for name in ("spawned polled stolen parked lifo_hits"
		             " global_batch_fetches").split():
		    assert type(r["stats"][name]) is int, name
		if r["counters"] is None:
		    assert r["counters_reason"], "no counters, and no reason"
		else:
		    for name in "cycles instructions cache_misses run_ratio".split():
		        assert name in r["counters"], name
		assert 0 < r["min"] <= r["ns_per_op"] <= r["max"], r
		assert eval(f"({sys.argv[2]})"), sys.argv[2]
	END
}

# refuses TEXT ARG... - a usage error: one line, which has the text
refuses()
{
	local text=$1
	shift
	run "$@"
	expect "skua-bench $*" exited 2
	expect "skua-bench $*" err_lines 1
	expect "skua-bench $*" err_has "$text"
	expect "skua-bench $*" out_empty
}

# --- help and list --------------------------------------------------------------

for verb in '' list run 'run uts' 'run parallel_map' report; do
	# shellcheck disable=SC2086 # words
	run $verb --help
	expect "$verb --help" exited 0
	expect "$verb --help" out_has 'Usage: skua-bench'
	expect "$verb --help" err_lines 0
done

run list
expect list exited 0
expect list out_has 'uts '
expect list out_has 'parallel_map '

# --- usage errors: what was wrong, what is allowed -------------------------------

refuses 'allowed: list, run, report'
refuses "no verb 'walk'; allowed: list, run, report" walk
refuses 'allowed: parallel_map, uts' run
refuses 'allowed: parallel_map, uts' run --json
refuses "no workload 'nix'; allowed: parallel_map, uts" run nix
refuses "no option '--wrong'; allowed: --workers" run uts --wrong
refuses "no option '-x'; allowed: --workers" run uts --json -x
refuses "unexpected argument 'more'" run uts more
refuses '--workers needs a value' run uts --workers
refuses "--workers is 'two'; allowed: 0 to 4096" run uts --workers two
refuses "--workers is '4097'; allowed: 0 to 4096" run uts --workers 4097
refuses "--workers is '-1'; allowed: 0 to 4096" run uts --workers=-1
refuses "--rounds is '0'; allowed: 1 to 10000" run uts --rounds 0
refuses '--json takes no value' run uts --json=1
refuses "--tree is 'T9'; allowed: T1, T3, T1L" run uts --tree T9
refuses "--live is ''; allowed: 0 to" run uts --live ''
refuses "--items is '0'; allowed: 1 to" run parallel_map --items 0
refuses "no option '--tree'; allowed: --workers" run parallel_map --tree T1
refuses 'no --workers here' run uts --serial --workers 1
refuses "no option '--wrong'; allowed: --out" report --wrong
refuses "no folder '/dev/null/x'" report --out /dev/null/x
refuses "unexpected argument 'all'" list all

# --- run ------------------------------------------------------------------------

for workers in 1 2 3 64; do
	run run uts --tree T3 --workers "$workers" --rounds 1 --json
	expect "uts on $workers" exited 0
	expect "uts on $workers" json "r['ok'] is True
		and r['workers'] == $workers and r['rounds'] == 1
		and r['ops'] == 4112897 and r['params']['tree'] == 'T3'
		and r['stats']['spawned'] == r['stats']['polled'] == r['ops']"

	run run parallel_map --workers "$workers" --rounds 3 --json
	expect "parallel_map on $workers" exited 0
	expect "parallel_map on $workers" json "r['ok'] is True
		and r['workers'] == $workers and r['ops'] == 10000
		and r['params'] == {'items': 10000, 'cost': 1}
		and r['stats']['spawned'] == r['stats']['polled'] == 30000"
done

run run uts --serial --rounds 1 --json
expect 'uts --serial' exited 0
expect 'uts --serial' json "r['ok'] is True and r['workers'] == 0
	and r['ops'] == 4130071 and r['params']['serial'] is True
	and r['stats']['spawned'] == 0"

# The bound at its ends: one task at a time, and all that there are.
for live in 1 0; do
	run run uts --live "$live" --rounds 1 --json
	expect "uts --live $live" exited 0
	expect "uts --live $live" json "r['ok'] is True and r['workers'] > 0"
done

run run parallel_map --items 1 --cost 0 --rounds 2
expect 'one item' exited 0
expect 'one item' out_has 'parallel_map items=1 cost=0'
expect 'one item' out_has ', ok'
expect 'one item' err_lines 0

run run parallel_map --items 100 --rounds 1 --json --workers 0
expect 'workers 0' json "r['workers'] >= 1"

if [[ -w /dev/full ]]; then
	code=0
	"$bench" list >/dev/full 2>"$scratch/err" || code=$?
	expect 'a full disk' exited 1
	expect 'a full disk' err_has 'cannot write'
fi

# --- report ---------------------------------------------------------------------

run report --quick --out "$scratch/report"
expect report exited 0
expect report out_has '| uts tree=T1 live=256'
expect report out_has '| parallel_map'
expect report grep -q '| uts tree=T3' "$scratch/report/report.md"
expect report python3 - "$scratch/report/report.json" <<'END'
import json, sys
report = json.load(open(sys.argv[1]))
assert report["machine"]["cpus"] > 0
assert {r["workload"] for r in report["results"]} == {"uts", "parallel_map"}
assert all(r["ok"] for r in report["results"])
assert {r["workers"] for r in report["results"]} >= {0, 1}
END

if ((failed)); then
	exit 1
fi
echo "skua-bench does what it says"
