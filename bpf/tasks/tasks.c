/* SPDX-License-Identifier: MIT */
/* tasks.c - skua tasks: show unfinished tasks and what they wait for */
#include "bpf/tasks/tasks.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/cli/args.h"
#include "bpf/cli/sorted.h"
#include "bpf/target/pick_process.h"
#include "bpf/verbs.h"
#include "bpf/waits/waits.h"

#define MAX_ATTEMPTS  20u
#define SPAWNED_SHIFT 16
#define SPAWNED_LIMIT (UINT64_C(1) << 48)

struct options {
	uint64_t pid;
	bool json, each;
};

static const struct args_verb verb = {
	.doc = "Show the tasks of a process that are not done, by type and by "
	       "what they wait for. Types and waits need SKUA_TRACK_TASKS=1 in "
	       "the environment of the process. The process is not stopped",
	ARGS_OPTIONS(
		{ .name = "each",
		  .key = 'e',
		  .doc = "List each task, with where it was spawned",
		  .value = ARGS_FLAG,
		  .field = offsetof(struct options, each) },
		ARGS_JSON(struct options, "Print an object for each runtime"),
		ARGS_PID(struct options, PICK_PROCESS_HELP)),
};

/* ---- reading --------------------------------------------------------------- */

struct reader {
	struct target *target;
	int code; /* the first failure; then nothing more is read */
};

/* Read the word at @address; 0 if @address is 0 or a read failed, now or
 * before. */
static uint64_t word(struct reader *reader, uint64_t address)
{
	uint64_t value = 0;

	if (address && !reader->code)
		reader->code = target_read(reader->target, address, &value,
					   sizeof(value));
	return value;
}

/* Compute the live and the queued tasks. Finished tasks are read before spawned
 * ones: each finished task was spawned before, so the difference is never
 * negative. */
static void read_counts(struct reader *reader,
			const struct target_runtime *runtime, struct tasks *out)
{
	const struct area_runtime *area = &runtime->area;
	/* Whether the workers have the words `finished`, `inbox_taken` and
	 * `inbox_pushed`. They came in the same version as `tasks` of the
	 * runtime. The size of a worker does not show it, because the words lie
	 * in former padding. */
	const bool known = area->bytes >= offsetof(struct area_runtime, tasks) +
						  sizeof(area->tasks);
	uint64_t finished = word(reader, area->refused), spawned;

	for (uint32_t i = 0; known && i < area->worker_count; i++) {
		uint64_t at = runtime->workers[i];
		uint64_t pushed, taken;

		finished += word(reader,
				 word(reader, at + offsetof(struct area_worker,
							    finished)));
		taken = word(reader,
			     word(reader, at + offsetof(struct area_worker,
							inbox_taken)));
		pushed = word(reader,
			      word(reader, at + offsetof(struct area_worker,
							 inbox_pushed)));
		if (pushed - taken <= INT32_MAX)
			out->queued += pushed - taken;
	}
	spawned = 0;
	for (uint32_t g = 0; g < target_groups(area); g++)
		spawned +=
			word(reader,
			     area->outside + (uint64_t)g * area->group_bytes) >>
			SPAWNED_SHIFT;
	for (uint32_t i = 0; i < area->worker_count; i++)
		spawned +=
			word(reader, runtime->workers[i] +
					     offsetof(struct area_worker,
						      counters.tasks_spawned));
	out->live = known ? (spawned - finished) % SPAWNED_LIMIT : 0;
}

static bool plausible(const struct area_task *task)
{
	return task->task && task->state > AREA_TASK_NONE &&
	       task->state <= AREA_TASK_DONE && task->wait <= AREA_WAIT_TIMER;
}

/* Whether the task's memory no longer holds a finished task with references.
 * This checks the state, because the memory may still have the poll function of
 * a task that is gone. */
static bool is_over(struct reader *reader, const struct area_task *task,
		    const struct target_runtime *runtime)
{
	uint64_t state = 0;

	return runtime->task_state != 0 &&
	       target_read(reader->target, task->task + runtime->task_state,
			   &state, sizeof(state)) == 0 &&
	       (!(state & AREA_STATE_DONE) || state < AREA_STATE_REFERENCE);
}

/* Whether the task's memory has the function of the slot at this offset. */
static bool holds(struct reader *reader, const struct area_task *task,
		  uint64_t offset)
{
	uint64_t function = 0;

	return target_read(reader->target, task->task + offset, &function,
			   sizeof(function)) == 0 &&
	       function == task->poll;
}

/* Whether the task of a slot in state DONE is gone meanwhile. The slot itself
 * does not show that, so the task's memory is checked. */
static bool ended(struct reader *reader, const struct area_task *task,
		  const struct target_runtime *runtime)
{
	return task->state == AREA_TASK_DONE &&
	       ((!holds(reader, task, runtime->task_poll) &&
		 !holds(reader, task, runtime->fiber_fn)) ||
		is_over(reader, task, runtime));
}

