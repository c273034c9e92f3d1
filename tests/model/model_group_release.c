/* SPDX-License-Identifier: MIT */
/**
 * model_group_release.c - members that are let go, beside cancels and spawns
 *
 * The public functions on groups with a release function, core/task/group.c and
 * core/task/group_slots.c, beside pollers that do as core/loop/loop.c does. A word for each
 * task says that it is queued. The release function poisons the member: what was
 * done to it before must happen before, and nothing may come after. A member
 * that waits for its cancellation and is not reached leaves its poller spinning for
 * ever.
 *
 * The last cases are operations with a part left out.
 */
/* Few, so that members meet, and levels are added; all begin at the first one. */
#define SLOTS_FIRST   2u
#define SLOTS_SCATTER UINT64_C(1)

#include "core/base/memory.h"
#include "core/runtime/runtime.h"
#include <string.h>

#define TASKS 3
#include "tests/model/poller.h"

static int spawn_anywhere(struct skua_task *task);
static void fence_of(const char *function);
static void *storage(size_t bytes);
static void give_storage_back(void *memory);

#define memory_alloc(allocator, align, count, size) \
	((void)(allocator), storage((count) * (size)))
#define memory_free(allocator, memory, align, count, size) \
	((void)(allocator), give_storage_back(memory))

#include "core/task/group.c"
#include "core/task/group_slots.c"
#include "core/loop/schedule.c"
#include "core/task/task.c"
#include "core/api/task_api.c"

/* A spawn without the pool's counts; a fence that variants leave out. */
#define runtime_spawn(rt, task, home, caller) \
	((void)(rt), (void)(caller), spawn_anywhere(task))
#define atomic_fence_updated_seq_cst() fence_of(__func__)

static bool end_by_variant(atomic_u64 *slot);
static struct skua_task *hold_by_variant(atomic_u64 *slot);
#define group_slot_hold(slot) hold_by_variant(slot)

#include "core/runtime/group_wait.c"
#include "core/api/group_api.c"

#undef group_slot_hold
#undef atomic_fence_updated_seq_cst

/* The mistake of a variant. */
enum defect {
	NO_DEFECT,
	SPAWN_UNFENCED,   /* its look at the mark comes before the slot */
	CANCEL_UNFENCED,  /* its look at the slots comes before the mark */
	CANCEL_UNHELD,    /* a member may end while it is cancelled */
	CANCEL_ASKS_NOT,  /* passes over members that others hold */
	END_IGNORES_HOLD, /* lets go what is held */
};

static struct skua_runtime runtime;
static struct inject_group inject;
static const uint32_t generation = 1;
static enum defect defect;
static struct skua_group group;
static unsigned results[TASKS]; /* plain: from members to their release */
static unsigned releases[TASKS];
static bool refused;    /* is the next spawn? */
static unsigned letter; /* plain: from the thread that cancels to the poll */
static bool letters;    /* is there one thread that does? */
static bool due;        /* was the task cancelled before its poll began? */

static _Alignas(64) char memory[4096];
static size_t memory_used;
static unsigned pieces; /* that were not given back */

static void *storage(size_t bytes)
{
	char *piece = memory + memory_used;

	memory_used += (bytes + 63) / 64 * 64;
	explore_assert(memory_used <= sizeof(memory));
	pieces++;
	return piece;
}

static void give_storage_back(void *piece)
{
	pieces -= piece != NULL;
}

static void fence_of(const char *function)
{
	if (defect == SPAWN_UNFENCED && strcmp(function, "spawn_released") == 0)
		return;
	if (defect == CANCEL_UNFENCED &&
	    strcmp(function, "skua_group_cancel") == 0)
		return;
	atomic_fence_updated_seq_cst();
}

/* ---- pollers ------------------------------------------------------------ */

static int spawn_anywhere(struct skua_task *task)
{
	int code;

	if (refused)
		return -EAGAIN;
	code = task_state_transition_to_spawned(task_state(task));
	task->pool = &runtime.pool;
	if (code == 0)
		enqueue(task);
	return code;
}

