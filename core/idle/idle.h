/* SPDX-License-Identifier: MIT */
/**
 * idle.h - which workers search, which are parked, and which of them to wake
 *
 * core/idle/IDLE.md describes the protocol, its invariants and the proof that
 * no wake-up is lost. The code cites its rules as I1 to I12.
 */
#ifndef SKUA_CORE_IDLE_IDLE_H
#define SKUA_CORE_IDLE_IDLE_H

#include <stdalign.h>

#include "core/base/atomic.h"
#include "core/idle/parker.h"
#include "core/idle/summary.h"
#include "topology/llc_groups.h"

#define IDLE_MAX_WORKERS 4096u
/* So many tasks are many: the last searcher that leaves them behind wakes a worker
 * of another group as well (I3). A guess, retuned by bench/simulator, workloads
 * `once` and `burst`: with 8, a burst of 64 tasks reaches twice as many groups; with
 * 32, one of 1,000 tasks takes nine steps to reach 64 groups instead of eight. */
#ifdef SKUA_EXPLORE
#define IDLE_MANY 1u
#else
#define IDLE_MANY 16u
#endif

struct idle_sleeper {
	alignas(CACHE_PAIR) struct parker parker;
	/* When a waker claimed this worker. Writer: the waker. Reader: the
	 * sleeper. */
	atomic_u64 claimed_ns;
	/* The thread that claimed this worker; 0: none. Set only while a tracer
	 * or the recorder asks for it. Writers: the sleeper, to 0 before it
	 * parks; the waker. */
	atomic_u32 claimed_by;
	/* The CPU on which it went to sleep, + 1; 0: unknown. A hint. Writer:
	 * the sleeper. Readers: wakers. */
	atomic_u32 cpu;
	/* Until when its bit of avoided holds. A hint. Writer: the sleeper.
	 * Readers: wakers. */
	atomic_u64 avoid_until_ns;
	/* How many tasks the waker that claimed this worker knew of, halved; 0:
	 * few (I3). A hint. Writer: the waker. Reader: the sleeper. */
	atomic_u32 told;
	/* The time from a claim to its first step, a moving mean. The
	 * sleeper's own. */
	uint64_t wake_cost_ns;
};

/* Workers that share a cache. A waker checks its own group first. */
struct idle_group {
	/*
	 * Bit i: the worker with bit i in the group sleeps, or is about to, and
	 * may be woken. Writers: the worker sets and clears its bit, a waker
	 * clears it; the previous value tells which of the two cleared it.
	 * Readers: wakers.
	 */
	alignas(CACHE_PAIR) atomic_u64 parked;
	/*
	 * The number of workers of the group that search, including woken
	 * workers that do not run yet. Writers: searchers for themselves,
	 * wakers for the workers that they wake. Readers: producers. At most
	 * the number of workers, plus one for each waker at work.
	 */
	atomic_u64 searching;
	/*
	 * Index + 1 of the worker that parked last; 0 at first. Its caches are
	 * the warmest, so wakers try it first. A hint. Writers: workers that
	 * park. Readers: wakers.
	 */
	atomic_u32 first_choice;
	/*
	 * Index + 1 of the worker that wakers claim after all others of the
	 * group, except those on the waker's CPU: the group's leader
	 * (core/driver/driver.h), or else the sentinel (core/loop/sentinel.h),
	 * if it is in the group; 0: none. A hint. Writers: these two. Readers:
	 * wakers.
	 */
	atomic_u32 last_choice;
	/*
	 * Index + 1 of the worker that was claimed last, until it takes its
	 * first step; 0: none. A hint. Writers: wakers, that worker. Readers:
	 * threads that push to the queues of the group.
	 */
	atomic_u32 waking;
	/*
	 * Bit i: the CPU of the worker with bit i in the group was busy with
	 * another thread when the worker was last woken. A hint. Writer: that
	 * worker. Readers: wakers.
	 */
	atomic_u64 avoided;
	/*
	 * The last time when a searcher of the group showed that it has a CPU,
	 * or was claimed. Wakers trust the count of searchers for a lease from
	 * then on. It is on another line than the fields above: searchers write
	 * it, while producers read those. Writers: searchers, wakers. Readers:
	 * workers at the end of a tick.
	 */
	alignas(CACHE_PAIR) atomic_u64 lease_ns;
	/*
	 * The measured time of a wake-up in the group. It is beside lease_ns,
	 * because those who read one read the other, too. Writers: sleepers
	 * that wake, when their own mean differs by more than an eighth.
	 * Readers: searchers, workers at the end of a tick.
	 */
	atomic_u64 wake_cost_ns;
};

struct idle {
	/*
	 * Bit g of word g / 64: workers of group g may be parked. The bit may
	 * be set although none is. Writers: a worker that parks sets it, a
	 * waker that finds none parked clears it. Readers: wakers.
	 */
	alignas(CACHE_PAIR) atomic_u64 sleepy[SUMMARY_WORDS(IDLE_MAX_WORKERS)];
	/* 1: wakers write their thread into claimed_by. Writers: workers, when
	 * the recorder was switched on or off (telemetry_check()). Readers:
	 * wakers. */
	atomic_u32 note_wakers;

