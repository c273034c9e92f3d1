#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: MIT
"""kv_why.py SKUA SKUA_KV [--tasks] - `skua why` names the cause of slow requests of skua-kv

Each case prepares one cause of delay, and looks for it among the slowest requests. It asserts
the cause that is named, not how long anything took. On a busy machine other
programs may be the cause of more: a case records again until it sees its own.
"""

import json
import os
import subprocess
import sys
import tempfile
import threading
import time

from kv_cases import expect
from kv_wire import Client, Server, encode

TRIES = 8
SKUA, PROGRAM, *OPTIONS = sys.argv[1:]
# The tasks of the connections, as the tools name them.
CONNECTION = "poll_connection" if "--tasks" in OPTIONS else "serve"


def why(pid, *options):
    """Return what `skua why` tells of the process. It fails if no connection was polled
    meanwhile, as may happen on a busy machine: then record again."""
    for _ in range(TRIES):
        done = subprocess.run(
            [SKUA, "why", "--pid", str(pid), "--for", "0.3", "--slowest", "100", "--json",
             "--type", CONNECTION, *options],
            capture_output=True, text=True, timeout=300, check=False,
        )  # fmt: skip
        if done.returncode == 0:
            return json.loads(done.stdout)
    raise AssertionError(f"skua why: {done.stderr}")


def reasons(found):
    """The slowest requests, each with one of its reasons; then what delayed looks for
    requests."""
    for slow in found["slowest"]:
        for reason in [slow["reason"], *slow["also"]]:
            yield slow, reason
    for late in found["late_events"]["latest"]:
        for reason in late["reasons"]:
            yield None, reason


class Load:
    """Clients that repeat a request until the end of the block."""

    def __init__(self, server, *requests):
        self.stop = threading.Event()
        self.threads = [
            threading.Thread(target=self._repeat, args=(server.port, request))
            for request in requests
        ]

    def _repeat(self, port, request):
        with Client(port) as client:
            size, wire = len(client.run(*request)), encode(*request)
            while not self.stop.is_set():
                client.send(wire)
                left = size  # of each reply: parsing takes longer than the request
                while left:
                    got = client.socket.recv(min(left, 1 << 20))
                    expect(got, "the server has left")
                    left -= len(got)

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.stop.set()
        for thread in self.threads:
            thread.join()


def names(server, what, matches):
    """Record until a reason matches. Return: the text about it."""
    for _ in range(TRIES):
        found = why(server.process.pid)
        if what == "the busy loop" and found["source"] != "bpf":
            return f"not tried: {found['missing']}"
        for slow, reason in reasons(found):
            if matches(slow, reason):
                return reason["text"]
    texts = [reason["text"] for _, reason in reasons(found)]
    raise AssertionError(f"{what} is not named, but: {texts[:20]}")


def fill(server):
    """A list of 100,000 elements."""
    with Client(server.port) as client:
        for _ in range(100):
            client.run("RPUSH", "large", *["x" * 10] * 1000)


def slow_command():
    """Requests wait behind a long command of another client, on the same worker."""
    with Server(PROGRAM, *OPTIONS, "--workers", "1") as server:
        fill(server)
        with Load(server, ("LRANGE", "large", "0", "-1"), ("GET", "a"), ("GET", "b")):
            return names(
                server, "LRANGE",
                lambda slow, reason: reason["culprit"] == CONNECTION
                and reason["label"] == "lrange" and reason["kind"] == "queued"
                and (not slow or slow["label"] == "get"),
            )  # fmt: skip


def lock():
    """A short command waits for the lock of a key, which a long one holds."""
    with Server(PROGRAM, *OPTIONS, "--workers", "2") as server:
        fill(server)
        with Load(server, ("LRANGE", "large", "0", "-1"), ("LRANGE", "large", "0", "-1"),
                  ("LLEN", "large")):  # fmt: skip
            return names(
                server, "the lock of the list",
                lambda slow, reason: slow and slow["label"] == "llen"
                and reason["kind"] == "waited" and reason["lock"]["kind"] == "mutex"
                and (reason["culprit"], reason["label"]) == (CONNECTION, "lrange"),
            )  # fmt: skip


