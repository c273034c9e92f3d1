/* SPDX-License-Identifier: MIT */
/**
 * hostile_affinity.c - change the CPUs on which workers may run all the time
 *
 * A thousand times a second, a thread restricts a random worker to a random set of CPUs.
 * Workers are therefore moved while they search, steal and fall asleep, and sometimes
 * share a CPU.
 */
#include <sched.h>

#include "tests/hostile/hostile.h"

#define PERIOD_NS UINT64_C(1000000)

static uint64_t moves;

/* Return a random non-empty subset of @all. */
static cpu_set_t some_of(const cpu_set_t *all, struct rng *rng)
{
	cpu_set_t some;

	do {
		CPU_ZERO(&some);
		for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++) {
			if (CPU_ISSET(cpu, all) && rng_below(rng, 2))
				CPU_SET(cpu, &some);
		}
	} while (CPU_COUNT(&some) == 0);
	return some;
}

static void *move_workers(void *arg)
{
	struct hostile *h = arg;
	uint64_t when_ns = skua_now_ns();
	struct rng rng;
	cpu_set_t all;

	rng_init(&rng, h->workers);
	if (sched_getaffinity(0, sizeof(all), &all) != 0)
		stress_fail("no affinity");
	while (!hostile_over(h)) {
		pid_t tid = h->tids[rng_below(&rng, h->workers)];
		cpu_set_t some = some_of(&all, &rng);

		if (sched_setaffinity(tid, sizeof(some), &some) != 0)
			stress_fail("a worker cannot be moved");
		moves++;
		when_ns += PERIOD_NS;
		hostile_nap_until(when_ns);
	}
	return NULL;
}

int main(void)
{
	static const unsigned workers[] = { 2, 8 };
	static struct hostile h;
	uint64_t done = 0;
	cpu_set_t all;

	if (sched_getaffinity(0, sizeof(all), &all) != 0 || CPU_COUNT(&all) < 2)
		hostile_skip("one CPU: there is nowhere to move a worker to");
	for (unsigned i = 0; i < 2; i++) {
		hostile_open(&h, workers[i], NULL);
		done += hostile_run_against(&h, hostile_tasks() / 2,
					    move_workers);
		hostile_close(&h);
	}
	printf("affinity: %" PRIu64 " tasks, each done once; %" PRIu64
	       " times a worker was moved\n",
	       done, moves);
	return 0;
}
