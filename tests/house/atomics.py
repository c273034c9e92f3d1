#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: MIT
"""atomics.py - check that each atomic operation has its memory order in its name

Only core/base/atomic.h includes <stdatomic.h>, and the explorer of the model tests, which
replaces the definitions of atomic.h. No other file calls a C11 operation by its own name,
with or without an explicit order. Exceptions are model tests, which plant wrong orders,
and stress/chaos.h, which adds a pause before each operation. Compiler builtins are
allowed only in files that must not include core/ (inline functions of the public
headers, probes/ and bench/), and in tests/.
"""

import re

import tree

# Files that may include <stdatomic.h>, name an order, and use __atomic builtins.
INCLUDERS = re.compile(r"core/base/atomic\.h$|tests/model/explore\w*\.[ch]$")
NAMERS = re.compile(r"core/base/atomic\.h$|tests/model/|tests/stress/chaos\.h$")
OUTSIDE = re.compile(r"(?!core/)")

OPERATION = (
    r"\batomic_(?:load|store|exchange|compare_exchange_(?:strong|weak)"
    r"|fetch_(?:add|sub|or|and|xor)|flag_test_and_set|flag_clear)"
    r"(?:_explicit)?\s*\("
)

# An expression, the reason against it, and the files that may have it.
RULES = [
    (r"<stdatomic\.h>", "only core/base/atomic.h includes <stdatomic.h>", INCLUDERS),
    (OPERATION, "use the operations of core/base/atomic.h", NAMERS),
    (r"\batomic_(?:thread|signal)_fence\b", "use atomic_fence_seq_cst()", NAMERS),
    (r"\bmemory_order_\w+", "the order belongs in the operation's name", NAMERS),
    (r"\b__sync_\w+", "__sync builtins have an implicit order", None),
    (r"\b__atomic_\w+", "use the operations of core/base/atomic.h", OUTSIDE),
]


def check(root):
    complaints = []
    for path in tree.sources(root):
        text = tree.strip((root / path).read_text())
        for pattern, why, exempt in RULES:
            if exempt and exempt.match(path):
                continue
            for match in re.finditer(pattern, text):
                line = text.count("\n", 0, match.start()) + 1
                what = match.group().rstrip("( ")
                complaints.append(f"{path}:{line}: {what}: {why}")
    return complaints


CASES = [
    (
        {
            "core/base/atomic.h": "#include <stdatomic.h>\n",
            "core/a.c": "/* atomic_load(p) */ atomic_load_acquire(p);\n",
            "bench/a.c": "__atomic_load_n(p, __ATOMIC_RELAXED);\n",
            "tests/model/explore.h": "#define atomic_load_explicit(p) x\n",
            "tests/model/model_a.c": "atomic_exchange_explicit(p, 1, o);\n",
            "tests/stress/chaos.h": "#define atomic_load_explicit(p, o) x\n",
            "tests/a.c": 'puts("atomic_load(p)");\n',
        },
        None,
    ),
    ({"core/a.c": "#include <stdatomic.h>\n"}, "core/a.c:1: <stdatomic.h>"),
    ({"tests/unit/a.c": "\n x = atomic_load (p);\n"}, "a.c:2: atomic_load: use"),
    ({"tests/model/model_a.c": "#include <stdatomic.h>\n"}, "<stdatomic.h>"),
    ({"core/a.h": "atomic_fetch_add_explicit(p, 1, o);\n"}, "a.h:1: atomic_fetch"),
    ({"bench/a.c": "atomic_thread_fence(o);\n"}, "use atomic_fence_seq_cst()"),
    ({"core/a.c": "f(memory_order_relaxed);\n"}, "belongs in the operation's name"),
    ({"core/a.c": "__atomic_store_n(p, 1, o);\n"}, "a.c:1: __atomic_store_n"),
    ({"bench/a.c": "__sync_synchronize();\n"}, "implicit order"),
]

tree.main(check, check, CASES)
