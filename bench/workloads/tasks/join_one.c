/* SPDX-License-Identifier: MIT */
/*
 * join_one.c - a task spawns an empty task and waits for it, again and again
 *
 * The parent is polled twice for each operation, unless a thief runs the child before
 * the parent joins it.
 */
#include <errno.h>
#include <stdio.h>

#include "bench/workloads/batch.h"
#include "bench/workloads/empty_tasks.h"
#include "bench/workloads/workloads.h"

struct join_one {
	struct skua_task task; /* first: it is cast back */
	struct skua_runtime *rt;
	struct empty_tasks child; /* one */
	uint64_t children;        /* to spawn in a round */
	uint64_t joined;
	bool spawned; /* the child was spawned and is not yet joined */
	bool wrong;   /* a child had not run once when it was joined */
	int err;
};

/* Spawn the child, or join it if it was spawned. */
static int step(struct join_one *j)
{
	struct empty_task *child = j->child.task;
	int err;

	if (!j->spawned) {
		skua_task_init(&child->task, empty_task_poll);
		err = skua_task_spawn(j->rt, &child->task);
		j->spawned = err == 0;
		return err;
	}
	err = skua_task_join_poll(&j->task, &child->task);
	if (err != 0)
		return err;
	j->spawned = false;
	j->joined++;
	j->wrong |= child->runs != j->joined;
	return 0;
}

static enum skua_poll poll_parent(struct skua_task *self)
{
	struct join_one *j = (struct join_one *)self;
	int err = 0;

	while (err == 0 && j->joined < j->children)
		err = step(j);
	if (err == -EAGAIN)
		return SKUA_PENDING;
	j->err = err;
	return SKUA_DONE;
}

/* ---- the workload -------------------------------------------------------- */

static int join_one_setup(struct workload_run *run)
{
	struct join_one *j = run->state;

	run->ops = batch_ops(run->options);
	j->rt = run->rt;
	j->children = run->ops;
	return empty_tasks_init(&j->child, 1);
}

static void join_one_teardown(struct workload_run *run)
{
	struct join_one *j = run->state;

	empty_tasks_free(&j->child);
}

static void join_one_prepare(struct workload_run *run)
{
	struct join_one *j = run->state;

	empty_tasks_reset(&j->child);
	j->joined = 0;
	j->wrong = false;
}

static int join_one_round(struct workload_run *run)
{
	struct join_one *j = run->state;
	int err;

	skua_task_init(&j->task, poll_parent);
	err = skua_task_spawn(j->rt, &j->task);
	if (err == 0)
		err = skua_task_join(&j->task);
	return err == 0 ? j->err : err;
}

static bool join_one_check(struct workload_run *run)
{
	const struct join_one *j = run->state;

	if (j->wrong)
		fputs("join_one: a task had not run once when it was joined\n",
		      stderr);
	return !j->wrong &&
	       empty_tasks_check(&j->child, j->children, "join_one");
}

static const struct batch_options defaults = { .tasks = 1000, .repeat = 200 };

WORKLOAD(join_one, "A task spawns an empty task and waits for it",
	 ARGS_OPTIONS(BATCH_OPTIONS),
	 .options_size = sizeof(struct batch_options), .defaults = &defaults,
	 .report = &defaults, .report_count = 1, .params = batch_params,
	 WORKLOAD_CALLS(join_one, struct join_one));
