/* SPDX-License-Identifier: MIT */
/* tasks_print.c - print tasks as text and as JSON */
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/cli/json.h"
#include "bpf/cli/sorted.h"
#include "bpf/cli/table.h"
#include "bpf/target/wait_kind.h"
#include "bpf/tasks/tasks.h"

#define EACH_MAX 1000u

static const char *wait_for_kind(uint32_t kind)
{
	static char texts[AREA_WAITS_COUNT][48];

	snprintf(texts[kind], sizeof(texts[kind]), "waits for %s",
		 wait_kind_name(kind));
	return texts[kind];
}

const char *tasks_doing(const struct area_task *task)
{
	/* Indexed by enum area_wait. */
	static const char *const waits[] = { "waits",
					     "nothing wakes it",
					     "waits for a waker",
					     "waits for a join",
					     "waits for a group",
					     "waits for a timer" };

	switch (task->state) {
	case AREA_TASK_QUEUED:
		return task->home ? "queued for its worker" : "queued";
	case AREA_TASK_POLLED:
		return "in a poll";
	case AREA_TASK_DONE:
		return task->wait == AREA_WAIT_TIMER ? "done, timer left"
						     : "done, waker left";
	default:
		if (task->wait >= TASKS_WAIT_KIND)
			return wait_for_kind(
				(uint32_t)(task->wait - TASKS_WAIT_KIND));
		return waits[task->wait];
	}
}

/* Return what the task waits for: an address, or the time of a timer; 0 if it
 * waits for something that has neither. The table keeps the reason of a wait
 * that is over, so the state decides. */
static uint64_t waited_for(const struct area_task *task)
{
	bool waits = task->state == AREA_TASK_WAITING ||
		     (task->state == AREA_TASK_DONE &&
		      task->wait == AREA_WAIT_TIMER);

	return waits ? task->what : 0;
}

static uint64_t label_of(const struct area_task *task)
{
	return *tasks_label((struct area_task *)(uintptr_t)task);
}

/* Return the text of the label of a task; NULL: it has none. */
static const char *label_text(const struct tasks *tasks,
			      const struct area_task *task)
{
	uint64_t label = label_of(task);

	return label ? tasks->labels[label - 1] : NULL;
}

/* Write the type and the label of a task, as "serve (keys)", to @text. */
#define NAME_TEXT (2 * TARGET_NAME + 4)
static void name_task(struct target *target, const struct tasks *tasks,
		      const struct area_task *task, char *text)
{
	const char *label = label_text(tasks, task);
	char name[TARGET_NAME];

	target_name(target, task->type, task->poll, name);
	snprintf(text, NAME_TEXT, "%s%s%s%s", name, label ? " (" : "",
		 label ? label : "", label ? ")" : "");
}

/* Sort tasks of the same kind next to each other, those longest in their state
 * first. */
static int compare(const void *a, const void *b)
{
	const struct area_task *x = a, *y = b;
	int order = compare_numbers(label_of(x), label_of(y));

	order = order ? order : strcmp(tasks_doing(x), tasks_doing(y));

	if (x->type != y->type)
		return compare_numbers(x->type, y->type);
	if (x->poll != y->poll)
		return compare_numbers(x->poll, y->poll);
	return order ? order : compare_numbers(x->since_ns, y->since_ns);
}

static bool same_kind(const struct area_task *x, const struct area_task *y)
{
	return x->type == y->type && x->poll == y->poll &&
	       label_of(x) == label_of(y) &&
	       strcmp(tasks_doing(x), tasks_doing(y)) == 0;
}

static double seconds(const struct tasks *tasks, uint64_t since_ns)
{
	return tasks->at_ns > since_ns ? (double)(tasks->at_ns - since_ns) / 1e9
				       : 0;
}

static void print_kinds(struct target *target, const struct tasks *tasks)
{
	printf("%8s  %-28s %-30s %12s\n", "tasks", "type", "state",
	       "for up to s");
	for (unsigned i = 0, end; i < tasks->count; i = end) {
		const struct area_task *first = &tasks->list[i];
		char name[NAME_TEXT];

		for (end = i + 1;
		     end < tasks->count && same_kind(first, &tasks->list[end]);)
			end++;
		name_task(target, tasks, first, name);
		printf("%8u  %-28s %-30s %12.1f\n", end - i, name,
		       tasks_doing(first), seconds(tasks, first->since_ns));
	}
}

