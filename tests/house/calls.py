#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: MIT
"""calls.py - check that no two files of the library call each other, also indirectly

Reads the object files in SKUA_BUILD_DIR: a file that needs a symbol of another file uses
that file. Inline functions of headers do not count here; tests/house/layers.py checks the
includes.
"""

import os
import subprocess
import sys
from pathlib import Path

import tree

FOLDERS = ("core/*/*.c", "topology/*.c", "probes/*.c")


def read_symbols(objects):
    """Return the names that each file defines, and the names that it needs."""
    defined, needed = {}, {}
    for source, path in objects.items():
        lines = subprocess.run(
            ["nm", "-P", path], check=True, capture_output=True, text=True
        ).stdout.splitlines()
        for line in lines:
            name, kind = line.split()[:2]
            if kind == "U":
                needed.setdefault(source, set()).add(name)
            elif kind.isupper():
                defined[name] = source
    return defined, needed


def uses(defined, needed):
    """Return, for each file, the files that it uses."""
    graph = {source: set() for source in {*defined.values(), *needed}}
    for source, names in needed.items():
        graph[source] = {defined[n] for n in names if n in defined} - {source}
    return graph


def self_test():
    cases = [
        ({"a": {"b"}, "b": {"c"}, "c": set()}, None),
        ({"a": {"b"}, "b": {"a"}}, ["a", "b", "a"]),
        ({"a": {"b"}, "b": {"c"}, "c": {"b"}}, ["b", "c", "b"]),
    ]
    wrong = [case for case, circle in cases if tree.find_circle(case) != circle]
    defined = {"f": "a", "g": "b"}
    if uses(defined, {"a": {"g", "f", "malloc"}}) != {"a": {"b"}, "b": set()}:
        wrong.append("uses")
    print(f"{len(cases) + 1} planted cases, {len(wrong)} judged wrongly")
    return 1 if wrong else 0


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    build = Path(os.environ.get("SKUA_BUILD_DIR", "build"))
    folder = build / "CMakeFiles/skua_objects.dir"
    sources = [
        path.relative_to(tree.ROOT).as_posix()
        for pattern in FOLDERS
        for path in tree.ROOT.glob(pattern)
    ]
    # Some files of probes/ belong to the library, others to tools only.
    objects = {s: folder / f"{s}.o" for s in sources if (folder / f"{s}.o").exists()}
    if not any(source.startswith("core/") for source in objects):
        print(f"{folder}: no object files")
        return 1
    circle = tree.find_circle(uses(*read_symbols(objects)))
    if circle:
        print("circle of calls: " + " -> ".join(circle))
    return 1 if circle else 0


sys.exit(main())
