#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: MIT
"""machines.py - descriptions of machines that nobody here has

usage: machines.py FOLDER | --list | --check | --expect

Writes FOLDER/NAME.snapshot for each machine below, as `skua topo --snapshot` would
on it, and copies machines/ beside them: NAME.expected for each machine, and a
snapshot of a real one. The build does this.

An expectation has a line for each CPU, with its core, its group of CPUs that share a
last cache within a node, and its node; and a line for each node. It comes from the
parts that the machine was made of, not from a reader.

--list prints the names. --check compares machines/NAME.expected with the machines
below; exit 1 if any differs. --expect writes these files.
"""

import shutil
import sys
from dataclasses import dataclass, field
from pathlib import Path

FOLDER = Path(__file__).with_name("machines")
CPUS = "sys/devices/system/cpu"
NODES = "sys/devices/system/node"


def as_list(numbers):
    """As the kernel writes lists: 0-3,8"""
    out, numbers = [], sorted(numbers)
    while numbers:
        end = 1
        while end < len(numbers) and numbers[end] == numbers[0] + end:
            end += 1
        first, last = numbers[0], numbers[end - 1]
        out.append(str(first) if first == last else f"{first}-{last}")
        numbers = numbers[end:]
    return ",".join(out)


def as_mask(numbers):
    """As the kernel writes masks: 00000001,0000000f"""
    value, words = sum(1 << n for n in numbers), []
    while value or not words:
        words.append(f"{value & 0xFFFFFFFF:08x}")
        value >>= 32
    return ",".join(reversed(words))


@dataclass
class Cpu:
    core: tuple  # what CPUs of a core have in common; likewise
    cache: tuple
    node: int
    capacity: int = 0
    isolated: bool = False
    online: bool = True


@dataclass
class Machine:
    cpus: dict = field(default_factory=dict)  # by number
    nodes: dict = field(default_factory=dict)  # memory in KiB, by number
    distance: object = staticmethod(lambda a, b: 10 if a == b else 20)
    masks: bool = False  # an old kernel: no lists
    caches: bool = True
    told_nodes: bool = True
    atoms: tuple = ()  # on x86 the slow ones are told, and not how slow

    def files(self):
        """The content of each file, by path."""
        online = [n for n, cpu in self.cpus.items() if cpu.online]
        files = {
            f"{CPUS}/online": as_list(online),
            f"{CPUS}/possible": as_list(self.cpus),
            f"{CPUS}/isolated": as_list(n for n in online if self.cpus[n].isolated),
        }
        for number, cpu in self.cpus.items():
            files |= self.cpu_files(number, cpu, online)
        if self.atoms:
            files["sys/devices/cpu_core/cpus"] = as_list(set(self.cpus) - set(self.atoms))
            files["sys/devices/cpu_atom/cpus"] = as_list(self.atoms)
        if self.told_nodes:
            files[f"{NODES}/online"] = as_list(self.nodes)
            for node in self.nodes:
                files |= self.node_files(node, online)
        return files

    def group(self, numbers, of):
        """A file with CPUs, by a list or by a mask: its name's end, content."""
        return ("", as_mask(numbers)) if self.masks else (of, as_list(numbers))

    def cpu_files(self, number, cpu, online):
        folder = f"{CPUS}/cpu{number}"
        files = {f"{folder}/online": str(int(cpu.online))} if number else {}
        if not cpu.online:
            return files
        same = [n for n in online if self.cpus[n].core == cpu.core]
        if self.masks:
            files[f"{folder}/topology/thread_siblings"] = as_mask(same)
        else:
            files[f"{folder}/topology/core_cpus_list"] = as_list(same)
        files[f"{folder}/topology/core_cpus"] = as_mask(same)
        files[f"{folder}/topology/core_id"] = str(cpu.core[-1])
        files[f"{folder}/topology/physical_package_id"] = str(cpu.core[0])
        if cpu.capacity and not self.atoms:
            files[f"{folder}/cpu_capacity"] = str(cpu.capacity)
        if self.caches:
            shared = [n for n in online if self.cpus[n].cache == cpu.cache]
            index = f"{folder}/cache/index3"
            files |= {f"{index}/level": "3", f"{index}/type": "Unified"}
            files[f"{index}/shared_cpu_map"] = as_mask(shared)
            if not self.masks:
                files[f"{index}/shared_cpu_list"] = as_list(shared)
        return files

    def node_files(self, node, online):
        folder = f"{NODES}/node{node}"
        own = [n for n in online if self.cpus[n].node == node]
        files = {f"{folder}/cpumap": as_mask(own)}
        if not self.masks:
            files[f"{folder}/cpulist"] = as_list(own)
        files[f"{folder}/distance"] = " ".join(
            str(self.distance(node, other)) for other in self.nodes
        )
        files[f"{folder}/meminfo"] = f"Node {node} MemTotal:       {self.nodes[node]} kB"
        return files

    def expected(self):
        online = {n: cpu for n, cpu in self.cpus.items() if cpu.online}

        def first(alike):
            return min(n for n, cpu in online.items() if alike(cpu))

        lines = []
        for number, cpu in sorted(online.items()):
            cache = cpu.cache if self.caches else ()
            core = first(lambda c: c.core == cpu.core)
            llc = first(
                lambda c: (c.cache if self.caches else ()) == cache and c.node == cpu.node
            )
            line = f"cpu {number} core {core} llc {llc} node {cpu.node} capacity {cpu.capacity}"
            lines.append(line + " isolated" * cpu.isolated)
        for node, memory in sorted(self.nodes.items()):
            count = sum(cpu.node == node for cpu in online.values())
            memory = memory if self.told_nodes else 0
            distances = " ".join(str(self.distance(node, other)) for other in self.nodes)
            lines.append(f"node {node} cpus {count} memory {memory * 1024}: {distances}")
        return "\n".join(lines) + "\n"


