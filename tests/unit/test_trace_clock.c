/* SPDX-License-Identifier: MIT */
/* test_trace_clock.c - what the processor's counter is made into */
#include "tests/unit/support.h"

#include "bpf/recording/trace_clock.h"

static void add(struct trace_clock *clock, uint64_t number, uint64_t counter,
		uint64_t ns)
{
	const struct trace_moment moment = { counter, ns };

	assert_int_equal(trace_clock_add(clock, number, moment), 0);
}

static void settle(struct trace_clock *clock, const struct trace_clock *other)
{
	const struct trace_clock none = { 0 };

	assert_int_equal(trace_clock_settle(clock, other ? other : &none), 0);
}

TEST(clock_ns__between_two_pairs__in_proportion)
{
	struct trace_clock clock = { 0 };

	add(&clock, 0, 1000, 500);
	add(&clock, 10, 3000, 1500); /* 2 ticks a ns */
	add(&clock, 20, 4000, 2500); /* 1 tick a ns */
	settle(&clock, NULL);
	assert_int_equal(trace_clock_ns(&clock, 0, 1000), 500);
	assert_int_equal(trace_clock_ns(&clock, 5, 2000), 1000);
	assert_int_equal(trace_clock_ns(&clock, 10, 3000), 1500);
	assert_int_equal(trace_clock_ns(&clock, 15, 3500), 2000);
	trace_clock_rewind(&clock);
	assert_int_equal(trace_clock_ns(&clock, 5, 2000), 1000);
	trace_clock_free(&clock);
}

TEST(clock_ns__before_and_behind_all__by_the_rate)
{
	struct trace_clock clock = { 0 };

	add(&clock, 5, 1000, 500);
	add(&clock, 10, 3000, 1500);
	settle(&clock, NULL);
	assert_int_equal(trace_clock_ns(&clock, 0, 800), 400);
	assert_int_equal(trace_clock_ns(&clock, 1, 1100), 500);
	assert_int_equal(trace_clock_ns(&clock, 11, 5000), 2500);
	assert_int_equal(trace_clock_ns(&clock, 12, 2000), 1500);
	trace_clock_free(&clock);
}

TEST(clock_ns__one_pair__by_the_rate_of_another)
{
	struct trace_clock clock = { 0 }, other = { 0 };

	add(&other, 0, 0, 0);
	add(&other, 1, 4000, 1000);
	add(&clock, 5, 10000, 7000);
	settle(&clock, &other);
	assert_int_equal(trace_clock_ns(&clock, 0, 9600), 6900);
	assert_int_equal(trace_clock_ns(&clock, 6, 10400), 7100);
	trace_clock_free(&clock);
	trace_clock_free(&other);
}

TEST(clock_ns__no_pair__those_of_another)
{
	struct trace_clock clock = { 0 }, other = { 0 };

	add(&other, 0, 1000, 1000);
	add(&other, UINT64_MAX, 3000, 2000);
	settle(&clock, &other);
	assert_int_equal(trace_clock_ns(&clock, 7, 2000), 1500);
	trace_clock_free(&clock);
	trace_clock_free(&other);
}

TEST(clock_ns__no_pair_anywhere__ticks)
{
	struct trace_clock clock = { 0 };

	settle(&clock, NULL);
	assert_int_equal(trace_clock_ns(&clock, 7, 2000), 2000);
	trace_clock_free(&clock);
}

/* As after a machine was moved: only what is between the two is not exact. */
TEST(clock_ns__counter_went_back__rest_is_exact)
{
	struct trace_clock clock = { 0 };

	add(&clock, 0, 10000, 1000);
	add(&clock, 10, 20000, 2000);
	add(&clock, 20, 500, 3000);
	add(&clock, 30, 10500, 4000);
	settle(&clock, NULL);
	assert_int_equal(trace_clock_ns(&clock, 5, 15000), 1500);
	assert_int_equal(trace_clock_ns(&clock, 15, 22000), 2200);
	assert_int_equal(trace_clock_ns(&clock, 16, 90000), 3000);
	assert_int_equal(trace_clock_ns(&clock, 17, 300), 2000);
	assert_int_equal(trace_clock_ns(&clock, 25, 5500), 3500);
	trace_clock_free(&clock);
}

TEST(clock_add__time_goes_back__left_out)
{
	struct trace_clock clock = { 0 };

	add(&clock, 0, 1000, 1000);
	add(&clock, 1, 2000, 900);
	add(&clock, 2, 2500, 1000);
	add(&clock, 3, 3000, 2000);
	assert_int_equal(clock.count, 2);
	settle(&clock, NULL);
	assert_int_equal(trace_clock_ns(&clock, 2, 2000), 1500);
	trace_clock_free(&clock);
}

TEST(clock_ns__largest_numbers__saturate)
{
	struct trace_clock clock = { 0 };

	add(&clock, 1, 1, 1);
	add(&clock, 2, 2, UINT64_MAX - 1);
	settle(&clock, NULL);
	assert_int_equal(trace_clock_ns(&clock, 0, 0), 0);
	assert_int_equal(trace_clock_ns(&clock, 3, UINT64_MAX), UINT64_MAX);
	trace_clock_free(&clock);
}
