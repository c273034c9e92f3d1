/* SPDX-License-Identifier: MIT */
/* uts_tree.c - see uts_tree.h: splittable random numbers by SHA-1, and two distributions */
#include "bench/kernels/uts_tree.h"

#include <math.h>
#include <nettle/sha1.h>
#include <stddef.h>
#include <string.h>

/* Largest number of children of a node, except the root of a binomial tree. */
#define MAX_CHILDREN 100

static const struct uts_tree trees[] = {
	{
		.name = "T1",
		.shape = UTS_GEOMETRIC,
		.seed = 19,
		.branching = 4,
		.depth_limit = 10,
		.nodes = 4130071,
		.leaves = 3305118,
		.depth = 10,
	},
	{
		.name = "T3",
		.shape = UTS_BINOMIAL,
		.seed = 42,
		.branching = 2000,
		.nonleaf_children = 8,
		.nonleaf_probability = 0.124875,
		.nodes = 4112897,
		.leaves = 3599034,
		.depth = 1572,
	},
	{
		.name = "T1L",
		.shape = UTS_GEOMETRIC,
		.seed = 29,
		.branching = 4,
		.depth_limit = 13,
		.nodes = 102181082,
		.leaves = 81746377,
		.depth = 13,
	},
};

const struct uts_tree *uts_tree_find(const char *name)
{
	for (size_t i = 0; i < sizeof(trees) / sizeof(trees[0]); i++)
		if (strcmp(trees[i].name, name) == 0)
			return &trees[i];
	return NULL;
}

static void put_be32(uint8_t *out, uint32_t value)
{
	out[0] = (uint8_t)(value >> 24);
	out[1] = (uint8_t)(value >> 16);
	out[2] = (uint8_t)(value >> 8);
	out[3] = (uint8_t)value;
}

/* Set the state of a child: the SHA-1 hash of 20 bytes and the child's number. */
static void split(uint8_t *state, const uint8_t *bytes, size_t count,
		  uint32_t number)
{
	uint8_t message[UTS_STATE_BYTES + 4];
	struct sha1_ctx ctx;

	memcpy(message, bytes, count);
	put_be32(message + count, number);
	sha1_init(&ctx);
	sha1_update(&ctx, count + 4, message);
	sha1_digest(&ctx, UTS_STATE_BYTES, state);
}

struct uts_node uts_tree_root(const struct uts_tree *tree)
{
	static const uint8_t zeros[16];
	struct uts_node root = { .depth = 0 };

	split(root.state, zeros, sizeof(zeros), tree->seed);
	return root;
}

struct uts_node uts_tree_child(const struct uts_node *node, uint32_t i)
{
	struct uts_node child = { .depth = node->depth + 1 };

	split(child.state, node->state, UTS_STATE_BYTES, i);
	return child;
}

/* Return the node's random number, uniform in [0, 1), from 31 bits of its
 * state. */
static double uniform(const struct uts_node *node)
{
	const uint8_t *b = node->state + UTS_STATE_BYTES - 4;
	uint32_t bits = (uint32_t)(b[0] & 0x7f) << 24 | (uint32_t)b[1] << 16 |
			(uint32_t)b[2] << 8 | b[3];

	return bits / 2147483648.0;
}

/* Draw a number of children from the geometric distribution with mean
 * @branching. */
static uint32_t geometric(const struct uts_tree *tree,
			  const struct uts_node *node)
{
	double success, count;

	if (node->depth >= tree->depth_limit)
		return 0;
	success = 1.0 / (1.0 + tree->branching);
	count = floor(log(1.0 - uniform(node)) / log(1.0 - success));
	return count < MAX_CHILDREN ? (uint32_t)count : MAX_CHILDREN;
}

uint32_t uts_tree_children(const struct uts_tree *tree,
			   const struct uts_node *node)
{
	if (tree->shape == UTS_GEOMETRIC)
		return geometric(tree, node);
	if (node->depth == 0)
		return tree->branching;
	return uniform(node) < tree->nonleaf_probability
		       ? tree->nonleaf_children
		       : 0;
}
