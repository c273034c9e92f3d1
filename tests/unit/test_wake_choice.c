/* SPDX-License-Identifier: MIT */
/* test_wake_choice.c - which of several sleeping workers is woken */
#include <sched.h>

#include "core/idle.h"
#include "tests/unit/support.h"

#define WORKERS 3u

static struct idle idle;
static struct idle_sleeper sleepers[WORKERS];

static void go_to(size_t cpu)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
}

static void sleep_on(unsigned worker, size_t cpu)
{
	go_to(cpu);
	idle_park_begin(&idle, worker, false);
}

/* A thread on @cpu brings work. Return: the worker that is woken. */
static unsigned woken_from(size_t cpu)
{
	unsigned found = WORKERS;

	go_to(cpu);
	idle_notify(&idle);
	for (unsigned i = 0; i < WORKERS; i++) {
		if (idle_parked(&idle, i))
			continue;
		assert_int_equal(found, WORKERS);
		found = i;
	}
	/* It has found the work, and goes to sleep again. */
	assert_true(idle_leave_search(&idle));
	return found;
}

static cpu_set_t before;
static size_t first, second;

static int begin(void **state)
{
	(void)state;
	assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
	while (!CPU_ISSET(first, &before))
		first++;
	second = first + 1;
	while (second < CPU_SETSIZE && !CPU_ISSET(second, &before))
		second++;
	idle_init(&idle, WORKERS, sleepers);
	return 0;
}

static int end(void **state)
{
	(void)state;
	return sched_setaffinity(0, sizeof(before), &before);
}

static void wake__caller_on_a_sleepers_cpu__wakes_another(void **state)
{
	(void)state;
	if (second == CPU_SETSIZE) {
		print_message("one CPU only\n");
		skip();
	}
	sleep_on(1, first);
	sleep_on(2, second);
	sleep_on(0, first);
	assert_int_equal(woken_from(first), 2);
	sleep_on(2, second);
	assert_int_equal(woken_from(second), 0);
}

static void wake__all_on_the_callers_cpu__wakes_the_first(void **state)
{
	(void)state;
	sleep_on(1, first);
	sleep_on(2, first);
	sleep_on(0, first);
	assert_int_equal(woken_from(first), 0);
}

static void wake__another_cpu__wakes_who_parked_last(void **state)
{
	(void)state;
	if (second == CPU_SETSIZE) {
		print_message("one CPU only\n");
		skip();
	}
	sleep_on(0, first);
	sleep_on(2, first);
	sleep_on(1, first);
	assert_int_equal(woken_from(second), 1);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, begin, end)

/* clang-format off */
static const struct CMUnitTest tests[] = {
	TEST(wake__caller_on_a_sleepers_cpu__wakes_another),
	TEST(wake__all_on_the_callers_cpu__wakes_the_first),
	TEST(wake__another_cpu__wakes_who_parked_last),
};
/* clang-format on */

int main(void)
{
	return cmocka_run_group_tests_name("wake_choice", tests, NULL, NULL);
}
