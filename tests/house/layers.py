#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: MIT
"""layers.py - every include points downward

Folders: FOLDERS says what the files of a folder may include of the tree, and
SIMULATED what those of the simulator may as well.
Libraries: LIBRARIES says which folders may use which; include/ needs the
headers in PUBLIC alone, and the layers 0 and 1 of core/ those in PURE, so that
they have no system calls and no threads; EXEMPT names what else a file may.
Inside bpf/: ROOMS says which rooms a room may include; what is in none is for all.
Inside core/: CORE says which file is in which layer; a file may include its
own layer and lower ones. Every file of core/ must be in the table, and every
name in the table must have a file.
"""

import os.path
import re
from pathlib import PurePosixPath

import tree

# Layer of each file of core/, without its suffix.
CORE = {
    0: "atomic boundary clock memory rng",
    1: (
        "deque inject_queue jobs lifo_slot local_queue spin task_state tick "
        "timer_wheel work_map"
    ),
    2: (
        "address arena boundary_report fork futex group group_slots idle job_slots log parker "
        "peek realtime signals slab "
        "task usage victims watch_rest watch_stack"
    ),
    3: (
        "crew forks pollers pool schedule sentinel stamps tell timers track "
        "work worker"
    ),
    4: (
        "affinity arenas call_api config config_env config_place deque_api drive "
        "fork_api group_api left members parallel_collect parallel_find parallel_for "
        "parallel_loop parallel_partition parallel_reduce parallel_scan "
        "parallel_sort parallel_sort_items parallel_sort_key plan_api publish queue_api record_api "
        "runtime stats times task_api timer_api version_api watch watch_report"
    ),
}

# Folders, or single headers, that a folder's files may include.
FOLDERS = {
    "include": ["include"],
    "topology": ["topology", "include"],
    "probes": ["probes", "include"],
    "core": [
        "core",
        "include",
        "topology/cpu_list.h",
        "topology/error.h",
        "topology/llc_groups.h",
        "topology/machine.h",
        "topology/machine_measure.h",
        "topology/node_memory.h",
        "topology/placement.h",
        "topology/quota.h",
        "probes/area.h",
        "probes/counters.h",
        "probes/events.h",
        "probes/histogram.h",
        "probes/probes.h",
        "probes/recorder.h",
        "probes/root.h",
    ],
    "bpf": [
        "bpf",
        "include",
        "probes/area.h",
        "probes/counters.h",
        "probes/events.h",
        "probes/histogram.h",
        "probes/perf_group.h",
        "probes/perf_list.h",
        "probes/trace_file.h",
    ],
    # The last ones look at this process as at any other: who stole from whom.
    "bench": [
        "bench",
        "include",
        "probes/perf_group.h",
        "bpf/cli/args.h",
        "bpf/cli/outfile.h",
        "bpf/recording/rings.h",
        "bpf/target/target.h",
        "bpf/recording/trace_file.h",
    ],
    "tests": ["tests", "core", "include", "topology", "probes", "bpf", "bench"],
}

# Of bpf/: what a room may include beside itself. Skeletons are programs/'s.
ROOMS = {
    "cli": "",
    "programs": "",
    "target": "cli",
    "stats": "cli target",
    "tasks": "cli target",
    "topo": "cli",
    "perf": "cli target stats",
    "metrics": "cli target stats",
    "doctor": "cli programs target",
    "trace": "cli programs target stats",
    "recording": "cli programs target stats",
    "why": "cli programs target recording flame",
    "flame": "cli programs target",
}

# A micro-benchmark of one primitive may include the primitive.
MICRO = re.compile(r"bench/micro_\w+\.c$")

# The simulator runs the code that chooses victims and whom to wake.
SIMULATOR = "bench/simulator/"
SIMULATED = (
    "core/atomic.h core/clock.h core/idle.h core/rng.h core/spin.h "
    "core/victims.h core/work_map.h topology/llc_groups.h topology/machine.h"
).split()

# Headers of other projects (beginnings of their names) and who may use them.
LIBRARIES = {
    "bpf/": ["bpf"],
    "cmocka": ["tests"],
    "dwarf": ["bpf"],
    "elfutils/": ["bpf"],
    "gelf": ["bpf"],
    "hwloc": ["tests"],
    "jansson": ["bench", "bpf", "tests"],
    "libelf": ["bpf"],
    "microhttpd": ["bpf"],
    "nettle/": ["bench", "tests"],
    "numa": ["topology"],
    "perfmon/": ["probes"],
    "uv.h": ["bench"],
}

