/* SPDX-License-Identifier: MIT */
/* calibrate.c - see calibrate.h */
#include "bench/harness/calibrate.h"

#include "bench/harness/clock.h"
#include "bench/kernels/compute.h"

#define LOOP_US     1000 /* cost for compute(); really takes 1 to 2 ms */
#define FIRST_LOOPS 20

/* Pin the calling thread. If the kernel refuses, the loop runs on the
 * current CPU. */
static void move_to(const cpu_set_t *cpus)
{
	(void)sched_setaffinity(0, sizeof(*cpus), cpus);
}

/* Time the loop on one CPU, in ns. The migration to it is timed too: it
 * takes long if the CPU is busy. */
static uint64_t time_loop(unsigned cpu)
{
	uint64_t start = clock_ns();
	volatile uint64_t result;
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	move_to(&one);
	result = compute(start, LOOP_US);
	(void)result;
	return clock_ns() - start;
}

bool calibrate_quiet(struct calibration *calibration)
{
	bool quiet = true;

	for (unsigned cpu = 0, i = 0; i < calibration->cpus; cpu++) {
		uint64_t ns, *best = &calibration->best_ns[i];

		if (!CPU_ISSET(cpu, &calibration->allowed))
			continue;
		ns = time_loop(cpu);
		if (*best == 0 || ns < *best)
			*best = ns;
		quiet &= ns * 100 <= *best * (100 + CALIBRATE_PERCENT);
		i++;
	}
	move_to(&calibration->allowed);
	return quiet;
}

void calibrate_start(struct calibration *calibration)
{
	unsigned cpus = 0;

	*calibration = (struct calibration){ 0 };
	if (sched_getaffinity(0, sizeof(calibration->allowed),
			      &calibration->allowed) == 0)
		cpus = (unsigned)CPU_COUNT(&calibration->allowed);
	calibration->cpus = cpus < CALIBRATE_CPUS ? cpus : CALIBRATE_CPUS;
	for (unsigned i = 0; i < FIRST_LOOPS; i++)
		calibrate_quiet(calibration);
}
