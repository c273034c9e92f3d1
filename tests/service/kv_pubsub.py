#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: MIT
"""kv_pubsub.py SKUA_KV [OPTION...] - subscribers of skua-kv: many, slow ones, and ones that vanish

Each case runs with two workers. Exit codes: 0 success, 1 failure.
"""

import socket

import kv_cases
from kv_cases import equal, expect, in_threads, until
from kv_wire import Client, encode, parse

MESSAGES = 2000


def subscriber(server, *channels, version=2):
    client = Client(server.port)
    client.run("HELLO", version)
    for kind, *names in channels:
        client.send(encode(kind, *names))
        for _ in names:
            client.read()
    return client


def order(server):
    """Messages of one publisher come in order, also over several channels; all see the same."""
    readers = [subscriber(server, ("SUBSCRIBE", "a", "b"), version=2 + i % 2) for i in range(4)]
    readers += [subscriber(server, ("PSUBSCRIBE", "?")) for _ in range(2)]
    got = [None] * len(readers)

    def publish(name):
        with Client(server.port) as client:
            for at in range(0, MESSAGES, 50):
                client.send(b"".join(encode("PUBLISH", "ab"[i % 2], f"{name} {i}")
                                     for i in range(at, at + 50)))
                for _ in range(50):
                    equal(parse(client.read()), len(readers), "receivers")

    def read(i):
        got[i] = [parse(readers[i].read())[-1] for _ in range(2 * MESSAGES)]

    in_threads(2 + len(readers), lambda i: publish(i) if i < 2 else read(i - 2))
    for messages in got:
        equal(messages, got[0], "what another subscriber has received")
    for name in (b"0", b"1"):
        numbers = [int(m.split()[1]) for m in got[0] if m.split()[0] == name]
        equal(numbers, list(range(MESSAGES)), "messages of one publisher")
    for reader in readers:
        reader.socket.close()


def messages(channels, payload):
    """Return the bytes of a message to channel a for a subscriber of these channels."""
    return b"".join(encode("message", "a", payload) if kind == "SUBSCRIBE" else
                    encode("pmessage", name, "a", payload) for kind, name in channels)


