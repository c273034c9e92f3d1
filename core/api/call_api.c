/* SPDX-License-Identifier: MIT */
/* call_api.c - skua_call(): run a function in a task that the library
 * allocates */
#include <errno.h>

#include "core/loop/current.h"
#include "core/base/boundary.h"
#include "core/runtime/runtime.h"

struct call {
	struct skua_task task; /* first: a task is cast to its call */
	struct slab *slab;
	void (*fn)(void *arg);
	void *arg;
};

_Static_assert(sizeof(struct call) <= SLAB_BLOCK_BYTES, "fits a block");

static enum skua_poll call_poll(struct skua_task *self)
{
	struct call *call = (struct call *)self;

	call->fn(call->arg);
	BOUNDARY(call);
	return SKUA_DONE;
}

/* Usually on the worker that has polled the task. If the function has left a waker or a
 * timer, its last one ends the task: on any thread. */
static void call_release(struct skua_task *task)
{
	struct worker *worker = current_here();
	bool own = worker && worker->pool == task->pool;

	slab_give(((struct call *)task)->slab, own ? &worker->slab : NULL,
		  task);
}

int skua_call(struct skua_runtime *rt, void (*fn)(void *arg), void *arg)
{
	struct slab_cache *cache;
	struct worker *worker;
	struct slab *slab;
	struct call *call;
	int code;

	if (!rt || !fn)
		return -EINVAL;
	if (!runtime_alive(rt))
		return -EOWNERDEAD;
	worker = runtime_worker(rt);
	cache = worker ? &worker->slab : NULL;
	slab = worker ? worker->slab.slab
		      : &node_allocs_here(&rt->worker_memory.allocs)->slab;
	call = slab_take(slab, cache);
	if (!call)
		return -ENOMEM;
	*call = (struct call){ .task = SKUA_TASK_INIT(call_poll),
			       .slab = slab,
			       .fn = fn,
			       .arg = arg };
	skua_task_detach(&call->task, call_release);
	code = runtime_spawn(rt, &call->task, 0, __builtin_return_address(0));
	if (code)
		slab_give(slab, cache, call);
	return code;
}
