#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: MIT
"""summary.py - check what tests/summary.py makes of reports, and of second tries"""

import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET
from pathlib import Path

import tree

SUMMARY = tree.ROOT / "tests" / "summary.py"

PASSED = ("run", "")
FAILED = ("fail", "ready\nFAILED: blame: grep -q x\n  | more\n")
CRASHED = ("fail", "x.c:3:1: runtime error: signed integer overflow\n")
SIGNALLED = ("fail", "FAILED: blame\n  exit code 139; stdout, stderr:\n")
SKIPPED = ("notrun", "no BPF here\n")
HEADING = "passed only at the second try"


def write(path, tests):
    suite = ET.Element("testsuite")
    for name, (status, output) in tests.items():
        case = ET.SubElement(suite, "testcase", name=name, status=status)
        ET.SubElement(case, "system-out").text = output
        if status == "notrun":
            ET.SubElement(case, "skipped", message="SKIP_RETURN_CODE=77")
    ET.ElementTree(suite).write(path)


def summarise(*arguments):
    command = [sys.executable, "-B", str(SUMMARY), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


def services(count, result):
    return {f"service.{n}": result for n in range(count)}


# First tries, second tries, the names that get one, and the last line, exit code and other
# lines of the summary.
CASES = [
    ({"unit.a": PASSED}, {}, "", "1 passed, 0 failed, 0 skipped", 0, []),
    ({"unit.a": PASSED, "service.b": SKIPPED}, {}, "", "1 passed, 0 failed, 1 skipped", 0, []),
    ({"unit.a": PASSED, "service.b": FAILED}, {"service.b": PASSED}, r"^(service\.b)$",
     "2 passed, 0 failed, 0 skipped", 0,
     [HEADING, "gcc: service.b", "  FAILED: blame: grep -q x"]),
    ({"service.b": ("fail", "1\n2\n3\n4\n5\n\n6\n")}, {"service.b": PASSED}, r"^(service\.b)$",
     "1 passed, 0 failed, 0 skipped", 0, [HEADING, "  2", "  6"]),
    # It must pass.
    ({"unit.a": PASSED, "service.b": FAILED}, {"service.b": FAILED}, r"^(service\.b)$",
     "1 passed, 1 failed, 0 skipped", 1, ["failed", "gcc: service.b"]),
    ({"unit.a": PASSED, "service.b": FAILED}, {"service.b": SKIPPED}, r"^(service\.b)$",
     "1 passed, 1 failed, 0 skipped", 1, ["failed", "gcc: service.b"]),
    ({"unit.a": PASSED, "service.b": FAILED}, {}, r"^(service\.b)$",
     "1 passed, 1 failed, 0 skipped", 1, ["failed", "gcc: service.b"]),
    # Only tests of live processes.
    ({"unit.a": FAILED, "model.service.a": FAILED, "service.c": PASSED},
     {"unit.a": PASSED, "model.service.a": PASSED}, "",
     "1 passed, 2 failed, 0 skipped", 1, ["failed", "gcc: unit.a", "gcc: model.service.a"]),
    ({"service.kv_why": ("fail", "AssertionError: it is not named\n")},
     {"service.kv_why": PASSED}, r"^(service\.kv_why)$",
     "1 passed, 0 failed, 0 skipped", 0, [HEADING, "gcc: service.kv_why"]),
    # Not the others of the key-value server, and none that has crashed.
    ({"service.kv": FAILED, "service.kv_durable": FAILED}, {"service.kv": PASSED}, "",
     "0 passed, 2 failed, 0 skipped", 1, ["failed", "gcc: service.kv", "gcc: service.kv_durable"]),
    ({"service.b": CRASHED, "service.c": SIGNALLED},
     {"service.b": PASSED, "service.c": PASSED}, "",
     "0 passed, 2 failed, 0 skipped", 1, ["failed", "gcc: service.b", "gcc: service.c"]),
    # Three at most.
    (services(3, FAILED), services(3, PASSED), r"^(service\.0|service\.1|service\.2)$",
     "3 passed, 0 failed, 0 skipped", 0,
     [HEADING, "gcc: service.0", "gcc: service.1", "gcc: service.2"]),
    ({"unit.a": PASSED, **services(4, FAILED)}, {}, "",
     "1 passed, 4 failed, 0 skipped", 1, [f"gcc: service.{n}" for n in range(4)]),
    ({"unit.a": PASSED, **services(4, FAILED)}, services(4, PASSED), "",
     "1 passed, 4 failed, 0 skipped", 1,
     [HEADING] + [f"gcc: service.{n}: one of too many second tries" for n in range(4)]),
]  # fmt: skip


def check(folder, first, second, again, last, code, lines):
    """Return a complaint, or None."""
    results = folder / "results.xml"
    write(results, first)
    got = summarise("--again", str(results)).stdout.strip()
    if got != again:
        return f"gives a second try to {got}, not to {again}"
    if second:
        write(folder / "again.xml", second)
    ran = summarise(f"gcc 1 {results}")
    said = [line.removeprefix("  ") for line in ran.stdout.splitlines()]
    if said[-1:] != [last] or ran.returncode != code:
        return f"not '{last}' and {code}, but {ran.returncode} and\n{ran.stdout}{ran.stderr}"
    if (HEADING in ran.stdout) != (HEADING in lines):
        return f"a heading too many, or missing:\n{ran.stdout}"
    for line in lines:
        if not any(s.startswith(line) for s in said):
            return f"no line '{line}' in\n{ran.stdout}"
    return None


def main():
    wrong = 0
    for number, case in enumerate(CASES):
        with tempfile.TemporaryDirectory() as folder:
            complaint = check(Path(folder), *case)
        if complaint:
            wrong += 1
            print(f"case {number}: {complaint}")
    print(f"{len(CASES)} planted reports, {wrong} summed up wrongly")
    sys.exit(1 if wrong else 0)


main()
