/* SPDX-License-Identifier: MIT */
/**
 * sentinel.h - the one parked worker that sleeps with a deadline
 *
 * Some things come due while nobody looks: a timer of a worker that is in a
 * long poll or asleep, and a task in the LIFO slot of a worker in a long poll,
 * which nobody else may take at once (it would make ping-pong slower) and
 * nobody would ever take if all others slept. So while there is a timer, or
 * somebody runs, one parked worker sleeps with a deadline: the sentinel. It
 * looks, and sleeps again. All others sleep until they are woken. When all
 * have been parked for a while, and there is no timer, there is no sentinel
 * either, and no wake-up at all.
 *
 * How it is made to look, and when it gives the role up, are the rules I6 and
 * I7 of core/idle/IDLE.md. A sentinel that finds the slots empty looks ever less
 * often, and says so when it has become slow.
 *
 * The deadline of the LIFO slots is the one timeout in the system that is not
 * asked for by the user. A task is ripe when it was seen in a slot, with the same
 * count of polls, across the whole delay. A look takes all ripe tasks, as a steal
 * from several victims would: the sentinel runs one, and its local queue holds the
 * others. The next sentinel inherits the observations, with their times.
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

/* The last observation of a worker by a sentinel. */
struct sentinel_sight {
	void *item;        /* in the LIFO slot */
	uint64_t polls;    /* counted by then */
	uint64_t since_ns; /* first look that saw both */
};

struct sentinel {
	/*
	 * Index + 1 of the sentinel, 0 if there is none. Writers: workers that
	 * are parked, or awake with nothing to do, from 0; the sentinel, to 0.
	 * Readers: any.
	 */
	alignas(CACHE_PAIR) atomic_u32 holder;
	/* When it looks next. Writer: the sentinel. Readers: threads that add timers. */
	atomic_u64 until_ns;
	/*
	 * Index + 1 of the worker that was summoned last, while there was no
	 * sentinel; 0: it took the role, or passed the summons on. Writers: the thread
	 * that summons; the worker that is summoned; a new sentinel.
	 */
	atomic_u32 summoned;
	/* 1: it looks at the LIFO slots so rarely that a worker which fills one must
	 * tell it. Writer: the sentinel. Readers: owners of slots. */
	atomic_u32 slow;

	/* The sentinel's own; handed on by holder. */
	uint64_t check_ns;   /* when to look at the LIFO slots */
	uint64_t ripe_ns;    /* when the first task seen in one is ripe */
	uint64_t delay_ns;   /* between two such looks */
	uint64_t checked_ns; /* the last look */
	uint32_t quiet;      /* looks in a row at which nobody was awake */
	bool short_polls;    /* of some worker, before the last look */
	struct sentinel_sight *sights; /* one a worker, the runtime's memory */
};

void sentinel_init(struct sentinel *sentinel, struct sentinel_sight *sights);

/* sentinel_summon - make a parked worker look, if there is one; any thread */
void sentinel_summon(struct pool *pool);

/* sentinel_filled - after an empty LIFO slot was filled, by its owner */
void sentinel_filled(struct worker *w);

/**
 * sentinel_enter - until when may a parked worker sleep?
 *
 * Takes the role if nobody has it and there is something to look after.
 * Return: a time, or SENTINEL_NEVER.
 */
uint64_t sentinel_enter(struct worker *w);

/**
 * sentinel_check - the deadline came: take the ripe tasks out of the LIFO slots
 *
 * As far as there is room in the local queue of @w. By the sentinel, which then
 * leaves its sleep or search by I3: that tells others of the queue.
 * Return: one of them, which is not in the queue; or NULL.
 */
struct skua_task *sentinel_check(struct worker *w);

/* sentinel_watch - by a worker that is awake and has nothing to do: mind the
 * LIFO slots, if nobody else does; as sentinel_check() */
struct skua_task *sentinel_watch(struct worker *w, uint64_t now_ns);

/* sentinel_leave - the worker has something to do: pass the role on to a parked
 * worker, or the summons to it; after a fence (I7) */
void sentinel_leave(struct worker *w);

#endif
