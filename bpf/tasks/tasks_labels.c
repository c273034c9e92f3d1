/* SPDX-License-Identifier: MIT */
/* tasks_labels.c - the labels of tasks: their texts, each once */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/cli/sorted.h"
#include "bpf/target/target_text.h"
#include "bpf/tasks/tasks.h"

/* A text in the process. Several addresses may have the same. */
struct label {
	uint64_t address;
	uint64_t number; /* as of tasks_label() */
	char text[TARGET_NAME];
};

/* ---- addresses ------------------------------------------------------------- */

/* Read the label of a fiber; 0 if the task is no fiber. */
static uint64_t fiber_label(struct target *target,
			    const struct target_runtime *runtime, uint64_t task)
{
	uint32_t flags = 0;
	uint64_t label = 0;

	if (!runtime->fiber_label || !runtime->task_flags ||
	    target_read(target, task + runtime->task_flags, &flags,
			sizeof(flags)) != 0 ||
	    !(flags & AREA_TASK_FIBER) ||
	    target_read(target, task + runtime->fiber_label, &label,
			sizeof(label)) != 0)
		return 0;
	return label;
}

/* A task that is no fiber has a label only in a poll, which its worker shows. */
static void label_polled(struct target *target,
			 const struct target_runtime *runtime,
			 struct tasks *tasks)
{
	for (uint32_t w = 0; w < runtime->area.worker_count; w++) {
		struct target_now now = { 0 };

		if (target_look(target, runtime, w, &now) != 0 || !now.label)
			continue;
		for (unsigned i = 0; i < tasks->count; i++)
			if (tasks->list[i].task == now.task &&
			    tasks->list[i].state == AREA_TASK_POLLED)
				*tasks_label(&tasks->list[i]) = now.label;
	}
}

static void add_addresses(struct target *target,
			  const struct target_runtime *runtime,
			  struct tasks *tasks)
{
	for (unsigned i = 0; i < tasks->count; i++)
		*tasks_label(&tasks->list[i]) =
			fiber_label(target, runtime, tasks->list[i].task);
	label_polled(target, runtime, tasks);
}

/* ---- texts ----------------------------------------------------------------- */

static int compare_labels(const void *a, const void *b)
{
	return compare_numbers(((const struct label *)a)->address,
			       ((const struct label *)b)->address);
}

static int compare_texts(const void *a, const void *b)
{
	return strcmp(((const struct label *)a)->text,
		      ((const struct label *)b)->text);
}

/* Read the text at each address of a label. Return: the number of addresses. */
static size_t read_texts(struct target *target, const struct tasks *tasks,
			 struct label *labels)
{
	size_t count = 0, all = 0;

	for (unsigned i = 0; i < tasks->count; i++)
		labels[all++].address = *tasks_label(&tasks->list[i]);
	qsort(labels, all, sizeof(*labels), compare_labels);
	for (size_t i = 0; i < all; i++) {
		if (count > 0 && labels[count - 1].address == labels[i].address)
			continue;
		labels[count].address = labels[i].address;
		target_text(target, labels[i].address, labels[count++].text);
	}
	return count;
}

/* Number the texts in their order. An empty one, which is that of no label, has number 0. */
static void number_texts(struct tasks *tasks, struct label *labels,
			 size_t count)
{
	uint64_t number = 0;

	qsort(labels, count, sizeof(*labels), compare_texts);
	for (size_t i = 0; i < count; i++) {
		if (labels[i].text[0] != '\0' &&
		    (number == 0 ||
		     strcmp(tasks->labels[number - 1], labels[i].text) != 0))
			strcpy(tasks->labels[number++], labels[i].text);
		labels[i].number = number;
	}
}

int tasks_read_labels(struct target *target,
		      const struct target_runtime *runtime, struct tasks *tasks)
{
	struct label *labels = calloc(tasks->count + 1, sizeof(*labels));
	size_t count;

	tasks->labels = calloc(tasks->count + 1, sizeof(*tasks->labels));
	if (!labels || !tasks->labels) {
		free(labels);
		return -ENOMEM;
	}
	add_addresses(target, runtime, tasks);
	count = read_texts(target, tasks, labels);
	number_texts(tasks, labels, count);
	qsort(labels, count, sizeof(*labels), compare_labels);
	for (unsigned i = 0; i < tasks->count; i++) {
		uint64_t *label = tasks_label(&tasks->list[i]);

		*label =
			labels[SORTED_UP_TO(labels, count, address, *label) - 1]
				.number;
	}
	free(labels);
	return 0;
}
