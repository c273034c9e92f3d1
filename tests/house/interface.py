#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: MIT
"""interface.py - check that each public function documents its threads and costs

The comment before each SKUA_API declaration and each inline function has "Threads:",
"Blocks:" and "Allocates:". Alternatively it has none of these, but "As name()" at the
beginning of a line or a sentence, where name() has all of them. skua_sizeof() must know
each struct of the headers.
"""

import re

import tree

TERMS = ("Threads:", "Blocks:", "Allocates:")

_FUNCTION = re.compile(
    r"(?P<comment>/\*(?:(?!\*/).)*\*/)?\s*"
    r"^(?:SKUA_API|static inline)\b[^;]*?\b(?!__attribute__)(?P<name>\w+)\(",
    re.DOTALL | re.MULTILINE,
)
_LIKE = re.compile(r"^ ?/?\*+ (?:[^\n]*\. )?As (\w+)\(\)", re.MULTILINE)


# Structs that no program allocates, because only inline functions or callbacks use them.
_UNSIZED = ("skua_forks",)
_STRUCT = re.compile(r"^struct (skua_\w+) \{", re.MULTILINE)


def check_sizes(root):
    """Return the structs of the headers that skua_sizeof() does not know."""
    source = root / "core/api/version_api.c"
    if not source.exists():
        return []
    known = source.read_text()
    return [
        f"include/{path}: skua_sizeof() does not know struct {name}"
        for path in tree.sources(root / "include", (".h",))
        for name in _STRUCT.findall((root / "include" / path).read_text())
        if f"SIZE({name})" not in known
        and name not in _UNSIZED
        and not name.startswith("skua_sorter_")
    ]


def check(root):
    return check_functions(root) + check_sizes(root)


def check_functions(root):
    missing, like, line = {}, {}, {}
    for path in tree.sources(root / "include", (".h",)):
        text = (root / "include" / path).read_text()
        for match in _FUNCTION.finditer(text):
            name, comment = match["name"], match["comment"] or ""
            missing[name] = [term for term in TERMS if term not in comment]
            like[name] = _LIKE.findall(comment)
            number = text.count("\n", 0, match.start("name")) + 1
            line[name] = f"include/{path}:{number}"
    return [
        f"{line[name]}: {name}() does not say {' '.join(terms)}"
        for name, terms in missing.items()
        if terms
        and not (
            len(terms) == len(TERMS)
            and any(missing.get(other) == [] for other in like[name])
        )
    ]


def _header(*functions):
    return {"include/skua/a.h": "\n".join(functions)}


_WHOLE = "/* Threads: any. Blocks: never.\n * Allocates: nothing. */\nSKUA_API int f(void);\n"

CASES = [
    (_header(_WHOLE), None),
    (_header(_WHOLE, "/* As f(). */\nSKUA_API\nvoid g(int);\n"), None),
    (
        _header(_WHOLE, "static inline __attribute__((unused)) void\ng(int) {}\n"),
        "a.h:6: g() does not say",
    ),
    (_header(_WHOLE, "SKUA_API void g(int);\n"), "a.h:5: g() does not say Threads:"),
    (_header(_WHOLE, "/* As g(). */\nSKUA_API int g(int);\n"), "g() does not say Threads:"),
    (
        _header(_WHOLE, "/* As f(). Threads: any. */\nSKUA_API int g(int);\n"),
        "g() does not say Blocks:",
    ),
    (
        _header(_WHOLE.replace("Blocks: never.", "")),
        "a.h:3: f() does not say Blocks:",
    ),
    (_header("#define SKUA_API\nint f(void);\n"), None),
    (
        {
            "core/api/version_api.c": "SIZE(skua_a),\n",
            **_header("struct skua_a {\n", "struct skua_b {\n"),
        },
        "skua_sizeof() does not know struct skua_b",
    ),
    (_header("static inline int f(void)\n{\n}\n"), "f() does not say Threads:"),
    (
        _header(
            _WHOLE.replace("SKUA_API", "static inline").replace(";", "\n{\n}"),
            "/* As f(). */\nSKUA_API int g(int);\n",
        ),
        None,
    ),
]

if __name__ == "__main__":
    tree.main(check, check, CASES)