PUBLIC = "stdbool.h stddef.h stdint.h".split()
PURE = (
    "assert.h errno.h limits.h stdalign.h stdatomic.h stdbool.h stddef.h "
    "stdint.h string.h"
).split()

# Of the layers 0 and 1: the clock is one call to the vDSO, memory is libc's.
EXEMPT = {"core/clock.h": "time.h", "core/memory.h": "stdlib.h"}

INCLUDE = re.compile(r'^\s*#\s*include\s+([<"])([^>"]+)[>"]', re.MULTILINE)


def core_layer(path, table):
    stem = PurePosixPath(path).stem
    for layer, names in table.items():
        if stem in names.split():
            return layer
    return None


def resolve(root, path, name):
    """The file of the tree that an include means, or None."""
    for start in ("", "include", PurePosixPath(path).parent):
        candidate = os.path.normpath(PurePosixPath(start) / name)
        if (root / candidate).is_file():
            return candidate
    return None


def room(path):
    """Of a file of bpf/, or None."""
    parts = path.split("/")
    return parts[1] if parts[0] == "bpf" and len(parts) > 2 else None


def judge_tree(path, target, table):
    """What is wrong with one file of the tree including another, or None."""
    folder, other = path.split("/")[0], target.split("/")[0]
    if folder == "core" and other == "core":
        mine, theirs = core_layer(path, table), core_layer(target, table)
        if None not in (mine, theirs) and theirs > mine:
            return f"layer {mine} includes layer {theirs}"
        return None
    mine, theirs = room(path), room(target)
    if mine and theirs and theirs not in (mine, *ROOMS.get(mine, "").split()):
        return f"bpf/{mine}/ may not include bpf/{theirs}/"
    if MICRO.match(path) and other == "core":
        if (core_layer(target, table) or 0) > 1:
            return "a micro-benchmark may include layers 0 and 1 only"
        return None
    if path.startswith(SIMULATOR) and target in SIMULATED:
        return None
    allowed = FOLDERS.get(folder)
    if allowed is None:
        return f"no rule for the folder {folder}/"
    if other not in allowed and target not in allowed:
        return f"{folder}/ may include only: {', '.join(allowed)}"
    return None


def judge_system(path, name, table):
    """What is wrong with a file including a header of the system, or None."""
    folder = path.split("/")[0]
    if folder == "include" and name not in PUBLIC:
        return f"public headers need only: {', '.join(PUBLIC)}"
    pure = folder == "core" and core_layer(path, table) in (0, 1)
    if pure and name not in PURE and EXEMPT.get(path) != name:
        return "layers 0 and 1 have no system calls and no threads"
    for prefix, folders in LIBRARIES.items():
        if name.startswith(prefix) and folder not in folders:
            return f"used in {', '.join(folders)} only"
    return None


def find_cycle(graph):
    """A list of files that include each other in a circle, or None."""
    done = set()

    def visit(path, trail):
        if path in trail:
            return trail[trail.index(path) :] + [path]
        if path in done:
            return None
        for target in graph.get(path, []):
            cycle = visit(target, trail + [path])
            if cycle:
                return cycle
        done.add(path)
        return None

    for path in graph:
        cycle = visit(path, [])
        if cycle:
            return cycle
    return None


def is_skeleton(root, path, name):
    """Of a BPF program, made of it by the build."""
    program = name.removesuffix(".skel.h")
    return (
        "programs" in (room(path), *ROOMS.get(room(path), "").split())
        and program != name
        and (root / f"bpf/programs/{program}.bpf.c").exists()
    )


