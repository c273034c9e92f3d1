/* SPDX-License-Identifier: MIT */
/**
 * lender.h - current_lend() for a model that polls tasks without a worker
 *
 * Include it before the files of core/. The variable lender is one for each thread of the
 * model (explore_thread_local()).
 */
#ifndef SKUA_TESTS_MODEL_LENDER_H
#define SKUA_TESTS_MODEL_LENDER_H

#include "core/task/task.h"

/* A poll, on the stack of its thread. */
struct lender {
	const struct skua_task *task;
	bool spare; /* its spare reference is still there */
};

static struct lender *lender;

static inline bool lend(const struct skua_task *task)
{
	bool lent = lender && lender->task == task && lender->spare;

	if (lent)
		lender->spare = false;
	return lent;
}

#define current_lend(task) lend(task)

#endif
