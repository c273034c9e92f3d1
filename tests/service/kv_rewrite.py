#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: MIT
"""kv_rewrite.py SKUA_KV [--tasks] [CASE...] - skua-kv rewrites its log, and loses nothing meanwhile

Exit codes: 0 success, 1 failure, 77 a case could not run. SKUA_KV_KILLS is the number of
times that the server is killed in mode always (5; with SKUA_KV_LONG=1, 200), and in each other
mode.
"""

import os
import random
import subprocess
import sys
import threading
import time

import kv_durable
from kv_durable import KILLS, LOG, LONG, Player, Server, Writer
from kv_durable import equal, expect, no_ring, same, snapshot
from kv_wire import HANG_S, encode, parse

KEYS = 20000  # so that a rewrite takes some time
WRITERS = 3


def new_log(folder):
    return os.path.join(folder, LOG + ".rewrite")


def info(client):
    lines = parse(client.run("INFO", "persistence")).decode().split("\r\n")
    return dict(line.split(":", 1) for line in lines if ":" in line)


def until(condition, what):
    end = time.monotonic() + HANG_S
    while not condition():
        expect(time.monotonic() < end, what)
        time.sleep(0.002)


def rewrite(client):
    """Rewrite the log. Return: the status"""
    equal(
        client.run("BGREWRITEAOF"),
        b"+Background append only file rewriting started\r\n",
        "BGREWRITEAOF",
    )
    until(lambda: info(client)["aof_rewrite_in_progress"] == "0", "the rewrite does not end")
    return info(client)["aof_last_bgrewrite_status"]


def until_written(server, client):
    """Wait until all that was acknowledged is in the file, in any mode."""
    mark = b"mark%d" % random.getrandbits(64)
    client.run("SET", "mark", mark)

    def written():
        with open(os.path.join(server.folder, LOG), "rb") as file:
            return mark in file.read()

    until(written, "a change is not written")


class Rewriter(threading.Thread):
    """Rewrites the log of a server again and again, until the server is gone or stop()."""

    def __init__(self, server):
        super().__init__()
        self.server, self.ended = server, False
        self.replies = set()
        self.start()

    def run(self):
        try:
            with self.server.client() as client:
                while not self.ended:
                    self.replies.add(client.run("BGREWRITEAOF"))
                    time.sleep(random.uniform(0, 0.02))
                until(
                    lambda: info(client)["aof_rewrite_in_progress"] == "0",
                    "the rewrite does not end",
                )
                equal(info(client)["aof_last_bgrewrite_status"], "ok", "status of rewrites")
        except (EOFError, OSError):
            pass

    def stop(self):
        self.ended = True
        self.join()
        expect(self.replies <= {
            b"+Background append only file rewriting started\r\n",
            b"-ERR Background append only file rewriting already in progress\r\n",
        }, f"replies {self.replies}")  # fmt: skip


# --- the same values ------------------------------------------------------------------


def change(client, random_):
    kv_durable.change(client, random_)
    key, other = (b"h%d" % random_.randrange(20) for _ in range(2))
    field = b"%d" % random_.randrange(300)
    client.run(*random_.choice((
        ("HSET", key, field, b"%d" % random_.randrange(9), b"a", b"v" * 100),
        ("HDEL", key, field), ("HINCRBY", key, field, 3), ("EXPIRE", key, 100000),
        ("DEL", key, b"l%d" % random_.randrange(10)), ("MSET", key + b"s", field, other + b"s", 1),
        ("SET", b"blob", b"b" * (70000 + random_.randrange(9))), ("APPEND", b"blob", b"more"),
        ("GETDEL", b"blob"), ("PERSIST", key),
    )))  # fmt: skip
    if not random_.randrange(150):
        client.run("FLUSHALL")


def same_values(folder, mode):
    """All commands, while the log is rewritten: the server starts again with the same values."""
    random_ = random.Random(mode)
    server = Server(folder, mode)
    for i in range(8 if LONG else 3):
        with server:
            equal(server.said(), "", "stderr")
            with server.client() as client:
                if i:
                    same(snapshot(client), before, f"after start {i}")
                rewriter = Rewriter(server)
                for _ in range(2000 if LONG else 300):
                    change(client, random_)
                rewriter.stop()
                expect(int(info(client)["aof_rewrites"]) > 0, "no rewrite has begun")
                time.sleep(0.01)  # what expires soon has expired
                before = snapshot(client)
                until_written(server, client)
                before[b"mark"] = snapshot(client)[b"mark"]
            server.kill()
            server = Server(folder, mode)
    server.kill()


def same_values_always(folder):
    same_values(folder, "always")


