/* SPDX-License-Identifier: MIT */
/**
 * target_area.h - copy a debug area out of memory and check it
 *
 * The data may change during the read, or be made to harm the reader: every
 * count and size is checked before it is used.
 */
#ifndef SKUA_BPF_TARGET_AREA_H
#define SKUA_BPF_TARGET_AREA_H

#include "bpf/target/target.h"
#include "bpf/target/target_memory.h"

/* The runtimes found, of all roots. */
struct target_list {
	struct target_runtime *runtimes;
	unsigned count;
	size_t room;
	unsigned areas; /* roots of this ABI */
};

/**
 * target_list_add - add the runtimes of one root
 *
 * Return: 0; -ENOENT (no root at that address); -EPROTO (another ABI); -EILSEQ
 * (its data is impossible); -EFBIG (too many workers); -EBUSY (the list changed
 * at each attempt); -ENOMEM; -ESRCH. The list is unchanged on failure.
 */
int target_list_add(struct target_list *list,
		    const struct target_memory *memory, uint64_t root,
		    struct target_complaint *complaint);

void target_list_free(struct target_list *list);

/* target_area_snapshot, target_area_look, target_area_task - implement
 * target_take_snapshot(), target_look() and target_task(); @now_ns returns the time in
 * ns */
int target_area_snapshot(const struct target_memory *memory,
			 const struct target_runtime *runtime,
			 uint64_t (*now_ns)(void), struct target_snapshot *out,
			 struct target_complaint *complaint);
int target_area_look(const struct target_memory *memory,
		     const struct target_runtime *runtime, unsigned worker,
		     struct target_now *out);
void target_area_task(const struct target_memory *memory,
		      const struct target_runtime *runtime, uint64_t task,
		      uint64_t *type, uint64_t *poll);

#endif
