/* SPDX-License-Identifier: MIT */
/* test_target_budget.c - what a process may cost, by a clock of the test's own */
#include "bpf/target/target_budget.h"

#include <signal.h>
#include <time.h>

#include "tests/unit/support.h"

#define SECOND_NS UINT64_C(1000000000)

static uint64_t clock_ns;

int __wrap_clock_gettime(clockid_t clock, struct timespec *now);

int __wrap_clock_gettime(clockid_t clock, struct timespec *now)
{
	assert_int_equal(clock, CLOCK_MONOTONIC);
	*now = (struct timespec){ .tv_sec = (time_t)(clock_ns / SECOND_NS),
				  .tv_nsec = (long)(clock_ns % SECOND_NS) };
	return 0;
}

static struct target_budget begin(void)
{
	struct target_budget budget;

	clock_ns = 5 * SECOND_NS;
	target_budget_begin(&budget);
	return budget;
}

static struct target_budget begin_and_spend_all(void)
{
	struct target_budget budget = begin();

	assert_true(target_budget_spend(&budget, TARGET_WORK));
	return budget;
}

/* ---- work -------------------------------------------------------------------- */

TEST(spend__all_at_once__is_allowed)
{
	struct target_budget budget = begin();

	assert_true(target_budget_spend(&budget, TARGET_WORK));
	assert_true(target_budget_spend(&budget, 0));
	assert_false(target_budget_spend(&budget, 1));
}

TEST(spend__one_less_than_all__leaves_one)
{
	struct target_budget budget = begin();

	assert_true(target_budget_spend(&budget, TARGET_WORK - 1));
	assert_false(target_budget_spend(&budget, 2));
	assert_true(target_budget_spend(&budget, 1));
	assert_false(target_budget_spend(&budget, 1));
}

TEST(spend__more_than_all__is_refused_and_not_spent)
{
	struct target_budget budget = begin();

	assert_false(target_budget_spend(&budget, TARGET_WORK + 1));
	assert_false(target_budget_spend(&budget, UINT64_MAX));
	assert_false(target_budget_spend(&budget, UINT64_MAX - TARGET_WORK));
	assert_true(target_budget_spend(&budget, TARGET_WORK));
}

TEST(spend__in_pieces__is_as_much)
{
	struct target_budget budget = begin();
	uint64_t reads = 0;

	while (target_budget_spend(&budget, TARGET_READ_COST))
		reads++;
	assert_int_equal(reads, TARGET_WORK / TARGET_READ_COST);
}

TEST(spend__a_second_later__has_so_much_more)
{
	struct target_budget budget = begin_and_spend_all();

	clock_ns += SECOND_NS;
	assert_false(target_budget_spend(&budget, TARGET_WORK_SECOND + 1));
	assert_true(target_budget_spend(&budget, TARGET_WORK_SECOND));
	assert_false(target_budget_spend(&budget, 1));
}

TEST(spend__a_millisecond_later__has_a_thousandth)
{
	struct target_budget budget = begin_and_spend_all();
	const uint64_t part = TARGET_WORK_SECOND / 1000;

	clock_ns += SECOND_NS / 1000;
	assert_false(target_budget_spend(&budget, part + part / 50));
	assert_true(target_budget_spend(&budget, part - part / 50));
}

TEST(spend__long_after__has_no_more_than_all)
{
	const uint64_t later[] = { SECOND_NS * 5, SECOND_NS * 86400 * 365,
				   UINT64_MAX / 4 };

	for (size_t i = 0; i < COUNT_OF(later); i++) {
		struct target_budget budget = begin_and_spend_all();

		clock_ns += later[i];
		assert_false(target_budget_spend(&budget, TARGET_WORK + 1));
		assert_true(target_budget_spend(&budget, TARGET_WORK));
		assert_false(target_budget_spend(&budget, 1));
	}
}

