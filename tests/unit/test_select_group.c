/* SPDX-License-Identifier: MIT */
/* test_select_group.c - groups as cases of a select */
#include <errno.h>

#include "core/select/select_group.h"
#include "skua/group.h"
#include "skua/select.h"
#include "tests/unit/users.h"

#define MEMBERS 3u

/* Members that end when an event is set, or when they are cancelled. */
struct member {
	struct skua_task task; /* first */
	struct skua_event *ends;
	struct skua_wait wait;
};

struct world {
	struct skua_group group;
	struct skua_event ends, event;
	struct member members[2][MEMBERS];
	struct skua_select_case cases[2];
};

enum { GROUP, EVENT, CASES };

static enum skua_poll poll_member(struct skua_task *self)
{
	struct member *it = (struct member *)self;

	return skua_event_wait_poll(self, it->ends, &it->wait,
				    SKUA_FOREVER_NS) == -EAGAIN
		       ? SKUA_PENDING
		       : SKUA_DONE;
}

static void spawn_in(struct world *w, struct member *members)
{
	for (unsigned i = 0; i < MEMBERS; i++) {
		members[i] =
			(struct member){ .task = SKUA_TASK_INIT(poll_member),
					 .ends = &w->ends };
		assert_int_equal(skua_group_spawn(&w->group, &members[i].task),
				 0);
	}
}

static void spawn_members(struct world *w)
{
	spawn_in(w, w->members[0]);
}

static void world_init(struct world *w, struct skua_runtime *rt)
{
	memset(w, 0, sizeof(*w));
	assert_int_equal(skua_group_init(&w->group, rt), 0);
	w->cases[GROUP] = (struct skua_select_case)SKUA_SELECT_CASE(
		SKUA_SELECT_GROUP, &w->group, NULL, 0);
	w->cases[EVENT] = (struct skua_select_case)SKUA_SELECT_CASE(
		SKUA_SELECT_EVENT, &w->event, NULL, 0);
}

static void set(struct skua_event *event)
{
	assert_int_equal(skua_event_set(event), 0);
}

static int select_both(struct user *it)
{
	struct world *w = it->object;

	return skua_select(w->cases, CASES, SKUA_SELECT_IN_ORDER,
			   SKUA_FOREVER_NS);
}

static int wait_for_group(struct user *it)
{
	return skua_group_wait(&((struct world *)it->object)->group);
}

/* A select in order has claimed the right to wait by the time it waits for the event. */
static void wait_until_armed(struct world *w)
{
	wait_for_waiters(&w->event.waiters, 1);
}

TEST(select_group__no_members__taken_at_once)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct world w;

	world_init(&w, rt);
	assert_int_equal(skua_select_try(w.cases, CASES, 0), GROUP);
	assert_int_equal(w.cases[GROUP].code, 0);
	assert_int_equal(skua_select(w.cases, CASES, 0, 0), GROUP);
	spawn_members(&w);
	assert_int_equal(skua_select_try(w.cases, CASES, 0), -EAGAIN);
	set(&w.ends);
	for (unsigned is_fiber = 0; is_fiber < 2; is_fiber++) {
		assert_int_equal(user_run(rt, is_fiber, select_both, &w),
				 GROUP);
		assert_int_equal(w.group.state, 0);
	}
	destroy(rt);
}

/* Waits in a poll, in which the last member ends and the group is cancelled; then the event,
 * which comes first in the select, is there as well. */
struct canceller {
	struct skua_task task; /* first */
	struct world *w;
	struct skua_select select;
	struct skua_wait wait;
	int armed, cancelled, taken;
};

static enum skua_poll cancel_in_poll(struct skua_task *self)
{
	struct canceller *it = (struct canceller *)self;
	struct world *w = it->w;

	it->armed =
		skua_select_poll(self, &it->select, &it->wait, SKUA_FOREVER_NS);
	set(&w->ends);
	while (skua_group_live(&w->group) > 0)
		sched_yield();
	it->cancelled = skua_group_cancel(&w->group);
	set(&w->event);
	do {
		it->taken = skua_select_poll(self, &it->select, &it->wait,
					     SKUA_FOREVER_NS);
	} while (it->taken == -EAGAIN);
	return SKUA_DONE;
}

static enum skua_poll note_cancelled(struct skua_task *self)
{
	return skua_task_cancelled(self) ? SKUA_DONE : SKUA_PENDING;
}

