/* SPDX-License-Identifier: MIT */
/* runtime.h - struct skua_runtime: a pool, its threads and its memory */
#ifndef SKUA_CORE_RUNTIME_RUNTIME_H
#define SKUA_CORE_RUNTIME_RUNTIME_H

#include "core/blocking/blocking.h"
#include "core/runtime/affinity.h"
#include "core/config/config.h"
#include "core/file/files.h"
#include "core/runtime/drive.h"
#include "core/runtime/worker_memory.h"
#include "core/runtime/worker_threads.h"
#include "core/loop/pool.h"
#include "core/os/pi_lock.h"
#include "core/stall/stall.h"
#include "core/loop/current.h"
#include "core/loop/worker.h"
#include "skua/runtime.h"

/* The objects of the program that have names. */
struct names {
	pthread_mutex_t lock;
	uint64_t
		first; /* address of a struct area_name. Guarded by the lock; tools
			 * read it */
};

struct skua_runtime {
	struct pool pool;
	struct llc_groups groups; /* of the workers */
	struct config config;
	struct worker_memory worker_memory;
	struct wait_samples wait_samples;
	struct affinity affinity; /* unused in a caller-driven runtime */
	struct stall_watch watch;
	struct worker_threads threads;
	struct blocking blocking;
	struct files files;
	/* The threads were joined. Writer: the thread that shuts down. */
	bool stopped;
	struct names names;
	struct pi_lock nesting; /* guards the links of nested groups */
	struct drive drive;     /* used only by a caller-driven runtime */
};

static inline bool runtime_alive(const struct skua_runtime *rt)
{
	return pool_alive(&rt->pool);
}

/* runtime_worker - return the calling thread's worker, or NULL if it is none of @rt's */
static inline struct worker *runtime_worker(const struct skua_runtime *rt)
{
	struct worker *worker = current_here();

	return worker && worker->pool == &rt->pool ? worker : NULL;
}

/* runtime_spawn - spawn a task, as skua_task_spawn() does; @home: 0, or the index + 1 of
 * the only worker that may poll @task; @caller: an address in the program code that
 * spawns it, for the table of tasks */
int runtime_spawn(struct skua_runtime *rt, struct skua_task *task,
		  uint32_t home, const void *caller);

#endif
