/* SPDX-License-Identifier: MIT */
/**
 * condition.c - a condition variable, used with a mutex
 *
 * A wait has two stages: it waits in the condition's list for a signal, and then
 * locks the mutex, as any other caller does. A signal does not move the waiter
 * to the list of a mutex that is held (wait morphing): that would take two list
 * locks at once.
 */
#include <errno.h>

#include "core/sync/mutex.h"

enum stage { BEGINS, WAITS, LOCKS };

static struct skua_mutex *mutex_of(const struct skua_wait *wait)
{
	return (struct skua_mutex *)(uintptr_t)wait->amount;
}

/* Begin to wait for a signal, and unlock the mutex: in this order, so that no
 * signal is missed that is sent under the mutex. */
static int begin(struct skua_condition *condition, struct skua_wait *wait)
{
	int code;

	if (!await_enter(&condition->waiters, wait, condition, &code))
		return code;
	wait->stage = WAITS;
	wait_arm_locked(&condition->waiters, wait, false);
	waiters_unlock(&condition->waiters);
	mutex_unlock(mutex_of(wait), wait->waiter);
	return -EAGAIN;
}

/* Wait for a signal. Return: -EAGAIN; else the wait for it is over, and the
 * result is noted in the wait. */
static int wait_for_signal(struct skua_condition *condition,
			   struct skua_wait *wait, bool granted, int give_up)
{
	int code = -EAGAIN;

	if (!granted) {
		if (!await_enter(&condition->waiters, wait, condition, &code))
			return code;
		if (give_up)
			wait_withdraw_locked(&condition->waiters, wait);
		waiters_unlock(&condition->waiters);
		if (!give_up)
			return -EAGAIN;
	}
	wait->stage = LOCKS;
	wait->code = granted ? 0 : give_up;
	return 0;
}

static int wait_step_of(struct skua_wait *wait, void *object, bool granted,
			int give_up)
{
	int code;

	if (wait->stage == BEGINS)
		return give_up ? give_up : begin(object, wait);
	if (wait->stage == WAITS) {
		code = wait_for_signal(object, wait, granted, give_up);
		if (code)
			return code;
		granted = false;
	}
	code = mutex_step(wait, mutex_of(wait), granted, 0);
	if (code)
		return code;
	wait->stage = BEGINS;
	return wait->code;
}

static const struct wait_verb verb = {
	.step = wait_step_of,
	.kind = AREA_WAITS_CONDITION,
	.waiters = offsetof(struct skua_condition, waiters),
	.holder = offsetof(struct skua_mutex, word),
	.second = offsetof(struct skua_mutex, waiters),
};

int skua_condition_wait(struct skua_condition *condition,
			struct skua_mutex *mutex, uint64_t deadline_ns)
{
	int code = condition && mutex ? await_allowed() : -EINVAL;

	if (code)
		return code;
	if (!mutex_held_by(mutex, await_self()))
		return -EPERM;
	return await(&verb, condition, (uintptr_t)mutex, deadline_ns);
}

int skua_condition_wait_poll(struct skua_task *self,
			     struct skua_condition *condition,
			     struct skua_mutex *mutex, struct skua_wait *wait,
			     uint64_t deadline_ns)
{
	int code = condition && mutex ? await_may_poll(self, wait) : -EINVAL;

	if (code)
		return code;
	if (!await_armed(wait) && !mutex_held_by(mutex, (uintptr_t)self))
		return -EPERM;
	return await_poll(self, wait, &verb, condition, (uintptr_t)mutex,
			  deadline_ns);
}

/* Let the first waiter proceed, or all. */
static int notify(struct skua_condition *condition, bool all)
{
	struct wait_chain chain = { NULL, NULL };

	if (!condition)
		return -EINVAL;
	waiters_lock(&condition->waiters);
	if (all)
		wait_choose_all_locked(&condition->waiters, &chain);
	else if (condition->waiters.first)
		wait_choose_locked(&condition->waiters,
				   condition->waiters.first, &chain);
	waiters_unlock(&condition->waiters);
	wait_grant(&chain);
	return 0;
}

int skua_condition_signal(struct skua_condition *condition)
{
	return notify(condition, false);
}

int skua_condition_broadcast(struct skua_condition *condition)
{
	return notify(condition, true);
}
