/* SPDX-License-Identifier: MIT */
/* test_figures.c - what the commands make of counts, and how they write it */
#include "tests/unit/support.h"

#include "bpf/stats/figures.h"
#include "bpf/cli/sorted.h"
#include "bpf/cli/table.h"

TEST(difference__began_again__is_what_there_is)
{
	assert_int_equal(figure_difference(7, 5), 2);
	assert_int_equal(figure_difference(3, 5), 3);
}

TEST(quantile__of_counts__is_where_the_part_is)
{
	struct probes_histogram h = { .sum_ns = 0 };

	assert_int_equal(figure_quantile(&h, 0.5), 0);
	for (uint64_t ns = 0; ns < 10; ns++)
		h.count[probes_bucket(ns)] = 10;
	h.count[probes_bucket(1000)] = 1;
	assert_int_equal(figure_total(&h), 101);
	assert_int_equal(figure_quantile(&h, 0.5), 5);
	assert_int_equal(figure_quantile(&h, 0.9), 9);
	assert_in_range(figure_quantile(&h, 1), 875, 1000);
}

TEST(since__later_histogram__has_what_came)
{
	struct probes_histogram now = { .sum_ns = 50 },
				before = { .sum_ns = 20 };

	now.count[3] = 7;
	before.count[3] = 5;
	figure_since(&now, &before);
	assert_int_equal(now.count[3], 2);
	assert_int_equal(now.sum_ns, 30);
}

TEST(times__in_a_state__count_until_now)
{
	struct area_times times = { .state = AREA_RUNNING,
				    .since_ns = 100,
				    .run_ns = 5,
				    .park_ns = 6 };

	assert_int_equal(figure_times(&times, 130).run_ns, 35);
	assert_int_equal(figure_times(&times, 130).park_ns, 6);
	/* It changed after the clock was read. */
	assert_int_equal(figure_times(&times, 90).run_ns, 5);
	times.state = AREA_PARKED;
	assert_int_equal(figure_times(&times, 130).park_ns, 36);
	times.state = 77;
	assert_int_equal(figure_times(&times, 130).run_ns, 5);
	assert_string_equal(figure_state(77), "?");
}

TEST(rows__of_the_area__are_told_apart)
{
	const struct area_type none = { .polls = 3 }, rest = { .poll = 1 };
	const struct area_type typed = { .type = 16, .poll = 1 };

	assert_false(figure_is_row(&none));
	assert_true(figure_is_row(&rest) && figure_is_rest(&rest));
	assert_true(figure_is_row(&typed) && !figure_is_rest(&typed));
}

TEST(counters__each__have_a_name_and_a_place)
{
	struct area_counters counters = { .tasks_spawned = 1, .stalls = 14 };

	assert_int_equal(figure_counter_count, COUNTER_LIST_COUNT);
	for (unsigned i = 0; i < figure_counter_count; i++) {
		assert_non_null(figure_counters[i].name);
		assert_non_null(figure_counters[i].help);
	}
	assert_int_equal(figure_value(&counters, &figure_counters[0]), 1);
	assert_string_equal(figure_counters[13].name, "stalls");
	assert_int_equal(figure_value(&counters, &figure_counters[13]), 14);
}

TEST(text__of_numbers__reads_well)
{
	char text[32];

	assert_string_equal(text_count(text, 0), "0");
	assert_string_equal(text_count(text, 999), "999");
	assert_string_equal(text_count(text, 1000), "1,000");
	assert_string_equal(text_count(text, UINT64_MAX),
			    "18,446,744,073,709,551,615");
	assert_string_equal(text_time(text, 0), "0 ns");
	assert_string_equal(text_time(text, 999), "999 ns");
	assert_string_equal(text_time(text, 1500), "1.5 us");
	assert_string_equal(text_time(text, 12.4e6), "12 ms");
	assert_string_equal(text_time(text, 3.2e9), "3.2 s");
	assert_string_equal(text_time(text, 119e9), "119 s");
	assert_string_equal(text_time(text, 121e9), "2.0 min");
	assert_string_equal(text_time(text, 1.9e19), "219907 d");
}

TEST(numbers__compared__the_smaller_comes_first)
{
	assert_int_equal(compare_numbers(1, 2), -1);
	assert_int_equal(compare_numbers(2, 2), 0);
	assert_int_equal(compare_numbers(UINT64_MAX, 0), 1);
}

TEST(sorted_up_to__each_key__counts_those_up_to_it)
{
	static const struct {
		char other;
		uint64_t key;
	} items[] = { { 'a', 3 }, { 'b', 3 }, { 'c', 5 },         { 'd', 8 },
		      { 'e', 8 }, { 'f', 8 }, { 'g', UINT64_MAX } };
	const size_t most = sizeof(items) / sizeof(*items);

	for (size_t count = 0; count <= most; count++)
		for (uint64_t key = 0; key <= 10; key++) {
			uint64_t sought = key < 10 ? key : UINT64_MAX;
			size_t expected = 0;

			while (expected < count &&
			       items[expected].key <= sought)
				expected++;
			assert_int_equal(
				SORTED_UP_TO(items, count, key, sought),
				expected);
		}
}

TEST(table__of_cells__is_aligned)
{
	static const char *const titles[] = { "n", "name", "x", NULL };
	struct table table;
	char *text;
	size_t size;
	FILE *file = open_memstream(&text, &size);

	table_begin(&table, titles, "01");
	table_count(&table, 1000);
	table_add(&table, "▏▏");
	table_add(&table, "1");
	table_count(&table, 1);
	table_add(&table, "longer");
	table_print(file, &table);
	fclose(file);
	assert_string_equal(text, "    n  name    x\n"
				  "1,000  ▏▏      1\n"
				  "    1  longer   \n");
	free(text);
}

TEST(sparks__of_no_numbers__are_empty)
{
	const uint64_t numbers[] = { 5 };
	char text[TABLE_CELL] = "old";

	assert_string_equal(text_sparks(text, numbers, 0, false), "");
	assert_string_equal(text_sparks(text, numbers, 1, false), "#");
}
