/* SPDX-License-Identifier: MIT */
/*
 * labelled.c - a fiber with a label that keeps a worker busy, until a line or the end of its
 * standard input
 */
#include <skua/skua.h>

#include <stdio.h>

static bool running, stopping;

static void serve(struct skua_fiber *self)
{
	(void)self;
	skua_task_set_label("get");
	/* Relaxed, here and below: nothing comes with them. */
	__atomic_store_n(&running, true, __ATOMIC_RELAXED);
	while (!__atomic_load_n(&stopping, __ATOMIC_RELAXED))
		;
}

int main(void)
{
	struct skua_config config = SKUA_CONFIG_INIT;
	struct skua_runtime *rt;
	struct skua_fiber fiber;

	config.workers = 2;
	if (skua_runtime_create(&rt, &config, NULL) ||
	    skua_fiber_init(&fiber, serve, 0) ||
	    skua_task_spawn(rt, &fiber.task))
		return 1;
	while (!__atomic_load_n(&running, __ATOMIC_RELAXED))
		skua_sleep_until(skua_now_ns() + 1000000);
	printf("ready\n");
	fflush(stdout);
	getchar();
	__atomic_store_n(&stopping, true, __ATOMIC_RELAXED);
	return skua_task_join(&fiber.task) || skua_runtime_destroy(rt);
}
