/* SPDX-License-Identifier: MIT */
/**
 * work_map.h - which workers may have work for others; a line for each group
 *
 * A thief reads one line for each group of workers (topology/llc_groups.h), and
 * visits only the queues that the line names. The owner of a bit sets it before
 * it notifies other threads of work. It clears the bit when it has found its
 * queue empty and searches for work elsewhere. A bit may be set without work,
 * but is never missing.
 *
 * A thief also clears the tasks bit of a queue that it finds empty or leaves
 * empty. Otherwise each later thief would visit all queues that had tasks once;
 * in simulation (bench/simulator), thieves did little else. Therefore the owner
 * checks its bit after a fence, and the thief checks the queue again (I9). Only
 * the owner writes its jobs bit, and so it knows the bit without reading it.
 */
#ifndef SKUA_CORE_QUEUE_WORK_MAP_H
#define SKUA_CORE_QUEUE_WORK_MAP_H

#include <stdalign.h>

#include "core/base/atomic.h"

enum work_kind {
	WORK_TASKS,
	WORK_JOBS,
	WORK_INJECTED, /* of the group: see inject_group.h */
	WORK_KINDS
};

/*
 * Bit i: the owner of that bit may have work of this kind; of WORK_INJECTED:
 * queue i of the group may. Writers: each owner its own bit; thieves, too, the
 * bits of tasks; of WORK_INJECTED, threads that push to the group's queues, and
 * thieves of other groups. Readers: any thread.
 */
struct work_line {
	alignas(CACHE_PAIR) atomic_u64 bits[WORK_KINDS];
	/* Bit i: this thread sleeps in a join, and would take a job
	 * (core/fork_join/team.h). Writers: the thread; a waker clears the bit,
	 * and the previous value tells which waker did. Readers: threads that
	 * have made jobs public. */
	atomic_u64 asleep;
};

struct work_map {
	struct work_line *lines; /* memory of the runtime */
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
		atomic_init(&lines[i].asleep, 0);
	}
}

/* An owner's bit. @jobs: the owner's copy of its jobs bit. */
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
	/* Relaxed: work_flag_raise_owner() has a fence before this load. If
	 * work_flag_lower_owner() misses a bit, the bit stays set without work. */
	return kind == WORK_JOBS
		       ? flag->jobs
		       : atomic_load_relaxed(&flag->line->bits[kind]) &
				 flag->bit;
}

/**
 * work_flag_raise_owner - note that there is work, before the owner notifies
 *
 * For tasks it is a fence as well, between the stores that made the tasks
 * visible and the owner's next checks (I1).
 */
static inline void work_flag_raise_owner(struct work_flag *flag,
					 enum work_kind kind)
{
	/* I9. Orders the push before the check of the bit. Pairs with the fence
	 * in work_map_pass_by(). */
	if (kind == WORK_TASKS)
		atomic_fence_seq_cst();
	if (__builtin_expect(work_flag_is_set_owner(flag, kind), true))
		return;
	/* Relaxed: for tasks, ordered by the fence below; for jobs, by the
	 * fence of the thread that notifies, in team_notify() (F1). */
	atomic_fetch_or_relaxed(&flag->line->bits[kind], flag->bit);
	/* I1. Orders the bit before the check for searchers and sleepers. Pairs
	 * with the fences in idle_park_begin() and idle_leave_search(). */
	if (kind == WORK_TASKS)
		atomic_fence_updated_seq_cst();
	else
		flag->jobs = true;
}

/* work_flag_lower_owner - note that there is no work; only the owner could have
 * added some meanwhile */
static inline void work_flag_lower_owner(struct work_flag *flag,
					 enum work_kind kind)
{
	if (!work_flag_is_set_owner(flag, kind))
		return;
	if (kind == WORK_JOBS)
		flag->jobs = false;
	/* Relaxed: a thread that still sees the bit searches in vain. */
	atomic_fetch_and_relaxed(&flag->line->bits[kind], ~flag->bit);
}

/* work_map_pass_by - clear the tasks bit of a queue that the calling thief saw
 * empty. The caller must check the queue again, and call work_map_return() if
 * it is not empty any more. */
static inline void work_map_pass_by(const struct work_map *map, unsigned line,
				    unsigned bit)
{
	/* Relaxed: ordered by the fence below. */
	atomic_fetch_and_relaxed(&map->lines[line].bits[WORK_TASKS],
				 ~(UINT64_C(1) << bit));
	/* I9. Orders the bit before the second check of the queue. Pairs with
	 * the fence in work_flag_raise_owner(). */
	atomic_fence_updated_seq_cst();
}

/* work_map_return - set the bit again: the queue has tasks after all */
static inline void work_map_return(const struct work_map *map, unsigned line,
				   unsigned bit)
{
	/* Relaxed: ordered by the fence below. */
	atomic_fetch_or_relaxed(&map->lines[line].bits[WORK_TASKS],
				UINT64_C(1) << bit);
	/* I9. A thread that saw the bit clear meanwhile has left its work to
	 * the caller. Orders the bit before all that the caller checks from now
	 * on. */
	atomic_fence_updated_seq_cst();
}

/* work_map_read - return the bits of a line; a hint, unless the caller has
 * fenced (I2, I3) */
static inline uint64_t work_map_read(const struct work_map *map, unsigned line,
				     enum work_kind kind)
{
	/* Relaxed: a thread that must not miss a bit fences first. Only the
	 * queue itself tells whether there is work. */
	return atomic_load_relaxed(&map->lines[line].bits[kind]);
}

#endif
