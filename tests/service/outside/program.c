/* SPDX-License-Identifier: MIT */
/* program.c - a C program that uses skua: a group of tasks, and a timer */
#include <skua/skua.h>

#include <stdio.h>

#define TASKS 100

struct square {
	struct skua_task task; /* first: it is cast back */
	unsigned long n;
	unsigned long result;
};

struct sleeper {
	struct skua_task task; /* first: it is cast back */
	struct skua_timer timer;
	uint64_t until_ns;
};

static enum skua_poll poll_square(struct skua_task *self)
{
	struct square *square = (struct square *)self;

	square->result = square->n * square->n;
	return SKUA_DONE;
}

static enum skua_poll poll_sleeper(struct skua_task *self)
{
	struct sleeper *sleeper = (struct sleeper *)self;

	if (skua_now_ns() >= sleeper->until_ns)
		return SKUA_DONE;
	skua_timer_add(self, &sleeper->timer, sleeper->until_ns);
	return SKUA_PENDING;
}

static int run(struct skua_runtime *rt)
{
	static struct square squares[TASKS];
	struct sleeper sleeper = { SKUA_TASK_INIT(poll_sleeper),
				   SKUA_TIMER_INIT, 0 };
	struct skua_group group;
	unsigned long sum = 0;

	sleeper.until_ns = skua_now_ns() + 1000000;
	skua_group_init(&group, rt);
	for (unsigned long i = 0; i < TASKS; i++) {
		squares[i].n = i;
		skua_task_init(&squares[i].task, poll_square);
		if (skua_group_spawn(&group, &squares[i].task) != 0)
			return 1;
	}
	if (skua_group_wait(&group) != 0 ||
	    skua_runtime_block_on(rt, &sleeper.task) != 0)
		return 1;
	for (unsigned long i = 0; i < TASKS; i++)
		sum += squares[i].result;
	printf("%lu\n", sum);
	return 0;
}

int main(void)
{
	struct skua_config config = { .size = sizeof(config), .workers = 2 };
	struct skua_error error;
	struct skua_runtime *rt;
	int wrong;

	if (skua_runtime_create(&rt, &config, &error) != 0) {
		fprintf(stderr, "%s\n", error.text);
		return 1;
	}
	wrong = run(rt);
	return skua_runtime_destroy(rt) != 0 || wrong;
}