def same_values_everysec(folder):
    same_values(folder, "everysec")


def same_values_no(folder):
    same_values(folder, "no")


# --- kill -9 --------------------------------------------------------------------------


# A process of its own, because the threads of this one would delay it.
KILL_RENAMED = """import os, sys
path, pid = sys.argv[1], int(sys.argv[2])
before = os.stat(path).st_ino
while os.stat(path).st_ino == before:
    pass
os.kill(pid, 9)
"""


def kill_in_time(server, kind):
    """Kill the server at any moment, in a rewrite, or right after the file was renamed."""
    if kind == "any":
        time.sleep(random.uniform(0, 0.2))
    elif kind == "rewriting":
        until(lambda: os.path.exists(new_log(server.folder)), "no rewrite begins")
        time.sleep(random.uniform(0, 0.05))
    else:
        path = os.path.join(server.folder, LOG)
        words = [sys.executable, "-c", KILL_RENAMED, path, str(server.process.pid)]
        equal(subprocess.run(words, timeout=HANG_S).returncode, 0, "exit code of the killer")
    server.kill()


def load_and_kill(server, writers, kind):
    """Begin writers and rewrites, and kill the server. Return: the writers, with what was
    acknowledged"""
    before = sum(writer.acknowledged for writer in writers)
    writers = [writer.begin(server) for writer in writers]
    until(lambda: sum(w.acknowledged for w in writers) > before, "nothing is acknowledged")
    rewriter = Rewriter(server)
    no_ring(server)
    kill_in_time(server, kind)
    for thread in (*writers, rewriter):
        thread.join()
    for writer in writers:
        if writer.error:
            raise writer.error
    return writers


def add_keys(client):
    for i in range(0, KEYS, 1000):
        words = [word for j in range(i, i + 1000) for word in (f"key{j}", f"value{j}")]
        equal(client.run("MSET", *words), b"+OK\r\n", "MSET")


def check_keys(client):
    for i in range(0, KEYS, 1000):
        values = parse(client.run("MGET", *(f"key{j}" for j in range(i, i + 1000))))
        equal(values, [b"value%d" % j for j in range(i, i + 1000)], "keys that stay")


def kills_in_mode(folder, mode, kind=Writer):
    writers = [kind(i) for i in range(WRITERS)]
    kinds, left = ("any", "rewriting", "renamed"), 0
    for i in range(KILLS + 1):
        left += os.path.exists(new_log(folder))
        with Server(folder, mode) as server:
            expect(not os.path.exists(new_log(folder)), "the file of a rewrite that was killed")
            with server.client() as client:
                if not i:
                    add_keys(client)
                check_keys(client)
                for writer in writers:
                    if mode != "always":
                        # A kill may lose the last changes, but no others.
                        writer.acknowledged = 0
                        for other in writers:
                            other.seen = {}
                    writer.check(client, writers)
                until_written(server, client)
            if i < KILLS:
                writers = load_and_kill(server, writers, kinds[i % 3])
    if "SKUA_KV_TIMES" in os.environ:
        print(f"{mode}: {KILLS} kills, {left} in a rewrite, 0 lost")


def kills_always(folder):
    """A server that is killed while it rewrites its log has all that it has acknowledged."""
    kills_in_mode(folder, "always")


def kills_everysec(folder):
    kills_in_mode(folder, "everysec")


def kills_no(folder):
    kills_in_mode(folder, "no")


