/* SPDX-License-Identifier: MIT */
/* test_group.c - spawn many, wait for all, cancel all */
#include <pthread.h>

#include "core/task/group.h"
#include "tests/unit/tasks.h"

static void group_init(struct skua_group *group, struct skua_runtime *rt)
{
	assert_int_equal(skua_group_init(group, rt), 0);
}

static void group_spawn(struct skua_group *group, struct skua_task *task)
{
	assert_int_equal(skua_group_spawn(group, task), 0);
}

static void group_wait(struct skua_group *group)
{
	assert_int_equal(skua_group_wait(group), 0);
}

/* waiter_join_in - spawn it; returns when it waits after its first poll */
static void waiter_join_in(struct skua_group *group, struct waiter *it)
{
	group_spawn(group, &it->task);
	while (waiter_polls(it) == 0)
		sched_yield();
	wait_until_waiting(&it->task);
}

/* ---- refused ------------------------------------------------------------- */

TEST(group__null__einval)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct counter counter = COUNTER_INIT;
	struct skua_group group;

	assert_int_equal(skua_group_init(NULL, rt), -EINVAL);
	assert_int_equal(skua_group_init(&group, NULL), -EINVAL);
	group_init(&group, rt);
	assert_int_equal(skua_group_spawn(NULL, &counter.task), -EINVAL);
	assert_int_equal(skua_group_spawn(&group, NULL), -EINVAL);
	assert_int_equal(skua_group_cancel(NULL), -EINVAL);
	assert_int_equal(skua_group_wait(NULL), -EINVAL);
	assert_int_equal(skua_group_wait_poll(NULL, &group), -EINVAL);
	assert_int_equal(skua_group_wait_poll(&counter.task, NULL), -EINVAL);
	group_wait(&group);
	destroy(rt);
}

TEST(group_spawn__no_poll__einval_and_no_member)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct skua_task without_poll = SKUA_TASK_INIT(NULL);
	struct skua_group group;

	group_init(&group, rt);
	assert_int_equal(skua_group_spawn(&group, &without_poll), -EINVAL);
	group_wait(&group);
	destroy(rt);
}

TEST(group_spawn__spawned_joined_or_detached__ealready)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct waiter alone = WAITER_INIT;
	struct counter detached = COUNTER_INIT;
	struct counter done = COUNTER_INIT;
	struct waiter member = WAITER_INIT;
	struct skua_group group;

	group_init(&group, rt);
	waiter_start(rt, &alone);
	assert_int_equal(skua_group_spawn(&group, &alone.task), -EALREADY);
	spawn(rt, &done.task);
	wait_until_done(&done.task);
	assert_int_equal(skua_group_spawn(&group, &done.task), -EALREADY);
	assert_int_equal(skua_task_detach(&detached.task, NULL), 0);
	assert_int_equal(skua_group_spawn(&group, &detached.task), -EALREADY);
	waiter_join_in(&group, &member);
	assert_int_equal(skua_group_spawn(&group, &member.task), -EALREADY);
	assert_int_equal(skua_task_spawn(rt, &member.task), -EALREADY);
	/* And a member has nobody else. */
	assert_int_equal(skua_task_join(&member.task), -EALREADY);
	assert_int_equal(skua_task_detach(&member.task, NULL), -EALREADY);
	waiter_end(&member);
	group_wait(&group);
	waiter_end(&alone);
	join(&alone.task);
	join(&done.task);
	/* The refusals left no mark on the one that was not spawned. */
	spawn(rt, &detached.task);
	destroy(rt);
	assert_int_equal(detached.polls, 1);
}

static int wait_in_poll(struct skua_task *self, void *arg)
{
	(void)self;
	return skua_group_wait(arg);
}

static int wait_poll_of_another(struct skua_task *self, void *arg)
{
	struct counter another = COUNTER_INIT;

	(void)self;
	return skua_group_wait_poll(&another.task, arg);
}

TEST(group_wait__on_a_worker__edeadlk_only_if_members_are_left)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct skua_runtime *other = runtime_new(1, 0);
	struct counter member = COUNTER_INIT;
	struct skua_group group, parent;

	group_init(&group, rt);
	group_init(&parent, rt);
	assert_int_equal(skua_group_nest(&group, &parent), 0);
	assert_int_equal(call_in_poll(rt, wait_in_poll, &parent), -EDEADLK);
	assert_int_equal(call_in_poll(other, wait_in_poll, &parent), -EDEADLK);
	assert_int_equal(call_in_poll(rt, wait_in_poll, NULL), -EINVAL);
	assert_int_equal(call_in_poll(other, wait_in_poll, &group), 0);
	assert_int_equal(call_in_poll(rt, wait_in_poll, &parent), 0);
	assert_int_equal(skua_group_spawn(&group, &member.task), 0);
	group_wait(&group);
	assert_int_equal(call_in_poll(rt, wait_in_poll, &group), 0);
	destroy(rt);
	destroy(other);
}

