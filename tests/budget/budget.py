#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: MIT
"""budget.py - no operation takes more instructions than limits.toml allows

usage: budget.py [--long] [--valgrind] [WORKLOAD...]

Runs the workloads of skua-bench in SKUA_BUILD_DIR with one worker and counts
the instructions of an operation in user space, by the hardware counters, or
where there are none, by valgrind. There a run of three rounds is compared with
one of one round, so that what comes before and after the rounds does not count.

  --long      also the cases that take minutes under valgrind
  --valgrind  even where there are hardware counters
  --self-test is about this script: does it notice what is wrong?

Exit code: 0 within the limits, 1 not, 77 cannot count here (the reason is the
last line).
"""

import concurrent.futures
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
LIMITS = "tests/budget/limits.toml"
# A worker that finds nothing sleeps at once: how long it searches is a matter
# of time, and no operation.
ENVIRONMENT = {"SKUA_SPIN_NS": "never", "SKUA_STEAL_ATTEMPTS": "1"}
VALGRIND = ["valgrind", "--tool=cachegrind", "--cache-sim=no"]
VALGRIND += ["--cachegrind-out-file=/dev/null"]
# How often a worker sleeps depends on the machine: one count of so many has to
# be within the limit.
ATTEMPTS = 5
# valgrind counts what a case does, not what others do beside it.
CASES_AT_ONCE = 2
# A limit is so far above what was measured at most; a count that is so far
# below its limit is worth a remark.
HEADROOM, SLACK = 1.1, 0.8


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(77)


class Case:
    def __init__(self, workload, entry):
        self.workload = workload
        options = entry.get("options", "").split()
        self.options = [*options, "--workers=1"]
        self.less = [*options, entry["less"]] if "less" in entry else None
        self.long = entry.get("long", False)
        self.measured, self.limit = entry["measured"], entry["limit"]


def run(bench, case, options, rounds, wrapper=()):
    """The workload's result, and what was said on stderr."""
    command = [*wrapper, str(bench), "run", case.workload, *options, "--json"]
    command += [f"--rounds={rounds}"]
    ran = subprocess.run(command, capture_output=True, text=True)
    if ran.returncode:
        sys.exit(f"{' '.join(command)}: exit code {ran.returncode}\n{ran.stderr}")
    return json.loads(ran.stdout), ran.stderr


class Counters:
    """The hardware's."""

    name = "hardware counters"
    cases_at_once = 1

    def __init__(self, bench):
        self.bench = bench

    def count(self, case, options, rounds=3):
        result, _ = run(self.bench, case, options, rounds)
        counted = (result["counters"] or {}).get("instructions")
        return None if counted is None else counted / rounds / result["ops"]


class Valgrind:
    name = "valgrind"
    cases_at_once = CASES_AT_ONCE

    def __init__(self, bench, clock):
        self.bench = bench
        self.wrapper = ["env", f"LD_PRELOAD={clock}", *VALGRIND]

    def instructions(self, case, options, rounds):
        result, said = run(self.bench, case, options, rounds, self.wrapper)
        found = re.search(r"I +refs: +([\d,]+)", said)
        if not found:
            sys.exit(f"valgrind said no number of instructions:\n{said}")
        if result["ns_per_op"] >= 1:
            sys.exit(f"{case.workload} had another clock than {self.wrapper[1]}")
        return int(found[1].replace(",", "")), result["ops"]

    def count(self, case, options):
        if case.long:  # the start is nothing to it; one is the warm-up
            total, ops = self.instructions(case, options, 1)
            return total / 2 / ops
        total, ops = self.instructions(case, options, 3)
        return (total - self.instructions(case, options, 1)[0]) / 2 / ops


def count(counter, case):
    total = counter.count(case, case.options)
    if case.less:
        total -= counter.count(case, case.less)
    return total


def compare(counter, case):
    """A line about a case, and a complaint, or None."""
    least = None
    for _ in range(ATTEMPTS):
        taken = count(counter, case)
        least = taken if least is None else min(least, taken)
        if least <= case.limit:
            break
    remark = ""
    if least < SLACK * case.limit:
        remark = f": lower it in {LIMITS}"
    line = f"{case.workload:<24}{least:>9.1f}  limit {case.limit}{remark}"
    if least <= case.limit:
        return line, None
    return line, (
        f"FAILED: {case.workload}, 1 worker: {least:.1f} instructions an operation "
        f"({counter.name}, least of {ATTEMPTS}), the limit is {case.limit}. "
        f"Make it cheaper; or raise {case.workload} in {LIMITS}, in a commit "
        "that says why, as its head asks for"
    )


def wrong_limits(limits, workloads):
    """Complaints about the file itself."""
    cases, left_out = limits["cases"], limits["left_out"]
    for name in sorted(set(workloads) - set(cases) - set(left_out)):
        yield f"{LIMITS}: {name} is neither a case nor left out with a reason"
    for name in sorted(set(cases) | set(left_out)):
        if name not in workloads:
            yield f"{LIMITS}: skua-bench has no workload {name}"
    for name, entry in cases.items():
        measured, limit = entry["measured"], entry["limit"]
        if not measured <= limit <= HEADROOM * measured + 1:
            yield (
                f"{LIMITS}: {name}: the limit, {limit}, has to be from measured, "
                f"{measured}, to a tenth above"
            )


