/* SPDX-License-Identifier: MIT */
/* target_find.h - find the roots of debug areas in memory, by ELF notes */
#ifndef SKUA_BPF_TARGET_FIND_H
#define SKUA_BPF_TARGET_FIND_H

#include "bpf/target/target_memory.h"

/**
 * target_find_roots - find the addresses that notes of skua point to
 * @mappings: @count mappings of the process
 * @roots: receives at most @most addresses, each once; the memory there is not
 *     checked
 * @found: receives the number of addresses
 *
 * Return: 0; -ESRCH; -EFBIG.
 */
int target_find_roots(const struct target_memory *memory,
		      const struct target_mapping *mappings, size_t count,
		      uint64_t *roots, unsigned most, unsigned *found);

#endif
