/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * maps.h - keep the values of threads in maps, also of ended ones
 *
 * The last COUNT_ENDED ended threads keep their values. The values of earlier
 * ones are folded, that is, added to a sum. So the maps have room unless too
 * many threads live at once, and the sums stay exact. Only programs in this
 * folder include this file; each defines its own fold().
 */
#ifndef SKUA_BPF_PROGRAMS_MAPS_H
#define SKUA_BPF_PROGRAMS_MAPS_H

#include "count.h"
#include "kernel.h"

/* Ended threads, the earliest first. */
struct {
	__uint(type, BPF_MAP_TYPE_QUEUE);
	__uint(max_entries, COUNT_ENDED);
	__type(value, __u32);
} ended SEC(".maps");

/* Find the value of a key; at its first event, add a copy of @fresh. Return:
 * NULL if the map is full. */
static inline void *find(void *map, const void *key, const void *fresh)
{
	void *value = bpf_map_lookup_elem(map, key);

	if (value)
		return value;
	bpf_map_update_elem(map, key, fresh, BPF_NOEXIST);
	return bpf_map_lookup_elem(map, key);
}

/* Add the values of an ended thread to the sum and delete them. Does nothing if
 * the thread has not ended. */
static inline void fold(__u32 thread);

/* Queue an ended thread. Its values have no writer any more. If the queue is
 * full, fold the earliest one. */
static inline void end(__u32 thread)
{
	__u32 first;

	if (bpf_map_push_elem(&ended, &thread, 0) == 0)
		return;
	if (bpf_map_pop_elem(&ended, &first) == 0)
		fold(first);
	if (bpf_map_push_elem(&ended, &thread, 0) != 0)
		fold(thread);
}

/* Return true to exactly one of the callers that try to fold the thread.
 * Relaxed: the writes of the values are ordered before. A caller that took the
 * thread from the queue `ended` has them from the queue, whose lock the writer
 * took after it wrote. A caller that runs as a new thread with the same number has them
 * from the kernel, which gives a number away only after its thread has ended.
 * The number then stays in the queue; fold() ignores it there while the new
 * thread lives, and folds the values of that thread, once it has ended, somewhat
 * early. Accepted: if the number is given away at the very moment at which
 * another CPU folds its values, events of the new thread until the end of that
 * fold are lost. */
static inline bool claim(__u32 *its_end)
{
	__u32 expected = 1;

	return __atomic_compare_exchange_n(its_end, &expected, 0, false,
					   __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

static inline void add(__u64 *to, const __u64 *from, unsigned words)
{
	for (unsigned i = 0; i < words; i++)
		__atomic_fetch_add(&to[i], from[i], __ATOMIC_RELAXED);
}

#endif
