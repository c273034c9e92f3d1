/* SPDX-License-Identifier: MIT */
/*
 * neighbour.c - a worker that always has something to do, and another process that
 * does nothing but be busy on the same CPU, until a line or the end of its standard
 * input
 */
#include <skua/skua.h>

#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define TASKS   4u
#define TURN_NS 100000u

static bool stopping;

static const struct skua_task_type steady_type = SKUA_TASK_TYPE("steady");

static enum skua_poll steady(struct skua_task *self)
{
	uint64_t until = skua_now_ns() + TURN_NS;

	(void)self;
	while (skua_now_ns() < until)
		;
	/* Relaxed: nothing comes with it. */
	return __atomic_load_n(&stopping, __ATOMIC_RELAXED) ? SKUA_DONE
							    : SKUA_YIELD;
}

/* All that follows is on one CPU, the last one. */
static bool stay(void)
{
	cpu_set_t all, one;
	size_t last = 0;

	if (sched_getaffinity(0, sizeof(all), &all) != 0)
		return false;
	for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &all))
			last = cpu;
	CPU_ZERO(&one);
	CPU_SET(last, &one);
	return sched_setaffinity(0, sizeof(one), &one) == 0;
}

static pid_t start_neighbour(void)
{
	pid_t parent = getpid(), child = fork();
	volatile bool ever = true;

	if (child != 0)
		return child;
	/* It does not outlive its parent. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	while (ever)
		;
	_exit(0);
}

static int run(struct skua_runtime *rt)
{
	static struct skua_task tasks[TASKS];
	struct skua_group group;

	skua_group_init(&group, rt);
	for (unsigned i = 0; i < TASKS; i++) {
		skua_task_init(&tasks[i], steady);
		skua_task_set_type(&tasks[i], &steady_type);
		if (skua_group_spawn(&group, &tasks[i]) != 0)
			return 1;
	}
	printf("ready\n");
	fflush(stdout);
	getchar();
	__atomic_store_n(&stopping, true, __ATOMIC_RELAXED);
	return skua_group_wait(&group) != 0;
}

int main(void)
{
	struct skua_config config = { .size = sizeof(config), .workers = 1 };
	struct skua_runtime *rt;
	struct skua_error error;
	pid_t neighbour;
	int code;

	if (!stay())
		return 1;
	neighbour = start_neighbour();
	if (neighbour < 0)
		return 1;
	/* Its own name, that of the neighbour stays. */
	prctl(PR_SET_NAME, "beside");
	if (skua_runtime_create(&rt, &config, &error) != 0) {
		fprintf(stderr, "%s\n", error.text);
		return 1;
	}
	code = run(rt);
	kill(neighbour, SIGKILL);
	waitpid(neighbour, NULL, 0);
	return skua_runtime_destroy(rt) != 0 ? 1 : code;
}
