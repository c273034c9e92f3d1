/* SPDX-License-Identifier: MIT */
/**
 * area.h - the memory of a program that other processes may read (ABI)
 *
 * The debug area: each program or library that skua is linked into has one struct
 * area_root. It leads to a list of runtimes, and each runtime to its workers. PROBES.md
 * says how to find the root, and how to read data that changes meanwhile. Addresses are 64
 * bits wide, and 0 means none. If a runtime is freed while a reader uses it, then
 * area_root.changes has changed.
 *
 * Writers: each word has one writer, which PROBES.md or its comment names.
 * Readers: any thread of any process. The only word that other processes write is
 * area_root.record_until_ns, which never moves.
 *
 * New fields are added at the end of a struct; its word bytes tells its size. AREA_ABI
 * changes when a field is removed or changes its meaning.
 */
#ifndef SKUA_PROBES_AREA_H
#define SKUA_PROBES_AREA_H

#include <stdalign.h>
#include <stddef.h>
#include <stdint.h>

#include "probes/counter_list.h"
#include "probes/histogram.h"

#define AREA_ABI UINT32_C(2)

#define AREA_ROOT_MAGIC    UINT64_C(0x746f6f7261756b73) /* "skuaroot" */
#define AREA_RUNTIME_MAGIC UINT64_C(0x656d697261756b73) /* "skuarime" */

/* The ELF note that leads to the root: see PROBES.md. */
#define AREA_NOTE_NAME "skua"
#define AREA_NOTE_TYPE UINT32_C(1)

/* The root, exported as `skua_debug_root`. Writers: threads that create or destroy a
 * runtime. */
struct area_root {
	uint64_t magic;
	uint32_t abi;
	uint32_t bytes;     /* of this struct */
	uint64_t changes;   /* count of changes to the fields that follow; odd
			     * during a change */
	uint64_t runtimes;  /* address of the first struct area_runtime */
	uint64_t count;     /* number of runtimes */
	char version[16];   /* of the library, ends with 0 */
	uint64_t task_poll; /* offset of the poll function in a task */
	uint64_t task_type; /* offset of the type in a task */
	/* The workers of all runtimes record events until this time of CLOCK_MONOTONIC.
	 * Writers: tools, from outside (PROBES.md). */
	uint64_t record_until_ns;
	uint64_t task_state; /* offset of the state in a task */
	/* Offsets in a fiber, which begins with its task: of its function; of the address
	 * of the registers that it saved when it last left its worker (PROBES.md); of the
	 * address of the struct area_armed in which it waits, or 0. */
	uint64_t fiber_fn;
	uint64_t fiber_context;
	uint64_t fiber_wait;
	uint64_t task_flags; /* offset of the flags in a task, 32 bits */
	/* Offset in a fiber of the address of its label; that address is 0 if it has none. */
	uint64_t fiber_label;
};

/* Bit of a task's flags: it is a fiber. Then the poll function is that of all fibers, and
 * the program's function is at fiber_fn. */
#define AREA_TASK_FIBER (UINT32_C(1) << 1)

/* Bits of a task's state. A task that is done and has no references has ended. */
#define AREA_STATE_SCHEDULED (UINT64_C(1) << 0) /* it is queued, or will be */
#define AREA_STATE_ACTIVE    (UINT64_C(1) << 1) /* it is queued or being polled */
#define AREA_STATE_DONE      (UINT64_C(1) << 2)
#define AREA_STATE_REFERENCE (UINT64_C(1) << 16)

/* Flags of a runtime. */
#define AREA_CALLER_DRIVEN (UINT32_C(1) << 0)

#define AREA_EXTERNALS 16u

/* A runtime. Constant while it is in the list, except where a comment names a writer. */
struct area_runtime {
	uint64_t magic;
	uint32_t abi;
	uint32_t bytes; /* of this struct */
	uint64_t next;  /* address of the next runtime in the list */
	uint32_t pid;   /* of the workers' process, as that process sees it */
	uint32_t flags;
	uint32_t worker_count;
	uint32_t worker_bytes; /* of struct area_worker */
	uint64_t workers;      /* address of worker_count addresses */
	uint64_t started_ns;   /* CLOCK_MONOTONIC */
	uint32_t sample;       /* at least one poll in this many is timed */
	/* The array at workers has addresses of the library's own structs: the struct
	 * area_worker of each is this many bytes after that address. */
	uint32_t worker_offset;

