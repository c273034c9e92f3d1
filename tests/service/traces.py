#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: MIT
"""traces.py - files of events that nobody has recorded, by probes/PROBES.md

    traces.py NAME >FILE

NAME: plain (two workers, spawns, steals, jobs, sleeps), cut (the same without its
end), lost (some events are missing), middle (recorded in the middle of things),
backwards (clocks go back), switched (plain, and the threads on the CPUs), empty (a header
and what is recorded), quoted (names that have to be escaped), large (a million
events), incidents (two polls with tasks behind them, and long names), unseen
(tasks ready before anything is known of their worker), locks (tasks wait for locks that
a task and a thread hold, and one of them gives up), channels (one is full and one
empty), io (tasks wait for descriptors, and a poll hides an event).
"""

import struct
import sys

META, STREAM, NAME, EVENTS, END, SWITCHES = range(1, 7)
ORIGIN = 8
WALL_NS = 1_700_000_000_000_000_000
(
    NONE, CLOCK, START, STOP, BEGIN_POLL, END_POLL, READY, STEAL, STEAL_FAIL,
    PARK, UNPARK, INJECT, OVERFLOW, JOB_BEGIN, JOB_END, STALL, LATE, WAIT, HELD, GIVE_UP,
    REAP,
) = range(21)  # fmt: skip
DONE, PENDING, YIELD = range(3)
FUNCTION, TYPE, OBJECT, HOLDER = range(4)
MUTEX, READ, EVENT, SEND, RECEIVE, IO_READ, IO_WRITE = 1, 2, 5, 13, 14, 22, 23
SLEPT = 1
THREAD = 1 << 63
OUTSIDE = 0xFFFFFFFF
IN, PREEMPTED, ASLEEP, WOKEN, INSTEAD, STOPPED = range(1, 7)

# The counter runs at 2.5 GHz, and was 10^12 at the second 5000.
START_NS, START_COUNTER = 5_000_000_000_000, 1_000_000_000_000
HTTP, PARSE, FUNC, JOB = 0x5000, 0x5040, 0x401000, 0x402000


def counter(ns):
    """The counter's value so many ns after the start."""
    return START_COUNTER + ns * 5 // 2


def chunk(kind, data):
    data += bytes(-len(data) % 8)
    return struct.pack("<II", kind, len(data)) + data


def header(version=1):
    return struct.pack("<QII", 0x6361727461756B73, version, 16)


def meta(program=b"traces", wall_ns=WALL_NS):
    return chunk(
        META,
        struct.pack(
            "<IIQQQII64s16s64s", 4711, 1, START_COUNTER, START_NS,
            wall_ns, 1, 0, program, b"0.1.0", b"6.0",
        ),
    )  # fmt: skip


def stream(number, index, tid, runtime=0):
    return chunk(STREAM, struct.pack("<IIIIii", number, runtime, index, tid, -1, 0))


def name(of, address, text):
    return chunk(NAME, struct.pack("<QII64s", address, of, 0, text))


def end(ns, reason=0):
    return chunk(END, struct.pack("<QQII", counter(ns), START_NS + ns, reason, 0))


class Worker:
    """Events of a stream; times are ns after the start."""

    def __init__(self, number):
        self.number, self.events, self.first, self.data = number, [], 0, b""

    def add(self, ns, kind, a=0, b=0, detail=0, other=0, time=None):
        time = counter(ns) if time is None else time
        self.events.append(struct.pack("<QQQIHH", time, a, b, detail, other, kind))

    def clock(self, ns):
        self.add(ns, CLOCK, START_NS + ns)

    def poll(self, ns, took, task, result=DONE, of=HTTP):
        self.add(ns, BEGIN_POLL, task, of, FUNCTION if of == FUNC else TYPE)
        self.add(ns + took, END_POLL, task, detail=result)

    def wait(self, ns, task, kind, lock, holder=None, again=0):
        """A poll that ends because the task has to wait."""
        self.add(ns, BEGIN_POLL, task, HTTP, TYPE)
        self.add(ns + 500, WAIT, task, lock, kind, again)
        if holder is not None:
            self.add(ns + 510, HELD, holder, lock)
        self.add(ns + 600, END_POLL, task, detail=PENDING)

    def chunk(self):
        """The events added since the last call; a caller that drops them loses them."""
        first, count = self.first, len(self.events)
        data = struct.pack("<QII", first, self.number, count)
        data += b"".join(self.events)
        self.first, self.events = first + count, []
        return chunk(EVENTS, data)


