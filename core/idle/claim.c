/* SPDX-License-Identifier: MIT */
/* claim.c - see claim.h, and core/idle/IDLE.md for the protocol and its proof */
#include "core/idle/claim.h"

#include <unistd.h>

#include "core/base/clock.h"
#include "core/idle/sleeper.h"
#include "probes/probes.h"

bool claim_worker(struct idle *idle, unsigned i, uint32_t told)
{
	uint64_t bit = sleeper_bit(idle, i);
	uint64_t now_ns;

	/* Release: the caller counted worker @i as a searcher before (I4).
	 * Pairs with the acquires in idle_park_cancel() and idle_parked(). */
	if (!(atomic_fetch_and_acq_rel(&sleeper_group(idle, i)->parked, ~bit) &
	      bit))
		return false;
	now_ns = clock_now_ns();
	/* Relaxed, both: they only decide about extra wake-ups. */
	atomic_store_relaxed(&sleeper_group(idle, i)->waking, i + 1);
	atomic_store_relaxed(&sleeper_group(idle, i)->lease_ns, now_ns);
	/* Relaxed, these two and claimed_by below: the notification publishes
	 * them. */
	atomic_store_relaxed(&idle->sleepers[i].claimed_ns, now_ns);
	atomic_store_relaxed(&idle->sleepers[i].told, told);
	/* Relaxed: tracing may begin with any wake-up. */
	if (probe_unpark_enabled() || atomic_load_relaxed(&idle->note_wakers))
		atomic_store_relaxed(&idle->sleepers[i].claimed_by,
				     (uint32_t)gettid());
	parker_unpark(&idle->sleepers[i].parker);
	return true;
}

/* Was the CPU of worker @i busy when it was last woken, not long ago? */
static bool avoided(const struct idle *idle, unsigned i)
{
	const struct llc_place *place = &idle->groups->places[i];

	/* Relaxed, both: hints. */
	return (atomic_load_relaxed(&idle->by_group[place->group].avoided) >>
			place->bit &
		1) &&
	       clock_now_ns() <
		       atomic_load_relaxed(&idle->sleepers[i].avoid_until_ns);
}

/*
 * Wake penalty of worker @i for a waker on CPU @here; lower is preferred.
 * @parked has the parked workers of its group. The penalties, from the highest:
 * its CPU was busy when it was last woken; it would wake up on CPU @here, which
 * is busy with the caller, and may stay so until the caller's time slice ends,
 * but more often the caller sleeps soon; it is the sentinel, whose role another
 * worker must then be woken for; another worker of its core is awake; it is not
 * the worker that parked last.
 */
static unsigned wake_penalty(const struct idle *idle, unsigned i,
			     uint64_t parked, uint32_t here)
{
	const struct llc_place *place = &idle->groups->places[i];
	const struct idle_group *group = &idle->by_group[place->group];

	/* Relaxed, all: a wrong choice costs only time. */
	return 16u * avoided(idle, i) + 8u * sleeper_on(idle, i, here) +
	       4u * (atomic_load_relaxed(&group->last_choice) == i + 1) +
	       2u * ((place->siblings & ~parked) != 0) +
	       (atomic_load_relaxed(&group->first_choice) != i + 1);
}

static unsigned choose_parked(const struct idle *idle, unsigned group,
			      uint64_t parked)
{
	const struct llc_group *members = &idle->groups->groups[group];
	unsigned best = members->workers[__builtin_ctzll(parked)];
	uint32_t here = sleeper_cpu_here();
	unsigned least = wake_penalty(idle, best, parked, here);

	for (uint64_t left = parked & (parked - 1); left != 0 && least != 0;
	     left &= left - 1) {
		unsigned i = members->workers[__builtin_ctzll(left)];
		unsigned value = wake_penalty(idle, i, parked, here);

		if (value < least) {
			least = value;
			best = i;
		}
	}
	return best;
}

bool claim_any(struct idle *idle, unsigned group, uint32_t told)
{
	/* The loop repeats when another thread has cleared the chosen bit.
	 * Relaxed, both: a hint; the read-modify-write in claim_worker()
	 * decides. */
	uint64_t parked = atomic_load_relaxed(&idle->by_group[group].parked);

	while (parked != 0) {
		if (claim_worker(idle, choose_parked(idle, group, parked),
				 told))
			return true;
		parked = atomic_load_relaxed(&idle->by_group[group].parked);
	}
	return false;
}
