#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: MIT
"""mutants.py - would the model tests notice if core/ were wrong?

Finds every operation in core/ with an order in its name that is not relaxed,
and makes a mutant for each way to weaken it; a fence loses its sequential
consistency, or goes. The file mutants.toml adds changes of another kind: checks
left out, bounds that are missing. Each mutant is compiled, in a folder of its
own, into the model programs that reach what it changes, and their cases run
with the bounds that they have in CI. A case that fails kills the mutant; one
that none kills survives, and has to be listed in mutants.toml, with the reason:

  equivalent   the weaker order is enough: nothing can be told apart
  invisible    it matters, but no execution that the explorer makes shows it

usage: mutants.py [--check | --quick | --list] [--table FILE] [--only REGEX]
                  [--programs REGEX] [--trust] [--jobs N]

  --check       exit 1 for a survivor that is not listed, one that is listed and
                was killed, and an entry of mutants.toml without a mutant
  --quick       only the mutants that mutants.toml names under `quick`, each
                with the one case that kills it; exit 1 if it does not
  --list        name all mutants, and run none
  --table FILE  write the result as a table in Markdown
  --only REGEX  only mutants whose name matches
  --programs REGEX  only programs whose name matches, as model_group
  --trust       believe mutants.toml: do not run what it lists with a reason
  --jobs N      so many mutants at a time (default: one a CPU)

The last line is 'N mutants: K killed, E equivalent, I invisible, S survived'.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DATA = Path(__file__).with_name("mutants.toml")
CFLAGS = "-std=gnu11 -D_GNU_SOURCE -O1 -w -UNDEBUG -include tests/model/explore.h".split()
EXPLORER_CFLAGS = CFLAGS + ["-O3"]  # compiled once, and run for half an hour
CASE_SECONDS = 1200  # a case that takes longer is an error, and kills nothing
# Executions of a case that show what it reaches: the first, and some of all.
SURVEYS = ({"EXPLORE_MAX": "20000"}, {"EXPLORE_RANDOM": "7,5000"})
# Executions of a case, in one round over all cases after another: most mutants
# are killed in the first. The last has the bounds of CI.
ROUNDS = [1000, 20000, None]

TOKEN = re.compile(
    r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.DOTALL
)
OPERATION = re.compile(
    r"\batomic_(load|store|exchange|cas|fetch_\w+?|fence(?:_updated|_loads)?)"
    r"_(acquire|release|acq_rel|seq_cst)(?=\()"
)
FUNCTION = re.compile(
    r"^(?!\s).*?\b(?!__attribute__\b)(\w+)\([^;{}]*\)\n\{", re.MULTILINE
)
PASSING = re.compile(r'EXPLORE_PASS\(\s*"(\w+)"')

ORDERS = {
    "acquire": ["relaxed"],
    "release": ["relaxed"],
    "acq_rel": ["acquire", "release", "relaxed"],
    "seq_cst": ["acq_rel", "nothing"],
}

# Set where an operation is executed; written to a file at the end of a case.
VISITED_H = "extern unsigned char mutants_visited[];\n"
VISITED_C = """
#include <stdio.h>
#include <stdlib.h>
unsigned char mutants_visited[%d];
__attribute__((destructor)) static void report(void)
{
	const char *path = getenv("MUTANTS_VISITED");
	FILE *file = path ? fopen(path, "w") : NULL;

	if (!file)
		return;
	fwrite(mutants_visited, 1, sizeof(mutants_visited), file);
	fclose(file);
}
"""


# ---- the operations of core/ and their mutants -------------------------------


@dataclass
class Operation:
    file: str
    function: str
    text: str  # as atomic_load_acquire(&q->head)
    start: int
    end: int
    kind: str
    order: str
    arguments: str


@dataclass
class Mutant:
    name: str
    file: str
    source: str  # the changed file
    operations: list  # numbers of those that a case must reach
    expected: str = "killed"
    reason: str = ""
    run: dict = None  # of mutants.toml: the one run to make
    verdict: str = ""
    by: str = ""
    error: str = ""


def blank(text):
    """C source without comments and strings, every character in its place."""
    return TOKEN.sub(lambda m: re.sub(r"[^\n]", " ", m.group()), text)


def closing(text, opening):
    depth = 0
    for i in range(opening, len(text)):
        depth += {"(": 1, ")": -1}.get(text[i], 0)
        if depth == 0:
            return i
    raise ValueError("unbalanced parentheses")


def functions(text):
    """(start, name) of each function definition, in order."""
    return [(m.start(), m.group(1)) for m in FUNCTION.finditer(text)]


def find_operations(file, source):
    text = blank(source)
    names = functions(text)
    found = []
    for match in OPERATION.finditer(text):
        end = closing(text, match.end()) + 1
        arguments = source[match.end() + 1 : end - 1]
        first = " ".join(re.split(r",(?![^(]*\))", arguments)[0].split())
        function = [n for start, n in names if start < match.start()]
        found.append(
            Operation(
                file=file,
                function=function[-1] if function else "",
                text=f"{match.group()}({first})",
                start=match.start(),
                end=end,
                kind=match.group(1),
                order=match.group(2),
                arguments=arguments,
            )
        )
    return found


def weakened(op, order):
    """The operation in C, with another order."""
    if op.kind.startswith("fence"):
        if order == "nothing":
            return "(void)0"
        return f"atomic_thread_fence(memory_order_{order})"
    success = op.order if order == "failure relaxed" else order
    if op.kind != "cas":
        return f"atomic_{op.kind}_explicit({op.arguments}, memory_order_{success})"
    keeps = op.order == "acq_rel" and order in ("acquire", "release")
    failure = "acquire" if keeps else "relaxed"
    return (
        f"atomic_compare_exchange_strong_explicit({op.arguments}, "
        f"memory_order_{success}, memory_order_{failure})"
    )


def weaker_orders(op):
    orders = list(ORDERS[op.order])
    if op.kind == "cas" and op.order == "acq_rel":
        orders.insert(0, "failure relaxed")
    return orders


def replace(source, start, end, text):
    return source[:start] + text + source[end:]


def order_mutants(sources, operations):
    seen = defaultdict(int)
    mutants = []
    for number, op in enumerate(operations):
        place = f"{op.file} {op.function}: {op.text}"
        seen[place] += 1
        if seen[place] > 1:
            place += f" #{seen[place]}"
        for order in weaker_orders(op):
            changed = replace(
                sources[op.file], op.start, op.end, weakened(op, order)
            )
            mutants.append(Mutant(f"{place} -> {order}", op.file, changed, [number]))
    return mutants


def change_mutants(sources, operations, changes):
    """Those that mutants.toml spells out."""
    mutants = []
    for change in changes:
        source = sources[change["file"]]
        if source.count(change["old"]) != 1:
            sys.exit(
                f"{DATA.name}: {change['name']}: {source.count(change['old'])} times"
                f" in {change['file']}, not once:\n{change['old']}"
            )
        changed = source.replace(change["old"], change["new"])
        reach = [n for n, op in enumerate(operations) if op.file == change["file"]]
        mutants.append(
            Mutant(f"{change['file']}: {change['name']}", change["file"], changed, reach)
        )
    return mutants


def read_tree():
    paths = sorted((ROOT / "core").glob("*/*.[ch]"))
    files = [p.relative_to(ROOT).as_posix() for p in paths if p.name != "atomic.h"]
    return {file: (ROOT / file).read_text() for file in files}


def all_mutants(data, sources, operations):
    mutants = order_mutants(sources, operations)
    mutants += change_mutants(sources, operations, data.get("change", []))
    by_name = {m.name: m for m in mutants}
    unknown = []
    for listed in data.get("mutant", []):
        for name in [listed["name"]] if "name" in listed else listed["names"]:
            if name not in by_name:
                unknown.append(name)
                continue
            mutant = by_name[name]
            mutant.expected = listed.get("is", "killed")
            mutant.reason = " ".join(listed.get("reason", "").split())
            mutant.run = listed.get("run")
    return mutants, unknown


# ---- programs ----------------------------------------------------------------


@dataclass
class Case:
    program: str
    name: str
    reaches: set = field(default_factory=set)


@dataclass
class Object:
    source: str
    path: Path
    includes: set = field(default_factory=set)


class Build:
    """The programs, compiled once with a note of each operation reached."""

    def __init__(self, folder, sources, operations, programs=""):
        self.folder = folder
        self.cc = os.environ.get("CC", "cc")
        self.count = len(operations)
        (folder / "objects").mkdir()
        (folder / "visited.h").write_text(VISITED_H)
        (folder / "visited.c").write_text(VISITED_C % (self.count + 1))
        for file, source in sources.items():
            noted = self.note(file, source, operations)
            path = folder / "noted" / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(noted)
        self.models = [
            p.relative_to(ROOT).as_posix()
            for p in sorted((ROOT / "tests/model").glob("model_*.c"))
            if p.stem != "model_explorer" and re.search(programs, p.stem)
        ]

    @staticmethod
    def note(file, source, operations):
        for number, op in reversed(list(enumerate(operations))):
            if op.file != file:
                continue
            text = source[op.start : op.end]
            source = replace(
                source, op.start, op.end, f"(mutants_visited[{number}] = 1, {text})"
            )
        return source

    def compile(self, source, path, overlay=None):
        """Compiles a file of the tree, which the overlay may replace."""
        includes = [overlay] if overlay else []
        includes += [self.folder / "noted", ROOT, ROOT / "include"]
        origin = next(p / source for p in includes if (p / source).exists())
        flags = EXPLORER_CFLAGS if Path(source).match("explore*.c") else CFLAGS
        command = [self.cc, *flags, "-include", self.folder / "visited.h"]
        for include in includes:
            command += ["-I", include]
        if source in self.models and "explore_watch(" in origin.read_text():
            command.append("-fsanitize=thread")
        command += ["-MMD", "-MF", path.with_suffix(".d"), "-c", origin, "-o", path]
        subprocess.run(command, check=True, cwd=ROOT)

    def make_object(self, source):
        made = Object(
            source, self.folder / "objects" / (source.replace("/", "_") + ".o")
        )
        self.compile(source, made.path)
        for path in made.path.with_suffix(".d").read_text().split():
            match = re.search(r"\bcore/\w+/\w+\.[ch]$", path)
            if match:
                made.includes.add(match.group())
        return made

    def make_all(self, jobs, sources):
        explorer = [
            p.relative_to(ROOT).as_posix()
            for p in sorted((ROOT / "tests/model").glob("explore*.c"))
        ]
        core = [file for file in sources if file.endswith(".c")]
        topology = [
            p.relative_to(ROOT).as_posix()
            for p in sorted((ROOT / "topology").glob("*.c"))
        ]
        with ThreadPoolExecutor(jobs) as pool:
            everything = list(
                pool.map(
                    self.make_object,
                    self.models
                    + explorer
                    + core
                    + topology
                    + [
                        "probes/environment.c",
                        "probes/probes.c",
                        "probes/recorder.c",
                        "probes/root.c",
                    ],
                )
            )
        visited = self.folder / "objects/visited.o"
        subprocess.run(
            [self.cc, "-c", self.folder / "visited.c", "-o", visited], check=True
        )
        assembly = []
        for source in sorted(ROOT.glob("core/*/*.S")):
            assembly.append(self.folder / "objects" / (source.name + ".o"))
            subprocess.run([self.cc, "-c", source, "-o", assembly[-1]], check=True)
        self.objects = {o.source: o for o in everything}
        self.archive = self.folder / "base.a"
        members = [o.path for o in everything if o.source not in self.models]
        subprocess.run(["ar", "rcs", self.archive, *members, *assembly], check=True)
        for model in self.models:
            self.link(self.objects[model].path, [], self.program(self.folder, model))

    @staticmethod
    def program(folder, model):
        return folder / Path(model).stem

    def link(self, model, changed, path):
        """Links a program, with changed objects in place of the archive's own."""
        archive = self.archive
        if changed:
            archive = shutil.copy(self.archive, path.with_suffix(".a"))
            subprocess.run(["ar", "r", archive, *changed], check=True)
        visited = self.folder / "objects/visited.o"
        subprocess.run(
            [self.cc, model, visited, archive, "-lnuma", "-pthread", "-o", path],
            check=True,
        )

    def cases(self):
        return [
            Case(Path(model).stem, name)
            for model in self.models
            for name in PASSING.findall((ROOT / model).read_text())
        ]

    def survey(self, case):
        """Runs a case unchanged: what does it reach?"""
        path = self.folder / f"{case.program}.{case.name}.visited"
        for survey in SURVEYS:
            environment = {"MUTANTS_VISITED": path, **survey}
            result = run(self.folder / case.program, case.name, environment)
            if result.returncode != 0 and ": BOUNDED: " not in result.stdout:
                sys.exit(f"unchanged, {case.program} {case.name}:\n{result.stdout}")
            case.reaches |= {n for n, seen in enumerate(path.read_bytes()) if seen}
        return case


