/* SPDX-License-Identifier: MIT */
/**
 * uts_tree.h - the trees of the Unbalanced Tree Search benchmark
 *
 * S. Olivier et al., "UTS: An Unbalanced Tree Search Benchmark" (LCPC 2006).
 * A tree is never stored. A node is a 20-byte state; hashing it together with a child's
 * number gives the state of that child. The number of children is drawn from the node's
 * state. The tree is therefore the same in any order of search, and the size of a
 * subtree is unknown before it has been searched.
 */
#ifndef SKUA_BENCH_KERNELS_UTS_TREE_H
#define SKUA_BENCH_KERNELS_UTS_TREE_H

#include <stdint.h>

#define UTS_STATE_BYTES 20

/* The names of the trees, for messages. */
#define UTS_TREE_NAMES "T1, T3, T1L"

/**
 * enum uts_shape - the distribution of the number of children
 * @UTS_GEOMETRIC: geometric with mean @branching above depth @depth_limit; nodes at that
 *                 depth have no children (the "fixed" shape)
 * @UTS_BINOMIAL: the root has @branching children; any other node has
 *                @nonleaf_children with probability @nonleaf_probability, otherwise
 *                none
 */
enum uts_shape { UTS_GEOMETRIC, UTS_BINOMIAL };

/* struct uts_tree - parameters of a tree, and its published counts */
struct uts_tree {
	const char *name;
	enum uts_shape shape;
	uint32_t seed;
	uint32_t branching;
	uint32_t depth_limit;       /* geometric */
	uint32_t nonleaf_children;  /* binomial */
	double nonleaf_probability; /* binomial */

	uint64_t nodes;
	uint64_t leaves;
	uint32_t depth; /* depth of the deepest node; the root's is 0 */
};

struct uts_node {
	uint8_t state[UTS_STATE_BYTES];
	uint32_t depth;
};

/* uts_tree_find - return the published tree with this name, or NULL */
const struct uts_tree *uts_tree_find(const char *name);

/* uts_tree_root - return the root of a tree */
struct uts_node uts_tree_root(const struct uts_tree *tree);

/* uts_tree_children - return the number of children of @node */
uint32_t uts_tree_children(const struct uts_tree *tree,
			   const struct uts_node *node);

/* uts_tree_child - return the @i-th child of @node, @i < uts_tree_children() */
struct uts_node uts_tree_child(const struct uts_node *node, uint32_t i);

#endif
