/* SPDX-License-Identifier: MIT */
/**
 * work_map.h - who may have work that others could take, a line a group (L1)
 *
 * A thief reads a line for each group of workers (topology/llc_groups.h), and
 * goes to those queues alone that it names. A bit is set before its owner tells
 * anybody of work, and cleared when the owner has found its queue empty and looks
 * for work elsewhere: it may be set in vain, and is never missing.
 *
 * |             | owner's add | owner's remove | thief's read |
 * |-------------|-------------|----------------|--------------|
 * | owner's add | no          | no             | yes          |
 */
#ifndef SKUA_CORE_WORK_MAP_H
#define SKUA_CORE_WORK_MAP_H

#include <stdalign.h>

#include "core/atomic.h"

enum work_kind { WORK_TASKS, WORK_JOBS, WORK_KINDS };

/*
 * Bit i: the owner of that bit may have such work. Writers: each its own bit.
 * Readers: any.
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

/* An owner's bit, and whether it is set, as the owner knows. */
struct work_flag {
	struct work_line *line;
	uint64_t bit;
	bool set[WORK_KINDS];
};

static inline void work_flag_init(struct work_flag *flag, struct work_map *map,
				  unsigned line, unsigned bit)
{
	*flag = (struct work_flag){ &map->lines[line],
				    UINT64_C(1) << bit,
				    { 0 } };
}

/* work_flag_raise_owner - there is work; before the owner tells of it */
static inline void work_flag_raise_owner(struct work_flag *flag,
					 enum work_kind kind)
{
	if (__builtin_expect(flag->set[kind], true))
		return;
	flag->set[kind] = true;
	/* Relaxed: ordered by the fence of who tells of it (I1, F1), or by the
	 * release of who leaves it to other searchers (I3). */
	atomic_fetch_or_relaxed(&flag->line->bits[kind], flag->bit);
}

/* work_flag_lower_owner - there is none, and only the owner could add some */
static inline void work_flag_lower_owner(struct work_flag *flag,
					 enum work_kind kind)
{
	if (!flag->set[kind])
		return;
	flag->set[kind] = false;
	/* Relaxed: who still sees it looks in vain. */
	atomic_fetch_and_relaxed(&flag->line->bits[kind], ~flag->bit);
}

/* work_map_read - the bits of a line; as a hint, or after a fence (I2, I3) */
static inline uint64_t work_map_read(const struct work_map *map, unsigned line,
				     enum work_kind kind)
{
	/* Relaxed: whoever must not miss a bit has fenced; the queue itself
	 * tells the rest. */
	return atomic_load_relaxed(&map->lines[line].bits[kind]);
}

#endif
