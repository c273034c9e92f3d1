/* SPDX-License-Identifier: MIT */
/* idle.c - searching and parking; see core/idle/IDLE.md for the protocol and its proof */
#include "core/idle/idle.h"

#include <assert.h>

#include "core/idle/sleeper.h"

/* The wake cost before the first measurement. A guess, between bare metal and a
 * guest. */
#define WAKE_COST_FIRST_NS UINT64_C(5000)
/* A longer wake-up is not counted: the sleeper's CPU was busy. */
#define WAKE_COST_MAX_NS UINT64_C(50000)
/* Wakers avoid a worker whose CPU was busy for this many times the delay that it
 * caused. A guess: with a delay of 4 ms, a time slice of another thread, and
 * 1,000 wake-ups a second, one wake-up of 4,000 has such a delay. */
#define AVOID_DELAYS UINT64_C(1024)
/* And no longer than this: the process may have been stopped. */
#define AVOID_MAX_NS UINT64_C(10000000000)

void idle_init(struct idle *idle, const struct llc_groups *groups,
	       struct idle_group *by_group, struct idle_sleeper *sleepers)
{
	assert(groups->worker_count > 0 &&
	       groups->worker_count <= IDLE_MAX_WORKERS);
	atomic_init(&idle->note_wakers, 0);
	idle->groups = groups;
	idle->group_count = groups->count;
	idle->by_group = by_group;
	idle->sleepers = sleepers;
	for (unsigned w = 0; w < SUMMARY_WORDS(IDLE_MAX_WORKERS); w++)
		atomic_init(&idle->sleepy[w], 0);
	for (unsigned g = 0; g < groups->count; g++) {
		atomic_init(&by_group[g].parked, 0);
		atomic_init(&by_group[g].searching, 0);
		atomic_init(&by_group[g].first_choice, 0);
		atomic_init(&by_group[g].last_choice, 0);
		atomic_init(&by_group[g].avoided, 0);
		atomic_init(&by_group[g].waking, 0);
		atomic_init(&by_group[g].lease_ns, 0);
		atomic_init(&by_group[g].wake_cost_ns, WAKE_COST_FIRST_NS);
	}
	for (unsigned i = 0; i < groups->worker_count; i++) {
		parker_init(&sleepers[i].parker);
		atomic_init(&sleepers[i].claimed_ns, 0);
		atomic_init(&sleepers[i].claimed_by, 0);
		atomic_init(&sleepers[i].cpu, 0);
		atomic_init(&sleepers[i].told, 0);
		atomic_init(&sleepers[i].avoid_until_ns, 0);
		sleepers[i].wake_cost_ns = WAKE_COST_FIRST_NS;
	}
}

unsigned idle_group_of_caller(const struct idle *idle)
{
	uint32_t here = sleeper_cpu_here();

	return here ? llc_groups_of_cpu(idle->groups, here - 1) : 0;
}

/* ---- searching and parking -------------------------------------------------- */

bool idle_try_search(struct idle *idle, unsigned i)
{
	struct idle_group *group = sleeper_group(idle, i);

	/* Relaxed: the limit only saves cost. Two workers that pass the check
	 * together exceed it by one. */
	if (2 * atomic_load_relaxed(&group->searching) >=
	    idle->groups->groups[idle_group_of(idle, i)].count)
		return false;
	/* Relaxed: a producer that does not see the count yet wakes one worker
	 * too many. */
	atomic_fetch_add_relaxed(&group->searching, 1);
	return true;
}

bool idle_leave_search(struct idle *idle, unsigned i)
{
	/* Release: publishes the tasks that the caller moved into its own queue
	 * to the searchers that remain. Acquire: the tasks of the searchers
	 * that left before. Pairs with itself and with the decrement in
	 * idle_park_begin(). */
	uint64_t before =
		atomic_fetch_sub_acq_rel(&sleeper_group(idle, i)->searching, 1);

	assert(before > 0);
	if (before != 1)
		return false;
	/* Orders the count before the caller's check of the queues. Pairs with
	 * the fence in idle_notify(): either the caller sees the push, or the
	 * producer sees that no worker searches any more. */
	atomic_fence_seq_cst();
	return true;
}

void idle_park_begin(struct idle *idle, unsigned i, bool searching)
{
	struct idle_group *group = sleeper_group(idle, i);

	/* Relaxed, all: claimed_by is only traced, and the others are hints.
	 * Stored before the parked bit is set. */
	atomic_store_relaxed(&idle->sleepers[i].claimed_by, 0);
	atomic_store_relaxed(&idle->sleepers[i].cpu, sleeper_cpu_here());
	atomic_store_relaxed(&group->first_choice, i + 1);
	/* Relaxed: ordered by the fence. The bit is set before the count goes
	 * down, so that a thread that sees no searcher finds a worker to
	 * wake. */
	atomic_fetch_or_relaxed(&group->parked, sleeper_bit(idle, i));
	summary_raise(idle->sleepy, idle_group_of(idle, i)); /* I8 */
	/* Acquire: the tasks that earlier searchers moved into their queues.
	 * Pairs with the release in idle_leave_search(). */
	if (searching)
		atomic_fetch_sub_acq_rel(&group->searching, 1);
	/* Orders the parked bit and the count before the caller's check of the
	 * queues. Pairs with the fences in idle_notify() and
	 * idle_leave_search(). */
	atomic_fence_seq_cst();
}

