#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: MIT
"""kv_durable.py SKUA_KV [--tasks] [CASE...] - nothing that skua-kv has acknowledged is lost

Exit codes: 0 success, 1 failure, 77 a case could not run. SKUA_KV_KILLS is the number of
times that the server is killed under load in mode always (5; with SKUA_KV_LONG=1, 200).
SKUA_KV_TIMES=1 prints times and figures.
"""

import os
import random
import resource
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time

import kv_wire
from kv_wire import Client, encode, parse

LONG = "SKUA_KV_LONG" in os.environ
KILLS = int(os.environ.get("SKUA_KV_KILLS", "200" if LONG else "5"))
CHANGES = 2000 if LONG else 150
LOG = "skua-kv.log"
PROGRAM = sys.argv[1]
OPTIONS = [arg for arg in sys.argv[2:] if arg.startswith("--")]
WANTED = [arg for arg in sys.argv[2:] if arg not in OPTIONS]


def expect(condition, what):
    if not condition:
        raise AssertionError(what)


def equal(got, wanted, what):
    expect(got == wanted, f"{what}: {str(got)[:300]}, not {str(wanted)[:300]}")


class Skip(Exception):
    """A case cannot run here."""


class Server(kv_wire.Server):
    """skua-kv with a log in a folder. Its errors are in said()."""

    def __init__(self, folder, mode, *options):
        self.folder = folder
        self.port = kv_wire.free_port()
        self.stderr = tempfile.TemporaryFile()
        self.process = subprocess.Popen(
            [PROGRAM, "--port", str(self.port), "--workers", "2", "--append", mode]
            + ["--dir", folder, *OPTIONS, *options],
            stdout=subprocess.DEVNULL,
            stderr=self.stderr,
            restore_signals=False,  # Python ignores SIGXFSZ
        )

    def __enter__(self):
        try:
            return super().__enter__()
        except SystemExit as reason:
            raise AssertionError(f"{reason}: {self.said()}") from None

    def said(self):
        self.stderr.seek(0)
        return self.stderr.read().decode()

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self):
        self.process.terminate()
        equal(self.process.wait(kv_wire.HANG_S), 0, f"exit code ({self.said()})")

    def client(self):
        return Client(self.port)


def refused(folder, *what, options=()):
    """The server does not start, and says why in one line."""
    server = Server(folder, "always", *options)
    with server.stderr:
        try:
            code = server.process.wait(kv_wire.HANG_S)
        finally:
            server.kill()
        equal(code, 1, "exit code of a start that must fail")
        said = server.said()
    equal(said.count("\n"), 1, f"lines of '{said}'")
    for text in what:
        expect(text in said, f"'{said}' does not say '{text}'")


# --- the same values --------------------------------------------------------------


def snapshot(client):
    """Return all keys with their values, and with bounds of their times of expiry."""
    values = {}
    for key in parse(client.run("KEYS", "*")):
        kind = client.run("TYPE", key)
        if kind == b"+hash\r\n":
            read = ("HGETALL", key)
        else:
            read = ("GET", key) if kind == b"+string\r\n" else ("LRANGE", key, 0, -1)
        before_ms = int(time.time() * 1000)
        left = parse(client.run("PTTL", key))
        after_ms = int(time.time() * 1000) + 1
        when = (before_ms + left, after_ms + left) if left >= 0 else (left, left)
        values[key] = (kind, client.run(*read), when)
    return values


def same(now, before, what):
    equal(sorted(now), sorted(before), f"keys {what}")
    for key, (kind, value, (least, most)) in now.items():
        equal((kind, value), before[key][:2], f"{key} {what}")
        times = before[key][2]
        expect(
            (least < 0) == (times[0] < 0) and least <= times[1] and times[0] <= most,
            f"{key} {what} expires between {least} and {most}, before between {times}",
        )