TEST(group_wait_poll__self_is_not_polled__eperm)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct counter counter = COUNTER_INIT;
	struct skua_group group;

	group_init(&group, rt);
	assert_int_equal(skua_group_wait_poll(&counter.task, &group), -EPERM);
	assert_int_equal(call_in_poll(rt, wait_poll_of_another, &group),
			 -EPERM);
	group_wait(&group);
	destroy(rt);
}

/* ---- wait ---------------------------------------------------------------- */

TEST(group_wait__no_member_ever__returns_at_once)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct skua_group group;

	group_init(&group, rt);
	for (unsigned n = 0; n < 10; n++)
		group_wait(&group);
	destroy(rt);
}

/* Plain fields, read without a join: the wait orders them. The group is used
 * again as it is. */
TEST(group_wait__many_members__sees_all_they_wrote)
{
	struct skua_runtime *rt = runtime_new(2, 0);
	struct counter counters[100];
	struct skua_group group;

	group_init(&group, rt);
	for (unsigned round = 0; round < 300; round++) {
		for (unsigned n = 0; n < 100; n++) {
			counters[n] = (struct counter)COUNTER_INIT;
			group_spawn(&group, &counters[n].task);
		}
		group_wait(&group);
		for (unsigned n = 0; n < 100; n++)
			assert_int_equal(counters[n].polls, 1);
	}
	destroy(rt);
}

TEST(group_wait__one_member__beside_its_end)
{
	struct skua_runtime *rt = runtime_new(2, 0);
	struct skua_group group;

	group_init(&group, rt);
	for (unsigned round = 0; round < 5000; round++) {
		struct counter counter = COUNTER_INIT;

		group_spawn(&group, &counter.task);
		for (unsigned spins = round % 64; spins > 0; spins--)
			cpu_relax();
		group_wait(&group);
		assert_int_equal(counter.polls, 1);
	}
	destroy(rt);
}

/* Spawns two more, down to the leaves of a tree. */
struct branch {
	struct skua_task task; /* first: a task is its branch */
	struct skua_group *group;
	struct branch *all;
	unsigned index;
	unsigned count;
	unsigned polls;
	unsigned wrong;
};

static enum skua_poll branch_poll(struct skua_task *self)
{
	struct branch *it = (struct branch *)self;

	for (unsigned child = 2 * it->index + 1; child <= 2 * it->index + 2;
	     child++) {
		if (child < it->count)
			it->wrong +=
				skua_group_spawn(it->group,
						 &it->all[child].task) != 0;
	}
	it->polls++;
	return SKUA_DONE;
}

TEST(group_wait__members_spawn_members__waits_for_all)
{
	const unsigned count = 1000;
	struct skua_runtime *rt = runtime_new(3, 16);
	struct branch *all = calloc(count, sizeof(*all));
	struct skua_group group;

	assert_non_null(all);
	group_init(&group, rt);
	for (unsigned round = 0; round < 30; round++) {
		for (unsigned n = 0; n < count; n++)
			all[n] = (struct branch){ SKUA_TASK_INIT(branch_poll),
						  &group,
						  all,
						  n,
						  count,
						  0,
						  0 };
		group_spawn(&group, &all[0].task);
		group_wait(&group);
		for (unsigned n = 0; n < count; n++) {
			assert_int_equal(all[n].polls, 1);
			assert_int_equal(all[n].wrong, 0);
		}
	}
	free(all);
	destroy(rt);
}

struct group_waiter {
	struct skua_group *group;
	struct gate returned;
	int code;
};

static void *wait_for_it(void *arg)
{
	struct group_waiter *it = arg;

	it->code = skua_group_wait(it->group);
	gate_open(&it->returned);
	return NULL;
}

TEST(group_wait__second_waiter__ealready)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct waiter member = WAITER_INIT;
	struct skua_group group;
	struct group_waiter first = { .group = &group, .code = 1 };
	pthread_t thread;
	int code;

	group_init(&group, rt);
	waiter_join_in(&group, &member);
	assert_int_equal(pthread_create(&thread, NULL, wait_for_it, &first), 0);
	/* Acquire: as any look at a group in use. */
	while (!(atomic_load_acquire(group_state(&group)) & GROUP_CLAIMED))
		sched_yield();
	code = skua_group_wait(&group);
	assert_int_equal(code, -EALREADY);
	assert_int_equal(call_in_poll(rt, wait_in_poll, &group), -EALREADY);
	assert_false(gate_is_open(&first.returned));
	waiter_end(&member);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(first.code, 0);
	destroy(rt);
}

