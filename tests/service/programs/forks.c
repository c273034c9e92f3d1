/* SPDX-License-Identifier: MIT */
/*
 * forks.c - calls skua_run() again and again until a line or the end of its standard input:
 * each call computes alone for a while, and then forks a job, which a worker runs. With an
 * argument, it calls once, and forks nothing
 */
#include <skua/skua.h>

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>

#define ALONE_NS UINT64_C(4000000)
#define JOB_NS   UINT64_C(2000000)

struct part {
	struct skua_job job; /* first: it is cast back */
	bool taken;
};

static bool stopping;

static void compute(uint64_t ns)
{
	uint64_t until = skua_now_ns() + ns;

	while (skua_now_ns() < until)
		;
}

static void run_part(struct skua_ctx ctx, struct skua_job *job)
{
	struct part *part = (struct part *)job;

	(void)ctx;
	/* Relaxed: nothing comes with it. */
	__atomic_store_n(&part->taken, true, __ATOMIC_RELAXED);
	compute(JOB_NS);
}

/* Waits until a worker has taken the job: then the join has to wait. */
static void fork_part(struct skua_ctx ctx, void *arg)
{
	struct part part = { .job.run = run_part };
	struct skua_ctx inner;

	(void)arg;
	compute(ALONE_NS);
	inner = skua_fork(ctx, &part.job);
	while (!__atomic_load_n(&part.taken, __ATOMIC_RELAXED))
		sched_yield();
	(void)!skua_reclaim(inner, &part.job);
}

static bool stops(void)
{
	/* Relaxed: nothing comes with it. */
	return __atomic_load_n(&stopping, __ATOMIC_RELAXED);
}

static void stay_alone(struct skua_ctx ctx, void *arg)
{
	(void)ctx;
	(void)arg;
	while (!stops())
		compute(ALONE_NS);
}

static void *await_end(void *arg)
{
	(void)arg;
	getchar();
	__atomic_store_n(&stopping, true, __ATOMIC_RELAXED);
	return NULL;
}

int main(int argc, char **argv)
{
	struct skua_config config = { .size = sizeof(config), .workers = 2 };
	struct skua_runtime *rt;
	struct skua_error err;
	pthread_t thread;

	if (skua_runtime_create(&rt, &config, &err) < 0) {
		fprintf(stderr, "forks: %s\n", err.text);
		return 1;
	}
	if (pthread_create(&thread, NULL, await_end, NULL) != 0)
		return 1;
	puts("forks");
	fflush(stdout);
	(void)argv;
	while (!stops())
		skua_run(rt, argc > 1 ? stay_alone : fork_part, NULL);
	pthread_join(thread, NULL);
	return skua_runtime_destroy(rt) != 0;
}
