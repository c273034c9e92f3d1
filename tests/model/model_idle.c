/* SPDX-License-Identifier: MIT */
/**
 * model_idle.c - core/idle/idle.h: no wake-up is lost
 *
 * Workers take tasks from one counter, which stands for all the queues, and
 * wait as core/loop/loop.c does; producers make tasks visible and notify. The
 * worker that runs the last task ends the workers. Nothing here has a timeout, so that a
 * lost wake-up leaves everybody asleep, which the explorer reports; or, where
 * the tasks wait for each other, leaves a task waiting for ever for one that a
 * sleeping worker should have taken.
 *
 * The last cases are defects that other schedulers have had, and leave out rules
 * of core/idle/IDLE.md; the explorer must find them.
 *
 *   cc -std=gnu11 -O2 -I. -Iinclude -include tests/model/explore.h \
 *      tests/model/model_idle.c tests/model/explore*.c probes/probes.c \
 *      -o model_idle
 *
 * wake.c is included, not linked: the variants reach its inner parts.
 */
#include "core/idle/wake.c"

#include "tests/near.h"

#define WORKERS 3

/* The mistake of a variant. */
enum defect {
	NO_DEFECT,
	PRODUCER_UNFENCED,    /* looks before its push is visible */
	PARKER_UNFENCED,      /* looks before its bit is visible */
	PARKER_TRUSTS_SEARCH, /* only searchers look again */
	PARKER_LOOKS_FIRST,   /* the last look before the bit */
	LAST_SEARCHER_SILENT, /* I3 left out */
	WAKER_LEAVES,         /* I4: no second look when nobody was left */
	CLAIM_READ_FIRST,     /* "was I claimed?" by a load */
};

static struct idle idle;
static struct idle_group by_group[WORKERS];
static struct idle_sleeper sleepers[WORKERS];
static atomic_u64 work;     /* visible tasks */
static atomic_u32 stopping; /* as in core/loop/pool.h */
static enum defect defect;

/* Visible tasks that a worker moved from there to a queue of its own. */
static atomic_u64 kept[WORKERS];
static bool batches; /* workers take two at a time, and keep one */

static unsigned total;      /* tasks of the case */
static unsigned children;   /* tasks that the first one spawns */
static unsigned companions; /* each task waits until so many have started */
static unsigned started;
static unsigned finished;

static bool ticks; /* a wait in a task comes to the end of a tick */
static uint64_t tick_ns;
static unsigned frozen; /* counted as searchers, and without a CPU for ever */

/* ---- what producers and workers do -------------------------------------- */

/* As core/loop/pool.c. */
static void stop(void)
{
	atomic_store_relaxed(&stopping, 1);
	atomic_fence_seq_cst();
	idle_wake_all(&idle);
}

/* idle_wake() without its second look. */
static void wake_and_leave(void)
{
	uint64_t none = 0;

	if (group_to_wake(&idle, 0, UNTIMED) < 0)
		return;
	if (atomic_cas_relaxed(&by_group[0].searching, &none, 1) &&
	    !claim_any(&idle, 0, 0))
		atomic_fetch_sub_relaxed(&by_group[0].searching, 1);
}

/* By a thread of that group. */
static void produce_in(unsigned group, uint64_t tasks)
{
	atomic_fetch_add_release(&work, tasks);
	if (defect != PRODUCER_UNFENCED)
		atomic_fence_seq_cst();
	if (defect == WAKER_LEAVES)
		wake_and_leave();
	else
		idle_wake(&idle, group);
}

/* From outside, as pool_inject(). */
static void produce(uint64_t tasks)
{
	if (defect != NO_DEFECT) {
		produce_in(0, tasks);
		return;
	}
	atomic_fetch_add_release(&work, tasks);
	atomic_fence_seq_cst();
	idle_wake_injected(&idle, 0);
}

static bool take(atomic_u64 *from)
{
	uint64_t tasks = atomic_load_acquire(from);

	while (tasks > 0)
		if (atomic_cas_acq_rel(from, &tasks, tasks - 1))
			return true;
	return false;
}

static bool take_task(void)
{
	if (take(&work))
		return true;
	for (unsigned i = 0; batches && i < idle.groups->worker_count; i++)
		if (take(&kept[i]))
			return true;
	return false;
}

/* For worker @i, which may move a second one. */
static bool take_tasks(unsigned i)
{
	uint64_t tasks = batches ? atomic_load_acquire(&work) : 0;

	while (tasks > 1) {
		if (atomic_cas_acq_rel(&work, &tasks, tasks - 2)) {
			atomic_fetch_add_release(&kept[i], 1);
			return true;
		}
	}
	return take_task();
}

