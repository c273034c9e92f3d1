/* SPDX-License-Identifier: MIT */
/**
 * sentinel.h - the one parked worker that sleeps with a deadline
 *
 * Some things come due while no worker checks for them: a timer of a worker that
 * sleeps or is in a long poll, and a task in the LIFO slot of a worker in a long
 * poll. Other workers may not take that task at once, because that would make
 * ping-pong slower; and if all of them slept, none would ever take it. So while
 * there is a timer, or a worker runs, one parked worker sleeps with a deadline:
 * the sentinel. It checks timers and slots, and sleeps again. All other workers
 * sleep until they are woken. When all workers have been parked for a while, and
 * there is no timer, there is no sentinel either, and no wake-up at all.
 *
 * While descriptors are attached, the sentinel also looks for events of all groups. It
 * takes the role of leader from a worker in a long poll: for itself in its own group, for a
 * parked worker in another group (core/driver/driver.h). It also submits operations on files
 * that have waited in their queue for too long (pool.submit_due_ns).
 *
 * Rules I6, I7 and I12 of core/idle/IDLE.md say how it is made to check, and when
 * it gives up the role. A sentinel that finds the slots empty checks less and less
 * often, and sets `slow` when its delay has become long.
 *
 * The deadline of the LIFO slots is the only timeout that the user has not asked
 * for. A task is ripe when the sentinel has seen it in a slot across the whole
 * delay, with the same count of the owner's polls. A check takes all ripe tasks,
 * as a steal from several victims would: the sentinel runs one, and its local
 * queue holds the others. The next sentinel inherits the observations, with their times.
 */
#ifndef SKUA_CORE_LOOP_SENTINEL_H
#define SKUA_CORE_LOOP_SENTINEL_H

#include <stdalign.h>
#include <stdbool.h>

#include "core/base/atomic.h"

#define SENTINEL_NEVER UINT64_MAX

struct pool;
struct skua_task;
struct worker;

/* The last observation of a worker's LIFO slot by a sentinel. */
struct sentinel_sight {
	void *item;        /* the task in the slot */
	uint64_t polls;    /* the worker's count of polls then */
	uint64_t since_ns; /* time of the first check that saw both */
	bool claimed;      /* the check under way is about to take it */
};

struct sentinel {
	/*
	 * Index + 1 of the sentinel, 0 if there is none. Writers: a worker that
	 * is parked, or awake with nothing to do, from 0; the sentinel, to 0.
	 * Readers: any thread.
	 */
	alignas(CACHE_PAIR) atomic_u32 holder;
	/* When the sentinel checks next, in monotonic time. Writer: the
	 * sentinel. Readers: threads that publish a timer's deadline. */
	atomic_u64 until_ns;
	/* 1: the sentinel checks so rarely, or not at all, that a worker which
	 * fills an empty LIFO slot, or a leader that leaves the driver, must
	 * summon it. Writer: the sentinel. Readers: these workers; the
	 * sentinel. */
	atomic_u32 slow;

	/* Accessed by the sentinel only; handed on by the release and acquire
	 * of holder. */
	uint64_t check_ns;   /* when to check the LIFO slots */
	uint64_t ripe_ns;    /* when the first task seen is ripe */
	uint64_t delay_ns;   /* between two such checks */
	uint64_t checked_ns; /* time of last check */
	uint32_t quiet;      /* checks in a row with all parked */
	uint32_t quiet_max;  /* the sentinel stops checking after these */
	uint64_t stopped_ns; /* when it did; 0: it has not */
	bool short_polls;    /* a worker's polls were short before the
				        * last check */
	struct sentinel_sight *sights; /* one per worker; in runtime memory */
};

void sentinel_init(struct sentinel *sentinel, struct sentinel_sight *sights);

/* sentinel_summon - end the park of the sentinel, or, if there is none, of
 * another parked worker, so that it checks deadlines. Threads: any. */
void sentinel_summon(struct pool *pool);

/* sentinel_summon_leader - end the park of a worker of @group, so that it takes the role of
 * leader if nobody has it, and that of sentinel if it is missing. If none is parked there,
 * make the sentinel, or a parked worker that becomes it, look for events of the group. The
 * caller has fenced. */
void sentinel_summon_leader(struct pool *pool, unsigned group);

/* sentinel_pass_lead - let another worker of the group take the role of the leader, if that is
 * the better one, and is parked. Called by @w, which is parked, before it takes the role or
 * keeps it. Return: false if @w may have the role */
bool sentinel_pass_lead(struct worker *w);

/* sentinel_summoned_in_vain - if @w was summoned, and has not become the sentinel, make the
 * sentinel look for events of its group. Called by @w, which is parked and has pollers, so
 * that it cannot lead. */
void sentinel_summoned_in_vain(struct worker *w);

/* sentinel_filled - summon the sentinel if it must know that @w has filled its LIFO slot,
 * which was empty, or has queued operations on files. Called by @w. Finds out whether there
 * is a sentinel only once after each park (I7). */
void sentinel_filled(struct worker *w);

/* sentinel_watches_slots - does the sentinel check LIFO slots? Then it checks while any
 * worker runs, also without descriptors. */
bool sentinel_watches_slots(const struct pool *pool);

/* sentinel_is - is @w, which calls this, the sentinel? */
bool sentinel_is(const struct worker *w);

/**
 * sentinel_enter - return until when the parked worker @w may sleep
 *
 * Takes the role of sentinel if no worker has it and there is a timer or a LIFO
 * slot to check.
 * Return: monotonic time; SENTINEL_NEVER: no deadline.
 */
uint64_t sentinel_enter(struct worker *w);

/**
 * sentinel_check - take the ripe tasks out of the LIFO slots, and watch the leader
 *
 * @now_ns: the time of the check. A look for events that has this time does not count, at the
 * next check, as the look of another worker
 *
 * Called by the sentinel, after its sleep or in a search. Takes as many tasks
 * as its local queue has room for, plus one. The sentinel then ends its sleep
 * or search as I3 says, which wakes a worker for its queue. The same holds if the
 * sentinel has submitted operations on files, and tasks that waited for some of
 * them are in its LIFO slot or queue now.
 * Return: one of the tasks, which is not in the queue; NULL if none was taken.
 */
struct skua_task *sentinel_check(struct worker *w, uint64_t now_ns);

/* sentinel_watch - check the LIFO slots as sentinel_check() does, if the check
 * is due and no other worker is the sentinel. Called by a worker that is awake
 * and has nothing to do. */
struct skua_task *sentinel_watch(struct worker *w, uint64_t now_ns);

/* sentinel_leave - if the calling worker is the sentinel, or is summoned, pass
 * the role or the summons on to a parked worker. Called when the worker has
 * something to do, after a fence (I7). */
void sentinel_leave(struct worker *w);

#endif