def chains():
    """Return a text for each label of a holder that waits itself."""
    texts = {}
    with Server(PROGRAM, *OPTIONS, "--workers", "2") as server:
        fill(server)
        with Load(server, ("LRANGE", "large", "0", "-1"), ("EXISTS", "large", *"abcdefgh"),
                  ("DEL", *"abcdefgh"), ("LLEN", "a"), ("LLEN", "b")):  # fmt: skip
            for _ in range(TRIES):
                for _, reason in reasons(why(server.process.pid)):
                    if reason["culprit"] == CONNECTION and "waited itself" in reason["text"]:
                        texts[reason["label"]] = reason["text"]
                expect(None not in texts, f"a holder without a label: {texts.get(None)}")
    return texts


def chain():
    """A command waits for one that has its lock, and waits for the lock of another key. The
    hashes of the keys order the locks: if that of the list is the first of EXISTS, it waits
    without a lock. The hashes of another server differ."""
    for _ in range(4):
        texts = chains()
        if "exists" in texts:
            return texts["exists"]
    raise AssertionError(f"no command waits for EXISTS: {texts}")


def sync():
    """A change waits until the log is on the disk."""
    with tempfile.TemporaryDirectory() as folder:
        with Server(PROGRAM, *OPTIONS, "--workers", "2", "--append", "always", "--dir",
                    folder) as server:  # fmt: skip
            with Load(server, ("SET", "a", "b"), ("SET", "c", "d")):
                return names(
                    server, "the sync of the log",
                    lambda slow, reason: slow and slow["label"] == "set"
                    and reason["kind"] == "waited" and reason["lock"]["kind"] == "event"
                    and (reason["culprit"], reason["label"]) == ("write_log", "sync"),
                )  # fmt: skip


def preemption():
    """Another program has the CPU of the only worker."""
    cpu = min(os.sched_getaffinity(0))
    with tempfile.TemporaryDirectory() as folder, Server(PROGRAM, *OPTIONS, "--workers", "1") as server:
        for task in os.listdir(f"/proc/{server.process.pid}/task"):
            os.sched_setaffinity(int(task), {cpu})
        path = os.path.join(folder, "busy_loop")
        with open(path, "w", encoding="ascii") as file:
            file.write("#!/bin/sh\nwhile :; do :; done\n")
        os.chmod(path, 0o700)
        busy = subprocess.Popen([path],
                                preexec_fn=lambda: os.sched_setaffinity(0, {cpu}))  # fmt: skip
        try:
            with Load(server, ("GET", "a"), ("GET", "b")):
                return names(
                    server, "the busy loop",
                    lambda slow, reason: slow and slow["label"] == "get"
                    and reason["kind"] == "preempted"
                    and reason["culprit"] == "busy_loop",
                )  # fmt: skip
        finally:
            busy.kill()
            busy.wait()


def half():
    """A client sends the rest of its request late."""
    with Server(PROGRAM, *OPTIONS, "--workers", "1") as server, Client(server.port) as client:
        stop = threading.Event()

        def drip():
            while not stop.is_set():
                client.send(b"*2\r\n$3\r\nGET\r\n")
                time.sleep(0.05)
                client.send(b"$1\r\na\r\n")
                client.read()

        thread = threading.Thread(target=drip)
        thread.start()
        try:
            return names(
                server, "the client",
                lambda slow, reason: slow and reason["kind"] == "waited"
                and reason["culprit"] == "peer"
                and reason["lock"]["kind"] == "descriptor, to read",
            )  # fmt: skip
        finally:
            stop.set()
            thread.join()


def prefer():
    """Let other programs of a busy machine be the cause of little, if that is permitted."""
    try:
        os.setpriority(os.PRIO_PROCESS, 0, -15)
    except PermissionError:
        pass


def main():
    failed = 0
    prefer()
    for case in (slow_command, lock, chain, sync, preemption, half):
        try:
            print(f"{case.__name__}: {case()}")
        except Exception as error:  # noqa: the other cases run as well
            failed += 1
            print(f"{case.__name__}: {type(error).__name__}: {error}")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
