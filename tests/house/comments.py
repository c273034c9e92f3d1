#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: MIT
"""comments.py - check that each function that a comment or a page names exists

If a comment or a page in core/, include/, probes/ or topology/ contains name(), then name
must be a function or a macro of the tree, or be listed in OUTSIDE.
"""

import re

import tree

FOLDERS = ("core", "include", "probes", "topology")

OUTSIDE = set(
    "aligned_alloc backtrace_symbols fork free gettid longjmp process_vm_readv pthread_exit".split()
)

_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_CALL = re.compile(r"(?<![\w_])([A-Za-z]\w*)\(\)")
_NAME = re.compile(r"\b([A-Za-z_]\w*)\(")


def _prose(path, text):
    """Return the text with everything except comments blanked; a page is returned whole."""
    if path.endswith(".md"):
        return text
    blank = list(re.sub(r"[^\n]", " ", text))
    for match in _COMMENT.finditer(text):
        blank[match.start() : match.end()] = match.group()
    return "".join(blank)


def check(root):
    files = tree.sources(root, (".c", ".h", ".md"))
    texts = {path: (root / path).read_text() for path in files}
    known = set(OUTSIDE)
    for path, text in texts.items():
        if not path.endswith(".md"):
            known.update(_NAME.findall(tree.strip(text)))
    return [
        f"{path}:{number}: {name}() is nowhere in the tree"
        for path, text in texts.items()
        if path.split("/")[0] in FOLDERS
        for number, line in enumerate(_prose(path, text).splitlines(), 1)
        for name in _CALL.findall(line)
        if name not in known
    ]


CASES = [
    ({"core/a.c": "/* See f(). */\nint f(void);\n"}, None),
    ({"core/a.c": "/* See g(). */\nint f(void);\n"}, "core/a.c:1: g()"),
    ({"core/a.c": "int f(void);\nint g = f(); // h()\n"}, None),
    ({"core/A.md": "First f(),\nthen g().\n", "core/a.c": "void f(void);"}, "A.md:2: g()"),
    ({"bench/a.c": "/* See g(). */\n"}, None),
]

if __name__ == "__main__":
    tree.main(check, check, CASES)
