/* SPDX-License-Identifier: MIT */
/* wake.c - in which group to wake a worker, and whether; see core/idle/IDLE.md for the
 * protocol and its proof */
#include <assert.h>

#include "core/base/hot.h"
#include "core/idle/claim.h"
#include "core/idle/idle.h"
#include "core/idle/sleeper.h"

/* The lease, in wake costs: for how long wakers trust the count of searchers
 * while none of them renews it. A guess: a woken worker that has a CPU rarely
 * takes as long to its first step. */
#define LEASE_WAKES 4u
/* The value of now_ns in a producer, which reads no clock: for it, no lease has
 * run out. */
#define UNTIMED UINT64_C(0)

/* ---- choosing a group ------------------------------------------------------- */

/* Clear the summary bit of @group, in which no worker seemed to be parked (I8).
 * True if one is parked after all; the bit is then set again. */
static bool still_sleepy(struct idle *idle, unsigned group)
{
	summary_lower(idle->sleepy, group);
	if (sleeper_parked_in(idle, group) == 0)
		return false;
	summary_return(idle->sleepy, group);
	return true;
}

/* A search for a group with a worker to wake. */
struct look {
	uint64_t now_ns; /* or UNTIMED */
	/* The search has passed over a group because one of the group's workers
	 * searches. */
	bool searched;
};

/* Has the lease of @group run out? Then no worker has shown since that it
 * searches. */
static bool lapsed(const struct idle *idle, unsigned group, uint64_t now_ns)
{
	/* Relaxed, both: the lease only decides about extra wake-ups. */
	return now_ns != UNTIMED &&
	       (int64_t)(now_ns -
			 atomic_load_relaxed(&idle->by_group[group].lease_ns)) >
		       (int64_t)(LEASE_WAKES * idle_wake_cost_ns(idle, group));
}

/* Does a worker of the group search, with a lease that has not run out? Then
 * producers rely on it. */
static bool searched(const struct idle *idle, unsigned group, uint64_t now_ns)
{
	/* Relaxed: ordered by the caller's fence. */
	return atomic_load_relaxed(&idle->by_group[group].searching) != 0 &&
	       !lapsed(idle, group, now_ns);
}

/* Return the first group, from @from on and below @to, in which a worker is
 * parked and none searches; -1: there is none. */
static int sleepy_from(struct idle *idle, struct look *look, unsigned from,
		       unsigned to)
{
	for (; (from = summary_next(idle->sleepy, from, to)) < to; from++) {
		if (sleeper_parked_in(idle, from) != 0 ||
		    still_sleepy(idle, from)) {
			if (!searched(idle, from, look->now_ns))
				return (int)from;
			look->searched = true;
		}
	}
	return -1;
}

/* The same for the groups of a node, in a circle from a group given by
 * @start. */
static int sleepy_of_node(struct idle *idle, struct look *look,
			  const struct llc_node *node, unsigned start)
{
	unsigned from = node->first + start % node->count;
	int group = sleepy_from(idle, look, from, node->first + node->count);

	return group >= 0 ? group : sleepy_from(idle, look, node->first, from);
}

/* Return the nearest other group in which a worker is parked and none searches;
 * -1: there is none. */
static int sleepy_elsewhere(struct idle *idle, struct look *look, unsigned own)
{
	const struct llc_groups *groups = idle->groups;
	const struct llc_node *node = &groups->nodes[groups->groups[own].node];
	int group = -1;

	if (node->count > 1)
		group = sleepy_of_node(idle, look, node, own + 1 - node->first);
	for (unsigned n = 0; group < 0 && n + 1 < groups->node_count; n++)
		group = sleepy_of_node(idle, look,
				       &groups->nodes[node->others[n]], own);
	return group;
}

/* Return the group in which to wake a worker; -1 if none is parked, or if a
 * searcher will find the work (I1). A group whose parked workers would all wake
 * up on the caller's CPU comes last. */
