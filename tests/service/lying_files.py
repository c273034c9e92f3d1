#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: MIT
"""lying_files.py SKUA SCRATCH [KIND...] - skua export and why over recordings that lie

Prints a table: how much more memory (MB) and CPU time (s) each takes than for an honest
recording of 32 MB, and after how many ms it ends when SIGINT and SIGTERM come. Exits 1
if a figure is over its bound, if the verb ends by another signal, or if it is silent
about a file that it refuses.
"""

import os
import resource
import signal
import struct
import subprocess
import sys
import time

import traces as t
from lying import Bounds, end

MAX_MB, MAX_S, MAX_MS = 64, 2.0, 200
ATTEMPTS = 5  # of what other programs on the machine can delay
ADDRESS_SPACE = 4 << 30
FORMS = {
    "perfetto": ("export", "-f", "perfetto"),
    "chrome": ("export", "-f", "chrome"),
    "summary": ("export", "-f", "summary"),
    "why": ("why",),
}
CHUNK_MOST = 1 << 26


def head(streams=1):
    return t.begin(*((i, i, 4712 + i) for i in range(streams)))


def event(ns, kind, a=0, b=0, detail=0):
    return struct.pack("<QQQIHH", t.counter(ns), a, b, detail, 0, kind)


def events(stream, first, data, count=None):
    count = len(data) // 32 if count is None else count
    return t.chunk(t.EVENTS, struct.pack("<QII", first, stream, count) + data)


def cut():
    """In an event, near the end."""
    data = t.large()
    return data[: len(data) - 1_000_003]


def header():
    return t.header()


def counts():
    """Each chunk says that it has 2^32 - 1, and numbers are near 2^64."""
    data = head(2) + events(0, 0, event(100, t.BEGIN_POLL, 1, t.HTTP, 1), 0xFFFFFFFF)
    for first in 1 << 63, (1 << 64) - 3, (1 << 64) - 2, (1 << 64) - 1:
        data += events(1, first, event(200, t.READY, 1) * 2, 0xFFFFFFFF)
    switch = struct.pack("<QIIII16s", t.START_NS + 5, 4712, 1, 1, 0xFFFFFFFF, b"x" * 16)
    spans = (0, (1 << 64) - 1), (1 << 63, 1 << 62), (7, 7)
    for since, until in spans:
        span = struct.pack("<QQII", since, until, 0xFFFFFFFF, 0)
        data += t.chunk(t.SWITCHES, span + switch * 3)
    last = (1 << 64) - 1
    return data + t.chunk(t.END, struct.pack("<QQII", last, last, last >> 32, 0))


def lengths():
    """A chunk that is longer than the file, of each kind, behind one that is not."""
    data = head() + events(0, 0, event(100, t.BEGIN_POLL, 1, t.HTTP, 1))
    return data + struct.pack("<II", t.EVENTS, CHUNK_MOST) + bytes(64)


def endless():
    """Chunks of no bytes: 4 million of them."""
    return head() + struct.pack("<II", 99, 0) * (4 << 20)


def streams():
    """As many as there may be, each with an event."""
    data = [t.header() + t.meta()]
    for i in range(65536):
        data.append(t.stream(i, i, i + 1, i))
    for i in range(65536):
        data.append(events(i, 0, event(i, t.BEGIN_POLL, i, i, t.FUNCTION)))
    return b"".join(data)


def deep():
    """Slices in slices, on each of 16,384 tracks."""
    inside = b"".join(event(i, t.BEGIN_POLL, i + 1, t.HTTP, 1) for i in range(64))
    data = [head()]
    for i in range(16384):
        data.append(t.stream(i, i, i + 1) + events(i, 0, inside))
    return b"".join(data)


def names():
    data = [head()]
    for i in range(1 << 19):
        data.append(t.name(t.TYPE, i + 1, b"n%d" % i))
    return b"".join(data) + t.end(1)


def types():
    """300,000 polls, each of a function that no other has."""
    polls = [
        event(100 + 2 * i, t.BEGIN_POLL, i + 1, i + 1, t.FUNCTION)
        + event(101 + 2 * i, t.END_POLL, i + 1)
        for i in range(300_000)
    ]
    return head() + events(0, 0, b"".join(polls)) + t.end(10**6)


def gaps():
    """A million tasks wait; then events are missing 50,000 times."""
    data = [head()]
    first = 500_000
    waits = [event(i, t.READY, 64 * (i + 1)) for i in range(first)]
    data.append(events(0, 0, b"".join(waits)))
    for i in range(50_000):
        first += 7
        data.append(events(0, first, event(10**6 + i, t.READY, 64) * 2))
        first += 2
    return b"".join(data) + t.end(10**7)


def unmix(value):
    """The task whose place in a table without a key would be @value."""
    value ^= value >> 33
    value = value * pow(0xFF51AFD7ED558CCD, -1, 1 << 64) % (1 << 64)
    return value ^ value >> 33


