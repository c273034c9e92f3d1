#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: MIT
"""kv_crowd.py SKUA_KV [OPTION...] - slow readers among many clients delay no other

SKUA_KV_CROWD connections (10000), 1 % of which read slowly: they have asked for more than
the buffers of their sockets take, and read 1,000 bytes now and then. Rounds with and without
them alternate; in each, 64 other clients at a time ask for a value. A round gives a 99th
percentile of the latencies. The median of the rounds with slow readers may be at most 1.5
times that of the others, and the memory of the server may grow by at most 256 MB.
"""

import os
import random
import select
import socket
import statistics
import time

import kv_cases
from kv_cases import equal, expect
from kv_wire import Client, Server, encode, parse

CROWD = int(os.environ.get("SKUA_KV_CROWD", "10000"))
ROUNDS = 9
AT_ONCE = 64
BATCHES = 150
VALUE = "x" * 60000
REPLY = 100


def slowly(clients, queued):
    """Ask for more, and read a little: each client has a lot of replies to come."""
    for client in clients:
        client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
        client.socket.setblocking(False)
        try:
            for _ in range(20):
                client.socket.send(queued)
        except BlockingIOError:
            pass


def until_idle(server):
    """Wait until the server has filled the buffers of the sockets."""
    used = -1
    while used != (used := server.cpu_ticks()):
        time.sleep(0.1)


def sip(clients):
    for client in clients:
        try:
            client.socket.recv(1000)
        except BlockingIOError:
            pass


def latencies(epoll, others, slow):
    """Return the latencies of all requests of a round, in seconds."""
    found = []
    request = encode("GET", "small")
    for batch in range(BATCHES):
        began = {}
        for fd in random.sample(list(others), AT_ONCE):
            began[fd] = time.perf_counter()
            others[fd].send(request)
        while began:
            for fd, _ in epoll.poll():
                got = others[fd].recv(4096)
                equal(len(got), len(f"${REPLY}\r\n") + REPLY + 2, "the size of a reply")
                found.append(time.perf_counter() - began.pop(fd))
        if batch % 10 == 0:
            sip(slow)
    return found


def crowd(program, options):
    with Server(program, "--maxclients", str(CROWD + 10), *options) as server:
        first = Client(server.port)
        first.run("SET", "small", "y" * REPLY)
        first.run("SET", "large", VALUE)
        clients = []
        for _ in range(CROWD):
            clients.append(Client(server.port))
        equal(clients[-1].run("PING"), b"+PONG\r\n", "PING")
        before = server.memory()
        count = CROWD // 100
        slow = []
        epoll = select.epoll()
        others = {c.socket.fileno(): c.socket for c in clients[count:]}
        for fd in others:
            epoll.register(fd, select.EPOLLIN)
        tails = {False: [], True: []}
        for turn in range(2 * ROUNDS):
            if turn % 2:
                slow = clients[:count]
                slowly(slow, encode("GET", "large") * 100)
            until_idle(server)
            found = sorted(latencies(epoll, others, slow))
            tails[bool(turn % 2)].append(found[len(found) * 99 // 100])
            if turn % 2:
                for i in range(count):
                    clients[i].socket.close()
                    clients[i] = Client(server.port)
                slow = []
        without, beside = (statistics.median(tails[with_slow]) for with_slow in (False, True))
        print(f"{CROWD} connections, {count} slow: p99 {beside * 1e6:.0f} us, without them "
              f"{without * 1e6:.0f} us, {beside / without:.2f} times; memory "
              f"{server.memory() >> 20} MB, {server.memory() // CROWD} bytes a connection")
        expect(beside <= 1.5 * without, "slow readers delay others")
        expect(server.most_memory() - before < 256 << 20, "slow readers make the server grow")
        equal(parse(first.run("GET", "small")), b"y" * REPLY, "GET")


kv_cases.main([crowd])
