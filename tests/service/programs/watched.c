/* SPDX-License-Identifier: MIT */
/*
 * watched.c MODE [WORKERS] - a program that others look at, until a line or the end
 * of its standard input
 *
 *	count	steals, parks and LIFO hits, more than COUNTS of each; is then
 *		quiet, and prints what it counted
 *	later	is count, after a line
 *	load	tasks that run, with pauses, in which others have the CPUs; prints
 *		in the end how many were spawned and how many ran
 *	two	is load, with a second runtime
 *	fork	prints the number of a child, which waits as it does
 *	headless is load, and its first thread has ended
 *	exec	then executes `sleep`, which waits for ever
 *	renew	runs some tasks, ends its runtime, and makes another, all the time
 *	secret	is load, and may not be dumped
 *	none	has no runtime
 */
#include <skua/skua.h>

#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "probes/area.h"

#define COUNTS   10100u
#define CHILDREN 32u
#define LOADED   64u
#define SPIN     500u
#define PAUSE_US 1000u

extern struct area_root skua_debug_root;

static void spin(unsigned rounds)
{
	for (volatile unsigned i = 0; i < rounds; i++)
		;
}

static void wait_for_line(void)
{
	fflush(stdout);
	while (true) {
		int c = getchar();

		if (c == EOF || c == '\n')
			return;
	}
}

/* ---- count ----------------------------------------------------------------- */

/* A task that spawns others, which are stolen; the last stays in the LIFO slot. */
struct family {
	struct skua_task parent; /* first: it is cast back */
	struct skua_runtime *rt;
	struct skua_group group;
	struct skua_task children[CHILDREN];
};

static enum skua_poll poll_child(struct skua_task *self)
{
	(void)self;
	spin(SPIN);
	return SKUA_DONE;
}

static enum skua_poll poll_parent(struct skua_task *self)
{
	struct family *family = (struct family *)self;

	for (unsigned i = 0; i < CHILDREN; i++) {
		skua_task_init(&family->children[i], poll_child);
		skua_group_spawn(&family->group, &family->children[i]);
	}
	spin(SPIN * CHILDREN / 4);
	return SKUA_DONE;
}

static void spawn_family(struct skua_runtime *rt, struct family *family)
{
	skua_group_init(&family->group, rt);
	skua_task_init(&family->parent, poll_parent);
	skua_group_spawn(&family->group, &family->parent);
	skua_group_wait(&family->group);
}

static bool counted(const struct skua_worker_stats *total)
{
	return total->steals > COUNTS && total->times_parked > COUNTS &&
	       total->lifo_hits > COUNTS;
}

/* A worker may still be on its way to sleep. */
static void wait_until_quiet(struct skua_runtime *rt)
{
	struct skua_stats before, after;

	skua_runtime_stats(rt, &after);
	do {
		before = after;
		usleep(50000);
		skua_runtime_stats(rt, &after);
	} while (memcmp(&before, &after, sizeof(before)) != 0);
}

