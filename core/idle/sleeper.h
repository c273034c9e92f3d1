/* SPDX-License-Identifier: MIT */
/* sleeper.h - what the files of the idle protocol ask about one worker or group */
#ifndef SKUA_CORE_IDLE_SLEEPER_H
#define SKUA_CORE_IDLE_SLEEPER_H

#include <assert.h>
#include <errno.h>
#include <sched.h>

#include "core/idle/idle.h"

/* sleeper_group - return the group of worker @i */
static inline struct idle_group *sleeper_group(struct idle *idle, unsigned i)
{
	assert(i < idle->groups->worker_count);
	return &idle->by_group[idle_group_of(idle, i)];
}

/* sleeper_bit - return the bit of worker @i in the words of its group */
static inline uint64_t sleeper_bit(const struct idle *idle, unsigned i)
{
	return UINT64_C(1) << idle->groups->places[i].bit;
}

/* sleeper_cpu_here - return the CPU on which the caller runs, + 1; 0 if that is
 * unknown */
static inline uint32_t sleeper_cpu_here(void)
{
#if defined(SKUA_EXPLORE) || defined(SKUA_SIMULATE)
	return 0;
#else
	int saved = errno; /* the library never sets it */
	int cpu = sched_getcpu();

	errno = saved;
	return (uint32_t)(cpu + 1);
#endif
}

/* sleeper_on - would worker @i wake up on CPU @cpu? A hint. */
static inline bool sleeper_on(const struct idle *idle, unsigned i, uint32_t cpu)
{
	/* Relaxed: a hint. */
	return cpu != 0 && atomic_load_relaxed(&idle->sleepers[i].cpu) == cpu;
}

/* sleeper_parked_in - return the bits of the parked workers of @group */
static inline uint64_t sleeper_parked_in(const struct idle *idle,
					 unsigned group)
{
	/* Relaxed: ordered by the caller's fence, or the caller needs only a
	 * hint. */
	return atomic_load_relaxed(&idle->by_group[group].parked);
}

/* sleeper_any_off - would any parked worker of @group wake up on a CPU other than
 * @here? */
static inline bool sleeper_any_off(const struct idle *idle, unsigned group,
				   uint32_t here)
{
	uint64_t parked = sleeper_parked_in(idle, group);

	for (; parked != 0; parked &= parked - 1) {
		if (!sleeper_on(idle,
				idle->groups->groups[group]
					.workers[__builtin_ctzll(parked)],
				here))
			return true;
	}
	return false;
}

#endif
