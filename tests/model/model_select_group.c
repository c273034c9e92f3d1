/* SPDX-License-Identifier: MIT */
/**
 * model_select_group.c - threads that wait for the end of a group, or for an event
 *
 * The members end, the event is set, the group is cancelled, and a deadline passes at any
 * time. One case takes effect. If it is not the group's, a second wait for the group succeeds
 * when its members have ended, also those that came later. The select and its cases are freed
 * when the call returns, and the group when a wait for it has returned 0.
 * tests/model/mutants.toml has broken variants.
 */
#include "tests/model/waiter.h"

#include "core/sync/event.c"
#include "core/task/group.c"
#include "core/runtime/group_wait.c"
#include "core/select/select_group.c"
#include "core/select/select.c"

#define MEMBERS 2

static const uint32_t generation = 1;
static struct skua_runtime runtime;
static struct skua_group group;
static struct skua_event event;
static struct skua_select_case cases[3][2]; /* of each call */
static unsigned work[MEMBERS]; /* plain: from members to the waiter */
static unsigned members;       /* of the case */
static unsigned told;          /* plain: written before the event is set */
static unsigned calls;
static bool stays;    /* another thread keeps the group in place */
static atomic_u32 go; /* the second member may end */

static void setup_members(unsigned n)
{
	waiters_reset();
	memset((void *)&runtime, 0, sizeof(runtime));
	runtime.pool.generation_here = &generation;
	runtime.pool.generation = generation;
	explore_assert(skua_group_init(&group, &runtime) == 0);
	group_enter(&group, n);
	event = (struct skua_event)SKUA_EVENT_INIT;
	memset(cases, 0, sizeof(cases));
	explore_watch(&group, sizeof(group));
	explore_watch(cases, sizeof(cases));
	memset(work, 0, sizeof(work));
	members = n;
	told = calls = 0;
	stays = false;
	atomic_init(&go, 0);
}

static void setup_one(void)
{
	setup_members(1);
}

static void setup_two(void)
{
	setup_members(2);
}

static void setup_cancelled(void)
{
	setup_members(1);
	stays = true;
}

/* Select the event or the group. @first: the index of the event's case. Return: was it the
 * group? Then it is gone. */
static bool select_one(unsigned first, uint64_t deadline_ns)
{
	struct skua_select_case *it = cases[calls++];
	int at, code = 0;

	it[first] = (struct skua_select_case)SKUA_SELECT_CASE(SKUA_SELECT_EVENT,
							      &event, NULL, 0);
	it[!first] = (struct skua_select_case)SKUA_SELECT_CASE(
		SKUA_SELECT_GROUP, &group, NULL, 0);
	at = skua_select(it, 2, SKUA_SELECT_IN_ORDER, deadline_ns);
	explore_assert(at >= 0 ||
		       (at == -ETIMEDOUT && deadline_ns != SKUA_FOREVER_NS));
	if (at >= 0)
		code = it[at].code;
	explore_free(it, sizeof(cases[0]));
	explore_assert(code == 0);
	if (at == (int)first)
		explore_assert(explore_read(told) == 1);
	if (at != (int)!first)
		return false;
	for (unsigned i = 0; i < members; i++)
		explore_assert(explore_read(work[i]) == 1);
	if (!stays) {
		explore_assert(atomic_load_relaxed(group_state(&group)) == 0);
		explore_free(&group, sizeof(group));
	}
	return true;
}

/* The second select takes the group, whether the event is set or not. */
static void select_until_the_end(unsigned first, uint64_t deadline_ns)
{
	waiter_begin(0);
	if (select_one(first, deadline_ns))
		return;
	explore_assert(skua_event_reset(&event) == 0);
	while (!select_one(1, SKUA_FOREVER_NS))
		explore_assert(skua_event_reset(&event) == 0);
}

static void event_or_group(void)
{
	select_until_the_end(0, SKUA_FOREVER_NS);
}

static void group_or_event(void)
{
	select_until_the_end(1, SKUA_FOREVER_NS);
}

static void group_soon(void)
{
	select_until_the_end(0, SOON_NS);
}

/* The group has another member after a wait that was given up, perhaps at its end. */
static void event_and_again(void)
{
	waiter_begin(0);
	if (!select_one(0, SKUA_FOREVER_NS)) {
		explore_assert(skua_event_reset(&event) == 0);
		group_enter(&group, 1);
		members = 2;
	}
	atomic_store_release(&go, 1);
	futex_wake(&go, 1);
	if (members == 2 && !select_one(1, SOON_NS))
		explore_assert(select_one(1, SKUA_FOREVER_NS));
}

static void end_member(unsigned i)
{
	struct task_end end;

	explore_write(work[i], 1);
	end = group_leave(&group);
	if (end.bit)
		task_joiner_wake(end.what.joiner);
}

static void ends(void)
{
	waiter_begin(1);
	end_member(0);
}

static void ends_too(void)
{
	waiter_begin(2);
	end_member(1);
}

static void ends_again(void)
{
	waiter_begin(2);
	while (atomic_load_acquire(&go) == 0)
		futex_wait(&go, 0);
	if (members == 2)
		end_member(1);
}

static void sets(void)
{
	waiter_begin(3);
	explore_write(told, 1);
	explore_assert(skua_event_set(&event) == 0);
}

static void cancels(void)
{
	waiter_begin(2);
	explore_assert(skua_group_cancel(&group) == 0);
}

static void none_waits(void)
{
	explore_assert(!event.waiters.first);
	explore_assert(!stays ||
		       !(group.state & ~(GROUP_CANCELLED | GROUP_USED)));
}

static const struct explore_case all_cases[] = {
	{ EXPLORE_PASS("event_or_group", setup_one, none_waits, event_or_group,
		       ends, sets),
	  EXPLORE_WITHIN(2, 2) },
	{ EXPLORE_PASS("group_or_event", setup_one, none_waits, group_or_event,
		       ends, sets),
	  EXPLORE_WITHIN(2, 2) },
	{ EXPLORE_PASS("two_members", setup_two, none_waits, event_or_group,
		       ends, ends_too, sets),
	  EXPLORE_WITHIN(2, 1) },
	{ EXPLORE_PASS("deadline", setup_one, none_waits, group_soon, ends),
	  EXPLORE_WITHIN(3, 2) },
	{ EXPLORE_PASS("cancel", setup_cancelled, none_waits, event_or_group,
		       ends, cancels, sets),
	  EXPLORE_WITHIN(2, 1) },
	{ EXPLORE_PASS("again", setup_one, none_waits, event_and_again, ends,
		       ends_again, sets),
	  EXPLORE_WITHIN(1, 1) },
};

EXPLORE_MAIN(all_cases)