def check(root, table=None):
    table = table or CORE
    complaints, graph = [], {}
    for path in tree.sources(root):
        text = tree.strip((root / path).read_text(), strings=False)
        graph[path] = []
        if path.startswith("core/") and core_layer(path, table) is None:
            complaints.append(f"{path}: not in the table of tests/house/layers.py")
        for match in INCLUDE.finditer(text):
            quote, name = match.groups()
            target = resolve(root, path, name)
            if target:
                graph[path].append(target)
                fault = judge_tree(path, target, table)
            elif is_skeleton(root, path, name):
                fault = None
            elif quote == '"':
                fault = "no such file in the tree"
            else:
                fault = judge_system(path, name, table)
            if fault:
                line = text.count("\n", 0, match.start(2)) + 1
                complaints.append(f"{path}:{line}: includes {name}: {fault}")
    for name in " ".join(table.values()).split():
        if not any(f"core/{name}{end}" in graph for end in (".c", ".h")):
            complaints.append(f"core/{name}: in the table, but there is no such file")
    for name in {room(path) for path in graph} - {None, *ROOMS}:
        complaints.append(f"bpf/{name}/: not in the rooms of tests/house/layers.py")
    cycle = find_cycle(graph)
    if cycle:
        complaints.append("circle: " + " -> ".join(cycle))
    return complaints


def check_planted(root):
    return check(root, {0: "zero", 1: "one", 2: "two"})


GOOD = {
    "core/zero.h": "#include <stdint.h>\n",
    "core/one.c": '#include "core/one.h"\n/* #include "core/two.h" */\n',
    "core/one.h": '#include "core/zero.h"\n#include <skua/a.h>\n',
    "core/two.c": '#include <pthread.h>\n#include "one.h"\n',
    "include/skua/a.h": "#include <stddef.h>\n#include <skua/b.h>\n",
    "include/skua/b.h": "",
    "probes/perf_group.h": "#include <perfmon/pfmlib.h>\n",
    "bpf/a.h": '#include "bpf/stats/a.h"\n',
    "bpf/programs/find.bpf.c": "",
    "bpf/stats/a.h": "",
    "bpf/stats/a.c": '#include "a.h"\n',
    "bpf/trace/a.h": '#include "bpf/stats/a.h"\n#include "find.skel.h"\n',
    "bench/main.c": '#include "skua/a.h"\n#include "probes/perf_group.h"\n',
    "bench/micro_one.c": '#include "core/one.h"\n',
    "tests/unit/test_one.c": '#include "core/one.h"\n#include <cmocka.h>\n',
    "build-x/generated.c": '#include "nowhere.h"\n',
}

CASES = [
    (GOOD, None),
    *(
        ({**GOOD, path: text}, complaint)
        for path, text, complaint in [
            ("core/one.c", '#include "core/two.c"\n', "layer 1 includes layer 2"),
            ("core/zero.c", ' # include "one.c"\n', "layer 0 includes layer 1"),
            ("core/one.c", "#include <pthread.h>\n", "core/one.c:1: includes pthread"),
            ("core/three.c", "", "not in the table"),
            ("core/two.c", "\n#include <numa.h>\n", "core/two.c:2: includes numa.h"),
            ("core/two.c", '#include "bench/main.c"\n', "core/ may include only"),
            ("core/two.c", '#include "typo.h"\n', "no such file"),
            ("include/skua/b.h", "#include <pthread.h>\n", "public headers need"),
            ("include/skua/b.h", '#include "core/zero.h"\n', "include/ may include"),
            ("include/skua/b.h", '#include "a.h"\n', "circle: include/skua/a.h"),
            ("topology/a.c", '#include "core/zero.h"\n', "topology/ may include"),
            ("probes/a.c", '#include "../core/zero.h"\n', "probes/ may include"),
            ("bpf/a.c", '#include "core/zero.h"\n', "bpf/ may include"),
            ("bpf/trace/a.c", '#include "none.skel.h"\n', "no such file"),
            ("bpf/topo/a.c", '#include "find.skel.h"\n', "no such file"),
            ("bpf/target/a.c", '#include "bpf/stats/a.h"\n', "may not include bpf/stats"),
            ("bpf/other/a.c", "", "bpf/other/: not in the rooms"),
            ("bench/main.c", '#include "core/zero.h"\n', "bench/ may include"),
            ("bench/micro_one.c", '#include "core/two.c"\n', "layers 0 and 1"),
            ("bench/simulator/a.c", '#include "core/zero.h"\n', "bench/ may include"),
            ("bench/main.c", '#include "probes/other.h"\n', "no such file"),
            ("elsewhere/a.c", '#include "core/zero.h"\n', "no rule for the folder"),
        ]
    ),
    ({k: v for k, v in GOOD.items() if k != "core/two.c"}, "there is no such file"),
]

tree.main(check, check_planted, CASES)
