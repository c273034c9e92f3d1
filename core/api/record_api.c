/* SPDX-License-Identifier: MIT */
/* record_api.c - the public functions on recording */
#include <errno.h>

#include "core/runtime/runtime.h"
#include "skua/record.h"

static int set_until(struct skua_runtime *rt, uint64_t until_ns)
{
	if (!rt)
		return -EINVAL;
	if (!runtime_alive(rt))
		return -EOWNERDEAD;
	/* Several threads may write this; the last write counts. */
	counter_set_owner(&rt->pool.telemetry.area.record_until_ns, until_ns);
	return 0;
}

int skua_record_start(struct skua_runtime *rt)
{
	return set_until(rt, UINT64_MAX);
}

int skua_record_stop(struct skua_runtime *rt)
{
	return set_until(rt, 0);
}
