# SPDX-License-Identifier: MIT
"""load_hostile.py - skua-load against servers that answer late, wrongly or not at all

Usage: load_hostile.py SKUA_LOAD
"""

import concurrent.futures
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time

HANG_S = 120  # ends a test that has failed; decides nothing else
STALL_S = 0.4
PROCESS = b"process_id:%d\r\n" % os.getpid()
INFO = b"$%d\r\n%s\r\n" % (len(PROCESS), PROCESS)


def replies_of(data):
    """Return a right reply for each whole request in @data, and the rest."""
    out, at = [], 0
    while data[at : at + 1] == b"*":
        words, place = [], data.find(b"\r\n", at) + 2
        count = int(data[at + 1 : place - 2]) if place > 1 else 0
        for _ in range(count):
            line = data.find(b"\r\n", place)
            if line < 0:
                return out, data[at:]
            end = line + 2 + int(data[place + 1 : line]) + 2
            if end > len(data):
                return out, data[at:]
            words.append(data[line + 2 : end - 2])
            place = end
        if not count or len(words) < count:
            break
        at = place
        out.append(
            {
                b"GET": b"$5\r\nvalue\r\n",
                b"SET": b"+OK\r\n",
                b"INCR": b":12\r\n",
                b"PING": b"+PONG\r\n",
                b"INFO": INFO,
            }[words[0]]
        )
    return out, data[at:]


class Server:
    """A server whose answer(connection, replies, number) sends the replies to what came;
    number: how many replies the connection has had."""

    def __init__(self, answer):
        self.answer = answer
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=100)
        self.port = self.listener.getsockname()[1]
        self.client = None
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection):
        rest, number = b"", 0
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            while data := connection.recv(65536):
                out, rest = replies_of(rest + data)
                if INFO in out:
                    out.remove(INFO)
                    connection.sendall(INFO)
                if out:
                    self.answer(self, connection, out, number)
                number += len(out)
        except OSError:
            pass
        connection.close()

    def load(self, program, *options):
        """Return the exit code, the JSON, and stderr of a run."""
        defaults = {"--rate": "2000", "--connections": "2", "--seconds": "0.2"}
        defaults |= {"--warm-up": "0.05", "--grace": "20", "--keys": "10"}
        defaults |= dict(zip(options[::2], options[1::2]))
        words = [w for pair in defaults.items() for w in pair]
        command = [program, "--port", str(self.port), "--json", "--sleep", *words]
        self.client = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        out, err = self.client.communicate(timeout=HANG_S)
        self.listener.close()
        return self.client.returncode, json.loads(out) if out else None, err


# ---- answers -----------------------------------------------------------------------


def right(_server, connection, replies, _number):
    connection.sendall(b"".join(replies))


def in_pieces(_server, connection, replies, _number):
    for byte in b"".join(replies):
        connection.sendall(bytes([byte]))


def silent(*_):
    pass


def constant(data):
    """Return a server that answers each request with @data."""

    def answer(_server, connection, replies, _number):
        connection.sendall(data * len(replies))

    return answer


def closing(_server, connection, replies, number):
    connection.sendall(b"".join(replies))
    if number > 50:
        connection.shutdown(socket.SHUT_RDWR)


def half(_server, connection, replies, number):
    """Close in the middle of a reply."""
    connection.sendall(b"".join(replies)[:-1] if number > 50 else b"".join(replies))
    if number > 50:
        connection.shutdown(socket.SHUT_RDWR)


def twice(_server, connection, replies, _number):
    connection.sendall(b"".join(replies) * 2)


def stalling(_server, connection, replies, number):
    if number < 300 <= number + len(replies):
        time.sleep(STALL_S)
    connection.sendall(b"".join(replies))


def stopping(server, connection, replies, number):
    """Stop the client for a while."""
    if number < 300 <= number + len(replies):
        server.client.send_signal(signal.SIGSTOP)
        time.sleep(STALL_S)
        server.client.send_signal(signal.SIGCONT)
    connection.sendall(b"".join(replies))


