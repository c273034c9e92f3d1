#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: MIT
"""server.py PROGRAM [CASE...] - bench/examples/server.c, with good and bad clients

PROGRAM is the server, which fails at its end if it has leaked a descriptor. Each case
runs with one worker and with as many as there are CPUs.
"""

import fcntl
import os
import random
import re
import resource
import selectors
import signal
import socket
import struct
import subprocess
import sys
import termios
import time

HANG_S = 120  # ends a test that has failed; decides nothing else
MANY = 200
NEVER = 3600000  # GRACE_MS: the server ends by itself, or the test hangs
AT_ONCE = 50
SUMMARY = re.compile(
    r"served (\d+) requests; connections: (\d+) closed by clients, "
    r"(\d+) finished, (\d+) cancelled\n"
)


class Server:
    def __init__(self, grace_ms=NEVER, descriptors=None):
        def limit():
            if descriptors:
                resource.setrlimit(resource.RLIMIT_NOFILE, (descriptors, descriptors))

        self.process = subprocess.Popen(
            [PROGRAM, "0", str(grace_ms)],
            stdout=subprocess.PIPE,
            text=True,
            preexec_fn=limit,
        )
        self.port = int(self.process.stdout.readline().rsplit(":", 1)[1])
        self.sockets_at_first = self.count_sockets()

    def __enter__(self):
        return self

    def __exit__(self, kind, value, traceback):
        if self.process.poll() is None:  # the test has failed
            self.process.kill()
            self.process.wait()

    def count_sockets(self):
        """Nothing else: workers open a file now and then."""
        folder, count = f"/proc/{self.process.pid}/fd", 0
        for descriptor in os.listdir(folder):
            try:
                count += os.readlink(f"{folder}/{descriptor}").startswith("socket:")
            except FileNotFoundError:
                pass  # closed meanwhile
        return count

    def wait_for_connections(self, count):
        while self.count_sockets() - self.sockets_at_first != count:
            time.sleep(0.001)

    def asleep(self):
        """Do all its threads sleep?"""
        folder = f"/proc/{self.process.pid}/task"
        for thread in os.listdir(folder):
            with open(f"{folder}/{thread}/stat", encoding="utf-8") as stat:
                if stat.read().rpartition(")")[2].split()[0] != "S":
                    return False
        return True

    def connect(self):
        client = socket.create_connection(("127.0.0.1", self.port), timeout=HANG_S)
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return client

    def terminate(self):
        self.process.send_signal(signal.SIGTERM)

    def end(self, **expected):
        """Wait for exit 0, and compare what the one line says."""
        said, _ = self.process.communicate(timeout=HANG_S)
        assert self.process.returncode == 0, self.process.returncode
        match = SUMMARY.fullmatch(said)
        assert match, said
        names = ("served", "closed", "finished", "cancelled")
        figures = dict(zip(names, map(int, match.groups())))
        for name, value in expected.items():
            assert figures[name] == value, f"{name} is not {value}: {said}"


def deliver(clients, line):
    """Send, and wait until the server's sockets have it."""
    for client in clients:
        client.sendall(line)
    for client in clients:
        while fcntl.ioctl(client, termios.TIOCOUTQ, bytes(4)) != bytes(4):
            time.sleep(0.001)


def stuff(server, client):
    """Send until all buffers are full, the server's too: it has to wait.

    Returns what was sent."""
    sent, line, stuck = bytearray(), b"", 0
    client.setblocking(False)
    while stuck < 10:
        line = line or b"%d\n" % len(sent) * 1000
        try:
            count = client.send(line)
            sent += line[:count]
            line, stuck = line[count:], 0
        except BlockingIOError:
            time.sleep(0.01)
            stuck += server.asleep()
    client.settimeout(HANG_S)
    return sent


def receive(client, count):
    got = bytearray()
    while len(got) < count:
        more = client.recv(count - len(got))
        assert more, f"the end after {len(got)} of {count} bytes"
        got += more
    return got


def ask(client, line):
    client.sendall(line)
    assert receive(client, len(line)) == line


def expect_end(client):
    """The server has closed, and sent nothing more."""
    assert client.recv(1) == b""
    client.close()


