/* SPDX-License-Identifier: MIT */
/* current.h - the worker that runs on the calling thread */
#ifndef SKUA_CORE_LOOP_CURRENT_H
#define SKUA_CORE_LOOP_CURRENT_H

#include "core/loop/worker.h"

/*
 * The worker that runs on this thread, or NULL. Initial-exec: one load, also
 * in the shared library, for 8 bytes of the static TLS block.
 */
extern _Thread_local struct worker *current_worker
	__attribute__((tls_model("initial-exec")));

/* current_here - the worker that calls; NULL on any other thread, and in the
 * child of a worker that forked */
static inline struct worker *current_here(void)
{
	struct worker *worker = current_worker;

	return worker && pool_alive(worker->pool) ? worker : NULL;
}

/* current_polls - is @task being polled by the calling thread? */
bool current_polls(const struct skua_task *task);

/* current_polls_next - is @task what the calling worker polls next, as far as it can
 * see? */
static inline bool current_polls_next(const struct skua_task *task)
{
	return lifo_slot_seen(&current_worker->lifo) == task;
}

/* current_lend - take the spare reference of @task (task_state.h); false if it
 * is not polled by the calling thread, or has lent it already */
bool current_lend(const struct skua_task *task);

#endif
