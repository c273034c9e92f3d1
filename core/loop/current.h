/* SPDX-License-Identifier: MIT */
/* current.h - the worker that runs on the calling thread */
#ifndef SKUA_CORE_LOOP_CURRENT_H
#define SKUA_CORE_LOOP_CURRENT_H

#include "core/loop/worker.h"

/*
 * The worker that runs on this thread, or NULL. The initial-exec model makes
 * each access one load, also in the shared library, and takes 8 bytes of the
 * static TLS block. Defined in schedule.c, the lowest file of the room that
 * reads it.
 */
extern _Thread_local struct worker *current_worker
	__attribute__((tls_model("initial-exec")));

/* current_here - return the calling worker; NULL on any other thread, and in
 * the child of a worker that called fork() */
static inline struct worker *current_here(void)
{
	struct worker *worker = current_worker;

	return worker && *worker->generation_here == worker->generation ? worker
									: NULL;
}

/* current_address - identify the worker that runs on this thread; 0: none */
static inline uintptr_t current_address(void)
{
	return (uintptr_t)current_worker;
}

/* current_has_membarrier - does a worker run on this thread, for which membarrier_fence()
 * works? */
static inline bool current_has_membarrier(void)
{
	return current_worker && current_worker->pool->membarrier;
}

/* current_polls - does the calling thread poll @task at this moment? */
static inline bool current_polls(const struct skua_task *task)
{
	const struct worker *worker = current_here();

	return worker && worker->area.task == (uintptr_t)task;
}

/* current_polls_next - is @task in the LIFO slot of the calling worker, which
 * polls it next unless another worker has taken it? The caller is a worker. */
static inline bool current_polls_next(const struct skua_task *task)
{
	return lifo_slot_holds_owner(&current_worker->lifo, task);
}

/* current_lend - take the spare reference of @task (task_state.h). Return:
 * false if the calling thread does not poll @task, or has lent the reference
 * already. */
static inline bool current_lend(const struct skua_task *task)
{
	struct worker *worker = current_here();

	if (!worker || worker->area.task != (uintptr_t)task || !worker->spare)
		return false;
	worker->spare = false;
	return true;
}

#endif
