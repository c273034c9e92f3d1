/* SPDX-License-Identifier: MIT */
/**
 * work_map.h - the workers that may have work for others, a line a group
 *
 * A thief reads a line for each group of workers (topology/llc_groups.h), and
 * goes to those queues alone that it names. A bit is set before its owner tells
 * anybody of work, and cleared when the owner has found its queue empty and looks
 * for work elsewhere: it may be set in vain, and is never missing.
 *
 * That of tasks is also cleared by a thief that finds the queue empty, or leaves it
 * so: else those who come by go to each queue that had tasks once, which in
 * simulation (bench/simulator) was most of what they did. The owner therefore looks
 * at the bit itself, behind a fence; the thief looks at the queue again (I9). Bits of
 * jobs are their owner's alone, which knows them.
 */
#ifndef SKUA_CORE_QUEUE_WORK_MAP_H
#define SKUA_CORE_QUEUE_WORK_MAP_H

#include <stdalign.h>

#include "core/base/atomic.h"

enum work_kind { WORK_TASKS, WORK_JOBS, WORK_KINDS };

/*
 * Bit i: the owner of that bit may have such work. Writers: each its own bit; of
 * tasks, thieves too. Readers: any.
 */
struct work_line {
	alignas(CACHE_PAIR) atomic_u64 bits[WORK_KINDS];
};

struct work_map {
	struct work_line *lines; /* the runtime's memory */
	unsigned count;
};

static inline void work_map_init(struct work_map *map, struct work_line *lines,
				 unsigned count)
{
	map->lines = lines;
	map->count = count;
	for (unsigned i = 0; i < count; i++) {
		for (unsigned k = 0; k < WORK_KINDS; k++)
			atomic_init(&lines[i].bits[k], 0);
	}
}

/* An owner's bit, and whether that of jobs is set, as the owner knows. */
struct work_flag {
	struct work_line *line;
	uint64_t bit;
	bool jobs;
};

static inline void work_flag_init(struct work_flag *flag, struct work_map *map,
				  unsigned line, unsigned bit)
{
	*flag = (struct work_flag){ &map->lines[line], UINT64_C(1) << bit,
				    false };
}

static inline bool work_flag_is_set_owner(const struct work_flag *flag,
					  enum work_kind kind)
{
	/* Relaxed: of raising, ordered by its fence; of lowering, what is missed
	 * is left set in vain. */
	return kind == WORK_JOBS
		       ? flag->jobs
		       : atomic_load_relaxed(&flag->line->bits[kind]) &
				 flag->bit;
}

/**
 * work_flag_raise_owner - there is work; before the owner tells of it
 *
 * Of tasks it is a fence as well: between what made them visible and what the owner
 * looks at next (I1).
 */
static inline void work_flag_raise_owner(struct work_flag *flag,
					 enum work_kind kind)
{
	/* I9. Orders the push before the look at the bit. Pairs with the fence in
	 * work_map_pass_by(). */
	if (kind == WORK_TASKS)
		atomic_fence_seq_cst();
	if (__builtin_expect(work_flag_is_set_owner(flag, kind), true))
		return;
	/* Relaxed: ordered by the fence below; of jobs, by that of the thread that
	 * tells of them (F1). */
	atomic_fetch_or_relaxed(&flag->line->bits[kind], flag->bit);
	/* I1. Orders the bit before the look at searchers and sleepers.
	 * Pairs with the fences in idle_park_begin() and idle_leave_search(). */
	if (kind == WORK_TASKS)
		atomic_fence_updated_seq_cst();
	else
		flag->jobs = true;
}

/* work_flag_lower_owner - there is none, and only the owner could add some */
static inline void work_flag_lower_owner(struct work_flag *flag,
					 enum work_kind kind)
{
	if (!work_flag_is_set_owner(flag, kind))
		return;
	if (kind == WORK_JOBS)
		flag->jobs = false;
	/* Relaxed: a thread that still sees it looks in vain. */
	atomic_fetch_and_relaxed(&flag->line->bits[kind], ~flag->bit);
}

/* work_map_pass_by - a thief saw that queue empty; it must look again, and call
 * work_map_return() if it is not any more */
static inline void work_map_pass_by(const struct work_map *map, unsigned line,
				    unsigned bit)
{
	/* Relaxed: ordered by the fence. */
	atomic_fetch_and_relaxed(&map->lines[line].bits[WORK_TASKS],
				 ~(UINT64_C(1) << bit));
	/* I9. Orders the bit before the look at the queue. Pairs with the fence
	 * in work_flag_raise_owner(). */
	atomic_fence_updated_seq_cst();
}

/* work_map_return - it has tasks after all */
static inline void work_map_return(const struct work_map *map, unsigned line,
				   unsigned bit)
{
	/* Relaxed: ordered by the fence. */
	atomic_fetch_or_relaxed(&map->lines[line].bits[WORK_TASKS],
				UINT64_C(1) << bit);
	/* I9. A thread that saw no bit meanwhile has left its work to the caller.
	 * Orders that before all that the caller looks at from now on. */
	atomic_fence_updated_seq_cst();
}

/* work_map_read - the bits of a line; as a hint, or after a fence (I2, I3) */
static inline uint64_t work_map_read(const struct work_map *map, unsigned line,
				     enum work_kind kind)
{
	/* Relaxed: a thread that must not miss a bit has fenced; the queue itself
	 * tells the rest. */
	return atomic_load_relaxed(&map->lines[line].bits[kind]);
}

#endif
