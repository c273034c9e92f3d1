/* SPDX-License-Identifier: MIT */
/* test_simulator.c - bench/simulator, and what it says of the runtime's policy */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "bench/simulator/case.h"
#include "core/config/config.h"
#include "tests/unit/unit.h"

#define SHORT_NS UINT64_C(600000)

static struct outcome outcome, other;

/* ---- parts ------------------------------------------------------------------------ */

TEST(events__same_time__first_set_comes_first)
{
	struct events events;

	assert_int_equal(events_make(&events, 5), 0);
	assert_int_equal(events_next_ns(&events), UINT64_MAX);
	events_set(&events, 3, 70);
	events_set(&events, 1, 50);
	events_set(&events, 0, 50);
	events_set(&events, 2, 60);
	events_set(&events, 3, 50); /* and not at 70 */
	events_set(&events, 4, 40);
	events_cancel(&events, 4);
	for (unsigned i = 0; i < 4; i++) {
		static const uint32_t who[] = { 1, 0, 3, 2 };

		assert_int_equal(events_first(&events), who[i]);
		assert_int_equal(events_next_ns(&events), i < 3 ? 50 : 60);
		events_cancel(&events, who[i]);
	}
	assert_int_equal(events.count, 0);
	events_free(&events);
}

TEST(events__many_at_random__come_in_order)
{
	struct events events;
	uint64_t random = 1, before = 0;

	assert_int_equal(events_make(&events, 500), 0);
	for (unsigned i = 0; i < 5000; i++) {
		random = random * 6364136223846793005u + 1442695040888963407u;
		events_set(&events, (uint32_t)(random >> 40) % 500,
			   random >> 50);
	}
	while (events.count > 0) {
		assert_true(events_next_ns(&events) >= before);
		before = events_next_ns(&events);
		events_cancel(&events, events_first(&events));
	}
	events_free(&events);
}

TEST(layout__made_machine__is_as_far_as_said)
{
	const struct shape shape = { 2, 2, 2, 4, 2 };
	struct layout layout;

	assert_int_equal(layout_make(&layout, &shape), 0);
	assert_int_equal(layout.groups.worker_count, 64);
	assert_int_equal(layout.groups.count, 8);
	assert_int_equal(layout.socket_count, 2);
	assert_int_equal(layout_tier(&layout, 0, 0), TIER_CORE);
	assert_int_equal(layout_tier(&layout, 0, 1), TIER_CORE);
	assert_int_equal(layout_tier(&layout, 0, 2), TIER_CACHE);
	assert_int_equal(layout_tier(&layout, 0, 8), TIER_NODE);
	assert_int_equal(layout_tier(&layout, 0, 16), TIER_SOCKET);
	assert_int_equal(layout_tier(&layout, 0, 32), TIER_FAR);
	assert_int_equal(layout_tier(&layout, 63, 31), TIER_FAR);
	layout_free(&layout);
}

TEST(layout__snapshot__has_its_groups)
{
	struct layout layout;

	assert_int_equal(layout_load(&layout,
				     MACHINES "eight_nodes_1024.snapshot", 0,
				     NULL),
			 0);
	assert_int_equal(layout.groups.worker_count, 1024);
	assert_int_equal(layout.groups.node_count, 8);
	assert_int_equal(layout.groups.count, 32);
	layout_free(&layout);
}

/* Also where the gaps are a few nanoseconds. */
TEST(arrivals__any_load__are_that_much_work)
{
	static const enum workload_kind kinds[] = { WORKLOAD_EVEN,
						    WORKLOAD_SKEW,
						    WORKLOAD_BURST };
	const struct shape shape = { 2, 4, 8, 8, 2 };
	struct layout layout;

	assert_int_equal(layout_make(&layout, &shape), 0);
	for (unsigned k = 0; k < 3; k++) {
		struct arrivals a = { .kind = kinds[k],
				      .percent = 90,
				      .service_ns = 5000 };
		double work_ns = 0;

		arrivals_begin(&a, &layout, 1);
		while (a.next_ns < 5000000) {
			for (unsigned i = 0; i < a.count; i++)
				work_ns += arrivals_service_ns(&a);
			arrivals_next(&a);
		}
		assert_true(work_ns > 0.88 * 5e6 * 1024);
		assert_true(work_ns < 0.92 * 5e6 * 1024);
	}
	layout_free(&layout);
}

/* ---- simulations ---------------------------------------------------------------------- */

static struct plan plan_of(const struct layout *layout,
			   const struct policy *policy,
			   enum workload_kind workload, unsigned percent)
{
	struct plan plan = case_defaults(workload, percent);

	plan.layout = layout;
	plan.policy = policy;
	plan.duration_ns = SHORT_NS;
	if (workload == WORKLOAD_TREE)
		plan.depth = 14;
	return plan;
}

static void run(const struct plan *plan, struct outcome *o)
{
	assert_int_equal(simulation_run(plan, o), 0);
}

