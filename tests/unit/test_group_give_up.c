/* SPDX-License-Identifier: MIT */
/* test_group_give_up.c - waits for groups that are given up */
#include "tests/unit/members.h"

/* ---- waits that are given up --------------------------------------------- */

TEST(wait_until__members_left__etimedout_and_again)
{
	struct skua_group group;
	struct tally tally;
	struct skua_runtime *rt = members_new(1, &tally, &group);

	assert_int_equal(skua_group_wait_until(NULL, 0), -EINVAL);
	assert_int_equal(skua_group_wait_until(&group, 0), 0);
	member_spawn(&tally, true);
	for (unsigned n = 0; n < 100; n++)
		assert_int_equal(
			skua_group_wait_until(&group, skua_now_ns() + n * 1000),
			-ETIMEDOUT);
	/* Spawns go on. */
	member_spawn(&tally, true);
	assert_int_equal(skua_group_cancel(&group), 0);
	assert_int_equal(skua_group_wait_until(&group, UINT64_MAX), 0);
	assert_int_equal(releases(&tally), 2);
	destroy(rt);
}

/* Deadlines that come as members end: each wait is told, or gives up. */
TEST(wait_until__beside_the_last_end__0_or_etimedout)
{
	struct skua_group group;
	struct tally tally;
	struct skua_runtime *rt = members_new(2, &tally, &group);
	unsigned given_up = 0;

	for (unsigned round = 0; round < 3000; round++) {
		int code;

		member_spawn(&tally, false);
		code = skua_group_wait_until(&group,
					     skua_now_ns() + round % 32 * 1000);
		if (code) {
			assert_int_equal(code, -ETIMEDOUT);
			assert_int_equal(skua_group_wait(&group), 0);
			given_up++;
		}
		assert_int_equal(releases(&tally), round + 1);
	}
	assert_true(given_up > 0);
	destroy(rt);
}

/* A task that waits for a group, and gives that up when it is told to. */
struct quitter {
	struct skua_task task; /* first: a task is its quitter */
	struct skua_group *group;
	struct gate quit;
	atomic_u32 polls;
	int waited;
	int cancelled;
};

static enum skua_poll quitter_poll(struct skua_task *self)
{
	struct quitter *it = (struct quitter *)self;

	if (gate_is_open(&it->quit)) {
		it->cancelled = skua_group_wait_cancel(self, it->group);
		if (it->cancelled == 0)
			return SKUA_DONE;
	}
	it->waited = skua_group_wait_poll(self, it->group);
	atomic_fetch_add_release(&it->polls, 1);
	return it->waited == -EAGAIN ? SKUA_PENDING : SKUA_DONE;
}

/* Returns once it waits. */
static void quitter_start(struct skua_runtime *rt, struct quitter *it)
{
	it->task = (struct skua_task)SKUA_TASK_INIT(quitter_poll);
	spawn(rt, &it->task);
	while (atomic_load_acquire(&it->polls) == 0)
		sched_yield();
	wait_until_waiting(&it->task);
}

static int cancel_of_another(struct skua_task *self, void *arg)
{
	return skua_group_wait_cancel(self, arg);
}

TEST(wait_cancel__a_task_waits__another_may)
{
	struct skua_group group;
	struct tally tally;
	struct skua_runtime *rt = members_new(1, &tally, &group);
	struct quitter it = { .group = &group };

	member_spawn(&tally, true);
	quitter_start(rt, &it);
	assert_int_equal(it.waited, -EAGAIN);
	assert_int_equal(skua_group_wait_cancel(&it.task, &group), -EPERM);
	assert_int_equal(skua_group_wait_cancel(NULL, &group), -EINVAL);
	assert_int_equal(skua_group_wait_cancel(&it.task, NULL), -EINVAL);
	assert_int_equal(call_in_poll(rt, cancel_of_another, &group), -EINVAL);
	assert_int_equal(skua_group_wait_until(&group, 0), -EALREADY);
	gate_open(&it.quit);
	skua_waker_wake(skua_task_waker(&it.task));
	join(&it.task);
	assert_int_equal(it.cancelled, 0);
	assert_int_equal(skua_group_wait_until(&group, 0), -ETIMEDOUT);
	assert_int_equal(skua_group_cancel(&group), 0);
	assert_int_equal(skua_group_wait(&group), 0);
	destroy(rt);
}

TEST(wait_cancel__all_have_ended__ealready)
{
	struct skua_group group;
	struct tally tally;
	struct skua_runtime *rt = members_new(1, &tally, &group);
	struct quitter it = { .group = &group };

	member_spawn(&tally, true);
	quitter_start(rt, &it);
	gate_open(&it.quit);
	assert_int_equal(skua_group_cancel(&group), 0);
	join(&it.task); /* woken by the end of the group */
	assert_int_equal(it.cancelled, -EALREADY);
	assert_int_equal(it.waited, 0);
	assert_int_equal(releases(&tally), 1);
	destroy(rt);
}
