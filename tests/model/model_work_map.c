/* SPDX-License-Identifier: MIT */
/**
 * model_work_map.c - core/queue/work_map.h: no bit is missing for good (I9)
 *
 * An owner pushes a task and tells of it; a thief takes the last one before and has
 * others pass by; a third is about to sleep, and goes to queues alone that the map
 * names. The queue is a count of tasks. A worker that sleeps beside a task is a lost
 * wake-up, which the explorer reports.
 *
 *   cc -std=gnu11 -O2 -I. -Iinclude -include tests/model/explore.h \
 *      tests/model/model_work_map.c tests/model/explore*.c -o model_work_map
 */
#include "core/idle/parker.h"
#include "core/queue/work_map.h"

/* The mistake of a variant. */
enum defect {
	NO_DEFECT,
	RAISED_UNFENCED,    /* the owner looks at the bit before its push */
	PASSED_BY_UNFENCED, /* the thief looks again before it has cleared it */
	PASSED_BY_BLINDLY,  /* it does not look again */
	RETURNED_AND_LEFT,  /* it sets the bit, and sees to nothing */
	RETURNED_UNFENCED, /* it checks for sleepers before it has set the bit */
};

static enum defect defect;
static struct work_line line;
static struct work_map map;
static struct work_flag flag;
static struct parker parker;
static atomic_u64 tasks;     /* in the queue */
static atomic_u32 parked;    /* 1: the third sleeps, or is about to */
static atomic_u32 searching; /* the thief, unless it is one that stays awake */

static void setup(void)
{
	work_map_init(&map, &line, 1);
	work_flag_init(&flag, &map, 0, 0);
	parker_init(&parker);
	/* One task, and its bit: the thief's. */
	atomic_init(&tasks, 1);
	atomic_init(&line.bits[WORK_TASKS], 1);
	atomic_init(&parked, 0);
	atomic_init(&searching, 1);
	defect = NO_DEFECT;
}

static bool take(void)
{
	uint64_t left = atomic_load_acquire(&tasks);

	while (left > 0)
		if (atomic_cas_acq_rel(&tasks, &left, left - 1))
			return true;
	return false;
}

/* After a fence: unless somebody searches, as idle_wake(). */
static void wake(void)
{
	if (atomic_load_relaxed(&searching) != 0 ||
	    atomic_load_relaxed(&parked) == 0)
		return;
	if (atomic_fetch_and_acq_rel(&parked, 0) != 0)
		parker_unpark(&parker);
}

/* As work_tell_owner(). */
static void pushes_and_tells(void)
{
	atomic_fetch_add_release(&tasks, 1);
	if (defect == RAISED_UNFENCED) {
		if (!work_flag_is_set_owner(&flag, WORK_TASKS))
			atomic_fetch_or_relaxed(&line.bits[WORK_TASKS], 1);
		atomic_fence_seq_cst();
	} else {
		work_flag_raise_owner(&flag, WORK_TASKS);
	}
	wake();
}

/* As pass_by() in core/loop/work_shared.c. */
static bool pass_by(void)
{
	if (atomic_load_relaxed(&tasks) > 0)
		return true;
	if (defect == PASSED_BY_UNFENCED)
		atomic_fetch_and_relaxed(&line.bits[WORK_TASKS], 0);
	else
		work_map_pass_by(&map, 0, 0);
	if (defect == PASSED_BY_BLINDLY || atomic_load_relaxed(&tasks) == 0)
		return true;
	if (defect == RETURNED_UNFENCED)
		atomic_fetch_or_relaxed(&line.bits[WORK_TASKS], 1);
	else
		work_map_return(&map, 0, 0);
	return false;
}

static bool visible(void)
{
	return work_map_read(&map, 0, WORK_TASKS) != 0 &&
	       atomic_load_relaxed(&tasks) > 0;
}

/* As steal_from(): takes one task, unless the other two were faster. */
static void steals(void)
{
	bool got;

	do {
		got = take();
	} while (!pass_by() && !got);
}