TEST(select_group__cancelled_beside_another_case__cancel_holds)
{
	struct skua_runtime *rt = runtime_new(2, 0);
	struct skua_task late = SKUA_TASK_INIT(note_cancelled);
	struct world w;
	struct canceller it = { .task = SKUA_TASK_INIT(cancel_in_poll),
				.w = &w };

	world_init(&w, rt);
	it.select = (struct skua_select){ .cases = w.cases,
					  .count = CASES,
					  .flags = SKUA_SELECT_IN_ORDER };
	w.cases[0] = (struct skua_select_case)SKUA_SELECT_CASE(
		SKUA_SELECT_EVENT, &w.event, NULL, 0);
	w.cases[1] = (struct skua_select_case)SKUA_SELECT_CASE(
		SKUA_SELECT_GROUP, &w.group, NULL, 0);
	spawn_members(&w);
	spawn(rt, &it.task);
	join(&it.task);
	assert_int_equal(it.armed, -EAGAIN);
	assert_int_equal(it.cancelled, 0);
	/* The event; the group may have come first. */
	if (it.taken == 0) {
		assert_int_equal(skua_group_spawn(&w.group, &late), 0);
		assert_int_equal(skua_group_wait(&w.group), 0);
	}
	destroy(rt);
}

/* One party at a time waits for a group. */
TEST(select_group__another_party_waits__ealready)
{
	struct skua_runtime *rt = runtime_new(1, 0);

	for (unsigned is_fiber = 0; is_fiber < 2; is_fiber++) {
		struct user it = { 0 };
		struct world w;
		int at;

		world_init(&w, rt);
		spawn_members(&w);
		user_start(&it, rt, is_fiber, wait_for_group, &w);
		/* Until it waits. */
		do
			at = skua_select(w.cases, CASES, 0, 0);
		while (at == -ETIMEDOUT);
		assert_int_equal(at, GROUP);
		assert_int_equal(w.cases[GROUP].code, -EALREADY);
		assert_int_equal(skua_select_try(w.cases, CASES, 0), GROUP);
		assert_int_equal(w.cases[GROUP].code, -EALREADY);
		set(&w.ends);
		assert_int_equal(user_end(&it), 0);

		/* The other way round. */
		assert_int_equal(skua_event_reset(&w.ends), 0);
		spawn_members(&w);
		user_start(&it, rt, is_fiber, select_both, &w);
		wait_until_armed(&w);
		assert_int_equal(skua_group_wait_until(&w.group, 0), -EALREADY);
		set(&w.ends);
		assert_int_equal(user_end(&it), GROUP);
		assert_int_equal(w.cases[GROUP].code, 0);
	}
	destroy(rt);
}

TEST(select_group__same_group_twice__ealready_and_no_claim_left)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct world w;

	world_init(&w, rt);
	spawn_members(&w);
	w.cases[EVENT] = w.cases[GROUP];
	assert_int_equal(skua_select(w.cases, CASES, SKUA_SELECT_IN_ORDER,
				     SKUA_FOREVER_NS),
			 1);
	assert_int_equal(w.cases[1].code, -EALREADY);
	assert_int_equal(skua_group_wait_until(&w.group, 0), -ETIMEDOUT);
	set(&w.ends);
	assert_int_equal(skua_group_wait(&w.group), 0);
	destroy(rt);
}

static int select_release(struct user *it)
{
	struct world *w = it->object;

	return skua_select(w->cases, CASES, it->number, SKUA_FOREVER_NS);
}

/* The members end and the event is set at the same time. The group, if the select did not
 * take it, can be waited for afterwards, and used again. */
TEST(select_group__ends_beside_event__one_effect)
{
	struct skua_runtime *rt = runtime_new(2, 0);
	unsigned taken[CASES] = { 0 };

	for (unsigned i = 0; i < 400; i++) {
		struct user it = { .number = i % 4 < 2 ? SKUA_SELECT_IN_ORDER
						       : 0 };
		struct world w;
		int at;

		world_init(&w, rt);
		spawn_members(&w);
		user_start(&it, rt, i % 2, select_release, &w);
		if (i % 8 < 6)
			wait_until_armed(&w);
		set(i % 3 ? &w.ends : &w.event);
		set(i % 3 ? &w.event : &w.ends);
		at = user_end(&it);
		assert_in_range(at, GROUP, EVENT);
		assert_int_equal(w.cases[at].code, 0);
		taken[at]++;
		if (at == GROUP)
			assert_int_equal(w.group.state, 0);
		else if (i % 5 == 0)
			assert_int_equal(skua_group_cancel(&w.group), 0);
		assert_int_equal(skua_group_wait(&w.group), 0);
		/* It may be used again. */
		spawn_members(&w);
		assert_int_equal(skua_select(w.cases, 1, 0, SKUA_FOREVER_NS),
				 GROUP);
	}
	assert_true(taken[EVENT] > 0);
	destroy(rt);
}