def run(program, case, environment=None):
    clean = {k: v for k, v in os.environ.items() if not k.startswith("EXPLORE_")}
    return subprocess.run(
        [program, case],
        env={**clean, **(environment or {})},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=CASE_SECONDS,
    )


class Trial:
    """One mutant: a folder with its file, and the programs that have it."""

    def __init__(self, build, mutant, folder):
        self.build, self.mutant, self.folder = build, mutant, folder
        path = folder / mutant.file
        path.parent.mkdir(parents=True)
        path.write_text(mutant.source)
        self.programs = {}

    def object(self, source):
        path = self.folder / (source.replace("/", "_") + ".o")
        if not path.exists():
            self.build.compile(source, path, self.folder)
        return path

    def program(self, name):
        """The program with the mutant in it."""
        if name in self.programs:
            return self.programs[name]
        model = f"tests/model/{name}.c"
        build, file = self.build, self.mutant.file
        changed = [
            self.object(o.source)
            for o in build.objects.values()
            if file in o.includes and o.source not in build.models
        ]
        has_it = file in build.objects[model].includes
        main = self.object(model) if has_it else build.objects[model].path
        self.programs[name] = build.program(self.folder, model)
        build.link(main, changed, self.programs[name])
        return self.programs[name]

    def kills(self, program, case, environment=None, most=None):
        """Does the case fail? Else, has it seen all that it has to see?"""
        limit = {"EXPLORE_MAX": str(most)} if most else {}
        result = run(self.program(program), case, {**(environment or {}), **limit})
        self.complete = f" {most} executions" not in result.stdout
        if result.returncode == 0 or ": BOUNDED: " in result.stdout:
            return False
        with_what = "".join(f"{k}={v} " for k, v in (environment or {}).items())
        executions = re.search(r"(\d+) executions", result.stdout)
        if result.returncode < 0:
            what = f"crashed with signal {-result.returncode}"
        elif executions and ": FAILED: " in result.stdout:
            failure = result.stdout.split(": FAILED: ")[1].strip()
            what = f"{executions.group(1)} executions: {failure}"
        else:
            self.mutant.error = f"{program} {case}: {result.stdout[-300:]}"
            return False
        self.mutant.verdict = "killed"
        self.mutant.by = f"{with_what}{program} {case}: {what}"
        return True


