/* SPDX-License-Identifier: MIT */
/* idle.c - see core/idle/IDLE.md for the protocol and its proof */
#include "core/idle/idle.h"

#include <assert.h>
#include <errno.h>
#include <sched.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/hot.h"
#include "probes/probes.h"

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
/* The lease, in wake costs: for how long wakers trust the count of searchers
 * while none of them renews it. A guess: a woken worker that has a CPU rarely
 * takes as long to its first step. */
#define LEASE_WAKES 4u
/* The value of now_ns in a producer, which reads no clock: for it, no lease has
 * run out. */
#define UNTIMED UINT64_C(0)

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

static inline struct idle_group *group_of(struct idle *idle, unsigned i)
{
	assert(i < idle->groups->worker_count);
	return &idle->by_group[idle_group_of(idle, i)];
}

static inline uint64_t parked_bit(const struct idle *idle, unsigned i)
{
	return UINT64_C(1) << idle->groups->places[i].bit;
}

/* The CPU on which the caller runs, + 1; 0 if that is unknown. */
static uint32_t cpu_here(void)
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

unsigned idle_group_of_caller(const struct idle *idle)
{
	uint32_t here = cpu_here();

	return here ? llc_groups_of_cpu(idle->groups, here - 1) : 0;
}

/* ---- searching and parking -------------------------------------------------- */

bool idle_try_search(struct idle *idle, unsigned i)
{
	struct idle_group *group = group_of(idle, i);

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
		atomic_fetch_sub_acq_rel(&group_of(idle, i)->searching, 1);

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
	struct idle_group *group = group_of(idle, i);

	/* Relaxed, all: claimed_by is only traced, and the others are hints.
	 * Stored before the parked bit is set. */
	atomic_store_relaxed(&idle->sleepers[i].claimed_by, 0);
	atomic_store_relaxed(&idle->sleepers[i].cpu, cpu_here());
	atomic_store_relaxed(&group->first_choice, i + 1);
	/* Relaxed: ordered by the fence. The bit is set before the count goes
	 * down, so that a thread that sees no searcher finds a worker to
	 * wake. */
	atomic_fetch_or_relaxed(&group->parked, parked_bit(idle, i));
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
	struct idle_group *group = group_of(idle, i);
	uint64_t bit = parked_bit(idle, i);

	/* Acquire: if a waker cleared the bit, it had counted this worker as a
	 * searcher before. Pairs with the release in wake_one(). */
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
	atomic_u32 *waking = &group_of(idle, i)->waking;

	/* Relaxed, both: a hint, which only decides about extra wake-ups. A
	 * waker may write a later claim between the two; then it is lost. */
	if (atomic_load_relaxed(waking) == i + 1)
		atomic_store_relaxed(waking, 0);
}

