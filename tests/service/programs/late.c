/* SPDX-License-Identifier: MIT */
/*
 * late.c - a poller that its worker calls late, as a task of another type takes long,
 * until a line or the end of the standard input
 *
 * A thread has something for the poller to see each 10 ms, which then wakes a task. The
 * one worker also has a task that computes for 15 ms at a time.
 */
#include <skua/skua.h>

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <time.h>

#define CALL_NS  10000000L
#define TURN_NS  UINT64_C(15000000)
#define PAUSE_NS UINT64_C(20000000)

struct query {
	struct skua_task task; /* first: it is cast back */
	struct skua_timer timer;
};

static unsigned calls; /* by the thread; the poller has seen @seen of them */
static bool stopping;

/* The worker's. */
static unsigned seen;
static bool answering;
static struct skua_waker waker;

static bool stopped(void)
{
	/* Relaxed, as all here: nothing comes with it. */
	return __atomic_load_n(&stopping, __ATOMIC_RELAXED);
}

static void *call(void *unused)
{
	const struct timespec pause = { .tv_nsec = CALL_NS };

	while (!stopped()) {
		__atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED);
		nanosleep(&pause, NULL);
	}
	return unused;
}

static int look(struct skua_poller *self)
{
	unsigned now = __atomic_load_n(&calls, __ATOMIC_RELAXED);

	(void)self;
	if (!answering || (now == seen && !stopped()))
		return 0;
	seen = now;
	skua_waker_wake_by_ref(waker);
	return 1;
}

static enum skua_poll answer(struct skua_task *self)
{
	if (!answering)
		waker = skua_task_waker(self);
	answering = !stopped();
	if (answering)
		return SKUA_PENDING;
	skua_waker_drop(waker);
	return SKUA_DONE;
}

static enum skua_poll db_query(struct skua_task *self)
{
	struct query *query = (struct query *)self;
	uint64_t until = skua_now_ns() + TURN_NS;

	if (stopped())
		return SKUA_DONE;
	while (skua_now_ns() < until)
		;
	skua_timer_add(self, &query->timer, until + PAUSE_NS);
	return SKUA_PENDING;
}

int main(void)
{
	struct skua_config config = { .size = sizeof(config), .workers = 1 };
	static struct skua_poller poller = { .poll = look };
	static struct query query;
	static struct skua_task task;
	struct skua_runtime *rt;
	struct skua_error error;
	pthread_t thread;

	if (skua_runtime_create(&rt, &config, &error) != 0) {
		fprintf(stderr, "%s\n", error.text);
		return 1;
	}
	skua_task_init(&task, answer);
	skua_task_init(&query.task, db_query);
	if (skua_runtime_add_poller(rt, 0, &poller) != 0 ||
	    skua_task_spawn(rt, &task) != 0 ||
	    skua_task_spawn(rt, &query.task) != 0 ||
	    pthread_create(&thread, NULL, call, NULL) != 0)
		return 1;
	printf("ready\n");
	fflush(stdout);
	getchar();
	__atomic_store_n(&stopping, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	return skua_task_join(&task) != 0 || skua_task_join(&query.task) != 0 ||
	       skua_runtime_destroy(rt) != 0;
}
