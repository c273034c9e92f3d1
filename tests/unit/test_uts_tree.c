/* SPDX-License-Identifier: MIT */
/* test_uts_tree.c - the trees of the benchmark are the published ones */
#include <stddef.h>
#include <stdint.h>

#include <string.h>

#include "bench/kernels/uts_tree.h"
#include "bench/kernels/uts_walk.h"
#include "tests/unit/unit.h"

static struct uts_counts walk_all(const struct uts_tree *tree)
{
	struct uts_node node = uts_tree_root(tree);
	struct uts_walk walk;

	assert_int_equal(uts_walk_init(&walk, tree), 0);
	assert_int_equal(uts_walk_enter(&walk, &node), 0);
	while (uts_walk_next(&walk, &node))
		assert_int_equal(uts_walk_enter(&walk, &node), 0);
	uts_walk_free(&walk);
	return walk.counts;
}

static void assert_published(const char *name)
{
	const struct uts_tree *tree = uts_tree_find(name);
	struct uts_counts counts = walk_all(tree);

	assert_int_equal(counts.nodes, tree->nodes);
	assert_int_equal(counts.leaves, tree->leaves);
	assert_int_equal(counts.depth, tree->depth);
}

TEST(uts_tree_find__unknown_name__null)
{
	assert_null(uts_tree_find("T9"));
	assert_null(uts_tree_find(""));
	assert_null(uts_tree_find("T1LL"));
	assert_string_equal(uts_tree_find("T1L")->name, "T1L");
}

/* SHA-1 of 16 zero bytes and 00 00 00 13, by another program. */
TEST(uts_tree_root__seed_19__is_its_hash)
{
	static const uint8_t expected[UTS_STATE_BYTES] = {
		0xc6, 0x98, 0x8a, 0xb7, 0x0c, 0xc9, 0x55, 0x9a, 0xe4, 0xd6,
		0xcb, 0xa2, 0x54, 0xe2, 0x9a, 0x84, 0x5a, 0x85, 0xf8, 0x6b,
	};
	struct uts_node root = uts_tree_root(uts_tree_find("T1"));

	assert_memory_equal(root.state, expected, sizeof(expected));
	assert_int_equal(root.depth, 0);
}

/* SHA-1 of that and 00 00 00 01. */
TEST(uts_tree_child__of_root__is_its_hash)
{
	static const uint8_t expected[UTS_STATE_BYTES] = {
		0x4a, 0x83, 0x04, 0xc7, 0xc8, 0x8f, 0x90, 0x3a, 0xc0, 0x6b,
		0x01, 0xb0, 0x7c, 0x7b, 0x25, 0x90, 0xe9, 0x39, 0x7b, 0x5b,
	};
	struct uts_node root = uts_tree_root(uts_tree_find("T1"));
	struct uts_node child = uts_tree_child(&root, 1);

	assert_memory_equal(child.state, expected, sizeof(expected));
	assert_int_equal(child.depth, 1);
}

TEST(uts_tree_children__at_depth_limit__none)
{
	const struct uts_tree *tree = uts_tree_find("T1");
	struct uts_node node = uts_tree_root(tree);

	node.depth = tree->depth_limit;
	assert_int_equal(uts_tree_children(tree, &node), 0);
}

/* The random value is at its ends; geometric with mean 4: floor(log_0.8(1-u)).
 */
TEST(uts_tree_children__extreme_random_value__in_bounds)
{
	const struct uts_tree *t1 = uts_tree_find("T1");
	const struct uts_tree *t3 = uts_tree_find("T3");
	struct uts_node node = { .depth = 1 };

	memset(node.state, 0, sizeof(node.state));
	assert_int_equal(uts_tree_children(t1, &node), 0);
	assert_int_equal(uts_tree_children(t3, &node), 8);
	memset(node.state, 0xff, sizeof(node.state));
	assert_int_equal(uts_tree_children(t1, &node), 96);
	assert_int_equal(uts_tree_children(t3, &node), 0);
}

TEST(uts_tree_children__binomial_root__branching)
{
	const struct uts_tree *tree = uts_tree_find("T3");
	struct uts_node root = uts_tree_root(tree);

	assert_int_equal(uts_tree_children(tree, &root), 2000);
}