def begin(*streams):
    data = header() + meta()
    for number, index, tid in streams:
        data += stream(number, index, tid)
    return (
        data
        + name(TYPE, HTTP, b"http_read")
        + name(TYPE, PARSE, b"parse")
        + name(FUNCTION, FUNC, b"poll_timer")
        + name(FUNCTION, JOB, b"sort_half")
    )


def plain():
    data = begin((0, 0, 4712), (1, 1, 4713), (2, OUTSIDE, 0))
    zero, one, outside = Worker(0), Worker(1), Worker(2)
    outside.add(900, READY, 0x7000)
    zero.add(500, START, 4712)
    zero.clock(500)
    one.add(600, START, 4713)
    one.clock(600)
    one.add(700, STEAL_FAIL, detail=8)
    one.add(800, PARK, detail=0)
    zero.add(1000, INJECT, detail=1)
    zero.add(1100, BEGIN_POLL, 0x7000, HTTP, TYPE)
    zero.add(1500, READY, 0x7100)
    zero.add(1600, READY, 0x7200)
    zero.add(2000, END_POLL, 0x7000, detail=YIELD)
    one.add(3000, UNPARK, 2200, 0, 4712)
    one.add(3400, STEAL, 0x7100, 350, 1, 0)
    one.poll(3500, 600, 0x7100, of=PARSE)
    zero.poll(3200, 5000, 0x7200, PENDING, FUNC)
    zero.add(9000, STALL, 0x7200, FUNC, 5000)
    data += outside.chunk() + zero.chunk()
    one.add(5000, JOB_BEGIN, JOB, other=0)
    one.add(6000, JOB_BEGIN, JOB, other=0)
    one.add(7000, JOB_END)
    one.add(8000, JOB_END)
    one.add(8100, OVERFLOW, detail=128)
    zero.poll(10_000, 1000, 0x7000)
    zero.clock(1_000_000)
    zero.poll(1_100_000, 1000, 0x7000)
    zero.add(1_200_000, STOP)
    one.clock(1_000_500)
    one.add(1_300_000, STOP)
    data += one.chunk() + zero.chunk()
    return data + end(1_400_000)


def ranked(rank, host, clock, later_ns=0):
    """As plain, of a rank, with the wall clock later."""
    rest = plain()[len(header() + meta()) :]
    origin = chunk(ORIGIN, struct.pack("<II64s64s", rank, 0, host, clock))
    return header() + meta(wall_ns=WALL_NS + later_ns) + origin + rest


def switched():
    """Worker 0 loses its CPU to two others; worker 1 sleeps, and is stopped."""
    switches = [
        (2000, 4712, 77, PREEMPTED, b"cc1"),
        (2400, 4712, 78, INSTEAD, b'a "b"'),
        (3000, 4712, 78, IN, b'a "b"'),
        (900, 4713, 0, ASLEEP, b""),
        (2500, 4713, 0, WOKEN, b""),
        (2700, 4713, 0, IN, b""),
        (8200, 4713, 0, STOPPED, b""),
        (9000, 4713, 0, WOKEN, b""),
        (9500, 4713, 0, PREEMPTED, b"cc1"),
        (10_000, 4713, 0, PREEMPTED, b"cc1"),
    ]
    data = struct.pack("<QQII", START_NS, START_NS + 1_400_000, len(switches), 0)
    for ns, tid, other, kind, comm in switches:
        data += struct.pack("<QIIII16s", START_NS + ns, tid, other, kind, 0, comm)
    return plain()[: -len(end(0))] + chunk(SWITCHES, data) + end(1_400_000)


