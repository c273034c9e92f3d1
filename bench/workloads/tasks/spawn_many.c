/* SPDX-License-Identifier: MIT */
/*
 * spawn_many.c - spawn many empty tasks and wait for all of them
 *
 *   spawn_many_local         an external thread spawns, and waits for the last task
 *   spawn_many_worker        a task spawns, and joins each
 *   spawn_many_remote_idle   an external thread spawns, and joins each
 *   spawn_many_remote_busy1  the same, while tasks that keep yielding occupy the workers
 *   spawn_many_remote_busy2  the same, while chains of tasks occupy the workers
 *
 * The names and the loads come from Tokio's benchmark rt_multi_threaded. "local" is its
 * word, although an external thread spawns the tasks.
 */
#include <errno.h>
#include <string.h>

#include "bpf/cli/args.h"
#include "bench/workloads/batch.h"
#include "bench/workloads/empty_tasks.h"
#include "bench/workloads/background_load.h"
#include "bench/workloads/workloads.h"

/* How to wait for all tasks of a batch. */
enum await {
	AWAIT_JOIN,  /* join each, in the order of their spawns */
	AWAIT_GROUP, /* wait for their group */
	AWAIT_DRAIN, /* wait until the runtime has no task */
	AWAITS
};

static const char *const await_names[AWAITS] = {
	[AWAIT_JOIN] = "join",
	[AWAIT_GROUP] = "group",
	[AWAIT_DRAIN] = "drain",
};

struct spawn_options {
	struct batch_options batch; /* first: BATCH_OPTIONS sets it */
	enum await await;
	enum await await_last; /* the last value that --await allows */
};

struct spawn_many {
	struct skua_runtime *rt;
	struct spawn_options options;
	struct empty_tasks tasks;
	struct skua_group group;
	struct background_load *load; /* NULL: none */
	/* Tasks of this batch, by the task of spawn_many_worker. */
	uint64_t joined;
};

static int spawn(struct spawn_many *s, struct skua_task *task)
{
	skua_task_init(task, empty_task_poll);
	return s->options.await == AWAIT_GROUP
		       ? skua_group_spawn(&s->group, task)
		       : skua_task_spawn(s->rt, task);
}

static int spawn_all(struct spawn_many *s)
{
	int err = 0;

	for (uint64_t i = 0; err == 0 && i < s->tasks.count; i++)
		err = spawn(s, &s->tasks.task[i].task);
	return err;
}

/* ---- from outside -------------------------------------------------------- */

static int join_all(struct spawn_many *s)
{
	int err = 0;

	for (uint64_t i = 0; err == 0 && i < s->tasks.count; i++)
		err = skua_task_join(&s->tasks.task[i].task);
	return err;
}

static int wait_for_all(struct spawn_many *s)
{
	switch (s->options.await) {
	case AWAIT_GROUP:
		return skua_group_wait(&s->group);
	case AWAIT_DRAIN:
		return skua_runtime_drain(s->rt);
	default:
		return join_all(s);
	}
}

static int round_outside(struct workload_run *run)
{
	struct spawn_many *s = run->state;
	int err = 0;

	for (uint64_t i = 0; err == 0 && i < s->options.batch.repeat; i++) {
		err = spawn_all(s);
		if (err == 0)
			err = wait_for_all(s);
	}
	return err;
}

/* ---- from inside a task -------------------------------------------------- */

static int spawn_batch(void *state)
{
	struct spawn_many *s = state;

	s->joined = 0;
	return spawn_all(s);
}

static int join_batch(struct skua_task *self, void *state)
{
	struct spawn_many *s = state;
	int err = 0;

	if (s->options.await == AWAIT_GROUP)
		return skua_group_wait_poll(self, &s->group);
	while (err == 0 && s->joined < s->tasks.count) {
		err = skua_task_join_poll(self, &s->tasks.task[s->joined].task);
		s->joined += err == 0;
	}
	return err;
}

static int round_inside(struct workload_run *run)
{
	struct spawn_many *s = run->state;
	struct batch_driver driver = {
		.spawn = spawn_batch,
		.join = join_batch,
		.state = s,
	};

	return batch_drive(s->rt, &driver, s->options.batch.repeat);
}

/* ---- for all variants ---------------------------------------------------- */

static void spawn_teardown(struct workload_run *run)
{
	struct spawn_many *s = run->state;

	background_load_stop(s->load);
	empty_tasks_free(&s->tasks);
}

