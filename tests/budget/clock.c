/* SPDX-License-Identifier: MIT */
/*
 * clock.c - a clock that counts how often it is read
 *
 * Preloaded into a program whose instructions are counted. A worker looks after
 * its timers and the injection queue as often as its polls are long, so that by
 * the real clock the count would depend on the machine, and on what else that
 * does. Here time nearly stands still, and all polls are short. Only for what
 * waits for no time: one worker without timers.
 */
#include <stdint.h>
#include <time.h>

#define NS_PER_S UINT64_C(1000000000)
/* Not 0, so that there are times that have passed. */
#define START_NS NS_PER_S

int clock_gettime(clockid_t id, struct timespec *now)
{
	static uint64_t reads;
	/* Relaxed: the order of the threads decides nothing. */
	uint64_t now_ns =
		START_NS + __atomic_add_fetch(&reads, 1, __ATOMIC_RELAXED);

	(void)id;
	now->tv_sec = (time_t)(now_ns / NS_PER_S);
	now->tv_nsec = (long)(now_ns % NS_PER_S);
	return 0;
}