static uint64_t visible(void)
{
	uint64_t tasks = atomic_load_relaxed(&work);

	for (unsigned i = 0; batches && i < idle.groups->worker_count; i++)
		tasks += atomic_load_relaxed(&kept[i]);
	return tasks;
}

static void run_task(unsigned i)
{
	if (started++ == 0)
		for (unsigned n = 0; n < children; n++)
			produce_in(idle_group_of(&idle, i), 1);
	while (started < companions) {
		cpu_relax();
		if (!ticks)
			continue;
		/* Any lease has run out by then. */
		tick_ns += EXPLORE_FAR_NS;
		idle_wake_beside(&idle, idle_group_of(&idle, i), tick_ns);
	}
	if (++finished == total)
		stop();
}

/* As found() in core/loop/search.c. One task is many here: IDLE_MANY. */
static void found(unsigned i)
{
	uint64_t tasks;

	if (!idle_leave_search(&idle, i) || defect == LAST_SEARCHER_SILENT)
		return;
	tasks = visible();
	if (tasks > 0)
		idle_wake_for(&idle, idle_group_of(&idle, i), (uint32_t)tasks);
}

static void park_begin(unsigned i, bool searching)
{
	if (defect != PARKER_UNFENCED) {
		idle_park_begin(&idle, i, searching);
		return;
	}
	atomic_fetch_or_relaxed(&sleeper_group(&idle, i)->parked,
				sleeper_bit(&idle, i));
	if (searching)
		atomic_fetch_sub_relaxed(&sleeper_group(&idle, i)->searching,
					 1);
}

/* Begin to park, and look again (I2). */
static bool park_begin_and_look(unsigned i, bool searching)
{
	bool task;

	if (defect == PARKER_LOOKS_FIRST) {
		task = take_task();
		park_begin(i, searching);
		return task;
	}
	park_begin(i, searching);
	if (defect == PARKER_TRUSTS_SEARCH && !searching)
		return false;
	return take_task();
}

static void park_cancel(unsigned i)
{
	struct idle_group *group = sleeper_group(&idle, i);
	uint64_t bit = sleeper_bit(&idle, i);

	if (defect != CLAIM_READ_FIRST) {
		idle_park_cancel(&idle, i);
		return;
	}
	if (atomic_load_acquire(&group->parked) & bit)
		atomic_fetch_add_relaxed(&group->searching, 1);
	atomic_fetch_and_acq_rel(&group->parked, ~bit);
}

/* As wait_for_task() in core/loop/loop.c; false ends the worker. */
static bool wait_for_task(unsigned i)
{
	bool searching = idle_try_search(&idle, i);

	for (;;) {
		bool task = searching && take_tasks(i);

		if (task) {
			found(i);
			return true;
		}
		task = park_begin_and_look(i, searching);
		if (task || atomic_load_relaxed(&stopping)) {
			park_cancel(i);
			if (task)
				found(i);
			return task;
		}
		while (idle_parked(&idle, i))
			parker_park(&sleepers[i].parker);
		idle_begun(&idle, i);
		searching = true;
	}
}

static void worker(unsigned i)
{
	while (take_task() || wait_for_task(i))
		run_task(i);
}

/* ---- fixtures ----------------------------------------------------------- */

static void setup_apart(unsigned nodes, unsigned workers, unsigned tasks,
			unsigned waiting)
{
	idle_init(&idle, near_groups(workers, nodes), by_group, sleepers);
	atomic_init(&work, 0);
	for (unsigned i = 0; i < WORKERS; i++)
		atomic_init(&kept[i], 0);
	batches = false;
	atomic_init(&stopping, 0);
	defect = NO_DEFECT;
	total = tasks;
	companions = waiting;
	children = 0;
	started = 0;
	finished = 0;
	ticks = false;
	tick_ns = 0;
	frozen = 0;
}

static void setup(unsigned workers, unsigned tasks, unsigned waiting)
{
	setup_apart(1, workers, tasks, waiting);
}

static void setup_one_worker(void)
{
	setup(1, 2, 0);
}

static void setup_two_workers(void)
{
	setup(2, 1, 0);
}

static void setup_two_companions(void)
{
	setup(2, 2, 2);
}

static void setup_child(void)
{
	setup(2, 2, 2);
	children = 1;
	atomic_init(&work, 1);
}

static void setup_three_workers(void)
{
	setup(3, 2, 2);
}

static void setup_two_children(void)
{
	setup(3, 3, 3);
	children = 2;
	atomic_init(&work, 1);
}

static void setup_ticks(void)
{
	setup_two_children();
	ticks = true;
}

/* Somebody has been counted in the first group, and goes no further. */
static void freeze_one(void)
{
	frozen = 1;
	atomic_init(&by_group[0].searching, 1);
}

