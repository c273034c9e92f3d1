/* SPDX-License-Identifier: MIT */
/*
 * test_perf_group.c - counters, in software where the machine has no others
 *
 * Page faults are counted by the kernel itself, and a test knows how many it
 * causes. Tests that need a PMU come last, and are skipped without one.
 */
#include <pthread.h>

#include "probes/perf_group.h"
#include "tests/unit/page_faults.h"

#define FAULTS "perf::PAGE-FAULTS"
#define PAGES  200

#define OWN_FAULTS "a sanitizer causes page faults of its own"

static void *cause_faults(void *arg)
{
	touch_pages(PAGES);
	return arg;
}

static volatile uint64_t sink;

static void *spend_instructions(void *arg)
{
	for (unsigned i = 0; i < 1000000; i++)
		sink += i;
	return arg;
}

static void in_thread(void *(*function)(void *))
{
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, function, NULL), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
}

/* For a test that needs to know how many faults there are at most. */
static void skip_under_sanitizer(void)
{
	if (SANITIZED) {
		skipped_in_part(OWN_FAULTS);
		skip_aloud(OWN_FAULTS);
	}
}

/* Open a group, or skip the test that needs it. */
static struct perf_group *open_or_skip(const char *const *names, unsigned count)
{
	struct perf_group *group;
	char reason[200];

	if (perf_group_open(&group, PERF_GROUP_OWN, names, count, reason,
			    sizeof(reason)) != 0) {
		skipped_in_part(reason);
		skip_aloud(reason);
	}
	return group;
}

static struct perf_group_values read_values(struct perf_group *group)
{
	struct perf_group_values values;

	assert_int_equal(perf_group_read(group, &values), 0);
	return values;
}

TEST(perf_group_open__bad_count__einval)
{
	const char *const names[25] = { FAULTS };
	struct perf_group *group = (struct perf_group *)&group;
	char reason[200];

	assert_int_equal(perf_group_open(&group, PERF_GROUP_OWN, names, 0,
					 reason, sizeof(reason)),
			 -EINVAL);
	assert_null(group);
	assert_int_equal(perf_group_open(&group, PERF_GROUP_OWN, names, 25,
					 reason, sizeof(reason)),
			 -EINVAL);
	assert_non_null(strstr(reason, "nothing can be counted: 25 events"));
}

TEST(perf_group_open__unknown_event__is_named)
{
	const char *const names[] = { "no-such-event" };
	struct perf_group *group;
	char reason[200];

	assert_int_equal(perf_group_open(&group, PERF_GROUP_OWN, names, 1,
					 reason, sizeof(reason)),
			 -ENOENT);
	assert_null(group);
	assert_non_null(
		strstr(reason, "nothing can be counted: no-such-event: "));
}

TEST(perf_group_open__small_buffer__reason_is_cut)
{
	const char *const names[] = { "no-such-event", "nor-this" };
	struct perf_group *group;
	char reason[16];

	memset(reason, 'x', sizeof(reason));
	assert_true(perf_group_open(&group, PERF_GROUP_OWN, names, 2, reason,
				    10) < 0);
	assert_string_equal(reason, "nothing c");
	assert_int_equal(reason[10], 'x');
}

TEST(perf_group_open__one_missing__others_count)
{
	const char *const names[] = { "no-such-event", FAULTS };
	struct perf_group *group = open_or_skip(names, 2);
	struct perf_group_values values;

	assert_int_equal(perf_group_start(group), 0);
	touch_pages(PAGES);
	assert_int_equal(perf_group_stop(group), 0);
	values = read_values(group);
	assert_int_equal(values.count, 2);
	assert_string_equal(values.event[0].name, "no-such-event");
	assert_false(values.event[0].counted);
	assert_true(values.event[1].counted);
	assert_true(values.event[1].value >= PAGES);
	assert_true(values.run_ratio > 0.99 && values.run_ratio <= 1.0);
	perf_group_close(group);
}

TEST(perf_group_open__one_missing__reason_names_it)
{
	const char *const names[] = { FAULTS, "no-such-event" };
	struct perf_group *group = open_or_skip(names, 2);
	char reason[200];

	perf_group_close(group);
	assert_int_equal(perf_group_open(&group, PERF_GROUP_OWN, names, 2,
					 reason, sizeof(reason)),
			 0);
	assert_non_null(strstr(reason, "missing: no-such-event: "));
	perf_group_close(group);
}

TEST(perf_group_read__thread_made_later__is_counted)
{
	const char *const names[] = { FAULTS };
	struct perf_group *group = open_or_skip(names, 1);

	perf_group_start(group);
	in_thread(cause_faults);
	perf_group_stop(group);
	assert_true(read_values(group).event[0].value >= PAGES);
	perf_group_close(group);
}

struct turns {
	pthread_barrier_t barrier;
};

/* Faults in each of three spans; only the second one is counted. */
static void *touch_in_turns(void *arg)
{
	struct turns *turns = arg;

	for (unsigned i = 0; i < 3; i++) {
		pthread_barrier_wait(&turns->barrier);
		touch_pages(PAGES);
		pthread_barrier_wait(&turns->barrier);
	}
	return NULL;
}

TEST(perf_group_start__thread_already_runs__starts_there)
{
	const char *const names[] = { FAULTS };
	struct perf_group *group;
	struct turns turns;
	pthread_t thread;
	uint64_t faults;

	skip_under_sanitizer();
	group = open_or_skip(names, 1);
	pthread_barrier_init(&turns.barrier, NULL, 2);
	pthread_create(&thread, NULL, touch_in_turns, &turns);
	for (unsigned i = 0; i < 3; i++) {
		if (i == 1)
			perf_group_start(group);
		pthread_barrier_wait(&turns.barrier);
		pthread_barrier_wait(&turns.barrier);
		if (i == 1)
			perf_group_stop(group);
	}
	pthread_join(thread, NULL);
	pthread_barrier_destroy(&turns.barrier);
	faults = read_values(group).event[0].value;
	assert_true(faults >= PAGES && faults < 2 * PAGES);
	perf_group_close(group);
}

TEST(perf_group_read__two_spans__are_added)
{
	const char *const names[] = { FAULTS };
	struct perf_group *group;
	uint64_t faults;

	skip_under_sanitizer();
	group = open_or_skip(names, 1);
	touch_pages(PAGES);
	assert_false(read_values(group).event[0].counted);
	for (unsigned i = 0; i < 2; i++) {
		perf_group_start(group);
		touch_pages(PAGES);
		perf_group_stop(group);
		touch_pages(PAGES);
	}
	faults = read_values(group).event[0].value;
	assert_true(faults >= 2 * PAGES && faults < 3 * PAGES);
	perf_group_close(group);
}

TEST(perf_group_close__null__nothing)
{
	perf_group_close(NULL);
}

TEST(perf_group_read__instructions_of_thread__are_counted)
{
	const char *const names[] = { "instructions", "cycles" };
	struct perf_group *group = open_or_skip(names, 2);
	struct perf_group_values values;

	perf_group_start(group);
	in_thread(spend_instructions);
	perf_group_stop(group);
	values = read_values(group);
	if (values.event[0].counted)
		assert_true(values.event[0].value >= 1000000);
	else
		skipped_in_part("no counter was free for instructions");
	perf_group_close(group);
}