static int group_to_wake(struct idle *idle, unsigned own, uint64_t now_ns)
{
	struct look look = { now_ns, false };
	uint64_t parked;
	int other;

	if (searched(idle, own, now_ns))
		return -1;
	parked = sleeper_parked_in(idle, own);
	if (parked != 0 && (idle->group_count == 1 ||
			    sleeper_any_off(idle, own, sleeper_cpu_here())))
		return (int)own;
	other = idle->group_count > 1 ? sleepy_elsewhere(idle, &look, own) : -1;
	if (other >= 0)
		return other;
	return parked != 0 && !look.searched ? (int)own : -1;
}

/* Is there no worker to wake, as a quick check of the caller's group and of the
 * summary shows? */
static bool nobody_to_wake(const struct idle *idle, unsigned own)
{
	const struct idle_group *group = &idle->by_group[own];

	/* Relaxed, all: ordered by the caller's fence. */
	if (atomic_load_relaxed(&group->searching) != 0)
		return true;
	return atomic_load_relaxed(&group->parked) == 0 &&
	       idle->group_count <= SUMMARY_BITS &&
	       (atomic_load_relaxed(&idle->sleepy[0]) & ~summary_bit(own)) == 0;
}

/* ---- waking ----------------------------------------------------------------- */

/*
 * Count a searcher on behalf of the worker that the caller is going to wake.
 * The count goes up first, so that the next waker wakes no second worker, and
 * the woken worker can take its count back at any time. Return: false if
 * another waker was faster.
 */
static bool count_claim(struct idle_group *group, const struct idle *idle,
			uint64_t now_ns)
{
	uint64_t none = 0;
	uint64_t lease_ns;

	/* Count up only from 0: one wake-up at a time is under way in a group
	 * (I3).
	 * Relaxed: ordered by the caller's fence. */
	if (atomic_cas_relaxed(&group->searching, &none, 1))
		return true;
	/* A second wake-up is allowed once in each lease, because the searchers
	 * may have no CPU. Relaxed, all: ordered by the caller's fence; of the
	 * wakers that see the lease run out, one renews it by the
	 * compare-exchange. */
	lease_ns = atomic_load_relaxed(&group->lease_ns);
	if (!lapsed(idle, (unsigned)(group - idle->by_group), now_ns) ||
	    !atomic_cas_relaxed(&group->lease_ns, &lease_ns, now_ns))
		return false;
	atomic_fetch_add_relaxed(&group->searching, 1);
	return true;
}

/* Wake a worker of @group, unless another waker is faster. Return: false if no
 * worker was parked any more. The caller must then check again (I4). */
static bool wake_in(struct idle *idle, unsigned group, uint64_t now_ns,
		    uint32_t told)
{
	if (!count_claim(&idle->by_group[group], idle, now_ns) ||
	    claim_any(idle, group, told))
		return true;
	/*
	 * No bit was left to claim. Producers may have relied on the count
	 * meanwhile: take it back, and let the caller check again on their
	 * behalf (I4). Release and acquire: as in idle_leave_search(), so that
	 * the chain of decrements has no gap. The fence orders the count before
	 * that check, and pairs with the fence in idle_notify().
	 */
	atomic_fetch_sub_acq_rel(&idle->by_group[group].searching, 1);
	atomic_fence_seq_cst();
	return false;
}

static __attribute__((noinline)) void wake(struct idle *idle, unsigned group,
					   uint64_t now_ns, uint32_t told)
{
	int g;

	/* The loop repeats when the parked bits that group_to_wake() saw are
	 * gone. */
	do
		g = group_to_wake(idle, group, now_ns);
	while (g >= 0 && !wake_in(idle, (unsigned)g, now_ns, told));
}

HOT void idle_wake(struct idle *idle, unsigned group)
{
	if (!nobody_to_wake(idle, group))
		wake(idle, group, UNTIMED, 0);
}

/* Claim a second worker of @group, whose only searcher was claimed and has not
 * begun (I3). */