	/* Constant after idle_init(). The memory is the caller's. Every push
	 * reads these fields, so nothing beside them is written often. */
	alignas(CACHE_PAIR) const struct llc_groups *groups;
	unsigned group_count;
	struct idle_group *by_group;
	struct idle_sleeper *sleepers; /* one for each worker */
	/* sharing_cpus: workers that share a CPU, although each had one of its
	 * own. quota_limited: 1 while control groups grant less CPU time than
	 * there are CPUs. Writers: workers that recheck their affinity
	 * (core/runtime/affinity.h). Readers: searchers. */
	atomic_u32 sharing_cpus;
	atomic_u32 quota_limited;
};

/**
 * idle_init - initialise; no worker is parked or searches
 * @by_group: one for each of @groups; the caller's memory
 * @sleepers: one for each of their workers; the caller's memory
 */
void idle_init(struct idle *idle, const struct llc_groups *groups,
	       struct idle_group *by_group, struct idle_sleeper *sleepers);

/* idle_wake_cost_ns - return the measured time of a wake-up in @group, in ns; an
 * estimate */
static inline uint64_t idle_wake_cost_ns(const struct idle *idle,
					 unsigned group)
{
	/* Relaxed: any recent value will do. */
	return atomic_load_relaxed(&idle->by_group[group].wake_cost_ns);
}

/* idle_oversubscribed - do workers share CPUs now, or do they have less CPU time
 * than CPUs? Then a worker that spins takes CPU time from another one. */
static inline bool idle_oversubscribed(const struct idle *idle)
{
	/* Relaxed: any recent value will do. */
	return atomic_load_relaxed(&idle->sharing_cpus) != 0 ||
	       atomic_load_relaxed(&idle->quota_limited) != 0;
}

/* idle_group_of - return the group of worker @i */
static inline unsigned idle_group_of(const struct idle *idle, unsigned i)
{
	return idle->groups->places[i].group;
}

/* idle_group_of_caller - return the group that is nearest to the calling
 * thread's CPU */
unsigned idle_group_of_caller(const struct idle *idle);

/* idle_group_here - return the group that is nearest to the calling thread,
 * which is no worker */
static inline unsigned idle_group_here(const struct idle *idle)
{
	return idle->group_count == 1 ? 0 : idle_group_of_caller(idle);
}

/* idle_try_search - make worker @i a searcher, unless half of its group search
 * already. Return: is it one? */
bool idle_try_search(struct idle *idle, unsigned i);

/**
 * idle_leave_search - stop searching as worker @i, which has work in hand
 *
 * Return: true if it was the last searcher of its group. It must then check for
 * work that other workers could take, and call idle_wake() if there is some
 * (I3).
 */
bool idle_leave_search(struct idle *idle, unsigned i);

/**
 * idle_park_begin - announce that worker @i is going to sleep
 * @searching: the caller is a searcher, and stops being one
 *
 * The caller then checks all queues once more (I2). If it finds work, it calls
 * idle_park_cancel(); otherwise it sleeps while idle_parked().
 */
void idle_park_begin(struct idle *idle, unsigned i, bool searching);

/* idle_park_cancel - keep worker @i awake, as a searcher, because it found
 * work */
void idle_park_cancel(struct idle *idle, unsigned i);

/**
 * idle_parked - is worker @i still parked?
 *
 * If not, a waker has claimed it and counted it as a searcher. The worker
 * sleeps on its parker for as long as this is true.
 */
static inline bool idle_parked(const struct idle *idle, unsigned i)
{
	const struct llc_place *place = &idle->groups->places[i];

	/* Acquire: the waker counted this worker before it cleared the bit.
	 * Pairs with the release in claim_worker(). */
	return atomic_load_acquire(&idle->by_group[place->group].parked) >>
		       place->bit &
	       1;
}

/* idle_begun - worker @i, which was claimed, takes its first step */
void idle_begun(struct idle *idle, unsigned i);

/* idle_woken - record how long a wake-up took: worker @i slept, was claimed,
 * and woke at @now_ns */
void idle_woken(struct idle *idle, unsigned i, uint64_t now_ns);

/* idle_delayed - record that worker @i was claimed @delay_ns before @now_ns, when
 * it took its first step */
void idle_delayed(struct idle *idle, unsigned i, uint64_t delay_ns,
		  uint64_t now_ns);

/* idle_claimed_ns - return when worker @i was claimed last; a hint */
static inline uint64_t idle_claimed_ns(const struct idle *idle, unsigned i)
{
	/* Relaxed: a statistic. */
	return atomic_load_relaxed(&idle->sleepers[i].claimed_ns);
}

/* idle_waker - return the thread that woke worker @i, for probe_unpark() and
 * the recorder; 0 if neither wanted it when the worker was woken */
uint32_t idle_waker(const struct idle *idle, unsigned i);

/* idle_any_sleepy - may any worker be parked? Reads the summary alone (I8). The
 * caller has fenced. */
bool idle_any_sleepy(const struct idle *idle);

