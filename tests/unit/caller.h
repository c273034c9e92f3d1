/* SPDX-License-Identifier: MIT */
/* caller.h - call a function of the runtime from inside a poll */
#ifndef SKUA_TESTS_UNIT_CALLER_H
#define SKUA_TESTS_UNIT_CALLER_H

#include "tests/unit/support.h"

/* Calls @act with the runtime, from inside a poll. */
struct caller {
	struct skua_task task; /* first: a task is its caller */
	int (*act)(struct skua_runtime *rt);
	struct skua_runtime *rt;
	int result;
};

static inline enum skua_poll call_poll(struct skua_task *self)
{
	struct caller *caller = (struct caller *)self;

	caller->result = caller->act(caller->rt);
	return SKUA_DONE;
}

/* What @act(@rt) returns in a task on @on. */
static inline int call_on_worker(struct skua_runtime *on,
				 struct skua_runtime *rt,
				 int (*act)(struct skua_runtime *rt))
{
	struct caller caller = { .task = SKUA_TASK_INIT(call_poll),
				 .act = act,
				 .rt = rt,
				 .result = 1 };

	assert_int_equal(skua_task_spawn(on, &caller.task), 0);
	assert_int_equal(skua_task_join(&caller.task), 0);
	return caller.result;
}

static inline int index_of_caller(struct skua_runtime *rt)
{
	return skua_worker_index(rt);
}

#endif