static void read_table(struct reader *reader,
		       const struct target_runtime *runtime, struct tasks *out)
{
	uint64_t slots = runtime->area.task_slots;
	size_t bytes;

	out->tracked = runtime->area.tasks != 0;
	if (reader->code || !out->tracked)
		return;
	if (slots > TASKS_MAX)
		slots = TASKS_MAX;
	bytes = (slots + 1) * sizeof(*out->list);
	out->list = malloc(bytes);
	if (!out->list) {
		reader->code = -ENOMEM;
		return;
	}
	reader->code = target_read(reader->target, runtime->area.tasks,
				   out->list, slots * sizeof(*out->list));
	for (uint64_t i = 0; !reader->code && i < slots; i++)
		if (plausible(&out->list[i]) &&
		    !ended(reader, &out->list[i], runtime))
			out->list[out->count++] = out->list[i];
	out->left_out =
		word(reader, runtime->address + offsetof(struct area_runtime,
							 tasks_left_out));
}

static int compare_addresses(const void *a, const void *b)
{
	return compare_numbers(((const struct area_task *)a)->task,
			       ((const struct area_task *)b)->task);
}

/* Does the task wait for something that the table does not tell? */
static bool waits_unknown(const struct area_task *task)
{
	return task->state == AREA_TASK_WAITING &&
	       (task->wait == AREA_WAIT_WAKER || task->wait == AREA_WAIT_NONE);
}

/* Write the wait of a task into its entry, as the table does for waits that it knows. */
static void note_wait(struct area_task *task, const struct target_wait *wait)
{
	task->what = wait->armed.object;
	switch (wait->verb.kind) {
	case AREA_WAITS_NOTHING:
		task->what = 0;
		break;
	case AREA_WAITS_JOIN:
		task->wait = AREA_WAIT_JOIN;
		break;
	case AREA_WAITS_GROUP:
		task->wait = AREA_WAIT_GROUP;
		break;
	case AREA_WAITS_TIME:
		task->wait = AREA_WAIT_TIMER;
		task->what = wait->armed.amount;
		break;
	default:
		task->wait = TASKS_WAIT_KIND + wait->verb.kind;
		break;
	}
}

/* Find the objects of the library for which tasks wait: the table knows only that these tasks
 * have a waker. */
static int add_waits(struct target *target, struct tasks *tasks)
{
	struct waits waits;
	unsigned unknown = 0;
	int code;

	for (unsigned i = 0; i < tasks->count; i++)
		unknown += waits_unknown(&tasks->list[i]);
	if (unknown == 0)
		return 0;
	qsort(tasks->list, tasks->count, sizeof(*tasks->list),
	      compare_addresses);
	code = waits_read(target, &waits);
	for (uint32_t i = 0; code == 0 && i < waits.waiter_count; i++) {
		const struct waits_waiter *waiter = &waits.waiters[i];
		size_t n = SORTED_UP_TO(tasks->list, tasks->count, task,
					waiter->party.task);
		struct area_task *task = n > 0 ? &tasks->list[n - 1] : NULL;

		if (task && task->task == waiter->party.task && !waiter->done &&
		    waits_unknown(task))
			note_wait(task, &waiter->wait);
	}
	waits_free(&waits);
	return code;
}

static void free_tasks(struct tasks *tasks)
{
	free(tasks->list);
	free(tasks->labels);
}

static int read_tasks(struct target *target,
		      const struct target_runtime *runtime, struct tasks *out)
{
	struct target_snapshot snapshot = { .workers = NULL };
	struct reader reader = { .target = target };

	*out = (struct tasks){ .runtime = runtime->address };
	/* Also checks that the runtime still exists. */
	reader.code = target_take_snapshot(target, runtime, &snapshot);
	out->at_ns = snapshot.at_ns;
	out->queued = snapshot.queue_depth + snapshot.injection_depth +
		      snapshot.urgent_depth;
	if (!reader.code)
		read_counts(&reader, runtime, out);
	read_table(&reader, runtime, out);
	if (!reader.code)
		reader.code = tasks_read_labels(target, runtime, out);
	if (!reader.code)
		reader.code = add_waits(target, out);
	target_free_snapshot(&snapshot);
	if (reader.code)
		free_tasks(out);
	return reader.code;
}

/* ---- the verb ------------------------------------------------------------------ */

static int show_runtime(struct target *target, unsigned i,
			const struct options *options)
{
	struct tasks tasks;
	int code = read_tasks(target, target_runtime(target, i), &tasks);

	if (code)
		return code;
	if (!options->json)
		tasks_text(target, &tasks, options->each);
	else if (!tasks_json(target, &tasks))
		code = -ENOMEM;
	free_tasks(&tasks);
	return code;
}

static int show(struct target *target, const struct options *options)
{
	int code = 0;

	if (target_runtimes(target) == 0) {
		pick_process_remark(target, "tasks");
		return EXIT_FAILED;
	}
	for (unsigned i = 0; !code && i < target_runtimes(target); i++) {
		code = show_runtime(target, i, options);
		for (unsigned k = 0; code == -EAGAIN && k < MAX_ATTEMPTS; k++) {
			code = target_refresh(target);
			if (!code && i < target_runtimes(target))
				code = show_runtime(target, i, options);
		}
	}
	if (code)
		fprintf(stderr, ARGS_PROGRAM " tasks: %s\n",
			target_reason(target));
	return code ? EXIT_FAILED : EXIT_OK;
}

int verb_tasks(int argc, char **argv)
{
	struct options options = { .json = false };
	struct target *target;
	int code;

	if (args_parse_verb(&verb, "tasks", argc, argv, &options) != 0)
		return EXIT_USAGE;
	code = pick_process(&target, "tasks", options.pid);
	if (code == EXIT_OK)
		code = show(target, &options);
	target_close(target);
	return code;
}
