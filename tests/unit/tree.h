/* SPDX-License-Identifier: MIT */
/* tree.h - tasks that spawn tasks, in the form of a binary tree */
#ifndef SKUA_TESTS_UNIT_TREE_H
#define SKUA_TESTS_UNIT_TREE_H

#include "tests/unit/support.h"

/* Doubles: each of a generation spawns the next, down to the leaves. */
struct tree {
	struct skua_task task; /* first: a task is its tree */
	struct tree *nodes;
	unsigned index;
	unsigned count;
	unsigned value;
};

static inline enum skua_poll tree_poll(struct skua_task *self)
{
	struct tree *it = (struct tree *)self;

	for (unsigned child = 2 * it->index + 1; child <= 2 * it->index + 2;
	     child++) {
		if (child < it->count)
			skua_task_spawn(runtime_of_task(self),
					&it->nodes[child].task);
	}
	it->value = it->index + 1;
	return SKUA_DONE;
}

static inline struct tree *tree_new(unsigned count)
{
	struct tree *nodes = calloc(count, sizeof(*nodes));

	assert_non_null(nodes);
	for (unsigned n = 0; n < count; n++)
		nodes[n] = (struct tree){ .task = SKUA_TASK_INIT(tree_poll),
					  .nodes = nodes,
					  .index = n,
					  .count = count };
	return nodes;
}

static inline void tree_free(struct tree *nodes)
{
	for (unsigned n = 0; n < nodes->count; n++)
		assert_int_equal(nodes[n].value, n + 1);
	free(nodes);
}

#endif
