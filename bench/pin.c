/* SPDX-License-Identifier: MIT */
/* pin.c - see pin.h */
#include "bench/pin.h"

#include <stddef.h>

/* The first or the last CPU of a set; CPU_SETSIZE if it is empty. */
static size_t choose(const cpu_set_t *cpus, bool last)
{
	size_t cpu = CPU_SETSIZE;

	for (size_t i = 0; i < CPU_SETSIZE; i++)
		if (CPU_ISSET(i, cpus) && (last || cpu == CPU_SETSIZE))
			cpu = i;
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
		pin_to(pthread_self(), choose(&pin->before, true));
}

void pin_beside(const struct pin *pin, pthread_t thread)
{
	if (pin->pinned)
		pin_to(thread, choose(&pin->before, false));
}

void pin_end(struct pin *pin)
{
	if (pin->pinned)
		sched_setaffinity(0, sizeof(pin->before), &pin->before);
	pin->pinned = false;
}
