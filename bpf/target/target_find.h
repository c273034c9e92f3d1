/* SPDX-License-Identifier: MIT */
/* target_find.h - finds the roots of debug areas in memory, by ELF notes */
#ifndef SKUA_BPF_TARGET_FIND_H
#define SKUA_BPF_TARGET_FIND_H

#include "bpf/target/target_memory.h"

/**
 * target_find_roots - where notes of skua lead
 * @mappings: @count of them
 * @roots: receives at most @most addresses, each once; nothing is known of what
 *         is there
 * @found: receives how many
 *
 * Return: 0; -ESRCH; -EFBIG.
 */
int target_find_roots(const struct target_memory *memory,
		      const struct target_mapping *mappings, size_t count,
		      uint64_t *roots, unsigned most, unsigned *found);

#endif
