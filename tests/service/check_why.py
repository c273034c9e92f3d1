# SPDX-License-Identifier: MIT
"""check_why.py RECORDING WHY.json - are the ledger's parts all there is?

Compares the output of `skua why --json` with the recording's events, by which this
finds out itself how long each task took from ready to the end of its poll: as many,
and as long; and each part counted once.
"""

import bisect
import json
import struct
import sys
from collections import Counter

META, EVENTS, END_OF_FILE = 1, 4, 5
CLOCK, BEGIN, END, READY = 1, 4, 5, 6
YIELD = 2
ALLOWED = 0.02


def chunks(data):
    at = struct.unpack_from("<QII", data)[2]
    while at + 8 <= len(data):
        kind, size = struct.unpack_from("<II", data, at)
        yield kind, data[at + 8 : at + 8 + size]
        at += 8 + size


def read(path):
    """Of each stream its events (counter, a, detail, kind), and when the recording
    began and ended: pairs of counter and ns."""
    found, ends = {}, []
    for kind, data in chunks(open(path, "rb").read()):
        if kind == META:
            ends.append(struct.unpack_from("<QQ", data, 8))
        elif kind == END_OF_FILE:
            ends.append(struct.unpack_from("<QQ", data))
        elif kind == EVENTS:
            _, stream, count = struct.unpack_from("<QII", data)
            events = found.setdefault(stream, [])
            for i in range(count):
                time, a, _, detail, _, what = struct.unpack_from(
                    "<QQQIHH", data, 16 + 32 * i
                )
                events.append((time, a, detail, what))
    return found, ends


def clock(events, ends):
    """From the counter to ns: between pairs of both in proportion, before and behind
    them by the rate of all. Without pairs, by the ends."""
    pairs = sorted({(time, a) for time, a, _, kind in events if kind == CLOCK})
    pairs = pairs or ends
    (c0, n0), (c1, n1) = ends
    rate = (n1 - n0) / (c1 - c0)
    counters = [counter for counter, _ in pairs]

    def ns(counter):
        i = bisect.bisect(counters, counter)
        if i in (0, len(pairs)):
            c, n = pairs[min(i, len(pairs) - 1)]
            return n + (counter - c) * rate
        (c0, n0), (c1, n1) = pairs[i - 1], pairs[i]
        return n0 + (counter - c0) * (n1 - n0) / (c1 - c0)

    return ns


def items(path):
    """The slowest first: how long from ready to the end, the task, and when."""
    found, ends = read(path)
    merged = []
    for events in found.values():
        ns = clock(events, ends)
        merged += [
            (ns(time), order, a, detail, kind)
            for order, (time, a, detail, kind) in enumerate(events)
            if kind in (BEGIN, END, READY)
        ]
    merged.sort()
    ready, polled, took = {}, {}, []
    for ns, _, task, detail, kind in merged:
        if kind == READY:
            ready[task] = ns
        elif kind == BEGIN:
            polled[task] = ready.pop(task, None)
        else:
            since = polled.pop(task, None)
            if since is not None:
                took.append((ns - since, task, ns))
            if detail == YIELD:
                ready[task] = ns
    return sorted(took, reverse=True)


def near(a, b):
    return abs(a - b) <= ALLOWED * max(a, b) + 2


def check(took, why):
    count = why["all"]["count"]
    assert why["lost"] == 0, "events were lost"
    assert count > 0 and near(count, len(took)), (count, len(took))
    n = len(took)
    for name, rank in (
        ("p50_ns", n // 2), ("p99_ns", n // 100), ("p999_ns", n // 1000),
    ):  # fmt: skip
        assert near(why["all"][name], took[rank][0]), (name, took[rank])
    parts = sum(why["all"]["p999_parts"].values())
    assert near(parts, took[n // 1000][0]), ("p99.9", parts, took[n // 1000])
    assert sum(t["count"] for t in why["types"]) == count
    ours = {}
    for ns, task, end in took:
        ours.setdefault(task, []).append((end, ns))
    for slow in why["slowest"]:
        whole = sum(slow["parts"].values())
        assert whole == slow["took_ns"] == slow["end_ns"] - slow["ready_ns"], slow
        end, ns = min(
            ours[int(slow["task"], 16)], key=lambda o: abs(o[0] - slow["end_ns"])
        )
        assert near(whole, ns) and abs(end - slow["end_ns"]) < 1e6, (slow, end, ns)
    return parts, took[n // 1000][0]


if __name__ == "__main__":
    with open(sys.argv[2]) as file:
        why = json.load(file)
    parts, whole = check(items(sys.argv[1]), why)
    print(
        f"{why['all']['count']} items; at p99.9 parts of {parts / 1e3:.1f} us, "
        f"and by the events {whole / 1e3:.1f} us; of the slowest "
        f"{len(why['slowest'])}, kinds:",
        dict(Counter(s["reason"]["kind"] for s in why["slowest"])),
    )
