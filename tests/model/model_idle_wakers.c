/* SPDX-License-Identifier: MIT */
/**
 * model_idle_wakers.c - core/idle/wake.c: a waker that has nobody to wake looks again
 *
 * Each thread takes one step of a worker or of a waker: a park that is cancelled, a search
 * that ends, a look at the summary. A task is visible in one counter, which stands for all
 * the queues. The worker that waits for it has no timeout: if nobody wakes it, the explorer
 * reports a lost wake-up.
 *
 * The last cases leave out rules of core/idle/IDLE.md; the explorer must find them.
 *
 * wake.c is included, not linked: the variants reach its inner parts.
 */
#include "core/idle/wake.c"

#include "tests/near.h"

#define WORKERS 3

/* The mistake of a variant. */
enum defect {
	NO_DEFECT,
	SECOND_WAKER_LEAVES, /* I4: no second look of the waker of a second worker */
	MANY_LEFT_LEAVES, /* the same of a searcher that leaves many tasks */
};

static struct idle idle;
static struct idle_group by_group[WORKERS];
static struct idle_sleeper sleepers[WORKERS];
static atomic_u64 work; /* visible tasks */
static enum defect defect;

static void setup_apart(unsigned nodes, unsigned workers)
{
	idle_init(&idle, near_groups(workers, nodes), by_group, sleepers);
	atomic_init(&work, 0);
	defect = NO_DEFECT;
}

static void setup(unsigned workers)
{
	setup_apart(1, workers);
}

/* From outside, as pool_inject(). */
static void produces_one(void)
{
	atomic_fetch_add_release(&work, 1);
	atomic_fence_seq_cst();
	if (defect == NO_DEFECT)
		idle_wake_injected(&idle, 0);
	else
		idle_wake(&idle, 0);
}

/* By a thread of group 1. */
static void produces_one_there(void)
{
	atomic_fetch_add_release(&work, 1);
	atomic_fence_seq_cst();
	idle_wake(&idle, 1);
}

static bool take(void)
{
	uint64_t tasks = atomic_load_acquire(&work);

	while (tasks > 0)
		if (atomic_cas_acq_rel(&work, &tasks, tasks - 1))
			return true;
	return false;
}

/* As found() in core/loop/search.c. One task is many here: IDLE_MANY. */
static void found(unsigned i)
{
	uint64_t tasks;

	if (!idle_leave_search(&idle, i))
		return;
	tasks = atomic_load_relaxed(&work);
	if (tasks > 0)
		idle_wake_for(&idle, idle_group_of(&idle, i), (uint32_t)tasks);
}

/* ---- a waker that comes too late (I4) ------------------------------------ */

/*
 * Worker 0 is about to cancel its park while somebody wakes it. A producer
 * that sees the waker's count relies on it for a task that worker 1, which
 * parks meanwhile, has to be woken for.
 */
static void setup_late(void)
{
	setup(2);
	idle_park_begin(&idle, 0, false);
}

static void cancels_park(void)
{
	idle_park_cancel(&idle, 0);
	found(0);
}

static void park_until_work(unsigned i)
{
	bool searching = false;

	for (;;) {
		idle_park_begin(&idle, i, searching);
		if (take()) {
			idle_park_cancel(&idle, i);
			break;
		}
		while (idle_parked(&idle, i))
			parker_park(&sleepers[i].parker);
		searching = true;
		if (take())
			break;
	}
	found(i);
}

static void parks_until_work(void)
{
	park_until_work(1);
}

static void wakes_anybody(void)
{
	idle_notify(&idle, 0);
}

/* As pool_inject_home(). */
static void wakes_worker_0(void)
{
	atomic_fence_seq_cst();
	idle_wake_worker(&idle, 0);
}

static void check_late(void)
{
	explore_assert(atomic_load_relaxed(&work) == 0);
}

/*
 * The same with a waker that claims a second worker, because worker 0, which was
 * claimed, has not begun; worker 0 leaves its search meanwhile, and worker 1 cancels
 * its park. The producer relies on the count for worker 2.
 */
static void setup_second_late(void)
{
	setup(3);
	atomic_init(&by_group[0].searching, 1);
	atomic_init(&by_group[0].waking, 1);
	idle_park_begin(&idle, 1, false);
}

static void setup_second_late_leaves(void)
{
	setup_second_late();
	defect = SECOND_WAKER_LEAVES;
}

static void found_by_0(void)
{
	found(0);
}

static void parks_2_until_work(void)
{
	park_until_work(2);
}

static void wakes_second(void)
{
	uint64_t one = 1;

	atomic_fence_seq_cst();
	if (defect != SECOND_WAKER_LEAVES)
		idle_wake_injected(&idle, 0);
	/* wake_second() without its second look. */
	else if (sleeper_parked_in(&idle, 0) != 0 &&
		 atomic_cas_relaxed(&by_group[0].searching, &one, 2) &&
		 !claim_any(&idle, 0, 0))
		atomic_fetch_sub_acq_rel(&by_group[0].searching, 1);
}

/*
 * The same with worker 1 apart, and a waker of group 0 that leaves many tasks: the
 * producer, near group 1, relies on its count there.
 */
static void setup_late_apart(void)
{
	setup_apart(2, 2);
	idle_park_begin(&idle, 1, false);
}

static void setup_late_apart_leaves(void)
{
	setup_late_apart();
	defect = MANY_LEFT_LEAVES;
}

static void cancels_park_there(void)
{
	idle_park_cancel(&idle, 1);
	found(1);
}

