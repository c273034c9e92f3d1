#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: MIT
"""servers.py KIND PROGRAM... - the servers of bench/examples, with good and bad clients

KIND is echo (PROGRAM is an echo server), echo_end (one that SIGTERM ends in order), proxy
(PROGRAM is the proxy; a second one is an echo server), tls (PROGRAM is the server with
TLS), or service. Each case runs with one worker and with as many as there are CPUs. Exit
codes: 0 success, 1 failure, 77 skipped.
"""

import os
import random
import shutil
import signal
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import threading
import time

HANG_S = 120  # ends a test that has failed; decides nothing else
RESET = struct.pack("ii", 1, 0)


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return probe.getsockname()[1]


def connect(port):
    client = socket.create_connection(("127.0.0.1", port), timeout=HANG_S)
    client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return client


class Server:
    """A program that listens on a port, which is its first argument."""

    def __init__(self, program, *args, workers=None):
        environment = dict(os.environ)
        if workers:
            environment["SKUA_WORKERS"] = str(workers)
        self.port = free_port()
        self.process = subprocess.Popen(
            [program, str(self.port), *map(str, args)],
            env=environment,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self):
        end = time.monotonic() + HANG_S
        while time.monotonic() < end and self.process.poll() is None:
            try:
                connect(self.port).close()
                return self
            except ConnectionRefusedError:
                time.sleep(0.01)
        self.stop()
        sys.exit(f"{self.process.args[0]} does not listen")

    def __exit__(self, kind, value, traceback):
        assert self.process.poll() is None, "the server has ended"
        self.stop()

    def stop(self, number=signal.SIGKILL):
        """Return the exit code and what was printed."""
        self.process.send_signal(number)
        printed, _ = self.process.communicate(timeout=HANG_S)
        return self.process.returncode, printed


def receive(client, size):
    data = b""
    while len(data) < size:
        part = client.recv(size - len(data))
        assert part, f"end of file after {len(data)} bytes"
        data += part
    return data


def exchange(client, turns, largest):
    """Send messages, and check that each comes back."""
    for _ in range(turns):
        message = random.randbytes(random.randint(1, largest))
        sender = threading.Thread(target=client.sendall, args=(message,))
        sender.start()
        assert receive(client, len(message)) == message, "another message"
        sender.join()


def half_close(client):
    """The answer to all that was sent comes, and then the end."""
    message = random.randbytes(100000)
    sender = threading.Thread(target=client.sendall, args=(message,))
    sender.start()
    assert receive(client, 1000) == message[:1000]
    sender.join(0)
    rest = b""
    while len(rest) < len(message) - 1000:
        rest += receive(client, min(65536, len(message) - 1000 - len(rest)))
    sender.join()
    client.shutdown(socket.SHUT_WR)
    assert message[1000:] == rest and client.recv(1) == b"", "no end of file"


def many(port, count):
    """Clients that take turns; some reset their connections."""
    clients = [connect(port) for _ in range(count)]
    for turn in range(3):
        for client in clients:
            client.sendall(b"%7d" % turn)
        for number, client in enumerate(clients):
            if number % 5 == turn:
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
                client.close()
            else:
                assert receive(client, 7) == b"%7d" % turn
        clients = [client for client in clients if client.fileno() >= 0]
    for client in clients:
        client.close()


def check_echo(server):
    with connect(server.port) as client:
        exchange(client, 20, 100000)
    with connect(server.port) as client:
        half_close(client)
    many(server.port, 100)
    with connect(server.port) as client:
        exchange(client, 5, 10)


def echo(programs, workers):
    with Server(programs[0], workers=workers) as server:
        check_echo(server)


def echo_end(programs, workers):
    """SIGTERM ends the server in order."""
    echo(programs, workers)
    server = Server(programs[0], workers=workers).__enter__()
    with connect(server.port) as idle:
        exchange(idle, 1, 10)
        code, printed = server.stop(signal.SIGTERM)
        assert code == 0, f"exit code {code}"
        assert "all connections have ended" in printed, printed
        assert idle.recv(1) == b"", "no end at the shutdown"


