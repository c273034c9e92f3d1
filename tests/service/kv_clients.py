#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: MIT
"""kv_clients.py SKUA_KV - skua-kv with many clients, slow ones, and ones that vanish

Each case runs with two workers, and those of ALONE also with one. Exit codes: 0 success,
1 failure. SKUA_KV_CONNECTIONS is the number of connections of one case (500). With
SKUA_KV_LONG=1, all cases run with one worker as well. SKUA_KV_TIMES=1 prints times.
"""

import os
import resource
import signal
import socket
import struct
import sys
import threading
import time

import kv_wire
from kv_wire import Client, Server, encode, parse

CONNECTIONS = int(os.environ.get("SKUA_KV_CONNECTIONS", "500"))
RESET = struct.pack("ii", 1, 0)
OK = b"+OK\r\n"


def expect(condition, what):
    if not condition:
        raise AssertionError(what)


def equal(got, wanted, what):
    expect(got == wanted, f"{what}: {str(got)[:200]}, not {str(wanted)[:200]}")


def until(condition, what):
    end = time.monotonic() + kv_wire.HANG_S
    while not condition():
        expect(time.monotonic() < end, what)
        time.sleep(0.01)


def only_client(server):
    """Return a client, when all others have left."""
    client = Client(server.port)
    until(lambda: b"connected_clients:1\r\n" in client.run("INFO", "clients"), "one client")
    return client


def in_threads(count, function):
    """Call function(i) in @count threads at once; an error of one is raised here."""
    errors = []

    def run(i):
        try:
            function(i)
        except Exception as error:  # noqa: the main thread raises it
            errors.append(error)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


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


# --- slow and large clients ---------------------------------------------------------


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
        slow.socket.settimeout(kv_wire.HANG_S)
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


# --- keys ---------------------------------------------------------------------------


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


# --- limits -------------------------------------------------------------------------


def no_room(server_program, workers):
    """maxclients and maxmemory."""
    with Server(server_program, "--workers", str(workers), "--maxclients", "3", "--maxmemory",
                "10mb", "--max-bulk", "1mb") as server:
        clients = [only_client(server)] + [Client(server.port) for _ in range(2)]
        for client in clients:
            equal(client.run("PING"), b"+PONG\r\n", "PING")
        with Client(server.port) as more:
            equal(more.read_all(), b"-ERR max number of clients reached\r\n", "the fourth")
        one, two, _ = clients
        replies = [one.run("SET", f"k{i}", "x" * 100000) for i in range(200)]
        refused = sum(reply.startswith(b"-OOM") for reply in replies)
        expect(80 < refused < 120, f"{refused} of 200 writes were refused")
        equal(one.run("GET", "k199"), b"$-1\r\n", "GET")
        equal(parse(one.run("DEL", "k0", "k1", "k2", "k3", "k4")), 5, "DEL")
        equal(one.run("SET", "k", "v"), OK, "SET")
        one.run("WATCH", *(f"w{i}" for i in range(1024)))
        equal(one.run("WATCH", "w0", "w1"), OK, "keys that are watched already")
        equal(one.run("WATCH", "w1024"), b"-ERR too many watched keys\r\n", "one more")
        equal(one.run("UNWATCH"), OK, "UNWATCH")
        equal(one.run("WATCH", "w1024"), OK, "WATCH")
        # A transaction that would need memory is refused, and over.
        one.run("MULTI")
        one.run("SET", "k", "w")
        for i in range(200):
            two.run("SET", f"k{i}", "x" * 100000)
        expect(one.run("EXEC").startswith(b"-EXECABORT Transaction discarded because of: OOM"),
               "EXEC without memory")
        equal(one.run("EXEC"), b"-ERR EXEC without MULTI\r\n", "EXEC again")
        one.run("FLUSHALL")
        info = parse(one.run("INFO", "memory"))
        expect(b"used_memory:0\r\n" in info, f"all memory is back: {info}")
        two.send(b"*3\r\n$3\r\nSET\r\n$1\r\na\r\n$1048577\r\n")
        equal(two.read_all(), b"-ERR Protocol error: invalid bulk length\r\n", "a bulk")
        for client in clients:
            client.socket.close()


def large_replies(server_program, workers):
    """Replies that are still written count as memory."""
    with Server(server_program, "--workers", str(workers), "--maxmemory", "20mb") as server:
        with Client(server.port) as client, Client(server.port) as greedy:
            for _ in range(10):
                client.run("RPUSH", "l", *(["x" * 4000] * 100))
            greedy.run("MULTI")
            for _ in range(100):
                greedy.run("LRANGE", "l", 0, -1)
            greedy.send(encode("EXEC"))
            equal(greedy.read_all(), b"", "the client with replies of 400 MB")
            expect(server.most_memory() < 200 << 20, "the replies take memory")
            equal(len(parse(client.run("LRANGE", "l", 0, -1))), 1000, "another client")


def ends(server_program, workers):
    """SHUTDOWN and signals end the server, whatever its clients do."""
    for how in ("SHUTDOWN", signal.SIGINT):
        with Server(server_program, "--workers", str(workers), "--grace", "0.2") as server:
            clients = [Client(server.port) for _ in range(20)]
            for client in clients:
                client.run("SET", "v", "x" * 500000)
            for client in clients[10:]:
                client.send(encode("GET", "v") * 20)  # and read nothing
            with Client(server.port) as last:
                if how == "SHUTDOWN":
                    last.send(encode("SHUTDOWN", "NOSAVE"))
                    equal(last.read_all(), b"", "SHUTDOWN")
                else:
                    server.process.send_signal(how)
            equal(server.process.wait(kv_wire.HANG_S), 0, f"exit code after {how}")
            for client in clients[:10]:
                equal(client.read_all(), b"", f"a client after {how}")
            for client in clients:
                client.socket.close()


CASES = (many_connections, resets, atomic, watches, slow_reader, large_values, bytes_by_bytes,
         announced, scans, expiry, no_room, large_replies, ends)
ALONE = (resets, atomic, slow_reader, ends)


def main():
    program = sys.argv[1]
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
    failed = 0
    for case in CASES:
        alone = case in ALONE or "SKUA_KV_LONG" in os.environ
        for workers in (1, 2) if alone else (2,):
            began = time.monotonic()
            try:
                if case in (no_room, large_replies, ends):
                    case(program, workers)
                else:
                    with Server(program, "--workers", str(workers)) as server:
                        case(server)
                        equal(server.process.poll(), None, "the server runs")
            except Exception as error:  # noqa: the other cases run as well
                failed += 1
                print(f"{case.__name__}, {workers} workers: {type(error).__name__}: {error}")
            if "SKUA_KV_TIMES" in os.environ:
                print(f"{case.__name__} {workers}: {time.monotonic() - began:.2f} s")
    return failed > 0


sys.exit(main())
