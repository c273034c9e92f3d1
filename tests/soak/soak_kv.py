#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: MIT
"""soak_kv.py SKUA_KV [OPTION...] - the server on a mixed load: right values, and nothing grows

In a round, some clients work on keys of their own, and compare each reply with what they
have stored: strings of up to 100 KB, counters, lists, hashes, transactions, times to live.
Others come and go: with half a command, without reading their replies, as subscribers, or
with a reset. After the round all have left and the keys are deleted, and the server must
have what it had before: the largest count of its descriptors, threads and mappings, and the
largest of its resident memory, in the last quarter of the rounds may exceed those of the
quarter before by no more than TOLERANCES. Memory is compared from SETTLED_S on.

SKUA_SOAK_SECONDS is how long it runs (600). OPTIONS are the server's. Its log is rewritten after
each round, and by itself when it has more than 16 MB: there would be tens of gigabytes.
"""

import os
import random
import socket
import struct
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../service"))

from kv_wire import HANG_S, Client, Server, encode, parse  # noqa: E402

SECONDS = float(os.environ.get("SKUA_SOAK_SECONDS") or 600)
ROUND_S = min(2.0, SECONDS / 12)
SETTLED_S = 60
QUARTERS = 4
WORKERS, VISITORS = 4, 3
# Each worker opens a file now and then; threads of the blocking pool come and go.
TOLERANCES = {"descriptors": 2, "threads": 2, "mappings": 32, "resident bytes": 4 << 20}
RESET = struct.pack("ii", 1, 0)


class Owner:
    """A client with keys of its own."""

    def __init__(self, port, seed):
        self.client = Client(port)
        self.chance = random.Random(seed)
        self.name = f"{seed}:"
        self.strings, self.lists, self.hashes = {}, {}, {}

    def run(self, *words):
        return parse(self.client.run(*words))

    def expect(self, wanted, *words):
        got = self.run(*words)
        if got != wanted:
            raise AssertionError(f"{words}: {str(got)[:200]}, not {str(wanted)[:200]}")

    def key(self):
        return self.name + str(self.chance.randrange(50))

    def value(self):
        size = self.chance.choice((1, 10, 100, 5000, 100000))
        return self.chance.randbytes(size)

    def string(self):
        key = "s" + self.key()
        if self.chance.random() < 0.5:
            self.strings[key] = self.value()
            self.expect(b"+OK", "SET", key, self.strings[key])
        elif self.chance.random() < 0.2:
            self.expect(int(key in self.strings), "DEL", key)
            self.strings.pop(key, None)
        else:
            self.expect(self.strings.get(key), "GET", key)

    def counter(self):
        key = "n" + self.key()
        now = int(self.strings.get(key, b"0")) + self.chance.randrange(-5, 6)
        self.expect(now, "INCRBY", key, now - int(self.strings.get(key, b"0")))
        self.strings[key] = b"%d" % now

    def list(self):
        key = "l" + self.key()
        items = self.lists.setdefault(key, [])
        act = self.chance.randrange(4)
        if act == 0 and len(items) < 100:
            items.append(self.value())
            self.expect(len(items), "RPUSH", key, items[-1])
        elif act == 1:
            self.expect(items.pop(0) if items else None, "LPOP", key)
        elif act == 2:
            self.expect(items, "LRANGE", key, 0, -1)
        else:
            self.expect(len(items), "LLEN", key)

    def hash(self):
        key, field = "h" + self.key(), b"%d" % self.chance.randrange(300)
        fields = self.hashes.setdefault(key, {})
        act = self.chance.randrange(3)
        if act == 0:
            new = field not in fields
            fields[field] = self.value()[:5000]
            self.expect(int(new), "HSET", key, field, fields[field])
        elif act == 1:
            self.expect(int(fields.pop(field, None) is not None), "HDEL", key, field)
        else:
            self.expect(fields.get(field), "HGET", key, field)

    def transaction(self):
        key = "t" + self.key()
        self.expect(b"+OK", "WATCH", key)
        self.expect(b"+OK", "MULTI")
        self.strings[key] = self.value()
        self.expect(b"+QUEUED", "SET", key, self.strings[key])
        self.expect(b"+QUEUED", "STRLEN", key)
        self.expect([b"+OK", len(self.strings[key])], "EXEC")

    def expiry(self):
        """No other command of the client looks at such a key."""
        self.expect(b"+OK", "SET", "e" + self.key(), self.value(), "PX", self.chance.choice((1, 50)))

    def pipeline(self):
        key = "p" + self.key()
        count = self.chance.randrange(1, 200)
        self.client.send(encode("SET", key, 0) + encode("INCR", key) * count)
        replies = [parse(self.client.read()) for _ in range(count + 1)]
        assert replies == [b"+OK", *range(1, count + 1)], "a pipeline"
        self.strings[key] = b"%d" % count

    def step(self):
        acts = (self.string, self.counter, self.list, self.hash, self.transaction)
        self.chance.choice((*acts, self.expiry, self.pipeline, self.string))()


