/* SPDX-License-Identifier: MIT */
/**
 * model_inject_group.c - core/queue/inject_group.h: no bit is missing for good (I9)
 *
 * A thread pushes two nodes to the queue of a group. Up to three workers of other groups are
 * about to sleep: they look at the queue only if the map names it, and clear the bit of
 * an empty queue. A worker that takes a node and leaves another one wakes the other
 * worker (I5). A worker that sleeps beside a node is a lost wake-up, which the explorer
 * reports.
 *
 *   cc -std=gnu11 -O2 -I. -Iinclude -include tests/model/explore.h \
 *      tests/model/model_inject_group.c core/queue/inject_queue.c \
 *      tests/model/explore*.c -o model_inject_group
 */
#include "core/idle/parker.h"
#include "core/queue/inject_group.h"

#define WORKERS 3u
#define NODES   2u

/* The mistake of a variant. */
enum defect {
	NO_DEFECT,
	RAISED_EARLY,    /* the pusher looks at the bit before its push */
	RAISED_UNFENCED, /* it checks for sleepers before it has set the bit */
	PASSED_BY_BLINDLY, /* a worker clears the bit, and does not look again */
	NOT_RETURNED,      /* it looks again, and leaves the bit clear */
};

static enum defect defect;
static struct inject_group group;
static struct work_line line;
static struct parker parkers[WORKERS];
static atomic_u32
	parked;          /* a bit for each worker that sleeps, or is about to */
static atomic_u32 taken; /* nodes */
static struct inject_node nodes[NODES];

static void setup_defect(enum defect it)
{
	inject_group_init(&group);
	for (unsigned kind = 0; kind < WORK_KINDS; kind++)
		atomic_init(&line.bits[kind], 0);
	/* An earlier push has set the bit, and its node is taken. */
	atomic_init(&line.bits[WORK_INJECTED], inject_group_bit(INJECT_NORMAL));
	for (unsigned i = 0; i < WORKERS; i++)
		parker_init(&parkers[i]);
	atomic_init(&parked, 0);
	atomic_init(&taken, 0);
	defect = it;
}

static void setup(void)
{
	setup_defect(NO_DEFECT);
}

static void setup_clear(void)
{
	setup();
	atomic_init(&line.bits[WORK_INJECTED], 0);
}

/* After a fence: wake a worker that sleeps, as idle_wake(). */
static void wake(void)
{
	uint32_t bits = atomic_load_relaxed(&parked);

	for (unsigned i = 0; i < WORKERS; i++) {
		uint32_t bit = UINT32_C(1) << i;

		if ((bits & bit) &&
		    (atomic_fetch_and_acq_rel(&parked, ~bit) & bit)) {
			parker_unpark(&parkers[i]);
			return;
		}
	}
}

static struct inject_queue *queue(void)
{
	return &group.lanes[INJECT_NORMAL];
}

/* As push() in core/loop/pool.c, and idle_wake(). */
static void pushes(void)
{
	struct inject_list list = { NULL, NULL, 0 };

	for (unsigned i = 0; i < NODES; i++)
		inject_list_append(&list, &nodes[i]);
	if (defect == RAISED_EARLY)
		inject_group_raise(&line, INJECT_NORMAL);
	inject_queue_push(queue(), &list);
	atomic_fence_seq_cst();
	if (defect == RAISED_UNFENCED &&
	    !(atomic_load_relaxed(&line.bits[WORK_INJECTED])))
		atomic_fetch_or_relaxed(&line.bits[WORK_INJECTED],
					inject_group_bit(INJECT_NORMAL));
	else if (defect != RAISED_EARLY && defect != RAISED_UNFENCED)
		inject_group_raise(&line, INJECT_NORMAL);
	wake();
}

/* As passes_group(), before a sleep. */
static bool passes(void)
{
	if (inject_queue_visible(queue()))
		return false;
	if (defect != PASSED_BY_BLINDLY && defect != NOT_RETURNED)
		return inject_group_pass_by(queue(), &line, INJECT_NORMAL);
	atomic_fetch_and_relaxed(&line.bits[WORK_INJECTED], 0);
	atomic_fence_seq_cst();
	return defect == PASSED_BY_BLINDLY || !inject_queue_visible(queue());
}

/* Take a node that the map names. */
static bool finds(void)
{
	struct inject_take take;

	if (atomic_load_relaxed(&line.bits[WORK_INJECTED]) == 0 || passes())
		return false;
	take = inject_queue_take(queue(), 1);
	if (take.list.count == 0)
		return false;
	atomic_fetch_add_acq_rel(&taken, 1);
	return true;
}

/* Sleep, unless there is a node; with it, do as idle_park_cancel(), and wake the other
 * worker if there is another one, or if all are taken. */
static void works(unsigned i)
{
	const uint32_t bit = UINT32_C(1) << i;

	while (atomic_load_acquire(&taken) < NODES) {
		bool got;

		atomic_fetch_or_relaxed(&parked, bit);
		atomic_fence_seq_cst(); /* I2 */
		got = finds();
		if (!got && atomic_load_acquire(&taken) < NODES)
			parker_park(&parkers[i]);
		atomic_fetch_and_acq_rel(&parked, ~bit);
		atomic_fence_seq_cst();
		if (got || atomic_load_acquire(&taken) == NODES)
			wake();
	}
	atomic_fence_seq_cst();
	wake();
}

static void worker_0(void)
{
	works(0);
}

static void worker_1(void)
{
	works(1);
}

static void worker_2(void)
{
	works(2);
}

static void setup_raised_early(void)
{
	setup_defect(RAISED_EARLY);
}

static void setup_raised_unfenced(void)
{
	setup_defect(RAISED_UNFENCED);
	atomic_init(&line.bits[WORK_INJECTED], 0);
}

static void setup_passed_by_blindly(void)
{
	setup_defect(PASSED_BY_BLINDLY);
}

static void setup_not_returned(void)
{
	setup_defect(NOT_RETURNED);
}

static const struct explore_case cases[] = {
	{ EXPLORE_PASS("push__one_parks", setup, NULL, pushes, worker_0),
	  EXPLORE_WITHIN(3, 2) },
	{ EXPLORE_PASS("push__one_parks__bit_clear", setup_clear, NULL, pushes,
		       worker_0),
	  EXPLORE_WITHIN(3, 2) },
	{ EXPLORE_PASS("push__two_park", setup, NULL, pushes, worker_0,
		       worker_1),
	  EXPLORE_WITHIN(2, 1) },
	{ EXPLORE_PASS("push__three_park", setup, NULL, pushes, worker_0,
		       worker_1, worker_2),
	  EXPLORE_WITHIN(1, 1) },
	{ EXPLORE_PASS("push__three_park__random", setup, NULL, pushes,
		       worker_0, worker_1, worker_2),
	  EXPLORE_WITHIN(12, 6), .random = 100000 },
	{ EXPLORE_BUG("idle_I9__raised_early", "lost wake-up",
		      setup_raised_early, NULL, pushes, worker_0) },
	{ EXPLORE_BUG("idle_I9__raised_unfenced", "lost wake-up",
		      setup_raised_unfenced, NULL, pushes, worker_0) },
	{ EXPLORE_BUG("idle_I9__passed_by_blindly", "lost wake-up",
		      setup_passed_by_blindly, NULL, pushes, worker_0) },
	{ EXPLORE_BUG("idle_I9__not_returned", "lost wake-up",
		      setup_not_returned, NULL, pushes, worker_0) },
};

EXPLORE_MAIN(cases)
