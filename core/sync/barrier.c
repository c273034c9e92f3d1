/* SPDX-License-Identifier: MIT */
/**
 * barrier.c - lets a number of callers proceed together
 *
 * The callers that have arrived are those in the list. Everything happens under
 * the list lock. The last one to arrive chooses all others, and its unlock is
 * its last access to the barrier (N2).
 */
#include <errno.h>

#include "core/wait/await.h"
#include "skua/sync.h"

static int wait_step_of(struct skua_wait *wait, void *object, bool granted,
			int give_up)
{
	struct skua_barrier *barrier = object;
	struct wait_chain chain = { NULL, NULL };
	int code;

	if (granted)
		return 0;
	if (!await_enter(&barrier->waiters, wait, barrier, &code))
		return code;
	code = give_up ? give_up : -EAGAIN;
	if (wait_armed_locked(wait)) {
		if (give_up)
			wait_withdraw_locked(&barrier->waiters, wait);
	} else if (barrier->waiters.count + 1 == barrier->parties) {
		wait_choose_all_locked(&barrier->waiters, &chain);
		code = 1;
	} else if (!give_up) {
		wait_arm_locked(&barrier->waiters, wait, false);
	}
	waiters_unlock(&barrier->waiters);
	wait_grant(&chain);
	return code;
}

static const struct wait_verb verb =
	WAIT_VERB(wait_step_of, BARRIER, skua_barrier, WAIT_NO_HOLDER);

int skua_barrier_init(struct skua_barrier *barrier, uint32_t parties)
{
	if (!barrier || parties == 0)
		return -EINVAL;
	*barrier = (struct skua_barrier){ .parties = parties };
	return 0;
}

int skua_barrier_wait(struct skua_barrier *barrier, uint64_t deadline_ns)
{
	int code = barrier && barrier->parties ? await_allowed() : -EINVAL;

	return code ? code : await(&verb, barrier, 0, deadline_ns);
}

int skua_barrier_wait_poll(struct skua_task *self, struct skua_barrier *barrier,
			   struct skua_wait *wait, uint64_t deadline_ns)
{
	int code = barrier && barrier->parties ? await_may_poll(self, wait)
					       : -EINVAL;

	return code ? code
		    : await_poll(self, wait, &verb, barrier, 0, deadline_ns);
}
