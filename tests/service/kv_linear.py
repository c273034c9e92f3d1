#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: MIT
"""kv_linear.py SKUA_KV [OPTION...] - the replies of skua-kv are those of one order of commands

Several clients use a few keys at once, and note when each command was sent and when its reply
came. A history is linearizable if each command can take effect at one moment between these two
times, so that all replies are those of the commands in that order. The keys form pairs. MSET,
MGET and transactions use both keys of a pair, and no command uses two pairs. So each pair is
checked alone: a history is linearizable if that of each object is.

These clients are slow: a command of two keys is seldom in the middle of its work when another one
begins. So other clients set all of many keys, and read all of them, for which the server takes
longer than they do: no reply may show keys of two commands, and DBSIZE may not count a part of
the keys of one.

With a log in mode always, the server is killed meanwhile. After the next start, the effect of
each operation that had a reply must be there. An operation without a reply must have its whole
effect, or none.

SKUA_KV_OPERATIONS is the number of commands of each client (250); SKUA_KV_SEED, that of the
choices (1). Exit codes: 0 success, 1 failure.
"""

import multiprocessing
import os
import random
import re
import sys
import tempfile
import threading
import time

import kv_cases
from kv_cases import equal, expect
from kv_wire import HANG_S, Client, Server, encode, parse

OPERATIONS = int(os.environ.get("SKUA_KV_OPERATIONS", "250"))
SEED = int(os.environ.get("SKUA_KV_SEED", "1"))
CLIENTS = 4
PAIRS = 2
DEPTH = 4  # commands of a client that are sent together, at most
KILLS = 3
BOTH = "ab"
START = (None, None)  # the values of a pair at first
processes = multiprocessing.get_context("fork")


# --- commands ---------------------------------------------------------------------
#
# An operation is a name and arguments. Key 0 or 1 is a key of its pair.


def apply_one(state, name, *args):
    """Return the values of a pair after an operation, and its reply."""
    values = list(state)
    if name == "mget":
        return state, list(values)
    if name == "mset":
        return tuple(args), "+OK"
    if name == "multi":
        replies = []
        for operation in args:
            state, reply = apply_one(state, *operation)
            replies.append(reply)
        return state, replies
    key = args[0]
    old = values[key]
    if name == "get":
        return state, old
    if name == "del":
        values[key] = None
        return tuple(values), int(old is not None)
    if name == "incr":
        values[key] = (old or 0) + 1
        return tuple(values), values[key]
    if name == "setnx" and old is not None:
        return state, 0
    values[key] = args[1]
    return tuple(values), {"set": "+OK", "getset": old, "setnx": 1}[name]


def apply(state, operation, reply):
    """Return the values of a pair after an operation with this reply; None: it would have another
    one. @reply: UNKNOWN if none has come."""
    if operation[0] == "swap":  # EXEC with a watched key, whose value was operation[2]
        _, key, old, new = operation
        if reply == "refused" or (reply == UNKNOWN and state[key] != old):
            return state
        if state[key] != old:
            return None
        return tuple(new if i == key else value for i, value in enumerate(state))
    after, expected = apply_one(state, *operation)
    return after if reply == UNKNOWN or reply == expected else None


def words(pair, name, *args):
    """Return an operation as the bytes of its commands, and the number of its replies."""
    key = [f"{pair}{letter}" for letter in BOTH]
    if name == "mget":
        return encode("MGET", *key), 1
    if name == "mset":
        return encode("MSET", key[1], args[1], key[0], args[0]), 1
    if name == "multi":
        return (encode("MULTI") + b"".join(words(pair, *o)[0] for o in args) + encode("EXEC"),
                len(args) + 2)
    if name == "swap":
        return encode("MULTI") + encode("SET", key[args[0]], args[2]) + encode("EXEC"), 3
    if name == "getset":
        return encode("SET", key[args[0]], args[1], "GET"), 1
    return encode(name.upper(), key[args[0]], *args[1:]), 1


def number(reply):
    """Values are integers. GET shows them as strings."""
    if isinstance(reply, list):
        return [number(item) for item in reply]
    if isinstance(reply, bytes):
        return reply.decode() if reply[:1] in b"+-" else int(reply)
    return reply


