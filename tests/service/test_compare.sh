#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# test_compare.sh [SKUA-BENCH] - skua-bench compare, of reports and lines that are
# made up, and of some that were measured; the statistics are in unit/test_changes.c
#
# Built elsewhere than in build/: name it, or set SKUA_BUILD_DIR.
set -uo pipefail
# shellcheck source=tests/service/checks.sh
source "$(dirname "$0")/checks.sh"

bench=${1:-$build/bench/skua-bench}
needs "$bench"
tested=("$bench" compare)

# --- made up ------------------------------------------------------------------

# report FILE FACTOR [MEMBERS [RESULTS]] - with times of wake that are multiplied
report()
{
	python3 - "$scratch/$1" "$2" "${3-{\}}" "${4-{\}}" <<-'END'
		import json, sys
		path, factor, more, of_results = sys.argv[1:]
		def result(workload, ns, **params):
		    rounds = [ns * (1 + 0.01 * i) for i in range(9)]
		    return {"workload": workload, "params": params, "workers": 1,
		            "rounds": 9, "ops": 10, "ns_per_op": rounds[4],
		            "rounds_ns": rounds, "ok": True}
		results = [result("wake", 100 * float(factor), wakes=1000, gap=60),
		           result("join_one", 500, tasks=1000, repeat=200)]
		for r in results:
		    r |= json.loads(of_results).get(r["workload"], {})
		report = {"format": 1, "machine": {"cpu": "one"}, "results": results,
		          "calibration": {"best_ns": 1000000}}
		json.dump(report | json.loads(more), open(path, "w"))
	END
}

report a.json 1
report same.json 1
report slow.json 1.5
report fast.json 0.5 '{"machine": {"cpu": "another"}, "calibration": {"best_ns": 800000}}'
report none.json 1 '{"results": [{"workload": "uts", "workers": 1, "ns_per_op": 3}]}'
few='{"rounds_ns": [1, 2, 3]}'
report few.json 1 '{}' "{\"wake\": $few, \"join_one\": $few}"
report fewer.json 1 '{}' "{\"wake\": $few}"
report wrong.json 1 '{}' '{"wake": {"ok": false}}'
report other.json 1 '{}' '{"wake": {"params": {"wakes": 9}}}'
report odd.json 1 '{}' '{"wake": {"params": {"wakes": 9}, "ok": false}}'
# latencies LONGEST - latencies of nine rounds
latencies()
{
	python3 -c 'import json, sys; print(json.dumps({"wake": {"latency_ns": {"rounds":
		[{"count": 1000, "p50": 104, "p99": 300 + i, "p999": int(sys.argv[1]) + i}
		for i in range(9)]}}}))' "$1"
}
report tail.json 1 '{}' "$(latencies 900)"
report longtail.json 1 '{"machine": {"cpu": "one", "build": "not optimised"}}' "$(latencies 9000)"
count()
{
	echo "{\"join_one\": {\"rounds_instructions\": [$1, $1.1, $1.2, $1.3, $1.4]}}"
}
report counted.json 1 '{}' "$(count 700)"
report costly.json 1 '{}' "$(count 760)"
report later.json 1 '{"format": 2}'
a=$scratch/a.json

run "$a" "$scratch/same.json"
expect 'the same' exited 0
expect 'the same' out_has 'Nothing changed beyond noise.'
expect 'the same' out_has '0 slower, 0 faster, 2 same, 0 too few'
expect 'the same' out_lacks 'Note:'
run --all "$a" "$scratch/same.json"
expect --all out_has '| join_one |'
run --fail-on-slower "$a" "$scratch/same.json"
expect 'nothing slower' exited 0

run "$a" "$scratch/slow.json"
expect slower exited 0
expect slower grep -qE '^\| wake .*\| 50.0 % slower .*\| slower +\|' "$scratch/out"
expect slower out_lacks '| join_one'
expect slower out_has '1 slower, 0 faster, 1 same'
run --fail-on-slower "$a" "$scratch/slow.json"
expect --fail-on-slower exited 1
expect --fail-on-slower out_has '1 slower'
run --least 40 "$a" "$scratch/slow.json"
expect --least out_has '0 slower, 0 faster, 2 same'

# --- tails and instructions ---------------------------------------------------

run "$scratch/tail.json" "$scratch/longtail.json"
expect 'a tail' grep -qE '^\| wake .* latency_ns.p999 .*\| 10.0 times slower .*\| slower +\|' "$scratch/out"
expect 'a tail' out_has '1 slower, 0 faster, 4 same'
expect 'a tail' out_lacks 'latency_ns.p99 '
run --fail-on-slower "$scratch/tail.json" "$scratch/longtail.json"
expect 'a tail' exited 1
run "$a" "$scratch/tail.json"
expect 'no tail' out_has 'Note: latency_ns.p999 is not compared where only B has it'

run "$scratch/counted.json" "$scratch/costly.json"
expect instructions grep -qE '^\| join_one .* instructions .*\| 8.6 % more .*\| slower +\|' "$scratch/out"
run "$scratch/costly.json" "$scratch/counted.json"
expect instructions out_has ' % fewer '

# --- what cannot be judged ----------------------------------------------------

run --fail-on-slower "$scratch/few.json" "$scratch/few.json"
expect 'nothing to judge' exited 1
expect 'nothing to judge' err_lines 1
expect 'nothing to judge' err_has \
	'failed: 2 of 2 figures cannot be judged: 2 have too few values, 0 are beside noise'
