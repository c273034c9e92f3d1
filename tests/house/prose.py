#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: MIT
"""prose.py - plain English: no construction that needs a second reading

usage: prose.py [PREFIX...]
       prose.py --self-test

Reads comments and strings of sources and scripts, pages, and man pages, and
prints file, line and construction for each hit. RULES lists the constructions
and the words to use instead. With a PREFIX, such as bpf/why/, it checks the files
below it, including those that UNCLEAN exempts.
"""

import io
import re
import sys
import tokenize

import tree

# Areas that still have hits, and the rules they break. Remove a rule, and an area
# without rules, as soon as `prose.py PREFIX` finds no such hit; add none.
UNCLEAN = {
}

# Words that "who" may refer to: people, pronouns, and threads that act.
ANTECEDENTS = (
    "admin administrator anybody anyone author authors caller callers client clients "
    "consumer consumers developer engineer engineers everybody everyone finisher joiner "
    "maintainer man nobody one ones operator operators others owner parker people person "
    "producer producers programmer programmers reader readers searcher searchers sleeper "
    "sleepers somebody someone team thief thieves thread threads those user users victim "
    "waiter waker wakers worker workers writer writers"
).split()

_AUXILIARY = "is|are|was|were|do|does|did|has|have|had|can|may|must|will"

# Name: (expression, what to write instead). "who" and "what" have more conditions.
RULES = {
    "who": (
        re.compile(r"\b(who|whom|whoever|whomever)\b", re.I),
        "name the thread or person: 'a thread that ...'",
    ),
    "what": (
        re.compile(r"(?:^|[.:;!?|] +|- )(What(?:ever)?) [a-z]"),
        "a noun as the subject, or a question",
    ),
    "but for": (re.compile(r"\b(but (?:for|if))\b", re.I), "'except', 'unless'"),
    "is to": (
        re.compile(
            r"(?<!aim )(?<!goal )(?<!way )(?<!purpose )(?<!alternative )"
            r"\b((?:is|are|was|were)(?: not)? to) "
            r"(?!(?:a|an|the|its|their|it|them|that|this|one|blame)\b)[a-z]",
        ),
        "'must', 'should', 'will'",
    ),
    "inversion": (
        re.compile(
            rf"\b((?<!was )(?<!is )(?<!be )(?<!not )[Ss]o (?:{_AUXILIARY})"
            rf"|, as (?:{_AUXILIARY}) (?:a|an|the|its|their|each|any|those))\b(?! not)"
        ),
        "subject first: 'a worker also ...'",
    ),
    "as to": (re.compile(r"(?<!so )(?<!such )\b(as to)\b", re.I), "'about', 'for example to'"),
    "that which": (
        re.compile(
            r"\b((?:that|those) which|those that there (?:is|are)|[Ff]or that (?:who|which))\b"
        ),
        "'the one that', 'the existing ones'",
    ),
    "archaic": (
        re.compile(
            r"\b(lest|whence|hitherto|thereof|therein|thereby|hereof|herein|hereby|thence|ere|"
            r"save for|albeit|unto|upon|wherein|whereof|whereupon|naught|anew)\b",
            re.I,
        ),
        "a word of today",
    ),
}

SUFFIXES = (
    ".c .h .cpp .hpp .bt .rs .go .js .css .py .sh .md .txt .toml .cmake .in .1 .3 .5 .7".split() + [""]
)
SKIPPED = ("tests/fuzz/corpus/", "tests/topology/machines/")
BESIDE = (".setup.sh", ".ci/run", ".ci/setup")

_C_PART = re.compile(
    r'(?P<comment>//[^\n]*(?:\n[ \t]*//[^\n]*)*|/\*.*?\*/)'
    r'|(?P<include>^[ \t]*#[ \t]*include[^\n]*)'
    r'|(?P<char>\'(?:\\.|[^\'\\\n])+\')'
    r'|(?P<string>"(?:\\.|[^"\\\n])*"(?:(?:\s|PRI\w+|[A-Z_]*_FMT)*"(?:\\.|[^"\\\n])*")*)',
    re.DOTALL | re.MULTILINE,
)
_SHELL_PART = re.compile(
    r"(?P<comment>(?:^|(?<=\s))#[^\n]*(?:\n[ \t]*#[^\n]*)*)"
    r"|<<-?[ ]?['\"]?(?P<end>[A-Z]+)['\"]?[^\n]*\n(?P<here>.*?)^\t*(?P=end)$"
    r"|(?P<string>\"(?:\\.|[^\"\\])*\"|'[^']*')",
    re.DOTALL | re.MULTILINE,
)
_TOML_PART = re.compile(
    r'(?P<string>"""(?:.*?)"""|"(?:\\.|[^"\\\n])*"|\'[^\'\n]*\')'
    r"|(?P<comment>#[^\n]*(?:\n[ \t]*#[^\n]*)*)",
    re.DOTALL,
)
_SENTENCE_END = re.compile(r"[.?!;|](?=\s|$)")