UNKNOWN = "no reply"


# --- clients ----------------------------------------------------------------------


class Player:
    """A client that sends operations, and notes them: [pair, operation, call, return, reply].
    An operation without a reply has none of the last two."""

    def __init__(self, port, number_, random_):
        self.client = Client(port)
        self.random = random_
        self.notes = []
        self.next_value = number_ * 10**12  # more than a client uses

    def value(self):
        """Values differ, also after some INCR."""
        self.next_value += 1000
        return self.next_value

    def choose(self):
        key = self.random.randrange(2)
        simple = [("get", key), ("set", key, self.value()), ("getset", key, self.value()),
                  ("setnx", key, self.value()), ("incr", key), ("incr", 1 - key), ("del", key)]
        return self.random.choice(simple * 2 + [
            ("mget",), ("mget",), ("mset", self.value(), self.value()),
            ("multi", ("incr", 0), ("incr", 1)), ("multi", ("get", 1), ("get", 0)),
            ("multi", *self.random.sample(simple, 3)), "swap", "swap",
        ])

    def send(self, operations):
        data, call = b"", time.monotonic_ns()
        first = len(self.notes)
        counts = []
        for pair, operation in operations:
            more, count = words(pair, *operation)
            data += more
            counts.append(count)
            self.notes.append([pair, operation, call, None, UNKNOWN])
        self.client.send(data)
        for note, count in zip(self.notes[first:], counts):
            for _ in range(count):
                reply = self.client.read()
            note[3], note[4] = time.monotonic_ns(), number(parse(reply))

    def swap(self, pair):
        """Add one to a value, unless the key changes meanwhile."""
        key = self.random.randrange(2)
        self.client.run("WATCH", f"{pair}{BOTH[key]}")
        self.send([(pair, ("get", key))])
        self.send([(pair, ("swap", key, self.notes[-1][4], self.value()))])
        note = self.notes[-1]
        note[4] = "refused" if note[4] is None else note[4]

    def play(self):
        left = OPERATIONS
        while left > 0:
            operations = []
            for _ in range(self.random.randrange(1, DEPTH + 1)):
                pair, operation = self.random.randrange(PAIRS), self.choose()
                if operation == "swap":
                    if operations:
                        self.send(operations)
                    self.swap(pair)
                    operations = []
                    left -= 2
                else:
                    operations.append((pair, operation))
                    left -= 1
            if operations:
                self.send(operations)


def play(port, i, seed, pipe, gate):
    """One client, in a process of its own: the interpreters of threads would take turns."""
    player = Player(port, i, random.Random(seed))
    gate.wait()
    try:
        player.play()
    except (EOFError, OSError):
        pass  # the server was killed
    pipe.send(player.notes)


def history(port, turn, seed, kill=None):
    """Return what the clients have noted. @kill: called when they have begun."""
    gate = processes.Barrier(CLIENTS + 1)
    started = []
    for i in range(CLIENTS):
        mine, other = processes.Pipe(duplex=False)
        who = turn * CLIENTS + i + 1
        process = processes.Process(target=play, args=(port, who, f"{seed}.{who}", other, gate))
        process.start()
        other.close()
        started.append((process, mine))
    gate.wait(HANG_S)
    if kill:
        kill()
    notes = [mine.recv() for _, mine in started]
    for process, _ in started:
        process.join()
    return notes


# --- the checker --------------------------------------------------------------------
#
# A configuration is the values of a pair, and the number of operations of each client that have
# taken effect. At each reply, all configurations in which its operation has not taken effect are
# followed until it has, by operations that were called before. Equal configurations are followed
# once.


def steps(configuration, clients, called):
    """Return the configurations after one more operation."""
    state, done = configuration
    for c, operations in enumerate(clients):
        if done[c] < called[c]:
            _, operation, _, _, reply = operations[done[c]]
            after = apply(state, operation, reply)
            if after is not None:
                yield after, (*done[:c], done[c] + 1, *done[c + 1:])