def try_mutant(build, mutant, cases):
    special = mutant.run
    try:
        with tempfile.TemporaryDirectory(dir=build.folder) as folder:
            trial = Trial(build, mutant, Path(folder))
            if special and trial.kills(
                special["program"], special["case"], special.get("environment")
            ):
                return
            # A change in a file without operations may show in any case.
            reach = set(mutant.operations)
            left = [c for c in cases if not reach or c.reaches & reach]
            for most in ROUNDS:
                again = []
                for case in left:
                    if trial.kills(case.program, case.name, most=most):
                        return
                    if not trial.complete:
                        again.append(case)
                left = again
    except (subprocess.SubprocessError, OSError) as error:
        mutant.error = f"{type(error).__name__}: {error}"
    mutant.verdict = "survived" if mutant.expected == "killed" else mutant.expected


# ---- what is said ------------------------------------------------------------


def say(text):
    print(text, flush=True)


def report(mutant):
    why = mutant.by or mutant.reason
    say(f"{mutant.verdict:10} {mutant.name}" + (f"\n             {why}" if why else ""))
    if mutant.error:
        say(f"ERROR        {mutant.error}")


def cell(text):
    return text.replace("|", "\\|")


def write_table(path, mutants, summary):
    lines = ["| Mutant | Verdict | By, or why |", "|---|---|---|"]
    for m in mutants:
        why = cell(m.by or m.reason)
        lines.append(f"| `{cell(m.name)}` | {m.verdict} | {why} |")
    Path(path).write_text("\n".join(lines + ["", summary, ""]))