def middle():
    """Ends without beginnings, and beginnings without ends."""
    data = begin((0, 0, 4712), (1, 1, 4713))
    zero, one = Worker(0), Worker(1)
    zero.first = 1000
    zero.add(1000, START, 4712)
    zero.clock(1000)
    zero.add(1500, JOB_END)
    zero.add(2000, END_POLL, 0x7000, detail=DONE)
    zero.poll(3000, 500, 0x7100)
    zero.add(4000, BEGIN_POLL, 0x7200, HTTP, TYPE)
    zero.add(4500, JOB_BEGIN, JOB)
    one.first = 77
    one.add(5000, UNPARK, 100_000, 0, 0)
    one.clock(5010)
    one.add(6000, PARK)
    return data + zero.chunk() + one.chunk() + end(9000)


def backwards():
    """The counter goes back, and then the time; a worker has no time at all."""
    data = begin((0, 0, 4712), (1, 1, 4713))
    zero, one = Worker(0), Worker(1)
    zero.clock(1000)
    zero.poll(2000, 500, 0x7000)
    for ns, time in ((1_000_000, 500), (2_000_000, 2_500_500)):
        zero.add(ns, CLOCK, START_NS + ns, time=time)
        zero.add(0, BEGIN_POLL, 0x7100, FUNC, FUNCTION, time=time + 100)
        zero.add(0, END_POLL, 0x7100, time=time + 200)
    zero.add(0, CLOCK, START_NS, time=2_600_000)
    zero.poll(0, 0, 0x7200)
    one.poll(3000, 100, 0x7300)
    return data + zero.chunk() + one.chunk() + end(3_000_000)


def lost():
    data = begin((0, 0, 4712))
    zero = Worker(0)
    zero.clock(0)
    zero.poll(100, 100, 0x7000)
    zero.add(300, READY, 0x7100)
    zero.add(400, BEGIN_POLL, 0x7200, HTTP, TYPE)
    data += zero.chunk()
    for i in range(10):
        zero.clock(1000 + i)
    zero.chunk()
    zero.add(2000, END_POLL, 0x7300, detail=DONE)
    zero.poll(3000, 100, 0x7100)
    zero.clock(4000)
    return data + zero.chunk() + end(5000)


def empty():
    return header() + meta()


def quoted():
    data = header() + meta(b'a "program" \\ of\nours\xff')
    data += stream(0, 0, 0) + name(TYPE, HTTP, b'say "hello"\\\x01\xc3\xbc')
    zero = Worker(0)
    zero.clock(0)
    zero.poll(100, 100, 0x7000)
    zero.poll(300, 100, 0x7000, of=FUNC)
    zero.clock(1000)
    return data + zero.chunk() + end(2000)


def incidents():
    """Polls of 20 ms and 9 ms, 50 ms apart, each with tasks behind it; long names."""
    long = b"std::vector<acme::storage::RequestOfAVeryLongName>::poll_%d_x"
    data = header() + meta(b"a_long_program_") + stream(0, 0, 4712, 7)
    data += stream(1, OUTSIDE, 0, 7) + name(TYPE, HTTP, long % 1)
    data += name(TYPE, PARSE, long % 2) + name(FUNCTION, FUNC, long % 3)
    zero, outside = Worker(0), Worker(1)
    zero.add(500, START, 4712)
    zero.clock(500)
    for ns, took, count in (1_000_000, 20_000_000, 12), (51_000_000, 9_000_000, 7):
        outside.add(ns - 100_000, READY, 0x6000)
        zero.poll(ns, took, 0x6000, of=FUNC)
        for i in range(count):
            outside.add(ns + 1000 * i, READY, 0x7000 + 64 * i)
            zero.poll(ns + took + 50_000 * (i + 1), 20_000, 0x7000 + 64 * i,
                      of=PARSE if i % 3 == 0 else HTTP)  # fmt: skip
    zero.clock(70_000_000)
    zero.add(70_100_000, STOP)
    return data + outside.chunk() + zero.chunk() + end(70_200_000)