void idle_park_cancel(struct idle *idle, unsigned i)
{
	struct idle_group *group = sleeper_group(idle, i);
	uint64_t bit = sleeper_bit(idle, i);

	/* Acquire: if a waker cleared the bit, it had counted this worker as a
	 * searcher before. Pairs with the release in claim_worker(). */
	if (atomic_fetch_and_acq_rel(&group->parked, ~bit) & bit)
		atomic_fetch_add_relaxed(&group->searching, 1);
	else
		idle_begun(idle, i);
	/* If a waker cleared the bit, its notification may still come. It then
	 * ends a later park without cause. */

	/* I7. Orders the cleared bit before everything that the worker does
	 * from now on. Pairs with the fences in give_role() and
	 * sentinel_summon(). */
	atomic_fence_seq_cst();
}

void idle_begun(struct idle *idle, unsigned i)
{
	atomic_u32 *waking = &sleeper_group(idle, i)->waking;

	/* Relaxed, both: a hint, which only decides about extra wake-ups. A
	 * waker may write a later claim between the two; then it is lost. */
	if (atomic_load_relaxed(waking) == i + 1)
		atomic_store_relaxed(waking, 0);
}

void idle_woken(struct idle *idle, unsigned i, uint64_t now_ns)
{
	struct idle_sleeper *sleeper = &idle->sleepers[i];
	atomic_u64 *of_group = &sleeper_group(idle, i)->wake_cost_ns;
	/* Relaxed, all: a statistic. If two sleepers write the group's value at
	 * the same time, one value may be lost. */
	uint64_t cost_ns = now_ns - atomic_load_relaxed(&sleeper->claimed_ns);
	uint64_t group_ns = atomic_load_relaxed(of_group);
	uint64_t mean_ns;

	if (cost_ns > WAKE_COST_MAX_NS)
		return;
	mean_ns = (cost_ns + 7 * sleeper->wake_cost_ns) / 8;
	sleeper->wake_cost_ns = mean_ns;
	if (mean_ns > group_ns + group_ns / 8 ||
	    mean_ns < group_ns - group_ns / 8)
		atomic_store_relaxed(of_group, mean_ns);
}

void idle_delayed(struct idle *idle, unsigned i, uint64_t delay_ns,
		  uint64_t now_ns)
{
	atomic_u64 *avoided = &sleeper_group(idle, i)->avoided;
	uint64_t bit = sleeper_bit(idle, i);
	bool marked = atomic_load_relaxed(avoided) & bit;

	/* Relaxed, all: hints. */
	if (delay_ns > WAKE_COST_MAX_NS) {
		uint64_t avoid_ns = AVOID_DELAYS * delay_ns;

		if (avoid_ns > AVOID_MAX_NS)
			avoid_ns = AVOID_MAX_NS;
		atomic_store_relaxed(&idle->sleepers[i].avoid_until_ns,
				     now_ns + avoid_ns);
		if (!marked)
			atomic_fetch_or_relaxed(avoided, bit);
	} else if (marked) {
		atomic_fetch_and_relaxed(avoided, ~bit);
	}
}

uint32_t idle_waker(const struct idle *idle, unsigned i)
{
	/* Relaxed: for tracing only. */
	return atomic_load_relaxed(&idle->sleepers[i].claimed_by);
}

/* ---- sleepers ---------------------------------------------------------------- */

bool idle_any_sleepy(const struct idle *idle)
{
	unsigned groups = idle->groups->count;

	return summary_next(idle->sleepy, 0, groups) < groups;
}

int idle_first_parked_in(const struct idle *idle, unsigned group)
{
	uint64_t parked = sleeper_parked_in(idle, group);

	return parked == 0 ? -1
			   : (int)idle->groups->groups[group]
				     .workers[__builtin_ctzll(parked)];
}

bool idle_sleeps_on(const struct idle *idle, unsigned i, unsigned cpu)
{
	return sleeper_on(idle, i, cpu + 1);
}

int idle_find_on(const struct idle *idle, unsigned group, unsigned cpu)
{
	const struct llc_group *members = &idle->groups->groups[group];

	for (unsigned n = 0; n < members->count; n++) {
		if (sleeper_on(idle, members->workers[n], cpu + 1))
			return members->workers[n];
	}
	return -1;
}

bool idle_sleeps_elsewhere(const struct idle *idle)
{
	unsigned groups = idle->groups->count;
	uint32_t here = sleeper_cpu_here();

	for (unsigned g = 0;
	     (g = summary_next(idle->sleepy, g, groups)) < groups; g++) {
		if (sleeper_any_off(idle, g, here))
			return true;
	}
	return false;
}

unsigned idle_at_work(const struct idle *idle)
{
	uint64_t workers = idle->groups->worker_count;
	uint64_t count = 0;

	/* Acquire: the parked bits of workers that are no searchers any more.
	 * Pairs with idle_park_begin(), which sets the bit before it takes the
	 * count back. A worker between the two states may count twice. */
	for (unsigned g = 0; g < idle->groups->count; g++) {
		count += atomic_load_acquire(&idle->by_group[g].searching);
		count += (unsigned)__builtin_popcountll(
			sleeper_parked_in(idle, g));
	}
	return count < workers ? (unsigned)(workers - count) : 0;
}

bool idle_all_parked(const struct idle *idle)
{
	unsigned parked = 0;

	for (unsigned g = 0; g < idle->groups->count; g++)
		parked += (unsigned)__builtin_popcountll(
			sleeper_parked_in(idle, g));
	return parked == idle->groups->worker_count;
}
