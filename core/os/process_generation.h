/* SPDX-License-Identifier: MIT */
/**
 * process_generation.h - whether this is the process that something belongs to
 *
 * Each process that has runtimes has a generation: the first one has 1, and a
 * child that makes its own has its parent's and 1. The number lies on a page
 * that the kernel wipes in a child of fork(), so that asking is a load, and
 * nothing needs to be told of a fork.
 *
 * The page is the one thing here that is not part of a runtime: a task knows
 * its generation, and may ask when its runtime is gone. It is never unmapped.
 */
#ifndef SKUA_CORE_OS_PROCESS_GENERATION_H
#define SKUA_CORE_OS_PROCESS_GENERATION_H

#include "core/base/atomic.h"

/* More than any chain of forks; a task has as many bits for it. */
#define PROCESS_GENERATION_MAX ((UINT32_C(1) << 31) - 1)

/* The number, 0 in a child that has no runtimes. Writer: process_generation_adopt(). */
extern _Atomic(atomic_u32 *) process_generation_page
	__attribute__((visibility("hidden")));

/* process_generation_adopt - have a generation, for a new runtime. Return: 0; -ENOMEM; what the
 * kernel says that does not wipe a page in children */
int process_generation_adopt(uint32_t *generation);

/* process_generation - of the calling process; 0 if it has none */
static inline uint32_t process_generation(void)
{
	/* Relaxed, both: a caller that has something to ask for was told of it after
	 * process_generation_adopt(). */
	atomic_u32 *page = atomic_load_relaxed(&process_generation_page);

	return page ? atomic_load_relaxed(page) : 0;
}

/* process_generation_address - where process_generation() is, after process_generation_adopt() */
static inline const uint32_t *process_generation_address(void)
{
	return (const uint32_t *)atomic_load_relaxed(&process_generation_page);
}

#endif
