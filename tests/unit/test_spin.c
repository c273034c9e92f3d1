/* SPDX-License-Identifier: MIT */
/* test_spin.c - how long a worker looks for work, by its recent gaps */
#include "core/base/spin.h"

#include <string.h>

#include "core/base/rng.h"
#include "tests/unit/spin_gaps.h"
#include "tests/unit/support.h"

#define GAPS 2000

/* Costs of a sleep: of a fast machine, and of a virtual one. */
static const uint64_t costs_ns[] = { 2000, 5000, 20000, 40000 };

/* ---- buckets -------------------------------------------------------------- */

TEST(spin_bucket__each_end__begins_the_next)
{
	for (unsigned i = 0; i < SPIN_BUCKETS - 1; i++) {
		uint64_t end_ns = spin_bucket_end(i);

		assert_int_equal(spin_bucket(end_ns - 1), i);
		assert_int_equal(spin_bucket(end_ns), i + 1);
	}
	assert_int_equal(spin_bucket(0), 0);
	assert_int_equal(spin_bucket(UINT64_MAX), SPIN_BUCKETS - 1);
	assert_int_equal(spin_bucket_end(SPIN_BUCKETS - 2), SPIN_MAX_NS);
}

TEST(spin_learn__more_than_it_remembers__forgets_the_oldest)
{
	struct spin spin = { .total = 0 };

	spin_learn(&spin, 0);
	for (unsigned n = 1; n < SPIN_GAPS; n++)
		spin_learn(&spin, SPIN_MAX_NS);
	assert_int_equal(spin.counts[0], 1);
	assert_int_equal(spin.counts[SPIN_BUCKETS - 1], SPIN_GAPS - 1);
	spin_learn(&spin, SPIN_MAX_NS);
	assert_int_equal(spin.counts[0], 0);
	assert_int_equal(spin.counts[SPIN_BUCKETS - 1], SPIN_GAPS);
	assert_int_equal(spin.total, SPIN_GAPS);
}

/* ---- budgets -------------------------------------------------------------- */

static uint64_t budget_after(unsigned times, uint64_t gap_ns, uint64_t cost_ns)
{
	struct spin spin = { .total = 0 };

	for (unsigned n = 0; n < times; n++)
		spin_learn(&spin, gap_ns);
	return spin_budget(&spin, cost_ns);
}

TEST(spin_budget__no_gaps__the_cost)
{
	assert_int_equal(budget_after(0, 0, 5000), 5000);
	assert_int_equal(budget_after(0, 0, 2 * SPIN_MAX_NS), SPIN_MAX_NS);
}

TEST(spin_budget__short_gaps__lasts_until_work_comes)
{
	uint64_t budget_ns = budget_after(SPIN_GAPS, 3000, 5000);

	assert_true(budget_ns >= 3000 && budget_ns <= 5000);
	assert_true(budget_after(SPIN_GAPS, 15000, 20000) >= 15000);
}

TEST(spin_budget__gaps_longer_than_the_cost__none)
{
	assert_int_equal(budget_after(SPIN_GAPS, 10000, 5000), 0);
	assert_int_equal(budget_after(1, 10000, 5000), 0);
	assert_int_equal(budget_after(SPIN_GAPS, 60000, 40000), 0);
}

TEST(spin_budget__gaps_become_short__notices_soon)
{
	struct spin spin = { .total = 0 };
	unsigned n = 0;

	for (unsigned i = 0; i < SPIN_GAPS; i++)
		spin_learn(&spin, 60000);
	while (spin_budget(&spin, 20000) == 0) {
		spin_learn(&spin, 1000);
		n++;
	}
	assert_true(n <= SPIN_GAPS / 8);
}

/* ---- against the best ----------------------------------------------------- */

static uint64_t gaps_ns[GAPS];
static unsigned gaps;

/* The cost of a gap with @budget_ns. */
static uint64_t cost_of(uint64_t gap_ns, uint64_t budget_ns, uint64_t cost_ns)
{
	return gap_ns <= budget_ns ? gap_ns : budget_ns + cost_ns;
}

