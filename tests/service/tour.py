#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: MIT
"""tour.py PAGE - the commands of skua_tour(7) run, and print the lines that it quotes

A shell runs them one after the other, with a free port. A quoted line stands for each line
that differs from it in numbers, units and times only; "..." stands for any text. On a busy
machine a command may print something else. It is then tried again, until each quoted line has
come in one of the tries. The exposition of the metrics is parsed, and compared with INFO.
"""

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time

import openmetrics

TRIES = 8
HANG_S = 120  # ends a test that has failed; decides nothing else
END = "end of the command"
_TOKEN = re.compile(
    r"\.\.\.|\[[a-z?]{20}\]|\d{4}-\d\d-\d\dT[\d:.]+Z|\b(?:ns|us|ms|s)\b|\d[\d.,]*[KM]?|@+|\s+"
)


def pattern(line):
    """A regular expression for the lines that a quoted line stands for."""
    out, at = "", 0
    for match in _TOKEN.finditer(line):
        text = match[0]
        out += re.escape(line[at : match.start()])
        at = match.end()
        if text == "...":
            out += ".*"
        elif text[0] == "[":
            out += r"\[.{20}\]"
        elif text[0] == "@":
            out += "@*"
        elif text.isspace():
            out += r"\s+"
        elif re.fullmatch("ns|us|ms|s", text):
            out += "(?:ns|us|ms|s)"
        elif "T" in text:
            out += r"\S+"
        else:
            out += r"[\d.,]+[KM]?"
    return re.compile(out + re.escape(line[at:]))


def steps(page):
    """Each command of the page, with the lines that are quoted after it."""
    found = []
    for block in re.findall(r"\.Bd -literal\n(.*?)\.Ed", page, re.DOTALL):
        for line in block.replace("\\&", "").splitlines():
            if line.startswith("$ "):
                found.append((line[2:], []))
            elif line.startswith("> "):
                found[-1] = (found[-1][0] + "\n" + line[2:], found[-1][1])
            elif line.strip() != "...":
                found[-1][1].append(line.strip())
    return found


class Shell:
    def __init__(self):
        self.process = subprocess.Popen(
            ["bash", "--norc"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, preexec_fn=os.setpgrp,
        )  # fmt: skip

    def run(self, command):
        """Return what a command prints. One in the background prints into the next ones."""
        self.process.stdin.write(f"{command}\necho '{END}'\n")
        self.process.stdin.flush()
        lines = []
        while (line := self.process.stdout.readline()) and line.strip() != END:
            lines.append(line)
        return "".join(lines)

    def end(self):
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


def check(shell, command, quoted):
    """Run a command until each quoted line was seen. The verdict is one line, wrapped: its
    words depend on what else the machine does."""
    missing = [line for line in quoted if not line.startswith(("verdict:", "(keys);"))]
    again = command.startswith("skua ") and len(missing) > 0
    printed = ""
    for _ in range(TRIES):
        printed = shell.run(command)
        lines = [line.strip() for line in printed.splitlines()]
        missing = [line for line in missing
                   if not any(pattern(line).fullmatch(one) for one in lines)]  # fmt: skip
        if not missing:
            return printed
        if not again:
            break
    raise AssertionError(f"{command!r} does not print {missing}, but:\n{printed[-3000:]}")


def until_it_listens(port):
    """A busy machine may need more than the second of the page."""
    end = time.monotonic() + HANG_S
    while time.monotonic() < end:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            return
        except ConnectionRefusedError:
            time.sleep(0.01)


def info(port):
    with socket.create_connection(("127.0.0.1", port)) as client:
        client.sendall(b"INFO skua\r\nQUIT\r\n")
        text = b"".join(iter(lambda: client.recv(65536), b"")).decode()
    return {key: int(value) for key, value in re.findall(r"(\w+):(\d+)\r", text)}


def compare(exposition, port):
    """The counters are those of INFO, which is read later."""
    polled = [
        int(value)
        for (name, _), value in openmetrics.read(exposition).items()
        if name == "skua_tasks_polled_total"
    ]
    later = info(port)["tasks_polled"]
    assert 0 < sum(polled) <= later, (polled, later)


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        page = file.read()
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    try:  # other programs of a busy machine would be the causes
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    except OSError:
        pass
    shell, left_out = Shell(), []
    try:
        for command, quoted in steps(page.replace("7777", str(port))):
            if command.startswith("bpftrace") and not can_trace():
                left_out.append("bpftrace")
                continue
            printed = check(shell, command, quoted)
            if command.startswith("skua-kv"):
                until_it_listens(port)
            if "skua metrics" in command:
                compare(printed, port)
    finally:
        shell.end()
    if left_out:
        print(f"passed except for what is missing here: {', '.join(left_out)}")
        sys.exit(77)


def can_trace():
    return shutil.which("bpftrace") and os.geteuid() == 0


if __name__ == "__main__":
    main()
