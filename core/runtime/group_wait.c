/* SPDX-License-Identifier: MIT */
/* group_wait.c - see group_wait.h */
#include "core/runtime/group_wait.h"

#include "core/loop/schedule.h"

static void unlink_locked(struct skua_group *group)
{
	if (group->previous)
		group->previous->next = group->next;
	else
		/* Relaxed: a cancel that reads it without the lock takes the lock
		 * if there is a child. */
		atomic_store_relaxed(group_first_child(group->parent),
				     group->next);
	if (group->next)
		group->next->previous = group->previous;
	group->parent = group->next = group->previous = NULL;
}

/* End the nesting of a group whose members have ended. Return: its parent, which the caller
 * must leave; NULL: it was not nested. */
static struct skua_group *end_nesting(struct skua_group *group)
{
	struct skua_group *parent = group->parent;

	if (!parent)
		return NULL;
	pi_lock_take(&group->runtime->nesting);
	unlink_locked(group);
	pi_lock_release(&group->runtime->nesting);
	return parent;
}

void group_wait_end(struct skua_group *group)
{
	struct skua_group *parent = end_nesting(group);

	if (group->release)
		group_slots_free(atomic_load_relaxed(group_slots(group)),
				 group_allocator(group));
	/* Relaxed: the release of the state orders it. */
	atomic_store_relaxed(group_members(group), NULL);
	/* Release: a cancel that reads the first state finds no member. Pairs
	 * with enter_cancelled(). */
	atomic_store_release(group_state(group), 0);
	if (parent)
		schedule_end(group_leave(parent), NULL);
}
