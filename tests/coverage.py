#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: MIT
"""coverage.py - the table of tests/coverage, and whether it is enough

usage: coverage.py FOLDER [--update]

Reads what lcov has put into FOLDER: all.info, a record for each compilation of
each file, and coverage.info, their sums. Prints the table and writes it to
FOLDER/coverage.md with the branches that were not taken; --update puts it into
tests/README.md. Exit code: 1 if a file of the protocol has fewer branches than
tests/coverage.toml asks for and a gap is not explained there.
"""

import sys
import tomllib
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "tests/README.md"
BEGIN, END = "<!-- coverage -->", "<!-- end of coverage -->"
FOLDERS = ("core", "topology", "probes")


def records(path):
    """Of each record: its file, counts by line, and lists of counts by line."""
    name, lines, branches = "", {}, defaultdict(list)
    for text in path.read_text().splitlines():
        kind, _, rest = text.partition(":")
        if kind == "SF":
            source = Path(rest)
            inside = source.is_relative_to(ROOT)
            name = source.relative_to(ROOT).as_posix() if inside else rest
        elif kind == "DA":
            line, count = rest.split(",")[:2]
            lines[int(line)] = int(count)
        elif kind == "BRDA":
            line, _, _, count = rest.split(",")
            branches[int(line)].append(0 if count == "-" else int(count))
        elif kind == "end_of_record":
            if name.split("/")[0] in FOLDERS:
                yield name, lines, branches
            lines, branches = {}, defaultdict(list)


def differing(path):
    """Lines whose branches are others in another compilation: their sums mean
    nothing."""
    counts = defaultdict(set)
    for name, lines, branches in records(path):
        for line in lines:
            counts[name, line].add(len(branches[line]))
    return sorted(key for key, seen in counts.items() if len(seen) > 1)


class File:
    def __init__(self, name, lines, branches, rules):
        text = (ROOT / name).read_text().splitlines()
        self.name = name
        self.lines = (sum(1 for n in lines.values() if n), len(lines))
        counts = [count for taken in branches.values() for count in taken]
        self.branches = (sum(1 for count in counts if count), len(counts))
        self.protocol = name in rules["protocol"]
        gaps = {g["line"]: g["why"] for g in rules["gap"] if g["file"] == name}
        self.missed = []  # line, its text, how many, of how many, why
        for line, taken in sorted(branches.items()):
            if 0 in taken:
                code = text[line - 1].strip()
                missing = (taken.count(0), len(taken))
                self.missed.append((line, code, *missing, gaps.get(code)))

    def enough(self, limit):
        taken, of = self.branches
        explained = all(why for *_, why in self.missed)
        return not self.protocol or 100 * taken >= limit * of or explained


def unknown(rules):
    """Files that are not there, and gaps that name no line."""
    wrong = [name for name in rules["protocol"] if not (ROOT / name).is_file()]
    for gap in rules["gap"]:
        path = ROOT / gap["file"]
        text = path.read_text().splitlines() if path.is_file() else []
        if gap["line"] not in (line.strip() for line in text):
            wrong.append(f"{gap['file']}: {gap['line']}")
    return wrong


def percent(taken, of):
    return f"{100 * taken / of:.1f} %" if of else "–"


def table(files):
    rows = ["| File | Lines | Branches | not taken |", "|---|---|---|---|"]
    for file in files:
        mark = "" if file.protocol else " \\*"
        missed = file.branches[1] - file.branches[0]
        rows.append(
            f"| `{file.name}`{mark} | {percent(*file.lines)} "
            f"| {percent(*file.branches)} | {missed or ''} |"
        )
    return "\n".join(rows) + "\n"


def gaps(files):
    rows = ["| Where | Branches | Why |", "|---|---|---|"]
    for file in files:
        for line, code, missing, of, why in file.missed:
            code = code.replace("|", "\\|")
            where = f"`{file.name}:{line}` `{code}`"
            rows.append(f"| {where} | {missing} of {of} | {why or ''} |")
    return "\n".join(rows) + "\n"


def update(text):
    page = README.read_text()
    head, rest = page.split(BEGIN)
    README.write_text(f"{head}{BEGIN}\n\n{text}\n{END}{rest.split(END)[1]}")


def main():
    folder = Path(sys.argv[1])
    rules = tomllib.loads((ROOT / "tests/coverage.toml").read_text())
    found = records(folder / "coverage.info")
    files = [File(*record, rules) for record in sorted(found, key=lambda r: r[0])]
    complaints = [f"tests/coverage.toml names what is not there: {w}" for w in unknown(rules)]
    for name, line in differing(folder / "all.info"):
        complaints.append(f"{name}:{line}: compilations differ in branches")
    for file in files:
        if not file.enough(rules["limit"]):
            share = percent(*file.branches)
            complaints.append(f"{file.name}: {share} of branches, unexplained")

    text = table(files)
    print(text, end="")
    (folder / "coverage.md").write_text(f"{text}\n{gaps(files)}")
    if "--update" in sys.argv:
        update(text)
    for complaint in complaints:
        print(f"not enough: {complaint}")
    sys.exit(1 if complaints or not files else 0)


main()
