/* SPDX-License-Identifier: MIT */
/* test_spin.c - how long a worker looks for work, by how it slept before */
#include "core/base/spin.h"

#include "tests/unit/support.h"

#define COST_NS UINT64_C(5000)

TEST(spin_after_idle__short_sleeps__doubles_up_to_the_limit)
{
	uint64_t spin_ns = 0;

	for (uint64_t times = 2; times <= 8; times *= 2) {
		spin_ns = spin_after_idle(spin_ns, COST_NS, 1);
		assert_int_equal(spin_ns, times * COST_NS);
	}
	for (unsigned n = 0; n < 3; n++) {
		spin_ns = spin_after_idle(spin_ns, COST_NS, SPIN_MAX_NS - 1);
		assert_int_equal(spin_ns, SPIN_MAX_NS);
	}
}

TEST(spin_after_idle__long_sleep__the_cost_at_once)
{
	static const uint64_t before[] = { 0, COST_NS, SPIN_MAX_NS };

	for (size_t i = 0; i < COUNT_OF(before); i++) {
		assert_int_equal(
			spin_after_idle(before[i], COST_NS, SPIN_MAX_NS),
			COST_NS);
		assert_int_equal(
			spin_after_idle(before[i], COST_NS, UINT64_MAX),
			COST_NS);
	}
}

TEST(spin_after_idle__cost_above_the_limit__the_limit)
{
	assert_int_equal(spin_after_idle(0, 2 * SPIN_MAX_NS, 1), SPIN_MAX_NS);
	assert_int_equal(spin_after_idle(0, 2 * SPIN_MAX_NS, UINT64_MAX),
			 SPIN_MAX_NS);
}

TEST(spin_after_idle__cost_has_changed__not_less_than_it)
{
	assert_int_equal(spin_after_idle(COST_NS, 3 * COST_NS, 1), 6 * COST_NS);
	assert_int_equal(spin_after_idle(8 * COST_NS, COST_NS, UINT64_MAX),
			 COST_NS);
}