def _blank(text):
    return re.sub(r"[^\n]", " ", text)


def _blank_all(expression, text, flags=0):
    return re.sub(expression, lambda m: _blank(m.group()), text, flags=flags)


def _plain(text):
    """Return a part with code blanked out. Line breaks are kept."""
    text = _blank_all(r"^[ \t]*(/\*\*?|\*/|\*(?=\s)|//+!?|#+(?=\s|$))", text, re.M)
    text = _blank_all(r"/\*+|\*/|\"|\\[nt]|[fr]?'(?=\w)", text)
    text = _blank_all(r"`[^`\n]*`|[@%$][\w.]+|\w+\([^()\s]*\)|\b\w*_\w+|\{[^{}]*\}", text)
    return text


def _parts_by(expression, text):
    for match in expression.finditer(text):
        for kind in ("comment", "here", "string"):
            if kind in match.groupdict() and match[kind] is not None:
                if kind == "string" and len(match[kind].split()) < 3:
                    continue
                yield match.start(kind), match[kind]


def _python_parts(text):
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    last = None  # the last comment, to join comments on adjacent lines
    parts = []
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            at = starts[token.start[0] - 1] + token.start[1]
            if token.type == tokenize.COMMENT:
                if last is not None and last[1] == token.start[0] - 1:
                    begin = parts[-1][0]
                    parts[-1] = (begin, text[begin : at + len(token.string)])
                else:
                    parts.append((at, token.string))
                last = token.start
                last = (at, token.start[0])
            elif token.type == tokenize.STRING and len(token.string.split()) > 2:
                parts.append((at, token.string))
                last = None
            elif token.type not in (tokenize.NL, tokenize.NEWLINE):
                last = None
    except (tokenize.TokenError, IndentationError):
        parts.append((0, text))
    return parts


def _page_parts(text):
    text = _blank_all(r"^ *```.*?^ *```$", text, re.M | re.S)
    text = re.sub(r"\]\([^)\n]*\)", lambda m: _blank(m.group()), text)
    at = 0
    for block in re.split(r"(\n\s*\n|\n(?=[ \t]*(?:[-*|#]|\d+\.) ))", text):
        yield at, block
        at += len(block)


def _man_parts(text):
    text = _blank_all(r"^\.[A-Z]{1,2}\b|\\f[BIRP]|\\[-&(]|^\.\\\"", text, re.M)
    at = 0
    for block in re.split(r"(\n\.(?:SH|TP|PP|IP|SS|BR|B|EX|EE)?\n?|\n\s*\n)", text):
        yield at, block
        at += len(block)


def parts(path, text):
    """Return the prose of a file, as offsets and texts."""
    name = path.rsplit("/", 1)[-1]
    suffix = "." + name.rsplit(".", 1)[1] if "." in name[1:] else ""
    first = text.split("\n", 1)[0]
    if suffix in (".c", ".h", ".cpp", ".hpp", ".bt", ".rs", ".go", ".js", ".css"):
        return list(_parts_by(_C_PART, text))
    if suffix == ".py" or (not suffix and "python" in first):
        return _python_parts(text)
    if suffix == ".md":
        return list(_page_parts(text))
    if suffix in (".1", ".3", ".5", ".7"):
        return list(_man_parts(text))
    if suffix in (".toml", ".cmake", ".in") or name == "CMakeLists.txt":
        return list(_parts_by(_TOML_PART, text))
    if suffix == ".sh" or (not suffix and first.startswith("#!")):
        return list(_parts_by(_SHELL_PART, text))
    return []


def _asks(text, at):
    end = _SENTENCE_END.search(text, at)
    return end is not None and end.group() == "?"


def _has_antecedent(text, at):
    before = re.findall(r"[\w'-]+|,|[.:;!?|(]", text[:at])[-3:]
    while before and before[-1].lower() in (",", "of", "to", "from", "by", "for", "with", "on"):
        before.pop()
    return bool(before) and before[-1].lower() in ANTECEDENTS


def _hits(text):
    """Yield offset, rule and words of each hit in a text."""
    flat = re.sub(r"\s", " ", text)
    # Replace each gap by one space, and record where each character was.
    where, squeezed = [], []
    for index, char in enumerate(flat):
        if char == " " and (not squeezed or squeezed[-1] == " "):
            continue
        squeezed.append(char)
        where.append(index)
    line = "".join(squeezed)
    for rule, (expression, _) in RULES.items():
        for match in expression.finditer(line):
            at = match.start(1)
            if rule in ("who", "what") and _asks(line, at):
                continue
            if rule == "who" and _has_antecedent(line, at):
                continue
            yield where[at], rule, line[max(0, at - 25) : match.end() + 25].strip()


def _unreleased(text):
    """Return the part of a changelog that is not yet released."""
    heads = [m.start() for m in re.finditer(r"^## \[", text, re.M)]
    return text[: heads[1]] if len(heads) > 1 and "[Unreleased]" in text else text


def _exempt(path, rule):
    return any(
        path.startswith(prefix) and rule in rules.split(", ")
        for prefix, rules in UNCLEAN.items()
    )


