# SPDX-License-Identifier: MIT
"""semaphores.py PID FILE [up|down] - the semaphores of the probes in a process

FILE is what the process has mapped with the probes in it. Prints how many of them
are not 0; with a word, when they all are or none is, which is waited for: the kernel
takes its time.
"""

import re
import struct
import subprocess
import sys
import time

PATIENCE_S = 60


def addresses(path):
    """Of the semaphores, as the file has them."""
    notes = subprocess.run(
        ["readelf", "-nW", path], capture_output=True, text=True, check=True
    ).stdout
    found = re.findall(
        r"Provider: skua\s+Name: (\w+)\s+Location: \S+ Base: \S+ Semaphore: 0x(\w+)",
        notes,
    )
    return {name: int(address, 16) for name, address in found}


def bias(pid, path):
    with open(path, "rb") as file:
        is_fixed = struct.unpack_from("<H", file.read(18), 16)[0] == 2
    for line in open(f"/proc/{pid}/maps"):
        words = line.split()
        if not is_fixed and words[-1] == path and int(words[2], 16) == 0:
            return int(words[0].split("-")[0], 16)
    return 0


def raised(pid, path):
    start, up = bias(pid, path), []
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        for name, address in addresses(path).items():
            memory.seek(start + address)
            if memory.read(2) != b"\0\0":
                up.append(name)
    return up


def main():
    pid, path = sys.argv[1:3]
    wanted = sys.argv[3:]
    deadline = time.monotonic() + PATIENCE_S
    while True:
        up = raised(pid, path)
        if not wanted or bool(up) == (wanted[0] == "up"):
            break
        if time.monotonic() > deadline:
            sys.exit(f"raised: {up}")
        time.sleep(0.01)
    print(len(up))


main()
