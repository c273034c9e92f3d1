#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: MIT
"""layers.py - check that each include points downward

Folders: FOLDERS lists the parts of the tree that the files of a folder may include, and
SIMULATED lists additional ones for the simulator.
Libraries: LIBRARIES lists the folders that may use each library. include/ may include only
the system headers in PUBLIC. The rooms of data structures in core/ may include only those
in PURE, so that they have no system calls and no threads; EXEMPT lists exceptions.
Inside bpf/: ROOMS lists the rooms that a room may include. All may include files that are
in no room.
Inside core/: CORE lists the rooms in order. A file may include its own room and those
before it.
Inside bench/: BENCH lists the rooms in order, in the same way. A folder within a room
belongs to it, unless BENCH names the folder. Files outside the rooms are above all rooms.
No two folders may include each other, directly or through others.
"""

import os.path
import re
from pathlib import PurePosixPath

import tree

# The rooms of core/, each of which may include itself and those before it. PURE_ROOMS
# have no system calls and no threads.
CORE = "base parallel queue os task idle telemetry fork_join config driver loop fiber wait sync channel blocking io file stall runtime select api".split()
PURE_ROOMS = ("base", "queue")
PURE_FILES = ("core/task/task_state.h",)
# This room uses the public headers, as a program does. From base/ it uses only wrappers of
# C and libc, and the mark at calls of the program's code.
LIKE_PROGRAM = "core/parallel/"
LIKE_PROGRAM_USES = (
    "core/base/atomic.h core/base/boundary.h core/base/clock.h core/base/memory.h"
).split()
# The rooms of bench/. Its examples are independent programs.
BENCH = (
    "kernels harness clients workloads workloads/tasks workloads/fork_join workloads/io "
    "report/diff report peers simulator "
    "kv/resp kv/store kv/log kv/server kv/commands kv load mpi ports examples"
).split()
# The greatest number of files in a room.
ROOM_FILES = 20

# For each folder, the folders or single headers that its files may include.
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
        "topology/machine_cache.h",
        "topology/machine_measure.h",
        "topology/node_memory.h",
        "topology/placement.h",
        "topology/quota.h",
        "probes/area.h",
        "probes/counter_list.h",
        "probes/counters.h",
        "probes/environment.h",
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
        "probes/counter_list.h",
        "probes/counters.h",
        "probes/environment.h",
        "probes/events.h",
        "probes/histogram.h",
        "probes/perf_group.h",
        "probes/perf_list.h",
        "probes/trace_file.h",
    ],
    # The last ones are for bench/report/steals.c, which reads the events of this process.
    "bench": [
        "bench",
        "include",
        "probes/counter_list.h",
        "probes/perf_group.h",
        "bpf/cli/args.h",
        "bpf/cli/outfile.h",
        "bpf/recording/rings.h",
        "bpf/target/target.h",
        "bpf/recording/trace_file.h",
    ],
    "tests": ["tests", "core", "include", "topology", "probes", "bpf", "bench"],
}

# For each room of bpf/, the rooms that it may include. Skeletons belong to programs/.
ROOMS = {
    "cli": "",
    "programs": "",
    "target": "cli",
    "stats": "cli target",
    "tasks": "cli target waits",
    "topo": "cli",
    "perf": "cli target stats",
    "metrics": "cli target stats",
    "doctor": "cli programs target",
    "trace": "cli programs target stats",
    "recording": "cli programs target stats",
    "why": "cli programs target recording flame",
    "flame": "cli programs target",
    "waits": "cli target flame",
}

# A micro-benchmark of one primitive may include the primitive.
MICRO = re.compile(r"bench/([\w/]+/)?micro_\w+\.c$")

# The simulator runs the code that chooses victims and workers to wake.
SIMULATOR = "bench/simulator/"
SIMULATED = (
    "core/base/atomic.h core/base/clock.h core/idle/idle.h core/base/rng.h core/base/spin.h "
    "core/base/tuning.h "
    "core/idle/victims.h core/queue/inject_group.h core/queue/work_map.h "
    "topology/llc_groups.h topology/machine.h"
).split()

# Headers of other projects (beginnings of their names) and the files that may use them.
LIBRARIES = {
    "bpf/": ["bpf"],
    "cmocka": ["tests"],
    "dwarf": ["bpf"],
    "elfutils/": ["bpf"],
    "gelf": ["bpf"],
    "hwloc": ["tests"],
    "jansson": ["bench", "bpf", "tests"],
    "libelf": ["bpf"],
    "liburing": ["core"],
    "microhttpd": ["bpf"],
    "nettle/": ["bench", "tests"],
    "numa": ["topology", "tests"],
    "perfmon/": ["probes"],
    "uv.h": ["bench"],
    "zstd_": ["bench"],
}

