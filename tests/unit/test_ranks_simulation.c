/* SPDX-License-Identifier: MIT */
/* test_ranks_simulation.c - simulated ranks search a whole tree, and end after it */
#include <string.h>

#include "bench/mpi/ranks_policies.h"
#include "bench/mpi/ranks_simulation.h"
#include "tests/unit/unit.h"

static const struct uts_tree *trees(unsigned i)
{
	/* Their counts are those of a walk by recursion. */
	static struct uts_tree small[] = {
		{ .name = "geometric",
		  .shape = UTS_GEOMETRIC,
		  .seed = 19,
		  .branching = 4,
		  .depth_limit = 7 },
		{ .name = "binomial",
		  .shape = UTS_BINOMIAL,
		  .seed = 42,
		  .branching = 200,
		  .nonleaf_children = 8,
		  .nonleaf_probability = 0.124 },
		{ .name = "tiny",
		  .shape = UTS_BINOMIAL,
		  .seed = 42,
		  .branching = 100,
		  .nonleaf_children = 8,
		  .nonleaf_probability = 0.122 },
	};
	struct uts_tree *tree = &small[i];
	struct uts_node root = uts_tree_root(tree);
	struct uts_counts counts = { 0 };

	uts_count_subtree(tree, &root, &counts);
	tree->nodes = counts.nodes;
	tree->leaves = counts.leaves;
	tree->depth = counts.depth;
	return tree;
}

static struct ranks_plan plan_of(const struct uts_tree *tree, unsigned ranks,
				 const struct protocol_policy *policy)
{
	return (struct ranks_plan){
		.tree = tree,
		.policy = *policy,
		.network = ranks_network_default,
		.ranks = ranks,
		.workers = 16,
		.node_ns = 10000,
		.seed = 1,
	};
}

static struct ranks_outcome run(const struct ranks_plan *plan)
{
	struct ranks_outcome outcome;

	assert_int_equal(ranks_simulation_run(plan, &outcome), 0);
	return outcome;
}

static void assert_whole(const struct ranks_plan *plan,
			 const struct ranks_outcome *outcome)
{
	assert_int_equal(outcome->counts.nodes, plan->tree->nodes);
	assert_int_equal(outcome->counts.leaves, plan->tree->leaves);
	assert_int_equal(outcome->counts.depth, plan->tree->depth);
	assert_int_equal(outcome->parts, outcome->parts_received);
	assert_false(outcome->early);
	assert_true(outcome->end_ns >= outcome->last_node_ns);
	assert_true(ranks_efficiency(plan, outcome) <= 1);
}

TEST(ranks__each_policy_and_number__search_the_whole_tree)
{
	static const unsigned ranks[] = { 1, 2, 3, 16, 130 };

	for (unsigned t = 0; t < 2; t++)
		for (const struct ranks_policy *p = ranks_policies; p->name;
		     p++)
			for (unsigned i = 0; i < 5; i++) {
				struct ranks_plan plan =
					plan_of(trees(t), ranks[i], &p->policy);
				struct ranks_outcome outcome = run(&plan);

				assert_whole(&plan, &outcome);
			}
}

/* Messages of different ranks overtake each other among the last nodes. */
TEST(ranks__many_seeds__end_after_the_last_node)
{
	const struct uts_tree *tree = trees(2);

	for (unsigned seed = 0; seed < 3000; seed++) {
		struct ranks_plan plan =
			plan_of(tree, 3 + seed % 5, &protocol_default);
		struct ranks_outcome outcome;

		plan.seed = seed;
		plan.workers = 1 + seed % 2;
		plan.node_ns = 1000;
		plan.network.jitter_ns = 3000000;
		outcome = run(&plan);
		assert_whole(&plan, &outcome);
	}
}

TEST(ranks__same_seed__same_outcome)
{
	struct ranks_plan plan = plan_of(trees(0), 16, &protocol_default);
	struct ranks_outcome first = run(&plan), again = run(&plan), other;

	assert_memory_equal(&first, &again, sizeof(first));
	plan.seed = 2;
	other = run(&plan);
	assert_memory_not_equal(&first, &other, sizeof(first));
}

/* A single rank has nothing to wait for except the width of the tree; a few ranks take
 * much less time than one. */
TEST(ranks__efficiency__within_bounds)
{
	const struct uts_tree *tree = uts_tree_find("T1");
	struct ranks_plan plan = plan_of(tree, 1, &protocol_default);
	struct ranks_outcome outcome = run(&plan);

	assert_true(ranks_efficiency(&plan, &outcome) > 0.99);
	plan.ranks = 8;
	outcome = run(&plan);
	assert_true(ranks_efficiency(&plan, &outcome) > 0.5);
	assert_true(outcome.gives > 0 && outcome.gives < outcome.asks);
}

/* Messages take time: without any, the ranks are at least as fast. */
TEST(ranks__slow_network__takes_longer)
{
	struct ranks_plan plan = plan_of(trees(0), 16, &protocol_default);
	struct ranks_outcome fast = run(&plan), slow;

	for (unsigned i = 0; i < RANKS_DISTANCES; i++)
		plan.network.latency_ns[i] = 1000000;
	slow = run(&plan);
	assert_whole(&plan, &slow);
	assert_true(slow.end_ns > 2 * fast.end_ns);
}

TEST(ranks_policy_find__unknown_name__null)
{
	assert_null(ranks_policy_find("none"));
	assert_string_equal(ranks_policy_find("lifeline")->name, "lifeline");
}
