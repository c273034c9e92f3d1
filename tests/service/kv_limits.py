#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: MIT
"""kv_limits.py SKUA_KV [OPTION...] - the limits of skua-kv, and how it ends"""

import signal
import socket
import time

import kv_cases
from kv_cases import HANG_S, equal, expect, only_client
from kv_wire import Client, Server, encode, parse

OK = b"+OK\r\n"


def no_room(program, options):
    """maxclients and maxmemory."""
    with Server(program, *options, "--maxclients", "3", "--maxmemory",
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


def watches(server):
    """The CPU time of WATCH for a key that is watched already does not grow with the watched keys."""
    request = encode("WATCH", *["w0"] * 200000)

    # The clock of a process, as clock_getcpuclockid(3) encodes it: all of its threads, also those
    # that have ended.
    clock = ~server.process.pid << 3 | 2

    def watch(count):
        """Return the CPU time of the request of a client with so many watched keys."""
        with Client(server.port) as client:
            equal(client.run("WATCH", *(f"w{i}" for i in range(count))), OK, f"{count} keys")
            began = time.clock_gettime_ns(clock)
            client.send(request)
            equal(client.read(), OK, "keys that are watched already")
            return time.clock_gettime_ns(clock) - began

    few, many = (min(times) for times in zip(*((watch(1), watch(1024)) for _ in range(5))))
    # A list of the watched keys takes more than 50 times as long.
    expect(many < 8 * few, f"{many / few:.1f} times as long with 1,024 keys as with one")


def subscriptions(program, options):
    """Subscriptions count as memory, and it is back when they end."""
    with Server(program, *options, "--maxmemory", "1mb") as server:
        def subscribe(client, kind):
            """Return how many subscriptions fit."""
            for i in range(2000):
                if client.run(kind, f"{i}".ljust(1000, "x")).startswith(b"-OOM"):
                    return i
            return 2000

        for kind, end in (("SUBSCRIBE", "UNSUBSCRIBE"), ("PSUBSCRIBE", "PUNSUBSCRIBE")):
            for how in (end, "RESET", "close"):
                with Client(server.port) as client:
                    count = subscribe(client, kind)
                    expect(700 < count < 1000, f"{count} of 2000 {kind} fit")
                    equal(parse(client.run(kind, "0".ljust(1000, "x")))[2], count,
                          "one that is there already")
                    if how == "RESET":
                        equal(client.run(how), b"+RESET\r\n", how)
                    for i in range(count if how == end else 0):
                        client.run(end, f"{i}".ljust(1000, "x"))
                    if how != "close":
                        equal(subscribe(client, kind), count, f"subscriptions after {how}")
                only_client(server).socket.close()


def patterns(server):
    """A pattern that is matched under a lock is not too long."""
    longest, longer = "*" + "b" * 1023, "*" + "b" * 1024
    error = b"-ERR pattern has 1025 bytes; allowed: at most 1024\r\n"
    with Client(server.port) as client:
        client.run("SET", "b" * 1024, "v")
        client.run("HSET", "h", "b" * 1024, "v")
        for words, count in ((("KEYS",), 1), (("SCAN", 0, "COUNT", 1000, "MATCH"), 2),
                             (("HSCAN", "h", 0, "MATCH"), 2), (("PUBSUB", "CHANNELS"), 0)):
            equal(len(parse(client.run(*words, longest))), count, f"{words[0]}, the longest")
            equal(client.run(*words, longer), error, f"{words[0]}, a longer one")
        equal(parse(client.run("PSUBSCRIBE", longest)), [b"psubscribe", longest.encode(), 1],
              "PSUBSCRIBE, the longest")
        equal(client.run("PSUBSCRIBE", longer), error, "PSUBSCRIBE, a longer one")
        equal(parse(client.run("SUBSCRIBE", longer))[2], 2, "SUBSCRIBE")


def names(server):
    """A name that is too long is refused with the length that is allowed."""
    longest, longer = "n" * 63, "n" * 64
    with Client(server.port) as client:
        for what, words in (("Client name", ("CLIENT", "SETNAME")),
                            ("Client name", ("HELLO", 2, "SETNAME")),
                            ("lib-name", ("CLIENT", "SETINFO", "LIB-NAME")),
                            ("lib-ver", ("CLIENT", "SETINFO", "LIB-VER"))):
            expect(client.run(*words, longest)[:1] in b"+*", f"{words}, the longest")
            equal(client.run(*words, longer),
                  f"-ERR {what} has 64 bytes; allowed: at most 63\r\n".encode(), words)


def large_replies(program, options):
    """Replies that are still written count as memory."""
    with Server(program, *options, "--maxmemory", "20mb") as server:
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


def old_values(program, options):
    """A value that was replaced counts as memory while it is sent to a slow client."""
    with Server(program, *options, "--maxmemory", "50mb") as server:
        readers, refused = [], 0
        with only_client(server) as client:
            for i in range(20):
                refused += client.run("SET", "v", str(i % 10) * 10_000_000).startswith(b"-OOM")
                reader = Client(server.port)
                reader.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                reader.send(encode("GET", "v"))
                equal(reader.socket.recv(3), b"$10", "the begin of the value")
                readers.append(reader)
            expect(13 < refused < 17, f"{refused} of 20 writes were refused")
            for reader in readers:
                reader.socket.close()
            kv_cases.until(lambda: client.run("SET", "v", "w") == OK, "a write is permitted again")
            client.run("FLUSHALL")
            kv_cases.until(lambda: b"used_memory:0\r\n" in client.run("INFO", "memory"),
                           "all memory is back")


def arguments(program, options):
    """The places of the arguments of a command that is not complete count as memory."""
    with Server(program, *options, "--maxmemory", "20mb") as server:
        def connected():
            info = parse(control.run("INFO", "clients"))
            return int(info.split(b"connected_clients:")[1].split(b"\r\n")[0])

        with only_client(server) as control:
            clients = [Client(server.port) for _ in range(30)]
            for client in clients:
                try:
                    client.send(b"*1000000\r\n" + b"$0\r\n\r\n" * 320000)
                except ConnectionError:
                    pass  # refused
            # Each takes 2 MB of input, and 8 MB of places.
            kv_cases.until(lambda: connected() <= 3, "there is room for two clients")
            for client in clients:
                client.socket.close()
        with only_client(server) as client:
            for _ in range(3):
                equal(client.run("MSET", *["k", "v"] * 50000), OK, "a command that is complete")
            with Client(server.port) as more:
                equal(more.run("MSET", *["k", "v"] * 50000), OK, "the same of another client")


def ends(program, options):
    """SHUTDOWN and signals end the server, whatever its clients do."""
    for how in ("SHUTDOWN", signal.SIGINT):
        with Server(program, *options, "--grace", "0.2") as server:
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
            equal(server.process.wait(HANG_S), 0, f"exit code after {how}")
            for client in clients[:10]:
                equal(client.read_all(), b"", f"a client after {how}")
            for client in clients:
                client.socket.close()


kv_cases.main([no_room, watches, subscriptions, patterns, names, large_replies, old_values, arguments, ends], alone=[ends])