# ---- the cases ---------------------------------------------------------------------

failed = False


def expect(what, true, *seen):
    global failed
    if not true:
        failed = True
        print(f"FAILED: {what}:", *seen)


def check_right(program):
    for answer in right, in_pieces:
        for pipeline in "1", "7":
            code, got, err = Server(answer).load(
                program, "--mix", "4:2:1:1", "--pipeline", pipeline
            )
            what = f"{answer.__name__}, {pipeline} together"
            expect(what, code == 0 and got["ok"], code, got, err)
            replies = sum(got["replies"][k] for k in ("GET", "SET", "INCR", "PING"))
            expect(what, replies == got["arrived"] == got["sent"] > 0, got)
            expect(what, got["latency_ns"]["count"] == replies, got)
            expect(what, got["server_pid"] == os.getpid(), got)


def check_errors(program):
    """Each error is counted by its name, and the exit code is 1."""
    cases = [
        (constant(b"-OOM no memory\r\n"), "OOM"),
        (constant(b"-OOM\x1b[2J no\r\n"), "OOM?[2J"),
        (constant(b":1\r\n"), "wrong reply to GET"),
        (constant(b"+OK\r\n"), "wrong reply to GET"),
        (constant(b"hello\r\n"), "malformed reply"),
        (constant(b"*0\r\n"), "malformed reply"),
        (constant(b"\0\0\0\0"), "malformed reply"),
        (constant(b"\r\n"), "malformed reply"),
        (constant(b"+" + b"x" * 10000), "malformed reply"),
        (constant(b"$2\r\nabcd"), "malformed reply"),
        (constant(b"$-2\r\n"), "malformed reply"),
        (constant(b"$99999999999999999999\r\n"), "malformed reply"),
        (constant(b"$1x\r\n"), "malformed reply"),
        (twice, "reply without a request"),
        (closing, "connection closed"),
        (half, "connection closed"),
    ]
    for answer, name in cases:
        code, got, err = Server(answer).load(
            program, "--mix", "1", "--warm-up", "0", "--rate", "3000"
        )
        expect(name, code == 1 and got and not got["ok"], code, got, err)
        if got:
            # A connection may be reset before its end is read.
            names = (name, "connection reset") if "closed" in name else (name,)
            expect(name, any(got["errors"].get(n, 0) > 0 for n in names), got["errors"])


def check_silent(program):
    code, got, err = Server(silent).load(program, "--grace", "0.1")
    expect("silent", code == 1 and not got["ok"], code, got, err)
    expect("silent", got["unanswered"] == got["arrived"] > 0, got)
    expect("silent", got["latency_ns"]["count"] == got["arrived"], got)
    code, got, err = Server(silent).load(program, "--rate", "max", "--grace", "0.1")
    expect("silent, max", code == 1 and not got["ok"], code, got, err)


def check_stalls(program):
    """The requests that arrive during a stall count from the times of the schedule."""
    options = ("--rate", "2000", "--seconds", "1", "--connections", "1", "--warm-up", "0")
    for answer in stalling, stopping:
        what = answer.__name__
        code, got, err = Server(answer).load(program, *options)
        expect(what, code == 0 and got["ok"], code, got, err)
        # Those of more than 0.1 s: 0.3 of 1 s.
        expect(what, got["latency_ns"]["p90"] >= 0.1e9, got["latency_ns"])
        expect(what, got["latency_ns"]["max"] >= STALL_S * 0.8e9, got["latency_ns"])
        expect(what, 1600 < got["arrived"] < 2400, got["arrived"])
        if answer is stopping:
            expect(what, got["late_ns"]["max"] >= STALL_S * 0.8e9, got["late_ns"])
            warned = any("the generator was late" in w for w in got["warnings"])
            expect(what, warned, got["warnings"])


def main():
    checks = check_right, check_errors, check_silent, check_stalls
    with concurrent.futures.ThreadPoolExecutor() as pool:
        for done in [pool.submit(check, sys.argv[1]) for check in checks]:
            done.result()
    sys.exit(1 if failed else 0)


main()
