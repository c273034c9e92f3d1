/* SPDX-License-Identifier: MIT */
/**
 * poller.h - tasks and threads that poll them, for a model without workers
 *
 * Include it before the files of core/, and after a definition of TASKS. Instead of queues,
 * each task has a word that tells whether it is queued; all ways to queue a task call
 * enqueue(). The test defines poll_task(), like that of core/loop/loop.c, with run_poll().
 */
#ifndef SKUA_TESTS_MODEL_POLLER_H
#define SKUA_TESTS_MODEL_POLLER_H

#include "core/loop/current.h"
#include "core/loop/schedule.h"
#include "core/loop/worker.h"
#include "tests/model/lender.h"

/* A state that no task ever has, so that an access after the end is noticed. */
#define POISON (UINT64_C(0xdead) << 32)

static struct skua_task tasks[TASKS];
static atomic_u32 queued[TASKS];
static bool over[TASKS]; /* the task's pollers may end */
/* Of the calling poller; one for each thread (explore_thread_local()). */
static struct group_leaves *leaves;

/* Define setup_NAME(): like another setup, with a mistake that the explorer must find */
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
	/* Release: publishes the task, as a queue does. */
	explore_assert(atomic_exchange_acq_rel(&queued[number(task)], 1) == 0);
}

/* Call the poll function with a spare reference. @spare receives whether the
 * reference is still there. */
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

/* Count the members of a group that the calling poller has ended. */
static void count_leaves(void)
{
	if (leaves && leaves->group)
		schedule_end(group_leaves_count(leaves), NULL);
}

/* As poll_task() in core/loop/loop.c does before a poll. */
static void count_other_leaves(struct skua_task *task)
{
	if (leaves->group && leaves->group != group_of_member(task))
		count_leaves();
}

/* Poll the tasks from @first to @last, as a worker does that has only these. */
static void poll_until_all_over(unsigned first, unsigned last)
{
	struct group_leaves here = { NULL, 0 };
	unsigned i = first;

	leaves = &here;
	while (i <= last) {
		if (over[i]) {
			i++;
			continue;
		}
		/* Acquire: as a queue does. Exchange only if the task is
		 * queued, so that pollers do not keep each other busy. */
		if (atomic_load_relaxed(&queued[i]) &&
		    atomic_exchange_acq_rel(&queued[i], 0)) {
			poll_task(&tasks[i]);
			continue;
		}
		count_leaves(); /* as end_tick() */
		cpu_relax();
	}
	count_leaves();
	leaves = NULL;
}

static void poll_until_over(unsigned i)
{
	poll_until_all_over(i, i);
}

/* Called in setup. */
static void pollers_reset(void)
{
	explore_thread_local((void **)&leaves);
	for (unsigned i = 0; i < TASKS; i++) {
		atomic_init(&queued[i], 0);
		over[i] = false;
	}
}

#define pool_inject(pool, group, lane, task) \
	((void)(pool), (void)(group), enqueue(task))
#define pool_inject_home(pool, task) ((void)(pool), enqueue(task))
#define current_polls(task)          ((void)(task), true)
#define current_polls_next(task)     ((void)(task), false)

#endif
