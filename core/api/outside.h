/* SPDX-License-Identifier: MIT */
/* outside.h - operations of a runtime that threads outside wait for */
#ifndef SKUA_CORE_API_OUTSIDE_H
#define SKUA_CORE_API_OUTSIDE_H

#include "core/runtime/runtime.h"
#include "core/wait/await.h"

/* outside_await - as await(), for an operation that the runtime carries out. That of a
 * thread that polls no task of the runtime counts as a task, so that a drain waits for it.
 * Return: also -ESHUTDOWN */
static inline int outside_await(struct skua_runtime *rt,
				const struct wait_verb *verb, void *object,
				uint64_t amount, uint64_t deadline_ns)
{
	unsigned group;
	int code;

	if (runtime_worker(rt))
		return await(verb, object, amount, deadline_ns);
	group = idle_group_here(&rt->pool.idle);
	code = pool_enter_spawn(&rt->pool, group);
	if (!code) {
		code = await(verb, object, amount, deadline_ns);
		pool_end_spawn(&rt->pool);
	}
	pool_leave(&rt->pool, group);
	return code;
}

#endif