/* Arms a wait for a group whose members ended after the select's first look. */
struct armer {
	struct skua_task task; /* first */
	struct skua_group *group;
	int code;
};

static enum skua_poll arm_in_poll(struct skua_task *self)
{
	struct armer *it = (struct armer *)self;
	struct skua_wait whole = { .waiter = (uintptr_t)self };

	it->code = select_group_arm(it->group, &whole);
	return SKUA_DONE;
}

TEST(select_group_arm__members_have_ended__keeps_neither_claim_nor_reference)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct world w;
	struct armer it = { .task = SKUA_TASK_INIT(arm_in_poll),
			    .group = &w.group };

	world_init(&w, rt);
	spawn(rt, &it.task);
	wait_until_done(&it.task);
	assert_int_equal(it.code, 0);
	assert_int_equal(wakers_of(&it.task), 0);
	join(&it.task);
	assert_int_equal(w.group.state, 0);
	destroy(rt);
}

/* Cancel a group while a select waits for it. */
TEST(select_group__cancelled_group__taken)
{
	struct skua_runtime *rt = runtime_new(1, 0);

	for (unsigned is_fiber = 0; is_fiber < 2; is_fiber++) {
		struct user it = { 0 };
		struct world w;

		world_init(&w, rt);
		spawn_members(&w);
		user_start(&it, rt, is_fiber, select_both, &w);
		wait_until_armed(&w);
		assert_int_equal(skua_group_fail(&w.group, -EIO), 0);
		assert_int_equal(user_end(&it), GROUP);
		/* The error is the group's, not the wait's. */
		assert_int_equal(w.cases[GROUP].code, 0);
		assert_int_equal(skua_group_error(&w.group), -EIO);
	}
	destroy(rt);
}

static atomic_u32 released;

static void release_member(struct skua_task *task)
{
	(void)task;
	/* Relaxed: the test reads it after the wait. */
	atomic_fetch_add_relaxed(&released, 1);
}

/* A nested group with a release function: the wait for its parent goes on until then. */
TEST(select_group__nested__ends_the_nesting)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct user it = { 0 };
	struct world w, parent;

	world_init(&parent, rt);
	world_init(&w, rt);
	atomic_store_relaxed(&released, 0);
	assert_int_equal(skua_group_set_release(&w.group, release_member), 0);
	assert_int_equal(skua_group_nest(&w.group, &parent.group), 0);
	spawn_members(&w);
	user_start(&it, rt, true, select_both, &parent);
	wait_until_armed(&parent);
	set(&w.ends);
	assert_int_equal(skua_select(w.cases, CASES, 0, SKUA_FOREVER_NS),
			 GROUP);
	assert_int_equal(atomic_load_relaxed(&released), MEMBERS);
	assert_int_equal(user_end(&it), GROUP);
	assert_int_equal(parent.group.state, 0);
	destroy(rt);
}

/* On the worker of the fiber that selects, which does not run in between. */
struct setter {
	struct skua_task task; /* first */
	struct world *world;
};

static enum skua_poll set_and_end(struct skua_task *self)
{
	struct world *w = ((struct setter *)self)->world;

	set(&w->event);
	set(&w->ends);
	return SKUA_DONE;
}

static int select_event_first(struct user *it)
{
	struct world *w = it->object;
	struct skua_select_case cases[] = { w->cases[EVENT], w->cases[GROUP] };

	return skua_select(cases, CASES, SKUA_SELECT_IN_ORDER, SKUA_FOREVER_NS);
}

/* A group that ended while the select took another case has members again. */
TEST(select_group__members_after_a_wait_that_was_put_back__waited_for)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct user it = { 0 };
	struct world w;
	struct setter setter = { SKUA_TASK_INIT(set_and_end), &w };

	world_init(&w, rt);
	spawn_members(&w);
	user_start(&it, rt, true, select_event_first, &w);
	wait_until_armed(&w);
	spawn(rt, &setter.task);
	join(&setter.task);
	assert_int_equal(user_end(&it), 0);
	while (skua_group_live(&w.group) != 0)
		sched_yield();

	assert_int_equal(skua_event_reset(&w.ends), 0);
	assert_int_equal(skua_event_reset(&w.event), 0);
	/* The memory of the others stays in place until a wait. */
	spawn_in(&w, w.members[1]);
	user_start(&it, rt, true, select_both, &w);
	wait_until_armed(&w);
	set(&w.event);
	assert_int_equal(user_end(&it), EVENT);
	set(&w.ends);
	assert_int_equal(skua_group_wait(&w.group), 0);
	destroy(rt);
}