def check(root, prefixes=(), exempt=_exempt):
    complaints = []
    beside = [path for path in BESIDE if (root / path).is_file()]
    for path in tree.sources(root, SUFFIXES) + beside:
        if path.startswith(SKIPPED) or path == "tests/house/prose.py":
            continue
        if prefixes and not path.startswith(tuple(prefixes)):
            continue
        try:
            text = (root / path).read_text()
        except UnicodeDecodeError:
            continue
        if path == "CHANGELOG.md":
            text = _unreleased(text)
        for start, part in parts(path, text):
            for at, rule, words in _hits(_plain(part)):
                if prefixes or not exempt(path, rule):
                    number = text.count("\n", 0, start + at) + 1
                    complaints.append((path, number, rule, words))
    return [
        f"{path}:{number}: {rule}: \"{words}\"; {RULES[rule][1]}"
        for path, number, rule, words in sorted(complaints)
    ]


def check_planted(root):
    return check(root, exempt=lambda path, rule: False)


CASES = [
    # Free relative clauses, also across lines. Persons and questions are no hits.
    ({"core/a.c": "/* Who brings work wakes a worker. */\n"}, "core/a.c:1: who"),
    ({"core/a.c": "int a;\n\n/* It tells\n * who has it. */\n"}, "core/a.c:4: who"),
    ({"core/a.c": "/* Left to whoever comes. */\n"}, "a.c:1: who"),
    ({"core/a.c": "/* A user who reads, and those who write. */\n"}, None),
    ({"core/a.c": "/* The thread\n * who has it. */\n"}, None),
    ({"core/a.c": "/* Who has it? */\n"}, None),
    ({"core/a.c": "int who; f(who); /* of @who */\n"}, None),
    ({"core/a.c": "// The last\n// of who came.\n"}, "a.c:2: who"),
    # "what" as a subject.
    ({"core/a.c": "/* What is left over. */\n"}, "a.c:1: what"),
    ({"core/a.c": "/* It waits. What it had\n * is gone. */\n"}, "a.c:1: what"),
    ({"core/a.c": "/* What if not? */\n"}, None),
    ({"core/a.c": "/* It says what it has. */\n"}, None),
    # Other rules.
    ({"core/a.c": "/* All but for one. */\n"}, "a.c:1: but for"),
    ({"core/a.c": "/* It is to be woken. */\n"}, "a.c:1: is to"),
    ({"core/a.c": "/* The aim is to wake. It is to the left. */\n"}, None),
    ({"core/a.c": "/* A is dead, and so is B. */\n"}, "a.c:1: inversion"),
    ({"core/a.c": "/* A sleeps, as does a thread. */\n"}, "a.c:1: inversion"),
    ({"core/a.c": "/* A hint as to why. */\n"}, "a.c:1: as to"),
    ({"core/a.c": "/* It waits so as to sleep. */\n"}, None),
    ({"core/a.c": "/* That which it has. */\n/* of that which is */\n"}, "a.c:2: that which"),
    ({"core/a.c": "/* Thereby it ends. */\n"}, "a.c:1: archaic"),
    # File types.
    ({"core/a.c": 'f("for all but "\n  "for one");\n'}, "a.c:1: but for"),
    ({"a.py": '"""a.py - says who"""\n'}, "a.py:1: who"),
    ({"a.py": "x = 1  # of\n# it\n# who comes\n"}, "a.py:3: who"),
    ({"run": "#!/bin/sh\n# all\n# but for one\n"}, "run:3: but for"),
    ({"a.sh": "cat <<END\nall but for one\nEND\n"}, "a.sh:2: but for"),
    ({"a.sh": "for who in $list; do :; done\n"}, None),
    ({"A.md": "# A\n\nSays\nwho.\n"}, "A.md:4: who"),
    ({"A.md": "`who`\n\n```\nwho\n```\n"}, None),
    ({"a.1": ".TP\n.B \\-\\-all\nAll but for\none.\n"}, "a.1:3: but for"),
    ({"CMakeLists.txt": "# all but for one\nset(who 1)\n"}, "CMakeLists.txt:1: but for"),
    ({"CHANGELOG.md": "## [Unreleased]\nOne.\n## [0.1]\nAll but for one.\n"}, None),
    ({"CHANGELOG.md": "## [Unreleased]\nAll but for one.\n"}, "CHANGELOG.md:2: but for"),
]

if __name__ == "__main__":
    if sys.argv[1:] and not sys.argv[1].startswith("-"):
        paths = tree.sources(tree.ROOT, SUFFIXES)
        for prefix in sys.argv[1:]:
            if not any(path.startswith(prefix) for path in paths):
                sys.exit(f"prose.py: no file begins with '{prefix}'; allowed: as bpf/why/")
        found = check(tree.ROOT, sys.argv[1:])
        print("\n".join(found + [f"{len(found)} found"]))
        sys.exit(1 if found else 0)
    tree.main(check, check_planted, CASES)
