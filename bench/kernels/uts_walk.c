/* SPDX-License-Identifier: MIT */
/* uts_walk.c - see uts_walk.h: a depth-first walk with a stack that grows */
#include "bench/kernels/uts_walk.h"

#include <errno.h>
#include <stdlib.h>

#define FIRST_CAPACITY 64

int uts_walk_init(struct uts_walk *walk, const struct uts_tree *tree)
{
	*walk = (struct uts_walk){ .tree = tree, .capacity = FIRST_CAPACITY };
	walk->levels = malloc(FIRST_CAPACITY * sizeof(*walk->levels));
	return walk->levels == NULL ? -ENOMEM : 0;
}

void uts_walk_free(struct uts_walk *walk)
{
	free(walk->levels);
	walk->levels = NULL;
}

static int grow(struct uts_walk *walk)
{
	struct uts_level *levels;

	levels =
		reallocarray(walk->levels, walk->capacity, 2 * sizeof(*levels));
	if (levels == NULL)
		return -ENOMEM;
	walk->levels = levels;
	walk->capacity *= 2;
	return 0;
}

static int push(struct uts_walk *walk, const struct uts_level *level)
{
	if (walk->height == walk->capacity && grow(walk) != 0)
		return -ENOMEM;
	walk->levels[walk->height++] = *level;
	return 0;
}

int uts_walk_enter(struct uts_walk *walk, const struct uts_node *node)
{
	struct uts_level level = {
		.node = *node,
		.children = uts_tree_children(walk->tree, node),
	};

	uts_counts_node(&walk->counts, node, level.children);
	return level.children > 0 ? push(walk, &level) : 0;
}

int uts_walk_enter_part(struct uts_walk *walk, const struct uts_part *part)
{
	struct uts_level level = {
		.node = part->node,
		.next_child = part->first,
		.children = part->end,
	};

	return part->first < part->end ? push(walk, &level) : 0;
}

bool uts_walk_split(struct uts_walk *walk, struct uts_part *part)
{
	for (size_t i = 0; i < walk->height; i++) {
		struct uts_level *level = &walk->levels[i];
		uint32_t left = level->children - level->next_child;

		if (left < 2)
			continue;
		level->children -= left / 2;
		*part = (struct uts_part){
			.node = level->node,
			.first = level->children,
			.end = level->children + left / 2,
		};
		return true;
	}
	return false;
}

bool uts_walk_next(struct uts_walk *walk, struct uts_node *child)
{
	struct uts_level *top;

	if (walk->height == 0)
		return false;
	top = &walk->levels[walk->height - 1];
	*child = uts_tree_child(&top->node, top->next_child);
	/* Leave the level before the last child is entered, so that no level
	 * on the stack is without children left. */
	if (++top->next_child == top->children)
		walk->height--;
	return true;
}

void uts_counts_node(struct uts_counts *counts, const struct uts_node *node,
		     uint32_t children)
{
	counts->nodes++;
	if (children == 0)
		counts->leaves++;
	if (node->depth > counts->depth)
		counts->depth = node->depth;
}

void uts_counts_add(struct uts_counts *sum, const struct uts_counts *counts)
{
	sum->nodes += counts->nodes;
	sum->leaves += counts->leaves;
	if (counts->depth > sum->depth)
		sum->depth = counts->depth;
}

void uts_count_subtree(const struct uts_tree *tree, const struct uts_node *node,
		       struct uts_counts *counts)
{
	uint32_t children = uts_tree_children(tree, node);

	uts_counts_node(counts, node, children);
	for (uint32_t i = 0; i < children; i++) {
		struct uts_node child = uts_tree_child(node, i);

		uts_count_subtree(tree, &child, counts);
	}
}
