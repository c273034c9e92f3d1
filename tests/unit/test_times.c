/* SPDX-License-Identifier: MIT */
/* test_times.c - histograms and types of tasks, as the program itself reads them */
#include "core/runtime/runtime.h"
#include "tests/unit/support.h"

#define TASKS 300u

static const struct skua_task_type types[] = { SKUA_TASK_TYPE("red"),
					       SKUA_TASK_TYPE("green"),
					       SKUA_TASK_TYPE("blue") };

static enum skua_poll take_time(struct skua_task *self)
{
	uint64_t start_ns = skua_now_ns();

	(void)self;
	while (skua_now_ns() - start_ns < UINT64_C(50000))
		;
	return SKUA_DONE;
}

static enum skua_poll do_nothing(struct skua_task *self)
{
	(void)self;
	return SKUA_DONE;
}

static struct skua_runtime *make(unsigned workers)
{
	return RUNTIME(.flags = SKUA_NO_ENV, .workers = workers);
}

/* Each type in turn; every fourth task is without. */
static void run_tasks(struct skua_runtime *rt)
{
	static struct skua_task tasks[TASKS];

	for (unsigned i = 0; i < TASKS; i++) {
		skua_task_init(&tasks[i], take_time);
		if (i % 4 < 3)
			skua_task_set_type(&tasks[i], &types[i % 4]);
		assert_int_equal(skua_task_spawn(rt, &tasks[i]), 0);
	}
	assert_int_equal(skua_runtime_drain(rt), 0);
}

/* Which polls are timed is not for the test to say. But the types take turns, and
 * each of them is timed before long. */
static int run_until_seen(struct skua_runtime *rt, struct skua_type_stats *rows,
			  unsigned room, int count)
{
	int seen = 0;

	for (unsigned i = 0; i < 50 && seen < count; i++) {
		run_tasks(rt);
		seen = skua_runtime_type_stats(rt, rows, room);
	}
	return seen;
}

TEST(times__bad_arguments__einval)
{
	struct skua_runtime *rt = make(1);
	struct skua_times times;
	struct skua_type_stats row;

	assert_int_equal(skua_runtime_times(NULL, SKUA_TIMES_POLL, &times),
			 -EINVAL);
	assert_int_equal(skua_runtime_times(rt, SKUA_TIMES_POLL, NULL),
			 -EINVAL);
	assert_int_equal(skua_runtime_times(rt, (enum skua_times_of)4, &times),
			 -EINVAL);
	assert_int_equal(
		skua_runtime_times(rt, (enum skua_times_of) - 1, &times),
		-EINVAL);
	assert_int_equal(skua_runtime_type_stats(NULL, &row, 1), -EINVAL);
	assert_int_equal(skua_runtime_type_stats(rt, NULL, 1), -EINVAL);
	assert_int_equal(skua_runtime_type_stats(rt, &row, 0), -EINVAL);
	assert_true(skua_times_bucket_ns(SKUA_TIMES_BUCKETS) == UINT64_MAX);
	assert_int_equal(skua_times_quantile(NULL, 0.5), 0);
	skua_runtime_destroy(rt);
}

TEST(times__of_a_new_runtime__are_none)
{
	struct skua_runtime *rt = make(2);
	struct skua_times times;
	struct skua_type_stats rows[4];

	memset(&times, 0xff, sizeof(times));
	assert_int_equal(skua_runtime_times(rt, SKUA_TIMES_POLL, &times), 0);
	assert_int_equal(times.count, 0);
	assert_int_equal(times.sum_ns, 0);
	assert_int_equal(times.longest_ns, 0);
	assert_int_equal(skua_times_quantile(&times, 0.99), 0);
	assert_int_equal(skua_runtime_type_stats(rt, rows, 4), 0);
	skua_runtime_destroy(rt);
}

TEST(times__of_long_polls__are_as_long)
{
	struct skua_runtime *rt = make(2);
	struct skua_times times;
	uint64_t count = 0;

	run_tasks(rt);
	assert_int_equal(skua_runtime_times(rt, SKUA_TIMES_POLL, &times), 0);
	for (unsigned i = 0; i < SKUA_TIMES_BUCKETS; i++)
		count += times.bucket[i];
	assert_int_equal(count, times.count);
	assert_in_range(times.count, 1, TASKS);
	assert_true(times.sum_ns >= times.count * 50000);
	assert_in_range(skua_times_quantile(&times, 0), 43750,
			times.longest_ns);
	assert_true(skua_times_quantile(&times, 1) <= times.longest_ns);
	assert_int_equal(skua_times_quantile(&times, 1.5), 0);
	assert_int_equal(skua_times_quantile(&times, -0.1), 0);
	assert_int_equal(skua_runtime_times(rt, SKUA_TIMES_WAIT, &times), 0);
	assert_in_range(times.count, 1, TASKS);
	skua_runtime_destroy(rt);
}

TEST(types__of_three_and_none__have_a_row_each)
{
	struct skua_runtime *rt = make(2);
	struct skua_type_stats rows[8];
	struct skua_stats stats;
	uint64_t polls = 0;
	int count;

	count = run_until_seen(rt, rows, 8, 4);
	assert_int_equal(count, 4);
	for (int i = 0; i < count; i++) {
		assert_true(rows[i].poll == take_time);
		assert_true(rows[i].waits <= rows[i].polls);
		assert_true(rows[i].polls > 0);
		assert_true(rows[i].longest_ns >= 50000);
		for (int k = 0; k < i; k++)
			assert_true(rows[i].type != rows[k].type);
		polls += rows[i].polls;
	}
	assert_int_equal(skua_runtime_stats(rt, &stats), 0);
	assert_true(polls <= stats.total.tasks_polled);
	skua_runtime_destroy(rt);
}

TEST(types__more_than_room__share_the_last)
{
	struct skua_runtime *rt = make(1);
	struct skua_type_stats rows[8], few[2], all = { .polls = 0 };
	struct skua_task other = SKUA_TASK_INIT(do_nothing);
	int count;

	assert_int_equal(skua_runtime_block_on(rt, &other), 0);
	count = run_until_seen(rt, rows, 8, 4);
	assert_in_range(count, 4, 5);
	for (int i = 0; i < count; i++) {
		all.polls += rows[i].polls;
		all.waits += rows[i].waits;
		all.run_ns += rows[i].run_ns;
	}
	assert_int_equal(skua_runtime_type_stats(rt, few, 2), 2);
	assert_null(few[1].type);
	assert_null(few[1].poll);
	assert_int_equal(few[0].polls + few[1].polls, all.polls);
	assert_int_equal(few[0].waits + few[1].waits, all.waits);
	assert_int_equal(few[0].run_ns + few[1].run_ns, all.run_ns);
	assert_int_equal(skua_runtime_type_stats(rt, few, 1), 1);
	assert_int_equal(few[0].polls, all.polls);
	skua_runtime_destroy(rt);
}

TEST(buckets__each__begins_where_the_last_ends)
{
	assert_int_equal(skua_times_bucket_ns(0), 0);
	for (unsigned i = 1; i < SKUA_TIMES_BUCKETS; i++)
		assert_true(skua_times_bucket_ns(i) >
			    skua_times_bucket_ns(i - 1));
}
