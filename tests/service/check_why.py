# SPDX-License-Identifier: MIT
"""check_why.py RECORDING WHY.json - are the ledger's parts all there is?

Compares the output of `skua why --json` with the recording's events, by which this
finds out itself how long each task took from ready to the end of its poll: as many,
and as long; and each part counted once. Likewise how long tasks waited for descriptors,
and for how long at most an event was there that no worker looked for.
"""

import bisect
import json
import struct
import sys
from collections import Counter

META, EVENTS, END_OF_FILE = 1, 4, 5
CLOCK, BEGIN, END, READY, WAIT, REAP = 1, 4, 5, 6, 17, 20
DESCRIPTORS = (22, 23)
SLEPT = 1
YIELD = 2
# Kinds of waits that are part of a task's time: for mutex, rwlock, once, to send to a
# channel or spsc.
LOCKS = (1, 2, 3, 9, 13, 18)
ALLOWED = 0.02


def chunks(data):
    at = struct.unpack_from("<QII", data)[2]
    while at + 8 <= len(data):
        kind, size = struct.unpack_from("<II", data, at)
        yield kind, data[at + 8 : at + 8 + size]
        at += 8 + size


def read(path):
    """Of each stream its events (counter, a, b, detail, other, kind), and when the
    recording began and ended: pairs of counter and ns."""
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
                events.append(struct.unpack_from("<QQQIHH", data, 16 + 32 * i))
    return found, ends


def clock(events, ends):
    """From the counter to ns: between pairs of both in proportion, before and behind
    them by the rate of all. Without pairs, by the ends."""
    pairs = sorted({(e[0], e[1]) for e in events if e[5] == CLOCK})
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
    """The slowest first: how long from ready, or from the wait for a lock before, to the
    end; the task; when it ended; and how long it waited for the lock."""
    found, ends = read(path)
    merged = []
    for events in found.values():
        ns = clock(events, ends)
        merged += [
            (ns(time), order, a, b, detail, other, kind)
            for order, (time, a, b, detail, other, kind) in enumerate(events)
            if kind in (BEGIN, END, READY, WAIT)
        ]
    merged.sort()
    ready, polled, took, waits, again = {}, {}, [], {}, set()
    for ns, _, task, lock, detail, other, kind in merged:
        if kind == READY:
            ready[task] = ns
        elif kind == BEGIN:
            polled[task] = ready.pop(task, None), waits.pop(task, None)
        elif kind == WAIT and detail in LOCKS:
            before = polled.get(task, (None, None))[1]
            if not other:
                waits[task] = ns, lock
            elif before and before[1] == lock:
                waits[task] = before
                again.add(task)
        elif kind == END:
            since, wait = polled.pop(task, (None, None))
            if since is not None and task not in again:
                begin = min(wait[0], since) if wait else since
                took.append((ns - begin, task, ns, since - begin))
            again.discard(task)
            if detail == YIELD:
                ready[task] = ns
    return sorted(took, reverse=True)


def descriptors(path):
    """How long tasks waited for descriptors, and how much of it was after the last look
    for events: at least, and at most."""
    found, ends = read(path)
    merged = []
    for number, events in found.items():
        ns = clock(events, ends)
        merged += [(ns(e[0]), order, number, *e[1:]) for order, e in enumerate(events)]
    merged.sort()
    waits, reaps, total, least, most = {}, {}, 0, 0, 0
    for ns, _, stream, a, b, detail, other, kind in merged:
        if kind == WAIT and detail in DESCRIPTORS:
            waits[a] = ns
        elif kind == REAP:
            reaps[stream] = ns, b, other
        elif kind == READY and a in waits:
            since = waits.pop(a)
            total += max(ns - since, 0)
            if stream in reaps:
                reaped, looked, how = reaps[stream]
                unseen = max(reaped - max(looked, since), 0)
                least += 0 if how & SLEPT else unseen
                most += max(unseen, ns - since if how & SLEPT else 0)
        elif kind == BEGIN:
            waits.pop(a, None)
            reaps.pop(stream, None)
    total += sum(ends[-1][1] - since for since in waits.values())
    return total, least, most


def check_descriptors(path, why):
    total, least, most = descriptors(path)
    for row in why["descriptors"]:
        assert row["peer_ns"] + row["unseen_ns"] == row["waited_ns"], row
        assert row["longest_ns"] <= row["waited_ns"], row
        assert row["longest_unseen_ns"] <= row["unseen_ns"], row
    waited = sum(row["waited_ns"] for row in why["descriptors"])
    unseen = sum(row["unseen_ns"] for row in why["descriptors"])
    assert near(waited, total), (waited, total)
    assert (1 - ALLOWED) * least - 2 <= unseen <= (1 + ALLOWED) * most + 2, (least, unseen, most)
    return f"; {waited / 1e6:.1f} ms for descriptors, {unseen / 1e6:.1f} ms unseen" if total else ""


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
    for ns, task, end, waited in took:
        ours.setdefault(task, []).append((end, ns, waited))
    for slow in why["slowest"]:
        whole = sum(slow["parts"].values())
        assert whole == slow["took_ns"] == slow["end_ns"] - slow["from_ns"], slow
        assert slow["parts"]["waited"] == slow["ready_ns"] - slow["from_ns"], slow
        end, ns, waited = min(
            ours[int(slow["task"], 16)], key=lambda o: abs(o[0] - slow["end_ns"])
        )
        assert near(whole, ns) and abs(end - slow["end_ns"]) < 1e6, (slow, end, ns)
        assert near(slow["parts"]["waited"], waited), (slow, waited)
        for reason in [slow["reason"], *slow["also"]]:
            if reason["lock"]:
                did = sum(reason["lock"]["holder_parts"].values())
                assert did == reason["ns"] <= slow["parts"]["waited"], slow
    return parts, took[n // 1000][0]


if __name__ == "__main__":
    with open(sys.argv[2]) as file:
        why = json.load(file)
    parts, whole = check(items(sys.argv[1]), why)
    io = check_descriptors(sys.argv[1], why)
    print(
        f"{why['all']['count']} items; at p99.9 parts of {parts / 1e3:.1f} us, "
        f"and by the events {whole / 1e3:.1f} us; of the slowest "
        f"{len(why['slowest'])}, kinds:",
        str(dict(Counter(s["reason"]["kind"] for s in why["slowest"]))) + io,
    )
