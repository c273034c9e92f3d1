/* SPDX-License-Identifier: MIT */
/**
 * idle.h - the workers that search, those that sleep, and which to wake
 *
 * The protocol, its invariants and the proof that no wake-up is lost are in
 * core/idle/IDLE.md; the code cites them as I1 to I9.
 */
#ifndef SKUA_CORE_IDLE_IDLE_H
#define SKUA_CORE_IDLE_IDLE_H

#include <stdalign.h>

#include "core/base/atomic.h"
#include "core/idle/parker.h"
#include "topology/llc_groups.h"

#define IDLE_MAX_WORKERS 4096u
#define IDLE_WORD_BITS   64u

struct idle_sleeper {
	alignas(CACHE_PAIR) struct parker parker;
	/* When it was claimed. Writer: the waker. Reader: the sleeper. */
	atomic_u64 claimed_ns;
	/* The thread that claimed it, for a tracer; 0 = nobody has. Writers:
	 * the sleeper, before; the waker. */
	atomic_u32 claimed_by;
	/* The CPU that it went to sleep on, + 1; a hint. Writer: the sleeper.
	 * Readers: wakers. */
	atomic_u32 cpu;
};

/* Workers that share a cache: a waker near them looks here first. */
struct idle_group {
	/*
	 * Bit i: the worker of bit i in the group sleeps, or is about to, and may
	 * be woken. Writers: the worker sets and clears, a waker clears; the value
	 * before tells which of them cleared it. Readers: wakers.
	 */
	alignas(CACHE_PAIR) atomic_u64 parked;
	/*
	 * Workers of the group that look for work, woken ones on their way
	 * included. Writers: searchers for themselves, wakers for whom they
	 * wake. Readers: producers. Bounded by the number of workers plus one
	 * for each waker at work.
	 */
	atomic_u64 searching;
	/*
	 * Index + 1 of the worker that parked last, whose caches are the
	 * warmest: to be woken first. A hint; 0 at first. Writers: workers that park.
	 * Readers: wakers.
	 */
	atomic_u32 first_choice;
	/*
	 * When a searcher of the group was last known to have a CPU, or was
	 * claimed: the count is trusted for a lease from then on. A line of its
	 * own: searchers write it, and producers read the other one. Writers:
	 * searchers, wakers. Readers: workers at the end of a tick.
	 */
	alignas(CACHE_PAIR) atomic_u64 lease_ns;
};

struct idle {
	/*
	 * Bit g of word g / 64: workers of group g may be parked; it may be set
	 * in vain. Writers: a worker that parks sets it, a waker that finds nobody
	 * there clears it. Readers: wakers.
	 */
	alignas(CACHE_PAIR)
		atomic_u64 sleepy[IDLE_MAX_WORKERS / IDLE_WORD_BITS];
	/*
	 * Index + 1 of the worker that wakers choose last, 0 if there is none:
	 * the sentinel (core/loop/sentinel.h). Writers: it. Readers: wakers.
	 */
	atomic_u32 last_choice;
	/* 1: wakers write their thread into claimed_by. Writers: workers that
	 * record, or do no more. Readers: wakers. */
	atomic_u32 note_wakers;

	/*
	 * From a claim to the sleeper's first step, moving mean. Writers:
	 * sleepers that wake. Readers: searchers.
	 */
	alignas(CACHE_PAIR) atomic_u64 wake_cost_ns;
	/* Workers that share a CPU, each of which had one for itself; and 1 while
	 * control groups have less CPU time than CPUs. Writers: workers that check
	 * their affinity (core/runtime/affinity.h). Readers: searchers. */
	atomic_u32 sharing_cpus;
	atomic_u32 quota_limited;

	/* Constant after init; the caller's memory. */
	const struct llc_groups *groups;
	unsigned group_count;
	struct idle_group *by_group;
	struct idle_sleeper *sleepers; /* one a worker */
};

/* idle_init - @by_group has a place for each of @groups, and @sleepers for each
 * of their workers */
void idle_init(struct idle *idle, const struct llc_groups *groups,
	       struct idle_group *by_group, struct idle_sleeper *sleepers);

/* idle_wake_cost_ns - what a sleep and a wake-up take, as far as is known */
static inline uint64_t idle_wake_cost_ns(const struct idle *idle)
{
	/* Relaxed: any recent value will do. */
	return atomic_load_relaxed(&idle->wake_cost_ns);
}

/* idle_oversubscribed - are there fewer CPUs, or less time of them, than workers
 * now? Then a worker that spins takes a CPU from another. */
static inline bool idle_oversubscribed(const struct idle *idle)
{
	/* Relaxed: as above. */
	return atomic_load_relaxed(&idle->sharing_cpus) != 0 ||
	       atomic_load_relaxed(&idle->quota_limited) != 0;
}

