/* SPDX-License-Identifier: MIT */
/* driven.c - see driven.h */
#include <sched.h>

#include "tests/fuzz/driven_steps.h"

/* Callbacks in callbacks, in which calls are still made. */
#define MAX_DEPTH 3u

struct driven_place at;

static void step(void);

/* Some calls from where a callback is. */
void driven_act(void)
{
	unsigned count = at.depth < MAX_DEPTH ? below(5) : 0;

	clock_progress();
	at.depth++;
	while (count-- > 0 && fuzz_more(at.in))
		step();
	at.depth--;
}

static void step_of_time(void)
{
	/* When a poller has moved the clock, or a release function that a timer
	 * led to, the worker looks at its timers only when it is called again. */
	if (at.in_poller || at.in_release)
		return;
	clock_advance(fuzz_number(at.in, 2) << below(32));
}

/* One call; when from outside, with all that has to have come of it. */
static void step(void)
{
	switch (below(8)) {
	case 0:
		driven_step_of_runtime();
		break;
	case 1:
		driven_step_of_waker();
		break;
	case 2:
		driven_step_of_group();
		break;
	case 3:
		driven_step_of_timer();
		break;
	case 4:
		driven_step_of_join();
		break;
	case 5:
		step_of_time();
		break;
	default:
		driven_step_of_job();
	}
	model_timers();
	if (!inside() && at.depth == 0)
		model_check_quiet();
}

static void find_cpu(void)
{
	cpu_set_t set;
	size_t cpu = 0;

	CPU_ZERO(&set);
	sched_getaffinity(0, sizeof(set), &set);
	while (cpu < CPU_SETSIZE - 1 && !CPU_ISSET(cpu, &set))
		cpu++;
	snprintf(at.cpu, sizeof(at.cpu), "%zu", cpu);
}

void driven_run(struct fuzz_input *in)
{
	memset(&at, 0, sizeof(at));
	at.in = in;
	find_cpu();
	model_reset();
	clock_stop();

	driven_create(&runtimes[0]);
	while (fuzz_more(in)) {
		step();
		/* One of two, at least, is driven. */
		if (below(4) == 0)
			driven_poll(&runtimes[0]);
	}
	for (unsigned i = 0; i < RUNTIMES; i++)
		driven_finish(&runtimes[i]);
	for (unsigned i = 0; i < WAKERS; i++)
		driven_drop_waker(i);
	model_check_quiet();
	clock_resume();
}
