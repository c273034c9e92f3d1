/* SPDX-License-Identifier: MIT */
/**
 * model_group_nested.c - a group that is nested, beside a cancel of its parent
 *
 * The public functions on groups and core/task/group.c, beside pollers that do as
 * core/loop/loop.c does. Each member waits for its cancellation: one that is not reached
 * leaves its poller spinning for ever. Groups are poisoned after their last wait.
 *
 * The last cases are operations with a part left out.
 */
#include "core/base/memory.h"
#include "core/runtime/runtime.h"
#include <string.h>

#define TASKS 2
#include "tests/model/poller.h"

static int spawn_anywhere(struct skua_task *task);
static void fence_of(const char *function);
static void full_fence_of(const char *function);

#include "core/task/group.c"
#include "core/task/group_slots.c"
#include "core/loop/schedule.c"
#include "core/task/task.c"
#include "core/api/task_api.c"

/* A spawn without the pool's counts; fences that variants leave out. */
#define runtime_spawn(rt, task, home, caller) \
	((void)(rt), (void)(caller), spawn_anywhere(task))
#define atomic_fence_updated_seq_cst() fence_of(__func__)
#define atomic_fence_seq_cst()         full_fence_of(__func__)

#include "core/runtime/group_wait.c"
#include "core/api/group_api.c"

#undef atomic_fence_updated_seq_cst
#undef atomic_fence_seq_cst

/* The mistake of a variant. */
enum defect {
	NO_DEFECT,
	NEST_UNFENCED,   /* its look at the mark comes before the link */
	CANCEL_UNFENCED, /* its look at the children comes before the mark */
	BELOW_UNFENCED, /* its look at their members comes before their marks */
};

static struct skua_runtime runtime;
static struct inject_group inject;
static const uint32_t generation = 1;
static enum defect defect;
static struct skua_group parent, child;
static unsigned letter; /* plain: from a thread that fails to one that looks */

static void fence_of(const char *function)
{
	if (defect == CANCEL_UNFENCED &&
	    strcmp(function, "skua_group_cancel") == 0)
		return;
	atomic_fence_updated_seq_cst();
}

static void full_fence_of(const char *function)
{
	if (defect == NEST_UNFENCED && strcmp(function, "skua_group_nest") == 0)
		return;
	if (defect == BELOW_UNFENCED && strcmp(function, "collect") == 0)
		return;
	atomic_fence_seq_cst();
}

/* ---- pollers ------------------------------------------------------------ */

static int spawn_anywhere(struct skua_task *task)
{
	int code = task_state_transition_to_spawned(task_state(task));

	task->pool = &runtime.pool;
	if (code == 0)
		enqueue(task);
	return code;
}

static enum skua_poll finish_if_cancelled(struct skua_task *task)
{
	return skua_task_cancelled(task) ? SKUA_DONE : SKUA_PENDING;
}

/* As poll_task() in core/loop/loop.c. */
static void poll_task(struct skua_task *task)
{
	enum skua_poll result;
	bool spare;

	count_other_leaves(task);
	task_state_transition_to_running(task_state(task));
	result = run_poll(task, &spare);
	if (result == SKUA_DONE) {
		over[number(task)] = true;
		schedule_complete(task, spare, leaves);
		return;
	}
	group_before_wait(task);
	if (!task_state_transition_to_waiting(task_state(task), spare))
		schedule(task);
}

static void polls_0(void)
{
	poll_until_over(0);
}

/* ---- outside ------------------------------------------------------------ */

static void cancels(void)
{
	explore_assert(skua_group_cancel(&parent) == 0);
}

static void nest(void)
{
	explore_assert(skua_group_nest(&child, &parent) == 0);
}

static void spawn_member(void)
{
	explore_assert(skua_group_spawn(&child, &tasks[0]) == 0);
}

/* Wait for the child, whose memory is gone then. */
static void waits(void)
{
	explore_assert(skua_group_wait(&child) == 0);
	child.runtime = NULL;
	child.first_child = child.next_to_cancel = NULL;
	atomic_store_relaxed(group_state(&child), POISON);
}

static void nests_spawns_and_waits(void)
{
	nest();
	spawn_member();
	waits();
}

/* A member of the parent fails. */
static void fails(void)
{
	explore_write(letter, 1);
	explore_assert(skua_group_fail(&parent, -EIO) == 0);
}

static void looks(void)
{
	int error = skua_group_error(&parent);

	explore_assert(error == 0 || error == -EIO);
	if (error)
		explore_assert(explore_read(letter) == 1);
}

/* ---- fixtures ----------------------------------------------------------- */

static void setup(void)
{
	letter = 0;
	runtime.pool.inject = &inject;
	runtime.pool.generation_here = &generation;
	runtime.pool.generation = generation;
	pi_lock_init(&runtime.nesting);
	defect = NO_DEFECT;
	pollers_reset();
	tasks[0] = (struct skua_task)SKUA_TASK_INIT(finish_if_cancelled);
	explore_assert(skua_group_init(&parent, &runtime) == 0);
	explore_assert(skua_group_init(&child, &runtime) == 0);
	/* A member that stays, so that the parent does. */
	group_enter(&parent, 1);
	explore_thread_local((void **)&lender);
	explore_watch(&child, sizeof(child));
	explore_watch(tasks, sizeof(tasks));
}

static void setup_nested(void)
{
	setup();
	nest();
	spawn_member();
}

#define setup_plain setup
VARIANT(nest_unfenced, plain, NEST_UNFENCED)
VARIANT(cancel_unfenced, plain, CANCEL_UNFENCED)
VARIANT(below_unfenced, nested, BELOW_UNFENCED)

static void check_failed(void)
{
	explore_assert(skua_group_error(&parent) == -EIO);
	explore_assert(group_cancelled(&parent));
	leave(&parent);
	explore_assert(skua_group_wait(&parent) == 0);
}

static void check(void)
{
	explore_assert(over[0]);
	explore_assert(atomic_load_relaxed(group_state(&child)) == POISON);
	explore_assert(parent.first_child == NULL);
	leave(&parent);
	explore_assert(skua_group_wait(&parent) == 0);
}

/* ---- cases -------------------------------------------------------------- */

static const struct explore_case cases[] = {
	{ EXPLORE_PASS("nest__cancel", setup, check, polls_0,
		       nests_spawns_and_waits, cancels),
	  EXPLORE_WITHIN(2, 2) },
	{ EXPLORE_PASS("nested__cancel", setup_nested, check, polls_0, waits,
		       cancels),
	  EXPLORE_WITHIN(2, 2) },
	{ EXPLORE_PASS("nested__two_cancel", setup_nested, check, polls_0,
		       waits, cancels, cancels),
	  EXPLORE_WITHIN(1, 2) },
	{ EXPLORE_PASS("fail__error", setup, check_failed, fails, looks) },

	{ EXPLORE_BUG("nest_unfenced", "livelock", setup_nest_unfenced, check,
		      polls_0, nests_spawns_and_waits, cancels) },
	{ EXPLORE_BUG("below_unfenced", "livelock", setup_below_unfenced, check,
		      polls_0, waits, cancels),
	  EXPLORE_WITHIN(1, 2) },
	{ EXPLORE_BUG("cancel_unfenced", "livelock", setup_cancel_unfenced,
		      check, polls_0, nests_spawns_and_waits, cancels) },
};

EXPLORE_MAIN(cases)
