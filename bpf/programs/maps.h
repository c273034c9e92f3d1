/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * maps.h - values of threads in maps, also of those that have ended
 *
 * The last COUNT_ENDED of those keep their values; before, they are added to a
 * sum, so that there is room as long as not too many live, and sums stay exact. Only
 * programs in this folder include this, each with a fold() of its own.
 */
#ifndef SKUA_BPF_PROGRAMS_MAPS_H
#define SKUA_BPF_PROGRAMS_MAPS_H

#include "count.h"
#include "kernel.h"

/* In the order of their ends. */
struct {
	__uint(type, BPF_MAP_TYPE_QUEUE);
	__uint(max_entries, COUNT_ENDED);
	__type(value, __u32);
} ended SEC(".maps");

/* The value of a key, which is new at its first event; NULL: there is no room. */
static inline void *find(void *map, const void *key, const void *fresh)
{
	void *value = bpf_map_lookup_elem(map, key);

	if (value)
		return value;
	bpf_map_update_elem(map, key, fresh, BPF_NOEXIST);
	return bpf_map_lookup_elem(map, key);
}

/* Its maps are those of a program. Of a thread that has not ended, nothing. */
static inline void fold(__u32 thread);

/* A thread, whose values nobody writes any more. */
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

/* Of one who folds it, and no other. Relaxed: the queue orders what was written. */
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