static void setup_frozen_unnoticed(void)
{
	setup_child();
	freeze_one();
}

static void setup_frozen(void)
{
	setup_frozen_unnoticed();
	ticks = true;
}

static void setup_frozen_of_four(void)
{
	setup_ticks();
	freeze_one();
}

static void setup_kept(void)
{
	setup(3, 3, 3);
	batches = true;
}

static void setup_two_apart(void)
{
	setup_apart(2, 2, 2, 2);
}

static void setup_child_apart(void)
{
	setup_apart(2, 2, 2, 2);
	children = 1;
	atomic_init(&work, 1);
}

/* Workers 0 and 2 in one group, worker 1 in another. */
static void setup_three_apart(void)
{
	setup_apart(2, 3, 2, 2);
}

static void setup_children_apart(void)
{
	setup_apart(2, 3, 3, 3);
	children = 2;
	atomic_init(&work, 1);
}

static void setup_frozen_apart(void)
{
	setup_children_apart();
	ticks = true;
	freeze_one();
}

static void setup_kept_apart(void)
{
	setup_apart(2, 3, 3, 3);
	batches = true;
}

static void setup_nobody_apart(void)
{
	setup_apart(2, 2, 0, 0);
}

static void setup_no_task(void)
{
	setup(2, 0, 0);
}

static void setup_producer_unfenced(void)
{
	setup_two_workers();
	defect = PRODUCER_UNFENCED;
}

static void setup_parker_unfenced(void)
{
	setup_two_workers();
	defect = PARKER_UNFENCED;
}

static void setup_parker_trusts_search(void)
{
	setup_two_companions();
	defect = PARKER_TRUSTS_SEARCH;
}

static void setup_parker_looks_first(void)
{
	setup_two_workers();
	defect = PARKER_LOOKS_FIRST;
}

static void setup_last_searcher_silent(void)
{
	setup_two_companions();
	defect = LAST_SEARCHER_SILENT;
}

static void setup_waker_leaves(void)
{
	setup_two_companions();
	defect = WAKER_LEAVES;
}

static void setup_claim_read_first(void)
{
	setup_two_workers();
	defect = CLAIM_READ_FIRST;
}

static uint64_t searchers(void)
{
	uint64_t sum = 0;

	for (unsigned g = 0; g < idle.groups->count; g++)
		sum += atomic_load_relaxed(&by_group[g].searching);
	return sum;
}

static void check(void)
{
	explore_assert(finished == total);
	/* A worker ends as a searcher. A count that leaked would disable every
	 * later wake-up, one that is missing would wake too many. */
	explore_assert(searchers() == idle.groups->worker_count + frozen);
}

/* ---- threads ------------------------------------------------------------ */

static void worker_0(void)
{
	worker(0);
}

static void worker_1(void)
{
	worker(1);
}

static void worker_2(void)
{
	worker(2);
}

static void produces_one(void)
{
	produce(1);
}

static void produces_one_there(void)
{
	produce_in(1, 1);
}

static void produces_two(void)
{
	produce(2);
}

static void produces_three(void)
{
	produce(3);
}

/* ---- cases -------------------------------------------------------------- */

/*
 * Three or four threads have too many interleavings for the usual bounds; they
 * are complete within the smaller ones given here, and random beyond.
 */
#define MANY EXPLORE_WITHIN(12, 6), .random = 200000

