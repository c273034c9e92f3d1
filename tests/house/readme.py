#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: MIT
"""readme.py - check that the programs in README.md print what it says

Compiles each C block of README.md with the compiler in CC, as C11 and as C++17, against
the shared and the static library in SKUA_BUILD_DIR. Compares the output of each program
with the text block that follows.
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import tree

BLOCKS = re.compile(r"^```c\n(.*?)^```$.*?^```text\n(.*?)^```$", re.DOTALL | re.M)
FLAGS = "-O2 -Wall -Wextra -Wpedantic -Wshadow -Werror".split()
LANGUAGES = {"C11": ["-x", "c", "-std=c11"], "C++17": ["-x", "c++", "-std=c++17"]}


def run(folder, kind, language, link, expected):
    """Compile, link and run the program in one way. Return a complaint, or None."""
    program = folder / kind
    command = [os.environ.get("CC", "cc"), *FLAGS, f"-I{tree.ROOT}/include"]
    command += [*LANGUAGES[language], str(folder / "program.c"), "-x", "none"]
    command += ["-o", str(program), *link, "-pthread"]
    built = subprocess.run(command, capture_output=True, text=True)
    if built.returncode:
        return f"does not compile: {' '.join(command)}\n{built.stderr}"
    ran = subprocess.run([str(program)], capture_output=True, text=True, timeout=60)
    if ran.returncode or ran.stderr or ran.stdout != expected:
        return (
            f"exit code {ran.returncode}\n--- printed\n{ran.stdout}{ran.stderr}"
            f"--- the README says\n{expected}"
        )
    return None


def static_needs(build):
    """Return what a program that is linked with libskua.a is linked with as well."""
    needs = re.search("^Requires.private: (.*)", (build / "skua.pc").read_text(), re.MULTILINE)
    command = ["pkg-config", "--libs", *needs[1].split()]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()


def main():
    build = Path(os.environ.get("SKUA_BUILD_DIR", "build")).resolve()
    blocks = BLOCKS.findall((tree.ROOT / "README.md").read_text())
    if not blocks:
        sys.exit("README.md has no C block followed by a text block")
    links = {
        "shared": [f"-L{build}", "-lskua", f"-Wl,-rpath,{build}"],
        "static": [f"{build}/libskua.a", *static_needs(build)],
    }
    failed = False
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for number, (program, expected) in enumerate(blocks, 1):
            (folder / "program.c").write_text(program)
            for language in LANGUAGES:
                for kind, link in links.items():
                    fault = run(folder, kind, language, link, expected)
                    where = f"program {number} as {language}, {kind} library"
                    print(f"{where}: {fault or 'as stated'}")
                    failed |= fault is not None
    sys.exit(1 if failed else 0)


main()
