#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: MIT
"""test_sizeof.py - use the library through ctypes, with the sizes that it tells

The test allocates structs as a binding does, of as many bytes as skua_sizeof() says,
and puts a guard behind each. The library must fill a struct to its last word and
leave the guard alone. It must find the elements of a row one size apart.

Usage: test_sizeof.py LIBRARY [SANITIZER]
"""

import ctypes
import errno
import struct
import sys
import threading
from ctypes import CFUNCTYPE, POINTER, byref, c_char_p, c_int, c_size_t, c_uint64
from ctypes import c_uint, c_void_p
from pathlib import Path

MACHINE = "tests/machines/cache_across_nodes.snapshot"
GUARD, PATTERN, WORD = 64, 0xA5, 8
DONE, PENDING = 0, 1
CALLER_DRIVEN, NO_ENV = 1 << 2, 1 << 1
NO_STALL_SIGNAL, POLLER_DONE = -1, -1

LAYOUTS = {
    "skua_allocator": "@PPP",
    "skua_ctx": "@PP",
    "skua_error": "@i200s",
    "skua_hooks": "@PPPPPPP",
    "skua_job": "@P",
    "skua_node": "@P",
    "skua_poller": "@PPPP",
    "skua_reduction": "@NPPPP",
    "skua_scope": "@PPP",
    "skua_task_type": "@40sQQQ",
    "skua_timer": "@PPQIIPPQ",
    "skua_waker": "@P",
}

POLL = CFUNCTYPE(c_int, c_void_p)
ALLOC = CFUNCTYPE(c_void_p, c_void_p, c_size_t, c_size_t)
FREE = CFUNCTYPE(None, c_void_p, c_void_p, c_size_t)
WORKER = CFUNCTYPE(None, c_void_p, c_uint)
REPORT = CFUNCTYPE(None, c_void_p, c_void_p)


def expect(got, wanted, what):
    if got != wanted:
        raise AssertionError(f"{what}: {got!r}, wanted {wanted!r}")


def address_of(function):
    return ctypes.cast(function, c_void_p).value


