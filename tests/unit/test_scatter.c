/* SPDX-License-Identifier: MIT */
/* test_scatter.c - the numbers that spread what a workload does over time */
#include <stddef.h>
#include <stdint.h>

#include "bench/kernels/compute.h"
#include "tests/unit/unit.h"

enum { NUMBERS = 16000, PARTS = 16, EXPECTED = NUMBERS / PARTS };

/* As the workloads do it: modulo a time. Five standard deviations are 155. */
static void check_spread(uint64_t within)
{
	unsigned count[PARTS] = { 0 };

	for (uint64_t i = 0; i < NUMBERS; i++)
		count[scatter(i) % within * PARTS / within]++;
	for (unsigned part = 0; part < PARTS; part++) {
		assert_true(count[part] > EXPECTED - 155);
		assert_true(count[part] < EXPECTED + 155);
	}
}

TEST(scatter__consecutive_numbers__spread)
{
	check_spread(50000000);
	check_spread(UINT64_C(3600000000000));
	check_spread(UINT64_C(1) << 59);
}

/* splitmix64 from state 0: the first three numbers that its author gives. */
TEST(scatter__first_numbers__those_of_splitmix64)
{
	assert_true(scatter(0) == UINT64_C(0xe220a8397b1dcdaf));
	assert_true(scatter(1) == UINT64_C(0x6e789e6aa1b965f4));
	assert_true(scatter(2) == UINT64_C(0x06c45d188009454f));
}
