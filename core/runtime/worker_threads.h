/* SPDX-License-Identifier: MIT */
/* worker_threads.h - the threads on which workers run */
#ifndef SKUA_CORE_RUNTIME_WORKER_THREADS_H
#define SKUA_CORE_RUNTIME_WORKER_THREADS_H

#include <pthread.h>

#include "core/config/config.h"
#include "core/loop/pool.h"

/* Starts zeroed. */
struct worker_threads {
	pthread_t *ids; /* in the order of their creation */
	unsigned count; /* of threads that were started */
	unsigned first; /* the worker of the first thread; the next follow */
};

/* worker_threads_allocate - allocate room for one thread a worker. Return: 0; -ENOMEM. */
int worker_threads_allocate(struct worker_threads *threads,
			    const struct config *config);

void worker_threads_free(struct worker_threads *threads,
			 const struct config *config);

/* worker_threads_start - start one thread a worker, each on its CPUs. Return: 0 or a
 * negative errno; then some threads may run: the caller stops the pool and joins them. */
int worker_threads_start(struct worker_threads *threads, struct pool *pool,
			 const struct config *config, struct skua_error *err);

/* worker_threads_join - wait until all started threads have ended, after pool_stop() */
void worker_threads_join(struct worker_threads *threads,
			 const struct config *config);

#endif
