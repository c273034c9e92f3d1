/* SPDX-License-Identifier: MIT */
/**
 * select_group.h - the end of a group's members, as a case of a select
 *
 * As a join (select_join.h): the last member wakes the waiter, which is the task that
 * selects, or the phase of the select's wait. If the members end, and the select takes
 * another case, it puts the right to wait back: the group is then as if nobody had waited.
 */
#ifndef SKUA_CORE_SELECT_SELECT_GROUP_H
#define SKUA_CORE_SELECT_SELECT_GROUP_H

#include "core/wait/wait.h"
#include "skua/group.h"

/* select_group_try - end the wait for a group whose members have ended. Return: 0; -EAGAIN;
 * -EALREADY (another party waits); -EOWNERDEAD */
int select_group_try(struct skua_group *group);

/* select_group_arm - wait for a group, for @select. Return: as above; -EAGAIN: it is armed */
int select_group_arm(struct skua_group *group, struct skua_wait *select);

/* select_group_look - end a wait that was armed, if the last member has told it. Return: 0;
 * -EAGAIN */
int select_group_look(struct skua_group *group);

/* select_group_withdraw - give up a wait that was armed. Return: 0; 1 (the members had
 * ended); -EAGAIN (they are ending: the waiter will be woken) */
int select_group_withdraw(struct skua_group *group, struct skua_wait *select);

#endif
