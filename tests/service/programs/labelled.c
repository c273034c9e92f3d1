/* SPDX-License-Identifier: MIT */
/*
 * labelled.c [fiber | poll | stale | equal] - a fiber with a label that keeps a worker busy, until a
 * line or the end of its standard input. poll: a poll task instead; stale: one that had a label
 * only in an earlier poll; equal: two runtimes instead, and in each six fibers that wait, of
 * which four have labels of the same text, and two have another, each at its own address
 */
#include <skua/skua.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool running, stopping;

static void keep_busy(void)
{
	/* Relaxed, here and below: nothing comes with them. */
	__atomic_store_n(&running, true, __ATOMIC_RELAXED);
	while (!__atomic_load_n(&stopping, __ATOMIC_RELAXED))
		;
}

static void serve(struct skua_fiber *self)
{
	(void)self;
	skua_task_set_label("get");
	keep_busy();
}

static enum skua_poll serve_poll(struct skua_task *self)
{
	(void)self;
	skua_task_set_label("get");
	keep_busy();
	return SKUA_DONE;
}

static enum skua_poll serve_stale(struct skua_task *self)
{
	static bool polled;

	(void)self;
	if (!polled) {
		skua_task_set_label("get");
		polled = true;
		return SKUA_YIELD;
	}
	keep_busy();
	return SKUA_DONE;
}

struct resting {
	struct skua_fiber fiber;
	char label[8];
};

static void rest(struct skua_fiber *self)
{
	skua_task_set_label(((struct resting *)self)->label);
	skua_sleep_until(SKUA_FOREVER_NS);
}

/* Two runtimes with fibers that wait; the process ends with them. */
static void rest_in_two(void)
{
	static struct resting fibers[2][6];
	struct skua_config config = SKUA_CONFIG_INIT;

	config.workers = 1;
	for (unsigned r = 0; r < 2; r++) {
		struct skua_runtime *rt;

		if (skua_runtime_create(&rt, &config, NULL))
			exit(1);
		for (unsigned i = 0; i < 6; i++) {
			struct resting *it = &fibers[r][i];

			strcpy(it->label, i == 1 || i == 3 ? "put" : "get");
			if (skua_fiber_init(&it->fiber, rest, 0) ||
			    skua_task_spawn(rt, &it->fiber.task))
				exit(1);
		}
	}
	getchar();
	_exit(0);
}

int main(int argc, char **argv)
{
	struct skua_config config = SKUA_CONFIG_INIT;
	struct skua_runtime *rt;
	struct skua_fiber fiber;
	struct skua_task poll = SKUA_TASK_INIT(serve_poll);
	struct skua_task stale = SKUA_TASK_INIT(serve_stale);
	struct skua_task *task = &fiber.task;

	if (argc > 1 && strcmp(argv[1], "poll") == 0)
		task = &poll;
	else if (argc > 1 && strcmp(argv[1], "stale") == 0)
		task = &stale;
	else if (argc > 1 && strcmp(argv[1], "equal") == 0)
		rest_in_two();
	config.workers = 2;
	if (skua_runtime_create(&rt, &config, NULL) ||
	    skua_fiber_init(&fiber, serve, 0) || skua_task_spawn(rt, task))
		return 1;
	while (!__atomic_load_n(&running, __ATOMIC_RELAXED))
		skua_sleep_until(skua_now_ns() + 1000000);
	printf("ready\n");
	fflush(stdout);
	getchar();
	__atomic_store_n(&stopping, true, __ATOMIC_RELAXED);
	return skua_task_join(task) || skua_runtime_destroy(rt);
}