	/* Addresses of words of the queues that the workers share. outside:
	 * [ spawned:48 | calls:16 ], where spawned counts tasks spawned by threads that
	 * are no workers; refused: how many of these were refused after all; the others:
	 * tasks pushed to and taken from the injection queue and the urgent lane.
	 * All except refused are words of the first group of workers: see
	 * group_count. */
	uint64_t outside;
	uint64_t refused;
	uint64_t inject_pushed;
	uint64_t inject_taken;
	uint64_t urgent_pushed;
	uint64_t urgent_taken;

	/* As area_root.record_until_ns, for this runtime only. Writer: the program. */
	alignas(64) uint64_t record_until_ns;
	/* Events of threads that are no workers: see area_worker. Writers: these threads
	 * and the workers. */
	uint64_t ring;
	uint64_t ring_events;
	alignas(64) uint64_t ring_head;

	/* Jobs that threads in skua_run() stole. Writers: these threads, one word each. */
	alignas(64) uint64_t external_jobs_stolen[AREA_EXTERNALS];

	/* How long a poll may take before it is a stall; 0: no limit. A type may
	 * have a limit of its own. */
	uint64_t stall_limit_ns;

	/* The live tasks of a runtime with SKUA_TRACK_TASKS: the address of task_slots
	 * struct area_task; 0: tasks are not tracked. tasks_left_out: the number of
	 * spawned tasks that found no free slot; writers: threads that spawn. */
	uint64_t tasks;
	uint64_t task_slots;
	uint64_t tasks_left_out;

	/* The stacks of fibers: the address of the first of stacks_count structs struct
	 * area_stacks, which are stacks_bytes apart. */
	uint64_t stacks;
	uint32_t stacks_count;
	uint32_t stacks_bytes;

	/* The address of the address of the first struct area_name. */
	uint64_t names;

	/* Each of group_count groups of workers has words of its own at outside,
	 * inject_pushed, inject_taken, urgent_pushed and urgent_taken; those of each
	 * further group are group_bytes behind those of the one before. Their sums are
	 * the counts of the runtime. 0, or a struct without these words: one group. */
	uint32_t group_count;
	uint32_t group_bytes;

	/* The address of the struct area_blocking. */
	uint64_t blocking;

	/* The descriptors, which all runtimes of a library share: the address of
	 * descriptor_chunks addresses of chunks, each of descriptor_slots struct
	 * area_descriptor. An address of 0: no descriptor of the chunk was ever attached.
	 * Descriptor n is in chunk n / descriptor_slots. */
	uint64_t descriptors;
	uint32_t descriptor_chunks;
	uint32_t descriptor_slots;
	/* The owner of the descriptors that are attached to this runtime. */
	uint64_t descriptor_owner;

	/* Address of a word: the number of accepts that failed because descriptors or
	 * memory were exhausted, and were tried again. Writers: any threads. */
	uint64_t accepts_delayed;

	/* The calls of skua_run() that go on now: the address of the first of calls_count
	 * structs struct area_call, which are calls_bytes apart, one for each place of
	 * outside threads (EVENT_JOB_BEGIN). A call without a place is not among them. */
	uint64_t calls;
	uint32_t calls_count;
	uint32_t calls_bytes;
};

/* A call of skua_run(). Writers: the thread that calls. Read it twice, until both reads
 * agree. */
struct area_call {
	uint64_t tid;      /* gettid(); 0: there is no call. Written last */
	uint64_t since_ns; /* when it began, of CLOCK_MONOTONIC */
	uint64_t root;     /* address of its function */
};

/* Bits of the words of a descriptor. */
#define AREA_IO_WAITER \
	UINT64_C(3) /* mask; a task or thread waits if it is AREA_IO_ARMED */
#define AREA_IO_ARMED   UINT64_C(2)
#define AREA_IO_DELAYED UINT64_C(32) /* a failed call is tried again later */

/* A descriptor. Writers: threads in calls on it, or that take events. */
struct area_descriptor {
	uint64_t word[2]; /* for reading, for writing: AREA_IO_... */
	uint64_t wait[2]; /* address of the struct area_armed that is armed */
	uint64_t owner;   /* area_runtime.descriptor_owner */
	uint64_t reserved_1;
	int32_t fd; /* its number */
	uint8_t reserved_2[3];
	uint8_t connecting; /* it is written to in order to connect */
	uint64_t reserved_3;
};

/* The pool of threads for calls that block. Writers: threads that hold the lock of its
 * list of queued calls. */
struct area_blocking {
	uint32_t threads;
	uint32_t running; /* calls that threads run */
	uint32_t queued;  /* calls that wait for a thread */
	uint32_t waiting; /* calls that wait for a place in the queue */
	/* Constant: the limits of threads and queued. */
	uint32_t max_threads;
	uint32_t max_queued;
};