def proxy(programs, workers):
    program, target = programs
    with Server(target, workers=workers) as behind:
        with Server(program, behind.port, 10 * 60 * 1000, workers=workers) as server:
            check_echo(server)
        with Server(program, behind.port, 100, workers=workers) as server:
            before = time.monotonic()
            with connect(server.port) as client:
                assert client.recv(1) == b"", "no end of an idle connection"
                assert time.monotonic() - before > 0.099, "ended too early"
        nobody = free_port()
        with Server(program, nobody, 10 * 60 * 1000, workers=workers) as server:
            with connect(server.port) as client:
                assert client.recv(1) == b"", "no end without a target"


def tls(programs, workers):
    with tempfile.TemporaryDirectory() as folder:
        certificate, key = f"{folder}/certificate.pem", f"{folder}/key.pem"
        request = "openssl req -x509 -nodes -newkey rsa:2048 -days 2 -subj /CN=localhost"
        subprocess.run(
            [*request.split(), "-keyout", key, "-out", certificate],
            check=True,
            capture_output=True,
        )
        context = ssl.create_default_context(cafile=certificate)
        with Server(programs[0], certificate, key, workers=workers) as server:
            clients = []
            for _ in range(5):
                client = connect(server.port)
                clients.append(context.wrap_socket(client, server_hostname="localhost"))
            for client in clients:
                exchange_tls(client)
            with connect(server.port) as client:  # not TLS
                client.sendall(b"hello\n" * 100)
                until_the_end(client)
            exchange_tls(clients[0])
            for client in clients:
                client.close()


def until_the_end(client):
    try:
        while client.recv(100):
            pass
    except ConnectionResetError:
        pass


def exchange_tls(client):
    """An SSL object must not be used by two threads at once."""
    for size in 1, 4096, 20000:
        message = random.randbytes(size)
        client.sendall(message)
        assert receive(client, size) == message, "another message"


def never_idle(client):
    """Send lines, and take the answers, until the server ends the connection."""

    def send():
        try:
            while True:
                client.sendall(b"zebra\n" * 500)
        except OSError:
            pass

    threads = [threading.Thread(target=send), threading.Thread(target=until_the_end, args=[client])]
    for thread in threads:
        thread.start()
    return threads


def service(programs, workers):
    server = Server(programs[0], workers=workers)
    server.__enter__()
    with connect(server.port) as one, connect(server.port) as two:
        for client, line, answer in (
            (one, b"apple\n", b"a: 1\n"),
            (two, b"ant\n", b"a: 2\n"),
            (two, b"b", b""),
            (two, b"ee\nabc\n", b"b: 1\na: 3\n"),
            (one, b"b\n", b"b: 2\n"),
        ):
            client.sendall(line)
            assert receive(client, len(answer)) == answer, line
        two.sendall(b"x" * 4096)  # a line that is too long
        until_the_end(two)
        three = connect(server.port)
        three.sendall(b"appl")  # an incomplete line
        busy = connect(server.port)
        threads = never_idle(busy)
        code, printed = server.stop(signal.SIGTERM)
        assert code == 0, f"exit code {code}"
        assert "all connections have ended" in printed, printed
        assert one.recv(1) == b"", "no end at the shutdown"
        until_the_end(three)
        three.close()
        for thread in threads:
            thread.join()
        busy.close()


def main():
    kinds = {"echo": echo, "echo_end": echo_end, "proxy": proxy, "tls": tls, "service": service}
    kind, *programs = sys.argv[1:]
    if kind == "tls" and not shutil.which("openssl"):
        print("openssl is not installed (Debian package openssl)")
        sys.exit(77)
    signal.alarm(2 * HANG_S)
    for workers in 1, None:
        kinds[kind](programs, workers)
    print(f"{kind}: each client was served")


if __name__ == "__main__":
    main()
