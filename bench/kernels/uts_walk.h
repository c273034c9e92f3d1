/* SPDX-License-Identifier: MIT */
/**
 * uts_walk.h - visit a tree depth-first, and count its nodes
 *
 *	uts_walk_enter(&walk, &root);
 *	while (uts_walk_next(&walk, &child))
 *		uts_walk_enter(&walk, &child);
 *
 * A child that the caller does not enter is not counted, nor are its descendants. The
 * stack is explicit, because trees may be thousands of nodes deep.
 */
#ifndef SKUA_BENCH_KERNELS_UTS_WALK_H
#define SKUA_BENCH_KERNELS_UTS_WALK_H

#include <stdbool.h>
#include <stddef.h>

#include "bench/kernels/uts_tree.h"

/* struct uts_counts - counts of the nodes entered so far */
struct uts_counts {
	uint64_t nodes;
	uint64_t leaves;
	uint32_t depth; /* depth of the deepest node */
};

/* A level of the stack: a node whose children are being visited. */
struct uts_level {
	struct uts_node node;
	uint32_t next_child;
	uint32_t children;
};

/* A part of a search: the children @first to @end - 1 of a node, with all their
 * descendants. */
struct uts_part {
	struct uts_node node;
	uint32_t first, end;
};

struct uts_walk {
	const struct uts_tree *tree;
	struct uts_counts counts;
	struct uts_level *levels; /* the stack */
	size_t height;
	size_t capacity;
};

/* uts_walk_init - allocate the stack. Return: 0 or -ENOMEM */
int uts_walk_init(struct uts_walk *walk, const struct uts_tree *tree);

/* uts_walk_free - free the stack of an initialised walk, or of one that is all zero */
void uts_walk_free(struct uts_walk *walk);

/* uts_walk_enter - count @node and visit its children next. Return: 0 or -ENOMEM */
int uts_walk_enter(struct uts_walk *walk, const struct uts_node *node);

/* uts_walk_next - get the next child. Return: false if nothing is left to visit */
bool uts_walk_next(struct uts_walk *walk, struct uts_node *child);

/* uts_walk_enter_part - visit the children of a part next; its node is not counted.
 * Return: 0 or -ENOMEM */
int uts_walk_enter_part(struct uts_walk *walk, const struct uts_part *part);

/* uts_walk_split - give half of the children that are left of the oldest node that has two
 * or more to @part. Return: false if there is no such node */
bool uts_walk_split(struct uts_walk *walk, struct uts_part *part);

/* uts_counts_node - add a node with @children children to @counts */
void uts_counts_node(struct uts_counts *counts, const struct uts_node *node,
		     uint32_t children);

/* uts_count_subtree - count @node and all its descendants, by recursion */
void uts_count_subtree(const struct uts_tree *tree, const struct uts_node *node,
		       struct uts_counts *counts);

/* uts_counts_add - add the counts of another thread */
void uts_counts_add(struct uts_counts *sum, const struct uts_counts *counts);

#endif