def visit(port, chance):
    """Come, do something that ends badly, and leave."""
    with Client(port) as client:
        act = chance.randrange(6)
        if act == 0:
            client.send(encode("SET", "half", "x" * 1000)[: chance.randrange(1, 900)])
        elif act == 1:
            client.send(chance.randbytes(chance.randrange(1, 3000)) + b"\r\n")
        elif act == 2:
            client.run("SET", "visited", "x" * 100000)
            client.send(encode("GET", "visited") * 50)  # replies that nobody reads
        elif act == 3:
            client.run("SUBSCRIBE", "news")
            client.send(encode("PSUBSCRIBE", "n*") + encode("UNSUBSCRIBE", "other"))
            time.sleep(chance.random() / 50)
        elif act == 4:
            client.run("PUBLISH", "news", "x" * chance.choice((1, 10000)))
        else:
            client.run("WATCH", "visited")
            client.send(encode("MULTI") + encode("SET", "visited", "y") * 20)
        if chance.random() < 0.5:
            client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)


def until(end, step, failures):
    try:
        while time.monotonic() < end and not failures:
            step()
    except Exception as error:  # to the main thread
        failures.append(error)


def play(port, number):
    """A round. Return the number of steps, or raise what a thread has."""
    end = time.monotonic() + ROUND_S
    owners = [Owner(port, number * WORKERS + i) for i in range(WORKERS)]
    chances = [random.Random(~(number * VISITORS + i)) for i in range(VISITORS)]
    steps, failures = [], []

    def owned(owner):
        owner.step()
        steps.append(None)

    threads = [threading.Thread(target=until, args=(end, lambda o=o: owned(o), failures)) for o in owners]
    threads += [threading.Thread(target=until, args=(end, lambda c=c: visit(port, c), failures)) for c in chances]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
    for owner in owners:
        owner.client.socket.close()
    return len(steps)


def alone(client):
    """Wait until no other connection is left, and delete the keys."""
    end = time.monotonic() + HANG_S
    while b"connected_clients:1\r\n" not in client.run("INFO", "clients"):
        assert time.monotonic() < end, "connections are left"
        time.sleep(0.01)
    assert client.run("FLUSHALL") == b"+OK\r\n"


def count(server):
    folder = f"/proc/{server.process.pid}"
    with open(f"{folder}/maps", encoding="utf-8") as maps:
        mappings = sum(1 for _ in maps)
    return {
        "descriptors": server.descriptors(),
        "threads": len(os.listdir(f"{folder}/task")),
        "mappings": mappings,
        "resident bytes": server.memory(),
    }


def check_growth(samples):
    """Compare the largest of the last quarter with the largest of the one before."""
    size = len(samples) // QUARTERS
    for name, most in TOLERANCES.items():
        values = [sample[name] for sample in samples[len(samples) - QUARTERS * size :]]
        largest = [max(values[i : i + size]) for i in range(0, len(values), size)]
        before, last = largest[-2:]
        print(f"{name}: {samples[0][name]} after the first round, largest of each quarter: "
              + " ".join(map(str, largest)))  # fmt: skip
        if name == "resident bytes" and SECONDS < SETTLED_S:
            print(f"not compared: memory settles in {SETTLED_S} s")
        elif last > before + most:
            raise AssertionError(f"{name}: {last - before} more; {most} are allowed")


def until_rewritten(client):
    end = time.monotonic() + HANG_S
    while b"aof_rewrite_in_progress:0\r\n" not in (said := client.run("INFO", "persistence")):
        assert time.monotonic() < end, "a rewrite of the log does not end"
        time.sleep(0.01)
    assert b"aof_last_bgrewrite_status:ok\r\n" in said, said


def rewrite(client):
    until_rewritten(client)  # one that has begun by itself
    assert client.run("BGREWRITEAOF").startswith(b"+"), "no rewrite"
    until_rewritten(client)


def soak(program, options, has_log=False):
    samples, steps = [], 0
    with Server(program, *options) as server, Client(server.port) as client:
        end = time.monotonic() + SECONDS
        while time.monotonic() < end or len(samples) < 2 * QUARTERS:
            steps += play(server.port, len(samples))
            alone(client)
            if has_log:
                rewrite(client)
            samples.append(count(server))
        assert server.process.poll() is None, "the server has ended"
    check_growth(samples)
    print(f"soak: {steps} steps of clients in {SECONDS:.0f} s, {len(samples)} rounds, flat")


def main():
    program, *options = sys.argv[1:]
    if "--append" in " ".join(options):
        with tempfile.TemporaryDirectory() as folder:
            options += "--dir", folder, "--auto-aof-rewrite-min-size", "16mb"
            soak(program, options, has_log=True)
    else:
        soak(program, options)


if __name__ == "__main__":
    main()