expect 'nothing to judge' out_has 'Nothing can be judged'
run "$scratch/few.json" "$scratch/few.json"
expect 'nothing to judge, without the option' exited 0
expect 'nothing to judge, without the option' err_lines 0
run --fail-on-slower "$scratch/fewer.json" "$scratch/fewer.json"
expect 'something to judge' exited 0
expect 'something to judge' err_has '1 of 2 figures cannot be judged'
expect 'something to judge' out_has 'in the 1 of 2 figures that can be judged'

run --fail-on-slower "$a" "$scratch/other.json"
expect 'other options' exited 0
expect 'other options' err_has '1 workload of A cannot be judged: not in B'
expect 'other options' out_has 'Note: only in A: wake, workers 1, of skua'
expect 'other options' out_has 'Note: only in B: wake wakes=9, workers 1, of skua'
run --json "$a" "$scratch/other.json"
expect 'other options, --json' python3 - "$scratch/out" <<'END'
import json, sys
said = json.load(open(sys.argv[1]))
assert (said["only_a"], said["only_b"]) == (1, 1)
assert [r["params"]["wakes"] for rows in said["only"] for r in rows] == [1000, 9]
END

for file in wrong odd; do
	run "$a" "$scratch/$file.json"
	expect $file exited 0
	expect $file grep -qE '^\| wake .*\| wrong +\|' "$scratch/out"
	run --fail-on-slower "$a" "$scratch/$file.json"
	expect $file exited 1
done

# --- machines -----------------------------------------------------------------

cat "$a" "$scratch/longtail.json" >"$scratch/several.json"
run "$a" "$scratch/several.json"
expect 'several machines' out_lacks 'cpu differs'
cat "$a" "$scratch/fast.json" >"$scratch/several.json"
run "$a" "$scratch/several.json"
expect 'several machines' out_has 'Note: cpu differs: A "one", B "one", "another"'
report built.json 1 '{"machine": {"cpu": "one", "build": "optimised"}}'
run "$scratch/built.json" "$scratch/longtail.json"
expect 'another build' out_has 'Note: build differs: A "optimised", B "not optimised"'
run "$scratch/built.json" "$a"
expect 'a build unknown' out_lacks 'build differs'

# Also from a pipe.
run --fail-on-slower /dev/stdin "$scratch/fast.json" < <(cat "$a")
expect faster exited 0
expect faster grep -qE '^\| wake .*\| 100.0 % faster .*\| faster +\|' "$scratch/out"
expect faster out_has 'Note: cpu differs: A "one", B "another"'
expect faster out_has 'took 20.0 % less in the second'

run --json "$a" "$scratch/slow.json"
expect --json exited 0
expect --json python3 - "$scratch/out" "$a" <<'END'
import json, sys
said = json.load(open(sys.argv[1]))
assert said["format"] == 1 and said["least_percent"] == 5 and said["significance"] == 0.05
assert said["files"][0] == sys.argv[2] and said["notes"] == []
assert said["counts"] == {"slower": 1, "faster": 0, "same": 1, "too few": 0,
                          "noisy": 0, "wrong": 0}
wake, join = said["rows"]
assert (wake["workload"], wake["workers"], wake["peer"]) == ("wake", 1, None)
assert wake["figure"] == "ns_per_op" and wake["ns"] == wake["median"]
assert wake["params"] == {"wakes": 1000, "gap": 60} and wake["verdict"] == "slower"
assert abs(wake["change_percent"] - 50) < 1e-6 and wake["values"] == [9, 9]
assert 0 < wake["p"] < wake["p_corrected"] < 0.001 and wake["single_run"] is True
assert join["verdict"] == "same" and join["change_percent"] == 0
END

# --- what is refused ----------------------------------------------------------

# refused TEXT FILE - one line, and nothing on stdout
refused()
{
	run "$a" "$2"
	expect "$2" exited 1
	expect "$2" err_lines 1
	expect "$2" err_has "skua-bench compare: $2: $1"
	expect "$2" out_empty
}

head -c 300 "$a" >"$scratch/cut.json"
printf '# skua benchmark report\n' >"$scratch/text.md"
: >"$scratch/empty.json"
refused 'line 1: no JSON' "$scratch/cut.json"
refused 'line 1: no JSON' "$scratch/text.md"
refused 'no results are in it' "$scratch/empty.json"
refused 'its format is not 1' "$scratch/later.json"
refused 'it shares no workload with the other file' "$scratch/none.json"
refused 'No such file or directory' "$scratch/nothing.json"
refused 'Is a directory' "$scratch"

for arguments in '' 'a' 'a b c' '--least x a b' '--least=-1 a b' '--wrong a b' \
	'--json=1 a b'; do
	# shellcheck disable=SC2086 # words
	run $arguments
	expect "$arguments" exited 2
	expect "$arguments" err_lines 1
	expect "$arguments" err_has 'skua-bench compare: '
done

# --- what was measured --------------------------------------------------------

# A file of lines, and a report, beside themselves and each other.
for _ in 1 2 3; do
	"$bench" run chained_spawn --workers 1 --rounds 3 --json || failed=1
done >"$scratch/lines"
run "$scratch/lines" "$scratch/lines"
expect 'three runs' exited 0
expect 'three runs' out_has '0 slower, 0 faster, 1 same'
"$bench" report --quick --no-peers --workload chained_spawn \
	--out "$scratch/report" >/dev/null 2>&1 || failed=1
run "$scratch/lines" "$scratch/report/report.json"
expect 'lines and a report' exited 0
expect 'lines and a report' out_has '; only in A 0, only in B '

finish "two reports are compared, and what is none is refused"