static int setup_idle(struct workload_run *run)
{
	const struct spawn_options *options = run->options;
	struct spawn_many *s = run->state;

	run->ops = batch_ops(&options->batch);
	s->rt = run->rt;
	s->options = *options;
	skua_group_init(&s->group, run->rt);
	return empty_tasks_init(&s->tasks, options->batch.tasks);
}

static int setup_busy(struct workload_run *run,
		      int (*start)(struct background_load **,
				   struct skua_runtime *))
{
	int err = setup_idle(run);
	struct spawn_many *s = run->state;

	return err == 0 ? start(&s->load, run->rt) : err;
}

static int setup_busy1(struct workload_run *run)
{
	return setup_busy(run, background_load_start_yielding);
}

static int setup_busy2(struct workload_run *run)
{
	return setup_busy(run, background_load_start_chains);
}

static void spawn_prepare(struct workload_run *run)
{
	struct spawn_many *s = run->state;

	empty_tasks_reset(&s->tasks);
}

static bool spawn_check(struct workload_run *run)
{
	const struct spawn_many *s = run->state;

	return empty_tasks_check(&s->tasks, s->options.batch.repeat,
				 "spawn_many");
}

/* ---- options ------------------------------------------------------------- */

static error_t parse_await(void *input, char *text)
{
	struct spawn_options *options = input;

	for (enum await a = 0; a <= options->await_last; a++) {
		if (strcmp(text, await_names[a]) != 0)
			continue;
		options->await = a;
		return 0;
	}
	return args_refuse("--await is '%s'; allowed: join, group%s", text,
			   options->await_last == AWAIT_DRAIN ? ", drain" : "");
}

static json_t *spawn_params(const void *arg)
{
	const struct spawn_options *options = arg;

	return json_pack("{s:I, s:I, s:s}", "tasks",
			 (json_int_t)options->batch.tasks, "repeat",
			 (json_int_t)options->batch.repeat, "await",
			 await_names[options->await]);
}

/* ---- the workloads ------------------------------------------------------- */

/* Define a workload; the last arguments are the members of its struct
 * spawn_options. */
#define SPAWN_MANY(name_, description_, setup_, round_, ...)                                                                          \
	static const struct spawn_options name_##_defaults = { __VA_ARGS__ };                                                         \
	WORKLOAD(                                                                                                                     \
		name_, description_,                                                                                                  \
		ARGS_OPTIONS(                                                                                                         \
			ARGS_PARSED(                                                                                                  \
				"await", parse_await, "HOW",                                                                          \
				"How to wait for all tasks: join (each task), group, or, if nothing else runs, drain (the runtime)"), \
			BATCH_OPTIONS),                                                                                               \
		.options_size = sizeof(struct spawn_options),                                                                         \
		.defaults = &name_##_defaults, .report = &name_##_defaults,                                                           \
		.report_count = 1, .params = spawn_params,                                                                            \
		.state_bytes = sizeof(struct spawn_many), .setup = setup_,                                                            \
		.prepare = spawn_prepare, .round = round_,                                                                            \
		.check = spawn_check, .teardown = spawn_teardown)

SPAWN_MANY(spawn_many_local,
	   "Spawn 10,000 empty tasks from outside, wait for all", setup_idle,
	   round_outside, .batch = { .tasks = 10000, .repeat = 20 },
	   .await = AWAIT_DRAIN, .await_last = AWAIT_DRAIN);

SPAWN_MANY(spawn_many_worker,
	   "Spawn 10,000 empty tasks from inside a task, join all", setup_idle,
	   round_inside, .batch = { .tasks = 10000, .repeat = 20 },
	   .await = AWAIT_JOIN, .await_last = AWAIT_GROUP);

SPAWN_MANY(spawn_many_remote_idle,
	   "Spawn 10,000 empty tasks from outside, join each", setup_idle,
	   round_outside, .batch = { .tasks = 10000, .repeat = 20 },
	   .await = AWAIT_JOIN, .await_last = AWAIT_DRAIN);

SPAWN_MANY(spawn_many_remote_busy1,
	   "Like spawn_many_remote_idle, beside tasks that yield", setup_busy1,
	   round_outside, .batch = { .tasks = 10000, .repeat = 5 },
	   .await = AWAIT_JOIN, .await_last = AWAIT_GROUP);

SPAWN_MANY(spawn_many_remote_busy2,
	   "Like spawn_many_remote_idle, beside chains of tasks", setup_busy2,
	   round_outside, .batch = { .tasks = 1000, .repeat = 5 },
	   .await = AWAIT_JOIN, .await_last = AWAIT_GROUP);
