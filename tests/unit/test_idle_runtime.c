/* SPDX-License-Identifier: MIT */
/* test_idle_runtime.c - many workers, one worker, and none that has work */
#include <time.h>

#include "core/runtime.h"
#include "tests/unit/tasks.h"
#include "tests/unit/tree.h"

static bool all_asleep(struct skua_runtime *rt)
{
	for (unsigned i = 0; i < rt->pool.worker_count; i++) {
		struct parker *parker = &rt->pool.idle.sleepers[i].parker;

		if (atomic_load_acquire(&parker->state) != PARKER_PARKED)
			return false;
	}
	/* Nobody sleeps with a deadline. */
	return idle_all_parked(&rt->pool.idle) &&
	       atomic_load_relaxed(&rt->pool.sentinel.holder) == 0;
}

static void wait_until_asleep(struct skua_runtime *rt)
{
	while (!all_asleep(rt))
		sched_yield();
}

/* ---- numbers of workers ------------------------------------------------------- */

/* Each wakes, from a sleep of all, by a spawn of its own. */
static void design_4_9__65_and_200_workers__each_is_woken(void **state)
{
	static const unsigned counts[] = { 65, 200 };

	(void)state;
	for (size_t c = 0; c < COUNT_OF(counts); c++) {
		const unsigned count = counts[c];
		struct skua_runtime *rt = runtime_new(count, 0);
		struct holder *holders = calloc(count, sizeof(*holders));

		assert_non_null(holders);
		while (!idle_all_parked(&rt->pool.idle))
			sched_yield();
		/* All held at once: so each of them was woken. */
		for (unsigned n = 0; n < count; n++) {
			holders[n] = (struct holder)HOLDER_INIT;
			holder_hold(rt, &holders[n]);
		}
		assert_int_equal(idle_first_parked(&rt->pool.idle), -1);
		for (unsigned n = 0; n < count; n++)
			gate_open(&holders[n].go_on);
		for (unsigned n = 0; n < count; n++)
			join(&holders[n].task);
		free(holders);
		destroy(rt);
	}
}

static void design_4_19__one_worker__all_kinds_of_work(void **state)
{
	struct skua_runtime *rt = runtime_new(1, 4);
	struct tree *nodes = tree_new(3000);
	struct waiter waiter = WAITER_INIT;
	struct counter bound = COUNTER_INIT;
	struct counter urgent = COUNTER_INIT;
	struct skua_stats stats;

	(void)state;
	assert_int_equal(skua_task_set_urgent(&urgent.task, true), 0);
	spawn(rt, &nodes[0].task);
	waiter_start(rt, &waiter);
	assert_int_equal(skua_task_spawn_on(rt, 0, &bound.task), 0);
	join(&bound.task);
	spawn(rt, &urgent.task);
	join(&urgent.task);
	assert_int_equal(skua_task_cancel(&waiter.task), 0);
	join(&waiter.task);
	assert_int_equal(skua_runtime_drain(rt), 0);
	assert_int_equal(skua_stats(rt, &stats), 0);
	assert_int_equal(stats.total.steal_attempts, 0);
	destroy(rt);
	tree_free(nodes);
}

/* ---- no work -------------------------------------------------------------------- */

struct usage {
	uint64_t cpu_ns;
	long switches;
};

static struct usage usage(void)
{
	struct rusage r;

	assert_int_equal(getrusage(RUSAGE_SELF, &r), 0);
	return (struct usage){
		(uint64_t)(r.ru_utime.tv_sec + r.ru_stime.tv_sec) *
				UINT64_C(1000000000) +
			(uint64_t)(r.ru_utime.tv_usec + r.ru_stime.tv_usec) *
				1000,
		r.ru_nvcsw + r.ru_nivcsw
	};
}

/* One worker that wakes every 10 ms would switch 100 times, and one that spins
 * would take a second. The bounds lie far from both, and from nothing. */
static void idle__a_second_without_work__no_cpu_and_no_wake_up(void **state)
{
	static const unsigned counts[] = { 1, 2, 200 };
	const struct timespec second = { 1, 0 };

	(void)state;
	for (size_t c = 0; c < COUNT_OF(counts); c++) {
		struct skua_runtime *rt = runtime_new(counts[c], 0);
		struct counter counter = COUNTER_INIT;
		struct skua_stats stats;
		struct usage before;
		struct usage after;
		uint64_t parked;

		spawn(rt, &counter.task);
		join(&counter.task);
		wait_until_asleep(rt);
		assert_int_equal(skua_stats(rt, &stats), 0);
		parked = stats.total.times_parked;
		before = usage();
		/* Nothing is waited for: it is the time that is looked at. */
		nanosleep(&second, NULL);
		after = usage();
		assert_int_equal(skua_stats(rt, &stats), 0);
		assert_int_equal(stats.total.times_parked, parked);
		assert_int_equal(stats.total.tasks_polled, 1);
		if (!SANITIZED) { /* which have threads of their own */
			assert_true(after.cpu_ns - before.cpu_ns <
				    UINT64_C(100000000));
			assert_true(after.switches - before.switches < 50);
		}
		destroy(rt);
	}
}

/* clang-format off */
static const struct CMUnitTest tests[] = {
	cmocka_unit_test(design_4_9__65_and_200_workers__each_is_woken),
	cmocka_unit_test(design_4_19__one_worker__all_kinds_of_work),
	cmocka_unit_test(idle__a_second_without_work__no_cpu_and_no_wake_up),
};
/* clang-format on */

int main(void)
{
	return cmocka_run_group_tests_name("idle_runtime", tests, NULL, NULL);
}
