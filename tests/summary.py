#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: MIT
"""summary.py - sums up the test reports of several builds

usage: summary.py [--filtered] "NAME SECONDS FILE"...
       summary.py --again FILE

FILE is the JUnit report that ctest wrote for the build NAME. One that is no
report (because the build failed) counts as a failed test; a build without tests
counts as one too, unless they were filtered. A cmocka program counts as many tests
as it ran cases, any other program as one. A test that passed only at the second try
(report.py) counts as passed, and is listed with what the first one complained about;
more than three of them count as failed. Exit code: 0 if something passed and nothing
failed.

--again prints a regular expression of the names of the tests that get a second try, or
nothing.
"""

import os
import re
import sys
import xml.etree.ElementTree as ET

import report

RAN = re.compile(r"^\[ RUN      \] (\w+)$", re.MULTILINE)
OK = re.compile(r"^\[       OK \] (\w+)$", re.MULTILINE)
SKIPPED = re.compile(r"^\[  SKIPPED \] (\w+)$", re.MULTILINE)

# ctest's message of a test that exited with 77.
SKIP_MESSAGE = "SKIP_RETURN_CODE=77"


class Build:
    """One build's counts; failed, skipped and again are lists of lines to print."""

    def __init__(self, name, seconds, path, filtered):
        self.name, self.seconds = name, int(seconds)
        self.passed, self.failed, self.skipped, self.again = 0, [], [], []
        try:
            tests = report.read(path)
        except (OSError, ET.ParseError):
            self.failed.append(f"{name}: did not build, or its tests did not run")
            return
        for test, first in tests:
            title = f"{name}: {test.get('name')}"
            self.add(title, test)
            if first is not None:
                self.again.append((title, complaints(first)))
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

    def refuse_again(self):
        """Too many tests needed a second try: none of them passed."""
        self.passed -= len(self.again)
        self.failed += [f"{title}: one of too many second tries" for title, _ in self.again]


def complaints(test):
    """Return what a test that failed said: its checks that failed, or else its end."""
    lines = [line for line in (test.findtext("system-out") or "").splitlines() if line.strip()]
    failed = [line for line in lines if line.startswith("FAILED")]
    return failed[:10] or lines[-5:] or ["it printed nothing"]


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
    if arguments[:1] == ["--again"]:
        names = report.to_try_again(arguments[1])
        if names:
            print(f"^({'|'.join(map(re.escape, names))})$")
        sys.exit()
    filtered = "--filtered" in arguments
    builds = [
        Build(*argument.split(" ", 2), filtered)
        for argument in arguments
        if argument != "--filtered"
    ]
    if sum(len(build.again) for build in builds) > report.MOST_AGAIN:
        for build in builds:
            build.refuse_again()
    passed = sum(build.passed for build in builds)
    failed = [line for build in builds for line in build.failed]
    skipped = [line for build in builds for line in build.skipped]
    again = [test for build in builds for test in build.again]
    terminal = os.isatty(1)

    print(f"\n{'build':<10}{'passed':>8}{'failed':>8}{'skipped':>9}{'seconds':>9}")
    for b in builds:
        counts = f"{b.passed:>8}{len(b.failed):>8}{len(b.skipped):>9}{b.seconds:>9}"
        print(f"{b.name:<10}{counts}")
    tried = [line for title, said in again for line in (title, *(f"  {s}" for s in said))]
    for title, code, lines in (
        ("skipped", 33, skipped),
        ("passed only at the second try; the first one said", 33, tried),
        ("failed", 31, failed),
    ):
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
