/* SPDX-License-Identifier: MIT */
/* pools.c - see pools.h */
#include "bpf/waits/pools.h"

#include <errno.h>
#include <stdlib.h>

#include "bpf/cli/grow.h"

static bool is_used(const struct area_blocking *area)
{
	return area->threads || area->queued || area->waiting;
}

int pools_read(struct target *target, struct pools *out)
{
	*out = (struct pools){ .list = NULL };
	for (unsigned i = 0; i < target_runtimes(target); i++) {
		struct blocking_pool pool = {
			.address = target_runtime(target, i)->area.blocking
		};

		if (!pool.address ||
		    target_read(target, pool.address, &pool.area,
				sizeof(pool.area)) != 0 ||
		    !is_used(&pool.area))
			continue;
		if (!grow(&out->list, sizeof(pool), out->count, &out->room))
			return -ENOMEM;
		out->list[out->count++] = pool;
	}
	return 0;
}

void pools_free(struct pools *pools)
{
	free(pools->list);
	*pools = (struct pools){ .list = NULL };
}
