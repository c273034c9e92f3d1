/* SPDX-License-Identifier: MIT */
/* timer_api.c - the public functions on timers */
#include <errno.h>

#include "core/base/clock.h"
#include "core/task/task.h"
#include "core/loop/timers.h"
#include "core/loop/current.h"
#include "core/loop/worker.h"
#include "skua/timer.h"

uint64_t skua_now_ns(void)
{
	return clock_now_ns();
}

int skua_timer_add(struct skua_task *self, struct skua_timer *timer,
		   uint64_t when_ns)
{
	if (!self || !timer)
		return -EINVAL;
	if (task_dead(self))
		return -EOWNERDEAD;
	if (!current_polls(self))
		return -EPERM;
	if (!timers_add(current_worker, (struct timer *)timer, self, when_ns))
		return -EALREADY;
	pool_track_wait(self, AREA_WAIT_TIMER, when_ns);
	return 0;
}

bool skua_timer_cancel(struct skua_timer *timer)
{
	return timer && timers_cancel((struct timer *)timer);
}

bool skua_timer_pending(const struct skua_timer *timer)
{
	return timer && timers_queued((const struct timer *)timer);
}