/* The stacks of fibers that the workers of a node share. Writers: threads that hold its
 * lock. */
struct area_stacks {
	/* Count of changes to the list; odd during a change. */
	uint64_t changes;
	uint64_t arenas; /* address of the first struct area_arena; 0: none */
};

#define AREA_ARENA_STACKS 64u

/* Some stacks, mapped together. Writers: as area_stacks. */
struct area_arena {
	uint64_t next; /* address of the next struct area_arena; 0: none */
	/* Addresses of struct area_stack; 0: none. */
	uint64_t stacks[AREA_ARENA_STACKS];
};

/* A stack, which ends at the address of this struct. */
struct area_stack {
	uint64_t low; /* its lowest address */
	/* Address of the fiber; 0: none. Writers: the threads that poll it. */
	uint64_t fiber;
};

/* The kind of a wait. */
enum area_wait_kind {
	AREA_WAITS_NOTHING,
	AREA_WAITS_MUTEX,
	AREA_WAITS_READ,  /* for a rwlock */
	AREA_WAITS_WRITE, /* for a rwlock */
	AREA_WAITS_SEMAPHORE,
	AREA_WAITS_EVENT,
	AREA_WAITS_NOTIFY,
	AREA_WAITS_CONDITION,
	AREA_WAITS_BARRIER,
	AREA_WAITS_ONCE,
	AREA_WAITS_JOIN,  /* object: a task */
	AREA_WAITS_GROUP, /* object: a group */
	AREA_WAITS_TIME,  /* amount: of CLOCK_MONOTONIC */
	AREA_WAITS_SEND,  /* to a channel */
	AREA_WAITS_RECEIVE,
	AREA_WAITS_ONESHOT,
	AREA_WAITS_WATCH,
	AREA_WAITS_BROADCAST,
	AREA_WAITS_SPSC_SEND,
	AREA_WAITS_SPSC_RECEIVE,
	AREA_WAITS_BLOCKING, /* object: the library's pool of threads */
	AREA_WAITS_SELECT,   /* object: a struct area_select */
	AREA_WAITS_IO_READ,  /* object: a struct area_descriptor */
	AREA_WAITS_IO_WRITE,
	AREA_WAITS_FILE, /* object: the files of a runtime */
	AREA_WAITS_COUNT,
};

/* The words with which a lock names its holder: the address of a task, or that of a struct
 * area_thread and AREA_HOLDER_THREAD; the low bits are flags. A rwlock that readers hold
 * has none. */
#define AREA_HOLDER_THREAD (UINT64_C(1) << 63)
#define AREA_HOLDER_FLAGS  UINT64_C(7)

struct area_thread {
	uint32_t tid; /* gettid(); 0: not known */
	uint32_t reserved;
	/* Address of the struct area_armed in which it waits; 0: none. Writer: the
	 * thread. */
	uint64_t wait;
};

/* The list of those that wait for an object: these words are the first of it. Writers:
 * threads that hold its lock. */
struct area_waiters {
	uint32_t lock;
	uint32_t count;
	uint64_t first; /* address of a struct area_armed */
	uint64_t last;
};

/* The objects of skua/channel.h. Writers: threads in calls on them. */

/* A queue of bounded length. Numbers are of items since the beginning. */
struct area_channel {
	uint64_t tail; /* [ sent, or being sent:63 | closed ] */
	uint64_t reserved_1[15];
	uint64_t head; /* [ received, or being received:63 | - ] */
	uint64_t reserved_2[16];
	uint32_t mask; /* capacity - 1 */
	uint32_t item_bytes;
	uint64_t reserved_3[15];
	struct area_waiters receivers;
	struct area_waiters senders;
	/* Address of the struct area_armed of a receiver that waits alone, and is not in
	 * receivers; 0: none. */
	uint64_t receiver;
};

/* The same for one sender and one receiver. */
struct area_spsc {
	uint64_t sent;
	uint64_t reserved_1[2];
	uint32_t flags; /* AREA_SPSC_CLOSED */
	uint32_t reserved_2;
	uint64_t reserved_3[12];
	uint64_t received;
	uint64_t reserved_4[16];
	uint32_t mask; /* capacity - 1 */
	uint32_t item_bytes;
	uint64_t reserved_5[14];
	struct area_waiters receivers;
	struct area_waiters senders;
};

struct area_oneshot {
	uint64_t word; /* AREA_ONESHOT_... */
	uint64_t reserved;
	struct area_waiters waiters;
};