TEST(spend__unspent__does_not_add_up)
{
	struct target_budget budget = begin();

	clock_ns += 100 * SECOND_NS;
	assert_false(target_budget_spend(&budget, TARGET_WORK + 1));
	assert_true(target_budget_spend(&budget, TARGET_WORK));
}

/* ---- signals ----------------------------------------------------------------- */

static void block(int number)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, number);
	assert_int_equal(pthread_sigmask(SIG_BLOCK, &set, NULL), 0);
}

/* As a verb does that sees it. */
static void take(int number)
{
	sigset_t set;
	int taken;

	sigemptyset(&set);
	sigaddset(&set, number);
	assert_int_equal(sigwait(&set, &taken), 0);
	assert_int_equal(pthread_sigmask(SIG_UNBLOCK, &set, NULL), 0);
}

/* Until it looks at signals, the budget of a loop that reads. */
static uint64_t spend_rest(struct target_budget *budget)
{
	uint64_t sum = 0;

	while (target_budget_spend(budget, TARGET_READ_COST))
		sum += TARGET_READ_COST;
	return sum;
}

TEST(spend__signal_is_pending__has_the_last_and_no_more)
{
	static const int numbers[] = { SIGINT, SIGTERM };

	for (size_t i = 0; i < COUNT_OF(numbers); i++) {
		struct target_budget budget = begin();
		uint64_t rest;

		block(numbers[i]);
		assert_int_equal(raise(numbers[i]), 0);
		rest = spend_rest(&budget);
		assert_true(rest >= TARGET_WORK_LAST);
		/* It looks once a MiB. */
		assert_true(rest <= TARGET_WORK_LAST + (2 << 20));
		clock_ns += 10 * SECOND_NS;
		assert_false(target_budget_spend(&budget, TARGET_READ_COST));
		take(numbers[i]);
		assert_false(target_budget_spend(&budget, TARGET_READ_COST));
	}
}

TEST(spend__signal_when_less_is_left__gives_no_more)
{
	struct target_budget budget = begin();

	assert_true(target_budget_spend(&budget, TARGET_WORK - 100));
	block(SIGINT);
	assert_int_equal(raise(SIGINT), 0);
	assert_false(target_budget_spend(&budget, 101));
	assert_true(target_budget_spend(&budget, 100));
	assert_false(target_budget_spend(&budget, 1));
	take(SIGINT);
}

TEST(spend__other_signal_is_pending__changes_nothing)
{
	struct target_budget budget = begin();

	block(SIGUSR1);
	assert_int_equal(raise(SIGUSR1), 0);
	assert_int_equal(spend_rest(&budget), TARGET_WORK);
	take(SIGUSR1);
}

/* ---- what is held ------------------------------------------------------------ */

TEST(hold__all_in_pieces__is_allowed_and_no_more)
{
	struct target_budget budget = begin();

	assert_true(target_budget_hold(&budget, TARGET_HELD - 1));
	assert_false(target_budget_hold(&budget, 2));
	assert_true(target_budget_hold(&budget, 1));
	assert_true(target_budget_hold(&budget, 0));
	assert_false(target_budget_hold(&budget, 1));
	clock_ns += 100 * SECOND_NS;
	assert_false(target_budget_hold(&budget, 1));
}

TEST(hold__more_than_all__is_refused_and_not_held)
{
	struct target_budget budget = begin();

	assert_true(target_budget_hold(&budget, 1));
	assert_false(target_budget_hold(&budget, TARGET_HELD));
	assert_false(target_budget_hold(&budget, UINT64_MAX));
	assert_false(target_budget_hold(&budget, UINT64_MAX - TARGET_HELD));
	assert_true(target_budget_hold(&budget, TARGET_HELD - 1));
}

TEST(hold__work_is_spent__is_allowed)
{
	struct target_budget budget = begin_and_spend_all();

	assert_true(target_budget_hold(&budget, TARGET_HELD));
	assert_false(target_budget_spend(&budget, 1));
}
