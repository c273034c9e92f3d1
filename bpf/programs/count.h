/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/**
 * count.h - values of the maps in which programs count what workers do
 *
 * Readers of the maps, among them bpftool, see these names. Keys contain the
 * kernel's numbers of threads; values contain the numbers that gettid() returns
 * in the namespace of the attaching process.
 *
 * Each value has one writer at a time. In `workers`, `matrix` and `times` this
 * is the thread of the key; in `switches` and `delays` the holder of the lock
 * of the run queue that the thread is in. The value of key 0 is a sum over
 * workers that have ended, except the last COUNT_ENDED ones; any program adds
 * to it atomically. The value of key COUNT_OTHERS is such a sum over threads
 * that were no workers.
 */
#ifndef SKUA_BPF_PROGRAMS_COUNT_H
#define SKUA_BPF_PROGRAMS_COUNT_H

#include <linux/types.h>

/* Threads and pairs that do not fit are counted in `lost`. */
#define COUNT_THREADS 4096
#define COUNT_PAIRS   16384

/* Ended threads that keep values of their own. */
#define COUNT_ENDED 1024

/* The key of threads that were no workers, in `switches` and `delays`. */
#define COUNT_OTHERS 0xffffffffu

/* Histograms: element i counts times from 2^i ns up to 2^(i + 1) ns; the last
 * element counts all longer ones, too. */
#define COUNT_OCTAVES 40

/* The cookie of a probe, which tells the program which probe was hit. */
enum count_probe {
	COUNT_STEAL,
	COUNT_STEAL_FAIL,
	COUNT_PARK,
	COUNT_UNPARK,
	COUNT_LIFO_FLUSH,
	COUNT_OVERFLOW,
	COUNT_PROBES
};

/* The values of `workers`, whose key is a thread. */
struct count_worker {
	__u32 process;
	__u32 thread;
	__u32 worker;
	__u32 ended; /* not 0: it has ended; key 0: how many have */
	__u64 steals;
	__u64 tasks_stolen;
	__u64 steal_ns; /* searching, before these steals */
	__u64 searches_failed;
	__u64 looks; /* queues checked, in searches that failed */
	__u64 parks;
	__u64 unparks;
	__u64 parked_ns; /* asleep, before these unparks */
	__u64 lifo_hits;
	__u64 lifo_polls; /* polls of tasks, including those hits */
	__u64 overflows;
	__u64 tasks_overflowed;
};

/* The values of `times`, whose key is a thread. */
struct count_times {
	__u64 steal[COUNT_OCTAVES];  /* searching, before a steal */
	__u64 parked[COUNT_OCTAVES]; /* asleep, before an unpark */
};

/* The keys of `matrix`. @thread is the thief's thread. */
struct count_pair {
	__u32 thread;
	__u32 thief;
	__u32 victim;
};

struct count_steals {
	__u64 steals;
	__u64 tasks;
};

/* The values of `switches`, whose key is a thread: all threads of a process. */
struct count_switches {
	__u32 process;
	__u32 thread;
	__u32 ended;       /* as in struct count_worker */
	__u32 was_worker;  /* a worker that has ended */
	__u64 voluntary;   /* switches of a thread that went to sleep */
	__u64 involuntary; /* preemptions: it could have run on */
	__u64 unseen;      /* of these: end not seen; not in preempted_ns */
	__u64 preempted_ns;
	__u64 slept_ns;
	__u64 wakes;
	__u64 wake_ns; /* from the wake-up to running */
	/* The switch since which it is off the CPU. */
	__u64 left_ns;
	__u64 woken_ns; /* 0: not woken yet */
	__u64 preempted;
};

/* The values of `delays`, whose key is a thread, as in `switches`. */
struct count_delays {
	__u64 preempted[COUNT_OCTAVES];
	__u64 wake[COUNT_OCTAVES];
};

#endif