TEST(simulation__same_seed__same_outcome)
{
	const struct shape shape = { 2, 2, 2, 4, 2 };
	struct layout layout;

	assert_int_equal(layout_make(&layout, &shape), 0);
	for (unsigned i = 0; policies[i] != NULL; i++) {
		struct plan plan =
			plan_of(&layout, policies[i], WORKLOAD_SKEW, 60);

		run(&plan, &outcome);
		run(&plan, &other);
		assert_memory_equal(&outcome, &other, sizeof(outcome));
		plan.seed = 2;
		run(&plan, &other);
		assert_memory_not_equal(&outcome, &other, sizeof(outcome));
	}
	layout_free(&layout);
}

static void check_accounts(const struct plan *plan, const struct outcome *o)
{
	unsigned workers = 0;

	assert_true(o->done > 0);
	if (plan->workload == WORKLOAD_ONCE)
		assert_int_equal(o->arrived, 1 + plan->children);
	assert_int_equal(o->arrived, o->done + o->left);
	assert_int_equal(o->arrived_sum, o->done_sum + o->left_sum);
	assert_int_equal(o->parks - o->wakes, o->in_state[SIM_PARKED]);
	for (unsigned s = 0; s < SIM_STATES; s++)
		workers += o->in_state[s];
	assert_int_equal(workers, plan->layout->groups.worker_count);
	if (plan->workload == WORKLOAD_TREE) {
		assert_int_equal(o->done, (2u << plan->depth) - 1);
		assert_int_equal(o->left, 0);
	}
}

TEST(simulation__any_policy__each_task_once)
{
	static const struct shape shapes[] = { { 1, 1, 1, 2, 1 },
					       { 1, 1, 2, 64, 2 },
					       { 2, 3, 5, 2, 1 } };

	for (unsigned s = 0; s < 3; s++) {
		struct layout layout;

		assert_int_equal(layout_make(&layout, &shapes[s]), 0);
		for (unsigned n = 0; policies[n / WORKLOAD_KINDS] != NULL;
		     n++) {
			struct plan plan = plan_of(
				&layout, policies[n / WORKLOAD_KINDS],
				(enum workload_kind)(n % WORKLOAD_KINDS), 50);

			run(&plan, &outcome);
			check_accounts(&plan, &outcome);
		}
		layout_free(&layout);
	}
}

/* A queue that is left empty is named to nobody: what searches look at in vain are a
 * few, where there were 45 a round. */
TEST(runtime__failed_round__few_queues_in_vain)
{
	const struct shape shape = { 1, 2, 4, 8, 2 };
	struct layout layout;
	struct plan plan;

	assert_int_equal(layout_make(&layout, &shape), 0);
	plan = plan_of(&layout, &policy_runtime, WORKLOAD_SKEW, 50);
	run(&plan, &outcome);
	assert_true(outcome.failed.times > 1000);
	assert_true(outcome.failed.queues < outcome.failed.times);
	layout_free(&layout);
}

/* ---- what the design promises ------------------------------------------------------------ */

TEST(tuning__defaults__are_those_of_a_runtime)
{
	const struct skua_config cfg = { .size = sizeof(cfg),
					 .workers = 1,
					 .flags = SKUA_NO_ENV };
	const struct tuning tuning = TUNING_DEFAULT;
	struct config config = { 0 };

	assert_int_equal(config_resolve(&config, &cfg, NULL), 0);
	assert_int_equal(tuning.steal_max, config.tuning.steal_max);
	assert_int_equal(tuning.steal_max_far, config.tuning.steal_max_far);
	assert_int_equal(tuning.far_samples, config.tuning.far_samples);
	assert_int_equal(tuning.far_delay_ns, config.tuning.far_delay_ns);
	assert_int_equal(tuning.steal_attempts, config.tuning.steal_attempts);
	config_free(&config);
}

static double late(const struct plan *plan, const struct outcome *o)
{
	return plan->workload == WORKLOAD_TREE
		       ? case_time_by_ideal(plan, o)
		       : (double)histogram_percentile(&o->latencies, 99);
}

/* As late as with the best of the others, or almost; and no more tasks leave their
 * node than with the one that is best of them in all. */
TEST(runtime__1024_workers__no_worse_than_the_best)
{
	static const struct {
		enum workload_kind workload;
		unsigned percent;
	} loads[] = { { WORKLOAD_EVEN, 70 },
		      { WORKLOAD_EVEN, 90 },
		      { WORKLOAD_SKEW, 60 },
		      { WORKLOAD_BURST, 70 },
		      { WORKLOAD_TREE, 100 } };
	const struct shape shape = { 2, 4, 8, 8, 2 };
	struct layout layout;

	assert_int_equal(layout_make(&layout, &shape), 0);
	for (unsigned n = 0; n < sizeof(loads) / sizeof(loads[0]); n++) {
		struct plan plan = plan_of(&layout, &policy_hintw,
					   loads[n].workload, loads[n].percent);
		double best, away;

		/* Long enough for what it is about, and not its beginning. */
		if (loads[n].workload == WORKLOAD_TREE)
			plan.depth = 17;
		run(&plan, &other);
		best = late(&plan, &other);
		away = case_away(&other);
		for (unsigned i = 1; policies[i] != &policy_hintw; i++) {
			plan.policy = policies[i];
			run(&plan, &other);
			if (late(&plan, &other) < best)
				best = late(&plan, &other);
		}
		plan.policy = &policy_runtime;
		run(&plan, &outcome);
		assert_true(late(&plan, &outcome) <= 1.25 * best);
		assert_true(case_away(&outcome) <= away);
	}
	layout_free(&layout);
}