void idle_woken(struct idle *idle, unsigned i, uint64_t now_ns)
{
	struct idle_sleeper *sleeper = &idle->sleepers[i];
	atomic_u64 *of_group = &group_of(idle, i)->wake_cost_ns;
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
	atomic_u64 *avoided = &group_of(idle, i)->avoided;
	uint64_t bit = parked_bit(idle, i);
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

/* ---- claiming a sleeper of a group ------------------------------------------ */

/* Clear the parked bit of worker @i, and wake it. @told: how many tasks the
 * worker is told of. Return: false if the bit was clear. */
static bool wake_one(struct idle *idle, unsigned i, uint32_t told)
{
	uint64_t bit = parked_bit(idle, i);
	uint64_t now_ns;

	/* Release: the caller counted worker @i as a searcher before (I4).
	 * Pairs with the acquires in idle_park_cancel() and idle_parked(). */
	if (!(atomic_fetch_and_acq_rel(&group_of(idle, i)->parked, ~bit) & bit))
		return false;
	now_ns = clock_now_ns();
	/* Relaxed, both: they only decide about extra wake-ups. */
	atomic_store_relaxed(&group_of(idle, i)->waking, i + 1);
	atomic_store_relaxed(&group_of(idle, i)->lease_ns, now_ns);
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

/* Would worker @i wake up on CPU @cpu? */
static bool sleeps_on(const struct idle *idle, unsigned i, uint32_t cpu)
{
	/* Relaxed: a hint. */
	return cpu != 0 && atomic_load_relaxed(&idle->sleepers[i].cpu) == cpu;
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
	return 16u * avoided(idle, i) + 8u * sleeps_on(idle, i, here) +
	       4u * (atomic_load_relaxed(&group->last_choice) == i + 1) +
	       2u * ((place->siblings & ~parked) != 0) +
	       (atomic_load_relaxed(&group->first_choice) != i + 1);
}

static unsigned choose_parked(const struct idle *idle, unsigned group,
			      uint64_t parked)
{
	const struct llc_group *members = &idle->groups->groups[group];
	unsigned best = members->workers[__builtin_ctzll(parked)];
	uint32_t here = cpu_here();
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

/* Clear one parked bit of the group, and wake its worker. Return: false if no
 * bit is set. */
static bool wake_claim(struct idle *idle, unsigned group, uint32_t told)
{
	/* The loop repeats when another thread has cleared the chosen bit.
	 * Relaxed, both: a hint; the read-modify-write in wake_one()
	 * decides. */
	uint64_t parked = atomic_load_relaxed(&idle->by_group[group].parked);

	while (parked != 0) {
		if (wake_one(idle, choose_parked(idle, group, parked), told))
			return true;
		parked = atomic_load_relaxed(&idle->by_group[group].parked);
	}
	return false;
}

/* ---- choosing a group ------------------------------------------------------- */

static uint64_t parked_of(const struct idle *idle, unsigned group)
{
	/* Relaxed: ordered by the caller's fence, or the caller needs only a
	 * hint. */
	return atomic_load_relaxed(&idle->by_group[group].parked);
}

/* Would any parked worker of @group wake up on a CPU other than @here? */
static bool sleeps_off(const struct idle *idle, unsigned group, uint32_t here)
{
	uint64_t parked = parked_of(idle, group);

	for (; parked != 0; parked &= parked - 1) {
		if (!sleeps_on(idle,
			       idle->groups->groups[group]
				       .workers[__builtin_ctzll(parked)],
			       here))
			return true;
	}
	return false;
}

/* Clear the summary bit of @group, in which no worker seemed to be parked (I8).
 * True if one is parked after all; the bit is then set again. */
static bool still_sleepy(struct idle *idle, unsigned group)
{
	summary_lower(idle->sleepy, group);
	if (parked_of(idle, group) == 0)
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
		if (parked_of(idle, from) != 0 || still_sleepy(idle, from)) {
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
	parked = parked_of(idle, own);
	if (parked != 0 &&
	    (idle->group_count == 1 || sleeps_off(idle, own, cpu_here())))
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
	    wake_claim(idle, group, told))
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
	if (parked_of(idle, group) == 0 ||
	    !atomic_cas_relaxed(searching, &one, 2) ||
	    wake_claim(idle, group, 0))
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
	struct idle_group *group = group_of(idle, i);

	/* Ordered by the caller's fence. A worker that is awake checks its
	 * inbox before it sleeps (I2). */
	if (!(parked_of(idle, idle_group_of(idle, i)) & parked_bit(idle, i)))
		return;
	/* The count goes up before the bit is cleared (I4). Relaxed: ordered by
	 * the release in wake_one(). */
	atomic_fetch_add_relaxed(&group->searching, 1);
	if (wake_one(idle, i, 0))
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
		} while (wake_claim(idle, g, 0));
		atomic_fetch_sub_relaxed(&idle->by_group[g].searching, 1);
	}
}

/* ---- sleepers ---------------------------------------------------------------- */

bool idle_any_sleepy(const struct idle *idle)
{
	unsigned groups = idle->groups->count;

	return summary_next(idle->sleepy, 0, groups) < groups;
}

int idle_first_parked_in(const struct idle *idle, unsigned group)
{
	uint64_t parked = parked_of(idle, group);

	return parked == 0 ? -1
			   : (int)idle->groups->groups[group]
				     .workers[__builtin_ctzll(parked)];
}

bool idle_sleeps_elsewhere(const struct idle *idle)
{
	unsigned groups = idle->groups->count;
	uint32_t here = cpu_here();

	for (unsigned g = 0;
	     (g = summary_next(idle->sleepy, g, groups)) < groups; g++) {
		if (sleeps_off(idle, g, here))
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
		count += (unsigned)__builtin_popcountll(parked_of(idle, g));
	}
	return count < workers ? (unsigned)(workers - count) : 0;
}

bool idle_all_parked(const struct idle *idle)
{
	unsigned parked = 0;

	for (unsigned g = 0; g < idle->groups->count; g++)
		parked += (unsigned)__builtin_popcountll(parked_of(idle, g));
	return parked == idle->groups->worker_count;
}
