#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: MIT
"""summary.py - sums up the test reports of several builds

usage: summary.py [--filtered] "NAME SECONDS FILE"...

FILE is the JUnit report that ctest wrote for the build NAME. One that is no
report (because the build failed) counts as a failed test; a build without tests
counts as one too, unless they were filtered. A cmocka program counts as many tests
as it ran cases, any other program as one. Exit code: 0 if something passed and
nothing failed.
"""

import os
import re
import sys
import xml.etree.ElementTree as ET

RAN = re.compile(r"^\[ RUN      \] (\w+)$", re.MULTILINE)
OK = re.compile(r"^\[       OK \] (\w+)$", re.MULTILINE)
SKIPPED = re.compile(r"^\[  SKIPPED \] (\w+)$", re.MULTILINE)

# ctest's message of a test that exited with 77.
SKIP_MESSAGE = "SKIP_RETURN_CODE=77"


class Build:
    """One build's counts; failed and skipped are lists of lines to print."""

    def __init__(self, name, seconds, path, filtered):
        self.name, self.seconds = name, int(seconds)
        self.passed, self.failed, self.skipped = 0, [], []
        try:
            tests = ET.parse(path).getroot().findall("testcase")
        except (OSError, ET.ParseError):
            self.failed.append(f"{name}: did not build, or its tests did not run")
            return
        for test in tests:
            self.add(f"{name}: {test.get('name')}", test)
        if not tests and not filtered:
            self.failed.append(f"{name}: there are no tests")

    def add(self, title, test):
        output = test.findtext("system-out") or ""
        ran, passed = RAN.findall(output), OK.findall(output)
        left_out = set()
        for match in SKIPPED.finditer(output):
            case = match.group(1)
            if case not in left_out:  # cmocka lists them again at the end
                left_out.add(case)
                why = reason(output[: match.start()], case) or reason(output)
                self.skipped.append(f"{title}: {case}: {why or 'no reason given'}")

        skipped = test.find("skipped")
        if skipped is not None and skipped.get("message") == SKIP_MESSAGE:
            self.passed += len(passed)
            if not left_out:
                why = reason(output) or "no reason given"
                self.skipped.append(f"{title}: {why}")
        elif test.get("status") == "run":
            self.passed += len(passed) if ran else 1
        else:  # failed, crashed, too slow, or not there at all
            self.passed += len(passed)
            others = set(ran) - set(passed) - left_out
            self.failed += [f"{title}: {case}" for case in sorted(others)] or [title]


def reason(output, case=""):
    """The last line of a test's output, less what the case's name repeats."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    if not lines or lines[-1].startswith("[") or lines[-1].endswith("TEST(S)"):
        return ""
    return re.sub(rf"^skipped( in part)?: ({case}: )?", "", lines[-1])


def colour(code, text, enabled):
    return f"\x1b[{code}m{text}\x1b[0m" if enabled else text


def main():
    arguments = sys.argv[1:]
    filtered = "--filtered" in arguments
    builds = [
        Build(*argument.split(" ", 2), filtered)
        for argument in arguments
        if argument != "--filtered"
    ]
    passed = sum(build.passed for build in builds)
    failed = [line for build in builds for line in build.failed]
    skipped = [line for build in builds for line in build.skipped]
    terminal = os.isatty(1)

    print(f"\n{'build':<10}{'passed':>8}{'failed':>8}{'skipped':>9}{'seconds':>9}")
    for b in builds:
        counts = f"{b.passed:>8}{len(b.failed):>8}{len(b.skipped):>9}{b.seconds:>9}"
        print(f"{b.name:<10}{counts}")
    for title, code, lines in (("skipped", 33, skipped), ("failed", 31, failed)):
        if lines:
            print("\n" + colour(code, title, terminal))
            for line in lines:
                print(f"  {line}")
    if not passed and not failed:
        why = "no test's name matches the filter" if filtered else "no test passed"
        print("\n" + colour(31, f"{why}: that is a failure", terminal))

    # Exactly so, and last: others read it.
    print(f"\n{passed} passed, {len(failed)} failed, {len(skipped)} skipped")
    sys.exit(1 if failed or not passed else 0)


main()
