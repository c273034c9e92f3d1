/* SPDX-License-Identifier: MIT */
/**
 * target_area.h - copies a debug area out of memory, and checks it
 *
 * What is read may change meanwhile, or have been made by somebody who wants to
 * harm the reader: every count and size is checked before it is used.
 */
#ifndef SKUA_BPF_TARGET_AREA_H
#define SKUA_BPF_TARGET_AREA_H

#include "bpf/target/target.h"
#include "bpf/target/target_memory.h"

/* The runtimes that were found, of all roots. */
struct target_list {
	struct target_runtime *runtimes;
	unsigned count;
	size_t room;
	unsigned areas; /* roots that are of this ABI */
};

/**
 * target_list_add - the runtimes of one root
 *
 * Return: 0; -ENOENT (there is no root at that address); -EPROTO (of another
 * ABI); -EILSEQ (what it says is impossible); -EBUSY (it is being changed, again
 * and again); -ENOMEM; -ESRCH.
 */
int target_list_add(struct target_list *list,
		    const struct target_memory *memory, uint64_t root,
		    struct target_complaint *complaint);

void target_list_free(struct target_list *list);

/* As target_take_snapshot() and target_look(); @now_ns tells the time. */
int target_area_snapshot(const struct target_memory *memory,
			 const struct target_runtime *runtime,
			 uint64_t (*now_ns)(void), struct target_snapshot *out,
			 struct target_complaint *complaint);
int target_area_look(const struct target_memory *memory,
		     const struct target_runtime *runtime, unsigned worker,
		     struct target_now *out);

#endif
