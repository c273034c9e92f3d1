/* SPDX-License-Identifier: MIT */
/**
 * hangs.c - hangs NAME: a program whose destroy waits for ever
 *
 * nobody: pending without a waker; leak: a leaked waker; cycle: tasks that join
 * each other; timer: a timer left at SKUA_DONE; group: a group wait of a member;
 * wheel: a timer that comes again, after which the task polls for long; dropped: a
 * leaked waker, and a task that was done with a waker that is dropped when a byte comes in.
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "skua/group.h"
#include "skua/runtime.h"
#include "skua/task.h"
#include "skua/timer.h"
#include "skua/waker.h"

static const struct skua_task_type type = SKUA_TASK_TYPE("connection");
static const char *kind;
static struct skua_task first, second;
static struct skua_group group;
static struct skua_timer timer;
static struct skua_waker leaked, late;
static bool has_late;

static enum skua_poll hang(struct skua_task *self)
{
	if (strcmp(kind, "leak") == 0)
		leaked = skua_task_waker(self);
	if (strcmp(kind, "dropped") == 0) {
		if (self == &first) {
			leaked = skua_task_waker(self);
			return SKUA_PENDING;
		}
		late = skua_task_waker(self);
		__atomic_store_n(&has_late, true, __ATOMIC_RELEASE);
		return SKUA_DONE;
	}
	if (strcmp(kind, "cycle") == 0)
		skua_task_join_poll(self, self == &first ? &second : &first);
	if (strcmp(kind, "group") == 0)
		skua_group_wait_poll(self, &group);
	if (strcmp(kind, "wheel") == 0) {
		usleep(20000); /* polled, most of the time */
		skua_timer_add(self, &timer, skua_now_ns() + 1000000);
	}
	if (strcmp(kind, "timer") == 0) {
		skua_timer_add(self, &timer, UINT64_MAX);
		return SKUA_DONE;
	}
	return SKUA_PENDING;
}

/* Spawns the others where nothing is polled meanwhile. */
static enum skua_poll begin(struct skua_task *self)
{
	struct skua_runtime *rt = group.runtime;

	(void)self;
	skua_task_spawn_on(rt, 0, &first);
	skua_task_spawn_on(rt, 0, &second);
	return SKUA_DONE;
}

static void say(void *ctx, enum skua_log_level level, const char *text)
{
	(void)ctx;
	if (level != SKUA_LOG_INFO)
		fprintf(stderr, "%s\n", text);
}

int main(int argc, char **argv)
{
	static struct skua_task root = SKUA_TASK_INIT(begin);
	const struct skua_hooks hooks = { .log = say };
	struct skua_config cfg = SKUA_CONFIG_INIT;
	struct skua_runtime *rt;

	kind = argc > 1 ? argv[1] : "nobody";
	cfg.hooks = &hooks;
	cfg.workers = 2;
	if (skua_runtime_create(&rt, &cfg, NULL) != 0)
		return 1;
	skua_group_init(&group, rt);
	skua_task_init(&first, hang);
	skua_task_init(&second, hang);
	skua_task_set_type(&first, &type);
	skua_task_set_type(&second, &type);
	if (strcmp(kind, "cycle") == 0)
		skua_task_spawn_on(rt, 0, &root);
	else if (strcmp(kind, "group") == 0)
		skua_group_spawn(&group, &first);
	else
		skua_task_spawn(rt, &first);
	if (strcmp(kind, "timer") == 0)
		skua_task_join(&first);
	if (strcmp(kind, "dropped") == 0) {
		skua_task_spawn(rt, &second);
		while (!__atomic_load_n(&has_late, __ATOMIC_ACQUIRE))
			usleep(1000);
		/* Until the tools have seen that it is left. */
		getchar();
		skua_waker_drop(late);
	}
	return skua_runtime_destroy(rt) != 0;
}