static const struct explore_case cases[] = {
	{ EXPLORE_PASS("one_worker__two_producers", setup_one_worker, check,
		       worker_0, produces_one, produces_one) },
	{ EXPLORE_PASS("two_workers__producer", setup_two_workers, check,
		       worker_0, worker_1, produces_one),
	  EXPLORE_WITHIN(2, 1) },
	{ EXPLORE_PASS("two_workers__batch_of_companions", setup_two_companions,
		       check, worker_0, worker_1, produces_two),
	  EXPLORE_WITHIN(2, 1) },
	{ EXPLORE_PASS("two_workers__two_producers", setup_two_companions,
		       check, worker_0, worker_1, produces_one, produces_one),
	  EXPLORE_WITHIN(1, 2) },
	{ EXPLORE_PASS("two_workers__task_spawns_companion", setup_child, check,
		       worker_0, worker_1) },
	{ EXPLORE_PASS("three_workers__batch_of_companions",
		       setup_three_workers, check, worker_0, worker_1, worker_2,
		       produces_two),
	  EXPLORE_WITHIN(1, 1) },
	{ EXPLORE_PASS("three_workers__task_spawns_two", setup_two_children,
		       check, worker_0, worker_1, worker_2),
	  EXPLORE_WITHIN(1, 1) },
	{ EXPLORE_PASS("two_workers__batch_of_companions__random",
		       setup_two_companions, check, worker_0, worker_1,
		       produces_two),
	  MANY },
	{ EXPLORE_PASS("two_workers__two_producers__random",
		       setup_two_companions, check, worker_0, worker_1,
		       produces_one, produces_one),
	  MANY },
	{ EXPLORE_PASS("three_workers__batch_of_companions__random",
		       setup_three_workers, check, worker_0, worker_1, worker_2,
		       produces_two),
	  MANY },
	{ EXPLORE_PASS("three_workers__task_spawns_two__random",
		       setup_two_children, check, worker_0, worker_1, worker_2),
	  MANY },
	{ EXPLORE_PASS("three_workers__batch_kept__random", setup_kept, check,
		       worker_0, worker_1, worker_2, produces_three),
	  MANY },
	{ EXPLORE_PASS("three_workers__ticks_end__random", setup_ticks, check,
		       worker_0, worker_1, worker_2),
	  MANY },
	{ EXPLORE_PASS("frozen_searcher__task_spawns_companion", setup_frozen,
		       check, worker_0, worker_1),
	  EXPLORE_WITHIN(2, 1) },
	{ EXPLORE_PASS("frozen_searcher__task_spawns_two__random",
		       setup_frozen_of_four, check, worker_0, worker_1,
		       worker_2),
	  MANY },
	{ EXPLORE_PASS("frozen_searcher_apart__task_spawns_two__random",
		       setup_frozen_apart, check, worker_0, worker_1, worker_2),
	  MANY },
	{ EXPLORE_PASS("apart__batch_of_companions", setup_two_apart, check,
		       worker_0, worker_1, produces_two),
	  EXPLORE_WITHIN(2, 1) },
	{ EXPLORE_PASS("apart__two_producers", setup_two_apart, check, worker_0,
		       worker_1, produces_one, produces_one_there),
	  EXPLORE_WITHIN(1, 2) },
	{ EXPLORE_PASS("apart__task_spawns_companion", setup_child_apart, check,
		       worker_0, worker_1) },
	{ EXPLORE_PASS("apart__two_producers__random", setup_two_apart, check,
		       worker_0, worker_1, produces_one, produces_one_there),
	  MANY },
	{ EXPLORE_PASS("three_apart__batch_of_companions__random",
		       setup_three_apart, check, worker_0, worker_1, worker_2,
		       produces_two),
	  MANY },
	{ EXPLORE_PASS("three_apart__task_spawns_two__random",
		       setup_children_apart, check, worker_0, worker_1,
		       worker_2),
	  MANY },
	{ EXPLORE_PASS("three_apart__batch_kept__random", setup_kept_apart,
		       check, worker_0, worker_1, worker_2, produces_three),
	  MANY },
	{ EXPLORE_PASS("apart__stop", setup_nobody_apart, check, worker_0,
		       worker_1, stop),
	  EXPLORE_WITHIN(2, 1) },
	{ EXPLORE_PASS("two_workers__stop", setup_no_task, check, worker_0,
		       worker_1, stop),
	  EXPLORE_WITHIN(2, 1) },

	{ EXPLORE_BUG("producer_unfenced", "lost wake-up",
		      setup_producer_unfenced, check, worker_0, worker_1,
		      produces_one) },
	{ EXPLORE_BUG("parker_unfenced", "lost wake-up", setup_parker_unfenced,
		      check, worker_0, worker_1, produces_one) },
	{ EXPLORE_BUG("parker_trusts_search", "livelock",
		      setup_parker_trusts_search, check, worker_0, worker_1,
		      produces_one, produces_one),
	  EXPLORE_WITHIN(2, 1) },
	{ EXPLORE_BUG("parker_looks_first", "lost wake-up",
		      setup_parker_looks_first, check, worker_0, worker_1,
		      produces_one) },
	{ EXPLORE_BUG("idle_I3__last_searcher_silent", "livelock",
		      setup_last_searcher_silent, check, worker_0, worker_1,
		      produces_two) },
	{ EXPLORE_BUG("idle_I3__lease_never_ends", "livelock",
		      setup_frozen_unnoticed, check, worker_0, worker_1) },
	{ EXPLORE_BUG("idle_I4__waker_leaves", "livelock", setup_waker_leaves,
		      check, worker_0, worker_1, produces_one, produces_one),
	  EXPLORE_WITHIN(12, 6), .random = 4000000 },
	{ EXPLORE_BUG("claim_read_first", "searchers()", setup_claim_read_first,
		      check, worker_0, worker_1, produces_one) },
};

EXPLORE_MAIN(cases)
