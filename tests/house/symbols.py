#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: MIT
"""symbols.py - check that the libraries export exactly what the public headers declare

Compares three lists of names: the functions that the headers mark SKUA_API, the names that
core/skua.map exports, and the names that the libraries in SKUA_BUILD_DIR export. Names of
the shared library must have a symbol version. The static library may also define the
semaphores of the probes. Both libraries also define the symbol at which other processes
begin to read, which no header declares.
"""

import os
import re
import subprocess
import sys

import tree

ROOT = ["skua_debug_root"]
API = re.compile(r"\bSKUA_API\b[^;({]*?\b(\w+)\s*(?:\(|\[|;|=)")
MAPPED = re.compile(r"^\s*(\w+);", re.MULTILINE)


def declared():
    names = []
    for path in (tree.ROOT / "include/skua").glob("*.h"):
        text = tree.strip(path.read_text())
        text = re.sub(r"^\s*#.*", "", text, flags=re.MULTILINE)
        names += API.findall(text)
    return names


def exported(library):
    """Return the names with their versions; '' for a name without a version."""
    lines = subprocess.run(
        ["nm", "-D", "--defined-only", "--with-symbol-versions", library],
        check=True,
        capture_output=True,
        text=True,
    ).stdout.splitlines()
    names = {}
    for line in lines:
        _, kind, symbol = line.split()
        if kind != "A":  # A: the name of a version
            name, _, version = symbol.partition("@")
            names[name] = version.strip("@")
    return names


def defined(archive):
    """Return the global names that an archive defines."""
    lines = subprocess.run(
        ["nm", "-g", "--defined-only", archive],
        check=True,
        capture_output=True,
        text=True,
    ).stdout.splitlines()
    return [line.split()[2] for line in lines if len(line.split()) == 3]


def main():
    folder = os.environ.get("SKUA_BUILD_DIR", "build")
    archive = defined(os.path.join(folder, "libskua.a"))
    library = os.path.join(os.environ.get("SKUA_BUILD_DIR", "build"), "libskua.so")
    headers = declared() + ROOT
    mapped = MAPPED.findall(tree.strip((tree.ROOT / "core/skua.map").read_text()))
    found = exported(library)

    complaints = []

    def compare(names, others, complaint):
        complaints.extend(f"{n}: {complaint}" for n in sorted(set(names) - set(others)))

    compare(headers, mapped, "declared, but missing in core/skua.map")
    compare(mapped, headers, "in core/skua.map, but in no public header")
    compare(headers, archive, "declared, but not defined by libskua.a")
    extra = [n for n in archive if not re.fullmatch(r"skua_\w+_semaphore", n)]
    compare(extra, headers, "defined by libskua.a, but in no public header")
    compare(headers, found, "declared, but not exported by libskua.so")
    compare(found, headers, "exported by libskua.so, but in no public header")
    for name, version in found.items():
        if not version.startswith("SKUA_"):
            complaints.append(f"{name}: exported without a version")
    for name in headers:
        if not name.startswith("skua_"):
            complaints.append(f"{name}: a public name begins with skua_")
        if headers.count(name) > 1:
            complaints.append(f"{name}: declared more than once")
    if not headers:
        complaints.append("no SKUA_API name found in include/skua/")
    print("\n".join(complaints) or f"{len(found)} names, the same in all three lists")
    sys.exit(1 if complaints else 0)


main()
