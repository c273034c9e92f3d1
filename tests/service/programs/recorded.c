/* SPDX-License-Identifier: MIT */
/*
 * recorded.c - so and so many polls, while somebody records: then prints how many
 * there were, and waits for a line or the end of its standard input
 */
#include <skua/skua.h>

#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#include "probes/area.h"

#define TASKS   2000u
#define POLLS   3u /* of each task */
#define WORKERS 2u

extern struct area_root skua_debug_root;

struct counted {
	struct skua_task task; /* first: it is cast back */
	unsigned polls;
};

static struct counted tasks[TASKS];
static struct skua_group group;
static unsigned polls;

static const struct skua_task_type spawner_type = SKUA_TASK_TYPE("spawner");
static const struct skua_task_type counted_type = SKUA_TASK_TYPE("counted");

static enum skua_poll poll_counted(struct skua_task *self)
{
	struct counted *counted = (struct counted *)self;

	/* Relaxed: it is read when all are done. */
	__atomic_fetch_add(&polls, 1, __ATOMIC_RELAXED);
	for (volatile unsigned i = 0; i < 1000; i++)
		;
	return ++counted->polls < POLLS ? SKUA_YIELD : SKUA_DONE;
}

static enum skua_poll poll_spawner(struct skua_task *self)
{
	(void)self;
	for (unsigned i = 0; i < TASKS; i++) {
		skua_task_init(&tasks[i].task, poll_counted);
		skua_task_set_type(&tasks[i].task, &counted_type);
		skua_group_spawn(&group, &tasks[i].task);
	}
	return SKUA_DONE;
}

static enum skua_poll poll_nothing(struct skua_task *self)
{
	(void)self;
	return SKUA_DONE;
}

/* Somebody wants events, and each worker has noticed. */
static bool records(void)
{
	const struct area_runtime *area =
		(void *)(uintptr_t)skua_debug_root.runtimes;
	const uint64_t *workers = (void *)(uintptr_t)area->workers;
	bool all = true;

	for (unsigned i = 0; i < area->worker_count; i++) {
		const struct area_worker *worker =
			(void *)(uintptr_t)(workers[i] + area->worker_offset);

		all &= __atomic_load_n(&worker->ring, __ATOMIC_RELAXED) != 0;
	}
	return all && __atomic_load_n(&area->ring, __ATOMIC_RELAXED) != 0;
}

static void run(struct skua_runtime *rt)
{
	static struct skua_task spawner, nothing[8];

	printf("ready\n");
	fflush(stdout);
	while (!records()) {
		usleep(1000);
		for (unsigned i = 0; i < 8; i++) {
			skua_task_init(&nothing[i], poll_nothing);
			skua_task_spawn(rt, &nothing[i]);
		}
		for (unsigned i = 0; i < 8; i++)
			skua_task_join(&nothing[i]);
	}
	skua_group_init(&group, rt);
	skua_task_init(&spawner, poll_spawner);
	skua_task_set_type(&spawner, &spawner_type);
	skua_group_spawn(&group, &spawner);
	skua_group_wait(&group);
	printf("%u\n", polls);
	fflush(stdout);
	getchar();
}

int main(void)
{
	struct skua_config config = { .size = sizeof(config),
				      .workers = WORKERS };
	struct skua_runtime *rt;
	struct skua_error error;

	if (skua_runtime_create(&rt, &config, &error) != 0) {
		fprintf(stderr, "%s\n", error.text);
		return 1;
	}
	run(rt);
	return skua_runtime_destroy(rt) != 0;
}