def slow(server):
    """A subscriber that takes no messages is closed at its limit, and delays no other."""
    with Client(server.port) as publisher, subscriber(server, ("SUBSCRIBE", "a")) as fast:
        publisher.run("CONFIG", "SET", "client-output-buffer-limit", "pubsub 1mb 0 0")
        wanted = [[("SUBSCRIBE", "a")], [("PSUBSCRIBE", "a")]] * 2
        for size in (1000, 100000):
            lazy = [subscriber(server, *channels) for channels in wanted]
            payload, sent, receivers = "x" * size, 0, len(lazy) + 1
            before = server.memory()
            while receivers > 1:
                publisher.send(encode("PUBLISH", "a", payload) * 10)
                for _ in range(10):
                    receivers = parse(publisher.read())
                    equal(len(parse(fast.read())[2]), size, "the message")
                sent += 10 * size
                expect(sent < 64 << 20, "slow subscribers stay")
            # Each has a socket with some megabytes, and 1 MB of messages.
            expect(server.memory() - before < 64 << 20, "messages make the server grow")
            # One may be closed before anything was sent to it.
            for client, channels in zip(lazy, wanted):
                got, each = client.read_all(), messages(channels, payload)
                expect((each * (len(got) // len(each) + 1)).startswith(got), "what came before")
                client.socket.close()
            until(lambda: parse(publisher.run("PUBSUB", "NUMPAT")) == 0, "they have left")
            wanted = [[("SUBSCRIBE", "a"), ("PSUBSCRIBE", "*")]]


def soft_limit(server):
    """A subscriber that is over the soft limit for its time is closed."""
    with Client(server.port) as publisher, subscriber(server, ("SUBSCRIBE", "a")) as lazy:
        publisher.run("CONFIG", "SET", "client-output-buffer-limit", "pubsub 0 1mb 0")
        lazy.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
        sent = 0
        while parse(publisher.run("PUBLISH", "a", "x" * 50000)):
            sent += 50000
            expect(sent < 64 << 20, "a slow subscriber stays")
        publisher.run("CONFIG", "SET", "client-output-buffer-limit", "pubsub 0 0 0")


def slow_but_alive(server):
    """A subscriber within its limit gets everything, later."""
    with Client(server.port) as publisher, subscriber(server, ("SUBSCRIBE", "a")) as lazy:
        for i in range(1000):
            equal(parse(publisher.run("PUBLISH", "a", f"{i}." + "x" * 20000)), 1, "PUBLISH")
        for i in range(1000):
            expect(parse(lazy.read())[2].startswith(b"%d." % i), "a message")
        equal(parse(lazy.run("PING")), [b"pong", b""], "PING")


def vanish(server):
    """Clients that leave, however they do, leave no subscription behind."""
    names = [f"channel{i}" for i in range(1000)]
    with Client(server.port) as client:
        for how in ("close", "reset", "QUIT", "UNSUBSCRIBE", "RESET"):
            readers = [subscriber(server, ("SUBSCRIBE", *names[i % 4::4], "all"),
                                  ("PSUBSCRIBE", *names[i::8])) for i in range(8)]
            equal(len(parse(client.run("PUBSUB", "CHANNELS"))), 1001, "channels")
            equal(parse(client.run("PUBSUB", "NUMSUB", "all", names[0])),
                  [b"all", 8, names[0].encode(), 2], "NUMSUB")
            equal(parse(client.run("PUBSUB", "NUMPAT")), 1000, "patterns")
            listed = parse(client.run("CLIENT", "LIST", "TYPE", "pubsub"))
            equal(listed.count(b" sub=251 psub=125 "), 8, "CLIENT LIST")
            for reader in readers:
                if how == "reset":
                    reader.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, kv_cases.RESET)
                elif how == "UNSUBSCRIBE":
                    reader.send(encode("UNSUBSCRIBE") + encode("PUNSUBSCRIBE"))
                elif how != "close":
                    reader.send(encode(how))
                if how in ("close", "reset"):
                    reader.socket.close()
            until(lambda: parse(client.run("PUBSUB", "CHANNELS")) == [] and
                  parse(client.run("PUBSUB", "NUMPAT")) == 0, f"no channels after {how}")
            equal(parse(client.run("PUBLISH", "all", "x")), 0, "PUBLISH")
            for reader in readers:
                reader.socket.close()


def leaves_beside_publishers(server):
    """The subscriptions of a client that leaves end in steps, while messages come for them."""
    names = [f"channel{i}" for i in range(3000)]
    for how in ("close", "UNSUBSCRIBE", "RESET"):
        with subscriber(server, ("SUBSCRIBE", *names), ("PSUBSCRIBE", *names)) as reader, \
             Client(server.port) as publisher:
            publisher.send(b"".join(encode("PUBLISH", name, "x") for name in names))
            if how == "close":
                reader.socket.close()
            elif how == "UNSUBSCRIBE":
                reader.send(encode("UNSUBSCRIBE") + encode("PUNSUBSCRIBE"))
                ended = 0
                while ended < 2 * len(names):
                    ended += b"unsubscribe" in parse(reader.read())[0]
            else:
                reader.send(encode("RESET"))
                while reader.read() != b"+RESET\r\n":
                    pass
            for _ in names:
                expect(parse(publisher.read()) in (0, 1, 2), "receivers")
            until(lambda: parse(publisher.run("PUBSUB", "CHANNELS")) == [] and
                  parse(publisher.run("PUBSUB", "NUMPAT")) == 0, f"no channels after {how}")
            if how != "close":
                equal(reader.run("PING"), b"+PONG\r\n", "PING")


def beside_commands(server):
    """A client of version 3 runs commands while messages come."""
    with subscriber(server, ("SUBSCRIBE", "a"), version=3) as both:
        def publish(_):
            with Client(server.port) as client:
                for i in range(MESSAGES):
                    client.run("PUBLISH", "a", i)

        def work(_):
            seen = replies = sent = 0
            while seen < MESSAGES or replies < MESSAGES:
                if sent < MESSAGES and sent - replies < 20:
                    both.send(encode("INCR", "n"))
                    sent += 1
                reply = both.read()
                if reply[:1] == b">":
                    equal(parse(reply)[2], b"%d" % seen, "a message")
                    seen += 1
                else:
                    replies += 1
                    equal(parse(reply), replies, "INCR")

        in_threads(2, lambda i: (publish, work)[i](i))


def ends(server):
    """The server ends while it has subscribers."""
    readers = [subscriber(server, ("SUBSCRIBE", "a")) for _ in range(20)]
    with Client(server.port) as client:
        client.run("PUBLISH", "a", "x" * 100000)
        client.send(encode("SHUTDOWN"))
        equal(client.read_all(), b"", "SHUTDOWN")
    equal(server.process.wait(kv_cases.HANG_S), 0, "exit code")
    for reader in readers:
        equal(len(parse(reader.read())[2]), 100000, "the message")
        reader.socket.close()


kv_cases.main([order, slow, soft_limit, slow_but_alive, vanish, leaves_beside_publishers,
               beside_commands, ends])