/* idle_claim_last - let wakers claim worker @i after all others of its group, except those
 * on the waker's CPU; a hint */
static inline void idle_claim_last(struct idle *idle, unsigned i)
{
	atomic_u32 *last = &idle->by_group[idle_group_of(idle, i)].last_choice;

	/* Relaxed, both: a hint. Write only a change, as wakers read the line. */
	if (atomic_load_relaxed(last) != i + 1)
		atomic_store_relaxed(last, i + 1);
}

/* idle_claim_none_last - let wakers treat all workers of @group alike; a hint */
static inline void idle_claim_none_last(struct idle *idle, unsigned group)
{
	/* Relaxed: as in idle_claim_last(). */
	atomic_store_relaxed(&idle->by_group[group].last_choice, 0);
}

/* idle_first_parked_in - return the index of any parked worker of @group, or -1. The
 * caller has fenced; without a fence, the result is a hint. */
int idle_first_parked_in(const struct idle *idle, unsigned group);

/* idle_sleeps_on - did worker @i last go to sleep on CPU @cpu? A hint. */
bool idle_sleeps_on(const struct idle *idle, unsigned i, unsigned cpu);

/* idle_find_on - return a worker of @group that last went to sleep on CPU @cpu, or -1. A
 * hint. */
int idle_find_on(const struct idle *idle, unsigned group, unsigned cpu);

/* idle_at_work - return the number of workers that neither search nor are
 * parked, or 0 if some of them change their states
 *
 * The caller has fenced. A worker that is being claimed may count as at work. */
unsigned idle_at_work(const struct idle *idle);

/* idle_all_parked - is every worker parked? The caller has fenced; without a
 * fence, the result is a hint. */
bool idle_all_parked(const struct idle *idle);

/**
 * idle_wake - wake one parked worker, unless a worker searches already
 * @group: the caller's; its parked workers come first, then the nearest group's
 *
 * The caller has fenced. Wakes none if a worker of @group searches, or if one
 * searches in each group that has a parked worker. It reads the line of @group;
 * if that group has none to wake, the line of idle->sleepy, and one more line
 * for each group that it passes over.
 */
void idle_wake(struct idle *idle, unsigned group);

/**
 * idle_wake_injected - wake a parked worker for work that the caller has pushed to a
 *                      queue of @group, as idle_wake() does, or a second one
 *
 * If the only searcher of @group was claimed, and has not taken its first step yet, it
 * may wait for a CPU, and the caller wakes a second worker of the group (I3). The
 * caller has fenced.
 */
void idle_wake_injected(struct idle *idle, unsigned group);

/**
 * idle_wake_for - wake a worker for tasks that the caller leaves behind, as
 *                 idle_wake() does
 * @tasks: how many they are, as far as the caller knows
 *
 * If they are many, it wakes a worker of the nearest other group as well, in which
 * one is parked and none searches, and tells both workers of half of the tasks
 * (I3). The caller has fenced.
 */
void idle_wake_for(struct idle *idle, unsigned group, uint32_t tasks);

/* idle_told - return how many tasks worker @i was told of when it was claimed; a
 * hint */
static inline uint32_t idle_told(const struct idle *idle, unsigned i)
{
	/* Relaxed: a hint. */
	return atomic_load_relaxed(&idle->sleepers[i].told);
}

/* idle_renew - renew the lease of @group: a searcher of it has a CPU at
 * @now_ns */
void idle_renew(struct idle *idle, unsigned group, uint64_t now_ns);

/**
 * idle_lapsed - do producers of @group wake no worker only because they rely on
 * searchers whose lease has run out by @now_ns? A hint.
 */
bool idle_lapsed(struct idle *idle, unsigned group, uint64_t now_ns);

/**
 * idle_wake_beside - wake one parked worker as idle_wake() does, but do not
 * rely on searchers whose lease has run out by @now_ns
 *
 * These searchers may have no CPU. One more worker is claimed, and the lease
 * begins again (I3).
 */
void idle_wake_beside(struct idle *idle, unsigned group, uint64_t now_ns);

/* idle_sleeps_elsewhere - is any worker parked that would wake up on a CPU
 * other than the caller's? The caller has fenced; without a fence, the result
 * is a hint. */
bool idle_sleeps_elsewhere(const struct idle *idle);

/**
 * idle_wake_worker - wake worker @i if it is parked
 *
 * For work that only this worker can do, so it is woken even if other workers
 * search. The caller has fenced.
 */
void idle_wake_worker(struct idle *idle, unsigned i);

/* idle_notify - wake a worker for work that the caller, a producer, has just
 * made visible (I1) */
static inline void idle_notify(struct idle *idle, unsigned group)
{
	/* Orders the caller's push before the loads of the searchers and the
	 * parked bits in idle_wake(). Pairs with the fences in
	 * idle_park_begin() and idle_leave_search(). */
	atomic_fence_seq_cst();
	idle_wake(idle, group);
}

/* idle_wake_all - wake all parked workers, for example to end them. The caller
 * has fenced. */
void idle_wake_all(struct idle *idle);

#endif
