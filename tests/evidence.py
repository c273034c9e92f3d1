#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: MIT
"""evidence.py - what the tests of a build show, property by property

usage: evidence.py FOLDER [--update]

Reads the JUnit report that ctest wrote for the build in FOLDER, and mutants.md
if a long run has made it, and prints the table of tests/README.md: property,
method, bound, result, from what the tests themselves have printed. A row whose
tests did not run says so; one of which a test failed says FAILED, and then the exit
code is 1. --update puts the rows there, except those whose tests did not run: they
stay as they are.
"""

import re
import sys
from pathlib import Path

import report

README = Path(__file__).resolve().parent / "README.md"
BEGIN, END = "<!-- evidence -->", "<!-- end of evidence -->"

CASE = re.compile(
    r"^ok +(\S+) +(\d+) executions.*preemptions (\d+), stale (\d+): (.*)$", re.MULTILINE
)
STATES = re.compile(r"^ok (\w+) (\w+) (\d+) (\d+) ([\w]+): (.*?) \[", re.MULTILINE)
UNIT = re.compile(r"^\[       OK \] ", re.MULTILINE)
OPERATIONS = re.compile(r"(\d+) (?:operations|polls|tasks|members|fired|calls|switches)")
SOAKED = re.compile(r"^soak: (\d+) tasks in (\d+) s", re.MULTILINE)
EXECUTIONS = re.compile(r"(\d+) executions")
BOOTED = re.compile(r"^(\d+ CPUs in \d+ nodes), ", re.MULTILINE)
CHECKED = re.compile(r"^ok (\w+)$", re.MULTILINE)
REPLIES = re.compile(r"^\w+: (\d+) replies compared, 0 differ$", re.MULTILINE)
COMPARED = re.compile(r"^(\d+) CPUs, .* 0 differences$", re.MULTILINE)


def count(number):
    return f"{number:,}"


def explored(outputs):
    """The explorer's output: its bounds and results."""
    cases = [case for text in outputs for case in CASE.findall(text)]
    rejected = [c for c in cases if c[4].startswith("found")]
    complete = [c for c in cases if c[4].startswith("complete")]
    random = [c for c in cases if c[4].startswith("random")]
    bounds, results = [], []
    if complete:
        most = max(int(c[2]) for c in complete)
        stale = max(int(c[3]) for c in complete)
        bounds.append(f"all interleavings of ≤ {most} preemptions, ≤ {stale} stale loads")
        total = sum(int(c[1]) for c in complete)
        results.append(f"{len(complete)} cases complete, {count(total)} executions")
    if random:
        most = max(int(c[2]) for c in random)
        bounds.append(f"random, ≤ {most} preemptions")
        total = sum(int(c[1]) for c in random)
        results.append(f"{len(random)} cases, {count(total)} random executions")
    if rejected:
        results.append(f"{len(rejected)} broken variants rejected")
    return "; ".join(bounds), "; ".join(results)


def modelled(outputs):
    """The findings of spin, by tests/model/promela/run."""
    runs = [run for text in outputs for run in STATES.findall(text)]
    sound = [r for r in runs if r[1] == "sound"]
    workers = max((int(r[2]) for r in sound), default=0)
    total = sum(int(r[3]) for r in sound)
    kinds = ", ".join(sorted({r[4] for r in sound}))
    bound = f"≤ {workers} processes of a kind, exhaustive: {kinds}"
    broken = len(runs) - len(sound)
    result = f"{len(sound)} configurations hold, {count(total)} states"
    return bound, f"{result}; {broken} broken variants rejected"


def stressed(outputs):
    numbers = [OPERATIONS.search(text) for text in outputs]
    total = sum(int(n.group(1)) for n in numbers if n)
    programs = f"{len(outputs)} program{'s' if len(outputs) != 1 else ''}"
    return programs, f"{count(total)} operations, each accounted for"


def soaked(outputs):
    numbers = [n for text in outputs for n in SOAKED.findall(text)]
    seconds = sum(int(n[1]) for n in numbers)
    return f"{count(seconds)} s", f"{count(sum(int(n[0]) for n in numbers))} tasks, flat"


def fuzzed(outputs):
    numbers = [n for text in outputs for n in EXECUTIONS.findall(text)]
    total = sum(map(int, numbers))
    return f"{len(numbers)} targets", f"{count(total)} executions, no failure"