PUBLIC = "stdbool.h stddef.h stdint.h sys/types.h".split()
PURE = (
    "assert.h errno.h limits.h stdalign.h stdatomic.h stdbool.h stddef.h "
    "stdint.h string.h"
).split()

# Exceptions among pure files: the clock is a vDSO call, and memory comes from libc.
EXEMPT = {"core/base/clock.h": "time.h", "core/base/memory.h": "stdlib.h"}

INCLUDE = re.compile(r'^\s*#\s*include\s+([<"])([^>"]+)[>"]', re.MULTILINE)


def core_room(path, rooms):
    """Return the number of a file's room in core/, or None."""
    parts = path.split("/")
    if parts[0] != "core" or len(parts) != 3 or parts[1] not in rooms:
        return None
    return rooms.index(parts[1])


def bench_room(path, rooms):
    """Return the number of a file's room in bench/. A file outside the rooms has the number
    after the last; a file outside bench/ has None."""
    folder = os.path.dirname(path).split("/")
    if folder[0] != "bench":
        return None
    for depth in range(len(folder), 1, -1):
        name = "/".join(folder[1:depth])
        if name in rooms:
            return rooms.index(name)
    return len(rooms) if len(folder) == 1 else None


def is_pure(path):
    parts = path.split("/")
    return path in PURE_FILES or (parts[0] == "core" and parts[1] in PURE_ROOMS)


def resolve(root, path, name):
    """Return the file of the tree that an include refers to, or None."""
    for start in ("", "include", PurePosixPath(path).parent):
        candidate = os.path.normpath(PurePosixPath(start) / name)
        if (root / candidate).is_file():
            return candidate
    return None


def room(path):
    """Return the room of a file of bpf/, or None."""
    parts = path.split("/")
    return parts[1] if parts[0] == "bpf" and len(parts) > 2 else None


def judge_like_program(target):
    if target.startswith(LIKE_PROGRAM) or target in LIKE_PROGRAM_USES:
        return None
    return f"{LIKE_PROGRAM} uses the public headers, and {', '.join(LIKE_PROGRAM_USES)}"


def judge_tree(path, target, rooms):
    """Return a complaint about a file that includes another file of the tree, or None."""
    folder, other = path.split("/")[0], target.split("/")[0]
    if folder == "core" and other == "core":
        mine, theirs = core_room(path, rooms), core_room(target, rooms)
        if None not in (mine, theirs) and theirs > mine:
            return f"core/{rooms[mine]}/ comes before core/{rooms[theirs]}/"
        if path.startswith(LIKE_PROGRAM):
            return judge_like_program(target)
        return None
    if path.startswith(LIKE_PROGRAM) and other != "include":
        return f"{LIKE_PROGRAM} uses the public headers"
    mine, theirs = bench_room(path, BENCH), bench_room(target, BENCH)
    if None not in (mine, theirs) and theirs > mine:
        rooms = [f"bench/{name}/" for name in BENCH] + ["the files beside them"]
        return f"{rooms[mine]} comes before {rooms[theirs]}"
    mine, theirs = room(path), room(target)
    if mine and theirs and theirs not in (mine, *ROOMS.get(mine, "").split()):
        return f"bpf/{mine}/ may not include bpf/{theirs}/"
    if MICRO.match(path) and other == "core":
        if not is_pure(target):
            return "a micro-benchmark may include pure files only"
        return None
    if path.startswith(SIMULATOR) and target in SIMULATED:
        return None
    allowed = FOLDERS.get(folder)
    if allowed is None:
        return f"no rule for the folder {folder}/"
    if other not in allowed and target not in allowed:
        return f"{folder}/ may include only: {', '.join(allowed)}"
    return None


def judge_system(path, name):
    """Return a complaint about a file that includes a system header, or None."""
    folder = path.split("/")[0]
    if folder == "include" and name not in PUBLIC:
        return f"public headers need only: {', '.join(PUBLIC)}"
    if is_pure(path) and name not in PURE and EXEMPT.get(path) != name:
        return "this room has no system calls and no threads"
    for prefix, folders in LIBRARIES.items():
        if name.startswith(prefix) and folder not in folders:
            return f"used in {', '.join(folders)} only"
    return None


