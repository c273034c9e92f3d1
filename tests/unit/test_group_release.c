/* SPDX-License-Identifier: MIT */
/* test_group_release.c - groups that let members go as they end */
#include <pthread.h>

#include "skua/waker.h"
#include "tests/unit/members.h"

/* ---- refused ------------------------------------------------------------- */

TEST(set_release__null_or_in_use__refused)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct counter counter = COUNTER_INIT;
	struct skua_group group;

	assert_int_equal(skua_group_set_release(NULL, member_release), -EINVAL);
	assert_int_equal(skua_group_live(NULL), 0);
	assert_int_equal(skua_group_init(&group, rt), 0);
	assert_int_equal(skua_group_set_release(&group, member_release), 0);
	assert_int_equal(skua_group_set_release(&group, NULL), 0);
	assert_int_equal(skua_group_spawn(&group, &counter.task), 0);
	wait_until_done(&counter.task);
	assert_int_equal(skua_runtime_drain(rt), 0);
	/* It has ended, and is in the list. */
	assert_int_equal(skua_group_set_release(&group, member_release),
			 -EALREADY);
	assert_int_equal(skua_group_wait(&group), 0);
	assert_int_equal(skua_group_set_release(&group, member_release), 0);
	assert_int_equal(skua_group_wait(&group), 0);
	destroy(rt);
}

TEST(spawn__queues_are_full__the_task_is_the_callers)
{
	struct skua_runtime *rt = RUNTIME(.workers = 1, .max_queued = 1);
	struct skua_group group;
	struct tally tally;
	struct member *it;
	unsigned refused = 0;

	setup(&tally, &group, rt);
	for (unsigned n = 0; n < 100000 && refused == 0; n++) {
		int code;

		it = member_new(&tally, false);
		code = skua_group_spawn(&group, &it->task);
		if (code == 0)
			continue;
		assert_int_equal(code, -EAGAIN);
		/* As before: it may be spawned in another way. */
		assert_int_equal(it->task.state, 0);
		free(it);
		refused++;
	}
	assert_int_equal(refused, 1);
	assert_int_equal(skua_group_wait(&group), 0);
	assert_int_equal(skua_group_live(&group), 0);
	destroy(rt);
}

/* ---- let go -------------------------------------------------------------- */

TEST(end__beside_others_that_live__is_released_at_once)
{
	struct skua_group group;
	struct tally tally;
	struct skua_runtime *rt = members_new(2, &tally, &group);

	for (unsigned n = 0; n < 100; n++)
		member_spawn(&tally, true);
	for (uint32_t n = 1; n <= 1000; n++) {
		member_spawn(&tally, false);
		wait_for_releases(&tally, n);
	}
	assert_int_equal(skua_group_live(&group) >= 100, 1);
	assert_int_equal(skua_group_cancel(&group), 0);
	assert_int_equal(skua_group_wait(&group), 0);
	assert_int_equal(releases(&tally), 1100);
	assert_int_equal(atomic_load_relaxed(&tally.cancelled), 100);
	destroy(rt);
}

TEST(release__spawns_members__while_somebody_waits)
{
	struct skua_group group;
	struct tally tally;
	struct skua_runtime *rt = members_new(2, &tally, &group);

	for (unsigned round = 0; round < 100; round++) {
		struct member *it = member_new(&tally, false);

		it->spawns = 20;
		assert_int_equal(skua_group_spawn(&group, &it->task), 0);
		assert_int_equal(skua_group_wait(&group), 0);
		assert_int_equal(releases(&tally), (round + 1) * 21);
	}
	destroy(rt);
}

TEST(waker_left__is_released_by_its_drop)
{
	struct skua_group group;
	struct tally tally;
	struct skua_runtime *rt = members_new(1, &tally, &group);
	struct member *it;
	struct skua_waker waker;

	it = member_new(&tally, true);
	assert_int_equal(skua_group_spawn(&group, &it->task), 0);
	waker = skua_task_waker(&it->task);
	assert_int_equal(skua_group_cancel(&group), 0);
	wait_until_done(&it->task);
	assert_int_equal(skua_runtime_drain(rt), 0);
	assert_int_equal(releases(&tally), 0);
	/* Of a member that is done: nothing happens. */
	assert_int_equal(skua_group_cancel(&group), 0);
	assert_int_equal(skua_group_wait_until(&group, 0), -ETIMEDOUT);
	skua_waker_drop(waker);
	assert_int_equal(releases(&tally), 1);
	assert_int_equal(skua_group_wait(&group), 0);
	destroy(rt);
}

/* ---- all at once --------------------------------------------------------- */

static void *spawn_many(void *arg)
{
	struct tally *tally = arg;

	for (unsigned n = 0; n < 5000; n++)
		member_spawn(tally, n % 4 == 0);
	return NULL;
}

static void *cancel_often(void *arg)
{
	struct tally *tally = arg;

	for (unsigned n = 0; n < 200; n++) {
		assert_int_equal(skua_group_cancel(tally->group), 0);
		sched_yield();
	}
	return NULL;
}

/* Before the first cancel members stay, and after it each ends. */
TEST(cancels_beside_spawns_and_ends__each_is_released_once)
{
	struct skua_group group;
	struct tally tally;
	struct skua_runtime *rt = members_new(3, &tally, &group);
	pthread_t threads[4];

	for (unsigned round = 1; round <= 3; round++) {
		for (unsigned i = 0; i < 4; i++)
			assert_int_equal(pthread_create(&threads[i], NULL,
							i < 2 ? spawn_many
							      : cancel_often,
							&tally),
					 0);
		for (unsigned i = 0; i < 4; i++)
			assert_int_equal(pthread_join(threads[i], NULL), 0);
		assert_int_equal(skua_group_wait(&group), 0);
		assert_int_equal(releases(&tally), round * 10000);
	}
	destroy(rt);
}