static void release(struct skua_task *task)
{
	unsigned i = number(task);

	explore_assert(releases[i] == 0);
	releases[i]++;
	explore_assert(explore_read(results[i]) == i + 1);
	task->pool = NULL;
	task->poll = NULL;
	task->flags = 0;
	task->member.slot = NULL;
	atomic_store_relaxed(task_state(task), POISON);
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
	if (letters && due)
		explore_assert(explore_read(letter) == 1);
	return finish(task);
}

/* As group_slot_end(), although a thread holds it. */
static bool end_by_variant(atomic_u64 *slot)
{
	atomic_fetch_or_acq_rel(slot, GROUP_SLOT_ENDED);
	return true;
}

static void complete(struct skua_task *task, bool spare)
{
	over[number(task)] = true;
	if (defect == END_IGNORES_HOLD) {
		task_drop(task, (struct task_state_drop){
					.references = 1 + (uint64_t)spare,
					.complete = true });
		if (end_by_variant(group_slot(task)))
			group_let_go(&group, task);
		leave(&group);
		return;
	}
	schedule_complete(task, spare, leaves);
}

/* As group_slot_hold(), with a part left out. */
static struct skua_task *hold_by_variant(atomic_u64 *slot)
{
	uint64_t old;

	/* No wait has returned, and given the slots back. */
	explore_assert(pieces > 0);
	if (defect != CANCEL_UNHELD && defect != CANCEL_ASKS_NOT)
		return group_slot_hold(slot);
	old = atomic_load_acquire(slot);
	if (!old || (old & GROUP_SLOT_BITS))
		return NULL;
	if (defect == CANCEL_ASKS_NOT)
		return group_slot_hold(slot);
	skua_task_cancel((struct skua_task *)(uintptr_t)old);
	return NULL;
}