def replayed(outputs):
    return "committed inputs", f"{len(outputs)} replays, mistakes caught included"


def compared(outputs):
    cpus = [n for text in outputs for n in COMPARED.findall(text)]
    return f"{len(cpus)} machines", f"{count(sum(map(int, cpus)))} CPUs, no difference"


def answered(outputs):
    replies = [n for text in outputs for n in REPLIES.findall(text)]
    return "committed commands", f"{count(sum(map(int, replies)))} replies, no difference"


def booted(outputs):
    machines = [n for text in outputs for n in BOOTED.findall(text)]
    checks = sorted({n for text in outputs for n in CHECKED.findall(text)})
    return "; ".join(machines), f"{len(checks)} checks hold: {', '.join(checks)}"


def asserted(outputs):
    cases = sum(len(UNIT.findall(text)) for text in outputs)
    return f"{len(outputs)} programs", f"{count(cases)} cases"


# Property, method, the tests, and what reads their output.
ROWS = [
    (
        "W1, W2: no task is lost or taken twice; W3: order; W4: linearizable (queues)",
        "explorer, on core/'s code",
        r"model\.(local_queue(\.large)?|inject_queue|lifo_slot|queue_api|deque.*)",
        explored,
    ),
    (
        "Queues with many threads: no item is lost or taken twice",
        "stress",
        r"stress\.(local|inject|lifo|deque).*",
        stressed,
    ),
    (
        "Channels, oneshots, broadcasts, watches: no item is lost or received twice; W3: order; "
        "W4: linearizable, beside deadlines and cancels",
        "explorer, on core/'s code",
        r"model\.(channel|spsc|oneshot|broadcast|watch)",
        explored,
    ),
    (
        "The same with many threads",
        "stress",
        r"stress\.(channels|spsc|histories)",
        stressed,
    ),
    (
        "Mutexes, rwlocks, semaphores, events, conditions, notifications, barriers, onces: no "
        "wake-up is lost, each waiter is granted once or gives up without effect",
        "explorer, on core/'s code",
        r"model\.(mutex|rwlock|semaphore|event|condition|notify|barrier|once)",
        explored,
    ),
    ("These, with many threads", "stress", r"stress\.sync", stressed),
    (
        "Selects: one case takes effect, and the other objects are as if nobody had waited",
        "explorer, on core/'s code",
        r"model\.select.*",
        explored,
    ),
    ("Selects with many threads", "stress", r"stress\.select", stressed),
    (
        "Descriptors, files and calls that block: no event is lost, each wait and each call ends "
        "once, no number is closed under a call",
        "explorer, on core/'s code",
        r"model\.(io|files|blocking)",
        explored,
    ),
    (
        "These with many threads, with system calls that fail, and without io_uring",
        "stress",
        r"stress\.(io|blocking)(\.faults|\.no_uring)?",
        stressed,
    ),
    (
        "Fibers: one worker runs a fiber at a time, and each wake-up, cancel and shutdown "
        "reaches it",
        "explorer, on core/'s code",
        r"model\.fiber(_cancel)?(\.large)?",
        explored,
    ),
    (
        "Fibers keep their registers and rounding modes, with many threads",
        "stress",
        r"stress\.fibers",
        stressed,
    ),
    (
        "The children of a fork() have generations of their own",
        "explorer, on core/'s code",
        r"model\.fork",
        explored,
    ),
    (
        "No lost wake-up: idle protocol, workers, sentinel, leader, pollers, a driven worker",
        "explorer, on core/'s code",
        r"model\.(((idle|apart|driver|driver_groups|driver_pollers|worker|sentinel|summons)"
        r"(\.deep|\.large)?)|drive|drive_turns|idle_wakers|inject_group|parker|pollers|pool|spare|"
        r"stall|stats|wait_sample|timers|work_map)",
        explored,
    ),
    (
        "W1, W5: each task is polled eventually, and some thread always makes progress",
        "spin",
        r"model\.promela\.(idle.*|groups.*|driver.*|long)",
        modelled,
    ),
    (
        "Task state and groups: one worker polls a task at a time, a poll follows each wake-up,"
        " and each task ends once",
        "explorer, on core/'s code",
        r"model\.(task_state|group|group_nested|group_release)(\.large)?",
        explored,
    ),
    ("Task state, as liveness: W1, W5", "spin", r"model\.promela\.task_state.*", modelled),
    (
        "Fork-join: each job runs once, its join sees the writes of the job, and no wake-up of "
        "a helper is lost",
        "explorer, on core/'s code",
        r"model\.(split_deque|fork_join|joins)(\.deep)?",
        explored,
    ),
    (
        "Fork-join: the same, and W1, W5: each join returns, and some thread always makes progress",
        "spin",
        r"model\.promela\.jobs.*",
        modelled,
    ),
    ("Fork-join with many threads: each job runs once", "stress", r"stress\.jobs", stressed),
    (
        "Wake-ups, cancellations, joins, drops, groups and timers: each is accounted for once",
        "stress",
        r"stress\.(wake|wakers|lends|cancels|groups|timers|runtime)",
        stressed,
    ),
    (
        "The same while workers are disturbed: by signals, by freezing, by real-time threads, "
        "by changed affinities, by smaller control groups",
        "stress",
        r"hostile\..*",
        stressed,
    ),
    (
        "A fork() does not disturb the parent; without memory, each operation that is not "
        "refused completes",
        "stress",
        r"stress\.(forks|memory)",
        stressed,
    ),
    ("Nothing grows: heap, resident memory, threads, descriptors", "soak", r"soak\.[^.]*", soaked),
    (
        "The stress tests above, with pauses at any atomic operation",
        "stress with pauses",
        r"chaos\..*",
        stressed,
    ),
    (
        "The public API does what its headers say, in any order of calls",
        "fuzzing against a model",
        r"fuzz\..*\.search",
        fuzzed,
    ),
    (
        "A machine is described as hwloc describes it: cores, last caches, nodes",
        "beside hwloc",
        r"topology\.hwloc\..*",
        compared,
    ),
    (
        "On a machine with several nodes, workers use the memory of their nodes, and lose no "
        "task while CPUs go offline and come back",
        "an emulated machine",
        r"guest\..*",
        booted,
    ),
    (
        "Inputs that once failed pass, and the fuzzers find planted mistakes",
        "replay",
        r"fuzz\..*\.(corpus|catches.*)",
        replayed,
    ),
    (
        "Each documented result and error, including those after injected faults",
        "unit",
        r"unit\..*",
        asserted,
    ),
    ("The key-value server answers as Redis does", "beside Redis", r"service\.kv(_.*)?", answered),
    (
        "The explorer finds the interleavings and the stale loads that it promises",
        "litmus tests",
        r"model\.explorer",
        explored,
    ),
]


