#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: MIT
"""kv_peers.py SKUA_LOAD PROGRAM... - the key-value servers of the peers answer as Redis

Each program gets the same commands: one by one, all at once, and byte by byte. Then
skua-load checks the type of each reply. Exit codes: 0 success, 1 failure.
"""

import json
import subprocess
import sys

import kv_wire

BIG = b"x" * 300000
TYPE = b"-WRONGTYPE Operation against a key holding the wrong kind of value\r\n"
INTEGER = b"-ERR value is not an integer or out of range\r\n"


def wrong_count(name):
    return b"-ERR wrong number of arguments for '%s' command\r\n" % name


EXPECTED = [
    (["PING"], b"+PONG\r\n"),
    (["ping", "hi"], b"$2\r\nhi\r\n"),
    (["PING", "a", "b"], wrong_count(b"ping")),
    (["GET", "a"], b"$-1\r\n"),
    (["SET", "a", "1"], b"+OK\r\n"),
    (["GET", "a"], b"$1\r\n1\r\n"),
    (["SET", "a", ""], b"+OK\r\n"),
    (["gEt", "a"], b"$0\r\n\r\n"),
    (["SET", "a", b"\r\n\0\xff"], b"+OK\r\n"),
    (["GET", "a"], b"$4\r\n\r\n\0\xff\r\n"),
    (["INCR", "a"], INTEGER),
    (["SET", "", BIG], b"+OK\r\n"),
    (["GET", ""], b"$300000\r\n" + BIG + b"\r\n"),
    (["INCR", "n"], b":1\r\n"),
    (["INCR", "n"], b":2\r\n"),
    (["GET", "n"], b"$1\r\n2\r\n"),
    (["SET", "n", "-2"], b"+OK\r\n"),
    (["INCR", "n"], b":-1\r\n"),
    (["SET", "n", "9223372036854775807"], b"+OK\r\n"),
    (["INCR", "n"], b"-ERR increment or decrement would overflow\r\n"),
    (["LPUSH", "l", "1"], b":1\r\n"),
    (["LPUSH", "l", "2", "3"], b":3\r\n"),
    (["GET", "l"], TYPE),
    (["INCR", "l"], TYPE),
    (["LPUSH", "n", "1"], TYPE),
    (["MSET", "l", "1", "b", "2", "l", "3"], b"+OK\r\n"),
    (["GET", "l"], b"$1\r\n3\r\n"),
    (["GET", "b"], b"$1\r\n2\r\n"),
    (["MSET", "a"], wrong_count(b"mset")),
    (["MSET", "a", "1", "b"], wrong_count(b"mset")),
    (["SET", "a"], wrong_count(b"set")),
    (["GET"], wrong_count(b"get")),
    (["LPUSH", "a"], wrong_count(b"lpush")),
    (["INCR", "a", "b"], wrong_count(b"incr")),
    (["SET", "a", "1", "FOO"], b"-ERR syntax error\r\n"),
    (["CONFIG", "GET", "save"], b"*2\r\n$4\r\nsave\r\n$0\r\n\r\n"),
    (["CONFIG", "GET", "appendonly"], b"*2\r\n$10\r\nappendonly\r\n$2\r\nno\r\n"),
]

MALFORMED = [
    (b"*1x\r\n", b"-ERR Protocol error: invalid multibulk length\r\n"),
    (b"*1048577\r\n", b"-ERR Protocol error: invalid multibulk length\r\n"),
    (b"*1\r\n!4\r\n", b"-ERR Protocol error: expected '$'"),
    (b"*1\r\n$-4\r\n", b"-ERR Protocol error: invalid bulk length\r\n"),
    (b"*1\r\n$536870913\r\n", b"-ERR Protocol error: invalid bulk length\r\n"),
    (b"*1\r\n$99999999999999999999\r\n", b"-ERR Protocol error: invalid bulk length\r\n"),
]

failed = False


def expect(what, got, expected):
    global failed
    if got != expected:
        failed = True
        print(f"FAILED: {what}: {got[:100]!r}, not {expected[:100]!r}")


def start(program, *options):
    return kv_wire.Server(program, "--workers", *options)


def check(program, workers):
    commands = [kv_wire.encode(*words) for words, _ in EXPECTED]
    with start(program, workers) as server, kv_wire.Client(server.port) as client:
        for words, expected in EXPECTED:
            expect(f"{program}: {words}"[:200], client.run(*words), expected)
    with start(program, workers) as server, kv_wire.Client(server.port) as client:
        client.send(b"".join(commands))
        for words, expected in EXPECTED:
            expect(f"{program}, at once: {words}"[:200], client.read(), expected)
    with start(program, workers) as server, kv_wire.Client(server.port) as client:
        for (words, expected), command in zip(EXPECTED, commands):
            for byte in command if len(command) < 1000 else []:
                client.send(bytes([byte]))
            if len(command) >= 1000:
                client.send(command[:777])
                client.send(command[777:])
            expect(f"{program}, by bytes: {words}"[:200], client.read(), expected)
        client.send(b"PING\r\n\r\n  SET  inline   5 \nGET inline\r\n*0\r\n*-1\r\nPING\r\n")
        for expected in b"+PONG\r\n", b"+OK\r\n", b"$1\r\n5\r\n", b"+PONG\r\n":
            expect(f"{program}, inline", client.read(), expected)
        for text, expected in MALFORMED:
            with kv_wire.Client(server.port) as bad:
                bad.send(text)
                got = bad.read_all()
                expect(f"{program}: {text!r}", got[: len(expected)], expected)


def check_load(load, program):
    with start(program, "2") as server:
        for pipeline in "1", "16":
            run = subprocess.run(
                [load, "--port", str(server.port), "--rate", "5000", "--pipeline", pipeline]
                + ["--mix", "3:3:3:1", "--seconds", "0.2", "--warm-up", "0", "--grace", "60"]
                + ["--keys", "100", "--json", "--sleep"],
                stdout=subprocess.PIPE,
                check=False,
            )
            got = json.loads(run.stdout) if run.stdout else {}
            ok = run.returncode == 0 and got["server_pid"] == server.process.pid
            expect(f"{program}, load, {pipeline}", str(ok), "True")


def main():
    load, *programs = sys.argv[1:]
    for program in programs:
        for workers in "1", "3":
            check(program, workers)
        check_load(load, program)
    sys.exit(1 if failed else 0)


main()
