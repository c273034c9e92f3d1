/* SPDX-License-Identifier: MIT */
/* chaos.c - see chaos.h; itself compiled without it */
#include <errno.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

void chaos_point(void);

/* One in so many operations, of which some pause for longer. */
#define ONE_IN        64u
#define ONE_YIELDS_IN 8u
#define ONE_SLEEPS_IN 128u
#define SPINS         200u
#define SLEEP_NS      100000u

static uint64_t seed;
static uint32_t threads;

__attribute__((constructor)) static void read_seed(void)
{
	const char *text = getenv("SKUA_CHAOS");
	char *end = NULL;

	seed = text && *text ? strtoull(text, &end, 10) : 1;
	if (end && *end) {
		fprintf(stderr, "SKUA_CHAOS: \"%s\", allowed is a number\n",
			text);
		exit(1);
	}
}

/* xorshift64, begun from the seed and the thread's number. */
static uint64_t next_random(void)
{
	static _Thread_local uint64_t state;

	if (state == 0)
		state = (seed +
			 __atomic_add_fetch(&threads, 1, __ATOMIC_RELAXED)) *
				UINT64_C(0x9e3779b97f4a7c15) |
			1;
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

void chaos_point(void)
{
	uint64_t random = next_random() >> 11;
	int saved = errno;

	if (random % ONE_IN != 0)
		return;
	random /= ONE_IN;
	if (random % ONE_SLEEPS_IN == 0) {
		const struct timespec nap = { 0, (long)(random / ONE_SLEEPS_IN %
							SLEEP_NS) };

		nanosleep(&nap, NULL);
	} else if (random % ONE_YIELDS_IN == 0) {
		sched_yield();
	} else {
		for (uint64_t i = random / ONE_YIELDS_IN % SPINS; i > 0; i--)
			__asm__ volatile("" ::: "memory");
	}
	errno = saved;
}