class Room:
    """Memory for @count structs of a type, with a guard behind it."""

    def __init__(self, lib, name, count=1, fill=0):
        self.name = name
        self.size = lib.sizeof(name)
        expect(self.size > 0, True, f"skua_sizeof({name}) is a size")
        self.bytes = self.size * count
        self._memory = ctypes.create_string_buffer(self.bytes + GUARD + 16)
        self.begin = -(-ctypes.addressof(self._memory) // 16) * 16
        ctypes.memset(self.begin, fill, self.bytes)
        ctypes.memset(self.begin + self.bytes, PATTERN, GUARD)
        lib.rooms.append(self)

    def at(self, i=0):
        return self.begin + i * self.size

    def set(self, offset, form, *values):
        ctypes.memmove(self.begin + offset, *self._packed(form, values))

    @staticmethod
    def _packed(form, values):
        packed = struct.pack(form, *values)
        return packed, len(packed)

    def get(self, form, offset=0, i=0):
        wanted = struct.calcsize(form)
        return struct.unpack(form, ctypes.string_at(self.at(i) + offset, wanted))[0]

    def check(self):
        guard = ctypes.string_at(self.begin + self.bytes, GUARD)
        expect(guard, bytes([PATTERN]) * GUARD, f"behind {self.name}")

    def check_filled(self):
        """The library has written all of it: the last word, and none behind it."""
        self.check()
        last = ctypes.string_at(self.begin + self.bytes - WORD, WORD)
        written = last != bytes([PATTERN]) * WORD
        expect(written, True, f"the last word of {self.name} was written")


class Library:
    """The library; @wrong is added to each size that it tells."""

    def __init__(self, path, wrong=0):
        self.path, self.wrong = path, wrong
        self.machine = str(Path(path).parent / MACHINE).encode()
        self.skua = ctypes.CDLL(path)
        self.rooms, self.kept = [], []
        self.waker = type("Waker", (ctypes.Structure,), {})
        self.ctx = type("Ctx", (ctypes.Structure,), {})
        self.skua.skua_sizeof.restype = c_size_t
        for name, kind in (("skua_waker", self.waker), ("skua_ctx", self.ctx)):
            kind._fields_ = [("words", c_uint64 * (self.sizeof(name) // WORD))]
        self.skua.skua_version_string.restype = c_char_p
        self.skua.skua_now_ns.restype = c_uint64
        self.skua.skua_timer_pending.restype = ctypes.c_bool
        self.skua.skua_task_waker.restype = self.waker
        self.skua.skua_waker_wake.restype = None
        self.skua.skua_topology_free.restype = None
        self.skua.skua_injector_destroy.restype = None
        self.skua.skua_injector_take.restype = c_size_t

    def sizeof(self, name):
        told = self.skua.skua_sizeof(name.encode())
        return told + self.wrong if told else 0

    def room(self, name, count=1, fill=0):
        return Room(self, name, count, fill)

    def keep(self, function):
        """A callback stays until the library is dropped."""
        self.kept.append(function)
        return function

    def call(self, name, *arguments):
        """A call that has to return 0; integers are pointers and 64-bit numbers."""
        expect(self.ask(name, *arguments), 0, name)

    def ask(self, name, *arguments):
        wide = [c_uint64(a) if isinstance(a, int) else a for a in arguments]
        return getattr(self.skua, name)(*wide)

    def config(self, flags=NO_ENV, workers=2):
        config = self.room("skua_config")
        config.set(0, "@NI", config.size, workers)
        config.set(64, "@I", flags)
        return config

    def create(self, config=None):
        runtime = c_void_p()
        error = self.room("skua_error")
        config = config or self.config()
        code = self.ask("skua_runtime_create", byref(runtime), config.at(), error.at())
        expect((code, self.text(error)), (0, ""), "skua_runtime_create")
        return runtime.value

    @staticmethod
    def text(error):
        return ctypes.string_at(error.at() + 4).decode()

    def task(self, poll, room=None, i=0):
        room = room or self.room("skua_task", fill=PATTERN)
        self.call("skua_task_init", room.at(i), self.keep(POLL(poll)))
        return room

    def check(self):
        for room in self.rooms:
            room.check()


# --- what is asked of the library ------------------------------------------------


def sizeof__no_such_struct__zero(lib):
    for name in (None, b"", b"struct skua_task", b"skua_runtime", b"skua_task ", b"int"):
        expect(lib.skua.skua_sizeof(name), 0, f"skua_sizeof({name})")


def sizeof__fields_of_the_program__as_documented(lib):
    """Structs that the library does not fill: the program knows their fields."""
    for name, fields in LAYOUTS.items():
        expect(lib.sizeof(name), struct.calcsize(fields), f"skua_sizeof({name})")


def version__asked__the_same_twice(lib):
    number = lib.skua.skua_version()
    parts = (number // 1000000, number // 1000 % 1000, number % 1000)
    text = lib.skua.skua_version_string().decode()
    expect(text, ".".join(map(str, parts)), "skua_version_string")


# --- what the library fills --------------------------------------------------------


def task__initialised__filled_to_the_last_word(lib):
    lib.task(lambda task: DONE).check_filled()


def group__initialised__filled_to_the_last_word(lib):
    runtime = lib.create()
    group = lib.room("skua_group", fill=PATTERN)
    lib.call("skua_group_init", group.at(), runtime)
    lib.call("skua_runtime_destroy", runtime)
    group.check_filled()


def stats__asked__filled_to_the_last_word(lib):
    runtime = lib.create()
    for name, *between in (
        ("skua_runtime_stats",),
        ("skua_runtime_worker_stats", 0),
        ("skua_runtime_times", 0),
    ):
        room = lib.room(name.replace("_runtime", ""), fill=PATTERN)
        lib.call(name, runtime, *between, room.at())
        room.check_filled()
    lib.call("skua_runtime_destroy", runtime)


def config__field_behind_it__refused_with_the_size(lib):
    """The refusal names the size that the library has of it."""
    config = lib.config()
    longer = ctypes.create_string_buffer(ctypes.string_at(config.at(), config.size) + b"\1" * 8)
    struct.pack_into("@N", longer, 0, config.size + 8)
    error, runtime = lib.room("skua_error"), c_void_p()
    code = lib.ask("skua_runtime_create", byref(runtime), longer, error.at())
    expect((code, error.get("@i")), (-errno.EINVAL,) * 2, "of a longer config")
    known = f"version does not know: its size is {config.size}"
    expect(known in lib.text(error), True, f"{lib.text(error)!r} has {known!r}")


def task_type__last_word_set__refused(lib):
    task = lib.task(lambda task: DONE)
    kind = lib.room("skua_task_type")
    kind.set(0, "5s", b"kind")
    lib.call("skua_task_set_type", task.at(), kind.at())
    kind.set(kind.size - WORD, "@Q", 1)
    code = lib.ask("skua_task_set_type", task.at(), kind.at())
    expect(code, -errno.EINVAL, "of a type whose reserved word is set")


def stall__reported__of_the_size_told(lib):
    """A poll blocks until it is reported; the report begins with its size."""
    seen, reported = [], threading.Event()

    def report(ctx, stall):
        seen.append(c_size_t.from_address(stall).value)
        reported.set()

    hooks = lib.room("skua_hooks")
    hooks.set(hooks.size - WORD, "@P", address_of(lib.keep(REPORT(report))))
    config = lib.config()
    config.set(56, "@P", hooks.at())
    config.set(config.size - 32, "@QiI", 1000000, NO_STALL_SIGNAL, 0)
    runtime = lib.create(config)
    task = lib.task(lambda task: DONE if reported.wait(60) else DONE)
    lib.call("skua_runtime_block_on", runtime, task.at())
    lib.call("skua_runtime_destroy", runtime)
    expect(seen[:1], [lib.sizeof("skua_stall")], "the size of a report")


EXACT = [
    sizeof__fields_of_the_program__as_documented,
    task__initialised__filled_to_the_last_word,
    group__initialised__filled_to_the_last_word,
    stats__asked__filled_to_the_last_word,
    config__field_behind_it__refused_with_the_size,
]


# --- rows, whose elements are one size apart ---------------------------------------


def group__row_of_tasks__each_polled_once(lib):
    runtime, polled = lib.create(), []
    group = lib.room("skua_group")
    tasks = lib.room("skua_task", count=50, fill=PATTERN)
    lib.call("skua_group_init", group.at(), runtime)
    for i in range(50):
        lib.task(lambda task: polled.append(task) or DONE, tasks, i)
    for i in range(50):
        lib.call("skua_group_spawn", group.at(), tasks.at(i))
    lib.call("skua_group_wait", group.at())
    lib.call("skua_runtime_destroy", runtime)
    expect(sorted(polled), [tasks.at(i) for i in range(50)], "tasks that were polled")


def injector__row_of_nodes__taken_in_order(lib):
    injector = c_void_p()
    lib.call("skua_injector_create", byref(injector))
    nodes = lib.room("skua_node", count=20, fill=PATTERN)
    for i in range(20):
        lib.call("skua_injector_push", injector, nodes.at(i))
    taken = (c_void_p * 20)()
    expect(lib.ask("skua_injector_take", injector, taken, 20), 20, "nodes taken")
    expect(list(taken), [nodes.at(i) for i in range(20)], "nodes in order")
    lib.ask("skua_injector_destroy", injector)


def type_stats__two_types__a_row_each(lib):
    runtime = lib.create(lib.config(workers=1))
    types = lib.room("skua_task_type", count=2)
    task = lib.room("skua_task")
    rows = lib.room("skua_type_stats", count=3, fill=PATTERN)
    for name in (b"one", b"two"):
        types.set(types.size * (name == b"two"), "4s", name)
    poll = lib.keep(POLL(lambda task: DONE))
    found = set()
    while found != {types.at(0), types.at(1)}:
        for i in range(2):
            lib.call("skua_task_init", task.at(), poll)
            lib.call("skua_task_set_type", task.at(), types.at(i))
            lib.call("skua_runtime_block_on", runtime, task.at())
        count = lib.ask("skua_runtime_type_stats", runtime, rows.at(), c_uint(3))
        found = {rows.get("@P", i=i) for i in range(count)} - {0}
        expect(found <= {types.at(0), types.at(1)}, True, "rows are of the types")
    lib.call("skua_runtime_destroy", runtime)


def topology__two_nodes__rows_one_size_apart(lib):
    topology, error = c_void_p(), lib.room("skua_error")
    lib.call("skua_topology_load", byref(topology), lib.machine, error.at())
    for what, name in (("cpus", "skua_cpu"), ("nodes", "skua_numa_node")):
        first = c_void_p()
        count = lib.ask(f"skua_topology_{what}", topology, byref(first))
        numbers = [
            c_uint.from_address(first.value + i * lib.sizeof(name)).value for i in range(count)
        ]
        expect(count >= 2, True, f"{what} of the machine")
        expect(numbers, list(range(count)), f"numbers of {what}")
    lib.ask("skua_topology_free", topology)


# --- a program -----------------------------------------------------------------------


def task__woken_and_timed__polled_and_joined(lib):
    """Polls return to Python; a waker goes by value; a timer has its size."""
    runtime, wakers, first = lib.create(), [], threading.Event()
    timer = lib.room("skua_timer")
    polls = []

    def poll(task):
        polls.append(lib.ask("skua_timer_pending", timer.at()))
        if len(polls) == 1:
            wakers.append(lib.ask("skua_task_waker", task))
            first.set()
            return PENDING
        if len(polls) == 2:
            now = lib.skua.skua_now_ns()
            lib.call("skua_timer_add", task, timer.at(), now + 1000000)
            return PENDING
        return PENDING if polls[-1] else DONE

    task = lib.task(poll)
    lib.call("skua_task_spawn", runtime, task.at())
    expect(first.wait(60), True, "the first poll")
    lib.skua.skua_waker_wake(wakers.pop())
    lib.call("skua_task_join", task.at())
    lib.call("skua_runtime_destroy", runtime)
    expect(len(polls) >= 3, True, f"{len(polls)} polls")


def runtime__own_memory_and_hooks__all_given_back(lib):
    blocks, started = {}, []

    def alloc(ctx, align, size):
        memory = ctypes.create_string_buffer(size + align)
        begin = -(-ctypes.addressof(memory) // align) * align
        blocks[begin] = memory
        return begin

    allocator, hooks = lib.room("skua_allocator"), lib.room("skua_hooks")
    give_back = FREE(lambda ctx, memory, size: blocks.pop(memory) and None)
    functions = [lib.keep(ALLOC(alloc)), lib.keep(give_back)]
    allocator.set(0, "@PP", *map(address_of, functions))
    start = WORKER(lambda ctx, worker: started.append(worker))
    hooks.set(0, "@P", address_of(lib.keep(start)))
    config = lib.config()
    config.set(48, "@PP", allocator.at(), hooks.at())
    runtime = lib.create(config)
    expect(len(blocks) > 0, True, "memory was asked for")
    lib.call("skua_runtime_block_on", runtime, lib.task(lambda task: DONE).at())
    lib.call("skua_runtime_destroy", runtime)
    expect((len(blocks), sorted(started)), (0, [0, 1]), "blocks left, workers")


def poller__of_the_driven_worker__polled(lib):
    runtime = lib.create(lib.config(NO_ENV | CALLER_DRIVEN, workers=1))
    poller, polled = lib.room("skua_poller"), []
    poll = lib.keep(POLL(lambda self: polled.append(self) or POLLER_DONE))
    poller.set(0, "@P", address_of(poll))
    lib.call("skua_runtime_add_poller", runtime, c_uint(0), poller.at())
    while not polled:
        lib.ask("skua_runtime_poll", runtime, 0)
    lib.call("skua_runtime_destroy", runtime)
    expect(polled, [poller.at()], "the poller that was polled")


def reduce__context_by_value__the_sum(lib):
    """The sum of a range; values and contexts pass through Python."""
    runtime, sums = lib.create(), []
    how = lib.room("skua_reduction")
    fold_type = CFUNCTYPE(c_int, lib.ctx, c_size_t, c_size_t, POINTER(c_uint64), c_void_p)
    join_type = CFUNCTYPE(c_int, POINTER(c_uint64), POINTER(c_uint64), c_void_p)

    def fold(ctx, begin, end, value, arg):
        value[0] += sum(range(begin, end))
        return 0

    def join(left, right, arg):
        left[0] += right[0]
        return 0

    def root(ctx, arg):
        value = c_uint64(12345)
        lib.call("skua_reduce", ctx, 0, 10000, 100, how.at(), byref(value), None)
        sums.append(value.value)

    functions = [lib.keep(fold_type(fold)), lib.keep(join_type(join))]
    how.set(0, LAYOUTS["skua_reduction"], WORD, 0, *map(address_of, functions), 0)
    root_type = CFUNCTYPE(None, lib.ctx, c_void_p)
    lib.call("skua_run", runtime, lib.keep(root_type(root)), None)
    lib.call("skua_runtime_destroy", runtime)
    expect(sums, [sum(range(10000))], "the sum")


# --- a size that is wrong -----------------------------------------------------------


def sizes__wrong_by_a_word__each_found(lib):
    for wrong in (-WORD, WORD):
        for case in EXACT:
            try:
                told_wrong = Library(lib.path, wrong)
                case(told_wrong)
                told_wrong.check()
            except AssertionError:
                continue
            raise AssertionError(f"{case.__name__} holds with sizes wrong by {wrong}")


CASES = [
    sizeof__no_such_struct__zero,
    version__asked__the_same_twice,
    *EXACT,
    stall__reported__of_the_size_told,
    task_type__last_word_set__refused,
    group__row_of_tasks__each_polled_once,
    injector__row_of_nodes__taken_in_order,
    type_stats__two_types__a_row_each,
    topology__two_nodes__rows_one_size_apart,
    task__woken_and_timed__polled_and_joined,
    runtime__own_memory_and_hooks__all_given_back,
    poller__of_the_driven_worker__polled,
    reduce__context_by_value__the_sum,
    sizes__wrong_by_a_word__each_found,
]


def main():
    library, *sanitizer = sys.argv[1:]
    if sanitizer:
        print(f"skipped: python3 does not load a library with the {sanitizer[0]} sanitizer")
        sys.exit(77)
    failed = 0
    for case in CASES:
        try:
            lib = Library(library)
            case(lib)
            lib.check()
        except AssertionError as error:
            failed += 1
            print(f"FAILED: {case.__name__}: {error}")
    print(f"{len(CASES)} cases, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
