/* SPDX-License-Identifier: MIT */
/* test_cpu_contention.c - how much of the CPUs went to others */
#include <stddef.h>
#include <stdint.h>

#include <unistd.h>

#include "bench/harness/cpu_contention.h"
#include "tests/unit/unit.h"

#define NS_PER_S UINT64_C(1000000000)

static const struct cpu_contention before = { true, 5 * NS_PER_S,
					      100 * NS_PER_S, NS_PER_S, 2 };

/* After ten seconds on two CPUs, of which @own_s were ours, and @busy_s anybody's. */
static struct cpu_contention after(uint64_t own_s, uint64_t busy_s)
{
	struct cpu_contention others = before;

	others.now_ns += 10 * NS_PER_S;
	others.own_ns += own_s * NS_PER_S;
	others.busy_ns += busy_s * NS_PER_S;
	return others;
}

TEST(others_percent__a_busy_neighbour__its_share)
{
	struct cpu_contention now = after(10, 16);
	/* Ticks that are begun do not count. */
	double ticks = 4.0 / (double)sysconf(_SC_CLK_TCK);
	double percent = cpu_contention_percent(&before, &now);

	assert_true(percent <= 30);
	assert_true(percent >= 30 - 100 * ticks / 20 - 0.001);
	assert_true(percent > CPU_CONTENTION_MAX_PERCENT);
}

TEST(others_percent__nobody_else__0)
{
	struct cpu_contention now = after(20, 20);

	assert_true(cpu_contention_percent(&before, &now) == 0);
	now = after(20, 19); /* ticks are coarser than our own time */
	assert_true(cpu_contention_percent(&before, &now) == 0);
}

TEST(others_percent__unknown__0)
{
	struct cpu_contention now = after(0, 20);

	now.known = false;
	assert_true(cpu_contention_percent(&before, &now) == 0);
	now = after(0, 20);
	now.cpus = 1; /* one was taken away */
	assert_true(cpu_contention_percent(&before, &now) == 0);
	assert_true(cpu_contention_percent(&before, &before) == 0);
}

TEST(others_look__twice__time_passes)
{
	struct cpu_contention first, second;

	cpu_contention_read(&first);
	cpu_contention_read(&second);
	assert_true(second.now_ns >= first.now_ns);
	assert_true(second.own_ns >= first.own_ns);
	assert_true(first.known == (first.cpus > 0));
	assert_true(!first.known || first.busy_ns > 0);
}
