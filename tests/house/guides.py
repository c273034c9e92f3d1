#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: MIT
"""guides.py - check that the programs in docs/guides print what the guides say

usage: guides.py [PEER]

Compiles each block in C, C++ or Rust, and compares the output of the program with the text
block that must follow. A block in Python is run as it is. Without PEER it checks the
programs that use skua, except those in Rust. With PEER libuv, onetbb, openmp, pthreads or
tokio it checks those that use that library instead; with rust, those in Rust that use skua.
Exit code 77: the library or the compiler is not installed.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import tree

BLOCK = re.compile(r"^```(\S*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
SUFFIX = {"c": ".c", "c++": ".cpp", "rust": ".rs", "python": ".py"}
# How a program shows which library it uses; the first that fits counts.
USES = {
    "skua": r"#include <skua/|CDLL\(\"libskua",
    "rust": r"#\[link\(name = \"skua\"\)\]",
    "tokio": r"use tokio\b",
    "libuv": r"#include <uv\.h>",
    "onetbb": r"#include <(oneapi/)?tbb/",
    "openmp": r"#pragma omp",
    "pthreads": r"#include <pthread\.h>",
}
BUILD = Path(os.environ.get("SKUA_BUILD_DIR", "build")).resolve()
REGISTRY = Path(os.environ.get("SKUA_CARGO_REGISTRY", "/usr/share/cargo/registry"))
MANIFEST = """[package]
name = "program"
version = "0.0.0"
edition = "2021"
[dependencies]
tokio = { version = "1", features = ["rt-multi-thread", "macros", "sync", "time"] }
"""


def skip(reason):
    print(reason)
    sys.exit(77)


def flags(peer):
    """Return what a program of a library is compiled and linked with, or skip the test."""
    if peer == "skua":
        return [f"-I{tree.ROOT}/include", f"-L{BUILD}", "-lskua", f"-Wl,-rpath,{BUILD}"]
    if peer == "rust":
        link = ["-L", f"native={BUILD}", "-C", f"link-arg=-Wl,-rpath,{BUILD}"]
        return link if shutil.which("rustc") else skip("not installed: rustc")
    if peer == "libuv":
        found = subprocess.run(["pkg-config", "--cflags", "--libs", "libuv"],
                               capture_output=True, text=True)
        return found.stdout.split() if not found.returncode else skip("not installed: libuv1-dev")
    if peer == "onetbb":
        if not compiles("c++", "#include <tbb/parallel_reduce.h>"):
            skip("not installed: libtbb-dev")
        return ["-ltbb"]
    if peer == "openmp":
        if not compiles("c", "#include <omp.h>", "-fopenmp"):
            skip("the C compiler has no OpenMP")
        return ["-fopenmp"]
    if peer == "tokio" and not (shutil.which("cargo") and list(REGISTRY.glob("tokio-1.*"))):
        skip("not installed: cargo, librust-tokio-dev")
    return []


def compiler(language):
    cc = os.environ.get("CC", "cc")
    if language == "c":
        return [cc, "-std=c11", "-x", "c"]
    name = re.sub(r"gcc(?=[^/]*$)", "g++", re.sub(r"clang(?=[^/]*$)", "clang++", cc))
    return [re.sub(r"(^|/)cc$", r"\1c++", name), "-std=c++17", "-x", "c++"]


def compiles(language, text, *more):
    command = [*compiler(language), *more, "-fsyntax-only", "-"]
    return not subprocess.run(command, input=text, capture_output=True, text=True).returncode


def make(folder, language, text, peer):
    """Compile a program. Return its path, or what the compiler said."""
    program = folder / "program"
    if language == "python":
        program.write_text(f"#!{sys.executable}\n{text}")
        program.chmod(0o755)
        return program, None
    if peer == "rust":
        source = folder / "program.rs"
        source.write_text(text)
        command = ["rustc", "--edition", "2021", "-D", "warnings", *flags(peer), "-o"]
        command += [str(program), str(source)]
    elif language == "rust":
        (folder / "src").mkdir(exist_ok=True)
        (folder / "src/main.rs").write_text(text)
        (folder / "Cargo.toml").write_text(MANIFEST)
        (folder / ".cargo").mkdir(exist_ok=True)
        (folder / ".cargo/config.toml").write_text(
            '[source.crates-io]\nreplace-with = "installed"\n'
            f'[source.installed]\ndirectory = "{REGISTRY}"\n'
        )
        command = ["cargo", "build", "--quiet", "--offline"]
        program = folder / "target/debug/program"
    else:
        source = folder / f"program{SUFFIX[language]}"
        source.write_text(text)
        command = [*compiler(language), "-O2", "-Wall", "-Wextra", "-Werror", "-D_GNU_SOURCE"]
        command += [str(source), "-x", "none", "-o", str(program), *flags(peer), "-pthread"]
    built = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    return (program, None) if not built.returncode else (None, built.stderr)


def check(folder, language, text, peer, expected):
    """Return a complaint, or None."""
    program, fault = make(folder, language, text, peer)
    if fault:
        return f"does not compile\n{fault}"
    # A program in Python has no path to the library inside.
    path = {**os.environ, "LD_LIBRARY_PATH": str(BUILD)} if language == "python" else None
    ran = subprocess.run([program], capture_output=True, text=True, timeout=120, env=path)
    if ran.returncode or ran.stderr or ran.stdout != expected:
        return (
            f"exit code {ran.returncode}\n--- printed\n{ran.stdout}{ran.stderr}"
            f"--- the guide says\n{expected}"
        )
    return None


def programs(path):
    """Yield language, text and output of each program; the output is None if missing."""
    blocks = BLOCK.findall(path.read_text()) + [("", "")]
    for (language, text), (next_language, output) in zip(blocks, blocks[1:]):
        if language in SUFFIX:
            yield language, text, output if next_language == "text" else None


def main():
    wanted = sys.argv[1] if len(sys.argv) > 1 else "skua"
    if wanted not in USES:
        sys.exit(f"guides.py: unknown library {wanted}; allowed: {', '.join(USES)}")
    flags(wanted)
    failed, count = False, 0
    with tempfile.TemporaryDirectory() as name:
        for path in sorted((tree.ROOT / "docs/guides").glob("*.md")):
            for number, (language, text, output) in enumerate(programs(path), 1):
                peer = next((p for p, mark in USES.items() if re.search(mark, text)), None)
                where = f"{path.name}, program {number}"
                if output is None or peer is None:
                    print(f"{where}: {'no library' if output else 'no output'} is stated")
                    failed = True
                elif peer == wanted:
                    count += 1
                    fault = check(Path(name), language, text, peer, output)
                    print(f"{where}: {fault or 'as stated'}")
                    failed |= fault is not None
    print(f"{count} programs")
    sys.exit(1 if failed or not count else 0)


main()