TEST(group_wait__member_has_a_waker_left__not_before_its_drop)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct waiter member = WAITER_INIT;
	struct skua_group group;
	struct group_waiter it = { .group = &group, .code = 1 };
	struct skua_waker waker;
	pthread_t thread;

	group_init(&group, rt);
	waiter_join_in(&group, &member);
	waker = skua_task_waker(&member.task);
	waiter_end(&member);
	assert_int_equal(pthread_create(&thread, NULL, wait_for_it, &it), 0);
	wait_until_done(&member.task);
	assert_int_equal(skua_runtime_drain(rt), 0);
	assert_false(gate_is_open(&it.returned));
	skua_waker_drop(waker);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(it.code, 0);
	destroy(rt);
}

/* ---- wait in a poll ------------------------------------------------------- */

struct poll_waiter {
	struct skua_task task; /* first: a task is its poll_waiter */
	struct skua_group *group;
	atomic_u32 polls;
	int code;
};

static enum skua_poll poll_waiter_poll(struct skua_task *self)
{
	struct poll_waiter *it = (struct poll_waiter *)self;

	it->code = skua_group_wait_poll(self, it->group);
	atomic_fetch_add_release(&it->polls, 1);
	return it->code == -EAGAIN ? SKUA_PENDING : SKUA_DONE;
}

static void poll_until(struct poll_waiter *it, uint32_t polls)
{
	while (atomic_load_acquire(&it->polls) < polls)
		sched_yield();
	wait_until_waiting(&it->task);
}

TEST(group_wait_poll__members_left__eagain_then_woken)
{
	struct skua_runtime *rt = runtime_new(2, 0);
	struct skua_group group;

	group_init(&group, rt);
	for (unsigned round = 0; round < 100; round++) {
		struct poll_waiter it = { .task = SKUA_TASK_INIT(
						  poll_waiter_poll),
					  .group = &group };
		struct waiter members[3];

		for (unsigned n = 0; n < 3; n++) {
			members[n] = (struct waiter)WAITER_INIT;
			waiter_join_in(&group, &members[n]);
		}
		spawn(rt, &it.task);
		poll_until(&it, 1);
		assert_int_equal(it.code, -EAGAIN);
		assert_int_equal(skua_group_wait(&group), -EALREADY);
		/* Polled without cause. */
		skua_waker_wake(skua_task_waker(&it.task));
		poll_until(&it, 2);
		assert_int_equal(it.code, -EAGAIN);
		for (unsigned n = 0; n < 3; n++)
			waiter_end(&members[n]);
		join(&it.task);
		assert_int_equal(it.code, 0);
		assert_int_equal(atomic_load_relaxed(&it.polls), 3);
	}
	group_wait(&group);
	destroy(rt);
}

TEST(group_wait_poll__all_ended__0_at_once)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct counter counter = COUNTER_INIT;
	struct skua_group group;
	struct poll_waiter it = { .task = SKUA_TASK_INIT(poll_waiter_poll),
				  .group = &group };

	group_init(&group, rt);
	spawn(rt, &it.task); /* of an empty one */
	join(&it.task);
	assert_int_equal(it.code, 0);
	group_spawn(&group, &counter.task);
	wait_until_done(&counter.task);
	assert_int_equal(skua_runtime_drain(rt), 0);
	spawn(rt, &it.task);
	join(&it.task);
	assert_int_equal(it.code, 0);
	assert_int_equal(counter.polls, 1);
	assert_int_equal(atomic_load_relaxed(&it.polls), 2);
	destroy(rt);
}

TEST(group_wait_poll__a_thread_waits__ealready)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct waiter member = WAITER_INIT;
	struct skua_group group;
	struct group_waiter first = { .group = &group, .code = 1 };
	struct poll_waiter it = { .task = SKUA_TASK_INIT(poll_waiter_poll),
				  .group = &group };
	pthread_t thread;

	group_init(&group, rt);
	waiter_join_in(&group, &member);
	assert_int_equal(pthread_create(&thread, NULL, wait_for_it, &first), 0);
	while (!(atomic_load_acquire(group_state(&group)) & GROUP_CLAIMED))
		sched_yield();
	spawn(rt, &it.task);
	join(&it.task);
	assert_int_equal(it.code, -EALREADY);
	waiter_end(&member);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(first.code, 0);
	destroy(rt);
}

/* ---- cancel -------------------------------------------------------------- */