def follow(configurations, clients, called, is_done):
    """Return all configurations that can be reached and of which is_done() is true."""
    found, seen, left = set(), set(configurations), list(configurations)
    while left:
        configuration = left.pop()
        if is_done(configuration):
            found.add(configuration)
            continue
        for after in steps(configuration, clients, called):
            if after not in seen:
                seen.add(after)
                left.append(after)
    return found


def check(states, clients):
    """Check the history of a pair. @states: the values that it may have had before; @clients:
    notes of each client. Return: the values that it may have afterwards"""
    events = []
    for c, operations in enumerate(clients):
        for i, (_, _, call, back, _) in enumerate(operations):
            events.append((call, 0, c, i))
            if back is not None:
                events.append((back, 1, c, i))
    configurations = {(state, (0,) * len(clients)) for state in states}
    called = [0] * len(clients)
    for _, is_reply, c, i in sorted(events):
        if not is_reply:
            called[c] += 1
            continue
        before = configurations
        configurations = follow(before, clients, called, lambda cf: cf[1][c] > i)
        if not configurations:
            waiting = [operations[j] for d, operations in enumerate(clients)
                       for j in range(min(done[d] for _, done in before), called[d])]
            raise AssertionError(
                f"no order explains {clients[c][i]}; the values before it: "
                f"{sorted(str(state) for state, _ in before)[:9]}; commands that have no place "
                f"yet: {waiting[:20]}"
            )
    # Operations without a reply have taken effect, or not.
    ends = set(configurations)
    follow(configurations, clients, called, lambda cf: ends.add(cf) or False)
    replied = [sum(note[3] is not None for note in operations) for operations in clients]
    return {state for state, done in ends if all(a >= b for a, b in zip(done, replied))}


def of_pair(notes, pair):
    return [[note for note in client if note[0] == pair] for client in notes]


# --- a check of the checker -----------------------------------------------------------


def is_linear(notes):
    try:
        check({START}, notes)
    except AssertionError:
        return False
    return True


def verdict(*clients):
    """@clients: lists of (operation, call, return, reply) of each client"""
    return is_linear([[[0, *note] for note in client] for client in clients])


def checker_knows(server):
    """Small histories with a known verdict."""
    del server
    write, read = ("set", 0, 5), ("get", 0)
    good = [
        ([(write, 1, 4, "+OK")], [(read, 2, 3, None)]),
        ([(write, 1, 4, "+OK")], [(read, 2, 3, 5)]),
        ([(write, 1, None, UNKNOWN)], [(read, 2, 3, 5)]),
        ([(write, 1, None, UNKNOWN)], [(read, 2, 3, None)]),
        ([(("incr", 0), 1, 9, 2)], [(("incr", 0), 1, 9, 1)]),
        ([(write, 1, 4, "+OK")], [(("swap", 0, None, 6), 2, 3, ["+OK"]), (read, 5, 6, 5)]),
    ]
    bad = [
        ([(write, 1, 2, "+OK")], [(read, 3, 4, None)]),  # stale
        ([(write, 1, 9, "+OK")], [(read, 2, 3, 5), (read, 4, 5, None)]),  # back again
        ([(write, 1, None, UNKNOWN)], [(read, 2, 3, 5), (read, 4, 5, None)]),
        ([(("incr", 0), 1, 9, 1)], [(("incr", 0), 1, 9, 1)]),  # lost update
        ([(("setnx", 0, 1), 1, 9, 1)], [(("setnx", 0, 2), 1, 9, 1)]),
        ([(("mset", 1, 2), 1, 9, "+OK")], [(("mget",), 2, 3, [1, None])]),  # a half
        ([(("multi", ("incr", 0), ("incr", 1)), 1, 9, [1, 1])], [(("mget",), 2, 3, [None, 1])]),
        ([(write, 1, 2, "+OK")], [(("swap", 0, None, 6), 3, 4, ["+OK"])]),
        ([(read, 1, 9, 5), (write, 1, 9, "+OK")], []),  # the order of one client
    ]
    for case in good:
        expect(verdict(*case), f"a good history is refused: {case}")
    for case in bad:
        expect(not verdict(*case), f"a bad history is accepted: {case}")


