/* SPDX-License-Identifier: MIT */
/* select_group.c - see select_group.h */
#include "core/select/select_group.h"

#include <errno.h>

#include "core/loop/schedule.h"
#include "core/runtime/group_wait.h"

_Static_assert(TASK_JOINER_TOLD == WAIT_TOLD, "the phase is a joiner");

/* Return the bit of a wait by the waiter of @select. */
static uint64_t wait_bit(const struct skua_wait *select)
{
	return wait_by_thread(select) ? GROUP_WAIT_THREAD : GROUP_WAIT_TASK;
}

int select_group_try(struct skua_group *group)
{
	int code;

	if (!runtime_alive(group->runtime))
		return -EOWNERDEAD;
	code = group_wait_claim_ended(group);
	if (code == 0)
		group_wait_end(group);
	return code;
}

int select_group_arm(struct skua_group *group, struct skua_wait *select)
{
	uint64_t bit = wait_bit(select);
	struct skua_task *self = (struct skua_task *)select->waiter;

	if (!runtime_alive(group->runtime))
		return -EOWNERDEAD;
	if (!group_wait_claim(group))
		return -EALREADY;
	/* Relaxed, both: group_wait_arm() releases. */
	if (bit == GROUP_WAIT_THREAD) {
		atomic_store_relaxed(group_waiter(group), wait_phase(select));
	} else {
		atomic_store_relaxed(group_waiter(group), self);
		/* For the last member, which wakes @self. */
		schedule_add_reference(self);
	}
	if (group_wait_arm(group, bit))
		return -EAGAIN;
	if (bit == GROUP_WAIT_TASK)
		schedule_drop(self);
	group_wait_end(group);
	return 0;
}

int select_group_look(struct skua_group *group)
{
	if (!group_wait_told(group))
		return -EAGAIN;
	group_wait_end(group);
	return 0;
}

int select_group_withdraw(struct skua_group *group, struct skua_wait *select)
{
	uint64_t bit = wait_bit(select);

	if (group_wait_withdraw(group, bit)) {
		if (bit == GROUP_WAIT_TASK)
			schedule_drop((struct skua_task *)select->waiter);
		return 0;
	}
	if (!group_wait_told(group))
		return -EAGAIN;
	group_wait_put_back(group, bit);
	return 1;
}
