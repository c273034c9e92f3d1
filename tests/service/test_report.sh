#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# test_report.sh [SKUA-BENCH] - skua-bench report, beside programs that only
# say that they are other schedulers
#
# Built elsewhere than in build/: name it, or set SKUA_BUILD_DIR.
set -uo pipefail
# shellcheck source=tests/service/checks.sh
source "$(dirname "$0")/checks.sh"

bench=${1:-$build/bench/skua-bench}
needs "$bench"
tested=("$bench")

rows() { (($(grep -cE -- "$1" "$scratch/out") == $2)); }

# --- programs that say what they are told to ----------------------------------

# peer FOLDER NAME - a program: `list`, and for `run` the commands on stdin,
# which know $workload, $workers, and how many runs there were before, $before
peer()
{
	mkdir -p "$scratch/$1"
	{
		cat <<-'END'
			#!/usr/bin/env bash
			calls=${0%/*}/calls-${0##*-}
			if [[ $1 == list ]]; then
				echo "chained_spawn            Each task spawns the next one"
				echo "wake                     Latency"
				exit
			fi
			echo "$*" >>"$calls"
			before=$(($(wc -l <"$calls") - 1))
			workload=$2 workers=$5
			# result NS PARAMS OK [MORE] - the line of JSON
			result()
			{
				echo "{\"peer\":\"${0##*-}\",\"version\":\"1\"," \
					"\"workload\":\"$workload\",\"params\":{$2}," \
					"\"workers\":$workers,\"rounds\":1,\"ops\":1000," \
					"\"ns_per_op\":$1,\"min\":$1,\"max\":$1,\"ok\":$3${4-}}"
			}
		END
		cat
	} >"$scratch/$1/skua-peer-$2"
	chmod +x "$scratch/$1/skua-peer-$2"
}

# Its figures grow from run to run, so that there is a spread.
peer sound fast <<'END'
latency=",\"latency_ns\":{\"p50\":$((before + 1)),\"p90\":8000000,
	\"p99\":9000000,\"p999\":$((9500000 + before))}"
[[ $workload == wake ]] || latency=''
result "0.$((before + 1))" '"mine":true' true "$latency"
END
peer sound slow <<'END'
result "$((1000000 + 1000 * before))" '"tasks":1000' true
END
peer sound skips <<'END'
echo 'the reason why not' >&2
exit 77
END
peer broken babbles <<'END'
echo 'this is {no JSON'
END
peer broken wrong <<'END'
echo 'task 3 was lost' >&2
result 1 '' false
exit 1
END
peer broken dies <<'END'
kill -9 $$
END
peer broken differs <<'END'
result 1 '"tasks":999' true
END
peer broken quits <<'END'
[[ $workers != 1 ]] || { result 1 '' true; exit 3; }
result 1 '' true
END
peer mute mute <<'END'
END
sed -i '2i exit 5' "$scratch/mute/skua-peer-mute"
mkdir "$scratch/none"

# --- sound ones ---------------------------------------------------------------

run report --quick --workload chained_spawn --peers "$scratch/sound" \
	--out "$scratch/report"
expect 'sound peers' exited 0
expect 'sound peers' rows '^\| chained_spawn +\| +[0-9]+ \| fast .*\| slower +\| [^|]+\|$' \
	"$(grep -c '| slow ' "$scratch/out")"
expect 'sound peers' rows '^\| chained_spawn +\| +[0-9]+ \| slow .*\| +\| [^|]+\|$' \
	"$(grep -c '| fast ' "$scratch/out")"
expect 'sound peers' out_has '- left out: skips: chained_spawn: the reason why not'
expect 'a skip is asked for once' test "$(wc -l <"$scratch/sound/calls-skips")" = 1
expect 'sound peers' out_has \
	"Left out: epoll, libuv, tokio, go, tbb, rayon, openmp (not built in $scratch/sound"
expect 'sound peers' out_lacks FAILED
expect 'sound peers' grep -q '^| chained_spawn .* | fast ' \
	"$scratch/report/report.md"

# The table in the order of the ratios, and each figure out of its runs.
expect 'figures' python3 - "$scratch/report/report.json" "$scratch/out" <<'END'
import json, statistics, sys
report = json.load(open(sys.argv[1]))
rows = [[cell.strip() for cell in line.split("|")[1:-1]]
        for line in open(sys.argv[2]) if " | fast " in line or " | slow " in line]
def same(a, b): return abs(a - b) <= 1e-9 * abs(b)
def spread(s, values):
    assert same(s["median"], statistics.median(values)), (s, values)
    assert same(s["min"], min(values)) and same(s["max"], max(values)), (s, values)
def shown(cell):
    return float(cell.split(" ")[0])
def runs(which, c):
    found = [r for r in report[which] if r["workers"] == c["workers"]
             and r.get("peer", c["peer"]) == c["peer"]]
    assert [r["alternation"] for r in found] == list(range(c["alternations"]))
    assert all(type(r["noisy"]) is bool for r in found)
    return [r["ns_per_op"] for r in found]

def noisy(c):
    return len({r["alternation"] for which in ("skua_runs", "peers")
                for r in report[which] if r["workers"] == c["workers"]
                and r.get("peer", c["peer"]) == c["peer"] and r["noisy"]})

compared = [c for c in report["comparisons"] if "ratio" in c]
assert len(compared) == len(rows) >= 2
ratios = [c["ratio"]["median"] for c in compared]
assert ratios == sorted(ratios, reverse=True)
for c, row in zip(compared, rows):
    assert c["workload"] == row[0] == "chained_spawn" and c["metric"] == "ns_per_op"
    assert c["params"] == {"tasks": 1000, "repeat": 100}
    assert str(c["workers"]) == row[1] and c["peer"] == row[2]
    assert 1 <= c["alternations"] <= 3
    skua, peer = runs("skua_runs", c), runs("peers", c)
    spread(c["skua_ns"], skua)
    spread(c["peer_ns"], peer)
    spread(c["ratio"], [a / b for a, b in zip(skua, peer)])
    assert all(("(once)" in cell) is (c["alternations"] == 1) for cell in row[3:6])
    assert row[7] == (f"{c['noisy']} of {c['alternations']}" if c["noisy"] else "")
    assert c["noisy"] == noisy(c)
    assert abs(shown(row[5]) - c["ratio"]["median"]) <= 0.0051
    assert abs(shown(row[3]) / c["skua_ns"]["median"] - 1) < 0.01
    assert abs(shown(row[4]) / c["peer_ns"]["median"] - 1) < 0.06
    assert c["slower"] is (c["peer"] == "fast") and (row[6] == "slower") is c["slower"]
[skip] = [c for c in report["comparisons"] if "ratio" not in c]
assert skip["peer"] == "skips" and skip["left_out"] == "the reason why not"
cal = report["calibration"]
assert cal["best_ns"] > 0
assert cal["runs"] - cal["repeated"] == \
    len(report["skua_runs"]) + len(report["peers"]) + 1, cal
assert {r["workload"] for r in report["results"]} == {"chained_spawn"}
END

# --- latencies ----------------------------------------------------------------

# Of a slow peer no percentiles are known, and there is no row.
run report --quick --workload wake --peers "$scratch/sound" \
	--out "$scratch/report"
expect latencies exited 0
expect latencies rows '^\| wake p50 .*\| fast .*\| slower +\| [^|]+\|$' \
	"$(grep -c '| wake p99 ' "$scratch/out")"
expect latencies rows '^\| wake p99 .*\| fast ' \
	"$(grep -c '| wake p50 ' "$scratch/out")"
expect latencies out_has '| wake p999 '
expect latencies out_has ' skua, us |'
expect latencies out_lacks '| slow '
expect latencies out_lacks ' skua, ns/op |'
expect latencies python3 - "$scratch/report/report.json" <<'END'
import json, statistics, sys
report = json.load(open(sys.argv[1]))
compared = [c for c in report["comparisons"] if "ratio" in c]
assert {c["metric"] for c in compared} == {"p50", "p99", "p999"}
for c in compared:
    skua, peer = ([r["latency_ns"][c["metric"]] for r in report[which]
                   if r["workers"] == c["workers"]
                   and r.get("peer", "fast") == "fast"]
                  for which in ("skua_runs", "peers"))
    assert c["skua_ns"]["median"] == statistics.median(skua), c
    assert c["peer_ns"]["median"] == statistics.median(peer), c
    assert c["slower"] is (c["ratio"]["median"] > 1), c
    assert c["slower"] or c["metric"] != "p50", c
END

# --- slowdowns ----------------------------------------------------------------

peer calls brisk <<'END'
result 1 '' true ",\"slowdown\":{\"p50\":1,\"p999\":1.$before}"
END
peer calls tardy <<'END'
result 1 '' true ',"slowdown":{"p50":1,"p999":1e12}'
END
sed -i 's/echo "wake .*/echo "rpc                      Calls"/' "$scratch"/calls/*

# In the order of the cases, beside the queue and bare threads, which do not count
# as peers. The latter need a CPU each, and one for the caller.
run report --quick --workload rpc --peers "$scratch/calls" \
	--out "$scratch/report" -- --calls 500 --load 30
expect slowdowns exited 0
expect slowdowns out_has ' skua, times |'
expect slowdowns out_lacks ' skua, us |'
expect slowdowns python3 - "$scratch/report/report.json" "$scratch/out" <<'END'
import itertools, json, os, statistics, sys
report = json.load(open(sys.argv[1]))
out = open(sys.argv[2]).read()
compared = [c for c in report["comparisons"] if "ratio" in c]
rows = [[cell.strip() for cell in line.split("|")[1:-1]]
        for line in out.splitlines() if " slowdown_p999 " in line]
assert len(rows) == len(compared)
for c, row in zip(compared, rows):
    label = "".join(f" {k}={v}" for k, v in c["params"].items()
                    if (k, v) not in {("service", "exponential"), ("load", 60),
                                      ("calls", 20000), ("seed", 1)})
    assert row[0] == f"rpc{label} slowdown_p999" and row[2] == c["peer"], row
    assert c["metric"] == "slowdown_p999"
    skua = [r for r in report["skua_runs"] if r["params"] == c["params"]
            and r["workers"] == c["workers"]]
    assert len(skua) == c["alternations"]
    ours = [r["slowdown"]["p999"] for r in skua]
    spread = c["skua_slowdown"]
    assert [spread["min"], spread["max"]] == [min(ours), max(ours)], c
    if c["peer"] in ("queue", "bare"):
        beside = [r[f"{c['peer']}_slowdown"]["p999"] for r in skua]
        ratios = [a / b for a, b in zip(ours, beside)]
        for name, values in (("peer_slowdown", beside), ("ratio", ratios)):
            assert abs(c[name]["median"] / statistics.median(values) - 1) < 1e-9, c
        assert c["peer"] == "bare" or len(set(beside)) == 1
        assert c["slower"] is False
    else:
        assert c["slower"] is (c["peer"] == "brisk"), c
    assert row[6] == ("slower" if c["slower"] else "")
cpus = len(os.sched_getaffinity(0))
cases = [list(group) for _, group in itertools.groupby(
    compared, lambda c: (str(c["params"]), c["workers"]))]
assert len(cases) >= 1 and f" of {len(cases) * 2} comparisons" in out
assert all((c["params"]["calls"], c["params"]["load"]) == (500, 30) for c in compared)
for case in cases:
    bare = {"bare"} if case[0]["workers"] < cpus else set()
    assert sorted(c["peer"] for c in case) == sorted({"queue", "brisk", "tardy"} | bare)
END

# --- broken ones --------------------------------------------------------------

run report --quick --workload chained_spawn --peers "$scratch/broken" \
	--out "$scratch/report"
expect 'broken peers' exited 1
expect 'broken peers' out_has \
	'- FAILED: babbles: chained_spawn, 1 worker: it printed no result'
expect 'broken peers' out_has \
	'- FAILED: wrong: chained_spawn, 1 worker: its result was wrong (exit code 1)'
expect 'broken peers' err_has 'task 3 was lost'
expect 'broken peers' out_has \
	'- FAILED: dies: chained_spawn, 1 worker: killed by signal 9'
expect 'broken peers' out_has \
	'- FAILED: differs: chained_spawn, 1 worker: it printed the result of something else'
expect 'broken peers' out_has \
	'- FAILED: quits: chained_spawn, 1 worker: exit code 3'
expect 'broken peers' rows '^\| chained_spawn .*\| (babbles|wrong|dies|differs) ' 0
expect 'broken peers' out_has '| chained_spawn tasks=1000 repeat=100 '
expect 'broken peers' err_has 'of the sides compared failed'
expect 'broken peers' python3 - "$scratch/report/report.json" <<'END'
import json, sys
report = json.load(open(sys.argv[1]))
failed = {c["peer"] for c in report["comparisons"] if "failed" in c}
assert failed == {"babbles", "wrong", "dies", "differs", "quits"}, failed
assert any(r["ok"] is False for r in report["peers"])
END

run report --quick --workload chained_spawn --peers "$scratch/mute"
expect 'a peer without a list' exited 1
expect 'a peer without a list' out_has '- FAILED: mute: does not list workloads'
expect 'a peer without a list' err_has "skua-peer-mute list' failed: exit code 5"

# --- none ---------------------------------------------------------------------

run report --quick --workload chained_spawn --peers "$scratch/none"
expect 'no peers' exited 0
expect 'no peers' out_has 'Left out: epoll, libuv, tokio, go, tbb, rayon, openmp (not built'
run report --quick --workload chained_spawn --no-peers --peers "$scratch/broken"
expect --no-peers exited 0
expect --no-peers out_lacks schedulers
expect --no-peers out_has '| chained_spawn tasks=1000 repeat=100 '

for arguments in '-- --calls 5' '--workload wake -- --calls 5' \
	'--workload rpc -- --load 0' '--workload rpc -- 7'; do
	# shellcheck disable=SC2086 # words
	run report --no-peers $arguments
	expect "$arguments" exited 2
	expect "$arguments" err_lines 1
	expect "$arguments" err_has 'skua-bench report'
done
for arguments in '--peers=/nix' '--workload=nix' '--no-peers=1'; do
	run report "$arguments"
	expect "$arguments" exited 2
	expect "$arguments" err_has "skua-bench report: ${arguments%%=*}"
done

finish "the report shows skua beside its peers"
