/* SPDX-License-Identifier: MIT */
/**
 * root.h - the root of the debug area: the list of the runtimes of a process
 *
 * It is the only thing in skua that all runtimes of a process share. A thread that adds or
 * removes a runtime holds a lock for a few stores. The list is whole at any moment, so a
 * child of fork() can use it whatever its parent was doing.
 */
#ifndef SKUA_PROBES_ROOT_H
#define SKUA_PROBES_ROOT_H

#include "probes/area.h"

/* This is the internal name; the root is exported as skua_debug_root. */
extern struct area_root area_root __attribute__((visibility("hidden")));

/* root_record_until_ns - return the time until which tools want all runtimes to record */
static inline uint64_t root_record_until_ns(void)
{
	return counter_read(&area_root.record_until_ns);
}

/**
 * root_add - publish a runtime to other processes
 * @process: a number of this process that a child of fork() does not share; not 0
 *
 * Threads: any. Blocks: while another thread is in root_add() or root_remove().
 */
void root_add(struct area_runtime *runtime, uint32_t process);

/* root_remove - withdraw a runtime; afterwards its memory may be freed. As root_add(). */
void root_remove(struct area_runtime *runtime, uint32_t process);

#endif
