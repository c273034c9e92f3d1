/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/**
 * count.h - what programs count of workers: the values of maps
 *
 * Those who read the maps see these names, also by bpftool. Threads are numbered
 * by the kernel in keys, and as gettid() of the attaching process has it in values.
 * Each value is written by one thread at a time: in `workers`, `matrix` and `times` the
 * one of its key; in `switches` and `delays` the holder of the lock of the run queue
 * that the thread is in. Those of key 0 are sums, to which anyone adds atomically: of
 * the workers that have ended, except the last; those of key COUNT_OTHERS are of other
 * threads, likewise.
 */
#ifndef SKUA_BPF_PROGRAMS_COUNT_H
#define SKUA_BPF_PROGRAMS_COUNT_H

#include <linux/types.h>

/* Threads and pairs beyond these are counted as lost. */
#define COUNT_THREADS 4096
#define COUNT_PAIRS   16384

/* Threads that have ended and still have values of their own. */
#define COUNT_ENDED 1024

/* The key of others, in `switches` and `delays`. */
#define COUNT_OTHERS 0xffffffffu

/* Times: [i] counts those of 2^i ns up to 2^(i + 1), the last all beyond. */
#define COUNT_OCTAVES 40

/* The cookie of a probe: what has been met. */
enum count_probe {
	COUNT_STEAL,
	COUNT_STEAL_FAIL,
	COUNT_PARK,
	COUNT_UNPARK,
	COUNT_LIFO_FLUSH,
	COUNT_OVERFLOW,
	COUNT_PROBES
};

/* `workers`, by thread. */
struct count_worker {
	__u32 process;
	__u32 thread;
	__u32 worker;
	__u32 ended; /* it has; of key 0: how many are in it */
	__u64 steals;
	__u64 tasks_stolen;
	__u64 steal_ns; /* looking, before */
	__u64 searches_failed;
	__u64 looks; /* of those, into queues */
	__u64 parks;
	__u64 unparks;
	__u64 parked_ns; /* before those */
	__u64 lifo_hits;
	__u64 lifo_polls; /* of tasks, those hits among them */
	__u64 overflows;
	__u64 tasks_overflowed;
};

/* `times`, by thread. */
struct count_times {
	__u64 steal[COUNT_OCTAVES];  /* looking, before a steal */
	__u64 parked[COUNT_OCTAVES]; /* asleep, before an unpark */
};

/* `matrix`: the key, of the thread of the thief. */
struct count_pair {
	__u32 thread;
	__u32 thief;
	__u32 victim;
};

struct count_steals {
	__u64 steals;
	__u64 tasks;
};

/* `switches`, by thread, of all threads of a process. */
struct count_switches {
	__u32 process;
	__u32 thread;
	__u32 ended;       /* likewise */
	__u32 was_worker;  /* and has ended */
	__u64 voluntary;   /* switches, to sleep */
	__u64 involuntary; /* though it could have run on: it was preempted */
	__u64 unseen; /* of those: nobody saw it come back, nor for how long */
	__u64 preempted_ns;
	__u64 slept_ns;
	__u64 wakes;
	__u64 wake_ns; /* from being woken to running */
	/* Of what it is off the CPU for. */
	__u64 left_ns;
	__u64 woken_ns; /* 0: it was not */
	__u64 preempted;
};

/* `delays`, by thread, likewise. */
struct count_delays {
	__u64 preempted[COUNT_OCTAVES];
	__u64 wake[COUNT_OCTAVES];
};

#endif
