/* SPDX-License-Identifier: MIT */
/**
 * model_group.c - members that enter and leave a group, waits and cancels
 *
 * The public functions on groups, and core/task/group.c, beside pollers that do as
 * core/loop/loop.c does. A word for each task says that it is queued. The
 * waiter poisons the group and its members: what members did must happen
 * before, and nothing may come after. A member that waits for its cancellation
 * and is not reached leaves its poller spinning for ever.
 *
 * The last cases are operations with a part left out.
 */
#include "core/runtime/runtime.h"
#include "skua/waker.h"
#include <string.h>

#define TASKS 3
#include "tests/model/poller.h"

static int spawn_anywhere(struct skua_task *task);
static void fence_of(const char *function);

/* Fences that variants leave out. */
#define atomic_fence_updated_seq_cst() fence_of(__func__)

#include "core/task/group.c"
#include "core/task/group_slots.c"
#include "core/loop/schedule.c"
#include "core/task/task.c"
#include "core/api/task_api.c"

/* A spawn without the pool's counts. */
#define runtime_spawn(rt, task, home, caller) \
	((void)(rt), (void)(caller), spawn_anywhere(task))

#include "core/runtime/group_wait.c"
#include "core/api/group_api.c"

#undef atomic_fence_updated_seq_cst

#define WAITER 2 /* a task that waits for the group */

/* The mistake of a variant. */
enum defect {
	NO_DEFECT,
	LIST_UNFENCED,     /* its look at the mark comes before the list */
	CANCEL_UNFENCED,   /* its look at the list comes before the mark */
	LEAVE_RELAXED,     /* what the member did is not released */
	WAIT_LOOKS_FIRST,  /* for members, before it says that it waits */
	LEAVE_LOOKS_FIRST, /* at the waiter field, and leaves in one step */
	WITHDRAWS_LATE,    /* also when no member is left */
	COUNTS_LATE, /* members that ended, after the poll of another task */
};

static struct skua_runtime runtime;
static struct inject_group inject;
static const uint32_t generation = 1;
static enum defect defect;
static struct skua_group group;
static unsigned results[TASKS];    /* plain: from members to the waiter */
static unsigned expected;          /* members */
static struct skua_waker waker;    /* of the task that waits */
static unsigned letter;            /* plain: to a member that is cancelled */
static bool due;                   /* was it before its poll began? */
static bool waited;                /* has the task that waits given it up? */
static atomic_u32 given_up;        /* has a thread? */
static unsigned waits;             /* that returned 0 */
static atomic_u32 group_is_waited; /* for other threads */

