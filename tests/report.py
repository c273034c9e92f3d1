# SPDX-License-Identifier: MIT
"""report.py - read the JUnit report that ctest wrote for a build

The tests of the label `service` watch live processes in real time, so a machine that is
busy with something else can fail them. tests/run gives those that fail a second try,
alone, whose report is again.xml beside the first one. A failure of any other test stays
a failure: also one of the key-value server, whose clients do not depend on the time (but
service.kv_why watches the server), and one that tells of a crash. An AssertionError of a
script is no crash.
"""

import re
import xml.etree.ElementTree as ET
from pathlib import Path

AGAIN = "again.xml"

# More tests than these that need a second try fail the run.
MOST_AGAIN = 3


LIVE = re.compile(r"service\.(?!kv(?!_why))")
CRASH = re.compile(
    r"Sanitizer|runtime error:|core dumped|Segmentation fault|Aborted|Assertion(?!Error)|"
    r"exit code 1(34|39)\b"
)


def may_try_again(test):
    return (
        test.get("status") == "fail"
        and LIVE.match(test.get("name"))
        and not CRASH.search(test.findtext("system-out") or "")
    )


def read(path):
    """Return (test, first) for each test of the report: the try that counts, and the first
    one if that is the second. A second try counts only if it passed."""
    path = Path(path)
    again = {}
    if (path.parent / AGAIN).exists():
        second = ET.parse(path.parent / AGAIN).getroot().findall("testcase")
        again = {t.get("name"): t for t in second if t.get("status") == "run"}
    tests = []
    for test in ET.parse(path).getroot().findall("testcase"):
        if may_try_again(test) and test.get("name") in again:
            tests.append((again[test.get("name")], test))
        else:
            tests.append((test, None))
    return tests


def to_try_again(path):
    """Return the names of the failed tests that get a second try: none if they are too many
    for the run to pass, or if there is no report."""
    try:
        tests = ET.parse(path).getroot().findall("testcase")
    except (OSError, ET.ParseError):
        return []
    names = [t.get("name") for t in tests if may_try_again(t)]
    return names if len(names) <= MOST_AGAIN else []