#define AREA_CHANNEL_CLOSED \
	UINT64_C(1) /* of a tail, also that of a broadcast */
#define AREA_SPSC_CLOSED    2u
#define AREA_WATCH_CLOSED   UINT64_C(2)
#define AREA_ONESHOT_SENT   UINT64_C(1)
#define AREA_ONESHOT_TAKEN  UINT64_C(4)
#define AREA_ONESHOT_CLOSED UINT64_C(8)

struct area_broadcast {
	uint64_t reserved_1;
	uint32_t mask; /* number of items that stay - 1 */
	uint32_t item_bytes;
	uint64_t reserved_2[14];
	uint64_t tail; /* [ sent:63 | closed ] */
	struct area_waiters waiters;
};

struct area_watch {
	uint64_t word; /* [ version:62 | closed | being changed ] */
	uint64_t reserved[2];
	struct area_waiters waiters;
};

/* A wait of a task or thread. Writers: the waiter, and threads that hold the lock of the
 * list. */
struct area_armed {
	uint64_t next; /* in the list of the object; 0: none */
	uint64_t previous;
	uint64_t object; /* its address */
	uint64_t waiter; /* as a holder */
	uint64_t verb;   /* address of a struct area_verb */
	/* When it began, of CLOCK_MONOTONIC; of a task at most a tick too early. */
	uint64_t since_ns;
	/* Of permits; of a condition: the address of the mutex. */
	uint64_t amount;
	uint32_t phase; /* 1: it is in the list */
};

/* A select: these words are the first of it. The verb of its wait has the size of a case in
 * second. */
struct area_select {
	uint64_t cases; /* address of the first struct area_select_case */
	uint32_t count;
	uint32_t flags;
};

/* A case. The words before its struct area_armed do not change during the wait. Its struct
 * area_armed has the waiter of the select; it is not used for the kinds below. */
struct area_select_case {
	uint32_t kind; /* AREA_SELECT_..., or another one */
	uint32_t reserved;
	uint64_t object; /* of a join: a task; of a group: the group */
	uint64_t item;
	uint64_t amount; /* of a time: of CLOCK_MONOTONIC */
	uint64_t select;
	struct area_armed wait;
};

#define AREA_SELECT_NEVER UINT32_C(0)
#define AREA_SELECT_JOIN  UINT32_C(10)
#define AREA_SELECT_TIME  UINT32_C(11)
#define AREA_SELECT_GROUP UINT32_C(13)

/* A kind of wait. Constant. */
struct area_verb {
	uint64_t step;    /* the library's own */
	uint32_t kind;    /* enum area_wait_kind */
	uint32_t waiters; /* offset of the struct area_waiters in the object */
	/* Offset of the holder; UINT32_MAX: there is none. Of a condition: in its mutex. */
	uint32_t holder;
	/* Of a condition: offset of the waiters in its mutex. Of a select: the size of a
	 * struct area_select_case in the library. */
	uint32_t second;
};

/* The state of a tracked task. */
enum area_task_state {
	AREA_TASK_NONE,
	AREA_TASK_QUEUED,
	AREA_TASK_POLLED,
	AREA_TASK_WAITING,
	AREA_TASK_DONE, /* done, but wakers were left when its last poll ended */
};

/* The reason why a task waits: the latest of these waits that its last poll began. */
enum area_wait {
	AREA_WAIT_NONE,
	AREA_WAIT_NOBODY, /* it can be cancelled, but nothing else wakes it */
	AREA_WAIT_WAKER, /* for a waker; the library does not know the reason */
	AREA_WAIT_JOIN,  /* what: the address of a task */
	AREA_WAIT_GROUP, /* what: the address of a group */
	AREA_WAIT_TIMER, /* what: a time of CLOCK_MONOTONIC */
};

/* A tracked task. Writers: the threads that spawn, queue or poll it, one at a time. Read it
 * twice, until both reads agree. */
struct area_task {
	uint64_t task; /* its address; 0: the slot is free */
	uint64_t type; /* address of its struct skua_task_type, or 0 */
	uint64_t poll; /* address of its poll function, or a fiber's function */
	uint64_t spawned_ns; /* of CLOCK_MONOTONIC */
	uint64_t caller;     /* return address of the call that spawned it */
	uint64_t state;      /* enum area_task_state */
	uint64_t since_ns;   /* when this state began, of CLOCK_MONOTONIC */
	uint64_t wait;       /* enum area_wait */
	uint64_t what;       /* see enum area_wait */
	/* Wakers at the end of its last poll, including timers and joins. */
	uint64_t wakers;
	uint64_t home; /* the index + 1 of the only worker to poll it; 0: any */
	/* The task that has the slot, from its spawn to the end of its last poll;
	 * 0: a spawn may take the slot, even if it shows a task that is done. */
	uint64_t holder;
	uint64_t reserved[4];
};

