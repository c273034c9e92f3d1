#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# test_topo.sh [SKUA] - what `skua topo` prints, of this machine and of those in
# tests/topology, and how it exits
set -uo pipefail
# shellcheck source=tests/service/checks.sh
source "$(dirname "$0")/checks.sh"

tests_skua "$@"
machines=$build/tests/machines

# --- help and errors -------------------------------------------------------------

for verb in '' topo; do
	# shellcheck disable=SC2086 # words
	run $verb --help
	expect "$verb --help" exited 0
	expect "$verb --help" out_has 'Usage: skua'
	expect "$verb --help" err_lines 0
done
refuses 2 'a verb is needed; allowed: '
refuses 2 "no verb 'walk'; allowed: " walk
refuses 2 "no option '--wrong'; allowed: --json --measure --placement --root --snapshot" topo --wrong
refuses 2 "unexpected argument 'more'" topo more
refuses 2 '--root needs a value' topo --root
refuses 2 "--placement: no 'listed'; allowed: default compact scatter cores caches" \
	topo --placement listed
refuses 2 '--measure runs threads on this machine, but --root /tmp is another' \
	topo --measure --root /tmp
refuses 2 '--measure with --snapshot' topo --measure --snapshot -
refuses 1 '/nowhere: No such file or directory' topo --root /nowhere
refuses 1 'no CPU is described' topo --root "$scratch"
refuses 1 'nothing describes a machine' topo --snapshot - --root "$scratch"
refuses 1 'No such file or directory' topo --snapshot "$scratch/no/file"
printf 'a\tb\nhalf a li' >"$scratch/cut"
refuses 1 'line 2: no tab' topo --root "$scratch/cut"

# --- this machine ----------------------------------------------------------------

run topo
expect 'skua topo' exited 0
expect 'skua topo' out_has 'the first victims of each'
run topo --snapshot "$scratch/here"
expect 'a snapshot' exited 0
expect 'a snapshot' out_empty
run topo --snapshot -
expect 'a snapshot to standard output' cmp -s "$scratch/here" "$scratch/out"
run topo --json --root "$scratch/here"
expect 'from the snapshot' exited 0
cp "$scratch/out" "$scratch/there.json"
run topo --json
expect 'as JSON' exited 0
cp "$scratch/out" "$scratch/here.json"

# --- latencies -------------------------------------------------------------------

# A measurement, or the reason why there is none, as with one core, or too much other load.
measured() { out_has 'ns for a cache line between' || err_has 'measured'; }
no_colour() { ! grep -q $'\e' "$scratch/out"; }
run topo --measure --root /
expect 'measured' exited 0
expect 'measured' measured
expect 'no colour in a file' no_colour
run topo --measure --json
expect 'measured, as JSON' exited 0
cp "$scratch/out" "$scratch/measured.json"
cp "$scratch/err" "$scratch/measured.err"
first=$(python3 -c 'import os; print(min(os.sched_getaffinity(0)))')
tested=(taskset -c "$first" "$skua")
run topo --measure
expect 'one CPU' exited 0
expect 'one CPU' out_has 'no latency was measured'
expect 'one CPU' err_has 'latency not measured: at least two cores are needed'
tested=("$skua")

# --- others ----------------------------------------------------------------------

LC_ALL=C run topo --root "$machines/memory_nodes.snapshot"
expect 'without line art' out_has '+----+----+----+----+'
expect 'a node without memory' out_has 'node 2, no memory told'
expect 'a node without CPUs' out_has 'node 3, 256.0 GiB, no CPUs'
expect 'distances' out_has '    3:   24   24   24   10   24'
run topo --root "$machines/gaps_and_offline.snapshot"
expect 'the steal order' out_has \
	'w7    CPU 24   cache 8-9,21-23; node 10-13,24-26; distance 20 0-6,14-20'
