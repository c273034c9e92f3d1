/* SPDX-License-Identifier: MIT */
/* fibers.c - fibers that wait, and one that calls marker(): for debuggers */
#include <stdio.h>

#include "skua/fiber.h"
#include "skua/runtime.h"

static const struct skua_task_type type = SKUA_TASK_TYPE("connection");
static struct skua_fiber waiting[3], running;

void marker(void);

__attribute__((noinline)) void marker(void)
{
	__asm__ volatile("" ::: "memory");
}

static __attribute__((noinline)) void wait_deep(unsigned depth)
{
	if (depth > 0)
		wait_deep(depth - 1);
	else
		while (!skua_task_cancelled(&skua_fiber_self()->task))
			skua_await();
	__asm__ volatile("" ::: "memory"); /* no tail call */
}

static void serve(struct skua_fiber *self)
{
	(void)self;
	wait_deep(3);
	__asm__ volatile("" ::: "memory");
}

static void run_on(struct skua_fiber *self)
{
	(void)self;
	marker();
	__asm__ volatile("" ::: "memory");
}

int main(void)
{
	struct skua_runtime *rt;
	int code = skua_runtime_create(&rt, NULL, NULL);

	if (code)
		return 1;
	for (unsigned i = 0; i < 3; i++) {
		skua_fiber_init(&waiting[i], serve, 0);
		skua_task_set_type(&waiting[i].task, &type);
		skua_task_spawn_on(rt, 0, &waiting[i].task);
	}
	/* Behind them, on the same worker. */
	skua_fiber_init(&running, run_on, 0);
	skua_task_spawn_on(rt, 0, &running.task);
	skua_task_join(&running.task);
	for (unsigned i = 0; i < 3; i++) {
		skua_task_cancel(&waiting[i].task);
		skua_task_join(&waiting[i].task);
	}
	code = skua_runtime_destroy(rt);
	puts(code ? "failed" : "ended");
	return code != 0;
}
