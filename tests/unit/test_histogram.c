/* SPDX-License-Identifier: MIT */
/* test_histogram.c - the latencies that the benchmark reports */
#include <stddef.h>
#include <stdint.h>

#include <string.h>

#include "bench/harness/histogram.h"
#include "tests/unit/unit.h"

static struct histogram h;

static int empty(void **state)
{
	(void)state;
	memset(&h, 0, sizeof(h));
	return 0;
}

EACH_TEST(empty, NULL);

TEST(histogram_percentile__nothing_counted__0)
{
	assert_int_equal(histogram_percentile(&h, 50), 0);
}

TEST(histogram_percentile__one_to_hundred__exact)
{
	for (uint64_t ns = 100; ns > 0; ns--)
		histogram_record(&h, ns);
	assert_int_equal(histogram_percentile(&h, 0), 1);
	assert_int_equal(histogram_percentile(&h, 50), 50);
	assert_int_equal(histogram_percentile(&h, 99), 99);
	assert_int_equal(histogram_percentile(&h, 99.9), 100);
	assert_int_equal(histogram_percentile(&h, 100), 100);
}

/* Both sides of each power of two, and of its middle. */
TEST(histogram_record__any_time__less_by_under_1_percent)
{
	for (unsigned bit = 0; bit < 64; bit++) {
		uint64_t power = UINT64_C(1) << bit;
		uint64_t times[] = { power - 1, power, power + 1,
				     power + power / 2 };

		for (unsigned i = 0; i < 4; i++) {
			uint64_t got;

			empty(state);
			histogram_record(&h, times[i]);
			got = histogram_percentile(&h, 50);
			assert_true(got <= times[i]);
			assert_true(times[i] - got <= times[i] / 128);
		}
	}
	empty(state);
	histogram_record(&h, UINT64_MAX);
	assert_int_equal(h.count[HISTOGRAM_BUCKETS - 1], 1);
}

TEST(histogram_add__two__counts_of_both)
{
	static struct histogram other;

	histogram_record(&h, 1000);
	histogram_record(&other, 3);
	histogram_record(&other, 3);
	histogram_add(&h, &other);
	assert_int_equal(h.total, 3);
	assert_int_equal(histogram_percentile(&h, 50), 3);
	assert_int_equal(histogram_percentile(&h, 100), 1000);
}

TEST(histogram_json__hundred_times__four_percentiles)
{
	json_t *object;
	json_int_t p50, p90, p99, p999;

	for (uint64_t ns = 1; ns <= 100; ns++)
		histogram_record(&h, ns);
	object = histogram_json(&h);
	assert_int_equal(json_unpack(object, "{s:I, s:I, s:I, s:I}", "p50",
				     &p50, "p90", &p90, "p99", &p99, "p999",
				     &p999),
			 0);
	json_decref(object);
	assert_int_equal(p50, 50);
	assert_int_equal(p90, 90);
	assert_int_equal(p99, 99);
	assert_int_equal(p999, 100);
}

TEST(histogram_json__two_thousand_times__quantiles_rise)
{
	json_t *object, *points, *point;
	double percent = -1, before = 0;
	size_t i;

	for (uint64_t ns = 1; ns <= 2000; ns++)
		histogram_record(&h, ns);
	object = histogram_json(&h);
	assert_int_equal(json_integer_value(json_object_get(object, "count")),
			 2000);
	points = json_object_get(object, "quantiles");
	assert_in_range(json_array_size(points), 40, 60);
	json_array_foreach(points, i, point)
	{
		double ns = json_number_value(json_array_get(point, 1));

		assert_true(json_number_value(json_array_get(point, 0)) >
			    percent);
		percent = json_number_value(json_array_get(point, 0));
		assert_true(ns >= before);
		assert_true(ns <= 20 * percent + 1);
		assert_true(ns >= (20 * percent - 1) * 127 / 128);
		before = ns;
	}
	assert_true(percent == 100);
	json_decref(object);
}

TEST(histogram_json__nothing_counted__one_quantile_of_0)
{
	json_t *object = histogram_json(&h), *points;

	points = json_object_get(object, "quantiles");
	assert_int_equal(json_array_size(points), 1);
	assert_int_equal(json_integer_value(
				 json_array_get(json_array_get(points, 0), 1)),
			 0);
	json_decref(object);
}
