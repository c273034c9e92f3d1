# SPDX-License-Identifier: MIT
"""kv_cases.py - runs cases of clients against skua-kv

PROGRAM [OPTION...]: the server and its options. Each case runs with two workers, and those
that ask for it with one as well; with SKUA_KV_LONG=1, all. SKUA_KV_TIMES=1 prints times.
"""

import os
import resource
import struct
import sys
import tempfile
import threading
import time

from kv_wire import HANG_S, Client, Server

RESET = struct.pack("ii", 1, 0)


def expect(condition, what):
    if not condition:
        raise AssertionError(what)


def equal(got, wanted, what):
    expect(got == wanted, f"{what}: {str(got)[:200]}, not {str(wanted)[:200]}")


def until(condition, what):
    end = time.monotonic() + HANG_S
    while not condition():
        expect(time.monotonic() < end, what)
        time.sleep(0.01)


def only_client(server):
    """Return a client, when all others have left."""
    client = Client(server.port)
    until(lambda: b"connected_clients:1\r\n" in client.run("INFO", "clients"), "one client")
    return client


def in_threads(count, function):
    """Call function(i) in @count threads at once; an error of one is raised here."""
    errors = []

    def run(i):
        try:
            function(i)
        except Exception as error:  # noqa: the main thread raises it
            errors.append(error)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def run(case, program, options, workers):
    """Run a case. A case with two arguments starts the server itself."""
    with tempfile.TemporaryDirectory() as folder:
        options = ["--workers", str(workers), "--dir", folder, *options]
        if case.__code__.co_argcount == 2:
            case(program, options)
            return
        with Server(program, *options) as server:
            case(server)
            expect(server.process.poll() in (None, 0), "the server has failed")


def main(cases, alone=()):
    """Run all cases. @alone: those that run with one worker as well."""
    program, options = sys.argv[1], sys.argv[2:]
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
    failed = 0
    for case in cases:
        for workers in (1, 2) if case in alone or os.environ.get("SKUA_KV_LONG") else (2,):
            began = time.monotonic()
            try:
                run(case, program, options, workers)
            except Exception as error:  # noqa: the other cases run as well
                failed += 1
                print(f"{case.__name__}, {workers} workers: {type(error).__name__}: {error}")
            if "SKUA_KV_TIMES" in os.environ:
                print(f"{case.__name__} {workers}: {time.monotonic() - began:.2f} s")
    sys.exit(failed > 0)
