/* SPDX-License-Identifier: MIT */
/**
 * model_summons.c - a summons to a worker that is claimed is passed on (I6)
 *
 * Three real workers, all asleep for so long that there is no sentinel. A task
 * spawns two: the first one fills its worker's LIFO slot, which summons a
 * parked worker; the second one displaces it, which claims a parked worker, the
 * same at times; that one then stays in the poll of the displaced task. So the
 * third worker has to take what is in the slot. Stranded, it is reported as a
 * livelock. Another case has two workers in long polls with a child each behind
 * them: the third worker takes both, runs one for long, and tells of the other.
 *
 * The last case leaves that out; the explorer must find it.
 */
#include <stdalign.h>

#include "core/base/atomic.h"

#define WORKERS 3

/* The mistake of a variant. */
enum defect {
	NO_DEFECT,
	SUMMONS_DROPPED, /* the claimed worker does not pass it on */
};

static enum defect defect;

#include "core/loop/sentinel.c"

/* Wakers claim the sentinel like any other worker. */
static bool any_choice;

static uint64_t enter(struct worker *w)
{
	uint64_t until = sentinel_enter(w);

	if (any_choice)
		idle_claim_none_last(&w->pool->idle, w->group);
	return until;
}

static void leave(struct worker *w)
{
	if (defect == SUMMONS_DROPPED)
		atomic_store_relaxed(&w->driver->summoned, 0);
	sentinel_leave(w);
}

#define sentinel_enter enter
#define sentinel_leave leave

#include "core/loop/work.c"
#include "core/loop/search.c"
#include "core/loop/loop.c"

#undef sentinel_enter
#undef sentinel_leave

#include "tests/model/workers.h"

#define LATE_NS (EXPLORE_START_NS + 10 * NS_PER_S)

static atomic_u32 never; /* slept on, and not woken */
static atomic_u32 begun; /* slept on until task 0 runs */
static unsigned polled[TASKS];

/* ---- tasks -------------------------------------------------------------- */

static void wait_until_polled(unsigned i)
{
	while (polled[i] == 0)
		cpu_relax();
}

static enum skua_poll spawn_two(struct skua_task *task)
{
	polled[task_number(task)]++;
	explore_assert(workers_spawn(1) == 0);
	explore_assert(workers_spawn(2) == 0);
	wait_until_polled(2);
	return SKUA_DONE;
}

/* Whichever of the two is displaced waits for the other. */
static enum skua_poll meet(struct skua_task *task)
{
	polled[task_number(task)]++;
	wait_until_polled(3 - task_number(task));
	return SKUA_DONE;
}

/* Its child waits in the LIFO slot. */
static enum skua_poll spawn_one(struct skua_task *task)
{
	polled[task_number(task)]++;
	atomic_store_release(&begun, 1);
	futex_wake(&begun, 1);
	explore_assert(workers_spawn(1) == 0);
	wait_until_polled(1);
	return SKUA_DONE;
}

/* Another long poll until then. */
static enum skua_poll wait_for_child(struct skua_task *task)
{
	polled[task_number(task)]++;
	wait_until_polled(1);
	return SKUA_DONE;
}

static enum skua_poll finish(struct skua_task *task)
{
	polled[task_number(task)]++;
	return SKUA_DONE;
}

/* Task 3: its child is 2. It leaves a worker to those who search for that. */
static enum skua_poll spawn_other(struct skua_task *task)
{
	polled[task_number(task)]++;
	explore_assert(workers_spawn(2) == 0);
	wait_until_polled(1);
	return SKUA_DONE;
}

/* Task 1: a long poll, until somebody has polled 2. */
static enum skua_poll wait_for_other(struct skua_task *task)
{
	polled[task_number(task)]++;
	wait_until_polled(2);
	return SKUA_DONE;
}

/* ---- outside ------------------------------------------------------------ */

static void spawns_late(void)
{
	futex_wait_until(&never, 0, LATE_NS);
	explore_assert(workers_spawn(0) == 0);
	workers_shut_down();
}

/* Claims a worker for the other long poll while task 0 summons one. */
static void spawns_late_and_claims(void)
{
	futex_wait_until(&never, 0, LATE_NS);
	explore_assert(workers_spawn(0) == 0);
	while (atomic_load_acquire(&begun) == 0)
		futex_wait(&begun, 0);
	explore_assert(workers_spawn(3) == 0);
	workers_shut_down();
}

static void spawns_both(void)
{
	explore_assert(workers_spawn(0) == 0);
	explore_assert(workers_spawn(3) == 0);
	workers_shut_down();
}

/* ---- cases -------------------------------------------------------------- */

static void setup(enum defect which)
{
	defect = which;
	any_choice = false;
	workers_reset(spawn_two, meet, LIFO_DELAY_NS);
	memset(polled, 0, sizeof(polled));
	atomic_init(&never, 0);
	atomic_init(&begun, 0);
}

static void setup_sound(void)
{
	setup(NO_DEFECT);
}

static void setup_claimed_outside(void)
{
	setup(NO_DEFECT);
	tasks[0].poll = spawn_one;
	tasks[1].poll = finish;
	tasks[3].poll = wait_for_child;
}

/* As if each waker ran on the CPU of the other workers. */
static void setup_any_choice(void)
{
	setup(NO_DEFECT);
	any_choice = true;
}

static void setup_outside_any_choice(void)
{
	setup_claimed_outside();
	any_choice = true;
}

static void setup_dropped(void)
{
	setup(SUMMONS_DROPPED);
}

static void setup_both(void)
{
	setup(NO_DEFECT);
	tasks[0].poll = spawn_one;
	tasks[1].poll = wait_for_other;
	tasks[2].poll = finish;
	tasks[3].poll = spawn_other;
}

#define FEW(EXECUTIONS)  EXPLORE_WITHIN(3, 2), .random = (EXECUTIONS)
#define MANY(EXECUTIONS) EXPLORE_WITHIN(12, 6), .random = (EXECUTIONS)

static const struct explore_case cases[] = {
	{ EXPLORE_PASS("claimed__few", setup_sound, NULL, workers_run_0,
		       workers_run_1, workers_run_2, spawns_late),
	  FEW(30000) },
	{ EXPLORE_PASS("claimed__many", setup_sound, NULL, workers_run_0,
		       workers_run_1, workers_run_2, spawns_late),
	  MANY(30000) },
	{ EXPLORE_PASS("claimed_from_outside__few", setup_claimed_outside, NULL,
		       workers_run_0, workers_run_1, workers_run_2,
		       spawns_late_and_claims),
	  FEW(30000) },
	{ EXPLORE_PASS("claimed__any_choice__few", setup_any_choice, NULL,
		       workers_run_0, workers_run_1, workers_run_2,
		       spawns_late),
	  FEW(30000) },
	{ EXPLORE_PASS("claimed_from_outside__any_choice__few",
		       setup_outside_any_choice, NULL, workers_run_0,
		       workers_run_1, workers_run_2, spawns_late_and_claims),
	  FEW(30000) },
	{ EXPLORE_PASS("two_ripe__few", setup_both, NULL, workers_run_0,
		       workers_run_1, workers_run_2, spawns_both),
	  FEW(30000) },
	{ EXPLORE_BUG("claimed__summons_dropped", "livelock", setup_dropped,
		      NULL, workers_run_0, workers_run_1, workers_run_2,
		      spawns_late),
	  FEW(30000) },
};

EXPLORE_MAIN(cases)
