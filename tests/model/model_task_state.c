/* SPDX-License-Identifier: MIT */
/**
 * model_task_state.c - wakes, cancels, joins and the end of a task
 *
 * The public functions on tasks and wakers, and core/loop/schedule.c, run beside
 * pollers that do as core/loop/loop.c does. In place of the queues each task has a
 * word that says that it is queued, so that the steps are those of the state
 * word. A task ends its wait when it has seen all that was posted before a
 * wake-up; one that is lost, or whose post the next poll does not see, leaves
 * the poller spinning for ever. A thread that may free a task does, and poisons it:
 * earlier accesses must happen before, and none may come after.
 *
 * The last cases are defects that other schedulers have had, and transitions with a
 * part left out; the explorer must find them.
 */
#include "core/runtime/runtime.h"
#include "skua/waker.h"
#include <string.h>

#define TASKS 2
#include "tests/model/poller.h"

#include "core/loop/schedule.c"
#include "core/task/task.c"
#include "core/api/task_api.c"

/* The mistake of a variant. */
enum defect {
	NO_DEFECT,
	WAKE_LOADS_FIRST,      /* returns if it is SCHEDULED already */
	WAIT_STORES,           /* a wake-up during the poll is overwritten */
	CANCEL_ONLY_MARKS,     /* and does not schedule */
	DROP_RELAXED,          /* what the holder did is not released */
	DROP_READS_END,        /* the end field is read after the drop */
	DROP_CHECKS_LATER,     /* drops first, then looks whether it was last */
	CLAIM_LOADS_FIRST,     /* two take the right to the end */
	ENDED_BY_CHECKS_FIRST, /* looks for the end before it sets the bit */
	WITHDRAWS_UNMARKED,    /* a join that is given up leaves no trace */
	WITHDRAWS_LATE,        /* also when the end is being told */
};

static struct pool pool;
static struct inject_group inject;
static const uint32_t generation = 1;
static enum defect defect;

static atomic_u32 posted[TASKS]; /* relaxed: the wake-up alone orders */
static unsigned wanted[TASKS];   /* posts that a task waits for */
static unsigned yields;          /* so often before it waits */
static bool kept;                /* the memory stays after the end */
static bool unwoken;             /* except by the canceller of task 0 */
static bool twice;               /* is a join given up */
static struct skua_waker wakers[2];
static struct skua_waker joiner_waker; /* of task 1 */

static unsigned progress[TASKS]; /* plain: from poll to poll, to the joiner */
static unsigned letters[2];      /* plain: from the wakers to the joiner */
static unsigned touched[2];      /* plain: by wakers, in the task's memory */
static unsigned ends[TASKS];
static bool freed[TASKS];

/* ---- pollers ------------------------------------------------------------ */

static void poison(unsigned i)
{
	explore_assert(!freed[i]);
	freed[i] = true;
	explore_write(progress[i], 0);
	if (i == 0)
		for (unsigned n = 0; n < 2; n++)
			explore_write(touched[n], 0);
	memset(&tasks[i].end, 0, sizeof(tasks[i].end));
	tasks[i].poll = NULL;
	atomic_store_relaxed(task_state(&tasks[i]), POISON);
}

static void task_ended(unsigned i)
{
	ends[i]++;
	explore_assert(explore_read(progress[i]) > 0);
	if (!kept)
		poison(i);
	over[i] = true;
}

static void release(struct skua_task *task)
{
	task_ended(number(task));
}

static enum skua_poll wait_for_posts(struct skua_task *task)
{
	unsigned i = number(task);

	explore_write(progress[i], progress[i] + 1);
	if (atomic_load_relaxed(&posted[i]) >= wanted[i])
		return SKUA_DONE;
	if (yields == 0)
		return SKUA_PENDING;
	yields--;
	return SKUA_YIELD;
}

static enum skua_poll wait_for_cancel(struct skua_task *task)
{
	unsigned i = number(task);

	explore_write(progress[i], progress[i] + 1);
	/* A further poll is due to the cancel, and sees what came before. */
	if (unwoken && progress[i] > 1)
		explore_assert(explore_read(letters[1]) == 2);
	return skua_task_cancelled(task) ? SKUA_DONE : SKUA_PENDING;
}

/* Task 1 joins task 0. */
static enum skua_poll join_other(struct skua_task *task)
{
	unsigned i = number(task);
	int code = skua_task_join_poll(task, &tasks[0]);