def defects(notes):
    """Return changes of one reply that no order explains, by kind: (client, place, reply). A value
    above 1000 is that of a key only once: those of SET differ, and INCR only adds to them."""
    stale, again = [], []
    for c, client in enumerate(notes):
        seen, overwritten, given = {}, {}, {}
        for i, (_, (name, *args), _, back, reply) in enumerate(client):
            if name not in ("get", "set", "incr") or back is None:
                continue
            key = args[0]
            if name == "set":  # what this client has seen is gone
                overwritten[key] = seen.get(key)
            elif name == "get" and overwritten.get(key):
                stale.append((c, i, overwritten[key]))
            elif name == "incr" and given.get(key):
                again.append((c, i, given[key]))
            if name != "set" and reply is not None and reply > 1000:
                seen[key] = reply
                if name == "incr":
                    given[key] = reply
    return {"a read of a value that is gone": stale, "a lost INCR": again}


# --- cases ----------------------------------------------------------------------------


def overlaps(notes):
    """Return how many operations began while one of another client on their pair had no reply."""
    count = 0
    for pair in range(PAIRS):
        open_until = [0] * CLIENTS
        for call, back, c in sorted((note[2], note[3], c) for c, client in enumerate(notes)
                                    for note in client if note[0] == pair):
            count += any(until > call for d, until in enumerate(open_until) if d != c)
            open_until[c] = max(open_until[c], back)
    return count


def explained(server, pair, states):
    """The values of a pair are among @states. Return: a set with these values"""
    with Client(server.port) as client:
        values = tuple(number(parse(client.run("MGET", *(f"{pair}{k}" for k in BOTH)))))
    expect(values in states, f"pair {pair} has {values} at the end; explained: {states}")
    return {values}


def histories(server):
    """Those of a server are linearizable, and one with a planted defect is not."""
    notes = history(server.port, 0, SEED)
    total = sum(map(len, notes))
    expect(total >= CLIENTS * OPERATIONS, f"only {total} operations")
    expect(overlaps(notes), "the clients have come one after the other")
    for pair in range(PAIRS):
        explained(server, pair, check({START}, of_pair(notes, pair)))
    random_ = random.Random(SEED)
    for what, places in defects(of_pair(notes, 0)).items():
        expect(places, f"no place for {what}")
        for c, i, reply in random_.sample(places, min(3, len(places))):
            bad = [[list(note) for note in client] for client in of_pair(notes, 0)]
            bad[c][i][4] = reply
            expect(not is_linear(bad), f"{what} was not found")
    if "SKUA_KV_TIMES" in os.environ:
        print(f"{total} operations, {overlaps(notes)} overlap that of another client")


# --- many keys -------------------------------------------------------------------------

KEYS = [f"many{i}" for i in range(1000)]
WRITERS, READERS = 2, 2
DIGITS = 12


def same_values(value):
    """The reply of MGET if all keys have a value."""
    return b"*%d\r\n" % len(KEYS) + b"$%d\r\n%s\r\n" % (DIGITS, value) * len(KEYS)


def write_many(port, i, stop, pipe):
    """Set all keys to the same value, by MSET and by EXEC in turn. Values begin with the number of
    the writer, and grow."""
    del pipe
    with Client(port) as client:
        template = encode("MSET", *(word for key in KEYS for word in (key, "v" * DIGITS)))
        half = len(KEYS) // 2
        halves = b"".join(encode("MSET", *(word for key in keys for word in (key, "v" * DIGITS)))
                          for keys in (KEYS[half:], KEYS[:half]))
        both = ((template, 1), (encode("MULTI") + halves + encode("EXEC"), 4))
        turn = 0
        while not stop.is_set():
            data, replies = both[turn % 2]
            turn += 1
            client.send(data.replace(b"v" * DIGITS, b"%d%0*d" % (i, DIGITS - 1, turn)))
            for _ in range(replies):
                expect(client.read()[:1] in b"+*", "a write of many keys failed")


