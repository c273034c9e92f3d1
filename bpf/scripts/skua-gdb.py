# SPDX-License-Identifier: MIT
"""skua-gdb.py - show fibers in gdb

(gdb) source skua-gdb.py
(gdb) skua fibers          list the fibers that have a stack
(gdb) skua fiber N bt      the stack of fiber N of that list

`bt` alone shows the stack of the fiber that the selected thread runs. The program, or
libskua.so, needs debug information. A stack is unwound with the registers of the selected
thread, which get their values back: that works in a live process, not in a core dump.
x86-64 only.
"""

import gdb

# The registers that fiber_switch() saves, from the context on, and the size of its frame.
SAVED = ("r15", "r14", "r13", "r12", "rbx", "rbp", "rip")
FRAME = 64


def pointer_to(name):
    return gdb.lookup_type(name).pointer()


def offset_of(struct, *members):
    """Return the offset of a member of a member ..."""
    offset, kind = 0, gdb.lookup_type(struct)
    for member in members:
        field = next(f for f in kind.strip_typedefs().fields() if f.name == member)
        offset += field.bitpos // 8
        kind = field.type
    return offset


def runtimes():
    root = gdb.parse_and_eval("area_root")
    at = int(root["runtimes"])
    before = offset_of("struct skua_runtime", "pool", "telemetry", "area")
    while at:
        area = gdb.Value(at).cast(pointer_to("struct area_runtime"))
        yield gdb.Value(at - before).cast(pointer_to("struct skua_runtime"))
        at = int(area["next"])


def arenas(runtime):
    allocs = runtime["worker_memory"]["allocs"]
    for node in range(int(allocs["count"])):
        sizes = allocs["nodes"][node]["stacks"]["sizes"]
        first, last = sizes.type.range()
        for size in range(first, last + 1):
            for name in ("arenas", "full"):
                arena = sizes[size][name]
                while int(arena):
                    yield arena
                    arena = arena["next"]


def stacks(arena):
    """Yield the stacks of an arena that have memory."""
    size = gdb.lookup_type("struct stack").sizeof
    page = 4096
    stride = (1 << int(arena["order"])) + 2 * page
    for index in range(int(arena["count"])):
        if int(arena["cold"]) >> index & 1:
            continue
        end = int(arena) + page + (index + 1) * stride
        colour = (int(arena["colour"]) + index) % 32
        at = end - size * (colour + 1)
        yield gdb.Value(at).cast(pointer_to("struct stack"))


def fibers():
    return [
        stack["fiber"]
        for runtime in runtimes()
        for arena in arenas(runtime)
        for stack in stacks(arena)
        if int(stack["fiber"])
    ]


def running():
    """Return the addresses of the tasks that are being polled."""
    tasks = set()
    for runtime in runtimes():
        for i in range(int(runtime["pool"]["worker_count"])):
            tasks.add(int(runtime["pool"]["workers"][i]["area"]["task"]))
    return tasks


def name_of(fiber):
    kind = fiber["task"]["type"]
    return kind["name"].string() if int(kind) else "(no type)"


class Skua(gdb.Command):
    """Commands for programs that use skua."""

    def __init__(self):
        super().__init__("skua", gdb.COMMAND_STACK, prefix=True)


class Fibers(gdb.Command):
    """List the fibers that have a stack."""

    def __init__(self):
        super().__init__("skua fibers", gdb.COMMAND_STACK)

    def invoke(self, argument, from_tty):
        polled = running()
        for number, fiber in enumerate(fibers(), 1):
            state = "runs" if int(fiber) in polled else "waits"
            function = fiber["fn"].format_string(symbols=True, address=False)
            print(f"{number}  {int(fiber):#x}  {state:5}  {name_of(fiber)}  {function}")


class Fiber(gdb.Command):
    """skua fiber N COMMAND - run a command of gdb, such as bt, in waiting fiber N."""

    def __init__(self):
        super().__init__("skua fiber", gdb.COMMAND_STACK)

    def invoke(self, argument, from_tty):
        number, _, command = argument.partition(" ")
        all_fibers = fibers()
        if not number.isdigit() or not 1 <= int(number) <= len(all_fibers):
            raise gdb.GdbError(f"no fiber '{number}'; there are {len(all_fibers)}")
        fiber = all_fibers[int(number) - 1]
        if int(fiber) in running():
            raise gdb.GdbError("this fiber runs: select the thread of its worker")
        self.run_in(int(fiber["context"]), command or "bt")

    @staticmethod
    def run_in(context, command):
        gdb.execute("frame 0", to_string=True)
        words = gdb.Value(context).cast(pointer_to("unsigned long"))
        before = {r: int(gdb.parse_and_eval(f"${r}")) for r in (*SAVED, "rsp")}
        try:
            gdb.execute(f"set $rsp = {context + FRAME}")
            for i, register in enumerate(SAVED, 1):
                gdb.execute(f"set ${register} = {int(words[i])}")
            gdb.execute(command)
        finally:
            for register in ("rsp", *SAVED):
                gdb.execute(f"set ${register} = {before[register]}")


Skua()
Fibers()
Fiber()