/* Search a tree in parts: after every @interval nodes, a part of the rest is put aside. */
static struct uts_counts walk_in_parts(const struct uts_tree *tree,
				       unsigned interval)
{
	struct uts_part parts[2000] = { { .node = uts_tree_root(tree) } };
	struct uts_node node = parts[0].node;
	struct uts_walk walk;
	size_t count = 1;
	unsigned nodes = 0;

	parts[0].end = uts_tree_children(tree, &node);
	assert_int_equal(uts_walk_init(&walk, tree), 0);
	uts_counts_node(&walk.counts, &node, parts[0].end);
	while (count > 0) {
		assert_int_equal(uts_walk_enter_part(&walk, &parts[--count]),
				 0);
		while (uts_walk_next(&walk, &node)) {
			assert_int_equal(uts_walk_enter(&walk, &node), 0);
			if (++nodes % interval == 0 &&
			    uts_walk_split(&walk, &parts[count]))
				assert_true(++count < 2000);
		}
	}
	uts_walk_free(&walk);
	return walk.counts;
}

TEST(uts_walk_split__any_interval__every_node_once)
{
	static const unsigned intervals[] = { 1, 2, 7, 100 };
	struct uts_tree tree = *uts_tree_find("T1");

	tree.depth_limit = 6;
	for (uint32_t seed = 0; seed < 20; seed++) {
		struct uts_counts counts, expected;

		tree.seed = seed;
		expected = walk_all(&tree);
		for (size_t i = 0; i < 4; i++) {
			counts = walk_in_parts(&tree, intervals[i]);
			assert_int_equal(counts.nodes, expected.nodes);
			assert_int_equal(counts.leaves, expected.leaves);
			assert_int_equal(counts.depth, expected.depth);
		}
	}
}

/* Of a node with one child left, nothing is given: the walk would end above it. */
TEST(uts_walk_split__one_child_left__false)
{
	const struct uts_tree *tree = uts_tree_find("T1");
	struct uts_part part = { .node = uts_tree_root(tree), .end = 1 };
	struct uts_walk walk;

	assert_int_equal(uts_walk_init(&walk, tree), 0);
	assert_int_equal(uts_walk_enter_part(&walk, &part), 0);
	assert_false(uts_walk_split(&walk, &part));
	part.end = 2;
	uts_walk_free(&walk);
	assert_int_equal(uts_walk_init(&walk, tree), 0);
	assert_int_equal(uts_walk_enter_part(&walk, &part), 0);
	assert_true(uts_walk_split(&walk, &part));
	assert_int_equal(part.first, 1);
	assert_int_equal(part.end, 2);
	uts_walk_free(&walk);
}

TEST(uts_walk__small_trees__as_by_recursion)
{
	struct uts_tree tree = *uts_tree_find("T1");

	for (uint32_t depth = 0; depth <= 6; depth++) {
		for (uint32_t seed = 0; seed < 20; seed++) {
			struct uts_counts counts, expected = { 0 };
			struct uts_node root;

			tree.depth_limit = depth;
			tree.seed = seed;
			root = uts_tree_root(&tree);
			uts_count_subtree(&tree, &root, &expected);
			counts = walk_all(&tree);
			assert_int_equal(counts.nodes, expected.nodes);
			assert_int_equal(counts.leaves, expected.leaves);
			assert_int_equal(counts.depth, expected.depth);
		}
	}
}

TEST(uts_walk__T1__published_counts)
{
	assert_published("T1");
}

/* 1,572 levels: the stack grows. */
TEST(uts_walk__T3__published_counts)
{
	assert_published("T3");
}

TEST(uts_counts_add__two__sums_and_deepest)
{
	struct uts_counts sum = { .nodes = 3, .leaves = 2, .depth = 7 };
	const struct uts_counts more = { .nodes = 5, .leaves = 4, .depth = 6 };

	uts_counts_add(&sum, &more);
	assert_int_equal(sum.nodes, 8);
	assert_int_equal(sum.leaves, 6);
	assert_int_equal(sum.depth, 7);
}