/* Write when a timer is due. */
static void say_due(const struct tasks *tasks, uint64_t due_ns, char *text,
		    size_t bytes)
{
	char time[32];

	if (due_ns == UINT64_MAX)
		snprintf(text, bytes, "never due");
	else if (due_ns <= tasks->at_ns)
		snprintf(text, bytes, "due");
	else
		snprintf(text, bytes, "in %s",
			 text_time(time, (double)(due_ns - tasks->at_ns)));
}

static void print_each(struct target *target, const struct tasks *tasks)
{
	printf("\n%-18s %-20s %-30s %8s  %-18s %s\n", "task", "type", "state",
	       "age s", "waits for", "spawned in");
	for (unsigned i = 0; i < tasks->count && i < EACH_MAX; i++) {
		const struct area_task *task = &tasks->list[i];
		char name[NAME_TEXT], place[TARGET_NAME], what[32] = "-";

		name_task(target, tasks, task, name);
		/* The caller is a return address; the call is before it. */
		target_symbol(target, task->caller - 1, place);
		if (waited_for(task) && task->wait == AREA_WAIT_TIMER)
			say_due(tasks, task->what, what, sizeof(what));
		else if (waited_for(task))
			snprintf(what, sizeof(what), "0x%" PRIx64, task->what);
		printf("0x%-16" PRIx64 " %-20s %-30s %8.1f  %-18s %s\n",
		       task->task, name, tasks_doing(task),
		       seconds(tasks, task->spawned_ns), what, place);
	}
	if (tasks->count > EACH_MAX)
		printf("and %u more\n", tasks->count - EACH_MAX);
}

void tasks_text(struct target *target, const struct tasks *tasks, bool each)
{
	if (target_runtimes(target) > 1)
		printf("runtime 0x%" PRIx64 " of %u: ", tasks->runtime,
		       target_runtimes(target));
	printf("%" PRIu64 " task%s spawned and not done, %" PRIu64
	       " in queues\n",
	       tasks->live, tasks->live == 1 ? " is" : "s are", tasks->queued);
	if (!tasks->tracked) {
		printf("Their types and waits are not known: start the process "
		       "with SKUA_TRACK_TASKS=1\n");
		return;
	}
	if (tasks->left_out)
		printf("%" PRIu64 " tasks found no room in the table and are "
		       "not listed\n",
		       tasks->left_out);
	if (tasks->count == 0)
		return;
	qsort(tasks->list, tasks->count, sizeof(*tasks->list), compare);
	print_kinds(target, tasks);
	if (each)
		print_each(target, tasks);
}

static json_t *task_json(struct target *target, const struct tasks *tasks,
			 const struct area_task *task)
{
	char name[TARGET_NAME], place[TARGET_NAME];
	uint64_t age_ns = tasks->at_ns > task->spawned_ns
				  ? tasks->at_ns - task->spawned_ns
				  : 0;
	uint64_t state_ns = tasks->at_ns > task->since_ns
				    ? tasks->at_ns - task->since_ns
				    : 0;

	target_name(target, task->type, task->poll, name);
	target_symbol(target, task->caller - 1, place);
	return json_pack("{s:o, s:s, s:s?, s:s, s:o, s:o, s:o, s:o, s:s}",
			 "task", json_count(task->task), "type", name, "label",
			 label_text(tasks, task), "state", tasks_doing(task),
			 "age_ns", json_count(age_ns), "state_ns",
			 json_count(state_ns), "waits_for",
			 json_count(waited_for(task)), "wakers",
			 json_count(task->wakers), "spawned_in", place);
}

bool tasks_json(struct target *target, const struct tasks *tasks)
{
	json_t *array = json_array(), *object;

	for (unsigned i = 0; i < tasks->count; i++)
		json_array_append_new(
			array, task_json(target, tasks, &tasks->list[i]));
	object = json_pack("{s:i, s:o, s:o, s:b, s:o, s:o, s:o}", "pid",
			   (int)target_pid(target), "live",
			   json_count(tasks->live), "queued",
			   json_count(tasks->queued), "tracked", tasks->tracked,
			   "left_out", json_count(tasks->left_out), "tasks",
			   array, "runtime", json_count(tasks->runtime));
	return json_print(stdout, object, 0);
}
