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

int skua_interval_init(struct skua_interval *interval, uint64_t start_ns,
		       uint64_t period_ns)
{
	if (!interval || period_ns == 0)
		return -EINVAL;
	*interval = (struct skua_interval){ .next_ns = start_ns,
					    .period_ns = period_ns };
	return 0;
}

uint64_t skua_interval_next(struct skua_interval *interval)
{
	uint64_t now_ns = clock_now_ns(), periods = 1;

	if (!interval)
		return SKUA_FOREVER_NS;
	if (now_ns > interval->next_ns)
		periods = (now_ns - interval->next_ns) / interval->period_ns;
	if (periods == 0)
		periods = 1;
	if (periods >
	    (SKUA_FOREVER_NS - interval->next_ns) / interval->period_ns)
		interval->next_ns = SKUA_FOREVER_NS;
	else
		interval->next_ns += periods * interval->period_ns;
	interval->missed += periods - 1;
	return interval->next_ns;
}
