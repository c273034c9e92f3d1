#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: MIT
"""probes.py - check that the ELF notes of the probes agree with probes/PROBES.md

Reads the notes of libskua.so and of a program that is linked with libskua.a, in
SKUA_BUILD_DIR, with readelf. Compares provider, names and arguments with the table. Each
note must refer to a nop, and to a semaphore of its own.
"""

import os
import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path

import tree

ROW = re.compile(r"^\| `(\w+)` \| (`u?int64 \w+`(?:, `u?int64 \w+`)*) \|", re.MULTILINE)
NOTE = re.compile(
    r"Provider: (\S+)\s+Name: (\S+)\s+Location: (\S+), Base: (\S+), "
    r"Semaphore: (\S+)\s+Arguments: (.*)"
)
SECTION = re.compile(
    r"\] (\S+)\s+\S+\s+([0-9a-f]{16}) ([0-9a-f]+) ([0-9a-f]+) [0-9a-f]+\s+(\w*)"
)

REGISTERS = {
    "x86_64": (["%rdi", "%rsi", "%rdx", "%rcx"], b"\x90"),
    "aarch64": (["x0", "x1", "x2", "x3"], b"\x1f\x20\x03\xd5"),
}


def documented(registers):
    """Return each probe's name, with the expected arguments in its note."""
    probes = {}
    for name, arguments in ROW.findall((tree.ROOT / "probes/PROBES.md").read_text()):
        types = re.findall(r"`(\w+) ", arguments)
        probes[name] = " ".join(
            ("8@" if kind == "uint64" else "-8@") + register
            for kind, register in zip(types, registers)
        )
    return probes


def readelf(option, file):
    command = ["readelf", option, "-W", str(file)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


class Sections:
    def __init__(self, file):
        self.bytes = file.read_bytes()
        self.all = [
            (name, int(address, 16), int(offset, 16), int(size, 16), flags)
            for name, address, offset, size, flags in SECTION.findall(
                readelf("-S", file)
            )
        ]

    def find(self, address):
        for name, start, offset, size, flags in self.all:
            if "A" in flags and start <= address < start + size:
                return name, flags, offset + address - start
        return None, "", 0

    def start(self, wanted):
        return next((s[1] for s in self.all if s[0] == wanted), None)


def check(file, expected, nop):
    """Return complaints about the notes of a file."""
    sections, complaints, found, semaphores = Sections(file), [], {}, set()
    for provider, name, location, base, semaphore, arguments in NOTE.findall(
        readelf("-n", file)
    ):
        if provider != "skua":
            continue
        if name in found:
            complaints.append(f"{name}: more than one note")
        found[name] = arguments.strip()
        _, flags, offset = sections.find(int(location, 16))
        if "X" not in flags or sections.bytes[offset : offset + len(nop)] != nop:
            complaints.append(f"{name}: no nop at {location}")
        if int(base, 16) != sections.start(".stapsdt.base"):
            complaints.append(f"{name}: {base} is not the place of .stapsdt.base")
        if sections.find(int(semaphore, 16))[0] != ".probes":
            complaints.append(f"{name}: no semaphore at {semaphore}")
        semaphores.add(semaphore)
    if len(semaphores) != len(found):
        complaints.append("two probes share a semaphore")
    for name in sorted(expected.keys() | found.keys()):
        if expected.get(name) != found.get(name):
            complaints.append(
                f"{name}: the note says {found.get(name)}, "
                f"the table means {expected.get(name)}"
            )
    return [f"{file.name}: {complaint}" for complaint in complaints]


def main():
    if platform.machine() not in REGISTERS:
        print(f"there are no probes on {platform.machine()}")
        sys.exit(77)
    if not shutil.which("readelf"):
        print("readelf is not installed")
        sys.exit(77)
    registers, nop = REGISTERS[platform.machine()]
    build = Path(os.environ.get("SKUA_BUILD_DIR", "build"))
    expected = documented(registers)
    complaints = [] if expected else ["no table in probes/PROBES.md"]
    for file in (build / "libskua.so", build / "tests/test_probes"):
        complaints += check(file.resolve(), expected, nop)
    print("\n".join(complaints) or f"{len(expected)} probes, as probes/PROBES.md says")
    sys.exit(1 if complaints else 0)


main()
