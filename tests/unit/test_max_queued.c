/* SPDX-License-Identifier: MIT */
/* test_max_queued.c - spawns are refused when too much is queued */
#include "tests/unit/tasks.h"

#define MAX 10u

static struct skua_runtime *bounded_runtime(unsigned workers)
{
	return RUNTIME(.workers = workers, .max_queued = MAX);
}

TEST(max_queued__reached__eagain_until_there_is_room)
{
	struct skua_runtime *rt = bounded_runtime(1);
	struct holder holder = HOLDER_INIT;
	struct counter counters[MAX + 1];
	struct skua_task *last = &counters[MAX].task;
	struct skua_stats stats;

	holder_hold(rt, &holder);
	for (unsigned n = 0; n <= MAX; n++) {
		counters[n] = (struct counter)COUNTER_INIT;
		if (n < MAX)
			spawn(rt, &counters[n].task);
	}
	for (unsigned n = 0; n < 3; n++) {
		assert_int_equal(skua_task_spawn(rt, last), -EAGAIN);
		assert_int_equal(skua_runtime_block_on(rt, last), -EAGAIN);
	}
	assert_int_equal(skua_runtime_stats(rt, &stats), 0);
	assert_int_equal(stats.injection_depth, MAX);
	assert_int_equal(stats.tasks_spawned, MAX + 1);
	/* It is the caller's as before. */
	assert_int_equal(skua_task_join(last), -EINVAL);
	assert_int_equal(skua_task_cancel(last), -EINVAL);
	holder_end(&holder);
	for (unsigned n = 0; n < MAX; n++)
		join(&counters[n].task);
	spawn(rt, last);
	join(last);
	assert_int_equal(counters[MAX].polls, 1);
	/* Nothing was counted that did not run. */
	assert_int_equal(skua_runtime_drain(rt), 0);
	destroy(rt);
}

TEST(max_queued__bound_and_urgent__not_counted)
{
	struct skua_runtime *rt = bounded_runtime(1);
	struct holder holder = HOLDER_INIT;
	struct counter counters[MAX];
	struct counter refused = COUNTER_INIT;
	struct counter bound = COUNTER_INIT;
	struct counter urgent = COUNTER_INIT;

	assert_int_equal(skua_task_set_urgent(&urgent.task, true), 0);
	holder_hold(rt, &holder);
	for (unsigned n = 0; n < MAX; n++) {
		counters[n] = (struct counter)COUNTER_INIT;
		spawn(rt, &counters[n].task);
	}
	assert_int_equal(skua_task_spawn(rt, &refused.task), -EAGAIN);
	assert_int_equal(skua_task_spawn_on(rt, 0, &bound.task), 0);
	assert_int_equal(skua_task_spawn(rt, &urgent.task), 0);
	holder_end(&holder);
	assert_int_equal(skua_runtime_drain(rt), 0);
	join(&bound.task);
	join(&urgent.task);
	spawn(rt, &refused.task);
	join(&refused.task);
	destroy(rt);
}

/* Wakes are no spawns: they are never refused. */
TEST(max_queued__reached__wakes_still_work)
{
	struct skua_runtime *rt = bounded_runtime(1);
	struct holder holder = HOLDER_INIT;
	struct waiter waiters[3 * MAX];

	for (unsigned n = 0; n < COUNT_OF(waiters); n++) {
		waiters[n] = (struct waiter)WAITER_INIT;
		waiter_start(rt, &waiters[n]);
	}
	holder_hold(rt, &holder);
	for (unsigned n = 0; n < COUNT_OF(waiters); n++) {
		gate_open(&waiters[n].end);
		skua_waker_wake(skua_task_waker(&waiters[n].task));
	}
	holder_end(&holder);
	for (unsigned n = 0; n < COUNT_OF(waiters); n++)
		join(&waiters[n].task);
	destroy(rt);
}

/* A producer that retries gets all its work done. */
TEST(max_queued__producer_retries__all_run_and_bound_holds)
{
	struct skua_runtime *rt = bounded_runtime(2);
	const unsigned count = 5000;
	struct counter *counters = calloc(count, sizeof(*counters));
	struct skua_stats stats;
	unsigned deepest = 0;

	assert_non_null(counters);
	for (unsigned n = 0; n < count; n++) {
		int code;

		counters[n] = (struct counter)COUNTER_INIT;
		while ((code = skua_task_spawn(rt, &counters[n].task)) != 0) {
			assert_int_equal(code, -EAGAIN);
			sched_yield();
		}
		assert_int_equal(skua_runtime_stats(rt, &stats), 0);
		if (stats.injection_depth > deepest)
			deepest = (unsigned)stats.injection_depth;
	}
	for (unsigned n = 0; n < count; n++) {
		join(&counters[n].task);
		assert_int_equal(counters[n].polls, 1);
	}
	assert_true(deepest <= MAX);
	free(counters);
	destroy(rt);
}
