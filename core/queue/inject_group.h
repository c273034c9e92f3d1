/* SPDX-License-Identifier: MIT */
/**
 * inject_group.h - what enters a runtime at one group of workers
 *
 * Each group of workers that share a cache (topology/llc_groups.h) has an injection
 * queue and an urgent lane of its own. A thread that is no worker pushes to those
 * of the group that is nearest to its CPU, and a full local queue spills into that
 * of its worker's group. So pushes at one group write no line of another.
 *
 * The workers of a group read its two queues directly. All others read one word in
 * the group's line of the map (work_map.h), which thieves read anyway, and look at
 * the queues only if that names them. The word follows I9, as the bits of local
 * queues do:
 *
 *	pusher                               thief
 *	pushes                               sees a bit, but an empty queue
 *	fence                                inject_group_pass_by():
 *	inject_group_raise():                  clears the bit
 *	  sets the bit if it is clear          fence
 *	  fence                                checks the queue again; if it is not
 *	notifies (I1)                          empty: sets the bit, fence, and takes
 *
 * Workers of the group clear no bit, and others do so rarely. So the word is not
 * written at each push and take.
 */
#ifndef SKUA_CORE_QUEUE_INJECT_GROUP_H
#define SKUA_CORE_QUEUE_INJECT_GROUP_H

#include "core/queue/inject_queue.h"
#include "core/queue/work_map.h"

/* The queues of a group; also the numbers of their bits in the map. */
enum inject_lane { INJECT_URGENT, INJECT_NORMAL, INJECT_LANES };

struct inject_group {
	struct inject_queue lanes[INJECT_LANES];
	/*
	 * [ spawned:48 | calls:16 ]: the tasks that threads which are no workers of
	 * the pool have spawned at this group, and the calls of such threads that
	 * are under way (core/loop/pool.h). Writers: those threads. Readers: drains;
	 * the thread that destroys the pool.
	 */
	alignas(CACHE_PAIR) atomic_u64 outside;
};

static inline void inject_group_init(struct inject_group *group)
{
	for (unsigned lane = 0; lane < INJECT_LANES; lane++)
		inject_queue_init(&group->lanes[lane]);
	atomic_init(&group->outside, 0);
}

/* inject_group_visible - may a take from one of the queues find a node? */
static inline bool inject_group_visible(const struct inject_group *group)
{
	return inject_queue_visible(&group->lanes[INJECT_URGENT]) ||
	       inject_queue_visible(&group->lanes[INJECT_NORMAL]);
}

static inline uint64_t inject_group_bit(enum inject_lane lane)
{
	return UINT64_C(1) << lane;
}

/* inject_group_raise - note in the group's line of the map that nodes were pushed
 * to a queue. The caller has fenced after the push, and notifies after this. */
static inline void inject_group_raise(struct work_line *line,
				      enum inject_lane lane)
{
	atomic_u64 *bits = &line->bits[WORK_INJECTED];

	/* Relaxed: ordered by the caller's fence. */
	if (atomic_load_relaxed(bits) & inject_group_bit(lane))
		return;
	/* Relaxed: ordered by the fence below. */
	atomic_fetch_or_relaxed(bits, inject_group_bit(lane));
	/* I1. Orders the bit before the check for searchers and sleepers. Pairs
	 * with the fences in idle_park_begin() and idle_leave_search(). */
	atomic_fence_updated_seq_cst();
}

/* inject_group_pass_by - if a queue is empty, clear its bit in the map. For
 * threads of other groups. Return: false if the queue got nodes meanwhile; the bit
 * is then set again, and the caller takes, or checks as in I1 or I3. */
static inline bool inject_group_pass_by(const struct inject_queue *queue,
					struct work_line *line,
					enum inject_lane lane)
{
	atomic_u64 *bits = &line->bits[WORK_INJECTED];

	if (inject_queue_visible(queue))
		return true;
	/* Relaxed: ordered by the fence below. */
	atomic_fetch_and_relaxed(bits, ~inject_group_bit(lane));
	/* I9. Orders the bit before the second check of the queue. Pairs with
	 * the fence before inject_group_raise(). */
	atomic_fence_updated_seq_cst();
	if (!inject_queue_visible(queue))
		return true;
	/* Relaxed: ordered by the fence below. */
	atomic_fetch_or_relaxed(bits, inject_group_bit(lane));
	/* I9. A thread that saw the bit clear meanwhile has left its work to the
	 * caller. Orders the bit before all that the caller checks from now on. */
	atomic_fence_updated_seq_cst();
	return false;
}

#endif