def is_skeleton(root, path, name):
    """Return whether an include is a BPF program's skeleton, which the file may use."""
    program = name.removesuffix(".skel.h")
    return (
        "programs" in (room(path), *ROOMS.get(room(path), "").split())
        and program != name
        and (root / f"bpf/programs/{program}.bpf.c").exists()
    )


def folders_of(graph):
    """Return the folders that each folder includes. tests/ is left out: it may include all."""
    folders = {}
    for path, targets in graph.items():
        mine = os.path.dirname(path)
        if mine.split("/")[0] == "tests":
            continue
        others = {os.path.dirname(target) for target in targets} - {mine}
        folders.setdefault(mine, set()).update(others)
        for other in others:
            folders.setdefault(other, set())
    return folders


def check_includes(root, path, rooms, graph):
    """Return complaints about the includes of a file, and add the includes to the graph."""
    text = tree.strip((root / path).read_text(), strings=False)
    graph[path] = []
    for match in INCLUDE.finditer(text):
        quote, name = match.groups()
        target = resolve(root, path, name)
        if target:
            graph[path].append(target)
            fault = judge_tree(path, target, rooms)
        elif is_skeleton(root, path, name):
            fault = None
        elif quote == '"':
            fault = "no such file in the tree"
        else:
            fault = judge_system(path, name)
        if fault:
            line = text.count("\n", 0, match.start(2)) + 1
            yield f"{path}:{line}: includes {name}: {fault}"


def check_rooms(graph, rooms):
    """Return complaints about files in no room, and about rooms with too many files."""
    for path in graph:
        in_core = path.startswith("core/") and core_room(path, rooms) is None
        if in_core or (path.startswith("bench/") and bench_room(path, BENCH) is None):
            yield f"{path}: in no room of tests/house/layers.py"
    for name in {room(path) for path in graph} - {None, *ROOMS}:
        yield f"bpf/{name}/: not in the rooms of tests/house/layers.py"
    for name in rooms:
        files = [path for path in graph if path.startswith(f"core/{name}/")]
        if not files:
            yield f"core/{name}: a room without files"
        if len(files) > ROOM_FILES:
            yield f"core/{name}/: {len(files)} files; at most {ROOM_FILES}"


def check(root, rooms=None):
    rooms = rooms or CORE
    complaints, graph = [], {}
    for path in tree.sources(root):
        complaints += check_includes(root, path, rooms, graph)
    complaints += check_rooms(graph, rooms)
    for what, edges in (("circle", graph), ("circle of folders", folders_of(graph))):
        cycle = tree.find_circle(edges)
        if cycle and not complaints:
            complaints.append(f"{what}: " + " -> ".join(cycle))
    return complaints


def check_planted(root):
    return check(root, ["base", "parallel", "queue", "os"])


GOOD = {
    "core/base/zero.h": "#include <stdint.h>\n",
    "core/base/atomic.h": "",
    "core/parallel/for.c": '#include "core/base/atomic.h"\n#include "skua/a.h"\n',
    "core/queue/one.c": '#include "core/queue/one.h"\n/* #include "core/os/two.h" */\n',
    "core/queue/one.h": '#include "core/base/zero.h"\n#include <skua/a.h>\n',
    "core/os/two.c": '#include <pthread.h>\n#include "core/queue/one.h"\n',
    "include/skua/a.h": "#include <stddef.h>\n#include <skua/b.h>\n",
    "include/skua/b.h": "",
    "topology/b.h": "",
    "topology/measure/a.h": '#include "topology/b.h"\n',
    "probes/perf_group.h": "#include <perfmon/pfmlib.h>\n",
    "bpf/a.h": '#include "bpf/stats/a.h"\n',
    "bpf/programs/find.bpf.c": "",
    "bpf/stats/a.h": "",
    "bpf/stats/a.c": '#include "a.h"\n',
    "bpf/trace/a.h": '#include "bpf/stats/a.h"\n#include "find.skel.h"\n',
    "bench/main.c": '#include "skua/a.h"\n#include "probes/perf_group.h"\n',
    "bench/harness/b.h": '#include "bench/kernels/c.h"\n',
    "bench/kernels/c.h": "",
    "bench/kv/parts.c": '#include "bench/kv/store/a.h"\n',
    "bench/kv/parts.h": "",
    "bench/kv/resp/a.h": "",
    "bench/kv/store/a.h": '#include "bench/kv/resp/a.h"\n#include "bench/kernels/c.h"\n',
    "bench/peers/harness/a.h": '#include "bench/harness/b.h"\n',
    "bench/peers/tbb/a.c": '#include "bench/peers/harness/a.h"\n',
    "bench/simulator/a.h": '#include "bench/harness/b.h"\n',
    "bench/workloads/b.h": "",
    "bench/workloads/tasks/a.c": '#include "bench/workloads/b.h"\n',
    "bench/workloads/tasks/b.h": "",
    "bench/workloads/tasks/micro_one.c": '#include "core/queue/one.h"\n',
    "tests/unit/test_one.c": '#include "core/queue/one.h"\n#include <cmocka.h>\n',
    "build-x/generated.c": '#include "nowhere.h"\n',
}