static __attribute__((noinline)) void wake_second(struct idle *idle,
						  unsigned group)
{
	atomic_u64 *searching = &idle->by_group[group].searching;
	uint64_t one = 1;

	/* Relaxed, all: ordered by the caller's fence. */
	if (sleeper_parked_in(idle, group) == 0 ||
	    !atomic_cas_relaxed(searching, &one, 2) ||
	    claim_any(idle, group, 0))
		return;
	/* No bit was left to claim: as in wake_in() (I4). */
	atomic_fetch_sub_acq_rel(searching, 1);
	atomic_fence_seq_cst();
	idle_wake(idle, group);
}

void idle_wake_injected(struct idle *idle, unsigned group)
{
	/* Relaxed: a hint. */
	if (atomic_load_relaxed(&idle->by_group[group].waking) != 0 &&
	    atomic_load_relaxed(&idle->by_group[group].searching) == 1)
		wake_second(idle, group);
	else
		idle_wake(idle, group);
}

/* Wake a worker of the nearest other group in which one is parked and none
 * searches. */
static void wake_elsewhere(struct idle *idle, unsigned own, uint32_t told)
{
	struct look look = { UNTIMED, false };
	int g = sleepy_elsewhere(idle, &look, own);

	if (g >= 0 && !wake_in(idle, (unsigned)g, UNTIMED, told))
		wake(idle, own, UNTIMED, told);
}

/* I3. If the workers of the nearest groups search, this reads a line of each. */
void idle_wake_for(struct idle *idle, unsigned group, uint32_t tasks)
{
	if (idle->group_count == 1 || tasks < IDLE_MANY) {
		idle_wake(idle, group);
		return;
	}
	if (!nobody_to_wake(idle, group))
		wake(idle, group, UNTIMED, tasks / 2);
	wake_elsewhere(idle, group, tasks / 2);
}

void idle_renew(struct idle *idle, unsigned group, uint64_t now_ns)
{
	atomic_u64 *lease = &idle->by_group[group].lease_ns;
	/* Relaxed, all: the lease only decides about extra wake-ups. */
	uint64_t least_ns = idle_wake_cost_ns(idle, group);

	/* Write only after a whole wake cost, so that the line stays shared. */
	if ((int64_t)(now_ns - atomic_load_relaxed(lease)) > (int64_t)least_ns)
		atomic_store_relaxed(lease, now_ns);
}

HOT bool idle_lapsed(struct idle *idle, unsigned group, uint64_t now_ns)
{
	/* The usual case first. Relaxed: a hint. */
	if (idle->group_count == 1 &&
	    atomic_load_relaxed(&idle->by_group[0].searching) == 0)
		return false;
	return group_to_wake(idle, group, UNTIMED) < 0 &&
	       group_to_wake(idle, group, now_ns) >= 0;
}

void idle_wake_beside(struct idle *idle, unsigned group, uint64_t now_ns)
{
	wake(idle, group, now_ns, 0);
}

void idle_wake_worker(struct idle *idle, unsigned i)
{
	struct idle_group *group = sleeper_group(idle, i);

	/* Ordered by the caller's fence. A worker that is awake checks its
	 * inbox before it sleeps (I2). */
	if (!(sleeper_parked_in(idle, idle_group_of(idle, i)) &
	      sleeper_bit(idle, i)))
		return;
	/* The count goes up before the bit is cleared (I4). Relaxed: ordered by
	 * the release in claim_worker(). */
	atomic_fetch_add_relaxed(&group->searching, 1);
	if (claim_worker(idle, i, 0))
		return;
	/* The worker is awake: take the count back and check again (I4), as in
	 * wake(). */
	atomic_fetch_sub_acq_rel(&group->searching, 1);
	atomic_fence_seq_cst();
	idle_wake(idle, idle_group_of(idle, i));
}

void idle_wake_all(struct idle *idle)
{
	/* Relaxed: a producer that does not see the count wakes one worker too
	 * many. */
	for (unsigned g = 0; g < idle->groups->count; g++) {
		do {
			atomic_fetch_add_relaxed(&idle->by_group[g].searching,
						 1);
		} while (claim_any(idle, g, 0));
		atomic_fetch_sub_relaxed(&idle->by_group[g].searching, 1);
	}
}