def summarise(mutants):
    def count(verdict):
        return sum(m.verdict == verdict for m in mutants)

    return (
        f"{len(mutants)} mutants: {count('killed')} killed, "
        f"{count('equivalent')} equivalent, {count('invisible')} invisible, "
        f"{count('survived')} survived"
    )


def complaints(mutants, unknown, selected):
    wrong = [f"listed, but there is no such mutant: {n}" for n in unknown]
    for m in mutants:
        if m.error:
            wrong.append(f"could not be judged: {m.name}")
        elif m.verdict == "survived":
            wrong.append(f"survived, and is not listed: {m.name}")
        elif m.verdict == "killed" and m.expected != "killed":
            wrong.append(f"listed as {m.expected}, but killed: {m.name}")
    return wrong if not selected else [w for w in wrong if "no such" not in w]


# ---- main --------------------------------------------------------------------


def complete(args, sources, operations, mutants, unknown):
    if args.only:
        mutants = [m for m in mutants if re.search(args.only, m.name)]
    with tempfile.TemporaryDirectory() as folder:
        build = Build(Path(folder), sources, operations, args.programs)
        build.make_all(args.jobs, sources)
        with ThreadPoolExecutor(args.jobs) as pool:
            cases = list(pool.map(build.survey, build.cases()))
            reached = set().union(*(case.reaches for case in cases))
            for number, op in enumerate(operations):
                if number not in reached:
                    say(f"no case reaches {op.file} {op.function}: {op.text}")

            def judge(mutant):
                if args.trust and mutant.expected != "killed":
                    mutant.verdict = mutant.expected
                else:
                    try_mutant(build, mutant, cases)
                report(mutant)

            list(pool.map(judge, mutants))
    summary = summarise(mutants)
    if args.table:
        write_table(args.table, mutants, summary)
    wrong = complaints(mutants, unknown, args.only)
    for complaint in wrong:
        say(complaint)
    say(summary)
    return 1 if args.check and wrong else 0


