# SPDX-License-Identifier: MIT
"""made_report.py - a report.json of a machine that there is not, for tests

It has everything that a report can have: several numbers of workers, other
schedulers, hardware counters that took turns, and steals. No figure in it was
measured.
"""

import json
import math

WORKERS = [1, 2, 4, 8, 16]
GAIN = {"uts": 0.97, "fib": 0.9, "imbalance": 0.6, "join_one": 0.05, "wake": 0}


def spread(middle):
    return {"median": middle, "min": middle * 0.9, "max": middle * 1.15}


def quantiles(median, tail):
    percents = [0, 10, 25, 50, 75, 90, 95, 98, 99, 99.5, 99.9, 99.95, 99.99, 100]
    nines = [min(4.5, -math.log10(1 - p / 100)) if p < 100 else 4.5 for p in percents]
    return {
        "p50": round(median), "p90": round(median * tail), "p99": round(median * tail**2),
        "p999": round(median * tail**3), "p9999": round(median * tail**4), "count": 30000,
        "quantiles": [[p, round(median * tail ** (n - 0.3))] for p, n in zip(percents, nines)],
    }


def events(ns):
    names = {"cycles": 2.6 * ns, "instructions": 3.1 * ns, "cache-misses": ns / 400, "branch-misses": ns / 90}
    return [
        {"name": n, "value": round(v * 9e5), "enabled_ns": 9e8, "running_ns": 7.2e8, "run_ratio": 0.8}
        for n, v in names.items()
    ]


def result(workload, workers, **more):
    ns = 200 / (1 + GAIN[workload] * (workers - 1))
    counted = {e["name"].replace("-", "_"): e["value"] for e in events(ns)}
    made = {
        "workload": workload, "params": {"n": 30}, "workers": workers, "rounds": 9, "ops": 100000,
        "ns_per_op": ns, "min": ns * 0.95, "max": ns * 1.1,
        "rounds_ns": [ns * (1 + 0.01 * (i % 5)) for i in range(9)], "ok": True, "noisy": False,
        "stats": {"spawned": 900000, "stolen": 4000 * workers, "jobs_stolen": 0, "parked": 300, "lifo_hits": 90000},
        "usage": {"cpu_ns": 9e5 * ns * workers, "voluntary_switches": 300 * workers,
                  "involuntary_switches": 20, "page_faults": 0},
        "counters": counted | {"run_ratio": 0.8, "events": events(ns)}, "counters_reason": None,
    }
    if workload == "wake":
        made["latency_ns"] = quantiles(8000, 1.9)
        made["futex_latency_ns"] = quantiles(6900, 1.7)
    return made | more


def comparison(workload, workers, peer, metric, ratio):
    return {
        "workload": workload, "params": {"n": 30}, "workers": workers, "peer": peer, "metric": metric,
        "alternations": 5, "noisy": 1 if peer == "go" else 0, "skua_ns": spread(200 * ratio),
        "peer_ns": spread(200), "ratio": spread(ratio), "slower": ratio > 1,
    }


def steals():
    # From the first worker to all, and then among neighbours.
    rows = [[t, 0, 9, 900 // t, 0] for t in range(1, 16)]
    rows += [[t, (t + 1) % 16, 3, 40, 0] for t in range(1, 15)] + [[3, None, 2, 0, 70]]
    return [
        {"workload": "uts", "params": {"n": 30}, "workers": 16, "events": 4000, "lost": 0, "cut": False,
         "steals": rows, "jobs_stolen_outside": 0},
        {"workload": "fib", "params": {"n": 30}, "workers": 2, "events": 40, "lost": 7, "cut": False,
         "steals": [[0, 1, 2, 0, 30], [1, 0, 1, 0, 3]], "jobs_stolen_outside": 0},
        {"workload": "imbalance", "params": {"n": 30}, "workers": 2, "reason": "not permitted"},
    ]


def make():
    ratios = {("uts", "go"): 0.4, ("uts", "tbb"): 0.9, ("fib", "tbb"): 1.1, ("join_one", "go"): 0.2,
              ("join_one", "openmp"): 8.5, ("wake", "go"): 0.15}
    peers = [result("wake", 16, peer="go", latency_ns={"p50": 60000, "p90": 80000, "p99": 110000, "p999": 200000},
                    alternation=i) for i in range(5)]
    return {
        "format": 1,
        "machine": {"skua": "0.1.0", "cpu": "No <Processor> & \"none\"", "cpus": 16, "kernel": "Linux 6.1",
                    "compiler": "gcc 12", "time": "2026-01-01T00:00:00Z"},
        "results": [result(w, n) for w in GAIN for n in WORKERS],
        "steals": steals(), "skua_runs": [], "peers": peers,
        "comparisons": [
            comparison(w, n, p, m, r * (1 + n / 64))
            for (w, p), r in ratios.items() for n in (1, 16) for m in (["p50", "p99"] if w == "wake" else ["ns_per_op"])
        ] + [{"workload": "uts", "params": {"n": 30}, "workers": 1, "peer": "rayon", "left_out": "it has no such tree"}],
        "calibration": {"best_ns": 1300000, "runs": 60, "repeated": 2, "noisy": 1},
    }


if __name__ == "__main__":
    print(json.dumps(make(), indent=1))
