#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: MIT
"""compare.py - compare skua-kv with Redis and with the key-value servers of Go and Tokio

For each case, the servers take turns: each run starts a server on one CPU, fills it, and
loads it by skua-load from another CPU. A ratio compares two runs of one turn.

Cases: max-P, a closed loop of 50 connections that send P requests at once; and rate-P-N, an
open loop at N % of the greatest rate of Redis, where P is 1 or 16, and N is 50 or 80. The
greatest rate is the number of requests in a second of the server's CPU time in max-P, which
does not depend on the generator: the median of the runs of max-P in the same file. --rate
gives another one.

A run is noisy if other programs or a hypervisor used more than 5 % of the two CPUs' time.
It is repeated once; a median leaves out noisy runs if there are others.
"""

import argparse
import json
import os
import shutil
import socket
import statistics
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CASES = ["max-1", "max-16", "rate-1-50", "rate-1-80", "rate-16-50", "rate-16-80"]
KV, REDIS = "skua-kv", "redis"
SERVERS = [KV, REDIS, "go", "tokio"]
START_S = 60  # a server that does not listen by then has failed
TRIES = 2
NOISY_SHARE = 0.05
TICK_NS = 1_000_000_000 // os.sysconf("SC_CLK_TCK")


def say(text):
    print(text, file=sys.stderr, flush=True)


def fail(text, code=1):
    say(f"compare.py: {text}")
    sys.exit(code)


# ---- the servers -------------------------------------------------------------------


def commands_of(options):
    """Return the command of each server that is there, without its port."""
    redis = shutil.which("redis-server") or shutil.which("redis-check-rdb")
    found = {
        KV: [f"{options.build}/bench/kv/skua-kv", "--workers", "1"],
        # The program redis-check-rdb is redis-server by another name.
        REDIS: ["redis-server", "--save", "", "--appendonly", "no", "--dir", "/tmp"],
        "go": [f"{options.peers}/skua-kv-go", "--workers", "1"],
        "tokio": [f"{options.peers}/skua-kv-tokio", "--workers", "1"],
    }
    programs = {name: redis if name == REDIS else found[name][0] for name in found}
    for name in SERVERS:
        if not programs[name] or not os.access(programs[name], os.X_OK):
            say(f"  {name}: left out: not there: {programs[name] or 'package redis-tools'}")
            del found[name], programs[name]
        elif name not in options.servers:
            del found[name]
    return {name: (programs[name], found[name]) for name in found}


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return probe.getsockname()[1]


def start(program, command, cpu):
    """Start a server on a CPU. Return it and its port, when it listens."""
    port = free_port()
    server = subprocess.Popen(
        [*command, "--port", str(port)],
        executable=program,
        stdout=subprocess.DEVNULL,
        preexec_fn=lambda: os.sched_setaffinity(0, {cpu}),
    )
    end = time.monotonic() + START_S
    while time.monotonic() < end and server.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            return server, port
        except ConnectionRefusedError:
            time.sleep(0.01)
    server.kill()
    fail(f"{program} does not listen, exit code {server.poll()}")


# ---- a run -------------------------------------------------------------------------


def busy_ns(cpus):
    """Return the time in which these CPUs were not idle, with time that was stolen."""
    with open("/proc/stat") as file:
        rows = [line.split() for line in file if line.startswith("cpu")]
    counts = {row[0]: [int(n) for n in row[1:9]] for row in rows}
    return sum(sum(counts[f"cpu{cpu}"]) - sum(counts[f"cpu{cpu}"][3:5]) for cpu in cpus) * TICK_NS


def own_ns(pid):
    """Return the CPU time of a process."""
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * TICK_NS


def load(options, port, words):
    """Run skua-load. Return its JSON, and its CPU time."""
    command = [f"{options.build}/bench/load/skua-load", "--port", str(port), "--json", "--fill"]
    command += ["--seconds", str(options.seconds), "--warm-up", str(options.warm_up), *words]
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: os.sched_setaffinity(0, {options.cpus[0]}),
    )
    out = process.stdout.read()
    _, _, usage = os.wait4(process.pid, 0)
    process.returncode = 0  # it has been waited for
    if not out:
        fail(f"skua-load has failed: {' '.join(command)}")
    return json.loads(out), int((usage.ru_utime + usage.ru_stime) * 1e9)