def change(client, random_):
    """Send a command that may change something."""
    key = b"k%d" % random_.randrange(40)
    other = b"k%d" % random_.randrange(40)
    listed = b"l%d" % random_.randrange(10)
    value = b"%d" % random_.randrange(1000)
    later = b"%d" % (random_.randrange(3, 9) * 100000)
    at_ms = b"%d" % ((int(time.time()) // 100 + 5) * 100000)
    words = random_.choice((
        ("SET", key, value), ("SET", key, value, "EX", later), ("SET", key, b"x\0\r\n" * 2000),
        ("SET", key, value, "PXAT", at_ms), ("SET", key, value, "NX"), ("SET", key, value, "XX"),
        ("SET", key, value, "KEEPTTL"), ("SET", key, value, "GET"), ("SET", key, value, "PX", 1),
        ("SETNX", key, value), ("MSET", key, value, other, "x"), ("APPEND", key, value),
        ("INCR", key), ("DECR", key), ("INCRBY", key, 7), ("DECRBY", key, value),
        ("DEL", key, other), ("UNLINK", key), ("GETDEL", key), ("EXPIRE", key, later),
        ("PEXPIRE", key, later + b"000", "NX"), ("PERSIST", key), ("EXPIRE", key, -1),
        ("LPUSH", listed, 1, 2, value), ("RPUSH", listed, value), ("LPOP", listed),
        ("RPOP", listed, 2), ("LPUSH", key, value), ("INCR", listed), ("PEXPIRE", key, 2),
        ("GET", key), ("EXISTS", key, other),
    ))  # fmt: skip
    if random_.randrange(10):
        client.run(*words)
        return
    client.run("WATCH", key)
    client.run("MULTI")
    client.run(*words)
    if not random_.randrange(20):
        client.run("FLUSHALL")
    client.run("INCR", "transactions")
    client.run("SET", listed + b"t", value, "PXAT", 1)
    client.run("INCR", listed + b"t")
    client.run("EXEC")


def same_values(folder, mode="always"):
    """A server that was killed, or has ended, starts again with the same values."""
    random_ = random.Random(27)
    server = Server(folder, mode)
    for i in range(4 if mode == "always" or LONG else 2):
        with server:
            equal(server.said(), "", "stderr")
            with server.client() as client:
                if i:
                    same(snapshot(client), before, f"after start {i}")
                for _ in range(CHANGES):
                    change(client, random_)
                client.run("FLUSHALL" if i == 2 else "PING")
                for _ in range(100):
                    change(client, random_)
                time.sleep(0.01)  # what expires soon has expired
                before = snapshot(client)
            if i % 2 == (mode == "always"):
                server.stop()
            else:
                if mode != "always":
                    time.sleep(1.5)
                server.kill()
            server = Server(folder, mode)
    server.kill()


def same_values_everysec(folder):
    same_values(folder, "everysec")


def same_values_no(folder):
    same_values(folder, "no")


def errors_in_transactions(folder):
    """A command of a transaction that gives an error is not in the log."""
    with Server(folder, "always") as server, server.client() as client:
        client.run("MSET", "key", "value", "other", 1)
        client.run("RPUSH", "list", 1)
        for wrong in (("FLUSHALL", "bogus"), ("FLUSHDB", "a", "b"), ("INCR", "list")):
            for words in (("MULTI",), wrong, ("INCR", "other")):
                client.run(*words)
            expect(client.run("EXEC").startswith(b"*2\r\n-"), f"no error for {wrong}")
        before = snapshot(client)
        equal(len(before), 3, "keys")
        server.kill()
    with Server(folder, "always") as server, server.client() as client:
        same(snapshot(client), before, "after errors in transactions")
        client.run("MULTI")
        client.run("FLUSHALL")
        client.run("EXEC")
        server.kill()
    with Server(folder, "always") as server, server.client() as client:
        equal(client.run("DBSIZE"), b":0\r\n", "keys after FLUSHALL in a transaction")
        server.kill()


# --- kill -9 ------------------------------------------------------------------------


class Player(threading.Thread):
    """Repeats play() until the server is gone. @seen: the last counts of writers, by number"""

    def __init__(self, server):
        super().__init__()
        self.server = server
        self.seen = {}
        self.error = None

    def run(self):
        try:
            with self.server.client() as client:
                while True:
                    self.play(client)
        except (EOFError, OSError):
            pass
        except Exception as error:  # noqa: the main thread raises it
            self.error = error


class Reader(Player):
    """Sees what the writers change, and changes nothing: it waits only for their records."""

    def play(self, client):
        for i in range(4):
            self.seen[i] = int(parse(client.run("GET", f"count{i}")) or 0)


class Writer(Player):
    """Writes numbers: to a counter, to a list, to two keys in one transaction. @sent and
    @acknowledged are the last numbers."""

    def __init__(self, number, server=None):
        super().__init__(server)
        self.number = number
        self.sent = self.acknowledged = 0

    def begin(self, server):
        again = Writer(self.number, server)
        again.sent, again.acknowledged = self.sent, self.acknowledged
        again.start()
        return again

    def play(self, client):
        me, batch = self.number, random.randrange(1, 17)
        commands = []
        for i in range(self.sent + 1, self.sent + batch + 1):
            commands += [
                encode("INCR", f"count{me}"),
                encode("RPUSH", f"list{me}", i),
                encode("MULTI"),
                encode("SET", f"x{me}", i),
                encode("INCRBY", f"y{me}", 1),
                encode("EXEC"),
            ]
        other = random.randrange(4)
        self.sent += batch
        client.send(b"".join(commands) + encode("GET", f"count{other}"))
        for i in range(batch):
            replies = [client.read() for _ in range(6)]
            number = self.acknowledged + 1
            equal(replies[0], b":%d\r\n" % number, "INCR")
            equal(replies[1], b":%d\r\n" % number, "RPUSH")
            equal(replies[5], b"*2\r\n+OK\r\n:%d\r\n" % number, "EXEC")
            self.acknowledged = number
        self.seen[other] = int(parse(client.read()) or 0)

    def check(self, client, players):
        """The values of the server are those of a number that may be the last one."""
        me, lost = self.number, "acknowledged and lost"
        count = int(parse(client.run("GET", f"count{me}")) or 0)
        items = [int(item) for item in parse(client.run("LRANGE", f"list{me}", 0, -1))]
        x = int(parse(client.run("GET", f"x{me}")) or 0)
        y = int(parse(client.run("GET", f"y{me}")) or 0)
        equal(items, list(range(1, len(items) + 1)), f"items of list{me}")
        for what, value in ("count", count), ("list", len(items)), ("x", x):
            expect(value >= self.acknowledged, f"{what}{me}: {value} < {self.acknowledged}: {lost}")
            expect(value <= self.sent, f"{what}{me}: {value} > {self.sent}")
        equal(y, x, f"a half of a transaction: y{me}")
        for player in players:
            seen = player.seen.get(me, 0)
            expect(count >= seen, f"count{me}: {count}, but another client has seen {seen}")
        # Go on from one number.
        self.sent = self.acknowledged = max(count, len(items), x)
        client.run("MSET", f"count{me}", self.sent, f"x{me}", self.sent, f"y{me}", self.sent)
        if self.sent > 20000:
            client.run("DEL", f"list{me}")
            items = []
            self.sent = self.acknowledged = 0
            client.run("MSET", f"count{me}", 0, f"x{me}", 0, f"y{me}", 0)
        for i in range(len(items) + 1, self.sent + 1):
            client.run("RPUSH", f"list{me}", i)


def no_ring(server):
    """Where io_uring is forbidden (tests/faults/no_uring.c), the pool writes the log."""
    if "SKUA_TEST_NO_URING" in os.environ:
        links = f"/proc/{server.process.pid}/fd"
        kinds = [os.readlink(os.path.join(links, fd)) for fd in os.listdir(links)]
        expect(not any("io_uring" in kind for kind in kinds), f"a ring: {kinds}")


def kills(folder):
    """A server that is killed under load has all that it has acknowledged."""
    writers, reader = [Writer(i) for i in range(4)], Reader(None)
    total, torn = 0, 0
    for i in range(KILLS + 1):
        with Server(folder, "always") as server:
            torn += "cut off" in server.said()
            with server.client() as client:
                for writer in writers:
                    writer.check(client, [*writers, reader])
            if i == KILLS:
                break
            before = sum(writer.acknowledged for writer in writers)
            reader = Reader(server)
            reader.start()
            writers = [writer.begin(server) for writer in writers]
            end = time.monotonic() + kv_wire.HANG_S
            while sum(writer.acknowledged for writer in writers) == before:
                expect(time.monotonic() < end, "nothing is acknowledged")
                time.sleep(0.001)
            no_ring(server)
            time.sleep(random.uniform(0, 0.1))
            server.kill()
            for player in (*writers, reader):
                player.join()
                if player.error:
                    raise player.error
            total += sum(writer.acknowledged for writer in writers) - before
        if i % 20 == 19:
            os.unlink(os.path.join(folder, LOG))
            writers, reader = [Writer(i) for i in range(4)], Reader(None)
    expect(total >= KILLS, f"only {total} transactions were acknowledged")
    if "SKUA_KV_TIMES" in os.environ:
        print(f"{KILLS} kills, {total} transactions acknowledged, {torn} torn logs, 0 lost")


def killed_later(folder):
    """everysec: what was acknowledged more than a second ago is there after a kill."""
    with Server(folder, "everysec") as server:
        with server.client() as client:
            for i in range(1000):
                client.run("SET", f"key{i}", i)
            time.sleep(1.5)
        server.kill()
    with Server(folder, "everysec") as server, server.client() as client:
        equal(client.run("DBSIZE"), b":1000\r\n", "keys")


# --- bad files ----------------------------------------------------------------------


def make_log(folder):
    """Return the sizes of a log after each of some commands."""
    sizes = []
    path = os.path.join(folder, LOG)
    for i in range(4):
        with Server(folder, "always") as server:
            with server.client() as client:
                client.run("SET", f"key{i}", "value")
            server.stop()
        sizes.append(os.path.getsize(path))
    return path, sizes


def torn(folder):
    """A tail that is not complete is cut, and that is said."""
    path, sizes = make_log(folder)
    for cut in (1, 10, sizes[3] - sizes[2] - 1):
        with open(path, "rb") as file:
            whole = file.read()
        os.truncate(path, sizes[3] - cut)
        with Server(folder, "always") as server, server.client() as client:
            said = server.said()
            equal(said.count("\n"), 1, f"lines of '{said}'")
            expect(f"last {sizes[3] - sizes[2] - cut} bytes" in said, f"'{said}'")
            equal(client.run("DBSIZE"), b":3\r\n", "keys")
            server.kill()
        equal(os.path.getsize(path), sizes[2], "size of the log that was cut")
        with open(path, "wb") as file:
            file.write(whole)
    with Server(folder, "always") as server, server.client() as client:
        equal(server.said(), "", "stderr")
        equal(client.run("DBSIZE"), b":4\r\n", "keys")


def damaged(folder):
    """A log with a bad record before good ones is refused, and stays as it is."""
    path, sizes = make_log(folder)
    with open(path, "r+b") as file:
        file.seek(sizes[1] - 3)
        file.write(b"?")
    with open(path, "rb") as file:
        before = file.read()
    refused(folder, path, f"byte {sizes[0]}", f"byte {sizes[1]}")
    with open(path, "rb") as file:
        equal(file.read(), before, "the damaged log")
    with open(path, "wb") as file:
        file.write(b"This is another file. It has more than forty bytes.")
    refused(folder, path, "is not a log")


def sip_hash(key, data):
    """SipHash-1-3 of @data, as in bench/kv/store/hash.c."""
    mask = (1 << 64) - 1
    a, b = key[0] ^ 0x736F6D6570736575, key[1] ^ 0x646F72616E646F6D
    c, d = key[0] ^ 0x6C7967656E657261, key[1] ^ 0x7465646279746573

    def rotate(word, by):
        return (word << by | word >> (64 - by)) & mask

    def turn():
        nonlocal a, b, c, d
        a, c = a + b & mask, c + d & mask
        b, d = rotate(b, 13) ^ a, rotate(d, 16) ^ c
        a, c = rotate(a, 32), c + b & mask
        a = a + d & mask
        b, d, c = rotate(b, 17) ^ c, rotate(d, 21) ^ a, rotate(c, 32)

    tail = len(data) % 8
    padded = data + bytes(7 - tail) + bytes([len(data) & 0xFF])
    for (word,) in struct.iter_unpack("<Q", padded):
        d ^= word
        turn()
        a ^= word
    c ^= 0xFF
    for _ in range(3):
        turn()
    return a ^ b ^ c ^ d


def record(*words):
    """Return a record of one command, as in bench/kv/log/record.h."""
    data = struct.pack("<QII", int(time.time() * 1000), 1, len(words))
    return data + b"".join(struct.pack("<I", len(word)) + word for word in words)


def add_frame(path, records):
    """Add a frame to a log, as in bench/kv/log/frame.h."""
    with open(path, "r+b") as file:
        key = struct.unpack("<QQ", file.read(40)[16:32])
        place = file.seek(0, os.SEEK_END)
        head = struct.pack("<IIQQ", sip_hash(key, b"mark") & 0xFFFFFFFF | 1, 0, len(records), place)
        both = struct.pack("<QQ", place, sip_hash(key, records))
        file.write(head + struct.pack("<Q", sip_hash(key, head + both)) + records)
    return place


def not_replayed(folder):
    """A log with a record that cannot be replayed is refused, and stays as it is."""
    path = make_log(folder)[0]
    add_frame(path, record(b"RPUSH", b"list", b"1"))
    with Server(folder, "always") as server, server.client() as client:
        equal(client.run("LLEN", "list"), b":1\r\n", "a record that the test has made")
        server.stop()
    with open(path, "rb") as file:
        whole = file.read()
    for bad, why in (
        (record(b"INCR", b"list"), "INCR: -WRONGTYPE"),
        (record(b"NONE", b"list"), "NONE: unknown command"),
        (record(b"GET", b"key0"), "GET: unknown command"),
        (record(b"SET", b"key0", b"1")[:-1], "its form is wrong"),
    ):
        with open(path, "wb") as file:
            file.write(whole)
        place = add_frame(path, record(b"SET", b"good", b"1") + bad)
        with open(path, "rb") as file:
            before = file.read()
        refused(folder, path, f"byte {place}", why)
        with open(path, "rb") as file:
            equal(file.read(), before, f"the log with '{why}'")


def long_name(folder):
    """The name of a log is not cut."""
    name = "./" * ((4000 - len(folder)) // 2) + "n" * 200
    refused(folder, "--append-file", "more than 4094 bytes", options=("--append-file", name))
    equal(os.listdir(folder), [], "files")


def locked(folder):
    """Two servers do not use the same log."""
    with Server(folder, "always") as server, server.client() as client:
        refused(folder, LOG, "another server")
        equal(client.run("SET", "key", 1), b"+OK\r\n", "SET")
        equal(
            parse(client.run("CONFIG", "GET", "append*")),
            [b"appendonly", b"yes", b"appendfsync", b"always", b"appendfilename", LOG.encode()],
            "CONFIG GET",
        )


# --- no room on the disk --------------------------------------------------------------


def write_until_full(server):
    """Write until that is refused. Return: the number of keys that were acknowledged"""
    keys, misconf = 0, b"-MISCONF Errors writing to the AOF file: "
    with server.client() as reader:
        try:
            with server.client() as client:
                while (reply := client.run("SET", f"key{keys}", "v" * 1000)) == b"+OK\r\n":
                    keys += 1
            raise AssertionError(f"{reply} for a record that was not written")
        except EOFError:
            pass  # no reply for a record that was not written
        expect(keys > 10, f"{keys} keys")
        reply = reader.run("SET", "other", 1)
        expect(reply.startswith(misconf), f"SET on a full disk: {reply}")
        reader.run("MULTI")
        expect(reader.run("DEL", "key0").startswith(misconf), "DEL in MULTI on a full disk")
        expect(reader.run("EXEC").startswith(b"-EXECABORT"), "EXEC on a full disk")
        equal(len(parse(reader.run("GET", "key0"))), 1000, "GET on a full disk")
        expect(b"aof_last_write_status:err" in reader.run("INFO"), "INFO on a full disk")
    return keys


def until_writable(server):
    end = time.monotonic() + kv_wire.HANG_S
    with server.client() as client:
        while client.run("SET", "after", 1) != b"+OK\r\n":
            expect(time.monotonic() < end, "no write after the disk has room again")
            time.sleep(0.02)


def check_full(folder, server, keys):
    """The keys that were acknowledged before and after are there."""
    server.kill()
    with Server(folder, "always") as server, server.client() as client:
        equal(client.run("GET", "after"), b"$1\r\n1\r\n", "a key written after")
        for i in range(keys):
            equal(client.run("STRLEN", f"key{i}"), b":1000\r\n", f"key{i} of {keys}")
        equal(client.run("EXISTS", "other"), b":0\r\n", "a key that was refused")


def file_limit(folder):
    """A log that may not grow: writes are refused, until it may."""
    with Server(folder, "always") as server:
        hard = resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE)[1]
        resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (700000, hard))
        keys = write_until_full(server)
        resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (hard, hard))
        until_writable(server)
        check_full(folder, server, keys)


