#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: MIT
"""kv_compare.py WHAT SKUA_KV REDIS_SERVER [OPTION...] - both servers answer the same bytes

WHAT is one of the lists of kv_requests.py: "sessions", "channels", both in versions 2 and 3
of the protocol, or "wire": requests that are malformed or odd. OPTION is one of SKUA_KV.
Exit codes: 0 success, 1 failure.
"""

import sys

import kv_requests
import kv_wire


def split(line):
    """Return the words of a command; '...' is one word."""
    words, rest = [], line
    while rest:
        if rest[0] == "'":
            word, _, rest = rest[1:].partition("'")
            rest = rest[1:]
        else:
            word, _, rest = rest.partition(" ")
        words.append(word)
    return words


def same(mark, ours, theirs):
    if mark == "~":
        ours, theirs = kv_wire.parse(ours), kv_wire.parse(theirs)
        if len(ours) == 2 and isinstance(ours[1], list):
            return ours[0] == theirs[0] and sorted(ours[1]) == sorted(theirs[1])
        return sorted(ours) == sorted(theirs)
    if mark == "#":
        return abs(kv_wire.parse(ours) - kv_wire.parse(theirs)) < 60000
    return ours == theirs


class Comparison:
    def __init__(self, ports):
        self.ports = ports
        self.compared = self.failed = 0

    def check(self, what, mark, ours, theirs):
        self.compared += 1
        if not same(mark, ours, theirs):
            self.failed += 1
            print(f"{what[:100]!r}\n  skua-kv: {ours[:200]!r}\n  redis:   {theirs[:200]!r}")

    def clients(self):
        return [kv_wire.Client(port) for port in self.ports]

    def session(self, lines, version):
        clients = self.clients()
        for client in clients:
            client.run("FLUSHALL")
            client.run("HELLO", version)
        for line in lines:
            mark, line = (line[0], line[1:]) if line[0] in "~#" else ("", line)
            replies = [client.run(*split(line)) for client in clients]
            self.check(f"[{version}] {line}", mark, *replies)
        for client in clients:
            client.socket.close()

    def channels(self, steps, version):
        groups = [[kv_wire.Client(port) for _ in range(3)] for port in self.ports]
        for clients in groups:
            clients[0].run("FLUSHALL")
            for client in clients:
                client.run("HELLO", version)
        for step in steps:
            mark, step = (step[0], step[1:]) if step[0] == "~" else ("", step)
            number, *words = split(step)
            replies = []
            for clients in groups:
                client = clients[int(number)]
                if words:
                    client.send(kv_wire.encode(*words))
                replies.append(client.read())
            self.check(f"[{version}] {step}", mark, *replies)
        for clients in groups:
            for client in clients:
                client.socket.close()

    def malformed(self, data):
        """Compare the replies, up to the end of the connection."""
        replies = []
        for client in self.clients():
            with client:
                client.send(data)
                replies.append(client.read_all())
        self.check(data, "", *replies)

    def odd(self, data, step):
        """Compare all replies to bytes that come in pieces of @step."""
        replies = []
        data += b"\r\nECHO the-end\r\n"
        for client in self.clients():
            with client:
                client.run("FLUSHALL")
                for at in range(0, len(data), step):
                    client.send(data[at : at + step])
                got = b""
                while not got.endswith(b"$7\r\nthe-end\r\n"):
                    got += client.read()
                replies.append(got)
        self.check(data, "", *replies)

    def anonymous(self):
        """Compare replies before the client has given the password."""
        lines = "GET a|PING|FOO|QUIT x|AUTH x|AUTH default x|HELLO|HELLO 3|HELLO 3 AUTH default x"
        lines += "|GET|INFO|HELLO 3 AUTH default secret SETNAME me|CLIENT GETNAME|AUTH secret|AUTH"
        for client in self.clients():
            with client:
                client.run("CONFIG", "SET", "requirepass", "secret")
        clients = self.clients()
        for line in lines.split("|")[:3] + lines.split("|")[4:]:
            replies = [client.run(*split(line)) for client in clients]
            if line.startswith("HELLO 3 AUTH default secret"):
                continue  # has the number of the connection
            self.check(line, "", *replies)
        for client in clients:
            client.run("CONFIG", "SET", "requirepass", "")
            client.socket.close()


def sessions(comparison):
    for lines in kv_requests.SESSIONS:
        for version in (2, 3):
            comparison.session(lines, version)


def channels(comparison):
    for version, more in ((2, kv_requests.CHANNELS_2), (3, kv_requests.CHANNELS_3)):
        for steps in kv_requests.CHANNELS + more:
            comparison.channels(steps, version)


def wire(comparison):
    for data in kv_requests.MALFORMED:
        comparison.malformed(data)
    for data in kv_requests.ODD:
        for step in (len(data) + 100, 97) if len(data) > 100 else (len(data) + 100, 1):
            comparison.odd(data, step)
    comparison.anonymous()


def main():
    what = {"sessions": sessions, "channels": channels, "wire": wire}[sys.argv[1]]
    programs, options = sys.argv[2:4], sys.argv[4:]
    with kv_wire.Server(programs[0], *options) as ours, kv_wire.Server(programs[1]) as theirs:
        comparison = Comparison((ours.port, theirs.port))
        what(comparison)
    print(f"{sys.argv[1]}: {comparison.compared} replies compared, {comparison.failed} differ")
    return comparison.failed > 0


sys.exit(main())
