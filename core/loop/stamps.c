/* SPDX-License-Identifier: MIT */
/* stamps.c - see stamps.h */
#include "core/loop/stamps.h"

#include "core/base/boundary.h"
#include "core/base/clock.h"
#include "core/loop/tell.h"
#include "core/loop/worker.h"

static struct stamp *stamp_of(const struct pool *pool,
			      const struct skua_task *task)
{
	/* Fibonacci hashing: the upper bits depend on all lower ones. */
	uint64_t hash = (uintptr_t)task * UINT64_C(0x9e3779b97f4a7c15);

	return &pool->stamps->stamps[hash >> (64 - STAMPS_LOG)];
}

/* The poll of a task that was stamped. */
static enum skua_poll poll_stamped(struct skua_task *task)
{
	struct worker *worker = worker_current;
	struct stamp *stamp = stamp_of(worker->pool, task);
	uint64_t start_ns = clock_now_ns();
	const void *type = task->type;
	skua_task_fn poll = stamp->poll;
	enum skua_poll result;
	bool counts;

	task->poll = poll;
	counts = tell_wait(worker, task, start_ns - stamp->since_ns,
			   stamp->weight);
	/* Release: the stamp was read. Pairs with the acquire in stamps_put(). */
	atomic_store_release(&stamp->taken, 0);
	result = poll(task);
	BOUNDARY(poll);
	/* The task may be gone. */
	if (counts)
		tell_waited_poll(worker, type, poll, clock_now_ns() - start_ns);
	return result;
}

void stamps_put(struct pool *pool, struct skua_task *task, uint32_t weight)
{
	struct stamp *stamp;
	uint32_t free = 0;

	if (!pool->stamps)
		return;
	stamp = stamp_of(pool, task);
	/* Acquire: pairs with the release in poll_stamped(). The queue hands on
	 * what is written here. */
	if (!atomic_cas_acquire(&stamp->taken, &free, 1))
		return;
	stamp->weight = weight;
	stamp->poll = task->poll;
	stamp->since_ns = clock_now_ns();
	task->poll = poll_stamped;
}

skua_task_fn stamps_poll(const struct pool *pool, const struct skua_task *task)
{
	return task->poll == poll_stamped ? stamp_of(pool, task)->poll
					  : task->poll;
}