static void parks_0_until_work(void)
{
	park_until_work(0);
}

/* As found(), with tasks that are gone meanwhile. */
static void leaves_many(void)
{
	struct look look = { UNTIMED, false };
	int g;

	atomic_fence_seq_cst();
	if (defect != MANY_LEFT_LEAVES) {
		idle_wake_for(&idle, 0, IDLE_MANY);
		return;
	}
	/* wake_elsewhere() without its second look. */
	g = sleepy_elsewhere(&idle, &look, 0);
	if (g >= 0)
		wake_in(&idle, (unsigned)g, UNTIMED, 0);
}

/* ---- a summary that is cleared (I8) --------------------------------------- */

/*
 * Worker 1, alone in group 1, is about to park; the summary says still that
 * somebody sleeps there. A waker of group 0 clears that, while somebody makes a
 * task visible.
 */
static void setup_stale(void)
{
	setup_apart(2, 2);
	atomic_init(&idle.sleepy[0], 2);
}

static void setup_two_apart(void)
{
	setup_apart(2, 2);
}

/*
 * The same of group 0, where worker 2 searches, and has found something else when
 * the waker relies on it for the task of the producer that saw no bit.
 */
static void setup_stale_searcher(void)
{
	setup_apart(2, 3);
	atomic_init(&idle.sleepy[0], 1);
	atomic_init(&by_group[0].searching, 1);
}

static void found_by_2(void)
{
	found(2);
}

static void wakes_anybody_there(void)
{
	idle_notify(&idle, 1);
}

/* Clears it, and does not look again. */
static void clears_blindly(void)
{
	atomic_fence_seq_cst();
	atomic_fetch_and_relaxed(&idle.sleepy[0], ~UINT64_C(2));
	atomic_fence_seq_cst();
}

/* Sets it again, and sees to nobody's work but its own. */
static void clears_and_leaves(void)
{
	atomic_fence_seq_cst();
	if (sleeper_parked_in(&idle, 1) == 0)
		still_sleepy(&idle, 1);
}

/* As parks_until_work(), without a word in the summary. */
static void parks_silently(void)
{
	for (;;) {
		atomic_fetch_or_relaxed(&by_group[1].parked, 1);
		atomic_fence_seq_cst();
		if (take()) {
			idle_park_cancel(&idle, 1);
			break;
		}
		while (idle_parked(&idle, 1))
			parker_park(&sleepers[1].parker);
		if (take())
			break;
	}
	found(1);
}

/* ---- cases --------------------------------------------------------------- */

static const struct explore_case cases[] = {
	{ EXPLORE_PASS("woken_too_late__producer", setup_late, check_late,
		       cancels_park, parks_until_work, wakes_anybody,
		       produces_one),
	  EXPLORE_WITHIN(6, 3), .random = 300000 },
	{ EXPLORE_PASS("worker_0_woken_too_late__producer", setup_late,
		       check_late, cancels_park, parks_until_work,
		       wakes_worker_0, produces_one),
	  EXPLORE_WITHIN(6, 3), .random = 300000 },
	{ EXPLORE_PASS("second_woken_too_late__producer", setup_second_late,
		       check_late, cancels_park_there, found_by_0,
		       parks_2_until_work, wakes_second, produces_one),
	  EXPLORE_WITHIN(6, 3), .random = 300000 },
	{ EXPLORE_PASS("woken_too_late_apart__producer", setup_late_apart,
		       check_late, cancels_park_there, parks_0_until_work,
		       leaves_many, produces_one_there),
	  EXPLORE_WITHIN(6, 3), .random = 300000 },
	{ EXPLORE_PASS("stale_summary__producer", setup_stale, check_late,
		       parks_until_work, wakes_anybody, produces_one),
	  EXPLORE_WITHIN(6, 3), .random = 300000 },
	{ EXPLORE_PASS("stale_summary__two_wakers", setup_stale, check_late,
		       parks_until_work, wakes_anybody, wakes_anybody,
		       produces_one),
	  EXPLORE_WITHIN(4, 2), .random = 300000 },
	{ EXPLORE_PASS("stale_summary__searcher", setup_stale_searcher,
		       check_late, parks_0_until_work, found_by_2,
		       wakes_anybody_there, produces_one_there),
	  EXPLORE_WITHIN(2, 1) },

	{ EXPLORE_BUG("idle_I4__searcher_of_many_leaves", "lost wake-up",
		      setup_late_apart_leaves, check_late, cancels_park_there,
		      parks_0_until_work, leaves_many, produces_one_there),
	  EXPLORE_WITHIN(6, 3), .random = 300000 },
	{ EXPLORE_BUG("idle_I4__second_waker_leaves", "lost wake-up",
		      setup_second_late_leaves, check_late, cancels_park_there,
		      found_by_0, parks_2_until_work, wakes_second,
		      produces_one),
	  EXPLORE_WITHIN(6, 3), .random = 300000 },
	{ EXPLORE_BUG("idle_I8__cleared_blindly", "lost wake-up", setup_stale,
		      check_late, parks_until_work, clears_blindly,
		      produces_one) },
	{ EXPLORE_BUG("idle_I8__cleared_and_left", "lost wake-up", setup_stale,
		      check_late, parks_until_work, clears_and_leaves,
		      produces_one) },
	{ EXPLORE_BUG("idle_I8__parked_silently", "lost wake-up",
		      setup_two_apart, check_late, parks_silently,
		      produces_one) },
};

EXPLORE_MAIN(cases)
