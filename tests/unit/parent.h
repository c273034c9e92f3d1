/* SPDX-License-Identifier: MIT */
/* parent.h - a task that spawns others, and waits for none of them */
#ifndef SKUA_TESTS_UNIT_PARENT_H
#define SKUA_TESTS_UNIT_PARENT_H

#include "tests/unit/support.h"

struct parent {
	struct skua_task task; /* first: a task is its parent */
	struct skua_runtime *rt;
	struct skua_task *children;
	unsigned count;
};

static inline enum skua_poll spawn_children(struct skua_task *self)
{
	struct parent *it = (struct parent *)self;

	for (unsigned i = 0; i < it->count; i++)
		skua_task_spawn(it->rt, &it->children[i]);
	return SKUA_DONE;
}

/* run_parent - make tasks that call @fn, spawn them in one poll, and wait */
static inline void run_parent(struct skua_runtime *rt,
			      struct skua_task *children, unsigned count,
			      skua_task_fn fn)
{
	struct parent parent = { .task = SKUA_TASK_INIT(spawn_children),
				 .rt = rt,
				 .children = children,
				 .count = count };

	for (unsigned i = 0; i < count; i++)
		skua_task_init(&children[i], fn);
	assert_int_equal(skua_runtime_block_on(rt, &parent.task), 0);
	assert_int_equal(skua_runtime_drain(rt), 0);
}

#endif
