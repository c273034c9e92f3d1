/* SPDX-License-Identifier: MIT */
/* test_cpu_list.c - CPU lists in the kernel's form */
#define SUPPORT_FAIL_ALLOCATIONS
#include "tests/unit/support.h"

#include "topology/cpu_list.h"

static void expect_parsed(const char *text, const unsigned *cpus,
			  unsigned count)
{
	struct cpu_list list;

	assert_int_equal(cpu_list_parse(&list, text), 0);
	assert_int_equal(list.count, count);
	for (unsigned i = 0; i < count; i++)
		assert_int_equal(list.cpus[i], cpus[i]);
	cpu_list_free(&list);
}

TEST(cpu_list_parse__numbers_and_ranges__ascending)
{
	expect_parsed("0", (const unsigned[]){ 0 }, 1);
	expect_parsed("7", (const unsigned[]){ 7 }, 1);
	expect_parsed("0-3", (const unsigned[]){ 0, 1, 2, 3 }, 4);
	expect_parsed("0-3,8", (const unsigned[]){ 0, 1, 2, 3, 8 }, 5);
	expect_parsed("5-5", (const unsigned[]){ 5 }, 1);
	expect_parsed("63-65", (const unsigned[]){ 63, 64, 65 }, 3);
	expect_parsed("007", (const unsigned[]){ 7 }, 1);
}

TEST(cpu_list_parse__any_order_or_twice__sorted_each_once)
{
	expect_parsed("8,0-1", (const unsigned[]){ 0, 1, 8 }, 3);
	expect_parsed("3,3,3", (const unsigned[]){ 3 }, 1);
	expect_parsed("0-4,2-6,1", (const unsigned[]){ 0, 1, 2, 3, 4, 5, 6 },
		      7);
}

TEST(cpu_list_parse_ordered__any__as_written_each_once)
{
	static const unsigned expected[] = { 8, 70, 3, 2, 4, 0, 1 };
	struct cpu_list list;

	assert_int_equal(cpu_list_parse_ordered(&list, "8,70,3,2-4,0-3,8"), 0);
	assert_int_equal(list.count, COUNT_OF(expected));
	assert_memory_equal(list.cpus, expected, sizeof(expected));
	cpu_list_free(&list);
	assert_int_equal(cpu_list_parse_ordered(&list, "3-"), -EINVAL);
}

TEST(cpu_list_parse__largest__accepted)
{
	struct cpu_list list;

	expect_parsed("65535", (const unsigned[]){ 65535 }, 1);
	assert_int_equal(cpu_list_parse(&list, "0-65535"), 0);
	assert_int_equal(list.count, CPU_LIST_LIMIT);
	for (unsigned i = 0; i < CPU_LIST_LIMIT; i++)
		assert_int_equal(list.cpus[i], i);
	cpu_list_free(&list);
}

TEST(cpu_list_parse__malformed__einval)
{
	static const char *const texts[] = {
		"",
		" ",
		",",
		"-",
		"0,",
		",0",
		"0,,1",
		"0-",
		"-1",
		"1--2",
		"0-1-2",
		"a",
		"0x1",
		"0 ",
		" 0",
		"0, 1",
		"0;1",
		"0\n",
		"+1",
		"1.5",
		"0-3:2",
		"3-1",
		"65536",
		"0-65536",
		"4294967296",
		"18446744073709551616",
		"99999999999999999999999999999999999999",
	};

	for (size_t t = 0; t < COUNT_OF(texts); t++) {
		struct cpu_list list = { NULL, 0 };

		if (cpu_list_parse(&list, texts[t]) != -EINVAL)
			fail_msg("\"%s\" was not refused", texts[t]);
		assert_null(list.cpus);
	}
}

TEST(cpu_list_allowed__here__is_the_affinity_mask)
{
	struct cpu_list list;
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof(set), &set) != 0) {
		skip_aloud("this machine has more CPUs than a cpu_set_t");
		return;
	}
	assert_int_equal(cpu_list_allowed(&list), 0);
	assert_int_equal(list.count, CPU_COUNT(&set));
	for (unsigned i = 0; i < list.count; i++) {
		assert_true(CPU_ISSET(list.cpus[i], &set));
		assert_true(i == 0 || list.cpus[i - 1] < list.cpus[i]);
	}
	cpu_list_free(&list);
}

TEST(cpu_list_contains__some__only_those_listed)
{
	struct cpu_list list;

	assert_int_equal(cpu_list_parse(&list, "2-3,70"), 0);
	for (unsigned cpu = 0; cpu < 100; cpu++)
		assert_int_equal(cpu_list_contains(&list, cpu),
				 cpu == 2 || cpu == 3 || cpu == 70);
	cpu_list_free(&list);
	assert_false(cpu_list_contains(&list, 2));
}

TEST(cpu_list_free__freed_or_empty__is_harmless)
{
	struct cpu_list list;

	assert_int_equal(cpu_list_parse(&list, "0"), 0);
	cpu_list_free(&list);
	assert_null(list.cpus);
	assert_int_equal(list.count, 0);
	cpu_list_free(&list);
}

static int parse(struct cpu_list *list)
{
	return cpu_list_parse(list, "0-3,8");
}

/* Let each allocation of @read fail in turn, until none is left to fail. */
static void check_failures(int (*read)(struct cpu_list *list))
{
	struct cpu_list list;
	unsigned nth = 0;
	long left;
	int code;

	for (;;) {
		allocations_begin(++nth);
		code = read(&list);
		left = allocations_end();
		if (!allocations_failed())
			break;
		assert_int_equal(code, -ENOMEM);
		assert_int_equal(left, 0);
	}
	assert_true(nth > 1);
	assert_int_equal(code, 0);
	assert_int_equal(left, 1);
	cpu_list_free(&list);
}

TEST(cpu_list__no_memory__enomem_and_nothing_left)
{
	if (!CAN_FAIL_ALLOCATIONS) {
		skip_aloud(NO_FAILURES);
		return;
	}
	check_failures(parse);
	check_failures(cpu_list_allowed);
}