	explore_write(progress[i], progress[i] + 1);
	if (code == -EAGAIN)
		return SKUA_PENDING;
	explore_assert(code == 0);
	task_ended(0);
	return SKUA_DONE;
}

/* Task 1 gives its first join up, and joins again. */
static enum skua_poll join_other_twice(struct skua_task *task)
{
	int code;

	if (progress[1] == 0 &&
	    skua_task_join_poll(task, &tasks[0]) == -EAGAIN) {
		code = skua_task_join_cancel(task, &tasks[0]);
		explore_assert(code == 0 || code == -EALREADY);
	} else if (progress[1] == 0) {
		explore_write(progress[1], 1);
		task_ended(0);
		return SKUA_DONE;
	}
	return join_other(task);
}

/* Task 1 gives its join up for good, if it can. */
static enum skua_poll give_join_up(struct skua_task *task)
{
	int code = skua_task_join_poll(task, &tasks[0]);

	explore_write(progress[1], progress[1] + 1);
	if (code == -EAGAIN) {
		code = skua_task_join_cancel(task, &tasks[0]);
		if (code == -EALREADY)
			return SKUA_PENDING;
		explore_assert(code == 0);
		return SKUA_DONE;
	}
	explore_assert(code == 0 || code == -EALREADY || code == -EINVAL);
	if (code == 0)
		task_ended(0);
	return SKUA_DONE;
}

static bool to_waiting(struct skua_task *task, bool spare)
{
	uint64_t old;

	if (defect != WAIT_STORES)
		return task_state_transition_to_waiting(task_state(task),
							spare);
	old = atomic_load_relaxed(task_state(task));
	atomic_store_release(task_state(task),
			     old & ~(TASK_ACTIVE | TASK_SCHEDULED));
	explore_assert(spare);
	return !(old & TASK_SCHEDULED);
}

static struct task_end drop_by_variant(struct skua_task *task,
				       struct task_state_drop drop)
{
	uint64_t state = atomic_load_acquire(task_state(task));
	struct task_end end = { .bit = 0 };
	uint64_t next;

	do {
		next = task_state_less(state, drop);
		end.bit = next & TASK_END_MASK;
		end.what = task_end_read(task);
	} while (defect == DROP_RELAXED
			 ? !atomic_cas_relaxed(task_state(task), &state, next)
			 : !atomic_cas_acq_rel(task_state(task), &state, next));
	if (defect == DROP_READS_END || defect == DROP_CHECKS_LATER) {
		explore_assert(!freed[number(task)]);
		state = atomic_load_acquire(task_state(task));
		end.bit = state & TASK_END_MASK;
		explore_assert(!freed[number(task)]);
		end.what = task_end_read(task);
	}
	if (defect == DROP_CHECKS_LATER)
		next = state;
	if (!task_state_ended(next))
		end.bit = 0;
	return end;
}

static bool drops_by_variant(void)
{
	return defect == DROP_RELAXED || defect == DROP_READS_END ||
	       defect == DROP_CHECKS_LATER;
}

/* As schedule_end(), for what the variants have. */
static void act(struct skua_task *task, struct task_end end)
{
	if (end.bit == TASK_END_THREAD)
		task_joiner_wake(end.what.joiner);
	else if (end.bit == TASK_END_DETACH)
		end.what.release(task);
}

static void drop(struct skua_task *task)
{
	if (drops_by_variant())
		act(task, drop_by_variant(task, one));
	else
		schedule_drop(task);
}

static void complete(struct skua_task *task, bool spare)
{
	struct task_state_drop all = { .references = 1 + (uint64_t)spare,
				       .complete = true };

	over[number(task)] = true;
	if (drops_by_variant())
		act(task, drop_by_variant(task, all));
	else
		schedule_complete(task, spare, leaves);
}