static void fence_of(const char *function)
{
	if (defect == LIST_UNFENCED && strcmp(function, "group_list") == 0)
		return;
	if (defect == CANCEL_UNFENCED &&
	    strcmp(function, "skua_group_cancel") == 0)
		return;
	atomic_fence_updated_seq_cst();
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

/* The wait is over: all is the waiter's. */
static void group_is_over(void)
{
	waits++;
	for (unsigned i = 0; i < expected; i++) {
		explore_assert(explore_read(results[i]) == i + 1);
		explore_write(results[i], 0);
		atomic_store_relaxed(task_state(&tasks[i]), POISON);
	}
	atomic_store_relaxed(group_waiter(&group), NULL);
	atomic_store_relaxed(group_state(&group), POISON);
	atomic_store_relaxed(&group_is_waited, 1);
}

static enum skua_poll finish(struct skua_task *task)
{
	explore_write(results[number(task)], number(task) + 1);
	return SKUA_DONE;
}

static enum skua_poll finish_if_cancelled(struct skua_task *task)
{
	if (!skua_task_cancelled(task))
		return SKUA_PENDING;
	/* The poll that a cancel is due sees what came before it; one that was
	 * under way need not. */
	if (due)
		explore_assert(explore_read(letter) == 1);
	return finish(task);
}

static enum skua_poll spawn_and_finish(struct skua_task *task)
{
	explore_assert(skua_group_spawn(&group, &tasks[1]) == 0);
	return finish(task);
}

static enum skua_poll wait_for_group(struct skua_task *task)
{
	int code = skua_group_wait_poll(task, &group);

	if (code == -EAGAIN)
		return SKUA_PENDING;
	explore_assert(code == 0);
	group_is_over();
	return SKUA_DONE;
}

/* Gives its first wait up, if it can, and waits again. */
static enum skua_poll wait_for_group_twice(struct skua_task *task)
{
	int code = skua_group_wait_poll(task, &group);

	if (code == -EAGAIN && !waited) {
		waited = true;
		code = skua_group_wait_cancel(task, &group);
		explore_assert(code == 0 || code == -EALREADY);
		return wait_for_group(task);
	}
	if (code == -EAGAIN)
		return SKUA_PENDING;
	explore_assert(code == 0);
	group_is_over();
	return SKUA_DONE;
}

/* A poll that takes until the wait for the group is over. */
static enum skua_poll poll_until_waited(struct skua_task *task)
{
	(void)task;
	while (atomic_load_relaxed(&group_is_waited) == 0)
		cpu_relax();
	return SKUA_DONE;
}

/* As group_leave(), with a part left out. */
static struct task_end leave_by_variant(void)
{
	uint64_t state = atomic_load_acquire(group_state(&group));
	struct task_end end;

	do {
		end.what.joiner = atomic_load_relaxed(group_waiter(&group));
		end.bit = state & GROUP_WAIT_THREAD ? TASK_END_THREAD : 0;
	} while (defect == LEAVE_RELAXED
			 ? !atomic_cas_relaxed(group_state(&group), &state,
					       state - GROUP_MEMBER)
			 : !atomic_cas_acq_rel(group_state(&group), &state,
					       state - GROUP_MEMBER));
	if (!group_ended(state - GROUP_MEMBER))
		end.bit = 0;
	return end;
}

static void complete(struct skua_task *task, bool spare)
{
	struct task_end end;

	if ((defect != LEAVE_RELAXED && defect != LEAVE_LOOKS_FIRST) ||
	    number(task) == WAITER) {
		schedule_complete(task, spare, leaves);
		return;
	}
	end = task_drop(task, (struct task_state_drop){
				      .references = TASK_SPAWN_REFERENCES,
				      .complete = true });
	explore_assert(end.bit == TASK_END_GROUP);
	end = leave_by_variant();
	if (end.bit)
		task_joiner_wake(end.what.joiner);
}

/* As poll_task() in core/loop/loop.c. */
static void poll_task(struct skua_task *task)
{
	enum skua_poll result;
	bool spare;

	if (defect != COUNTS_LATE)
		count_other_leaves(task);
	due = atomic_load_relaxed(task_state(task)) & TASK_CANCELLED;
	task_state_transition_to_running(task_state(task));
	result = run_poll(task, &spare);
	if (result == SKUA_DONE) {
		over[number(task)] = true;
		complete(task, spare);
	} else {
		group_before_wait(task);
		if (!task_state_transition_to_waiting(task_state(task), spare))
			schedule(task);
	}
}

static void polls_0(void)
{
	poll_until_over(0);
}

static void polls_1(void)
{
	poll_until_over(1);
}

static void polls_0_and_1(void)
{
	poll_until_all_over(0, 1);
}

static void polls_waiter(void)
{
	poll_until_over(WAITER);
}

/* ---- outside ------------------------------------------------------------ */

static void spawn_member(unsigned i)
{
	explore_assert(skua_group_spawn(&group, &tasks[i]) == 0);
}

static void wait_for_all(void)
{
	if (defect == WAIT_LOOKS_FIRST) {
		struct task_joiner joiner;

		explore_assert(group_wait_claim(&group));
		atomic_init(&joiner.done, 0);
		atomic_store_relaxed(group_waiter(&group), &joiner);
		if (!group_ended(atomic_load_acquire(group_state(&group)))) {
			atomic_fetch_or_acq_rel(group_state(&group),
						GROUP_WAIT_THREAD);
			task_joiner_wait(&joiner);
		}
	} else {
		explore_assert(skua_group_wait(&group) == 0);
	}
	group_is_over();
}

static void waits_for_spawned(void)
{
	wait_for_all();
}

/* The group stays in place for others. The member is poisoned: no thread may read
 * it any more. */
static void waits_beside_others(void)
{
	explore_assert(skua_group_wait(&group) == 0);
	explore_assert(explore_read(results[0]) == 1);
	waits++;
	tasks[0].pool = NULL;
	tasks[0].flags = 0;
	atomic_store_relaxed(task_state(&tasks[0]), POISON);
}

/* As group_wait_withdraw(), with a part left out. */
static bool withdraw_by_variant(void)
{
	uint64_t state = atomic_load_relaxed(group_state(&group));

	if (defect != WITHDRAWS_LATE)
		return group_wait_withdraw(&group, GROUP_WAIT_THREAD);
	do {
	} while (!atomic_cas_relaxed(
		group_state(&group), &state,
		state & ~(GROUP_WAIT_THREAD | GROUP_CLAIMED)));
	return true;
}

/* As skua_group_wait_until(). */
static int wait_until_by_variant(void)
{
	struct task_joiner joiner;

	if (defect != WITHDRAWS_LATE)
		return skua_group_wait_until(&group, 1);
	explore_assert(group_wait_claim(&group));
	atomic_init(&joiner.done, 0);
	atomic_store_relaxed(group_waiter(&group), &joiner);
	if (group_wait_arm(&group, GROUP_WAIT_THREAD) &&
	    !task_joiner_wait_until(&joiner, 1)) {
		if (withdraw_by_variant())
			return -ETIMEDOUT;
		task_joiner_wait(&joiner);
	}
	group_wait_end(&group);
	return 0;
}

/* Waits until a deadline, and leaves the rest to another thread. */
static void waits_until(void)
{
	int code = wait_until_by_variant();

	explore_assert(code == 0 || code == -ETIMEDOUT);
	if (code == 0)
		group_is_over();
	/* Relaxed: the library orders what it does itself. */
	atomic_store_relaxed(&given_up, code == 0 ? 2 : 1);
}

static void waits_after_it(void)
{
	while (atomic_load_relaxed(&given_up) == 0)
		cpu_relax();
	if (atomic_load_relaxed(&given_up) == 1)
		wait_for_all();
}

static void spawns_and_waits(void)
{
	spawn_member(0);
	spawn_member(1);
	wait_for_all();
}

static void spawns_one_and_waits(void)
{
	spawn_member(0);
	wait_for_all();
}

static void spawns_one(void)
{
	spawn_member(0);
}

static void cancels(void)
{
	explore_write(letter, 1);
	explore_assert(skua_group_cancel(&group) == 0);
}

static void wakes_waiter(void)
{
	skua_waker_wake(waker);
}

/* ---- fixtures ----------------------------------------------------------- */

static void setup(unsigned count, skua_task_fn first, skua_task_fn second)
{
	runtime.pool.inject = &inject;
	runtime.pool.generation_here = &generation;
	runtime.pool.generation = generation;
	defect = NO_DEFECT;
	pollers_reset();
	for (unsigned i = 0; i < TASKS; i++)
		results[i] = 0;
	tasks[0] = (struct skua_task)SKUA_TASK_INIT(first);
	tasks[1] = (struct skua_task)SKUA_TASK_INIT(second);
	tasks[WAITER] = (struct skua_task)SKUA_TASK_INIT(wait_for_group);
	expected = count;
	waits = 0;
	waited = false;
	letter = 0;
	atomic_init(&given_up, 0);
	atomic_init(&group_is_waited, 0);
	explore_assert(skua_group_init(&group, &runtime) == 0);
	explore_thread_local((void **)&lender);
	explore_watch(&group, sizeof(group));
	explore_watch(tasks, sizeof(tasks));
}

static void setup_two(void)
{
	setup(2, finish, finish);
}

static void setup_one(void)
{
	setup(1, finish, finish);
}

static void setup_two_spawned(void)
{
	setup_two();
	spawn_member(0);
	spawn_member(1);
}

static void setup_spawning(void)
{
	setup(2, spawn_and_finish, finish);
	spawn_member(0);
}

static void setup_one_spawned(void)
{
	setup_one();
	spawn_member(0);
}

/* Task 1 is no member. */
static void setup_long_poll(void)
{
	setup(1, finish, poll_until_waited);
	spawn_member(0);
	spawn_anywhere(&tasks[1]);
	explore_assert(skua_task_detach(&tasks[1], NULL) == 0);
}

static void setup_waiting_task(void)
{
	setup_two_spawned();
	spawn_anywhere(&tasks[WAITER]);
	explore_assert(skua_task_detach(&tasks[WAITER], NULL) == 0);
}

static void setup_waiting_twice(void)
{
	setup_one_spawned();
	tasks[WAITER].poll = wait_for_group_twice;
	spawn_anywhere(&tasks[WAITER]);
	explore_assert(skua_task_detach(&tasks[WAITER], NULL) == 0);
}

/* The task is woken early, too. */
static void setup_woken_task(void)
{
	setup(1, finish, finish);
	spawn_member(0);
	spawn_anywhere(&tasks[WAITER]);
	explore_assert(skua_task_detach(&tasks[WAITER], NULL) == 0);
	waker = skua_task_waker(&tasks[WAITER]);
}

/* No wait ends beside a cancel: nobody waits. */
static void setup_cancelled(void)
{
	setup(1, finish_if_cancelled, finish);
}

VARIANT(list_unfenced, cancelled, LIST_UNFENCED)
VARIANT(cancel_unfenced, cancelled, CANCEL_UNFENCED)
VARIANT(leave_relaxed, two_spawned, LEAVE_RELAXED)
VARIANT(wait_looks_first, two_spawned, WAIT_LOOKS_FIRST)
VARIANT(leave_looks_first, one_spawned, LEAVE_LOOKS_FIRST)
VARIANT(withdraws_late, one_spawned, WITHDRAWS_LATE)
VARIANT(counts_late, long_poll, COUNTS_LATE)

static void check(void)
{
	explore_assert(waits == 1);
	explore_assert(atomic_load_relaxed(group_state(&group)) == POISON);
	for (unsigned i = 0; i < expected; i++)
		explore_assert(atomic_load_relaxed(task_state(&tasks[i])) ==
			       POISON);
}

static void check_cancelled(void)
{
	explore_assert(explore_read(results[0]) == 1);
	explore_assert(group_ended(atomic_load_relaxed(group_state(&group))));
}

/* ---- cases -------------------------------------------------------------- */

static const struct explore_case cases[] = {
	{ EXPLORE_PASS("spawn__wait", setup_one, check, polls_0,
		       spawns_one_and_waits) },
	{ EXPLORE_PASS("spawn_two__wait", setup_two, check, polls_0, polls_1,
		       spawns_and_waits),
	  EXPLORE_WITHIN(2, 1) },
	{ EXPLORE_PASS("two_end__wait", setup_two_spawned, check, polls_0,
		       polls_1, waits_for_spawned) },
	{ EXPLORE_PASS("two_end_on_one_worker__wait", setup_two_spawned, check,
		       polls_0_and_1, waits_for_spawned) },
	{ EXPLORE_PASS("one_ends__long_poll__wait", setup_long_poll, check,
		       polls_0_and_1, waits_for_spawned) },
	{ EXPLORE_PASS("member_spawns__wait", setup_spawning, check, polls_0,
		       polls_1, waits_for_spawned),
	  EXPLORE_WITHIN(2, 1) },
	{ EXPLORE_PASS("two_end__task_waits", setup_waiting_task, check,
		       polls_0, polls_1, polls_waiter),
	  EXPLORE_WITHIN(2, 1) },
	{ EXPLORE_PASS("one_ends__task_is_woken_early", setup_woken_task, check,
		       polls_0, polls_waiter, wakes_waiter),
	  EXPLORE_WITHIN(2, 2) },
	{ EXPLORE_PASS("one_ends__wait_until__other_waits", setup_one_spawned,
		       check, polls_0, waits_until, waits_after_it) },
	{ EXPLORE_PASS("one_ends__task_waits_twice", setup_waiting_twice, check,
		       polls_0, polls_waiter) },
	{ EXPLORE_PASS("one_ends__cancel__wait", setup_one_spawned, NULL,
		       polls_0, cancels, waits_beside_others) },
	{ EXPLORE_PASS("spawn__cancel", setup_cancelled, check_cancelled,
		       polls_0, spawns_one, cancels) },

	{ EXPLORE_BUG("list_unfenced", "livelock", setup_list_unfenced,
		      check_cancelled, polls_0, spawns_one, cancels) },
	{ EXPLORE_BUG("cancel_unfenced", "livelock", setup_cancel_unfenced,
		      check_cancelled, polls_0, spawns_one, cancels) },
	{ EXPLORE_BUG("leave_relaxed", "data race", setup_leave_relaxed, check,
		      polls_0, polls_1, waits_for_spawned) },
	{ EXPLORE_BUG("wait_looks_first", "lost wake-up",
		      setup_wait_looks_first, check, polls_0_and_1,
		      waits_for_spawned) },
	{ EXPLORE_BUG("leave_looks_first", "lost wake-up",
		      setup_leave_looks_first, check, polls_0, waits_until,
		      waits_after_it) },
	{ EXPLORE_BUG("counts_late", "livelock", setup_counts_late, check,
		      polls_0_and_1, waits_for_spawned) },
	{ EXPLORE_BUG("withdraws_late", "", setup_withdraws_late, check,
		      polls_0, waits_until, waits_after_it) },
};

EXPLORE_MAIN(cases)
