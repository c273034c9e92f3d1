/* SPDX-License-Identifier: MIT */
/* test_wake_choice.c - which of several sleeping workers is woken */
#include <errno.h>
#include <sched.h>

#include "core/base/clock.h"
#include "core/idle/idle.h"
#include "tests/near.h"
#include "tests/unit/support.h"

#define WORKERS 3u

static struct idle idle;
static struct idle_group group;
static struct idle_sleeper sleepers[WORKERS];

/* The CPU that this thread says it is on; -1: that cannot be known. */
static int cpu_now;

int __wrap_sched_getcpu(void);

int __wrap_sched_getcpu(void)
{
	if (cpu_now < 0)
		errno = ENOSYS;
	return cpu_now;
}

static int begin(void **state)
{
	(void)state;
	idle_init(&idle, near_groups(WORKERS, 1), &group, sleepers);
	return 0;
}

EACH_TEST(begin, NULL);

static void sleep_on(unsigned worker, int cpu)
{
	cpu_now = cpu;
	idle_park_begin(&idle, worker, false);
}

/* A thread on @cpu brings work. Return: the worker that is woken. */
static unsigned woken_from(int cpu)
{
	bool parked[WORKERS];
	unsigned found = WORKERS;

	for (unsigned i = 0; i < WORKERS; i++)
		parked[i] = idle_parked(&idle, i);
	cpu_now = cpu;
	idle_notify(&idle, 0);
	for (unsigned i = 0; i < WORKERS; i++) {
		if (idle_parked(&idle, i) == parked[i])
			continue;
		assert_int_equal(found, WORKERS);
		found = i;
	}
	/* It has found the work. */
	assert_true(idle_leave_search(&idle, 0));
	return found;
}

TEST(wake__another_cpu__wakes_who_parked_last)
{
	sleep_on(0, 0);
	sleep_on(2, 2);
	sleep_on(1, 1);
	assert_int_equal(woken_from(3), 1);
}

TEST(wake__callers_cpu__wakes_another)
{
	sleep_on(1, 1);
	sleep_on(2, 2);
	sleep_on(0, 0);
	assert_int_equal(woken_from(0), 1);
	sleep_on(1, 0);
	assert_int_equal(woken_from(0), 2);
	assert_int_equal(woken_from(0), 1);
	assert_int_equal(woken_from(0), 0);
}

TEST(wake__all_on_the_callers_cpu__wakes_who_parked_last)
{
	sleep_on(1, 0);
	sleep_on(0, 0);
	sleep_on(2, 0);
	assert_int_equal(woken_from(0), 2);
}

/* Worker 1 is the sentinel. */
TEST(wake__last_choice__only_when_it_is_alone)
{
	for (int cpu = 1; cpu < 3; cpu++) {
		sleep_on(0, 0);
		sleep_on(2, 0);
		sleep_on(1, 1);
		idle_claim_last(&idle, 1);
		assert_int_equal(woken_from(cpu), 0);
		assert_int_equal(woken_from(cpu), 2);
		assert_int_equal(woken_from(cpu), 1);
	}
}

/* The thread that brings work may keep its CPU for long. */
TEST(wake__others_on_the_callers_cpu__wakes_the_last_choice)
{
	sleep_on(0, 0);
	sleep_on(1, 1);
	sleep_on(2, 0);
	idle_claim_last(&idle, 1);
	assert_int_equal(woken_from(0), 1);
	assert_int_equal(woken_from(0), 2);
	assert_int_equal(woken_from(0), 0);
}

/* Its CPU was busy: it got it 4 ms after it was claimed. */
TEST(wake__cpu_was_busy__wakes_another_for_a_while)
{
	uint64_t now_ns = clock_now_ns();

	sleep_on(1, 1);
	sleep_on(0, 0);
	idle_delayed(&idle, 0, 4000000, now_ns);
	assert_int_equal(woken_from(2), 1);
	/* Rather on the caller's CPU. */
	sleep_on(1, 2);
	assert_int_equal(woken_from(2), 1);
	assert_int_equal(woken_from(2), 0);
	/* Long ago. */
	sleep_on(1, 1);
	sleep_on(0, 0);
	idle_delayed(&idle, 0, 100000, now_ns - 1000000000);
	assert_int_equal(woken_from(2), 0);
	/* The process was stopped for an hour. */
	sleep_on(0, 0);
	idle_delayed(&idle, 0, UINT64_C(3600000000000), now_ns - 11000000000);
	assert_int_equal(woken_from(2), 0);
	/* Not any more. */
	sleep_on(0, 0);
	idle_delayed(&idle, 0, 4000000, now_ns);
	idle_delayed(&idle, 0, 4000, now_ns);
	assert_int_equal(woken_from(2), 0);
}

/* Workers 0 and 1 share a core. */
static void one_core(struct skua_cpu *cpu, unsigned shared)
{
	cpu->core = cpu->cpu <= shared ? 0 : cpu->cpu;
}

TEST(wake__sibling_is_awake__wakes_a_worker_with_a_core_of_its_own)
{
	static struct llc_groups groups;

	near_make(&groups, WORKERS, 1, one_core, 1);
	idle_init(&idle, &groups, &group, sleepers);
	sleep_on(2, 2);
	sleep_on(1, 1); /* last, but worker 0 is awake */
	assert_int_equal(woken_from(3), 2);
	assert_int_equal(woken_from(3), 1);
	/* The whole core sleeps. */
	sleep_on(2, 2);
	sleep_on(0, 0);
	sleep_on(1, 1);
	assert_int_equal(woken_from(3), 1);
	assert_int_equal(woken_from(3), 2);
	assert_int_equal(woken_from(3), 0);
	llc_groups_free(&groups);
}

TEST(wake__unknown_cpu__wakes_who_parked_last)
{
	errno = 0;
	sleep_on(0, -1);
	sleep_on(2, -1);
	sleep_on(1, 1);
	assert_int_equal(woken_from(-1), 1);
	assert_int_equal(woken_from(1), 0);
	assert_int_equal(errno, 0);
}
