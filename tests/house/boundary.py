#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: MIT
"""boundary.py - check that BOUNDARY() follows each call in core/ of the program's code

A call through a pointer reaches the program's code, unless EXCEPTIONS names the other
code that it reaches. After the call, before any return or goto, BOUNDARY() must mark the
frame (core/base/boundary.h), in the block of the call or in an enclosing block. A
function with a mark must have such a call.

The check finds calls through a member, an element, (*pointer), another expression in
parentheses, and a variable whose type is a pointer to a function: written out, a typedef,
or deduced by the compiler.
"""

import re

import tree

# "file: name of the pointer", and the code of the library that it calls.
_OPERATION = "an operation of a loop, which marks its own frame"
EXCEPTIONS = {
    "core/wait/await.c: step": "a step of a file in core/sync/",
    "core/wait/await.c: insists": "a function of core/file/",
    "core/select/select.c: step": "likewise, or in core/channel/ or core/io/",
    "core/select/select.c: pass_on": "likewise",
    "core/select/select.c: arm": "a function of select_join.c or select_group.c",
    "core/select/select.c: look": "likewise",
    "core/select/select.c: withdraw": "likewise",
    "core/select/case_kind.h: fits": "a function of case_kind.h",
    "core/select/case_kind.h: attempt": "likewise",
    "core/select/case_kind.h: amount": "likewise",
    "core/select/case_kind.h: begin": "likewise",
    "core/channel/channel.c: look": "ring_look_send() or ring_look_receive()",
    "core/io/call.c: operation": "a system call, by bytes.c, connection.c or ready.c",
    "core/runtime/drive.c: reached": "a function of drive.c",
    "core/parallel/parallel_loop.c: drop": _OPERATION,
    "core/parallel/parallel_loop.c: init": _OPERATION,
    "core/parallel/parallel_loop.c: join": _OPERATION,
    "core/parallel/parallel_loop.c: step": _OPERATION,
    "core/fiber/stacks.c: act": "cancel() of fiber_cancel.c",
    "core/fiber/overflow.c: sa_sigaction": "another handler of the signal, as the kernel calls it",
    "core/fiber/overflow.c: sa_handler": "likewise",
    "core/idle/parker.h: wake": "signal_event() of drive.c; interrupt() of driver.c; wake() of pollers.c, which is marked",
    "core/driver/driver.c: summon": "summon() of pool_init.c",
    "core/loop/reap.c: deliver": "a function of the library that makes tasks runnable",
    "core/loop/reap.c: cpu_of": "a function of the library that asks the kernel",
    "core/loop/pool.c: on_drained": "signal_event() of drive.c",
    "core/loop/loop.c: recheck_affinity": "recheck_affinity() of affinity.c",
    "core/loop/loop.c: submit": "submit() of runtime.c",
    "core/loop/sentinel.c: submit": "submit() of runtime.c",
}

_MEMBER = re.compile(r"(?:->|\.)\s*(?P<name>\w+)\s*\(")
_ELEMENT = re.compile(r"(?P<name>\w+)\s*\[[^][]*\]\s*\(")
_GROUP = re.compile(r"\)\s*\(")
_POINTER = re.compile(r"\(\s*\*\s*(?:const\s+)?(\w+)\s*(?:\[[^]]*\]\s*)?\)\s*\(")
_TYPEDEF = re.compile(r"\btypedef\b[^;{]*?\(\s*\*\s*(\w+)\s*\)\s*\(")
_UNSPELT = r"\b__auto_type\s+(?:const\s+)?(\w+)|\btypeof\s*\([^;]*?\)\s*(\w+)\s*="
_DEFINITION = re.compile(r"^(?P<head>\w[^;{}]*\))\s*^\{(?P<body>.*?)^\}", re.M | re.S)
_TYPE = re.compile(
    r"(?:\w+\s+)*(?:\w+[\s*]*\*|\w+_t|int|unsigned|long|char|bool|void|float|double)\s*"
)
_NO_CALL = re.compile(r"#\s*define \w+$|\b(?:if|for|while|switch|sizeof|alignof|typeof|__\w+)\s*$")
_STEP_ON = re.compile(r"[{}]|\breturn\b|\bgoto\b|\bBOUNDARY\(")