static uint64_t learning(uint64_t cost_ns)
{
	struct spin spin = { .total = 0 };
	uint64_t sum_ns = 0;

	for (unsigned i = 0; i < gaps; i++) {
		sum_ns += cost_of(gaps_ns[i], spin_budget(&spin, cost_ns),
				  cost_ns);
		spin_learn(&spin, gaps_ns[i]);
	}
	return sum_ns;
}

/* As if each gap were known when it begins. */
static uint64_t knowing(uint64_t cost_ns)
{
	uint64_t sum_ns = 0;

	for (unsigned i = 0; i < gaps; i++)
		sum_ns += gaps_ns[i] < cost_ns ? gaps_ns[i] : cost_ns;
	return sum_ns;
}

static uint64_t fixed(uint64_t budget_ns, uint64_t cost_ns)
{
	uint64_t sum_ns = 0;

	for (unsigned i = 0; i < gaps; i++)
		sum_ns += cost_of(gaps_ns[i], budget_ns, cost_ns);
	return sum_ns;
}

/* With the best budget that never changes: none, or as long as one of the gaps. */
static uint64_t best_fixed(uint64_t cost_ns)
{
	uint64_t best_ns = fixed(0, cost_ns);

	for (unsigned i = 0; i < gaps; i++) {
		uint64_t sum_ns = fixed(gaps_ns[i], cost_ns);

		if (gaps_ns[i] <= SPIN_MAX_NS && sum_ns < best_ns)
			best_ns = sum_ns;
	}
	return best_ns;
}

static void expect_near_best(const char *what, uint64_t number)
{
	for (size_t i = 0; i < COUNT_OF(costs_ns); i++) {
		double cost = (double)learning(costs_ns[i]);
		double least = (double)knowing(costs_ns[i]);
		double best = (double)best_fixed(costs_ns[i]);

		print_message("%s %u, sleep of %u ns: %.2f of the optimum, "
			      "%.3f of the best fixed\n",
			      what, (unsigned)number, (unsigned)costs_ns[i],
			      cost / least, cost / best);
		assert_true(cost <= 2 * least);
		assert_true(cost <= 1.1 * best);
	}
}

TEST(spin__exponential_gaps__near_the_best_budget)
{
	static const uint64_t means_ns[] = { 1000,  3000,  5000,  10000,
					     20000, 40000, 60000, 200000 };
	struct rng rng;

	rng_init(&rng, 1);
	gaps = GAPS;
	for (size_t m = 0; m < COUNT_OF(means_ns); m++) {
		for (unsigned i = 0; i < gaps; i++) {
			gaps_ns[i] =
				rng_below(&rng, (uint32_t)means_ns[m] / 64);
			while (rng_below(&rng, 64) != 0)
				gaps_ns[i] += means_ns[m] / 64;
		}
		expect_near_best("mean", means_ns[m]);
	}
}

TEST(spin__bimodal_gaps__near_the_best_budget)
{
	static const uint32_t percents[] = { 10, 50, 90, 99 };
	struct rng rng;

	rng_init(&rng, 2);
	gaps = GAPS;
	for (size_t p = 0; p < COUNT_OF(percents); p++) {
		for (unsigned i = 0; i < gaps; i++)
			gaps_ns[i] = rng_below(&rng, 100) < percents[p]
					     ? 1500 + rng_below(&rng, 1000)
					     : 60000 + rng_below(&rng, 200000);
		expect_near_best("percent short", percents[p]);
	}
}

static void play(const uint32_t *recorded, unsigned count)
{
	gaps = count;
	for (unsigned i = 0; i < count; i++)
		gaps_ns[i] = recorded[i];
	expect_near_best("recorded", count);
}

TEST(spin__recorded_gaps__near_the_best_budget)
{
	play(spin_gaps_even, COUNT_OF(spin_gaps_even));
	play(spin_gaps_bimodal, COUNT_OF(spin_gaps_bimodal));
}
