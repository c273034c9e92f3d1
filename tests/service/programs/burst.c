/* SPDX-License-Identifier: MIT */
/*
 * burst.c [TASKS] - so many short tasks at once (default: 1000), and then a pause,
 * until a line or the end of its standard input; with 1 it is a quiet program
 */
#include <skua/skua.h>

#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#define TURN_NS  20000u
#define PAUSE_MS 20

struct item {
	struct skua_task task; /* first: it is cast back */
};

struct batch {
	struct skua_task task; /* first: it is cast back */
	struct skua_group group;
	struct item *items;
	unsigned count;
};

static const struct skua_task_type item_type = SKUA_TASK_TYPE("item");
static const struct skua_task_type batch_type = SKUA_TASK_TYPE("batch");

static enum skua_poll poll_item(struct skua_task *self)
{
	uint64_t until = skua_now_ns() + TURN_NS;

	(void)self;
	while (skua_now_ns() < until)
		;
	return SKUA_DONE;
}

/* They come from within: nothing can keep the one that spawns from its CPU for long
 * and leave the others theirs. */
static enum skua_poll poll_batch(struct skua_task *self)
{
	struct batch *batch = (struct batch *)self;

	for (unsigned i = 0; i < batch->count; i++) {
		skua_task_init(&batch->items[i].task, poll_item);
		skua_task_set_type(&batch->items[i].task, &item_type);
		skua_group_spawn(&batch->group, &batch->items[i].task);
	}
	return SKUA_DONE;
}

/* Whether it goes on, after a pause. */
static bool pause_over(void)
{
	struct pollfd input = { .fd = 0, .events = POLLIN };

	return poll(&input, 1, PAUSE_MS) == 0;
}

static int run(struct skua_runtime *rt, struct batch *batch)
{
	skua_group_init(&batch->group, rt);
	printf("ready\n");
	fflush(stdout);
	do {
		skua_task_init(&batch->task, poll_batch);
		skua_task_set_type(&batch->task, &batch_type);
		if (skua_group_spawn(&batch->group, &batch->task) != 0 ||
		    skua_group_wait(&batch->group) != 0)
			return 1;
	} while (pause_over());
	return 0;
}

int main(int argc, char **argv)
{
	struct skua_config config = { .size = sizeof(config), .workers = 2 };
	struct batch batch = { .count = argc > 1 ? (unsigned)atoi(argv[1])
						 : 1000 };
	struct skua_runtime *rt;
	struct skua_error error;
	int code;

	batch.items = calloc(batch.count, sizeof(*batch.items));
	if (!batch.items)
		return 1;
	if (skua_runtime_create(&rt, &config, &error) != 0) {
		fprintf(stderr, "%s\n", error.text);
		return 1;
	}
	code = run(rt, &batch);
	if (skua_runtime_destroy(rt) != 0)
		return 1;
	free(batch.items);
	return code;
}