def _opening(text, end):
    """Return the offset of the parenthesis that matches the one that ends before end."""
    depth = 0
    for at in range(end - 1, -1, -1):
        depth += {")": 1, "(": -1}.get(text[at], 0)
        if depth == 0:
            return at
    return 0


def _groups(text, typedefs):
    """Find calls of an expression in parentheses, which is no cast, condition or declaration."""
    for match in _GROUP.finditer(text):
        begin = _opening(text, match.start() + 1)
        inside = text[begin + 1 : match.start()].strip()
        before = text[:begin].rstrip()
        word = re.search(r"(\w+)$", before)
        of_type = before.endswith("*") or (word and word[1] not in ("return", "else"))
        if inside.startswith("*") and of_type:
            continue
        if _NO_CALL.search(before) or _TYPE.fullmatch(inside) or inside in typedefs:
            continue
        yield begin, re.findall(r"\w+", inside)[-1]


def _variables(text, typedefs):
    names = set(_POINTER.findall(text))
    names.update(name for pair in re.findall(_UNSPELT, text) for name in pair if name)
    for name in typedefs:
        names.update(re.findall(rf"\b{name}\s+(?:const\s+)?(\w+)\s*[=;,)\[]", text))
    return names


def _calls(text, typedefs):
    """Return (offset, name) of each call through a pointer. The text has no comments."""
    found = {(match.start(), match["name"]) for match in _MEMBER.finditer(text)}
    found.update((match.start(), match["name"]) for match in _ELEMENT.finditer(text))
    found.update(_groups(text, typedefs))
    shared = set(re.findall(r"^[\w *]+\(\s*\*\s*(\w+)(?:\[\w*\])?\s*\)\(", text, re.M))
    for function in _DEFINITION.finditer(text):
        for name in _variables(function.group(), typedefs) | shared:
            for match in re.finditer(rf"(?<![\w.>*]){name}\s*\(", function["body"]):
                found.add((function.start("body") + match.start(), name))
    return sorted(found)


def _marked(text, call):
    """Return whether BOUNDARY() follows the call on each path."""
    begin = max(text.rfind(mark, 0, call) for mark in ";{}")
    depth = lowest = 0
    if re.search(r"\breturn\b", text[begin + 1 : call + 1]):
        return False
    for step in _STEP_ON.finditer(text, call, text.find("\n}", call)):
        what = step.group()
        if what in "{}":
            depth += 1 if what == "{" else -1
            lowest = min(lowest, depth)
        elif what != "BOUNDARY(":
            return False
        elif depth == lowest:
            return True
    return False


def _check_file(path, text, typedefs, exceptions, used):
    def line(at):
        return f"{path}:{text.count(chr(10), 0, at) + 1}"

    calls = _calls(text, typedefs)
    for at, name in calls:
        if f"{path}: {name}" in exceptions:
            used.add(f"{path}: {name}")
        elif not _marked(text, at):
            yield f"{line(at)}: no BOUNDARY() follows the call of {name}"
    for function in _DEFINITION.finditer(text):
        mark = text.find("BOUNDARY(", function.start(), function.end())
        inside = any(function.start() < at < function.end() for at, _ in calls)
        if mark >= 0 and not inside:
            yield f"{line(mark)}: BOUNDARY() without a call through a pointer"


def check(root, exceptions=None):
    exceptions = EXCEPTIONS if exceptions is None else exceptions
    files = [path for path in tree.sources(root) if path.split("/")[0] in ("core", "include")]
    texts = {path: tree.strip((root / path).read_text()) for path in files}
    typedefs = {name for text in texts.values() for name in _TYPEDEF.findall(text)}
    used = set()
    complaints = [
        complaint
        for path in files
        if path.startswith("core/")
        for complaint in _check_file(path, texts[path], typedefs, exceptions, used)
    ]
    stale = sorted(set(exceptions) - used)
    return complaints + [f"{name}: an exception for a call that is nowhere" for name in stale]


def _of(body, *, head="void f(struct a *a)", before=""):
    return {"core/a.c": f"{before}{head}\n{{\n{body}\n}}\n"}