/* idle_group_of - the group of worker @i */
static inline unsigned idle_group_of(const struct idle *idle, unsigned i)
{
	return idle->groups->places[i].group;
}

/* idle_group_of_caller - the group that is nearest to the calling thread */
unsigned idle_group_of_caller(const struct idle *idle);

/* idle_group_here - the same, for a thread that is no worker */
static inline unsigned idle_group_here(const struct idle *idle)
{
	return idle->group_count == 1 ? 0 : idle_group_of_caller(idle);
}

/* idle_try_search - worker @i becomes a searcher, if fewer than half of its group
 * are */
bool idle_try_search(struct idle *idle, unsigned i);

/**
 * idle_leave_search - worker @i stops searching, with work in hand
 *
 * Return: true if it was the last searcher of its group: it now has to look for
 * work that others could do and, if there is some, call idle_wake() (I3).
 */
bool idle_leave_search(struct idle *idle, unsigned i);

/**
 * idle_park_begin - announce that worker @i is going to sleep
 * @searching: the caller is a searcher, and stops being one
 *
 * The caller then looks at all queues once more (I2), and calls
 * idle_park_cancel() if it found work; if not, it sleeps while idle_parked().
 */
void idle_park_begin(struct idle *idle, unsigned i, bool searching);

/* idle_park_cancel - worker @i found work and stays awake, as a searcher */
void idle_park_cancel(struct idle *idle, unsigned i);

/**
 * idle_parked - is worker @i still parked?
 *
 * If not, a waker has chosen it, and counted it as a searcher. The worker
 * sleeps on its parker for as long as this is true.
 */
static inline bool idle_parked(const struct idle *idle, unsigned i)
{
	const struct llc_place *place = &idle->groups->places[i];

	/* Acquire: as in idle_park_cancel(). */
	return atomic_load_acquire(&idle->by_group[place->group].parked) >>
		       place->bit &
	       1;
}

/* idle_woken - worker @i was asleep and claimed, and woke at @now_ns: learn
 * what that took */
void idle_woken(struct idle *idle, unsigned i, uint64_t now_ns);

/* idle_waker - the thread that woke worker @i, as probe_unpark() has it; only
 * known while a tracer is attached to that */
uint32_t idle_waker(const struct idle *idle, unsigned i);

/* idle_any_sleepy - may any worker be parked? By the summary (I8), a line; after a
 * fence. */
bool idle_any_sleepy(const struct idle *idle);

/* idle_first_parked - any parked worker, or -1; after a fence, or as a hint */
int idle_first_parked(const struct idle *idle);

/* idle_all_parked - is every worker parked? After a fence, or as a hint. */
bool idle_all_parked(const struct idle *idle);

/**
 * idle_wake - wake a sleeper, unless somebody searches; after a fence
 * @group: of the caller: its sleepers first, and then the nearest
 *
 * Unless somebody of the group searches, or of each group where somebody sleeps. A
 * look takes the line of the caller's group, if that has nobody to wake that of
 * idle->sleepy, and one line more for each group that it passes over.
 */
void idle_wake(struct idle *idle, unsigned group);

/* idle_renew - a searcher of @group has a CPU at @now_ns */
void idle_renew(struct idle *idle, unsigned group, uint64_t now_ns);

/**
 * idle_lapsed - do producers of @group wake nobody because of a searcher whose
 * lease has run out by @now_ns? A hint
 */
bool idle_lapsed(struct idle *idle, unsigned group, uint64_t now_ns);

/**
 * idle_wake_beside - as idle_wake(), also beside searchers whose lease has run out
 *
 * They may have no CPU: one more worker is claimed, and the lease begins again (I3).
 */
void idle_wake_beside(struct idle *idle, unsigned group, uint64_t now_ns);

/* idle_sleeps_elsewhere - is any worker parked that would wake up on another CPU
 * than the caller's? After a fence, or as a hint. */
bool idle_sleeps_elsewhere(const struct idle *idle);

/**
 * idle_wake_worker - wake worker @i, if it sleeps; after a fence
 *
 * For work that only this worker can do, even if others search.
 */
void idle_wake_worker(struct idle *idle, unsigned i);

/* idle_notify - what a producer calls after it made work visible (I1) */
static inline void idle_notify(struct idle *idle, unsigned group)
{
	/* Orders the caller's push before idle_wake()'s look at the searchers
	 * and the parked bits. Pairs with the fences in idle_park_begin() and
	 * idle_leave_search(). */
	atomic_fence_seq_cst();
	idle_wake(idle, group);
}

/* idle_wake_all - wake every sleeper, for example to end; after a fence */
void idle_wake_all(struct idle *idle);

#endif
