# SPDX-License-Identifier: MIT
"""kv_wire.py - clients of a Redis server that see each byte, and the servers themselves"""

import os
import select
import socket
import subprocess
import time

HANG_S = 120  # ends a test that has failed; decides nothing else


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return probe.getsockname()[1]


def encode(*words):
    """Return a command as an array of bulk strings."""
    parts = [w if isinstance(w, bytes) else str(w).encode() for w in words]
    return b"*%d\r\n" % len(parts) + b"".join(b"$%d\r\n%s\r\n" % (len(p), p) for p in parts)


class Client:
    """A connection. Replies are returned as the bytes that came."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=HANG_S)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.buffer = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, data):
        self.socket.sendall(data)

    def _more(self):
        data = self.socket.recv(1 << 20)
        if not data:
            raise EOFError
        self.buffer += data

    def _line(self, start):
        while (end := self.buffer.find(b"\r\n", start)) < 0:
            self._more()
        return end + 2

    def _skip(self, start):
        """Return the place after the reply that begins at @start."""
        end = self._line(start)
        kind = self.buffer[start : start + 1]
        if kind in b"$=":
            size = int(self.buffer[start + 1 : end - 2])
            if size >= 0:
                end += size + 2
                while len(self.buffer) < end:
                    self._more()
        elif kind in b"*%~>":
            count = int(self.buffer[start + 1 : end - 2])
            for _ in range(count * (2 if kind == b"%" else 1)):
                end = self._skip(end)
        return end

    def read(self):
        end = self._skip(0)
        reply, self.buffer = self.buffer[:end], self.buffer[end:]
        return reply

    def run(self, *words):
        self.send(encode(*words))
        return self.read()

    def read_all(self):
        """Return all bytes until the server closes the connection."""
        try:
            while True:
                self._more()
        except (EOFError, ConnectionResetError):
            pass
        data, self.buffer = self.buffer, b""
        return data

    def is_silent(self, seconds):
        return not self.buffer and not select.select([self.socket], [], [], seconds)[0]


def parse(reply):
    """Return a reply as bytes, numbers and lists."""

    def one(at):
        end = reply.index(b"\r\n", at)
        kind, line, at = reply[at : at + 1], reply[at + 1 : end], end + 2
        if kind in b"$=":
            if int(line) < 0:
                return None, at
            return reply[at : at + int(line)], at + int(line) + 2
        if kind in b"*%~>":
            if int(line) < 0:
                return None, at
            items = []
            for _ in range(int(line) * (2 if kind == b"%" else 1)):
                item, at = one(at)
                items.append(item)
            return items, at
        if kind == b":":
            return int(line), at
        return kind + line, at

    return one(0)[0]


class Server:
    """A server at a free port: skua-kv, or redis-server."""

    def __init__(self, program, *options):
        self.port = free_port()
        command = [program, "--port", str(self.port), *options]
        if os.path.basename(program) == "redis-server":
            command += ["--save", "", "--databases", "1", "--appendonly", "no", "--dir", "/tmp"]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL)

    def __enter__(self):
        end = time.monotonic() + HANG_S
        while time.monotonic() < end and self.process.poll() is None:
            try:
                Client(self.port).socket.close()
                return self
            except ConnectionRefusedError:
                time.sleep(0.01)
        raise SystemExit(f"the server does not listen, exit code {self.process.poll()}")

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def most_memory(self):
        """Return the largest resident memory so far, in bytes."""
        with open(f"/proc/{self.process.pid}/status") as file:
            return next(int(l.split()[1]) << 10 for l in file if l.startswith("VmHWM"))

    def cpu_ticks(self):
        """Return the CPU time so far, in ticks of the kernel."""
        with open(f"/proc/{self.process.pid}/stat") as file:
            return sum(map(int, file.read().rsplit(")", 1)[1].split()[11:13]))

    def memory(self):
        """Return the resident memory, in bytes."""
        with open(f"/proc/{self.process.pid}/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
