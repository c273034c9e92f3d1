/* SPDX-License-Identifier: MIT */
/**
 * poller.h - tasks, and threads that poll them, for a model without workers
 *
 * To be included before the files of core/ and after a definition of TASKS. In place
 * of the queues each task has a word that says that it is queued: all ways to queue
 * a task lead to enqueue(). The test defines poll_task(), as that of
 * core/loop/loop.c, with run_poll().
 */
#ifndef SKUA_TESTS_MODEL_POLLER_H
#define SKUA_TESTS_MODEL_POLLER_H

#include "core/loop/current.h"
#include "core/loop/schedule.h"
#include "core/loop/worker.h"
#include "tests/model/lender.h"

/* No state that a task ever has, so that a later access is noticed. */
#define POISON (UINT64_C(0xdead) << 32)

static struct skua_task tasks[TASKS];
static atomic_u32 queued[TASKS];
static bool over[TASKS]; /* may its pollers end? */

/* setup_NAME() - as another setup, with a mistake that the explorer has to find */
#define VARIANT(NAME, SETUP, DEFECT)   \
	static void setup_##NAME(void) \
	{                              \
		setup_##SETUP();       \
		defect = (DEFECT);     \
	}

static void poll_task(struct skua_task *task);

static unsigned number(const struct skua_task *task)
{
	return (unsigned)(task - tasks);
}

static void enqueue(struct skua_task *task)
{
	/* Release: as a queue does. */
	explore_assert(atomic_exchange_acq_rel(&queued[number(task)], 1) == 0);
}

/* The poll function, with a spare reference; is it still there? */
static enum skua_poll run_poll(struct skua_task *task, bool *spare)
{
	struct lender here = { .task = task, .spare = true };
	enum skua_poll result;

	lender = &here;
	result = task->poll(task);
	lender = NULL;
	*spare = here.spare;
	return result;
}

static void poll_until_over(unsigned i)
{
	while (!over[i]) {
		/* Acquire: as a queue does. The exchange only once there is
		 * something, so that pollers do not keep each other busy. */
		if (atomic_load_relaxed(&queued[i]) &&
		    atomic_exchange_acq_rel(&queued[i], 0))
			poll_task(&tasks[i]);
		else
			cpu_relax();
	}
}

/* In setup. */
static void pollers_reset(void)
{
	for (unsigned i = 0; i < TASKS; i++) {
		atomic_init(&queued[i], 0);
		over[i] = false;
	}
}

#define pool_inject(pool, task)        ((void)(pool), enqueue(task))
#define pool_inject_urgent(pool, task) ((void)(pool), enqueue(task))
#define pool_inject_home(pool, task)   ((void)(pool), enqueue(task))
#define current_polls(task)            ((void)(task), true)
#define current_polls_next(task)       ((void)(task), false)

#endif