def check_build(build):
    """Skip where instructions are not those of a release."""
    cache = build / "CMakeCache.txt"
    if not (build / "bench/skua-bench").is_file():
        skip(f"{build}/bench/skua-bench is not built")
    found = re.findall(r"^(\w+):\w+=(.*)$", cache.read_text(), re.MULTILINE)
    options = dict(found)
    kind = options.get("CMAKE_BUILD_TYPE")
    if kind not in ("Release", "RelWithDebInfo"):
        skip(f"the build is not an optimised one, but '{kind}'")
    if options.get("SKUA_SANITIZE"):
        skip(f"the build has a sanitizer, {options['SKUA_SANITIZE']}")
    if options.get("SKUA_COVERAGE", "OFF") != "OFF":
        skip("the build counts coverage")
    if platform.machine() != "x86_64":
        skip(f"the limits are for x86-64, not {platform.machine()}")


def choose_counter(case, build, scratch, forced):
    """How to count here."""
    bench = build / "bench/skua-bench"
    clock = build / "tests/libbudget_clock.so"
    reason = "asked for"
    if not forced:
        counters = Counters(bench)
        if counters.count(case, case.options, 1) is not None:
            print("counted by the hardware counters")
            return counters
        reason = run(bench, case, case.options, 1)[0]["counters_reason"]
    for tool in ("valgrind", "strip"):
        if not shutil.which(tool):
            skip(f"{reason}; and {tool} is not installed")
    if not clock.is_file():
        skip(f"{reason}; and {clock} is not built")
    # valgrind gives up on debugging information that is newer than itself.
    stripped = Path(scratch) / "skua-bench"
    subprocess.run(["strip", "-g", "-o", stripped, bench], check=True)
    print(f"counted by valgrind: {reason}")
    return Valgrind(stripped, clock)


def check(build, limits, arguments):
    """A list of complaints."""
    listed = subprocess.run(
        [build / "bench/skua-bench", "list"], capture_output=True, text=True
    )
    workloads = [line.split()[0] for line in listed.stdout.splitlines()]
    failures = list(wrong_limits(limits, workloads))
    only = [word for word in arguments if not word.startswith("-")]
    for name in only:
        if name not in limits["cases"]:
            failures.append(f"{LIMITS}: no case {name}")
    cases = [
        Case(name, entry)
        for name, entry in limits["cases"].items()
        if not only or name in only
    ]
    if failures:
        return failures
    with tempfile.TemporaryDirectory() as scratch:
        counter = choose_counter(cases[0], build, scratch, "--valgrind" in arguments)
        if counter.name == "valgrind" and "--long" not in arguments:
            for case in cases:
                if case.long:
                    print(f"{case.workload}: left to --long: minutes under valgrind")
            cases = [case for case in cases if not case.long]
        with concurrent.futures.ThreadPoolExecutor(counter.cases_at_once) as pool:
            for line, failure in pool.map(lambda case: compare(counter, case), cases):
                print(line, flush=True)
                failures.append(failure)
    return [failure for failure in failures if failure]


# A skua-bench whose operations take 100 instructions; with --less, 40.
PLANTED = """#!/usr/bin/env python3
import json, sys
if sys.argv[1] == "list":
    sys.exit(print("one  described\\ntwo  so, too"))
rounds = int(sys.argv[-1].partition("=")[2])
counted = (40 if "--less" in sys.argv else 100) * 7 * rounds
print(json.dumps({"ops": 7, "counters": {"instructions": counted}}))
"""
ONE = {"measured": 100, "limit": 110}
# Cases, what is left out, and a part of the one complaint, or None.
PLANTED_LIMITS = [
    ({"one": ONE, "two": ONE}, {}, None),
    ({"one": ONE}, {"two": "a reason"}, None),
    ({"one": ONE}, {}, "two is neither a case"),
    ({"one": ONE}, {"two": "", "three": ""}, "no workload three"),
    ({"one": {"measured": 90, "limit": 99}}, {"two": ""}, "one, 1 worker: 100.0 "),
    ({"one": {"measured": 90, "limit": 101}}, {"two": ""}, "a tenth above"),
    ({"one": {"measured": 90, "limit": 89}}, {"two": ""}, "a tenth above"),
    ({"one": {"measured": 60, "limit": 60, "less": "--less"}}, {"two": ""}, None),
    ({"one": {"measured": 59, "limit": 59, "less": "--less"}}, {"two": ""}, "60.0 "),
]


def self_test():
    wrong = 0
    with tempfile.TemporaryDirectory() as name:
        bench = Path(name) / "bench/skua-bench"
        bench.parent.mkdir()
        bench.write_text(PLANTED)
        bench.chmod(0o755)
        for cases, left_out, expected in PLANTED_LIMITS:
            limits = {"cases": cases, "left_out": left_out}
            got = check(Path(name), limits, [])
            if len(got) != (expected is not None) or (got and expected not in got[0]):
                wrong += 1
                print(f"{limits}: wanted {expected}, got {got}")
    print(f"{len(PLANTED_LIMITS)} planted cases, {wrong} judged wrongly")
    sys.exit(1 if wrong else 0)


def main(arguments):
    if arguments == ["--self-test"]:
        self_test()
    build = Path(os.environ.get("SKUA_BUILD_DIR", "build")).resolve()
    check_build(build)
    os.environ.update(ENVIRONMENT)
    limits = tomllib.loads((FOLDER / "limits.toml").read_text())
    failures = check(build, limits, arguments)
    for failure in failures:
        print(failure)
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main(sys.argv[1:])