def unseen():
    """Tasks that became ready before anything is known of their worker."""
    data = begin((0, 0, 4712), (1, OUTSIDE, 0))
    zero, outside = Worker(0), Worker(1)
    zero.add(50_000, START, 4712)
    zero.clock(50_000)
    for i in range(5):
        outside.add(1000 + 10 * i, READY, 0x7000 + 64 * i)
        zero.poll(51_000 + 3000 * i, 1000, 0x7000 + 64 * i)
    zero.clock(100_000)
    zero.add(110_000, STOP)
    return data + outside.chunk() + zero.chunk() + end(120_000)


def locks():
    """The thread sleeps for most of the time in which it holds the lock."""
    switches = struct.pack("<QQII", START_NS, START_NS + 1_400_000, 2, 0)
    for ns, other, kind in (100_000, 0, ASLEEP), (800_000, 0, IN):
        switches += struct.pack("<QIIII16s", START_NS + ns, 4720, other, kind, 0, b"")
    data = begin((0, 0, 4712), (1, 1, 4713), (2, OUTSIDE, 0))
    data += name(OBJECT, 0x6000, b"accounts") + name(OBJECT, 0x6100, b'a "b"')
    data += name(HOLDER, 0x9000, b"audit") + name(HOLDER, THREAD | 0x8000, b"thread 4720")
    zero, one, outside = Worker(0), Worker(1), Worker(2)
    for worker in zero, one:
        worker.add(500, START, 4712 + worker.number)
        worker.clock(500)
    for i in range(5):
        outside.add(600 + i, READY, 0x7000 + 64 * i)
    one.add(700, BEGIN_POLL, 0x9000, PARSE, TYPE)
    zero.wait(1000, 0x7000, MUTEX, 0x6000, 0x9000)
    zero.wait(2000, 0x7040, READ, 0x6100, THREAD | 0x8000)
    zero.wait(3000, 0x7080, EVENT, 0x6200)
    zero.wait(4000, 0x70C0, MUTEX, 0x6300, 0)
    # It was woken before it noted that it waits.
    outside.add(5400, READY, 0x7100)
    zero.wait(5000, 0x7100, MUTEX, 0x6400, 0x9100)
    zero.poll(6000, 500, 0x7100)
    one.add(900_000, READY, 0x7000)
    one.add(901_000, END_POLL, 0x9000, detail=DONE)
    outside.add(950_000, READY, 0x7040)
    # Another one was faster.
    zero.wait(910_000, 0x7000, MUTEX, 0x6000, 0x9100, again=1)
    zero.add(960_000, BEGIN_POLL, 0x7040, HTTP, TYPE)
    zero.add(960_100, GIVE_UP, 0x7040, 0x6100, 110)
    zero.add(961_000, END_POLL, 0x7040, detail=DONE)
    outside.add(1_200_000, READY, 0x7000)
    zero.poll(1_210_000, 1000, 0x7000)
    for worker in zero, one:
        worker.clock(1_300_000)
        worker.add(1_300_100, STOP)
    data += outside.chunk() + zero.chunk() + one.chunk()
    return data + chunk(SWITCHES, switches) + end(1_400_000)


