/* SPDX-License-Identifier: MIT */
/* cpu_contention.c - see cpu_contention.h */
#include "bench/harness/cpu_contention.h"

#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "bench/harness/clock.h"

#define NS_PER_S UINT64_C(1000000000)

/* One CPU's line in /proc/stat: time since boot in each state, in clock ticks. */
struct ticks {
	unsigned cpu;
	uint64_t user, nice, system, idle, iowait, irq, softirq, steal;
};

static bool read_line(const char *line, struct ticks *t)
{
	*t = (struct ticks){ 0 };
	return sscanf(line,
		      "cpu%u %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64
		      " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64,
		      &t->cpu, &t->user, &t->nice, &t->system, &t->idle,
		      &t->iowait, &t->irq, &t->softirq, &t->steal) == 9;
}

static uint64_t busy_ticks(const struct ticks *t)
{
	return t->user + t->nice + t->system + t->irq + t->softirq + t->steal;
}

static uint64_t own_ns(void)
{
	struct timespec used = { 0 };

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
	return (uint64_t)used.tv_sec * NS_PER_S + (uint64_t)used.tv_nsec;
}

void cpu_contention_read(struct cpu_contention *now)
{
	uint64_t tick_ns = NS_PER_S / (uint64_t)sysconf(_SC_CLK_TCK);
	FILE *file = fopen("/proc/stat", "re");
	struct ticks ticks;
	cpu_set_t allowed;
	char line[512];

	*now = (struct cpu_contention){ .now_ns = clock_ns(),
					.own_ns = own_ns() };
	CPU_ZERO(&allowed);
	(void)sched_getaffinity(0, sizeof(allowed), &allowed);
	while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
		if (!read_line(line, &ticks) || ticks.cpu >= CPU_SETSIZE ||
		    !CPU_ISSET(ticks.cpu, &allowed))
			continue;
		now->busy_ns += busy_ticks(&ticks) * tick_ns;
		now->cpus++;
	}
	now->known = now->cpus > 0;
	if (file != NULL)
		fclose(file);
}

double cpu_contention_percent(const struct cpu_contention *before,
			      const struct cpu_contention *after)
{
	double wall = (double)(after->now_ns - before->now_ns);
	double own = (double)(after->own_ns - before->own_ns);
	double busy = (double)after->busy_ns - (double)before->busy_ns;
	/* Each CPU's count can be off by one tick at the start and at the end. */
	double tick = (double)NS_PER_S / (double)sysconf(_SC_CLK_TCK);
	double others = busy - own - 2 * tick * after->cpus;

	if (!before->known || !after->known || wall <= 0 || others <= 0 ||
	    after->cpus != before->cpus)
		return 0;
	return 100 * others / (wall * after->cpus);
}