class Mixer(Player):
    """Changes several of its keys at once: strings, of which some expire, and lists.

    @values: what each key may have, as a set; None: nothing. @after: the same when the command
    that was sent has run; None: none was sent"""

    STRINGS, LISTS = 60, 20

    def __init__(self, number, server=None):
        super().__init__(server)
        self.number, self.acknowledged = number, 0
        self.values, self.after = {}, None

    def begin(self, server):
        again = Mixer(self.number, server)
        again.values, again.acknowledged = self.values, self.acknowledged
        again.start()
        return again

    def keys(self, kind, count):
        most = self.STRINGS if kind == "s" else self.LISTS
        return [f"{kind}{self.number}.{i}" for i in random.sample(range(most), count)]

    def do(self, client, change, *commands):
        """Send commands together. @change: what they change. Return: the last reply"""
        self.after = self.values | change
        client.send(b"".join(encode(*command) for command in commands))
        replies = [client.read() for _ in commands]
        self.values, self.after = self.after, None
        self.acknowledged += 1
        return replies[-1]

    def transaction(self, client):
        value = b"t%d" % self.acknowledged
        (text, mortal), lists = self.keys("s", 2), self.keys("l", 2)
        change = {key: {old + (value,) for old in self.values.get(key, {()})} for key in lists}
        change |= {text: {value}, mortal: {value, None}}
        commands = [("RPUSH", key, value) for key in lists]
        commands += ("SET", mortal, value, "PX", random.randrange(1, 5)), ("SET", text, value)
        random.shuffle(commands)
        watch = [("WATCH", *self.keys("s", 2))] * random.randrange(2)
        before = self.values
        reply = self.do(client, change, *watch, ("MULTI",), *commands, ("EXEC",))
        if reply == b"*-1\r\n":  # a watched key has expired
            self.values = before
        else:
            expect(reply.startswith(b"*4\r\n"), f"EXEC: {reply}")

    def append(self, client):
        (key,) = self.keys("s", 1)
        old = self.values.get(key, {None})
        now = {(value or b"") + b"x" for value in old}
        size = int(parse(self.do(client, {key: now | old & {None}}, ("APPEND", key, "x"))))
        self.values[key] = {value for value in now if len(value) == size}
        expect(self.values[key], f"APPEND to one of {old}: {size}")
        if size > 1 and None in old:
            self.values[key].add(None)

    def play(self, client):
        some, value = self.keys("s", random.randrange(1, 6)), b"v%d" % self.acknowledged
        kind = random.randrange(6)
        if kind == 0:
            self.transaction(client)
        elif kind == 1:
            self.append(client)
        elif kind == 2:
            words = [word for key in some for word in (key, value)]
            self.do(client, {key: {value} for key in some}, ("MSET", *words))
        elif kind == 3:
            some += self.keys("l", random.randrange(5) // 4)
            empty = {key: {None} if key[0] == "s" else {()} for key in some}
            self.do(client, empty, ("DEL", *some))
        elif kind == 4:
            self.do(client, {some[0]: {value, None}}, ("SET", some[0], value, "PX", 2))
        else:
            self.compare(some, parse(self.do(client, {}, ("MGET", *some))))

    def compare(self, keys, values):
        for key, value in zip(keys, values):
            expect(value in self.values.get(key, {None}), f"{key}: {value}")

    def check(self, client, _):
        """The server has all that was acknowledged, and the last command wholly or not at all."""
        strings = [f"s{self.number}.{i}" for i in range(self.STRINGS)]
        found = dict(zip(strings, parse(client.run("MGET", *strings))))
        for key in (f"l{self.number}.{i}" for i in range(self.LISTS)):
            found[key] = tuple(parse(client.run("LRANGE", key, 0, -1)))

        def wrong(values):
            return [
                f"{key} has {str(value)[-60:]}, not one of {str(values.get(key))[-60:]}"
                for key, value in found.items()
                if value not in values.get(key, {None, ()})
            ]

        for values in (self.values, self.after):
            if values is not None and not wrong(values):
                self.values = {
                    key: {value} | values.get(key, set()) & {None} for key, value in found.items()
                }
                self.after = None
                return
        raise AssertionError(f"acknowledged and lost, or a half: {wrong(self.values)[:3]}")


def kills_of_mixed(folder):
    """The same with commands on many keys, which a rewrite has copied in part."""
    kills_in_mode(folder, "always", Mixer)


# --- sizes, settings and replies --------------------------------------------------------


def shrinks(folder):
    """The file is short after a rewrite, and its mode stays."""
    path = os.path.join(folder, LOG)
    with Server(folder, "no") as server, server.client() as client:
        for i in range(500):
            client.run("SET", "key", b"%d" % i * 3000)
        before = snapshot(client)
        until_written(server, client)
        expect(os.path.getsize(path) > 1000000, "the log is short before the rewrite")
        os.chmod(path, 0o640)
        equal(rewrite(client), "ok", "status")
        size = os.path.getsize(path)
        expect(size < 20000, f"{size} bytes after a rewrite")
        equal(os.stat(path).st_mode & 0o777, 0o640, "mode of the file")
        figures = info(client)
        equal(figures["aof_current_size"], str(size), "aof_current_size")
        equal(figures["aof_base_size"], str(size), "aof_base_size")
        expect(int(figures["aof_last_rewrite_time_sec"]) >= 0, "aof_last_rewrite_time_sec")
        equal(figures["aof_current_rewrite_time_sec"], "-1", "aof_current_rewrite_time_sec")
        server.stop()
    with Server(folder, "no") as server, server.client() as client:
        equal(snapshot(client)[b"key"], before[b"key"], "key after a rewrite")


def symbolic_link(folder):
    """A log behind a symbolic link is rewritten where it is."""
    path, real = os.path.join(folder, LOG), os.path.join(folder, "real")
    os.symlink("real", path)
    with Server(folder, "always") as server, server.client() as client:
        client.run("SET", "key", 1)
        equal(rewrite(client), "ok", "status")
        client.run("INCR", "key")
        server.kill()
    expect(os.path.islink(path) and os.path.isfile(real), "the link is gone")
    with Server(folder, "always") as server, server.client() as client:
        equal(client.run("GET", "key"), b"$1\r\n2\r\n", "key")


def by_itself(folder):
    """The log is rewritten when it has grown as the settings say."""
    options = ("--auto-aof-rewrite-min-size", "100kb", "--auto-aof-rewrite-percentage", "0")
    with Server(folder, "everysec", *options) as server, server.client() as client:
        equal(
            parse(client.run("CONFIG", "GET", "auto-aof*")),
            [b"auto-aof-rewrite-percentage", b"0", b"auto-aof-rewrite-min-size", b"102400"],
            "CONFIG GET",
        )
        for i in range(300):
            client.run("SET", "key", b"v" * 1000)
        equal(info(client)["aof_rewrites"], "0", "rewrites with percentage 0")
        client.run("CONFIG", "SET", "auto-aof-rewrite-percentage", "50")
        until(lambda: info(client)["aof_rewrites"] == "1", "the log is not rewritten")
        until(lambda: int(info(client)["aof_current_size"]) < 5000, "the log stays long")
        equal(info(client)["aof_last_bgrewrite_status"], "ok", "status")


def replies(folder):
    """Replies are those of Redis, except without a log."""
    with Server(folder, "always") as server, server.client() as client:
        add_keys(client)
        client.send(kv_durable.encode("BGREWRITEAOF") * 2)
        equal(
            client.read(), b"+Background append only file rewriting started\r\n", "BGREWRITEAOF"
        )
        equal(
            client.read(),
            b"-ERR Background append only file rewriting already in progress\r\n",
            "BGREWRITEAOF during another one",
        )
        until(lambda: info(client)["aof_rewrite_in_progress"] == "0", "the rewrite does not end")
        client.run("MULTI")
        client.run("BGREWRITEAOF")
        equal(
            client.run("EXEC"),
            b"*1\r\n+Background append only file rewriting scheduled\r\n",
            "BGREWRITEAOF in a transaction",
        )
        until(lambda: info(client)["aof_rewrites"] == "2", "no second rewrite")
        for wrong in (("auto-aof-rewrite-percentage", "-1"), ("auto-aof-rewrite-min-size", "x")):
            expect(client.run("CONFIG", "SET", *wrong).startswith(b"-ERR CONFIG SET"), wrong)
    with kv_durable.kv_wire.Server(kv_durable.PROGRAM, *kv_durable.OPTIONS) as server:
        with kv_durable.Client(server.port) as client:
            equal(client.run("BGREWRITEAOF")[:5], b"-ERR ", "BGREWRITEAOF without a log")
            equal(info(client)["aof_rewrite_in_progress"], "0", "INFO without a log")


# --- no room on the disk ----------------------------------------------------------------


def full_disk(folder):
    """A rewrite that finds no room is given up, and no client notices it."""

    def case(folder):
        with Server(folder, "always") as server, server.client() as client:
            for i in range(300):
                equal(client.run("SET", f"key{i}", b"v" * 3000), b"+OK\r\n", "SET")
            disk = os.statvfs(folder)
            with open(os.path.join(folder, "ballast"), "wb") as file:
                # The new file needs more than 900,000 bytes, the log fewer than 800,000.
                file.write(bytes(disk.f_bavail * disk.f_bsize - 800000))
            writers = [writer.begin(server) for writer in [Writer(0)]]
            equal(rewrite(client), "err", "status without room")
            expect(not os.path.exists(new_log(folder)), "the file of a rewrite that has failed")
            said = server.said()
            expect("was not rewritten: No space left" in said, f"'{said}'")
            expect("cannot be written" not in said, f"'{said}'")
            os.unlink(os.path.join(folder, "ballast"))
            equal(rewrite(client), "ok", "status with room")
            expect(writers[0].is_alive(), "a client was refused")
            server.kill()
            writers[0].join()
        with Server(folder, "always") as server, server.client() as client:
            writers[0].check(client, writers)
            for i in range(300):
                equal(client.run("STRLEN", f"key{i}"), b":3000\r\n", f"key{i}")

    kv_durable.with_small_disk(folder, "full_disk", case, "4m")


CASES = (same_values_always, same_values_everysec, same_values_no, kills_always, kills_everysec,
         kills_no, kills_of_mixed, shrinks, symbolic_link, by_itself, replies, full_disk)  # fmt: skip

if __name__ == "__main__":
    sys.exit(kv_durable.main(CASES))