def reset(client):
    """Close so that the server gets a reset."""
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    client.close()


def many_clients__at_once__each_gets_its_answers():
    with Server() as server:
        clients = [server.connect() for _ in range(MANY)]
        rounds = 20
        for turn in range(rounds):
            lines = [b"%d of %d\n" % (turn, i) for i in range(MANY)]
            for client, line in zip(clients, lines):
                client.sendall(line)
            for client, line in zip(clients, lines):
                assert receive(client, len(line)) == line
        for client in clients[: MANY // 2]:
            client.close()
        server.wait_for_connections(MANY // 2)
        server.terminate()
        for client in clients[MANY // 2 :]:
            expect_end(client)
        server.end(
            served=MANY * rounds, closed=MANY // 2, finished=MANY // 2, cancelled=0
        )


def requests__in_pieces_and_in_heaps__are_answered():
    with Server() as server:
        slow, fast = server.connect(), server.connect()
        heap = b"".join(b"%d\n" % i for i in range(100000))
        rest = heap
        fast.setblocking(False)
        got = b""
        with selectors.DefaultSelector() as selector:
            selector.register(fast, selectors.EVENT_READ | selectors.EVENT_WRITE)
            while len(got) < len(heap):
                for _, ready in selector.select():
                    if ready & selectors.EVENT_READ:
                        got += fast.recv(65536)
                    if ready & selectors.EVENT_WRITE and rest:
                        rest = rest[fast.send(rest) :]
                if not rest:
                    selector.modify(fast, selectors.EVENT_READ)
        assert got == heap
        # One byte at a time, and two lines of which the second is cut at each place.
        for byte in b"a line\n":
            slow.send(bytes([byte]))
        assert receive(slow, 7) == b"a line\n"
        for cut in range(1, 14):
            slow.sendall(b"line 1\nline 2\n"[:cut])
            if cut >= 7:
                assert receive(slow, 7) == b"line 1\n"
            slow.sendall(b"line 1\nline 2\n"[cut:])
            receive(slow, 7 if cut >= 7 else 14)
        slow.close()
        fast.close()
        server.wait_for_connections(0)
        server.terminate()
        server.end(served=100000 + 1 + 2 * 13, closed=2, finished=0, cancelled=0)


def clients__that_read_late__get_all():
    with Server() as server:
        clients = [server.connect() for _ in range(2)]
        said = [stuff(server, client) for client in clients]
        for client, sent in zip(clients, said):
            lines = sent[: sent.rindex(b"\n") + 1]
            assert receive(client, len(lines)) == lines
            client.close()
        server.wait_for_connections(0)
        server.terminate()
        server.end(closed=2)


def clients__that_leave_at_any_time__cost_nothing():
    with Server() as server:
        witness = server.connect()
        for i in range(MANY):
            client = server.connect()
            if i % 5 == 1:
                client.sendall(b"half a request")
            elif i % 5 == 2:
                client.sendall(b"not read\n" * 10000)
            elif i % 5 == 3:
                ask(client, b"a request\n")
            elif i % 5 == 4:
                try:
                    client.sendall(b"too long" * 1000)
                except ConnectionError:
                    pass  # has been found too long by now
            if i % 2:
                client.close()
            else:
                reset(client)
            ask(witness, b"still there\n")
        # Accepted after all others: the count can only fall from now on.
        last = server.connect()
        ask(last, b"last\n")
        last.close()
        server.wait_for_connections(1)
        server.terminate()
        expect_end(witness)
        server.end(closed=MANY + 1, finished=1, cancelled=0)


def sigterm__idle_and_busy_clients__busy_ones_finish():
    with Server() as server:
        idle = [server.connect() for _ in range(AT_ONCE)]
        busy = [server.connect() for _ in range(AT_ONCE)]
        late = [server.connect() for _ in range(AT_ONCE)]
        for client in idle + busy + late:
            ask(client, b"first\n")
        for client in busy:
            ask(client, b"second\n")
        deliver(busy, b"second half ")
        deliver(late, b"at the last moment\n")
        # Whether half a request has been read by now makes no difference.
        server.terminate()
        for client in idle:
            expect_end(client)
        for client in late:
            receive(client, len(b"at the last moment\n"))
            expect_end(client)
        try:
            server.connect()
            raise AssertionError("the port is still open")
        except ConnectionRefusedError:
            pass
        for client in busy:
            client.sendall(b"comes\nand a third")
            assert receive(client, len(b"second half comes\n")) == b"second half comes\n"
            client.sendall(b" one\n")
            assert receive(client, len(b"and a third one\n")) == b"and a third one\n"
            expect_end(client)
        server.end(served=AT_ONCE * 7, closed=0, finished=AT_ONCE * 3, cancelled=0)


def sigterm__clients_that_never_read_or_say_the_rest__are_cancelled():
    with Server(grace_ms=300) as server:
        idle = [server.connect() for _ in range(AT_ONCE)]
        silent = [server.connect() for _ in range(AT_ONCE)]
        deaf = [server.connect() for _ in range(4)]
        for client in idle + silent:
            ask(client, b"first\n")
        deliver(silent, b"the rest never comes")
        for client in deaf:
            stuff(server, client)
        server.terminate()
        for client in idle:
            expect_end(client)
        server.end(closed=0, finished=AT_ONCE, cancelled=AT_ONCE + 4)


def descriptors__fewer_than_clients__all_are_served_in_the_end():
    with Server(descriptors=40) as server:
        clients = [server.connect() for _ in range(2 * AT_ONCE)]
        for client in clients:
            client.sendall(b"my turn?\n")
        with selectors.DefaultSelector() as selector:
            for client in clients:
                selector.register(client, selectors.EVENT_READ)
            left = 2 * AT_ONCE
            while left:
                for key, _ in selector.select():
                    assert receive(key.fileobj, 9) == b"my turn?\n"
                    selector.unregister(key.fileobj)
                    key.fileobj.close()
                    left -= 1
        server.terminate()
        server.end(served=2 * AT_ONCE, cancelled=0)


def sigterm__while_clients_come_and_go__leaves_nothing():
    for seed in range(5):
        chance = random.Random(seed)
        with Server(100, descriptors=chance.choice((None, 40))) as server:
            clients = []
            for _ in range(chance.randrange(MANY)):
                clients.append(server.connect())
                client = chance.choice(clients)
                act = chance.randrange(4)
                if act == 0:
                    client.sendall(b"line\n" * chance.randrange(1000))
                elif act == 1:
                    client.sendall(b"half")
                elif act == 2:
                    clients.remove(client)
                    client.close()
                else:
                    clients.remove(client)
                    reset(client)
            server.terminate()
            server.end()


def arguments__out_of_range__are_refused():
    for words in (["x"], ["65536"], ["-1"], ["0", "1h"], [""], ["0", "0", "0"]):
        done = subprocess.run(
            [PROGRAM] + words, capture_output=True, text=True, timeout=HANG_S
        )
        assert done.returncode == 2 and "usage" in done.stderr, words


CASES = (
    many_clients__at_once__each_gets_its_answers,
    requests__in_pieces_and_in_heaps__are_answered,
    clients__that_read_late__get_all,
    clients__that_leave_at_any_time__cost_nothing,
    sigterm__idle_and_busy_clients__busy_ones_finish,
    sigterm__clients_that_never_read_or_say_the_rest__are_cancelled,
    descriptors__fewer_than_clients__all_are_served_in_the_end,
    sigterm__while_clients_come_and_go__leaves_nothing,
    arguments__out_of_range__are_refused,
)


def hang(number, frame):
    raise TimeoutError(f"nothing has happened for {HANG_S} seconds")


def main():
    signal.signal(signal.SIGALRM, hang)
    names = sys.argv[2:] or [case.__name__ for case in CASES]
    for workers in ("1", ""):
        os.environ["SKUA_WORKERS"] = workers
        for case in CASES:
            if case.__name__ in names:
                signal.alarm(HANG_S)
                print(f"{workers or 'default'}: {case.__name__}", flush=True)
                case()
    print(f"{len(names)} cases passed, twice")


PROGRAM = sys.argv[1]
if __name__ == "__main__":
    main()