def row(tests, prop, method, pattern, read):
    found = {n: t for n, t in tests.items() if re.fullmatch(pattern, n)}
    failed = [n for n, t in found.items() if t.get("status") == "fail"]
    outputs = [t.findtext("system-out") or "" for t in found.values() if t.get("status") == "run"]
    if failed:
        return f"| {prop} | {method} | | FAILED: {', '.join(failed)} |"
    if not outputs:
        return f"| {prop} | {method} | | not run |"
    return f"| {prop} | {method} | {' | '.join(read(outputs))} |"


def mutants(folder):
    """The last line of a complete run of tests/model/mutants.py."""
    table = folder / "mutants.md"
    last = re.findall(r"^\d+ mutants: .*$", table.read_text(), re.MULTILINE) if table.exists() else []
    result = last[-1] if last else "not run: `tests/run --long`"
    prop = "The models fail for each weakened memory order and each omitted check"
    return f"| {prop} | mutants | all | {result} |"


def keep_old(line, old):
    """Return the old row of the same property and method if the tests of this one did not
    run."""
    cells = line.split(" | ")
    if "not run" not in cells[-1]:
        return line
    return next((o for o in old if o.split(" | ")[:2] == cells[:2]), line)


def main():
    folder = Path(sys.argv[1])
    tests = {t.get("name"): t for t, _ in report.read(folder / "results.xml")}
    lines = ["| Property | Method | Bound | Result |", "|---|---|---|---|"]
    lines += [row(tests, *r) for r in ROWS] + [mutants(folder)]
    table = "\n".join(lines)
    print(table)
    if "--update" in sys.argv:
        before, rest = README.read_text().split(BEGIN)
        old, after = rest.split(END)
        kept = "\n".join(keep_old(line, old.splitlines()) for line in lines)
        README.write_text(f"{before}{BEGIN}\n\n{kept}\n\n{END}{after}")
    sys.exit(1 if "FAILED" in table else 0)


main()