TEST(group_cancel__members_wait__all_end)
{
	struct skua_runtime *rt = runtime_new(2, 0);
	struct waiter members[50];
	struct waiter late = WAITER_INIT;
	struct waiter next = WAITER_INIT;
	struct skua_group group;

	group_init(&group, rt);
	for (unsigned n = 0; n < 50; n++) {
		members[n] = (struct waiter)WAITER_INIT;
		waiter_join_in(&group, &members[n]);
	}
	assert_int_equal(skua_group_cancel(&group), 0);
	assert_int_equal(skua_group_cancel(&group), 0);
	/* A member that comes before the wait returns is cancelled too. */
	group_spawn(&group, &late.task);
	group_wait(&group);
	for (unsigned n = 0; n < 50; n++) {
		assert_int_equal(members[n].ends, 1);
		assert_int_equal(atomic_load_relaxed(&members[n].cancelled), 1);
	}
	assert_int_equal(late.ends, 1);
	assert_int_equal(atomic_load_relaxed(&late.cancelled), 1);
	/* That is over with the wait. */
	waiter_join_in(&group, &next);
	assert_int_equal(atomic_load_relaxed(&next.cancelled), 0);
	waiter_end(&next);
	group_wait(&group);
	destroy(rt);
}

TEST(group_cancel__empty_or_ended__0)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct counter counter = COUNTER_INIT;
	struct skua_group group;

	group_init(&group, rt);
	assert_int_equal(skua_group_cancel(&group), 0);
	group_wait(&group);
	group_spawn(&group, &counter.task);
	wait_until_done(&counter.task);
	assert_int_equal(skua_group_cancel(&group), 0);
	group_wait(&group);
	assert_int_equal(counter.polls, 1);
	destroy(rt);
}

/* Goes on spawning until it is cancelled. */
struct spawner {
	struct waiter waiter; /* first: a task is its spawner */
	struct skua_group *group;
	struct waiter *members;
	unsigned count;
	unsigned spawned;
};

static enum skua_poll spawner_poll(struct skua_task *self)
{
	struct spawner *it = (struct spawner *)self;

	gate_open(&it->waiter.end); /* here: it runs */
	if (it->spawned == it->count || skua_task_cancelled(self))
		return SKUA_DONE;
	skua_group_spawn(it->group, &it->members[it->spawned++].task);
	return SKUA_YIELD;
}

TEST(group_cancel__beside_spawns__every_member_ends)
{
	const unsigned count = 2000;
	struct skua_runtime *rt = runtime_new(2, 0);
	struct waiter *members = calloc(count, sizeof(*members));
	struct skua_group group;

	assert_non_null(members);
	group_init(&group, rt);
	for (unsigned round = 0; round < 100; round++) {
		struct spawner it = { .waiter = { .task = SKUA_TASK_INIT(
							  spawner_poll) },
				      .group = &group,
				      .members = members,
				      .count = count };

		for (unsigned n = 0; n < count; n++)
			members[n] = (struct waiter)WAITER_INIT;
		group_spawn(&group, &it.waiter.task);
		gate_wait(&it.waiter.end);
		assert_int_equal(skua_group_cancel(&group), 0);
		group_wait(&group);
		for (unsigned n = 0; n < it.spawned; n++)
			assert_int_equal(members[n].ends, 1);
	}
	free(members);
	destroy(rt);
}

/* ---- spawns that are refused ----------------------------------------------- */

TEST(group_spawn__runtime_shut_down__eshutdown_and_no_member)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct skua_runtime *other = runtime_new(1, 0);
	struct counter counter = COUNTER_INIT;
	struct skua_group group;

	group_init(&group, rt);
	assert_int_equal(
		skua_runtime_shutdown(rt, SKUA_FOREVER_NS, SKUA_SHUTDOWN_RUN),
		0);
	assert_int_equal(skua_group_spawn(&group, &counter.task), -ESHUTDOWN);
	group_wait(&group);
	/* As it was: another runtime takes it. */
	spawn(other, &counter.task);
	join(&counter.task);
	destroy(rt);
	destroy(other);
}

TEST(group_spawn__too_many_queued__eagain_and_no_member)
{
	struct skua_runtime *rt = RUNTIME(.workers = 1, .max_queued = 2);
	struct holder holder = HOLDER_INIT;
	struct counter counters[3];
	struct skua_group group;

	group_init(&group, rt);
	holder_hold(rt, &holder);
	for (unsigned n = 0; n < 3; n++) {
		counters[n] = (struct counter)COUNTER_INIT;
		assert_int_equal(skua_group_spawn(&group, &counters[n].task),
				 n < 2 ? 0 : -EAGAIN);
	}
	holder_end(&holder);
	group_wait(&group);
	group_spawn(&group, &counters[2].task);
	group_wait(&group);
	assert_int_equal(counters[2].polls, 1);
	destroy(rt);
}