def read_many(port, i, stop, pipe):
    """Tell how many values were seen, or what was wrong."""
    request, size, last, seen = encode("MGET", *KEYS), len(same_values(b"v" * DIGITS)), {}, set()
    with Client(port) as client:
        for _ in range(OPERATIONS):
            client.send(request)
            data = b""
            while len(data) < size:
                more = client.socket.recv(size - len(data))
                expect(more, "the server has left")
                data += more
            value = data[data.index(b"$"):].split(b"\r\n")[1]
            if data != same_values(value):
                got = set(parse(data))
                pipe.send(f"reader {i}: MGET shows the keys of {len(got)} commands: {got}")
                return
            writer = value[:1]
            if value < last.get(writer, value):
                pipe.send(f"reader {i}: {value} after {last[writer]}")
                return
            last[writer] = value
            seen.add(value)
    del stop
    pipe.send(len(seen))


def many_keys(server):
    """MSET, MGET and EXEC of many keys show all of a command, or nothing."""
    stop = processes.Event()
    with Client(server.port) as client:
        client.run("MSET", *(word for key in KEYS for word in (key, "0" * DIGITS)))
    started = []
    for i in range(WRITERS + READERS):
        mine, other = processes.Pipe(duplex=False)
        process = processes.Process(target=write_many if i < WRITERS else read_many,
                                    args=(server.port, i + 1, stop, other))
        process.start()
        other.close()
        started.append((process, mine))
    try:
        results = [mine.recv() for _, mine in started[WRITERS:]]
    finally:
        stop.set()
    for process, _ in started:
        process.join()
        expect(process.exitcode == 0, f"a client has failed: {process.exitcode}")
    for result in results:
        expect(isinstance(result, int), result)
        expect(result > 1, "a reader has seen no change")
    if "SKUA_KV_TIMES" in os.environ:
        print(f"values that each reader has seen: {results}")


def counts(server):
    """DBSIZE counts all keys of a command, or none."""
    stop = threading.Event()
    keys = KEYS[:100]
    seen = set()

    def write():
        with Client(server.port) as client:
            while not stop.is_set():
                client.run("MSET", *(word for key in keys for word in (key, "1")))
                client.run("DEL", *keys)

    def read():
        try:
            with Client(server.port) as client:
                for _ in range(OPERATIONS):
                    client.send(encode("DBSIZE") * 16)
                    seen.update(parse(client.read()) for _ in range(16))
        finally:
            stop.set()

    kv_cases.in_threads(2, lambda i: (write, read)[i]())
    expect(seen <= {0, len(keys)}, f"DBSIZE is {sorted(seen)[:10]}; allowed: 0 or {len(keys)}")
    equal(len(seen), 2, "counts that were seen")


# --- with kills ------------------------------------------------------------------------


def commands(client):
    """Return the number of commands that the server has run, with this one."""
    info = client.run("INFO", "stats")
    return int(re.search(rb"total_commands_processed:(\d+)", info)[1])


def crashes(program, options):
    """The same with a server that is killed: no reply was given too early."""
    states, pending = [{START}] * PAIRS, 0
    with tempfile.TemporaryDirectory() as folder:
        options = [*options, "--append", "always", "--dir", folder]
        for turn in range(KILLS + 1):
            with Server(program, *options) as server:
                states = [explained(server, pair, states[pair]) for pair in range(PAIRS)]
                if turn == KILLS:
                    break

                def kill():
                    with Client(server.port) as client:
                        first, asked = commands(client), 0
                        while commands(client) - first - asked < 10:
                            asked += 1
                            time.sleep(0.001)
                    time.sleep(random.uniform(0.01, 0.1))
                    server.process.kill()
                    server.process.wait()

                notes = history(server.port, turn, SEED, kill)
            pending += sum(note[3] is None for client in notes for note in client)
            states = [check(states[pair], of_pair(notes, pair)) for pair in range(PAIRS)]
    if "SKUA_KV_TIMES" in os.environ:
        print(f"{KILLS} kills, {pending} operations without a reply")


if __name__ == "__main__":
    kv_cases.main([checker_knows, histories, many_keys, counts, crashes],
                  alone=[histories, many_keys, counts, crashes])
