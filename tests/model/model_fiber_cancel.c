/* SPDX-License-Identifier: MIT */
/**
 * model_fiber_cancel.c - a shutdown that cancels finds each fiber that waits, and touches
 * none that has ended
 *
 * core/fiber/fiber_cancel.c and stacks.c, with stacks in static memory. A task stands for
 * the fiber. In some cases the worker is a thread that only ends it; in others, it is a
 * worker with its loop. The memory of a fiber that has ended is freed at once. A fiber that
 * ends after the cancel takes no lock.
 *
 * The last cases are the same with a part left out.
 */
#define WORKERS 1

#include "core/fiber/stacks.h"

#include "tests/model/workers.h"

#include "core/fiber/fiber_cancel.c"
#include "core/fiber/stacks.c"

/* The mistake of a variant. */
enum defect {
	NO_DEFECT,
	CANCEL_UNFENCED, /* it looks at the stacks before the flag is seen */
	LEAVE_LOOKS_NOT, /* the end does not wait for the cancel */
	BEGINS_UNSEEN,   /* a stack does not point at its fiber */
	ENDS_EARLY,      /* fibers end without a wait while it cancels them */
};

static enum defect defect;
static struct stacks stacks;
static struct arena arena;
static struct stack places[2];
static unsigned polls[TASKS];

static struct skua_fiber *fiber_of(struct skua_task *task)
{
	return (struct skua_fiber *)task;
}

/* As begin() in fiber.c. */
static void begin(struct skua_task *task)
{
	if (defect != BEGINS_UNSEEN)
		atomic_store_release(stack_fiber(&places[task_number(task)]),
				     fiber_of(task));
}

/* As end() in fiber.c. */
static void end(const struct skua_task *task)
{
	struct stack *stack = &places[task_number(task)];

	if (defect == LEAVE_LOOKS_NOT)
		atomic_store_relaxed(stack_fiber(stack), NULL);
	else
		fiber_cancel_leave(&pool, stack);
}

/* ---- the worker's loop ------------------------------------------------------ */

/* A fiber that waits until it is cancelled. */
static enum skua_poll waits(struct skua_task *self)
{
	if (polls[task_number(self)]++ == 0)
		begin(self);
	if (!(atomic_load_relaxed(task_state(self)) & TASK_CANCELLED))
		return SKUA_PENDING;
	end(self);
	return SKUA_DONE;
}

static enum skua_poll ends(struct skua_task *self)
{
	begin(self);
	end(self);
	return SKUA_DONE;
}

static void cancel_all(void)
{
	pool_cancel(&pool);
	if (defect == CANCEL_UNFENCED)
		atomic_fetch_or_relaxed(flags_of(&pool), POLL_STACKS);
	else
		explore_assert(fiber_cancel_begin(&pool));
	if (defect == ENDS_EARLY)
		fiber_cancel_end(&pool);
	fiber_cancel_all(&stacks);
	fiber_cancel_end(&pool);
}

static void cancels(void)
{
	cancel_all();
	workers_shut_down();
}

static void reset(skua_task_fn first, skua_task_fn other)
{
	workers_reset(first, other, SENTINEL_NEVER);
	memset(&stacks, 0, sizeof(stacks));
	stacks_init(&stacks, 0, STACK_ORDER_MIN);
	arena = (struct arena){ .owner = &stacks, .count = 2 };
	stacks.area.arenas = (uintptr_t)&arena;
	for (unsigned i = 0; i < 2; i++) {
		places[i] = (struct stack){ .arena = &arena, .index = i };
		atomic_init(stack_fiber(&places[i]), NULL);
		arena.area.stacks[i] = (uintptr_t)&places[i];
	}
	memset(polls, 0, sizeof(polls));
	defect = NO_DEFECT;
}

static void setup_waits(void)
{
	reset(waits, ends);
	explore_assert(workers_spawn(0) == 0);
}

static void setup_two(void)
{
	setup_waits();
	explore_assert(workers_spawn(1) == 0);
}

static void setup_waits_unseen(void)
{
	setup_waits();
	defect = BEGINS_UNSEEN;
}

static void all_done(void)
{
	for (unsigned i = 0; i < 2; i++)
		explore_assert(places[i].fiber == NULL);
}

/* ---- a thread that ends a fiber ---------------------------------------------- */

/* It is in a poll, which began before the shutdown. */
static void setup_ending(void)
{
	reset(NULL, NULL);
	explore_assert(
		task_state_transition_to_spawned(task_state(&tasks[0])) == 0);
	atomic_init(stack_fiber(&places[0]), fiber_of(&tasks[0]));
	explore_watch(&tasks[0], sizeof(tasks[0]));
}

static void setup_ending_fences(void)
{
	setup_ending();
	pool.membarrier = false;
}

static void setup_ending_unfenced(void)
{
	setup_ending();
	defect = CANCEL_UNFENCED;
}

static void setup_ending_unseen(void)
{
	setup_ending();
	defect = LEAVE_LOOKS_NOT;
}

static void ends_and_frees(void)
{
	end(&tasks[0]);
	explore_free(&tasks[0], sizeof(tasks[0]));
}

static void setup_ending_early(void)
{
	setup_ending();
	defect = ENDS_EARLY;
}

/* A thread that waits for the lock here waits for itself. */
static void cancels_and_ends(void)
{
	cancel_all();
	pthread_mutex_lock(&stacks.lock);
	ends_and_frees();
	pthread_mutex_unlock(&stacks.lock);
}

/* Then the stack has another fiber, which is in its first poll. */
static void ends_and_begins(void)
{
	ends_and_frees();
	explore_assert(
		task_state_transition_to_spawned(task_state(&tasks[1])) == 0);
	atomic_store_release(stack_fiber(&places[0]), fiber_of(&tasks[1]));
	fiber_cancel_leave(&pool, &places[0]);
	explore_free(&tasks[1], sizeof(tasks[1]));
}

static const struct explore_case cases[] = {
	{ EXPLORE_PASS("ends", setup_ending, all_done, ends_and_frees,
		       cancel_all) },
	{ EXPLORE_PASS("ends__fences", setup_ending_fences, all_done,
		       ends_and_frees, cancel_all) },
	{ EXPLORE_PASS("ends__next_begins", setup_ending, all_done,
		       ends_and_begins, cancel_all) },
	{ EXPLORE_PASS("ends__next_begins__fences", setup_ending_fences,
		       all_done, ends_and_begins, cancel_all) },
	{ EXPLORE_PASS("ends_after_the_cancel__takes_no_lock", setup_ending,
		       all_done, cancels_and_ends) },
	{ EXPLORE_PASS("waits", setup_waits, all_done, workers_run_0, cancels),
	  EXPLORE_WITHIN(2, 1) },
	{ EXPLORE_PASS("waits__ends", setup_two, all_done, workers_run_0,
		       cancels),
	  EXPLORE_WITHIN(2, 1) },
	{ EXPLORE_BUG("unfenced", "freed", setup_ending_unfenced, all_done,
		      ends_and_frees, cancel_all) },
	{ EXPLORE_BUG("not_awaited", "freed", setup_ending_unseen, all_done,
		      ends_and_frees, cancel_all) },
	{ EXPLORE_BUG("ends_early", "freed", setup_ending_early, all_done,
		      ends_and_frees, cancel_all) },
	{ EXPLORE_BUG("not_found", "lost", setup_waits_unseen, all_done,
		      workers_run_0, cancels),
	  EXPLORE_WITHIN(2, 1) },
};

EXPLORE_MAIN(cases)
