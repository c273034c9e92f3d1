/* SPDX-License-Identifier: MIT */
/* wait_api.c - the public functions on waits */
#include "core/wait/await.h"
#include "skua/wait.h"

int skua_wait_cancel(struct skua_task *self, struct skua_wait *wait)
{
	return await_cancel(self, wait);
}

bool skua_wait_armed(const struct skua_wait *wait)
{
	return wait && await_armed((struct skua_wait *)wait);
}

int skua_sleep_until(uint64_t when_ns)
{
	return await_time(when_ns);
}