def run_once(options, program, command, words):
    server, port = start(program, command, options.cpus[1])
    begin_ns, before_ns, server_ns = time.monotonic_ns(), busy_ns(options.cpus), own_ns(server.pid)
    try:
        result, client_ns = load(options, port, words)
        others_ns = busy_ns(options.cpus) - before_ns - client_ns
        others_ns -= own_ns(server.pid) - server_ns
        elapsed_ns = time.monotonic_ns() - begin_ns
    finally:
        server.terminate()
        server.wait()
    if not result["ok"]:
        fail(f"{program}: errors: {result['errors']}, lost: {result['lost']}")
    result["others"] = round(max(0, others_ns) / elapsed_ns / len(set(options.cpus)), 4)
    result["noisy"] = result["others"] > NOISY_SHARE
    return result


def words_of(case, rows, options):
    """Return skua-load's options for a case."""
    kind, pipeline, *percent = case.split("-")
    if kind == "max":
        return ["--rate", "max", "--pipeline", pipeline]
    rate = options.rate or rate_of_redis(rows, f"max-{pipeline}")
    if not rate:
        fail(f"{case}: the rate of Redis is not known: run max-{pipeline} first, or give --rate")
    return ["--rate", str(int(rate * int(percent[0]) / 100)), "--pipeline", pipeline]


def rate_of_redis(rows, case):
    rates = [row["requests_per_cpu_s"] for row in quiet(of(rows, case, REDIS))]
    return statistics.median(rates) if rates else None


def run_case(case, servers, rows, options):
    words = words_of(case, rows, options) + options.more
    first = 1 + max((row["turn"] for row in of(rows, case)), default=0)
    for turn in range(first, first + options.rounds):
        names = list(servers)
        # Each turn begins with another server.
        at = turn % len(names)
        for name in names[at:] + names[:at]:
            for _ in range(TRIES):
                result = run_once(options, *servers[name], words)
                if not result["noisy"]:
                    break
            row = {"case": case, "server": name, "turn": turn} | result
            for times in "latency_ns", "late_ns":
                if row[times]:
                    del row[times]["quantiles"]
            rows.append(row)
            noisy = ", noisy" if row["noisy"] else ""
            say(f"  {case} {turn} {name}: {row['server_cpu_ns'] / 1e3:.3f} us of CPU{noisy}")
            if options.out:
                with open(options.out, "a") as file:
                    print(json.dumps(row), file=file)


# ---- tables ------------------------------------------------------------------------


def of(rows, case, server=None):
    return [row for row in rows if row["case"] == case and server in (None, row["server"])]


def quiet(rows):
    """Return the rows that are not noisy; all if all are."""
    return [row for row in rows if not row["noisy"]] or rows


FIGURES = [
    ("CPU us", lambda row: row["server_cpu_ns"] / 1e3),
    ("p50 us", lambda row: row["latency_ns"]["p50"] / 1e3),
    ("p99 us", lambda row: row["latency_ns"]["p99"] / 1e3),
    ("p99.9 us", lambda row: row["latency_ns"]["p999"] / 1e3),
    ("requests/s", lambda row: row["requests_per_s"]),
]


def spread(values, digits):
    texts = [f"{v:.{digits}f}" for v in (statistics.median(values), min(values), max(values))]
    return texts[0] if len(values) == 1 else f"{texts[0]} ({texts[1]}-{texts[2]})"


def ratios(rows, case, server, base, value):
    """Return the ratios to @base of a figure, one for each turn; of quiet turns, if any."""
    pairs = []
    for row in of(rows, case, server):
        for other in of(rows, case, base):
            if other["turn"] == row["turn"] and value(other):
                noisy = row["noisy"] or other["noisy"]
                pairs.append({"noisy": noisy, "ratio": value(row) / value(other)})
    return [pair["ratio"] for pair in quiet(pairs)]