/* The activity of a worker. */
enum area_state {
	AREA_STARTING, /* starting, ended, or caller-driven between two calls */
	AREA_RUNNING,  /* polls tasks */
	AREA_SEARCHING,
	AREA_PARKED,
	AREA_JOB, /* runs a stolen job */
};

/* The counters of a worker, in the order of counter_list.h, which is part of the ABI: a
 * new counter takes the first reserved word. They fill the space up to the times of a
 * worker, which is always readable. In a library that has no such counter the word is 0. */
#define AREA_COUNTER_WORDS 31u

struct area_counters {
#define AREA_COUNTER(name, ...) uint64_t name;
	COUNTER_LIST(AREA_COUNTER)
#undef AREA_COUNTER
	uint64_t reserved[AREA_COUNTER_WORDS - COUNTER_LIST_COUNT];
};

/* Total times in nanoseconds, up to the last change of the state. */
struct area_times {
	uint64_t state;    /* enum area_state */
	uint64_t since_ns; /* when this state began, of CLOCK_MONOTONIC */
	uint64_t run_ns;   /* in polls and jobs, and between them */
	uint64_t search_ns;
	uint64_t park_ns;
};

/*
 * Samples of the tasks of one type. Some polls are timed, and each of these counts for
 * all polls since the last one that was timed. So the sums are estimates. The sum of polls
 * over all rows is exact, except for the latest few.
 */
struct area_type {
	uint64_t type; /* address of struct skua_task_type; 0: tasks without */
	uint64_t poll; /* poll function of these tasks; 0: the row is empty */
	uint64_t polls;
	uint64_t run_ns; /* total time of these polls */
	uint64_t longest_ns;
	uint64_t waits;   /* number of waits in queues, from a spawn or wake to
			   * the poll */
	uint64_t wait_ns; /* total time of these waits */
	uint64_t longest_wait_ns;
};

#define AREA_TYPES 32u

/* Samples of the work of a worker. */
struct area_samples {
	struct probes_histogram park;  /* the time of each sleep */
	struct probes_histogram steal; /* the search time before each steal */
	struct probes_histogram poll;  /* sampled, as in area_type */
	struct probes_histogram wait;  /* sampled, as in area_type */
	/* A row for each type. The last row, with poll 1, has all types for which
	 * there was no row. */
	struct area_type types[AREA_TYPES];
};

/* A worker. Only this worker writes it, unless a comment names another writer. */
struct area_worker {
	/* Constant, except tid, which is 0 while there is no thread. */
	alignas(128) uint32_t index;
	int32_t cpu; /* the CPU where it was bound at first; -1: none */
	int32_t node;
	uint32_t reserved;
	uint64_t tid;     /* gettid() */
	uint64_t samples; /* address of its struct area_samples */
	/* Addresses of words of its local queue. head: its upper 48 bits are the
	 * position of the oldest task. tail: the position after the newest task, modulo
	 * 2^48. */
	uint64_t queue_head;
	uint64_t queue_tail;

	/* The recorder (events.h). ring: address of the events, 0: none yet;
	 * ring_events: its capacity, a power of two; ring_head: the number of events
	 * written so far; ring_error: -errno of the attempt to allocate it, or 0. */
	uint64_t ring;
	uint64_t ring_events;
	uint64_t ring_head;
	int64_t ring_error;

	/* Address of the task that is being polled; 0: none. */
	alignas(128) uint64_t task;
	struct area_counters counters;

	alignas(128) struct area_times times;

	/* Addresses of words. finished: the number of tasks that it polled to their
	 * end. inbox: tasks pushed to and taken from the queue of tasks that are bound
	 * to it. */
	uint64_t finished;
	uint64_t inbox_pushed;
	uint64_t inbox_taken;

	/* Address of the label that a poll of a task that is no fiber has set last, a text;
	 * 0: none. And the value of tasks_polled in that poll, written after label. */
	uint64_t label;
	uint64_t label_poll;
};

/* An object with a name. Writers: threads that name objects. */
struct area_name {
	uint64_t next; /* address of the next struct area_name; 0: none */
	uint64_t object;
	uint64_t name; /* address of a text that ends with 0 */
	struct area_verb verb;
};

#endif
