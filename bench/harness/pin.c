/* SPDX-License-Identifier: MIT */
/* pin.c - see pin.h */
#include "bench/harness/pin.h"

/* Return the @i-th CPU of a non-empty set; @i wraps at the number of CPUs. */
static size_t choose(const cpu_set_t *cpus, unsigned i)
{
	unsigned left = i % (unsigned)CPU_COUNT(cpus);
	size_t cpu = 0;

	while (!CPU_ISSET(cpu, cpus) || left-- > 0)
		cpu++;
	return cpu;
}

static bool pin_to(pthread_t thread, size_t cpu)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	return pthread_setaffinity_np(thread, sizeof(one), &one) == 0;
}

void pin_caller(struct pin *pin)
{
	pin->pinned =
		sched_getaffinity(0, sizeof(pin->before), &pin->before) == 0 &&
		pin_to(pthread_self(),
		       choose(&pin->before,
			      (unsigned)CPU_COUNT(&pin->before) - 1));
}

void pin_to_worker(const struct pin *pin, pthread_t thread, unsigned i)
{
	if (pin->pinned)
		pin_to(thread, choose(&pin->before, i));
}

bool pin_leaves_cpu(const struct pin *pin, unsigned workers)
{
	return pin->pinned && workers < (unsigned)CPU_COUNT(&pin->before);
}

void pin_restore(struct pin *pin)
{
	if (pin->pinned)
		sched_setaffinity(0, sizeof(pin->before), &pin->before);
	pin->pinned = false;
}
