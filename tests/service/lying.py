#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: MIT
"""lying.py BUILD SCRATCH [KIND...] - each verb of skua over each kind of programs/lying.c

Prints a table: how much more memory (MB) and CPU time (s) each takes than over the
honest one, and after how many ms it ends when it is interrupted. CPU time is that of
the verb alone, so other programs on the machine do not count. Exits 1 if a figure is
over its bound.
"""

import concurrent.futures
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time

# The seconds have room for CPUs that other machines use, too: the most seen is 2.5.
MAX_MB, MAX_S, MAX_MS = 64, 6.0, 1000
ROWS_AT_ONCE = 4  # a row mostly sleeps
ALONE = "all"  # a verb that sees each process that is there
ATTEMPTS = 8  # of what other programs on the machine can delay
HANG_S = 60
# In the quick set, each kind is met by one in so many of the verbs, in turn.
QUICK_SHARE = 3
ADDRESS_SPACE = 4 << 30

KINDS = ("honest", "runtimes", "workers", "types", "unmapped", "symbols",
         "unwind", "whole", "functions", "notes", "changing", "circle", "tasks", "ring", "fibers",
         "descriptors")
# With @ where a file goes; what ends by itself, and what runs until a signal.
VERBS = {
    "top": ("top --once --interval 0.2", "top --interval 0.2"),
    "stats": ("stats", None),
    "tasks": ("tasks --each", None),
    "waits": ("waits --each", None),
    "stacks": ("stacks --each", None),
    "doctor": ("doctor", None),
    "metrics": ("metrics --once", "metrics --listen 127.0.0.1:0"),
    "textfile": (None, "metrics --textfile @ --interval 1"),
    "all": ("metrics --once --all", None),
    "record": ("record --for 0.2 -o @", "record -o @"),
    "why": ("why --for 0.2", "why --for 60"),
    "off-cpu": ("why --off-cpu --for 0.2", "why --off-cpu --for 60"),
    "flame": ("flame --folded --for 0.2 -o @", "flame --folded -o @"),
    "perf": ("perf --for 0.2", "perf"),
    "trace": ("trace --for 0.2", "trace"),
}


def limit():
    """For a verb that is broken: it ends, and not the machine."""
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
    resource.setrlimit(resource.RLIMIT_FSIZE, (256 << 20, 256 << 20))
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})


def end(child, seconds=HANG_S):
    """Its cost: MB and CPU seconds; None: it hangs."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        pid, status, used = os.wait4(child.pid, os.WNOHANG)
        if pid:
            child.returncode = os.waitstatus_to_exitcode(status)
            return used.ru_maxrss / 1024, used.ru_utime + used.ru_stime
        time.sleep(0.002)
    child.kill()
    child.wait()
    return None


def waited_ms(pid):
    """For how long a process has waited for a CPU; 0: this kernel does not tell."""
    try:
        with open(f"/proc/{pid}/schedstat", encoding="ascii") as stat:
            return int(stat.read().split()[1]) / 1e6
    except FileNotFoundError:
        return 0.0


def interrupted(child):
    """ms from a signal to the end, without its waits for a CPU; None: it hangs."""
    began, waited = time.monotonic(), waited_ms(child.pid)
    os.kill(child.pid, signal.SIGINT)  # not reaped yet
    while time.monotonic() - began < HANG_S:
        if os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT):
            break
        time.sleep(0.002)
    took = 1000 * (time.monotonic() - began)
    waited = waited_ms(child.pid) - waited
    # The time that it had waited before the signal may be counted after it.
    return max(took - waited, 0.0) if end(child, 0.1) else None


class Bounds:
    """Figures of a table; failed: a line for each that is over its bound."""

    def __init__(self):
        self.failed = []

    def check(self, what, figure, most):
        if figure > most:
            self.failed.append(f"{what}: {figure:.1f}, allowed {most}")
            return f"{figure:.1f}!"
        return f"{figure:.1f}"


class Matrix(Bounds):
    def __init__(self, build, scratch):
        super().__init__()
        self.skua, self.lying = build + "/bpf/skua", build + "/tests/programs/lying"
        self.scratch = scratch

    def begin(self, words, pid):
        words = words.replace("@", self.scratch + "/out").split()
        if pid and "--all" not in words:
            words += ["-p", str(pid)]
        with open(self.scratch + "/said", "w", encoding="utf-8") as said:
            return subprocess.Popen([self.skua] + words, stdin=subprocess.DEVNULL,
                                    stdout=said, stderr=said, preexec_fn=limit)

    def cost(self, words, pid):
        return end(self.begin(words, pid))

    def ending(self, words, pid):
        """The best of some attempts."""
        best = None
        for _ in range(ATTEMPTS):
            child = self.begin(words, pid)
            time.sleep(0.5)
            took = interrupted(child)
            if took is None:
                return float("inf")
            best = took if best is None else min(best, took)
            if best <= MAX_MS:
                break
        return best

    def cell(self, kind, verb, pid, honest):
        once, forever = VERBS[verb]
        texts = []
        if once:
            took = self.cost(once, pid) or (float("inf"), float("inf"))
            base = honest.setdefault(verb, took)
            texts += [self.check(f"{verb} of {kind}, MB", took[0] - base[0], MAX_MB),
                      self.check(f"{verb} of {kind}, s", took[1] - base[1], MAX_S)]
        if forever:
            texts += [self.check(f"{verb} of {kind}, ms after SIGINT",
                                 self.ending(forever, pid), MAX_MS)]
        return " ".join(texts)

    def row(self, kind, verbs, honest):
        """Lines of the table, and those of figures over their bounds."""
        lines, self.failed = [], []
        with subprocess.Popen([self.lying, kind, self.scratch + "/sparse"],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE) as target:
            target.stdout.readline()
            for verb in verbs:
                text = self.cell(kind, verb, target.pid, honest)
                lines.append(f"{kind:10}{verb:10}{text}")
            target.stdin.close()
        return lines, self.failed


def row(build, scratch, kind, verbs, honest):
    with tempfile.TemporaryDirectory(dir=scratch) as folder:
        return Matrix(build, folder).row(kind, verbs, honest)


def main():
    build, scratch = sys.argv[1:3]
    kinds = [kind for kind in sys.argv[3:] or KINDS if kind != "honest"]
    others = [verb for verb in VERBS if verb != ALONE]
    share = QUICK_SHARE if os.environ.get("SKUA_TEST_SET") == "quick" else 1
    honest, failed = {}, []

    def say(lines, wrong):
        print("\n".join(lines), flush=True)
        failed.extend(wrong)

    print("process   verb      MB more, CPU s more; ms after SIGINT")
    # The row of the honest one has what others are compared with.
    say(*Matrix(build, scratch).row("honest", VERBS, honest))
    for kind in kinds:
        say(*row(build, scratch, kind, [ALONE], honest))
    with concurrent.futures.ProcessPoolExecutor(ROWS_AT_ONCE) as pool:
        rows = [
            pool.submit(row, build, scratch, kind, others[i % share :: share], honest)
            for i, kind in enumerate(kinds)
        ]
        for each in rows:
            say(*each.result())
    for line in failed:
        print("FAILED:", line)
    if share > 1:
        print(f"the quick set: 1 in {share} of the verbs with each process")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
