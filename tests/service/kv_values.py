#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: MIT
"""kv_values.py SKUA_KV [OPTION...] - large values, slow readers, scans and expiry"""

import os

import kv_cases
from kv_cases import HANG_S, equal, expect, until
from kv_wire import Client, encode, parse

OK = b"+OK\r\n"


def slow_reader(server):
    """A client that takes no replies is stopped, and delays no other."""
    with Client(server.port) as slow, Client(server.port) as fast:
        fast.run("SET", "v", "x" * 4000)
        before = server.memory()
        slow.socket.settimeout(0.2)
        sent = 0
        try:
            while sent < 1 << 20:
                sent += slow.socket.send(encode("GET", "v") * 100)
        except TimeoutError:
            pass
        for _ in range(100):
            equal(fast.run("PING"), b"+PONG\r\n", "PING")
        expect(server.memory() - before < 64 << 20, "a slow reader makes the server grow")
        slow.socket.settimeout(HANG_S)
        equal(len(parse(slow.read())), 4000, "the reply, later")


def large_values(server):
    """Values that replies share keep their bytes while the key changes."""
    value = os.urandom(1 << 20) * 5
    with Client(server.port) as slow, Client(server.port) as fast:
        equal(fast.run("SET", "v", value), OK, "SET")
        slow.send(encode("GET", "v") * 2 + encode("MGET", "v", "none", "v"))
        equal(parse(fast.run("APPEND", "v", b"end")), len(value) + 3, "APPEND")
        fast.run("DEL", "v")
        for _ in range(2):
            expect(parse(slow.read()) in (value, value + b"end", None), "GET")
        first, none, last = parse(slow.read())
        expect(none is None and first == last, "MGET")
        equal(fast.run("SET", "v", b"x" * (2 << 20)), OK, "SET")
        fast.send(encode("APPEND", "v", b"y" * 100000) * 50)
        for i in range(50):
            equal(parse(fast.read()), (2 << 20) + 100000 * (i + 1), "APPEND")
        equal(parse(fast.run("GET", "v"))[-1:], b"y", "GET")


def bytes_by_bytes(server):
    """Commands in pieces of all sizes."""
    data = encode("SET", "k", b"\r\n$5\r\n" * 10) + encode("GET", "k") + b"GET k\r\n"
    for size in range(1, 50):
        with Client(server.port) as client:
            for at in range(0, len(data), size):
                client.send(data[at : at + size])
            equal(client.read(), OK, "SET")
            equal(parse(client.read()), b"\r\n$5\r\n" * 10, "GET")
            equal(parse(client.read()), b"\r\n$5\r\n" * 10, "GET")


def announced(server):
    """A command that is only announced takes no memory."""
    before = server.memory()
    clients = [Client(server.port) for _ in range(100)]
    for i, client in enumerate(clients):
        client.send(b"*1048576\r\n" if i % 2 else b"*2\r\n$4\r\nECHO\r\n$536870912\r\n")
    with Client(server.port) as client:
        client.run("PING")
        until(lambda: b"connected_clients:101" in client.run("INFO"), "101 clients")
    expect(server.memory() - before < 400 << 20, "announcements make the server grow")
    for client in clients:
        client.socket.close()





def scans(server):
    """Keys that are there all the time are found, however the store grows meanwhile."""
    with Client(server.port) as client, Client(server.port) as other:
        wanted = {f"stay{i}".encode() for i in range(2000)}
        client.send(b"".join(encode("SET", k, 1) for k in wanted))
        for _ in wanted:
            client.read()
        for round in range(3):
            found, cursor, steps = set(), b"0", 0
            while True:
                cursor, keys = parse(client.run("SCAN", cursor, "MATCH", "stay*", "COUNT", 100))
                found.update(keys)
                steps += 1
                other.send(b"".join(
                    encode("DEL", f"x{steps}.{i}") if round == 1 else
                    encode("SET", f"x{steps}.{i}", 1) for i in range(100)))
                for _ in range(100):
                    other.read()
                if cursor == b"0":
                    break
            equal(found, wanted, "SCAN")
        equal(set(parse(client.run("KEYS", "stay*"))), wanted, "KEYS")


def expiry(server):
    """Keys expire, whether they are asked for or not."""
    with Client(server.port) as client:
        client.send(b"".join(encode("SET", f"k{i}", 1, "PX", 50) for i in range(1000)))
        for _ in range(1000):
            client.read()
        client.run("SET", "stay", 1, "PX", 1000000)
        until(lambda: parse(client.run("GET", "k1")) is None, "the key has expired")
        until(lambda: parse(client.run("DBSIZE")) == 1, "all keys have expired")
        expect(b"keys=1,expires=1" in client.run("INFO"), "INFO")


kv_cases.main([slow_reader, large_values, bytes_by_bytes, announced, scans, expiry],
              alone=[slow_reader])