def print_case(rows, case, base):
    closed = case.startswith("max")
    # The latencies of a closed loop say how long the queue of the connections is.
    figures = [FIGURES[0], FIGURES[4]] if closed else FIGURES[:4]
    given = of(rows, case)[0]["params"]["rate"]
    print(f"\n{case}: " + ("as many as the server answers" if closed else f"{given:.0f} requests/s"))
    head = [f"{name} | to {base}" for name, _ in figures]
    print("\n| server | " + " | ".join(head) + " | CPU % | late p99 us | runs, noisy |")
    print("|---" * (2 * len(figures) + 4) + "|")
    for server in SERVERS:
        all_rows = of(rows, case, server)
        if not all_rows:
            continue
        used = quiet(all_rows)
        cells = [server]
        for name, value in figures:
            digits = 0 if name == "requests/s" else 3 if name == "CPU us" else 1
            cells.append(spread([value(row) for row in used], digits))
            compared = ratios(rows, case, server, base, value)
            cells.append(spread(compared, 2) if compared and server != base else "")
        share = [row["server_cpu_ns"] * row["requests_per_s"] / 1e7 for row in used]
        cells.append(f"{statistics.median(share):.0f}")
        late = [row["late_ns"]["p99"] / 1e3 for row in used if row["late_ns"]]
        cells.append(f"{statistics.median(late):.1f}" if late else "")
        noisy = sum(row["noisy"] for row in all_rows)
        cells.append(f"{len(all_rows)}, {noisy}")
        print("| " + " | ".join(cells) + " |")


def print_all(rows, base):
    print("Medians (least-greatest). CPU us: CPU time of the server for a request.")
    for case in CASES:
        if of(rows, case):
            print_case(rows, case, base)


# ---- the command -------------------------------------------------------------------


def names(allowed):
    def parse(text):
        chosen = text.split(",")
        for name in chosen:
            if name not in allowed:
                raise argparse.ArgumentTypeError(f"'{name}'; allowed: {', '.join(allowed)}")
        return chosen

    return parse


def cpu_pair(text):
    cpus = [int(word) for word in text.split(",") if word.isdigit()]
    if len(cpus) != 2 or not set(cpus) <= os.sched_getaffinity(0):
        raise argparse.ArgumentTypeError(f"'{text}'; allowed: two of this process's CPUs, as 0,1")
    return cpus


def parse_options():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--cases", type=names(CASES), default=CASES[:4], help="default: the first four")
    add("--servers", type=names(SERVERS), default=SERVERS, help="default: all")
    add("--to", choices=SERVERS, default=REDIS, help="the server of the ratios (default: redis)")
    add("--rounds", type=int, default=5, help="turns of each case (default: 5)")
    add("--seconds", type=float, default=3, help="of each run (default: 3)")
    add("--warm-up", type=float, default=0.5, help="seconds (default: 0.5)")
    add("--rate", type=float, help="the greatest rate of Redis, of which rate-P-N uses N %%")
    add("--cpus", type=cpu_pair, default=[0, 1], help="of the load and the server (default: 0,1)")
    add("--out", help="append the runs to this file; those that it has count, too")
    add("--show", action="store_true", help="run nothing: print what --out has")
    add("--build", default=os.path.join(ROOT, "build"), help="the build folder")
    add("--peers", help="the folder of skua-kv-go and skua-kv-tokio (default: bench/peers in it)")
    add("more", nargs="*", help="after --: further options of skua-load")
    # argparse prints its usage before an error, which here is one line.
    parser.error = lambda text: fail(text, 2)
    options = parser.parse_args()
    options.peers = options.peers or os.path.join(options.build, "bench/peers")
    if options.rounds < 1:
        parser.error("--rounds is less than 1; allowed: 1 or more")
    return options


def main():
    options = parse_options()
    rows = []
    if options.out and os.path.exists(options.out):
        with open(options.out) as file:
            rows = [json.loads(line) for line in file]
    if not options.show:
        if not os.access(f"{options.build}/bench/load/skua-load", os.X_OK):
            fail(f"{options.build}/bench/load/skua-load is not built", 77)
        servers = commands_of(options)
        for case in options.cases:
            run_case(case, servers, rows, options)
    print_all(rows, options.to)


main()
