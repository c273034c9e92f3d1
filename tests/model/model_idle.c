/* SPDX-License-Identifier: MIT */
/**
 * model_idle.c - core/idle/idle.h and core/idle/parker.h: no wake-up is lost
 *
 * Workers take tasks from one counter, which stands for all the queues, and
 * wait as core/loop/loop.c does; producers make tasks visible and notify. The
 * worker that runs the last task ends the workers. Nothing here has a timeout, so that a
 * lost wake-up leaves everybody asleep, which the explorer reports; or, where
 * the tasks wait for each other, leaves a task waiting for ever for one that a
 * sleeping worker should have taken.
 *
 * The last cases are the defects that the design names (4.8, 4.10, 4.21), and
 * rules of core/idle/IDLE.md left out; the explorer must find them.
 *
 *   cc -std=gnu11 -O2 -I. -Iinclude -include tests/model/explore.h \
 *      tests/model/model_idle.c tests/model/explore*.c probes/probes.c \
 *      -o model_idle
 *
 * wake.c is included, not linked: the variants reach its inner parts.
 */
#include "core/idle/wake.c"

#include <string.h>

#include "tests/near.h"

#define WORKERS 3

/* The mistake of a variant. */
enum defect {
	NO_DEFECT,
	PRODUCER_UNFENCED,    /* 4.10: looks before its push is visible */
	PARKER_UNFENCED,      /* 4.10: the other side of it */
	PARKER_TRUSTS_SEARCH, /* 4.10: only searchers look again */
	PARKER_LOOKS_FIRST,   /* 4.21: the last look before the bit */
	LAST_SEARCHER_SILENT, /* I3 left out */
	WAKER_LEAVES,         /* I4: no second look when nobody was left */
	SECOND_WAKER_LEAVES,  /* the same of the waker of a second worker */
	MANY_LEFT_LEAVES, /* the same of a searcher that leaves many tasks */
	CLAIM_READ_FIRST, /* 4.8: "was I claimed?" by a load */
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

/* ---- a waker that comes too late (I4) ------------------------------------ */

/*
 * Worker 0 is about to cancel its park while somebody wakes it. A producer
 * that sees the waker's count relies on it for a task that worker 1, which
 * parks meanwhile, has to be woken for.
 */
static void setup_late(void)
{
	setup(2, 0, 0);
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
		if (take(&work)) {
			idle_park_cancel(&idle, i);
			break;
		}
		while (idle_parked(&idle, i))
			parker_park(&sleepers[i].parker);
		searching = true;
		if (take(&work))
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
	setup(3, 0, 0);
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
	setup_apart(2, 2, 0, 0);
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
	setup_apart(2, 2, 0, 0);
	atomic_init(&idle.sleepy[0], 2);
}

/*
 * The same of group 0, where worker 2 searches, and has found something else when
 * the waker relies on it for the task of the producer that saw no bit.
 */
static void setup_stale_searcher(void)
{
	setup_apart(2, 3, 0, 0);
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
		if (take(&work)) {
			idle_park_cancel(&idle, 1);
			break;
		}
		while (idle_parked(&idle, 1))
			parker_park(&sleepers[1].parker);
		if (take(&work))
			break;
	}
	found(1);
}

/* ---- the parker alone --------------------------------------------------- */

static struct parker parker;
static atomic_u32 condition; /* relaxed: the parker alone orders */
static unsigned letter;

static void setup_parker(void)
{
	parker_init(&parker);
	atomic_init(&condition, 0);
	explore_watch(&parker, sizeof(parker));
	letter = 0;
}

static void sleeps_until_two(void)
{
	while (atomic_load_relaxed(&condition) < 2)
		parker_park(&parker);
}

static void sleeps_once(void)
{
	parker_park(&parker);
	explore_assert(explore_read(letter) == 7);
}

static void wakes(void)
{
	atomic_fetch_add_relaxed(&condition, 1);
	parker_unpark(&parker);
}

static void wakes_with_letter(void)
{
	explore_write(letter, 7);
	parker_unpark(&parker);
}

/* 4.10: overwrites the notification instead of taking it. */
static void sleeps_blindly_until_two(void)
{
	uint32_t state = PARKER_EMPTY;

	while (atomic_load_relaxed(&condition) < 2) {
		state = PARKER_EMPTY;
		if (atomic_cas_relaxed(&parker.state, &state, PARKER_PARKED))
			while (atomic_load_relaxed(&parker.state) ==
			       PARKER_PARKED)
				futex_wait(&parker.state, PARKER_PARKED);
		atomic_store_relaxed(&parker.state, PARKER_EMPTY);
	}
}

/* Wakes only if it sees a sleeper; notifies nobody who is on the way. */
static void wakes_only_a_sleeper(void)
{
	atomic_fetch_add_relaxed(&condition, 1);
	if (atomic_load_relaxed(&parker.state) != PARKER_PARKED)
		return;
	atomic_store_release(&parker.state, PARKER_NOTIFIED);
	futex_wake(&parker.state, 1);
}

