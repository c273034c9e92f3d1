/* SPDX-License-Identifier: MIT */
/**
 * process_generation.h - tell the process that made a runtime from its forked children
 *
 * A process gets a number, its generation, when it makes its first runtime. The first
 * process gets 1; a forked child gets a higher number than its parent. The number lies
 * on a page that the kernel wipes in a child of fork(). A check is therefore one load,
 * and needs no handler of fork().
 *
 * The page and the latest number are global; all other state belongs to a runtime. A
 * task stores its generation, and may compare it after its runtime is gone. The page
 * is therefore never unmapped.
 */
#ifndef SKUA_CORE_OS_PROCESS_GENERATION_H
#define SKUA_CORE_OS_PROCESS_GENERATION_H

#include "core/base/atomic.h"

/* More than any chain of forks has; a task has as many bits for it. */
#define PROCESS_GENERATION_MAX ((UINT32_C(1) << 30) - 1)

/* The page with the generation; the number is 0 in a child that has no
 * runtimes. Writer: process_generation_adopt(). */
extern _Atomic(atomic_u32 *) process_generation_page
	__attribute__((visibility("hidden")));

/* process_generation_adopt - get the generation of the process, for a new
 * runtime. Return: 0; -ENOMEM; the kernel's error if it cannot wipe a page in
 * children */
int process_generation_adopt(uint32_t *generation);

/* process_generation - return the generation of the calling process; 0 if it
 * has none */
static inline uint32_t process_generation(void)
{
	/* Relaxed, both: process_generation_adopt() returned before the
	 * caller's object was made, and the caller received the object after
	 * that. */
	atomic_u32 *page = atomic_load_relaxed(&process_generation_page);

	return page ? atomic_load_relaxed(page) : 0;
}

/* process_generation_address - return the address of the number; only after
 * process_generation_adopt() */
static inline const uint32_t *process_generation_address(void)
{
	return (const uint32_t *)atomic_load_relaxed(&process_generation_page);
}

#endif
