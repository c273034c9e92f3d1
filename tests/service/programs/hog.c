/* SPDX-License-Identifier: MIT */
/*
 * hog.c [TYPE [HOW]] - tasks of three types, one of which hogs the workers, until a
 * line or the end of its standard input
 *
 * TYPE 0 to 2 (default: 1) says which. HOW: `often` (the default), it takes its turns
 * as the others, but long ones; `endless`: one task of it never returns; `stuck`: none does; `blocked`:
 * one task of it waits for a mutex that nobody gives back; `sleeps`: it sleeps in its
 * turns.
 */
#include <skua/skua.h>

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define TASKS    4u /* of a type */
#define TURN_NS  20000u
#define HOG_NS   4000000u
#define PAUSE_NS 1000000u

struct job {
	struct skua_task task; /* first: it is cast back */
	struct skua_timer timer;
	uint64_t turn_ns;
	uint64_t wake_ns; /* when its pause is over */
	bool hogs;
	bool endless;
	bool blocked;
	bool sleeps;
};

static bool hogging, stopping;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static bool stopped(void)
{
	/* Relaxed: nothing comes with it. */
	return __atomic_load_n(&stopping, __ATOMIC_RELAXED);
}

/* A turn of work, then a pause. */
static enum skua_poll work(struct skua_task *self)
{
	struct job *job = (struct job *)self;
	uint64_t now = skua_now_ns(), until = now + job->turn_ns;

	if (stopped())
		return SKUA_DONE;
	if (job->hogs)
		__atomic_store_n(&hogging, true, __ATOMIC_RELAXED);
	if (job->blocked) {
		pthread_mutex_lock(&mutex);
		pthread_mutex_unlock(&mutex);
	}
	if (job->sleeps)
		nanosleep(&(struct timespec){ .tv_nsec = HOG_NS }, NULL);
	while (skua_now_ns() < until || (job->endless && !stopped()))
		;
	job->wake_ns = until + PAUSE_NS;
	skua_timer_add(self, &job->timer, job->wake_ns);
	return SKUA_PENDING;
}

static enum skua_poll http_read(struct skua_task *self)
{
	return work(self);
}

static enum skua_poll db_query(struct skua_task *self)
{
	return work(self);
}

static enum skua_poll log_flush(struct skua_task *self)
{
	return work(self);
}

static const skua_task_fn functions[] = { http_read, db_query, log_flush };

static const struct skua_task_type types[] = { SKUA_TASK_TYPE("http_read"),
					       SKUA_TASK_TYPE("db_query"),
					       SKUA_TASK_TYPE("log_flush") };

static void prepare(struct job *job, unsigned type, bool hogs, const char *how)
{
	bool often = strcmp(how, "often") == 0;

	skua_task_init(&job->task, functions[type]);
	skua_task_set_type(&job->task, &types[type]);
	job->turn_ns = hogs && often ? HOG_NS : TURN_NS;
	job->hogs = hogs;
	job->endless = hogs && (strcmp(how, "endless") == 0 ||
				strcmp(how, "stuck") == 0);
	job->blocked = hogs && strcmp(how, "blocked") == 0;
	job->sleeps = hogs && strcmp(how, "sleeps") == 0;
}

static int run(struct skua_runtime *rt, unsigned hog, const char *how)
{
	bool all = strcmp(how, "often") == 0 || strcmp(how, "sleeps") == 0 ||
		   strcmp(how, "stuck") == 0;
	static struct job jobs[3][TASKS];
	struct skua_group group;

	pthread_mutex_lock(&mutex);
	skua_group_init(&group, rt);
	for (unsigned type = 0; type < 3; type++)
		for (unsigned i = 0; i < TASKS; i++) {
			prepare(&jobs[type][i], type,
				type == hog && (all || i == 0), how);
			if (skua_group_spawn(&group, &jobs[type][i].task) != 0)
				return 1;
		}
	while (!__atomic_load_n(&hogging, __ATOMIC_RELAXED))
		sched_yield();
	printf("ready\n");
	fflush(stdout);
	getchar();
	__atomic_store_n(&stopping, true, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&mutex);
	return skua_group_wait(&group) != 0;
}

static void say(void *ctx, enum skua_log_level level, const char *text)
{
	(void)ctx;
	if (level != SKUA_LOG_INFO)
		fprintf(stderr, "%s\n", text);
}

int main(int argc, char **argv)
{
	const struct skua_hooks hooks = { .log = say };
	struct skua_config config = { .size = sizeof(config),
				      .workers = 2,
				      .hooks = &hooks };
	unsigned hog = argc > 1 ? (unsigned)atoi(argv[1]) : 1;
	struct skua_runtime *rt;
	struct skua_error error;
	int code;

	if (skua_runtime_create(&rt, &config, &error) != 0) {
		fprintf(stderr, "%s\n", error.text);
		return 1;
	}
	code = run(rt, hog, argc > 2 ? argv[2] : "often");
	return skua_runtime_destroy(rt) != 0 ? 1 : code;
}