LC_ALL=C run topo --placement cores --root "$machines/hybrid_x86.snapshot"
expect 'a worker a core' out_has '14 workers, each on its core'
expect 'a worker a core' out_has '| w0    | w1 '
LC_ALL=C run topo --placement scatter --root "$machines/nps4_16_llcs.snapshot"
expect 'far from each other' out_has '  w1    CPU 16 '
run topo --json --placement caches --root "$machines/nps4_16_llcs.snapshot"
expect 'a worker a cache' out_has '"bound_to":"cache"'
run topo --json --placement caches
expect 'here' exited 0
expect 'here' out_has '"pinned":false'
run topo --root "$machines/bare.snapshot"
expect 'remarks' err_has 'sysfs does not tell the caches of every CPU'
for machine in "$machines"/*.snapshot; do
	run topo --json --root "$machine"
	expect "$machine" exited 0
	cp "$scratch/out" "$scratch/$(basename "$machine" .snapshot).json"
done

code=0
python3 - "$machines" "$scratch" >"$scratch/out" 2>"$scratch/err" <<'END' || code=$?
import json
import os
import sys
from pathlib import Path

machines, scratch = map(Path, sys.argv[1:])


def check(topo):
    cpus = {cpu["cpu"]: cpu for cpu in topo["cpus"]}
    assert list(cpus) == sorted(cpus)
    for name, key in (("cores", "core"), ("llc_groups", "llc")):
        members = [n for group in topo[name] for n in group["cpus"]]
        assert sorted(members) == list(cpus), name
        for group in topo[name]:
            assert group[key] == group["cpus"][0]
            assert all(cpus[n][key] == group[key] for n in group["cpus"])
            assert {cpus[n]["node"] for n in group["cpus"]} == {group["node"]}
    nodes = [node["node"] for node in topo["nodes"]]
    distance = {
        (a, b): d for a, row in zip(nodes, topo["distances"], strict=True)
        for b, d in zip(nodes, row, strict=True)
    }
    assert set(topo["allowed"]) <= set(cpus)
    workers = topo["workers"]
    assert [w["index"] for w in workers] == list(range(len(workers)))

    def farness(a, b):
        if a["core"] == b["core"]:
            return 0
        if a["llc"] == b["llc"]:
            return 1
        return 2 if a["node"] == b["node"] else 3 + distance[a["node"], b["node"]]

    for worker in workers:
        assert all(worker[k] == cpus[worker["cpu"]][k] for k in ("core", "llc", "node"))
        order = worker["steal_order"]
        assert sorted(order + [worker["index"]]) == list(range(len(workers)))
        far = [farness(worker, workers[v]) for v in order]
        assert far == sorted(far), worker
    return topo


here = check(json.load(open(scratch / "here.json")))
assert here["allowed"] == sorted(os.sched_getaffinity(0)), here["allowed"]
there = check(json.load(open(scratch / "there.json")))
for key in ("cpus", "cores", "llc_groups", "nodes", "distances"):
    assert here[key] == there[key], key
assert "latency_ns" not in here
measured = check(json.load(open(scratch / "measured.json")))
cpus, matrix = measured["cpus"], measured["latency_ns"]
assert len(matrix) == len(cpus)
known = 0
for i, (a, row) in enumerate(zip(cpus, matrix, strict=True)):
    for k, (b, ns) in enumerate(zip(cpus, row, strict=True)):
        assert ns == matrix[k][i] and (ns == 0 or a["core"] != b["core"])
        known += ns > 0
assert known or "measured" in (scratch / "measured.err").read_text()
count = 0
for path in machines.glob("*.snapshot"):
    topo = check(json.load(open(scratch / f"{path.stem}.json")))
    lines = [
        f"cpu {c['cpu']} core {c['core']} llc {c['llc']} node {c['node']} "
        f"capacity {c['capacity']}" + " isolated" * c["isolated"]
        for c in topo["cpus"]
    ]
    expected = path.with_suffix(".expected").read_text().splitlines()
    assert lines == [line for line in expected if line.startswith("cpu")], path
    assert topo["allowed"] == [c["cpu"] for c in topo["cpus"]]
    count += 1
assert count >= 13
END
expect 'what the objects say' exited 0
finish "skua topo: this machine and $(ls "$machines"/*.snapshot | wc -l) others"