/* As poll_task() in core/loop/loop.c. */
static void poll_task(struct skua_task *task)
{
	enum skua_poll result;
	bool spare;

	count_other_leaves(task);
	task_state_transition_to_running(task_state(task));
	result = run_poll(task, &spare);
	if (result == SKUA_YIELD) {
		if (!spare)
			task_state_add_reference(task_state(task));
		schedule(task);
	} else if (result == SKUA_DONE) {
		complete(task, spare);
	} else if (!to_waiting(task, spare)) {
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

/* ---- wakers ------------------------------------------------------------- */

static void post(unsigned i)
{
	explore_write(letters[i], i + 1);
	explore_write(touched[i], 1);
	atomic_fetch_add_relaxed(&posted[0], 1);
}

static void wake_by_ref(unsigned i)
{
	if (defect == WAKE_LOADS_FIRST &&
	    (atomic_load_acquire(task_state(&tasks[0])) & TASK_SCHEDULED))
		return;
	skua_waker_wake_by_ref(wakers[i]);
}

static void wake_and_drop(unsigned i)
{
	post(i);
	wake_by_ref(i);
	drop(&tasks[0]);
}

static void wakes_0(void)
{
	wake_and_drop(0);
}

static void wakes_1(void)
{
	wake_and_drop(1);
}

static void drops_1(void)
{
	explore_write(touched[1], 1);
	drop(&tasks[0]);
}

static void clones_and_wakes_1(void)
{
	struct skua_waker clone = skua_waker_clone(wakers[1]);

	skua_waker_drop(wakers[1]);
	post(1);
	skua_waker_wake(clone);
}

static void cancels_1(void)
{
	explore_write(letters[1], 2);
	if (defect == CANCEL_ONLY_MARKS)
		atomic_fetch_or_acq_rel(task_state(&tasks[0]), TASK_CANCELLED);
	else
		skua_task_cancel(&tasks[0]);
	drops_1();
}

static void wakes_joiner(void)
{
	skua_waker_wake(joiner_waker);
}

/* ---- ends --------------------------------------------------------------- */

static int claim(void)
{
	uint64_t old;

	if (defect != CLAIM_LOADS_FIRST)
		return task_state_transition_to_claimed(task_state(&tasks[0]),
							true);
	old = atomic_load_relaxed(task_state(&tasks[0]));
	atomic_fetch_or_relaxed(task_state(&tasks[0]), TASK_CLAIMED);
	return old & TASK_CLAIMED ? -EALREADY : 0;
}

static bool ended_by(uint64_t bit)
{
	bool ended;

	if (defect != ENDED_BY_CHECKS_FIRST)
		return task_state_transition_to_ended_by(task_state(&tasks[0]),
							 bit);
	ended = task_state_ended(atomic_load_acquire(task_state(&tasks[0])));
	atomic_fetch_or_acq_rel(task_state(&tasks[0]), bit);
	return !ended;
}

static void joins(void)
{
	struct task_joiner joiner;
	int code;

	if (defect == NO_DEFECT) {
		code = skua_task_join(&tasks[0]);
	} else {
		code = claim();
		atomic_init(&joiner.done, 0);
		task_end_write(&tasks[0],
			       (union skua_task_end){ .joiner = &joiner });
		if (code == 0 && ended_by(TASK_END_THREAD))
			task_joiner_wait(&joiner);
	}
	if (code == 0)
		task_ended(0);
	else
		explore_assert(code == -EALREADY);
}

/* As task_state_transition_to_withdrawn(), with a part left out. */
static bool withdraw(void)
{
	uint64_t mark = defect == WITHDRAWS_UNMARKED ? 0 : TASK_WITHDRAWN;
	uint64_t late = defect == WITHDRAWS_LATE ? TASK_ENDING : 0;
	uint64_t old = atomic_load_relaxed(task_state(&tasks[0]));

	do {
		if (task_state_ended(old) || (old & TASK_ENDING & ~late))
			return false;
	} while (!atomic_cas_acq_rel(task_state(&tasks[0]), &old,
				     (old & ~(TASK_END_THREAD | TASK_CLAIMED)) |
					     mark));
	return true;
}

/* By a thread that waits until a time. */
static int join_until_by_variant(void)
{
	/* On its stack a word that is woken too late could not be told. */
	static struct task_joiner joiner;
	int code;

	if (defect == NO_DEFECT)
		return skua_task_join_until(&tasks[0], 1);
	code = claim();
	if (code)
		return code;
	atomic_init(&joiner.done, 0);
	task_end_write(&tasks[0], (union skua_task_end){ &joiner });
	if (!ended_by(TASK_END_THREAD) || task_joiner_wait_until(&joiner, 1))
		return 0;
	if (withdraw())
		return -ETIMEDOUT;
	task_joiner_wait(&joiner);
	return 0;
}

static void joins_until(void)
{
	int code = join_until_by_variant();

	/* Beside the second one the task ends in two steps. */
	if (code == -ETIMEDOUT && (defect == WITHDRAWS_LATE || twice))
		code = join_until_by_variant();
	explore_assert(code == 0 || code == -ETIMEDOUT || code == -EALREADY ||
		       code == -EINVAL);
	if (code == 0) {
		task_state_transition_to_idle(task_state(&tasks[0]));
		task_ended(0);
	}
}

static void joins_until_twice(void)
{
	if (join_until_by_variant() == 0)
		task_ended(0);
	else
		joins();
}

/* Until the task has been joined, by this thread or another one. */
static void joins_at_last(void)
{
	int code;

	while ((code = skua_task_join(&tasks[0])) == -EALREADY)
		cpu_relax();
	explore_assert(code == 0 || code == -EINVAL);
	if (code == 0)
		task_ended(0);
}

static void detaches(void)
{
	int code;

	if (defect == NO_DEFECT) {
		code = skua_task_detach(&tasks[0], release);
	} else {
		code = claim();
		task_end_write(&tasks[0],
			       (union skua_task_end){ .release = release });
		if (code == 0 && !ended_by(TASK_END_DETACH))
			release(&tasks[0]);
	}
	explore_assert(code == 0 || code == -EALREADY);
}

/* ---- fixtures ----------------------------------------------------------- */

static void spawn_task(unsigned i)
{
	explore_assert(
		task_state_transition_to_spawned(task_state(&tasks[i])) == 0);
	tasks[i].pool = &pool;
	schedule(&tasks[i]);
}

static void setup_unwatched(unsigned posts, unsigned count)
{
	pool.inject = &inject;
	pool.generation_here = &generation;
	pool.generation = generation;
	defect = NO_DEFECT;
	yields = 0;
	kept = false;
	unwoken = false;
	twice = false;
	pollers_reset();
	for (unsigned i = 0; i < TASKS; i++) {
		atomic_init(&posted[i], 0);
		progress[i] = 0;
		ends[i] = 0;
		freed[i] = false;
	}
	explore_thread_local((void **)&lender);
	memset(letters, 0, sizeof(letters));
	memset(touched, 0, sizeof(touched));
	memset(wakers, 0, sizeof(wakers));
	tasks[0] = (struct skua_task)SKUA_TASK_INIT(wait_for_posts);
	tasks[1] = (struct skua_task)SKUA_TASK_INIT(join_other);
	wanted[0] = posts;
	spawn_task(0);
	for (unsigned i = 0; i < count; i++)
		wakers[1 - i] = skua_task_waker(&tasks[0]);
}

/* Task 0 waits for @posts, and @count wakers of it are about. */
static void setup(unsigned posts, unsigned count)
{
	setup_unwatched(posts, count);
	explore_watch(tasks, sizeof(tasks));
}

static void setup_two_posts(void)
{
	setup(2, 2);
}

static void setup_one_post(void)
{
	setup(1, 1);
}

static void setup_one_post_two_wakers(void)
{
	setup(1, 2);
}

static void setup_no_post(void)
{
	setup(0, 1);
}

/* The joiner and the detacher do not know of each other. */
static void setup_kept(void)
{
	setup_unwatched(0, 1);
	kept = true;
}

static void setup_detached(void)
{
	setup(2, 2);
	explore_assert(skua_task_detach(&tasks[0], release) == 0);
}

static void setup_yielding(void)
{
	setup(1, 1);
	yields = 1;
}

static void setup_cancel(void)
{
	setup(0, 1);
	unwoken = true;
	tasks[0].poll = wait_for_cancel;
}

static void setup_cancel_and_wake(void)
{
	setup(0, 2);
	tasks[0].poll = wait_for_cancel;
}

/* Task 1 joins task 0, and is itself detached. */
static void setup_joining_task(void)
{
	setup(1, 1);
	spawn_task(1);
	explore_assert(skua_task_detach(&tasks[1], release) == 0);
}

static void setup_joining_task_no_post(void)
{
	setup(0, 1);
	spawn_task(1);
	explore_assert(skua_task_detach(&tasks[1], release) == 0);
}

/* Task 1 is woken early, too. */
static void setup_joining_task_woken(void)
{
	setup(0, 0);
	spawn_task(1);
	explore_assert(skua_task_detach(&tasks[1], release) == 0);
	joiner_waker = skua_task_waker(&tasks[1]);
}

static void setup_kept_twice(void)
{
	setup_unwatched(0, 0);
	kept = true;
	twice = true;
}

/* Task 1 gives its first join up. */
static void setup_join_given_up(void)
{
	setup_joining_task_no_post();
	tasks[1].poll = join_other_twice;
}

/* Task 1 gives its join up, and a thread joins. */
static void setup_join_given_up_kept(void)
{
	setup_unwatched(0, 1);
	kept = true;
	spawn_task(1);
	tasks[1].poll = give_join_up;
	explore_assert(skua_task_detach(&tasks[1], release) == 0);
}

VARIANT(wake_loads_first, two_posts, WAKE_LOADS_FIRST)
VARIANT(wait_stores, two_posts, WAIT_STORES)
VARIANT(cancel_only_marks, cancel, CANCEL_ONLY_MARKS)
VARIANT(drop_relaxed, one_post, DROP_RELAXED)
VARIANT(drop_reads_end, no_post, DROP_READS_END)
VARIANT(drop_checks_later, no_post, DROP_CHECKS_LATER)
VARIANT(claim_loads_first, kept, CLAIM_LOADS_FIRST)
VARIANT(ended_by_checks_first, no_post, ENDED_BY_CHECKS_FIRST)
VARIANT(withdraws_unmarked, kept, WITHDRAWS_UNMARKED)
VARIANT(withdraws_late, kept, WITHDRAWS_LATE)

static void check_end(unsigned i)
{
	explore_assert(ends[i] == 1);
	explore_assert(atomic_load_relaxed(task_state(&tasks[i])) == POISON);
	explore_assert(atomic_load_relaxed(&queued[i]) == 0);
}

static void check_kept(void)
{
	explore_assert(ends[0] == 1);
}

static void check(void)
{
	check_end(0);
}

static void check_both(void)
{
	check_end(0);
	check_end(1);
}

/* ---- cases -------------------------------------------------------------- */

#define MANY EXPLORE_WITHIN(12, 6), .random = 100000

static const struct explore_case cases[] = {
	{ EXPLORE_PASS("wake__detached", setup_detached, check, polls_0,
		       wakes_0, wakes_1),
	  EXPLORE_WITHIN(3, 1) },
	{ EXPLORE_PASS("wake__two_pollers", setup_detached, check, polls_0,
		       polls_0, wakes_0, wakes_1),
	  EXPLORE_WITHIN(1, 1) },
	{ EXPLORE_PASS("wake__two_pollers__random", setup_detached, check,
		       polls_0, polls_0, wakes_0, wakes_1),
	  MANY },
	{ EXPLORE_PASS("wake__yielding__join", setup_yielding, check, polls_0,
		       wakes_1, joins) },
	{ EXPLORE_PASS("wake__join", setup_one_post, check, polls_0, wakes_1,
		       joins) },
	{ EXPLORE_PASS("two_wakes__join", setup_two_posts, check, polls_0,
		       wakes_0, wakes_1, joins),
	  EXPLORE_WITHIN(2, 1) },
	{ EXPLORE_PASS("two_wakes__join__random", setup_two_posts, check,
		       polls_0, wakes_0, wakes_1, joins),
	  MANY },
	{ EXPLORE_PASS("wake__drop__join", setup_one_post_two_wakers, check,
		       polls_0, wakes_0, drops_1, joins),
	  EXPLORE_WITHIN(2, 1) },
	{ EXPLORE_PASS("clone__join", setup_one_post, check, polls_0,
		       clones_and_wakes_1, joins),
	  EXPLORE_WITHIN(2, 1) },
	{ EXPLORE_PASS("drop__join", setup_no_post, check, polls_0, drops_1,
		       joins) },
	{ EXPLORE_PASS("drop__detach", setup_no_post, check, polls_0, drops_1,
		       detaches) },
	{ EXPLORE_PASS("drop__join_and_detach", setup_kept, check_kept, polls_0,
		       drops_1, joins, detaches),
	  EXPLORE_WITHIN(2, 1) },
	{ EXPLORE_PASS("cancel__join", setup_cancel, check, polls_0, cancels_1,
		       joins) },
	{ EXPLORE_PASS("cancel__wake__join", setup_cancel_and_wake, check,
		       polls_0, wakes_0, cancels_1, joins),
	  EXPLORE_WITHIN(2, 1) },
	{ EXPLORE_PASS("cancel__wake__join__random", setup_cancel_and_wake,
		       check, polls_0, wakes_0, cancels_1, joins),
	  MANY },
	{ EXPLORE_PASS("joined_by_task__drop", setup_joining_task_no_post,
		       check_both, polls_0, polls_1, drops_1),
	  EXPLORE_WITHIN(2, 2) },
	{ EXPLORE_PASS("joined_by_task__woken_early", setup_joining_task_woken,
		       check_both, polls_0, polls_1, wakes_joiner),
	  EXPLORE_WITHIN(2, 2) },
	{ EXPLORE_PASS("joined_by_task__wake", setup_joining_task, check_both,
		       polls_0, polls_1, wakes_1),
	  EXPLORE_WITHIN(2, 1) },
	{ EXPLORE_PASS("joined_by_task__wake__random", setup_joining_task,
		       check_both, polls_0, polls_1, wakes_1),
	  MANY },

	{ EXPLORE_PASS("timeout__join", setup_no_post, check, polls_0, drops_1,
		       joins_until_twice) },
	{ EXPLORE_PASS("timeout__other_joins", setup_kept, check_kept, polls_0,
		       drops_1, joins_until, joins_at_last),
	  EXPLORE_WITHIN(3, 1), .bounded = true },
	{ EXPLORE_PASS("timeout__other_joins__random", setup_kept, check_kept,
		       polls_0, drops_1, joins_until, joins_at_last),
	  MANY },
	{ EXPLORE_PASS("two_timeouts__other_joins", setup_kept_twice,
		       check_kept, polls_0, joins_until, joins_at_last),
	  EXPLORE_WITHIN(4, 1) },
	{ EXPLORE_PASS("join_given_up__join", setup_join_given_up, check_both,
		       polls_0, polls_1, drops_1),
	  EXPLORE_WITHIN(2, 1) },
	{ EXPLORE_PASS("join_given_up__thread_joins", setup_join_given_up_kept,
		       check_kept, polls_0, polls_1, drops_1, joins_at_last),
	  EXPLORE_WITHIN(2, 1) },
	{ EXPLORE_PASS("join_given_up__thread_joins__random",
		       setup_join_given_up_kept, check_kept, polls_0, polls_1,
		       drops_1, joins_at_last),
	  MANY },

	{ EXPLORE_BUG("withdraws_unmarked", "", setup_withdraws_unmarked,
		      check_kept, polls_0, drops_1, joins_until, joins_at_last),
	  EXPLORE_WITHIN(4, 1) },
	{ EXPLORE_BUG("withdraws_late", "", setup_withdraws_late, check_kept,
		      polls_0, drops_1, joins_until, joins_at_last),
	  EXPLORE_WITHIN(4, 1) },
	{ EXPLORE_BUG("wake_loads_first", "livelock", setup_wake_loads_first,
		      check, polls_0, wakes_0, wakes_1, joins),
	  EXPLORE_WITHIN(2, 1) },
	{ EXPLORE_BUG("cancel_only_marks", "livelock", setup_cancel_only_marks,
		      check, polls_0, cancels_1, joins) },
	{ EXPLORE_BUG("wait_stores", "", setup_wait_stores, check, polls_0,
		      wakes_0, wakes_1, joins),
	  EXPLORE_WITHIN(2, 1) },
	{ EXPLORE_BUG("drop_relaxed", "data race", setup_drop_relaxed, check,
		      polls_0, wakes_1, joins) },
	{ EXPLORE_BUG("end_read_after_drop", "", setup_drop_reads_end, check,
		      polls_0, drops_1, joins) },
	{ EXPLORE_BUG("drop_looks_after_it", "", setup_drop_checks_later, check,
		      polls_0, drops_1, joins) },
	{ EXPLORE_BUG("claim_loads_first", "", setup_claim_loads_first,
		      check_kept, polls_0, drops_1, joins, detaches),
	  EXPLORE_WITHIN(2, 1) },
	{ EXPLORE_BUG("ended_by_checks_first", "", setup_ended_by_checks_first,
		      check, polls_0, drops_1, joins) },
};

EXPLORE_MAIN(cases)
