# SPDX-License-Identifier: MIT
"""tree.py - read the source tree for the house tests"""

import re
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

_TOKEN = re.compile(
    r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.DOTALL
)


def sources(root, suffixes=(".c", ".h")):
    """Return the paths of the source files below root, relative to it and sorted.

    Build folders and dot folders are left out.
    """
    found = []
    for path in root.rglob("*"):
        parts = path.relative_to(root).parts
        if parts[0].startswith("build") or any(p[0] == "." for p in parts):
            continue
        if path.suffix in suffixes and path.is_file():
            found.append(path.relative_to(root).as_posix())
    return sorted(found)


def strip(text, strings=True):
    """Return C source without comments, and without strings if asked. Line numbers stay
    valid."""

    def blank(match):
        token = match.group()
        if token[0] != "/" and not strings:
            return token
        return " " + "\n" * token.count("\n")

    return _TOKEN.sub(blank, text)


def find_circle(graph):
    """Return files that use each other in a circle, or None."""
    done = set()

    def visit(source, path):
        if source in path:
            return path[path.index(source) :] + [source]
        if source in done:
            return None
        for other in sorted(graph.get(source, ())):
            circle = visit(other, path + [source])
            if circle:
                return circle
        done.add(source)
        return None

    for source in sorted(graph):
        circle = visit(source, [])
        if circle:
            return circle
    return None


def main(check, check_planted, cases):
    """Run check(root) on the tree, or on planted files with --self-test.

    A check returns a list of complaints. A case consists of a map from paths to contents,
    and a part of the only complaint that these files must cause; None if they must cause
    none.
    """
    if sys.argv[1:] != ["--self-test"]:
        complaints = check(ROOT)
        for complaint in complaints:
            print(complaint)
        sys.exit(1 if complaints else 0)

    wrong = 0
    for number, (files, expected) in enumerate(cases):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in files.items():
                path = Path(folder) / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            got = check_planted(Path(folder))
        wanted = 0 if expected is None else 1
        if len(got) != wanted or (wanted and expected not in got[0]):
            wrong += 1
            print(f"case {number}: wanted {expected}, got {got}")
    print(f"{len(cases)} planted cases, {wrong} judged wrongly")
    sys.exit(1 if wrong else 0)
