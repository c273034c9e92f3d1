/* SPDX-License-Identifier: MIT */
/* worker_threads.h - the threads on which workers run */
#ifndef SKUA_CORE_RUNTIME_WORKER_THREADS_H
#define SKUA_CORE_RUNTIME_WORKER_THREADS_H

#include <pthread.h>

#include "core/config/config.h"
#include "core/loop/pool.h"

/* In zeroed memory. */
struct worker_threads {
	pthread_t *ids;
	unsigned count; /* of those that were started */
};

/* worker_threads_allocate - room for one a worker. Return: 0; -ENOMEM. */
int worker_threads_allocate(struct worker_threads *threads,
			    const struct config *config);

void worker_threads_free(struct worker_threads *threads,
			 const struct config *config);

/* worker_threads_start - start one a worker, each on its CPUs. On failure some run: the
 * caller stops the pool and joins them. */
int worker_threads_start(struct worker_threads *threads, struct pool *pool,
			 const struct config *config, struct skua_error *err);

/* worker_threads_join - wait until all have ended, after pool_stop() */
void worker_threads_join(struct worker_threads *threads);

#endif