/* ---- asleep elsewhere ---------------------------------------------------- */

static atomic_u32 event; /* what the sleeper waits for instead of the futex */
static unsigned poller;  /* what the callback uses; plain, gone at the end */
static bool leaves_at_once; /* a variant: the sleeper waits for no callback */

static void ring(void *ctx)
{
	(void)ctx;
	explore_assert(explore_read(poller) == 1);
	atomic_store_release(&event, 1);
	futex_wake(&event, 1);
	explore_assert(explore_read(poller) == 1); /* still there */
}

static void setup_elsewhere(void)
{
	setup_parker();
	parker.wake = ring;
	atomic_init(&event, 0);
	poller = 1;
	leaves_at_once = false;
}

static void setup_elsewhere_hasty(void)
{
	setup_elsewhere();
	leaves_at_once = true;
}

/* As pollers_park_owner(), once: the parker alone orders. */
static void sleeps_elsewhere_once(void)
{
	parker.wake = ring;
	parker.ctx = NULL;
	if (parker_begin(&parker)) {
		while (atomic_load_relaxed(&event) == 0)
			futex_wait(&event, 0);
		parker_end(&parker);
	}
	explore_assert(explore_read(letter) == 7);
}

/* As pollers_park_owner(), until both wakers have been; then the poller goes. */
static void sleeps_elsewhere_until_two(void)
{
	while (atomic_load_relaxed(&condition) < 2) {
		if (!parker_begin(&parker))
			continue;
		while (atomic_load_acquire(&event) == 0)
			futex_wait(&event, 0);
		atomic_store_relaxed(&event, 0);
		if (leaves_at_once)
			atomic_exchange_acquire(&parker.state, PARKER_EMPTY);
		else
			parker_end(&parker);
	}
	explore_write(poller, 0);
}

/* ---- cases -------------------------------------------------------------- */

/*
 * Three or four threads have too many interleavings for the usual bounds; they
 * are complete within the smaller ones given here, and random beyond.
 */
#define MANY EXPLORE_WITHIN(12, 6), .random = 200000

static const struct explore_case cases[] = {
	{ EXPLORE_PASS("parker__two_wakers", setup_parker, NULL,
		       sleeps_until_two, wakes, wakes) },
	{ EXPLORE_PASS("parker__elsewhere__two_wakers", setup_elsewhere, NULL,
		       sleeps_elsewhere_until_two, wakes, wakes) },
	{ EXPLORE_PASS("parker__hands_over", setup_parker, NULL, sleeps_once,
		       wakes_with_letter) },
	{ EXPLORE_PASS("parker__elsewhere__hands_over", setup_elsewhere, NULL,
		       sleeps_elsewhere_once, wakes_with_letter) },
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
	{ EXPLORE_PASS("apart__stop", setup_nobody_apart, check, worker_0,
		       worker_1, stop),
	  EXPLORE_WITHIN(2, 1) },
	{ EXPLORE_PASS("two_workers__stop", setup_no_task, check, worker_0,
		       worker_1, stop),
	  EXPLORE_WITHIN(2, 1) },

	{ EXPLORE_BUG("design_4_10__notification_overwritten", "lost wake-up",
		      setup_parker, NULL, sleeps_blindly_until_two, wakes,
		      wakes) },
	{ EXPLORE_BUG("parker__elsewhere__callback_not_awaited", "",
		      setup_elsewhere_hasty, NULL, sleeps_elsewhere_until_two,
		      wakes, wakes) },
	{ EXPLORE_BUG("parker__only_sleepers_notified", "lost wake-up",
		      setup_parker, NULL, sleeps_until_two, wakes,
		      wakes_only_a_sleeper) },
	{ EXPLORE_BUG("design_4_10__producer_unfenced", "lost wake-up",
		      setup_producer_unfenced, check, worker_0, worker_1,
		      produces_one) },
	{ EXPLORE_BUG("design_4_10__parker_unfenced", "lost wake-up",
		      setup_parker_unfenced, check, worker_0, worker_1,
		      produces_one) },
	{ EXPLORE_BUG("design_4_10__parker_trusts_search", "livelock",
		      setup_parker_trusts_search, check, worker_0, worker_1,
		      produces_one, produces_one),
	  EXPLORE_WITHIN(2, 1) },
	{ EXPLORE_BUG("design_4_21__parker_looks_first", "lost wake-up",
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
		      setup_nobody_apart, check_late, parks_silently,
		      produces_one) },
	{ EXPLORE_BUG("design_4_8__claim_read_first", "searchers()",
		      setup_claim_read_first, check, worker_0, worker_1,
		      produces_one) },
};

EXPLORE_MAIN(cases)