/* Then I3. */
static void thief(void)
{
	steals();
	atomic_fetch_sub_acq_rel(&searching, 1);
	if (defect == RETURNED_AND_LEFT)
		return;
	/* As idle_leave_search(). */
	if (defect != RETURNED_UNFENCED)
		atomic_fence_seq_cst();
	if (visible())
		wake();
}

/* As stay_awake(): nobody relies on it. */
static void awake_thief(void)
{
	steals();
	if (visible())
		wake();
}

/* I2. Sleeps until it is woken, unless there is something for it. */
static void parks(void)
{
	atomic_fetch_or_relaxed(&parked, 1);
	atomic_fence_seq_cst();
	if (work_map_read(&map, 0, WORK_TASKS) != 0 && take()) {
		atomic_fetch_and_acq_rel(&parked, 0);
		return;
	}
	while (atomic_load_acquire(&parked) != 0)
		parker_park(&parker);
	explore_assert(take());
}

static void setup_awake(void)
{
	setup();
	atomic_init(&searching, 0);
}

static void setup_awake_unfenced(void)
{
	setup_awake();
	defect = RETURNED_UNFENCED;
}

/* The bit of jobs is its owner's alone: it is there when they are. */
static void forks_twice(void)
{
	for (unsigned i = 0; i < 2; i++) {
		work_flag_raise_owner(&flag, WORK_JOBS);
		explore_assert(work_map_read(&map, 0, WORK_JOBS) == 1);
		work_flag_lower_owner(&flag, WORK_JOBS);
		explore_assert(work_map_read(&map, 0, WORK_JOBS) == 0);
	}
	explore_assert(work_map_read(&map, 0, WORK_TASKS) == 1);
}

static void setup_defect(enum defect it)
{
	setup();
	defect = it;
}

static void setup_raised_unfenced(void)
{
	setup_defect(RAISED_UNFENCED);
}

static void setup_passed_by_unfenced(void)
{
	setup_defect(PASSED_BY_UNFENCED);
}

static void setup_passed_by_blindly(void)
{
	setup_defect(PASSED_BY_BLINDLY);
}

static void setup_returned_and_left(void)
{
	setup_defect(RETURNED_AND_LEFT);
}

static void setup_returned_unfenced(void)
{
	setup_defect(RETURNED_UNFENCED);
}

/* One task is left for the parker: it takes it, or is woken for it. */
static const struct explore_case cases[] = {
	{ EXPLORE_PASS("push__pass_by__park", setup, NULL, pushes_and_tells,
		       thief, parks) },
	{ EXPLORE_PASS("push__awake_pass_by__park", setup_awake, NULL,
		       pushes_and_tells, awake_thief, parks) },
	{ EXPLORE_PASS("jobs__twice", setup, NULL, forks_twice) },
	{ EXPLORE_BUG("idle_I9__awake_returned_unfenced", "lost wake-up",
		      setup_awake_unfenced, NULL, pushes_and_tells, awake_thief,
		      parks) },
	{ EXPLORE_BUG("idle_I9__raised_unfenced", "lost wake-up",
		      setup_raised_unfenced, NULL, pushes_and_tells, thief,
		      parks) },
	{ EXPLORE_BUG("idle_I9__passed_by_unfenced", "lost wake-up",
		      setup_passed_by_unfenced, NULL, pushes_and_tells, thief,
		      parks) },
	{ EXPLORE_BUG("idle_I9__passed_by_blindly", "lost wake-up",
		      setup_passed_by_blindly, NULL, pushes_and_tells, thief,
		      parks) },
	{ EXPLORE_BUG("idle_I9__returned_and_left", "lost wake-up",
		      setup_returned_and_left, NULL, pushes_and_tells, thief,
		      parks) },
	{ EXPLORE_BUG("idle_I9__returned_unfenced", "lost wake-up",
		      setup_returned_unfenced, NULL, pushes_and_tells, thief,
		      parks) },
};

EXPLORE_MAIN(cases)