/* A counter of *from, within a JSON object that @before begins. */
#define PRINT(name, ...)                                        \
	printf("%s\"%s\":%" PRIu64, before, #name, from->name); \
	before = ",";

static void print_own(const struct skua_runtime *rt)
{
	struct skua_worker_stats one;
	struct skua_stats all;

	skua_runtime_stats(rt, &all);
	printf("{\"totals\":{\"tasks_spawned\":%" PRIu64
	       ",\"injection_depth\":%" PRIu64
	       ",\"jobs_stolen_outside\":%" PRIu64
	       ",\"accepts_delayed\":%" PRIu64 "},\"workers\":[",
	       all.tasks_spawned, all.injection_depth, all.jobs_stolen_outside,
	       all.accepts_delayed);
	for (unsigned i = 0; i < all.workers; i++) {
		const struct skua_worker_stats *from = &one;
		const char *before = i ? ",{" : "{";

		skua_runtime_worker_stats(rt, i, &one);
		COUNTER_LIST(PRINT)
		printf(",\"queue_depth\":%" PRIu64 "}", one.queue_depth);
	}
	printf("]}\n");
}

/* The same out of the debug area, as nobody else reads it. */
static void print_area(void)
{
	const struct area_runtime *area =
		(const void *)(uintptr_t)skua_debug_root.runtimes;
	const uint64_t *workers = (const void *)(uintptr_t)area->workers;

	printf("[");
	for (unsigned i = 0; i < area->worker_count; i++) {
		const struct area_worker *worker =
			(const void *)(uintptr_t)(workers[i] +
						  area->worker_offset);
		const struct area_counters *from = &worker->counters;
		const char *before = i ? ",{" : "{";

		COUNTER_LIST(PRINT)
		printf("}");
	}
	printf("]\n");
}

static void count(struct skua_runtime *rt)
{
	struct family *family = calloc(1, sizeof(*family));
	struct skua_stats stats;

	if (!family)
		exit(1);
	do {
		spawn_family(rt, family);
		skua_runtime_stats(rt, &stats);
	} while (!counted(&stats.total));
	wait_until_quiet(rt);
	print_own(rt);
	print_area();
	wait_for_line();
	free(family);
}

/* ---- load ------------------------------------------------------------------ */

/* Each ends, and is spawned again by the release of what it was. */
struct loaded {
	struct skua_task task; /* first: it is cast back */
	uint64_t spawned;
	uint64_t ran;
	struct skua_group group;
	struct loaded *next;
};

static bool stopping;

static enum skua_poll poll_loaded(struct skua_task *self)
{
	struct loaded *loaded = (struct loaded *)self;

	spin(50);
	if (loaded->ran++ % 64 != 63)
		return SKUA_YIELD;
	return SKUA_DONE;
}

/* One thread of spawns from outside and from inside both. */
static enum skua_poll poll_chief(struct skua_task *self)
{
	struct loaded *all = ((struct loaded *)self)->next;

	for (unsigned i = 0; i < LOADED; i++) {
		skua_task_init(&all[i].task, poll_loaded);
		if (skua_group_spawn(&((struct loaded *)self)->group,
				     &all[i].task) == 0)
			all[i].spawned++;
	}
	return SKUA_DONE;
}

static void *run_load(void *argument)
{
	struct loaded *all = calloc(LOADED, sizeof(*all)),
		      chief = { .next = all };
	uint64_t spawned = 0, ran = 0;

	/* Relaxed: nothing comes with it. */
	while (!__atomic_load_n(&stopping, __ATOMIC_RELAXED)) {
		skua_group_init(&chief.group, argument);
		skua_task_init(&chief.task, poll_chief);
		skua_group_spawn(&chief.group, &chief.task);
		skua_group_wait(&chief.group);
		usleep(PAUSE_US);
	}
	for (unsigned i = 0; i < LOADED; i++) {
		spawned += all[i].spawned;
		ran += all[i].ran;
	}
	printf("{\"spawned\":%" PRIu64 ",\"ended\":%" PRIu64 "}\n", spawned,
	       ran / 64);
	free(all);
	return NULL;
}

static void load(struct skua_runtime *rt)
{
	pthread_t thread;

	printf("ready\n");
	if (pthread_create(&thread, NULL, run_load, rt) != 0)
		exit(1);
	wait_for_line();
	__atomic_store_n(&stopping, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
}

/* ---- the rest -------------------------------------------------------------- */

static void fork_child(void)
{
	int ends[2];
	pid_t child;

	if (pipe(ends) != 0)
		exit(1);
	child = fork();
	if (child == 0) {
		char byte;

		/* Until the parent has ended. */
		close(ends[1]);
		_exit(read(ends[0], &byte, 1) != 0);
	}
	printf("%d\n", child);
	wait_for_line();
	close(ends[1]);
	waitpid(child, NULL, 0);
}

static void *end_at_line(void *argument)
{
	wait_for_line();
	__atomic_store_n(&stopping, true, __ATOMIC_RELAXED);
	return argument;
}

static void renew(const struct skua_config *config)
{
	struct family *family = calloc(1, sizeof(*family));
	pthread_t thread;

	printf("ready\n");
	fflush(stdout);
	if (!family || pthread_create(&thread, NULL, end_at_line, NULL) != 0)
		exit(1);
	while (!__atomic_load_n(&stopping, __ATOMIC_RELAXED)) {
		struct skua_runtime *rt;

		if (skua_runtime_create(&rt, config, NULL) != 0)
			exit(1);
		spawn_family(rt, family);
		skua_runtime_destroy(rt);
	}
	free(family);
	pthread_join(thread, NULL);
}

static void *end_at_line_with_all(void *argument)
{
	load(argument);
	fflush(stdout);
	_exit(skua_runtime_destroy(argument) != 0);
}

static void leave_threads(struct skua_runtime *rt)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, end_at_line_with_all, rt) != 0)
		exit(1);
	pthread_exit(NULL);
}

/* A second runtime beside @rt. */
static void stay_beside(struct skua_runtime *rt)
{
	struct skua_config config = { .size = sizeof(config), .workers = 1 };
	struct skua_runtime *other;

	if (skua_runtime_create(&other, &config, NULL) != 0)
		exit(1);
	load(rt);
	if (skua_runtime_destroy(other) != 0)
		exit(1);
}

static int run(struct skua_runtime *rt, const char *mode)
{
	if (strcmp(mode, "count") == 0) {
		count(rt);
	} else if (strcmp(mode, "later") == 0) {
		wait_until_quiet(rt);
		printf("ready\n");
		wait_for_line();
		count(rt);
	} else if (strcmp(mode, "load") == 0) {
		load(rt);
	} else if (strcmp(mode, "two") == 0) {
		stay_beside(rt);
	} else if (strcmp(mode, "secret") == 0) {
		prctl(PR_SET_DUMPABLE, 0);
		load(rt);
	} else if (strcmp(mode, "headless") == 0) {
		leave_threads(rt);
	} else if (strcmp(mode, "fork") == 0) {
		fork_child();
	} else if (strcmp(mode, "exec") == 0) {
		printf("ready\n");
		wait_for_line();
		execlp("sleep", "sleep", "1000", (char *)NULL);
		return 1;
	} else {
		return 2;
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct skua_config config = { .size = sizeof(config), .workers = 2 };
	struct skua_runtime *rt;
	struct skua_error error;
	int code;

	if (argc < 2)
		return 2;
	if (strcmp(argv[1], "none") == 0) {
		printf("ready\n");
		wait_for_line();
		return skua_runtime_stats(NULL, NULL) == 0;
	}
	if (strcmp(argv[1], "renew") == 0) {
		renew(&config);
		return 0;
	}
	if (argc > 2)
		config.workers = (uint32_t)atoi(argv[2]);
	if (skua_runtime_create(&rt, &config, &error) != 0) {
		fprintf(stderr, "%s\n", error.text);
		return 1;
	}
	code = run(rt, argv[1]);
	return skua_runtime_destroy(rt) != 0 ? 1 : code;
}
