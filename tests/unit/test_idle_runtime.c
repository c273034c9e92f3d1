/* SPDX-License-Identifier: MIT */
/* test_idle_runtime.c - many workers, one worker, and none that has work */
#include "core/runtime/runtime.h"
#include "tests/unit/fib.h"
#include "tests/unit/tasks.h"
#include "tests/unit/tree.h"
#include "tests/unit/work_done.h"

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
TEST(idle__65_and_200_workers__each_is_woken)
{
	static const unsigned counts[] = { 65, 200 };

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
		assert_int_equal(idle_first_parked_in(&rt->pool.idle, 0), -1);
		for (unsigned n = 0; n < count; n++)
			gate_open(&holders[n].go_on);
		for (unsigned n = 0; n < count; n++)
			join(&holders[n].task);
		free(holders);
		destroy(rt);
	}
}

TEST(idle__one_worker__all_kinds_of_work)
{
	struct skua_runtime *rt = runtime_new(1, 4);
	struct tree *nodes = tree_new(3000);
	struct waiter waiter = WAITER_INIT;
	struct counter bound = COUNTER_INIT;
	struct counter urgent = COUNTER_INIT;
	struct skua_stats stats;

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
	assert_int_equal(skua_runtime_stats(rt, &stats), 0);
	assert_int_equal(stats.total.steal_attempts, 0);
	destroy(rt);
	tree_free(nodes);
}

/* A count that each sleep and each wake-up moved would not come back to 0, and
 * one that stays above it ends all wake-ups. */
TEST(idle__many_wake_ups__nobody_counted_as_searching)
{
	struct skua_runtime *rt = runtime_new(3, 0);

	for (unsigned n = 0; n < 300; n++) {
		struct counter counters[4];

		for (size_t i = 0; i < COUNT_OF(counters); i++) {
			counters[i] = (struct counter)COUNTER_INIT;
			spawn(rt, &counters[i].task);
		}
		for (size_t i = 0; i < COUNT_OF(counters); i++)
			join(&counters[i].task);
		if (n % 10 == 0)
			wait_until_asleep(rt);
	}
	wait_until_asleep(rt);
	assert_int_equal(
		atomic_load_relaxed(&rt->pool.idle.by_group[0].searching), 0);
	destroy(rt);
}

/* ---- no work -------------------------------------------------------------------- */

static uint64_t process_cpu_ns(void)
{
	struct rusage r;

	assert_int_equal(getrusage(RUSAGE_SELF, &r), 0);
	return (uint64_t)(r.ru_utime.tv_sec + r.ru_stime.tv_sec) *
		       UINT64_C(1000000000) +
	       (uint64_t)(r.ru_utime.tv_usec + r.ru_stime.tv_usec) * 1000;
}

static void compute(struct skua_ctx ctx, void *arg)
{
	(void)arg;
	assert_int_equal(fib(ctx, 24), 46368);
}

/* Look at a runtime without work, after some, for @seconds. Nothing is waited for: it is the
 * time that is looked at. */
static void watch_idle(unsigned workers, time_t seconds)
{
	const struct timespec span = { seconds, 0 };
	struct skua_runtime *rt = runtime_new(workers, 0);
	struct counter counter = COUNTER_INIT;
	struct work_done before;
	struct work_done after;
	uint64_t cpu_ns;

	spawn(rt, &counter.task);
	join(&counter.task);
	assert_int_equal(skua_run(rt, compute, NULL), 0);
	wait_until_asleep(rt);
	before = work_settle();
	cpu_ns = process_cpu_ns();
	nanosleep(&span, NULL);
	cpu_ns = process_cpu_ns() - cpu_ns;
	after = work_done();
	assert_int_equal(before.threads, workers);
	assert_int_equal(after.threads, workers);
	assert_int_equal(after.switches, before.switches);
	assert_int_equal(after.cpu_ns, before.cpu_ns);
	/* One that spins takes seconds; the test itself, some 10 us. */
	if (!SANITIZED) /* which have threads of their own */
		assert_true(cpu_ns < UINT64_C(10000000));
	destroy(rt);
}

TEST(idle__200_workers_for_5_s__no_cpu_and_no_system_call)
{
	watch_idle(200, 5);
}

TEST(idle__1_and_2_workers__no_cpu_and_no_system_call)
{
	watch_idle(1, 1);
	watch_idle(2, 1);
}

/* The test of the test: a worker that wakes once is seen. */
TEST(idle__woken_once__is_seen)
{
	struct skua_runtime *rt = runtime_new(2, 0);
	struct counter counter = COUNTER_INIT;
	struct work_done before;

	wait_until_asleep(rt);
	before = work_done();
	spawn(rt, &counter.task);
	join(&counter.task);
	while (work_done().switches == before.switches)
		sched_yield();
	destroy(rt);
}
