/* SPDX-License-Identifier: MIT */
/* blocking_api.c - the public functions for calls that block */
#include <errno.h>

#include "core/api/outside.h"
#include "core/base/boundary.h"
#include "core/runtime/runtime.h"

static int call_here(struct skua_blocking *call)
{
	call->run(call);
	BOUNDARY(blocking);
	return 0;
}

int skua_blocking_call(struct skua_runtime *rt, struct skua_blocking *call,
		       uint64_t deadline_ns)
{
	int code;

	if (!rt || !call || !call->run)
		return -EINVAL;
	if (!runtime_alive(rt))
		return -EOWNERDEAD;
	if (blocking_here == &rt->blocking)
		return call_here(call);
	code = await_allowed();
	return code ? code
		    : outside_await(rt, &blocking_await, &rt->blocking,
				    (uintptr_t)call, deadline_ns);
}

/* ---- polls ------------------------------------------------------------------ */

static struct blocking *pool_of(const struct skua_task *self)
{
	return &SKUA_CONTAINER_OF(self->pool, struct skua_runtime, pool)
			->blocking;
}

static int poll_call(struct skua_task *self, struct skua_blocking *call,
		     uint64_t deadline_ns)
{
	return await_poll(self, &call->wait, &blocking_poll, pool_of(self),
			  (uintptr_t)call, deadline_ns);
}

int skua_blocking_start(struct skua_task *self, struct skua_blocking *call,
			uint64_t deadline_ns)
{
	int code =
		call && call->run ? await_may_poll(self, &call->wait) : -EINVAL;
	bool armed;

	if (code)
		return code;
	armed = await_armed(&call->wait);
	if (armed && call->wait.waiter != (uintptr_t)self)
		return -EINVAL;
	if (armed && blocking_has_place(pool_of(self), &call->wait))
		return 0;
	code = poll_call(self, call, deadline_ns);
	if (code == -EAGAIN)
		return blocking_has_place(pool_of(self), &call->wait) ? 0
								      : code;
	/* It has got a place in the meantime, has run, and the end was taken: leave
	 * that to skua_blocking_poll(). Relaxed: nobody else knows the wait. */
	if (code == 0)
		atomic_store_relaxed(wait_phase(&call->wait), WAIT_GRANTED);
	return code;
}

int skua_blocking_poll(struct skua_task *self, struct skua_blocking *call,
		       uint64_t deadline_ns)
{
	int code = call ? await_may_poll(self, &call->wait) : -EINVAL;

	if (!code && !await_armed(&call->wait))
		code = -EINVAL;
	return code ? code : poll_call(self, call, deadline_ns);
}
