/* SPDX-License-Identifier: MIT */
/* test_rpc_plan.c - arrivals, service times, and the queue without overhead */
#include <stddef.h>
#include <stdint.h>

#include <string.h>

#include "bench/workloads/tasks/rpc_plan.h"
#include "tests/unit/unit.h"

#define CALLS 1000000u

static struct rpc_call calls[CALLS];
static struct rpc_times times;

static double mean_service(void)
{
	double sum = 0;

	for (unsigned i = 0; i < CALLS; i++)
		sum += (double)calls[i].service_ns;
	return sum / CALLS;
}

static void assert_near(double got, double expected, double tolerance)
{
	assert_true(got > expected * (1 - tolerance));
	assert_true(got < expected * (1 + tolerance));
}

TEST(rpc_plan__exponential__means_and_order)
{
	rpc_plan(calls, CALLS, RPC_EXPONENTIAL, 60, 1, 7);
	assert_near(mean_service(), 10000, 0.01);
	assert_near((double)calls[CALLS - 1].arrival_ns / CALLS, 10000 / 0.6,
		    0.01);
	for (unsigned i = 1; i < CALLS; i++)
		assert_true(calls[i - 1].arrival_ns <= calls[i].arrival_ns);
}

TEST(rpc_plan__bimodal__one_in_200_is_long)
{
	unsigned longs = 0;

	rpc_plan(calls, CALLS, RPC_BIMODAL, 80, 4, 1);
	for (unsigned i = 0; i < CALLS; i++) {
		longs += calls[i].service_ns == 1000000;
		assert_true(calls[i].service_ns == 1000000 ||
			    calls[i].service_ns == 10000);
	}
	assert_near(longs, CALLS / 200., 0.05);
	assert_near(mean_service(), (double)rpc_service_mean_ns(RPC_BIMODAL),
		    0.02);
	assert_near((double)calls[CALLS - 1].arrival_ns / CALLS,
		    14950 / 0.8 / 4, 0.01);
}

TEST(rpc_plan__seeds__differ)
{
	struct rpc_call first;

	rpc_plan(calls, 1, RPC_EXPONENTIAL, 60, 1, 1);
	first = calls[0];
	rpc_plan(calls, 1, RPC_EXPONENTIAL, 60, 1, 2);
	assert_true(first.arrival_ns != calls[0].arrival_ns);
	rpc_plan(calls, 1, RPC_EXPONENTIAL, 60, 1, 1);
	assert_memory_equal(&first, &calls[0], sizeof(first));
}

/* M/M/1: sojourns are exponential with mean S / (1 - load). */
TEST(rpc_simulate__one_server__as_theory_says)
{
	double mean = 10000 / (1 - 0.6);

	memset(&times, 0, sizeof(times));
	rpc_plan(calls, CALLS, RPC_EXPONENTIAL, 60, 1, 3);
	assert_int_equal(rpc_simulate(calls, CALLS, 1, &times), 0);
	assert_int_equal(times.sojourn_ns.total, CALLS);
	/* ln 2 and ln 100 means. */
	assert_near((double)histogram_percentile(&times.sojourn_ns, 50),
		    0.6931 * mean, 0.04);
	assert_near((double)histogram_percentile(&times.sojourn_ns, 99),
		    4.6052 * mean, 0.06);
}

TEST(rpc_simulate__two_servers__first_come_first_served)
{
	const struct rpc_call some[] = {
		{ 0, 100 }, { 10, 200 }, { 20, 10 }, { 30, 10 }, { 500, 7 },
	};
	/* 100 - 0, 210 - 10, 110 - 20, 120 - 30, 507 - 500 */
	const uint64_t sojourns[] = { 7, 90, 90, 100, 200 };

	memset(&times, 0, sizeof(times));
	assert_int_equal(rpc_simulate(some, 5, 2, &times), 0);
	for (unsigned i = 0; i < 5; i++)
		assert_int_equal(
			histogram_percentile(&times.sojourn_ns, 20. * (i + 1)),
			sojourns[i]);
	/* 90 / 10 is the largest; rounded down by less than 0.8 %. */
	assert_near((double)histogram_percentile(&times.slowdown, 100), 9000,
		    0.01);
}