CASES = [
    (GOOD, None),
    *(
        ({**GOOD, path: text}, complaint)
        for path, text, complaint in [
            ("core/queue/one.c", '#include "core/os/two.c"\n', "core/queue/ comes before core/os/"),
            ("core/base/zero.c", ' # include "../queue/one.c"\n', "core/base/ comes before core/queue/"),
            ("core/parallel/for.c", '#include "core/base/zero.h"\n', "uses the public headers"),
            ("core/parallel/for.c", '#include "probes/perf_group.h"\n', "uses the public headers"),
            ("core/parallel/for.c", '#include "core/os/two.c"\n', "comes before core/os/"),
            ("core/queue/one.c", "#include <pthread.h>\n", "core/queue/one.c:1: includes pthread"),
            ("core/three.c", "", "in no room"),
            ("core/os/two.c", "\n#include <numa.h>\n", "core/os/two.c:2: includes numa.h"),
            ("core/os/two.c", '#include "bench/main.c"\n', "core/ may include only"),
            ("core/os/two.c", '#include "typo.h"\n', "no such file"),
            ("include/skua/b.h", "#include <pthread.h>\n", "public headers need"),
            ("include/skua/b.h", '#include "core/base/zero.h"\n', "include/ may include"),
            ("include/skua/b.h", '#include "a.h"\n', "circle: include/skua/a.h"),
            ("topology/a.c", '#include "core/base/zero.h"\n', "topology/ may include"),
            ("probes/a.c", '#include "../core/base/zero.h"\n', "probes/ may include"),
            ("topology/b.c", '#include "topology/measure/a.h"\n', "circle of folders:"),
            ("bpf/a.c", '#include "core/base/zero.h"\n', "bpf/ may include"),
            ("bpf/trace/a.c", '#include "none.skel.h"\n', "no such file"),
            ("bpf/topo/a.c", '#include "find.skel.h"\n', "no such file"),
            ("bpf/target/a.c", '#include "bpf/stats/a.h"\n', "may not include bpf/stats"),
            ("bpf/other/a.c", "", "bpf/other/: not in the rooms"),
            ("bench/main.c", '#include "core/base/zero.h"\n', "bench/ may include"),
            ("bench/b.c", '#include "bpf/b.h"\n', "no such file"),
            ("bench/b.c", '#include "bpf/a.h"\n', "bench/ may include only"),
            ("bench/verbs/a.c", "", "bench/verbs/a.c: in no room"),
            ("bench/kernels/c.h", '#include "bench/harness/b.h"\n', "comes before bench/harness/"),
            ("bench/harness/a.c", '#include "bench/main.c"\n', "before the files beside them"),
            ("bench/workloads/a.c", '#include "tasks/b.h"\n', "comes before bench/workloads/tasks/"),
            ("bench/peers/tbb/a.c", '#include "bench/simulator/a.h"\n', "before bench/simulator/"),
            ("bench/kv/resp/a.c", '#include "bench/kv/store/a.h"\n', "before bench/kv/store/"),
            ("bench/kv/store/a.c", '#include "../parts.h"\n', "bench/kv/store/ comes before bench/kv/"),
            ("bench/kernels/c.h", '#include "bench/kernels/c.h"\n', "circle: bench/kernels/c.h"),
            ("bpf/a.h", '#include "bench/kernels/c.h"\n', "bpf/ may include only"),
            ("bench/micro_one.c", '#include "core/os/two.c"\n', "pure files only"),
            ("bench/simulator/a.c", '#include "core/base/zero.h"\n', "bench/ may include"),
            ("bench/main.c", '#include "probes/other.h"\n', "no such file"),
            ("elsewhere/a.c", '#include "core/base/zero.h"\n', "no rule for the folder"),
        ]
    ),
    ({k: v for k, v in GOOD.items() if k != "core/os/two.c"}, "a room without files"),
]

tree.main(check, check_planted, CASES)