def quick(args, sources, operations, mutants, chosen):
    by_name = {m.name: m for m in mutants}
    mutants = [by_name[c["name"]] for c in chosen]
    programs = "^(" + "|".join({c["program"] for c in chosen}) + ")$"
    with tempfile.TemporaryDirectory() as folder:
        build = Build(Path(folder), sources, operations, programs)
        build.make_all(args.jobs, sources)

        def judge(choice):
            mutant = by_name[choice["name"]]
            mutant.run, mutant.expected = choice, "killed"
            try_mutant(build, mutant, [])
            report(mutant)

        with ThreadPoolExecutor(args.jobs) as pool:
            list(pool.map(judge, chosen))
    say(summarise(mutants))
    return 0 if all(m.verdict == "killed" for m in mutants) else 1


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--table", metavar="FILE")
    parser.add_argument("--only", metavar="REGEX")
    parser.add_argument("--trust", action="store_true")
    parser.add_argument("--programs", metavar="REGEX", default="")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    args = parser.parse_args()

    data = tomllib.loads(DATA.read_text())
    sources = read_tree()
    operations = [o for f, s in sources.items() for o in find_operations(f, s)]
    mutants, unknown = all_mutants(data, sources, operations)
    if args.list:
        for mutant in mutants:
            say(mutant.name)
        return 0
    if args.quick:
        return quick(args, sources, operations, mutants, data["quick"])
    return complete(args, sources, operations, mutants, unknown)


if __name__ == "__main__":
    sys.exit(main())
