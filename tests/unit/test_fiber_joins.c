/* SPDX-License-Identifier: MIT */
/* test_fiber_joins.c - joins, groups, sleeps and intervals of fibers */
#include "skua/sync.h"
#include "skua/waker.h"
#include "tests/unit/users.h"

struct family {
	struct user parent; /* first: a user is its family */
	struct skua_runtime *rt;
	struct skua_group group;
	struct skua_event
		go_on; /* set: the children of wait_for_children() end */
	struct user children[4];
};

static int nap(struct user *it)
{
	(void)it;
	return skua_sleep_until(skua_now_ns() + 200000);
}

static int join_children(struct user *it)
{
	struct family *family = (struct family *)it;
	uint64_t start_ns = skua_now_ns();

	for (unsigned i = 0; i < 4; i++)
		user_start(&family->children[i], family->rt, true, nap, NULL);
	for (unsigned i = 0; i < 4; i++) {
		struct skua_task *task = &family->children[i].fiber.task;
		int code = skua_task_join_until(task, skua_now_ns() + 1000);

		if (code == -ETIMEDOUT)
			code = skua_task_join(task);
		assert_int_equal(code, 0);
		assert_int_equal(family->children[i].result, 0);
	}
	assert_true(skua_now_ns() - start_ns >= 200000);
	return 1;
}

TEST(join__by_fiber__waits)
{
	struct skua_runtime *rt = runtime_new(2, 0);
	struct family family = { .rt = rt };

	user_start(&family.parent, rt, true, join_children, NULL);
	assert_int_equal(user_end(&family.parent), 1);
	destroy(rt);
}

static int wait_to_go_on(struct user *it)
{
	return skua_event_wait(it->object, SKUA_FOREVER_NS);
}

static int wait_for_children(struct user *it)
{
	struct family *family = (struct family *)it;

	assert_int_equal(skua_group_init(&family->group, family->rt), 0);
	for (unsigned i = 0; i < 4; i++) {
		struct user *child = &family->children[i];

		child->act = wait_to_go_on;
		child->object = &family->go_on;
		assert_int_equal(skua_fiber_init(&child->fiber, fiber_acts, 0),
				 0);
		assert_int_equal(
			skua_group_spawn(&family->group, &child->fiber.task),
			0);
	}
	assert_int_equal(
		skua_group_wait_until(&family->group, skua_now_ns() + 1000),
		-ETIMEDOUT);
	assert_int_equal(skua_event_set(&family->go_on), 0);
	return skua_group_wait(&family->group);
}

TEST(group_wait__by_fiber__waits)
{
	struct skua_runtime *rt = runtime_new(2, 0);
	struct family family = { .rt = rt };

	user_start(&family.parent, rt, true, wait_for_children, NULL);
	assert_int_equal(user_end(&family.parent), 0);
	destroy(rt);
}

static int join_until_cancelled(struct user *it)
{
	return skua_task_join(it->object);
}

TEST(join__by_cancelled_fiber__ecanceled_and_others_may_join)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct waiter child = WAITER_INIT;
	struct user it = { .number = 0 };

	waiter_start(rt, &child);
	user_start(&it, rt, true, join_until_cancelled, &child.task);
	wait_for_state(&child.task, TASK_END_TASK);
	assert_int_equal(skua_task_cancel(&it.fiber.task), 0);
	assert_int_equal(user_end(&it), -ECANCELED);
	waiter_end(&child);
	destroy(rt);
}

static int sleep_until_cancelled(struct user *it)
{
	(void)it;
	return skua_sleep_until(SKUA_FOREVER_NS);
}

static int sleep_in_poll(struct skua_task *self, void *arg)
{
	(void)self, (void)arg;
	return skua_sleep_until(skua_now_ns() + 1000);
}

TEST(sleep_until__fibers_threads_and_polls__as_stated)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	uint64_t when_ns = skua_now_ns() + 300000;
	struct user it = { .number = 0 };

	assert_int_equal(skua_sleep_until(when_ns), 0);
	assert_true(skua_now_ns() >= when_ns);
	assert_int_equal(skua_sleep_until(0), 0);
	assert_int_equal(user_run(rt, true, nap, NULL), 0);
	assert_int_equal(call_in_poll(rt, sleep_in_poll, NULL), -EDEADLK);
	user_start(&it, rt, true, sleep_until_cancelled, NULL);
	wait_until_waiting(&it.fiber.task);
	assert_int_equal(skua_task_cancel(&it.fiber.task), 0);
	assert_int_equal(user_end(&it), -ECANCELED);
	destroy(rt);
}

TEST(interval__late__in_step_again)
{
	struct skua_interval interval;
	uint64_t start_ns = skua_now_ns();
	uint64_t next_ns;

	assert_int_equal(skua_interval_init(NULL, 0, 1), -EINVAL);
	assert_int_equal(skua_interval_init(&interval, 0, 0), -EINVAL);
	assert_true(skua_interval_next(NULL) == SKUA_FOREVER_NS);
	assert_int_equal(skua_interval_init(&interval, start_ns, 3600000000000),
			 0);
	for (unsigned i = 1; i <= 3; i++)
		assert_true(skua_interval_next(&interval) ==
			    start_ns + i * UINT64_C(3600000000000));
	assert_int_equal(interval.missed, 0);
	/* Begun long ago: all times but the last one are left out. */
	assert_int_equal(skua_interval_init(&interval, start_ns - 1050, 100),
			 0);
	next_ns = skua_interval_next(&interval);
	assert_int_equal((next_ns - (start_ns - 1050)) % 100, 0);
	assert_true(next_ns <= skua_now_ns() && interval.missed >= 9);
	assert_int_equal(skua_interval_init(&interval, UINT64_MAX - 5, 10), 0);
	assert_true(skua_interval_next(&interval) == SKUA_FOREVER_NS);
	assert_true(skua_interval_next(&interval) == SKUA_FOREVER_NS);
}
