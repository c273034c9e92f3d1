#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: MIT
"""kv_clients.py SKUA_KV [OPTION...] - skua-kv with many clients, and ones that vanish

SKUA_KV_CONNECTIONS is the number of connections of one case (500).
"""

import os
import socket

import kv_cases
from kv_cases import RESET, equal, expect, in_threads, only_client, until
from kv_wire import Client, Server, encode, parse

CONNECTIONS = int(os.environ.get("SKUA_KV_CONNECTIONS", "500"))
OK = b"+OK\r\n"


# --- many clients -----------------------------------------------------------------


def many_connections(server):
    """All are served, and none leaves a descriptor behind."""
    with only_client(server) as first:
        first.run("PING")
        before = server.descriptors()
        clients = [Client(server.port) for _ in range(CONNECTIONS)]
        for i, client in enumerate(clients):
            client.send(encode("SET", f"k{i}", i) + encode("GET", f"k{i}"))
        for i, client in enumerate(clients):
            equal(client.read(), OK, "SET")
            equal(parse(client.read()), str(i).encode(), "GET")
        equal(parse(first.run("DBSIZE")), CONNECTIONS, "DBSIZE")
        lines = parse(first.run("CLIENT", "LIST")).strip().split(b"\n")
        equal(len(lines), CONNECTIONS + 1, "CLIENT LIST")
        ids = [int(line.split()[0][3:]) for line in lines]
        equal(ids, sorted(set(ids), reverse=True), "the numbers of CLIENT LIST")
        some = ids[:: 3] * 2 + [1 << 60]
        lines = parse(first.run("CLIENT", "LIST", "ID", *some)).strip().split(b"\n")
        equal([int(line.split()[0][3:]) for line in lines], ids[:: 3], "CLIENT LIST ID")
        for client in clients:
            client.socket.close()
        until(lambda: server.descriptors() <= before, "descriptors are left")


def listed(server):
    """CLIENT LIST has each client that stays once, while others come and go."""
    stay = [Client(server.port) for _ in range(150)]
    ids = {parse(client.run("CLIENT", "ID")) for client in stay}
    ended = []

    def work(i):
        if i == 0:
            try:
                with Client(server.port) as client:
                    for _ in range(30):
                        lines = parse(client.run("CLIENT", "LIST")).strip().split(b"\n")
                        got = [int(line.split()[0][3:]) for line in lines]
                        equal(got, sorted(set(got), reverse=True), "the numbers of CLIENT LIST")
                        expect(ids <= set(got), f"not in CLIENT LIST: {ids - set(got)}")
            finally:
                ended.append(i)
            return
        while not ended:
            come = [Client(server.port) for _ in range(60)]
            come[0].run("PING")
            for client in come[::2] + come[1::2]:
                client.socket.close()

    in_threads(3, work)
    for client in stay:
        client.socket.close()


def pipelines(program, options):
    """A client that sends many commands together lets others run between them."""
    pipeline = (encode("DBSIZE") + encode("INCR", "n")) * 400
    options = [*options, "--workers", "1"]
    with (Server(program, *options) as server, Client(server.port) as many,
          Client(server.port) as other):
        for turn in range(50):
            many.send(pipeline)
            seen, end = {0}, (turn + 1) * 400
            while max(seen) < end:
                seen.add(int(parse(other.run("GET", "n")) or 0))
            for _ in range(800):
                many.read()
            between = sum(end - 400 < value < end for value in seen)
            if between > 2:
                return
        raise AssertionError("no other command has run in the middle of 800")


def resets(server):
    """Clients that vanish in the middle of a command, and of a reply."""
    with only_client(server) as first:
        first.run("SET", "big", "x" * 5000000)
        before = server.descriptors()
        for i in range(100):
            client = Client(server.port)
            client.send([b"*3\r\n$3\r\nSET\r\n$1\r\na\r\n$1000\r\nabc", encode("GET", "big") * 3,
                         b"*1000000\r\n", b"PING"][i % 4])
            if i % 8 < 4:
                client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
            client.socket.close()
        until(lambda: server.descriptors() <= before, "descriptors are left")
        equal(first.run("PING"), b"+PONG\r\n", "PING")


def atomic(server):
    """Commands and transactions of many clients do not mix."""

    def work(i):
        with Client(server.port) as client:
            for turn in range(100):
                client.send(encode("INCR", "n") * 10)
                for _ in range(10):
                    client.read()
                client.run("MSET", *(x for k in "abcdef" for x in (k, f"{i}.{turn}")))
                values = parse(client.run("MGET", *"fdbace"))
                expect(len(set(values)) == 1, f"MGET saw a part of an MSET: {values}")
                client.send(encode("MULTI") + encode("INCR", "x") + encode("INCR", "y") +
                            encode("EXEC"))
                replies = [client.read() for _ in range(4)]
                x, y = parse(replies[3])
                expect(x == y, f"EXEC saw a part of another: {x} {y}")

    in_threads(4, work)
    with Client(server.port) as client:
        equal(parse(client.run("GET", "n")), b"4000", "INCR")


def watches(server):
    """A transaction of each client succeeds in the end, and counts once."""

    def work(_):
        with Client(server.port) as client:
            for _ in range(50):
                while True:
                    client.run("WATCH", "n")
                    value = int(parse(client.run("GET", "n")) or 0)
                    client.run("MULTI")
                    client.run("SET", "n", value + 1)
                    if parse(client.run("EXEC")) is not None:
                        break

    in_threads(4, work)
    with Client(server.port) as one, Client(server.port) as two:
        equal(parse(one.run("GET", "n")), b"200", "transactions")
        for touch, stale in ((("SET", "n", 1), True), (("SET", "m", 1), False),
                             (("DEL", "n"), True), (("GET", "n"), False),
                             (("EXPIRE", "n", 100), True), (("FLUSHALL",), True),
                             (("LPUSH", "l", 1), False)):
            two.run("SET", "n", 5)
            one.run("WATCH", "n")
            two.run(*touch)
            one.run("MULTI")
            one.run("PING")
            equal(parse(one.run("EXEC")) is None, stale, f"EXEC after {touch}")


kv_cases.main([many_connections, listed, pipelines, resets, atomic, watches],
              alone=[resets, atomic])