def with_small_disk(folder, name, case, size="1m"):
    """Run a case in a folder of this size, in a mount namespace of its own. @name: of the case that
    calls this."""
    if "SKUA_KV_MOUNTED" not in os.environ:
        if subprocess.run(["unshare", "-rm", "true"], stderr=subprocess.DEVNULL).returncode:
            raise Skip(f"{name}: no mount namespace here")
        equal(
            subprocess.run(
                ["unshare", "-rm", sys.executable, "-B", sys.argv[0], PROGRAM, *OPTIONS, name],
                env={**os.environ, "SKUA_KV_MOUNTED": "1"},
            ).returncode,
            0,
            "exit code in a mount namespace",
        )
        return
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder], check=True)
    try:
        case(folder)
    finally:
        subprocess.run(["umount", folder])


def full_disk(folder):
    """The same on a disk without room."""

    def case(folder):
        ballast = os.path.join(folder, "ballast")
        with open(ballast, "wb") as file:
            file.write(bytes(600000))
        with Server(folder, "always") as server:
            keys = write_until_full(server)
            os.unlink(ballast)
            until_writable(server)
            check_full(folder, server, keys)

    with_small_disk(folder, "full_disk", case)


CASES = (same_values, same_values_everysec, same_values_no,
         errors_in_transactions, kills, killed_later, torn, damaged,
         not_replayed, long_name, locked, file_limit, full_disk)


def main(cases):
    failed, skipped = 0, 0
    for case in cases:
        if WANTED and case.__name__ not in WANTED:
            continue
        began = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            try:
                case(folder)
            except Skip as reason:
                skipped += 1
                print(f"skipped: {reason}")
            except Exception as error:  # noqa: the other cases run as well
                failed += 1
                print(f"{case.__name__}: {type(error).__name__}: {error}")
        if "SKUA_KV_TIMES" in os.environ:
            print(f"{case.__name__}: {time.monotonic() - began:.2f} s")
    return 1 if failed else 77 if skipped else 0


if __name__ == "__main__":
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    sys.exit(main(CASES))
