/* SPDX-License-Identifier: MIT */
/* test_tick.c - how many polls make a tick */
#include "core/base/tick.h"

#include "tests/unit/support.h"

/* End a tick of as many polls as its budget allows, @poll_ns each. Returns how
 * long it took. */
static uint64_t full_tick(struct tick *tick, uint64_t poll_ns)
{
	uint64_t ns = tick->budget * poll_ns;

	tick->polls = tick->budget;
	tick_end(tick, tick->start_ns + ns);
	return ns;
}

static void settle(struct tick *tick, uint64_t poll_ns)
{
	tick_init(tick);
	for (int i = 0; i < 200; i++)
		full_tick(tick, poll_ns);
}

TEST(tick__short_polls__all_of_the_budget)
{
	struct tick tick;

	settle(&tick, TICK_NS / TICK_BUDGET);
	assert_int_equal(tick.budget, TICK_BUDGET);
}

TEST(tick__middling_polls__as_many_as_fit)
{
	struct tick tick;

	settle(&tick, TICK_NS / 5);
	assert_int_equal(tick.budget, 5);
}

TEST(tick__long_polls__one)
{
	struct tick tick;

	settle(&tick, 3 * TICK_NS);
	assert_int_equal(tick.budget, 1);
}

TEST(tick__polls_become_long__only_one_tick_is_long)
{
	struct tick tick;

	settle(&tick, TICK_NS / TICK_BUDGET);
	assert_true(full_tick(&tick, TICK_NS) > TICK_NS);
	assert_int_equal(full_tick(&tick, TICK_NS), TICK_NS);
	assert_int_equal(full_tick(&tick, TICK_NS), TICK_NS);
}

TEST(tick__without_polls__changes_no_plan)
{
	struct tick tick;
	struct tick before;

	settle(&tick, TICK_NS / 5);
	before = tick;
	tick_end(&tick, tick.start_ns + TICK_NS);
	assert_int_equal(tick.budget, before.budget);
	assert_int_equal(tick.mean_ns, before.mean_ns);
	assert_int_equal(tick.start_ns, before.start_ns + TICK_NS);
}
