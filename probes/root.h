/* SPDX-License-Identifier: MIT */
/**
 * root.h - where other processes begin to read: the list of runtimes
 *
 * The one thing in skua that all runtimes of a process share. A thread that adds or
 * removes a runtime holds a lock for a few stores. The list is whole at any moment, so
 * that a child of fork() goes on with it whatever its parent did.
 */
#ifndef SKUA_PROBES_ROOT_H
#define SKUA_PROBES_ROOT_H

#include "probes/area.h"

/* By hidden name; exported as skua_debug_root. */
extern struct area_root area_root __attribute__((visibility("hidden")));

/* root_record_until_ns - when tools want no more of this process recorded */
static inline uint64_t root_record_until_ns(void)
{
	return counter_read(&area_root.record_until_ns);
}

/**
 * root_add - let other processes find a runtime
 * @process: a number that a child of fork() does not share; not 0
 *
 * Threads: any. Blocks: while another thread is in one of the two.
 */
void root_add(struct area_runtime *runtime, uint32_t process);

/* root_remove - no more; it may be freed afterwards */
void root_remove(struct area_runtime *runtime, uint32_t process);

#endif