def same():
    """100,000 tasks that would all be in one place of a table."""
    waits = [event(i, t.READY, unmix((i + 1) << 24)) for i in range(200_000)]
    return head() + events(0, 0, b"".join(waits)) + t.end(10**6)


def epochs():
    """100,000 threads, and before each switch some were lost."""
    count, base = 200_000, t.START_NS
    data = struct.pack("<QQII", base, base + 10 * count, count, 0)
    data += b"".join(
        struct.pack("<QIIII16s", base + 10 * i + 5, i + 1, 0, 1, 1, b"")
        for i in range(count)
    )
    return head() + t.chunk(t.SWITCHES, data) + t.end(10**6)


def sparse():
    """A hole of 64 GiB, of which a chunk of events begins each 64 MiB."""
    return head()


KINDS = {
    "honest": t.large, "cut": cut, "header": header, "counts": counts,
    "lengths": lengths, "endless": endless, "streams": streams, "deep": deep,
    "names": names, "types": types, "gaps": gaps, "same": same, "epochs": epochs,
    "sparse": sparse, "hole": head,
}  # fmt: skip


def make(kind, path):
    with open(path, "wb") as file:
        file.write(KINDS[kind]())
        if kind in ("sparse", "hole"):
            file.truncate(64 << 30)
        for i in range(1024 if kind == "sparse" else 0):
            at = 4096 + i * CHUNK_MOST if i else file.tell()
            size = CHUNK_MOST - 8 if i else 4096 + CHUNK_MOST - at - 8
            size = min(size, CHUNK_MOST) // 8 * 8
            file.seek(at)
            number = i * (CHUNK_MOST // 32)
            file.write(struct.pack("<IIQII", t.EVENTS, size, number, 0, 1 << 31))


def limit():
    """For a verb that is broken: it ends, and not the machine."""
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 30, 1 << 30))
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT, signal.SIGTERM})
    signal.signal(signal.SIGINT, signal.SIG_DFL)


class Matrix(Bounds):
    def __init__(self, skua, scratch):
        super().__init__()
        self.skua, self.scratch = skua, scratch
        self.file = scratch + "/lying.skua"

    def begin(self, form, out):
        with open(self.scratch + "/said", "wb") as said:
            return subprocess.Popen([self.skua, *FORMS[form], self.file],
                                    stdin=subprocess.DEVNULL, stdout=out, stderr=said,
                                    preexec_fn=limit)

    def ending(self, form, number):
        """The best of some attempts: ms from a signal to the end; nobody reads what
        it writes, so that it does not end before."""
        best = float("inf")
        for _ in range(ATTEMPTS):
            child = self.begin(form, subprocess.PIPE)
            time.sleep(0.05)
            began = time.monotonic()
            os.kill(child.pid, number)  # not reaped yet
            ended = end(child)
            child.stdout.close()
            if ended is None:
                break
            best = min(best, 1000 * (time.monotonic() - began))
            if best <= MAX_MS:
                break
        return best

    def judge(self, what, child):
        """It has succeeded, or said why not."""
        with open(self.scratch + "/said", encoding="utf-8", errors="replace") as said:
            text = said.read()
        if child.returncode not in (0, 1) or (child.returncode == 1 and
                                              text.count("\n") != 1):
            self.failed.append(f"{what}: exit code {child.returncode}: {text[:200]}")

    def cell(self, kind, form, honest):
        child = self.begin(form, subprocess.DEVNULL)
        took = end(child)
        if took is None:
            took = float("inf"), float("inf")
        else:
            self.judge(f"{form} of {kind}", child)
        base = honest.setdefault(form, took)
        texts = [self.check(f"{form} of {kind}, MB", took[0] - base[0], MAX_MB),
                 self.check(f"{form} of {kind}, s", took[1] - base[1], MAX_S)]
        for number in signal.SIGINT, signal.SIGTERM:
            texts.append(self.check(f"{form} of {kind}, ms after {number.name}",
                                    self.ending(form, number), MAX_MS))
        return " ".join(texts)

    def row(self, kind, honest):
        # The memory of this process would count as the verb's.
        subprocess.run([sys.executable, "-B", __file__, "--make", kind, self.file],
                       check=True)
        for form in FORMS:
            print(f"{kind:10}{form:10}{self.cell(kind, form, honest)}", flush=True)


def main():
    if sys.argv[1] == "--make":
        return make(*sys.argv[2:4])
    matrix, honest = Matrix(*sys.argv[1:3]), {}
    kinds = ["honest"] + [kind for kind in sys.argv[3:] or KINDS if kind != "honest"]
    print("recording form      MB more, CPU s more; ms after SIGINT, SIGTERM")
    for kind in kinds:
        matrix.row(kind, honest)
    for line in matrix.failed:
        print("FAILED:", line)
    return 1 if matrix.failed else 0


if __name__ == "__main__":
    sys.exit(main())