/* Tasks from outside use few lines of other groups, and are no later and no farther
 * from home than with one queue. */
static void check_outside(const struct shape *shape, unsigned percent)
{
	struct layout layout;
	struct plan plan;

	assert_int_equal(layout_make(&layout, shape), 0);
	plan = plan_of(&layout, &policy_runtime, WORKLOAD_OUTSIDE, percent);
	run(&plan, &outcome);
	check_accounts(&plan, &outcome);
	assert_int_equal(outcome.injected, outcome.arrived);
	assert_true(outcome.lines_elsewhere <= 2 * outcome.injected);
	plan.one_queue = true;
	run(&plan, &other);
	check_accounts(&plan, &other);
	assert_true(late(&plan, &outcome) <= late(&plan, &other));
	assert_true(case_away(&outcome) <= case_away(&other));
	layout_free(&layout);
}

TEST(runtime__tasks_from_outside__stay_at_their_group)
{
	for (unsigned percent = 30; percent <= 90; percent += 30) {
		check_outside(&(struct shape){ 1, 2, 4, 8, 1 }, percent);
		check_outside(&(struct shape){ 2, 4, 8, 8, 2 }, percent);
	}
}

/* The steps of the wake chain of a burst from one worker, until all groups have begun
 * a task; SIM_STEPS: some have not. */
static unsigned steps_to_all(const struct layout *layout, uint64_t seed)
{
	struct plan plan = case_defaults(WORKLOAD_ONCE, 100);
	unsigned groups = 0;

	plan.layout = layout;
	plan.policy = &policy_runtime;
	plan.seed = seed;
	run(&plan, &outcome);
	check_accounts(&plan, &outcome);
	assert_int_equal(outcome.left, 0);
	for (unsigned step = 0; step < SIM_STEPS; step++) {
		groups += outcome.chain[step].groups;
		if (groups == layout->groups.count)
			return step;
	}
	return SIM_STEPS;
}

TEST(runtime__burst_of_1000__reaches_64_groups_in_8_steps)
{
	const struct shape shape = { 2, 4, 8, 8, 2 };
	struct layout layout;

	assert_int_equal(layout_make(&layout, &shape), 0);
	assert_int_equal(layout.groups.count, 64);
	for (uint64_t seed = 1; seed <= 5; seed++)
		assert_true(steps_to_all(&layout, seed) <= 8);
	layout_free(&layout);
}

/* Groups, and how many of them are of a node. */
static void check_lines(const struct shape *shape, unsigned groups,
			unsigned node)
{
	static const enum workload_kind kinds[] = { WORKLOAD_EVEN,
						    WORKLOAD_SKEW,
						    WORKLOAD_BURST };
	const struct tuning tuning = TUNING_DEFAULT;
	struct layout layout;

	assert_int_equal(layout_make(&layout, shape), 0);
	assert_int_equal(layout.groups.count, groups);
	for (unsigned k = 0; k < 3; k++) {
		struct plan plan =
			plan_of(&layout, &policy_runtime, kinds[k], 40);

		plan.duration_ns /= 2;
		run(&plan, &outcome);
		assert_true(outcome.failed.times > 0);
		assert_true(outcome.sleeping.times > 0);
		assert_true(outcome.woken.times > 0);
		assert_true(outcome.failed.most_lines <=
			    node + tuning.far_samples);
		assert_true(outcome.told.most_lines <= groups);
		assert_true(outcome.sleeping.most_lines <= groups);
		/* Beyond groups: the summary, and the map's line, where there is
		 * work; and the worker woken last, and the sleeper itself. */
		assert_true(outcome.checked.most_lines <= groups + 4);
	}
	layout_free(&layout);
}

TEST(runtime__search_and_wake__a_line_a_group)
{
	check_lines(&(struct shape){ 1, 1, 4, 8, 2 }, 4, 4);
	check_lines(&(struct shape){ 1, 2, 2, 32, 2 }, 4, 2);
	check_lines(&(struct shape){ 1, 4, 4, 2, 2 }, 16, 4);
	check_lines(&(struct shape){ 2, 2, 4, 32, 2 }, 16, 4);
	check_lines(&(struct shape){ 2, 4, 8, 8, 2 }, 64, 8);
}