def channels():
    """A receiver that computes for long, and a sender that does."""
    data = begin((0, 0, 4712), (1, 1, 4713), (2, OUTSIDE, 0))
    data += name(OBJECT, 0x6000, b"orders") + name(OBJECT, 0x6100, b"replies")
    zero, one, outside = Worker(0), Worker(1), Worker(2)
    for worker in zero, one:
        worker.add(500, START, 4712 + worker.number)
        worker.clock(500)
    for i in range(3):
        outside.add(600 + i, READY, 0x7000 + 64 * i)
    one.add(700, BEGIN_POLL, 0x9000, PARSE, TYPE)
    zero.wait(1000, 0x7000, SEND, 0x6000)
    zero.wait(2000, 0x7040, RECEIVE, 0x6100)
    zero.wait(3000, 0x7080, SEND, 0x6000)
    one.add(900_000, READY, 0x7000)
    one.add(910_000, READY, 0x7040)
    one.add(911_000, END_POLL, 0x9000, detail=DONE)
    zero.poll(920_000, 1000, 0x7000)
    zero.poll(930_000, 1000, 0x7040)
    for worker in zero, one:
        worker.clock(1_300_000)
        worker.add(1_300_100, STOP)
    data += outside.chunk() + zero.chunk() + one.chunk()
    return data + end(1_400_000)


def io():
    """An event that comes during a long poll, one that a worker slept for, and none."""
    data = begin((0, 0, 4712), (1, 1, 4713), (2, OUTSIDE, 0))
    zero, one, outside = Worker(0), Worker(1), Worker(2)
    for worker in zero, one:
        worker.add(500, START, 4712 + worker.number)
        worker.clock(500)
    for i in range(3):
        outside.add(600 + i, READY, 0x7000 + 64 * i)
    zero.wait(1000, 0x7000, IO_READ, 0x6000)
    zero.wait(2000, 0x7040, IO_READ, 0x6040)
    zero.wait(3000, 0x7080, IO_WRITE, 0x6080)
    zero.add(4000, PARK)
    zero.add(500_000, REAP, 1 << 32 | 8, START_NS + 3900, 1, SLEPT)
    zero.add(500_000, READY, 0x7040)
    zero.add(500_100, UNPARK, 496_000)
    zero.poll(500_200, 300, 0x7040)
    outside.add(500_300, READY, 0x7100)
    zero.poll(501_000, 3_000_000, 0x7100, of=PARSE)
    zero.add(3_502_000, REAP, 1 << 32 | 7, START_NS + 501_000, 1)
    zero.add(3_502_000, READY, 0x7000)
    zero.poll(3_503_000, 1000, 0x7000)
    for worker in zero, one:
        worker.clock(4_000_000)
        worker.add(4_000_100, STOP)
    data += outside.chunk() + zero.chunk() + one.chunk()
    return data + end(4_100_000)


def large():
    data = [begin((0, 0, 4712), (1, 1, 4713))]
    workers = Worker(0), Worker(1)
    for i in range(250_000):
        worker, ns = workers[i % 2], i * 400
        if i % 2000 < 2:
            worker.clock(ns - 10)
        worker.add(ns, READY, 0x7000 + 64 * (i % 100))
        worker.poll(ns + 200, 300, 0x7000 + 64 * (i % 100), PENDING)
        if i % 2000 >= 1998:
            data.append(worker.chunk())
    return b"".join(data) + end(250_000 * 400)


MADE = {
    "plain": plain,
    "cut": lambda: plain()[:-60],
    "lost": lost,
    "middle": middle,
    "backwards": backwards,
    "switched": switched,
    "empty": empty,
    "quoted": quoted,
    "large": large,
    "incidents": incidents,
    "unseen": unseen,
    "locks": locks,
    "channels": channels,
    "io": io,
    "rank0": lambda: ranked(0, b"here", b"boot"),
    "rank1": lambda: ranked(1, b"here", b"boot", 5_000),
    "rank2": lambda: ranked(2, b"there", b"other boot", 1_000_000),
    "rank3": lambda: ranked(3, b"there", b"other boot", -3600 * 10**9 - 5000 * 10**9),
    "rank4": lambda: ranked(4, b"there", b"other boot", -WALL_NS),
}

if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1] not in MADE:
        sys.exit(__doc__)
    sys.stdout.buffer.write(MADE[sys.argv[1]]())
