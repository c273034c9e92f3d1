/* SPDX-License-Identifier: MIT */
/**
 * machine_cache.h - the description of a machine, read once and shared
 *
 * To read a machine takes 0.2 ms with two CPUs, and more with more. So the
 * runtimes of a process share one description of the machine that they run on,
 * and read it again only if CPUs have come or gone since. It is the
 * one thing in the process that does not belong to a runtime: facts about the
 * machine, which nothing changes.
 */
#ifndef SKUA_TOPOLOGY_MACHINE_CACHE_H
#define SKUA_TOPOLOGY_MACHINE_CACHE_H

#include <pthread.h>

#include "topology/machine.h"

struct machine_cache {
	pthread_mutex_t lock;
	/* NULL: none yet. Guarded by the lock. */
	struct machine *machine;
	char *online; /* the CPUs that were online when it was read */
};

#define MACHINE_CACHE_INIT                        \
	{                                         \
		.lock = PTHREAD_MUTEX_INITIALIZER \
	}

/**
 * machine_cache_get - return the description of a machine
 * @root: see machine_load(); the same for each call with this cache
 * @out: receives the machine, which the caller must not change, and releases
 *       with machine_free()
 *
 * Threads: any. While another thread reads the machine, the caller does not
 * wait, but reads it for itself. A child that is forked during such a read does
 * the same from then on. Return: 0; an error of machine_load().
 */
int machine_cache_get(struct machine_cache *cache, const char *root,
		      struct machine **out);

/* machine_cache_clear - forget the machine; users of it keep it */
void machine_cache_clear(struct machine_cache *cache);

/* machine_here - machine_cache_get() for this machine, with the process's cache */
int machine_here(struct machine **out);

/* machine_here_forget - machine_cache_clear() for the process's cache */
void machine_here_forget(void);

#endif