/* As poll_task() in core/loop/loop.c. */
static void poll_task(struct skua_task *task)
{
	enum skua_poll result;
	bool spare;

	count_other_leaves(task);
	due = atomic_load_relaxed(task_state(task)) & TASK_CANCELLED;
	task_state_transition_to_running(task_state(task));
	result = run_poll(task, &spare);
	if (result == SKUA_DONE) {
		complete(task, spare);
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

static void polls_1(void)
{
	poll_until_over(1);
}

/* ---- outside ------------------------------------------------------------ */

static void spawn_member(unsigned i)
{
	explore_assert(skua_group_spawn(&group, &tasks[i]) == 0);
}

static void spawns_0(void)
{
	spawn_member(0);
}

static void spawns_1(void)
{
	spawn_member(1);
}

static void wait_for_all(void)
{
	explore_assert(skua_group_wait(&group) == 0);
	explore_assert(pieces == 0);
	for (unsigned i = 0; i < 2; i++)
		explore_assert(explore_read(results[i]) == 0 ||
			       releases[i] == 1);
	atomic_store_relaxed(group_state(&group), POISON);
}

static void waits(void)
{
	wait_for_all();
}

/* The group stays in place for others. */
static void waits_beside_others(void)
{
	explore_assert(skua_group_wait(&group) == 0);
	explore_assert(pieces == 0 && releases[0] == 1);
}

static void spawns_two_and_waits(void)
{
	spawn_member(0);
	spawn_member(1);
	wait_for_all();
}

static void cancels(void)
{
	if (letters)
		explore_write(letter, 1);
	explore_assert(skua_group_cancel(&group) == 0);
}

/* A spawn that is refused leaves nothing behind. */
static void is_refused_and_waits(void)
{
	refused = true;
	explore_assert(skua_group_spawn(&group, &tasks[2]) == -EAGAIN);
	refused = false;
	explore_assert(atomic_load_relaxed(task_state(&tasks[2])) == TASK_IDLE);
	wait_for_all();
}

/* ---- fixtures ----------------------------------------------------------- */

static void setup(skua_task_fn first, skua_task_fn second)
{
	runtime.pool.inject = &inject;
	runtime.pool.generation_here = &generation;
	runtime.pool.generation = generation;
	defect = NO_DEFECT;
	refused = false;
	letter = 0;
	letters = false;
	memory_used = 0;
	pieces = 0;
	memset(memory, 0, sizeof(memory));
	pollers_reset();
	for (unsigned i = 0; i < TASKS; i++) {
		results[i] = 0;
		releases[i] = 0;
	}
	tasks[0] = (struct skua_task)SKUA_TASK_INIT(first);
	tasks[1] = (struct skua_task)SKUA_TASK_INIT(second);
	tasks[2] = (struct skua_task)SKUA_TASK_INIT(finish);
	explore_assert(skua_group_init(&group, &runtime) == 0);
	explore_assert(skua_group_set_release(&group, release) == 0);
	explore_thread_local((void **)&lender);
	explore_watch(&group, sizeof(group));
	explore_watch(tasks, sizeof(tasks));
}

static void setup_plain(void)
{
	setup(finish, finish);
}

static void setup_one_spawned(void)
{
	setup_plain();
	spawn_member(0);
}

static void setup_two_spawned(void)
{
	setup_one_spawned();
	spawn_member(1);
}

static void setup_cancelled(void)
{
	setup(finish_if_cancelled, finish_if_cancelled);
	letters = true;
}

static void setup_cancelled_spawned(void)
{
	setup_cancelled();
	letters = false;
	spawn_member(0);
}

VARIANT(spawn_unfenced, cancelled, SPAWN_UNFENCED)
VARIANT(cancel_unfenced, cancelled, CANCEL_UNFENCED)
VARIANT(cancel_asks_not, cancelled, CANCEL_ASKS_NOT)
VARIANT(cancel_unheld, one_spawned, CANCEL_UNHELD)
VARIANT(end_ignores_hold, one_spawned, END_IGNORES_HOLD)

/* All members that polls ended were released once; nobody waits. */
static void check(void)
{
	for (unsigned i = 0; i < 2; i++)
		explore_assert(releases[i] == over[i]);
	explore_assert(group_ended(atomic_load_relaxed(group_state(&group))));
	wait_for_all();
}

static void check_waited(void)
{
	explore_assert(releases[0] == 1 && releases[1] == over[1]);
	explore_assert(atomic_load_relaxed(group_state(&group)) == POISON);
}

/* ---- cases -------------------------------------------------------------- */

static const struct explore_case cases[] = {
	{ EXPLORE_PASS("spawn_two__wait", setup_plain, check_waited, polls_0,
		       polls_1, spawns_two_and_waits),
	  EXPLORE_WITHIN(2, 1) },
	{ EXPLORE_PASS("two_end__wait", setup_two_spawned, check_waited,
		       polls_0, polls_1, waits) },
	{ EXPLORE_PASS("one_ends__refused__wait", setup_one_spawned,
		       check_waited, polls_0, is_refused_and_waits) },
	{ EXPLORE_PASS("one_ends__spawn__cancel", setup_one_spawned, check,
		       polls_0, polls_1, spawns_1, cancels),
	  EXPLORE_WITHIN(2, 1) },
	{ EXPLORE_PASS("one_ends__cancel__wait", setup_one_spawned, check,
		       polls_0, cancels, waits_beside_others) },
	{ EXPLORE_PASS("one_ends__two_cancel", setup_one_spawned, check,
		       polls_0, cancels, cancels) },
	{ EXPLORE_PASS("one_waits__two_cancel", setup_cancelled_spawned, check,
		       polls_0, cancels, cancels),
	  EXPLORE_WITHIN(3, 1) },
	{ EXPLORE_PASS("spawn__cancel", setup_cancelled, check, polls_0,
		       spawns_0, cancels),
	  EXPLORE_WITHIN(2, 2) },
	{ EXPLORE_PASS("two_spawns__first_level", setup_plain, check, polls_0,
		       polls_1, spawns_0, spawns_1),
	  EXPLORE_WITHIN(1, 1) },

	{ EXPLORE_BUG("spawn_unfenced", "livelock", setup_spawn_unfenced, check,
		      polls_0, spawns_0, cancels) },
	{ EXPLORE_BUG("cancel_unfenced", "livelock", setup_cancel_unfenced,
		      check, polls_0, spawns_0, cancels) },
	{ EXPLORE_BUG("cancel_asks_not", "livelock", setup_cancel_asks_not,
		      check, polls_0, spawns_0, cancels) },
	{ EXPLORE_BUG("cancel_unheld", "", setup_cancel_unheld, check, polls_0,
		      cancels) },
	{ EXPLORE_BUG("end_ignores_hold", "", setup_end_ignores_hold, check,
		      polls_0, cancels) },
};

EXPLORE_MAIN(cases)