CASES = [
    (_of("\ta->f(a);\n\tBOUNDARY(x);"), None),
    (_of("\t/* a->f(a) */\n\tg(a, sizeof(*a), (char *)(a + 1), (uint64_t)(1));"), None),
    (_of("\ta->f(a);"), "core/a.c:3: no BOUNDARY() follows the call of f"),
    (_of("\ta.b->f(a);"), "call of f"),
    (_of("\tBOUNDARY(x);\n\ta->f(a);"), "core/a.c:4: no BOUNDARY()"),
    (_of("\ta->f(a);\n\tBOUNDARY(x);\n\tx = a->g(a);"), "call of g"),
    (_of("\treturn a->f(a);\n\tBOUNDARY(x);"), "call of f"),
    (_of("\tif (a->f)\n\t\ta->f(a);\n\telse\n\t\tg();\n\tBOUNDARY(x);"), None),
    (_of("\tif (b) {\n\t\ta->f(a);\n\t\tBOUNDARY(x);\n\t}"), None),
    (_of("\twhile (b) {\n\t\tif (a->f(a))\n\t\t\tbreak;\n\t}\n\tBOUNDARY(x);"), None),
    (_of("\ta->f(a);\n\tif (b) {\n\t\tBOUNDARY(x);\n\t}"), "call of f"),
    (_of("\tif (b) {\n\t\ta->f(a);\n\t} else {\n\t\tBOUNDARY(x);\n\t}"), "call of f"),
    (_of("\tif (a->f(a))\n\t\treturn;\n\tBOUNDARY(x);"), "call of f"),
    (_of("\tif (a->f(a))\n\t\tgoto end;\n\tBOUNDARY(x);"), "call of f"),
    (_of("\ta->f(a);\n}\n\nvoid g(void)\n{\n\ta->h(a);\n\tBOUNDARY(x);"), "call of f"),
    (_of("\t(*f)(1);", head="void g(void (*f)(int))"), "call of f"),
    (_of("\treturn (*f)(1);", head="int g(int (*f)(int))"), "call of f"),
    (_of("\tf(1);", head="void g(void (*f)(int))"), "core/a.c:3: no BOUNDARY()"),
    (_of("\tf(1);\n\tBOUNDARY(x);", head="void g(void (*f)(int))"), None),
    (_of("\th(f);", head="void g(void (*f)(int))"), None),
    (_of("\tint (*f)(int) = b;\n\tf(1);"), "call of f"),
    (_of("\tf(1);", before="struct s {\n\tvoid (*f)(int);\n};\n"), None),
    (_of("\tf(1);", before="static void (*f)(int);\n"), "call of f"),
    (_of("\ttable[i](1);"), "call of table"),
    (_of("\ta->table[i](1);"), "call of table"),
    (_of("\t(b ? a->f : a->g)(1);"), "call of g"),
    (_of("\tif (b)\n\t\t(a->f)(1);"), "call of f"),
    (_of("\t__auto_type f = a->f;\n\tf(1);"), "call of f"),
    (_of("\ttypeof(a->f) f = a->f;\n\tf(1);"), "call of f"),
    (
        {
            "include/skua/a.h": "typedef void (*a_fn)(int);\n",
            **_of("\ta_fn f = a->f;\n\tf(1);"),
        },
        "core/a.c:4: no BOUNDARY() follows the call of f",
    ),
    (
        {
            "include/skua/a.h": "typedef void (*a_fn)(int);\n",
            **_of("\tg((a_fn)(b));"),
        },
        None,
    ),
    ({"core/a.h": "#define CALL(a) (a)->f(a)\n"}, "core/a.h:1: no BOUNDARY()"),
    (_of("\tf(1);\n\tBOUNDARY(x);"), "core/a.c:4: BOUNDARY() without a call"),
    (_of("\ta->known(a);"), None),
    (_of("\ta->known(a);\n\ta->f(a);"), "core/a.c:4: no BOUNDARY()"),
    ({"core/b.c": "", "bench/a.c": "void f(void)\n{\n\ta->f(a);\n}\n"}, None),
]


def _check_planted(root):
    """Check files in which an exception applies to one call; it is stale without the call."""
    text = "".join((root / path).read_text() for path in tree.sources(root))
    return check(root, {"core/a.c: known": "a test"} if "known" in text else {})


CASES += [
    ({"core/b.c": "void f(void)\n{\n\tknown(1);\n}\n"}, "core/a.c: known: an exception"),
]

if __name__ == "__main__":
    tree.main(check, _check_planted, CASES)