MEMORY = 64 << 20  # KiB: 64 GiB


def regular(nodes, caches, cores, threads=1, siblings_last=True, package=1, **rest):
    """Nodes of caches of cores of threads; @package nodes are one. Siblings have
    the highest numbers, as on x86, or follow each other."""
    machine = Machine(nodes={n: MEMORY for n in range(nodes)}, **rest)
    total = nodes * caches * cores
    for at in range(total):
        cache, node = at // cores, at // cores // caches
        for thread in range(threads):
            number = at + thread * total if siblings_last else at * threads + thread
            core = (node // package, at)
            machine.cpus[number] = Cpu(core, (cache,), node)
    machine.cpus = dict(sorted(machine.cpus.items()))
    return machine


def sockets(package, near, far):
    def distance(a, b):
        return 10 if a == b else near if a // package == b // package else far

    return distance


def memory_nodes():
    """Two nodes with CPUs and memory, one without memory, two of memory alone."""
    machine = regular(3, 1, 4)
    machine.nodes = {0: MEMORY, 1: MEMORY, 2: 0, 3: 4 * MEMORY, 4: 4 * MEMORY}
    machine.distance = lambda a, b: 10 if a == b else 20 + 4 * (max(a, b) > 2)
    return machine


def cache_across_nodes():
    """Four nodes, each two of which share a cache."""
    machine = regular(4, 1, 4, threads=2)
    for cpu in machine.cpus.values():
        cpu.cache = (cpu.node // 2,)
    return machine


def hybrid_arm():
    machine = regular(1, 1, 8)
    for number, cpu in machine.cpus.items():
        cpu.capacity = 446 if number < 4 else 871 if number < 7 else 1024
    return machine


def hybrid_x86():
    """Six fast cores of two threads, eight slow ones of one."""
    machine = regular(1, 1, 6, threads=2, siblings_last=False)
    for number in range(12, 20):
        machine.cpus[number] = Cpu((0, number), (0,), 0)
    machine.atoms = tuple(range(12, 20))
    for number, cpu in machine.cpus.items():
        cpu.capacity = 512 if number in machine.atoms else 1024
    return machine


def with_gaps():
    """Numbers of CPUs and of nodes have gaps; some are offline, a sibling too."""
    machine = regular(2, 2, 4, threads=2)
    machine.cpus = {3 * n + (n > 20) * 100: cpu for n, cpu in machine.cpus.items()}
    machine.nodes = {2: MEMORY, 5: MEMORY}
    for at, (number, cpu) in enumerate(machine.cpus.items()):
        cpu.node = 5 if cpu.node else 2
        cpu.online = at % 7 != 3
        cpu.isolated = at in (5, 6)
    return machine


def no_numa():
    machine = regular(1, 1, 4)
    machine.told_nodes = False
    return machine


def bare():
    """A virtual machine that tells nothing but how many CPUs it has."""
    machine = no_numa()
    machine.caches = False
    return machine


MACHINES = {
    "two_sockets_smt": lambda: regular(2, 1, 16, threads=2, distance=sockets(1, 0, 21)),
    "nps4_16_llcs": lambda: regular(4, 4, 4, threads=2, package=4, distance=sockets(4, 12, 0)),
    "cache_across_nodes": cache_across_nodes,
    "memory_nodes": memory_nodes,
    "hybrid_arm": hybrid_arm,
    "hybrid_x86": hybrid_x86,
    "gaps_and_offline": with_gaps,
    "eight_nodes_1024": lambda: regular(8, 4, 32, package=4, distance=sockets(4, 12, 32)),
    "more_than_1024": lambda: regular(4, 6, 24, threads=2, package=2, distance=sockets(2, 12, 32)),
    "old_kernel_masks": lambda: regular(2, 1, 8, threads=2, masks=True),
    "no_numa": no_numa,
    "bare": bare,
}


def snapshot(name, machine):
    lines = [f"{path}\t{text}" for path, text in sorted(machine.files().items())]
    return f"# {name}, made by machines.py\n" + "\n".join(lines) + "\n"


def write_all(folder):
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.iterdir():
        old.unlink()
    for kept in FOLDER.iterdir():
        shutil.copyfile(kept, folder / kept.name)
    for name, make in MACHINES.items():
        (folder / f"{name}.snapshot").write_text(snapshot(name, make()))


def check():
    different = []
    for name, make in MACHINES.items():
        path = FOLDER / f"{name}.expected"
        if not path.exists() or path.read_text() != make().expected():
            different.append(path.name)
    if different:
        sys.exit(f"machines.py: other than expected: {' '.join(different)}")


def expect():
    for name, make in MACHINES.items():
        (FOLDER / f"{name}.expected").write_text(make().expected())


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    argument = sys.argv[1]
    if argument == "--list":
        print(*sorted({*MACHINES, *(path.stem for path in FOLDER.glob("*.snapshot"))}))
    elif argument == "--check":
        check()
    elif argument == "--expect":
        expect()
    elif argument.startswith("-"):
        sys.exit(__doc__)
    else:
        write_all(Path(argument))


if __name__ == "__main__":
    main()
