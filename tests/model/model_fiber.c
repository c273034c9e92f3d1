/* SPDX-License-Identifier: MIT */
/**
 * model_fiber.c - fibers that are suspended, woken, cancelled and resumed, by two workers
 *
 * The code of fibers, stacks, waits, timers and events, with the real switch of stacks
 * (fiber_world.h). The memory of fibers, and the part of a stack that its fiber shares with
 * others, is watched: each resumption must see all that the fiber did before.
 *
 * A fiber frees the event as soon as that is granted, and its release frees the fiber.
 *
 * The last cases are the same with a mistake.
 */
#include "tests/model/fiber_world.h"

#include "core/sync/event.c"

/* Comes at any time after the start, if the explorer wants. */
#define SOON_NS (EXPLORE_START_NS + 1024)

static struct skua_event event;

/* ---- fibers ----------------------------------------------------------------------- */

static void user_main(struct skua_fiber *self)
{
	struct user *it = (struct user *)self;

	it->act(it);
	it->result = 1;
}

static void take_step(struct user *it)
{
	explore_assert(fiber_current() == &it->fiber);
	explore_assert(current_worker->area.task == (uintptr_t)it);
	explore_write(it->steps, explore_read(it->steps) + 1);
}

/* The event is the fiber's alone once it was granted. */
static void wait_event(struct user *it)
{
	int code;

	take_step(it);
	code = skua_event_wait(&event, it->deadline_ns);
	take_step(it);
	explore_assert(code == 0 || code == -ETIMEDOUT || code == -ECANCELED);
	explore_assert(code != -ETIMEDOUT ||
		       it->deadline_ns != SKUA_FOREVER_NS);
	explore_assert(code != -ECANCELED ||
		       (atomic_load_relaxed(task_state(&it->fiber.task)) &
				TASK_CANCELLED &&
			!fiber_cancel_masked(&it->fiber)));
	if (code == 0)
		explore_free(&event, sizeof(event));
}

static void wait_masked(struct user *it)
{
	it->fiber.masks = 1;
	wait_event(it);
}

static void yield_and_end(struct user *it)
{
	take_step(it);
	explore_assert(fiber_try_leave(SKUA_YIELD) == 0);
	take_step(it);
}

static void await_cancel_only(struct user *it)
{
	while (!(atomic_load_relaxed(task_state(&it->fiber.task)) &
		 TASK_CANCELLED)) {
		take_step(it);
		explore_assert(fiber_try_leave(SKUA_PENDING) == 0);
	}
	take_step(it);
}

static void end_at_once(struct user *it)
{
	take_step(it);
}

/* The other one waits until it is cancelled. */
static void spawn_other(struct user *it)
{
	struct skua_task *other = &users[1].fiber.task;

	take_step(it);
	explore_assert(task_state_transition_to_spawned(task_state(other)) ==
		       0);
	schedule(other);
}

/* ---- beside them --------------------------------------------------------------------- */

static void sets(void)
{
	explore_assert(skua_event_set(&event) == 0);
}

/* With the reference of a waker, from setup. */
static void cancels(void)
{
	struct skua_task *task = &users[0].fiber.task;
	bool wake;

	if (task_state_transition_to_cancelled(task_state(task), &wake) == 0 &&
	    wake)
		schedule(task);
	schedule_drop(task);
}

static void shuts_down(void)
{
	pool_cancel(&pool);
	timers_fire_all(&pool);
	explore_assert(fiber_cancel_begin(&pool));
	fiber_cancel_all(&stacks);
	fiber_cancel_end(&pool);
}

/* ---- cases ----------------------------------------------------------------------------- */

static void user_init(unsigned i, void (*act)(struct user *it),
		      uint64_t deadline_ns)
{
	struct user *it = &users[i];
	struct skua_task *task = &it->fiber.task;

	*it = (struct user){ .fiber = { .task = SKUA_TASK_INIT(fiber_poll),
					.fn = user_main },
			     .act = act,
			     .deadline_ns = deadline_ns };
	task->pool = &pool;
	task->flags = TASK_FIBER;
	task->end.release = release;
	atomic_init(task_state(task), TASK_CLAIMED | TASK_END_DETACH);
	explore_watch(it, sizeof(*it));
	atomic_init(&queued[i], 0);
	over[i] = running[i] = false;
	count = i + 1;
}

static void user_spawn(unsigned i, void (*act)(struct user *it),
		       uint64_t deadline_ns)
{
	user_init(i, act, deadline_ns);
	explore_assert(task_state_transition_to_spawned(
			       task_state(&users[i].fiber.task)) == 0);
	atomic_init(&queued[i], 1);
}

static void reset(unsigned stacks_count)
{
	workers_reset(NULL, NULL, SENTINEL_NEVER);
	explore_thread_local((void **)&fiber_here);
	memset(&stacks, 0, sizeof(stacks));
	stacks_init(&stacks, 0, STACK_ORDER_MIN);
	memset(caches, 0, sizeof(caches));
	for (unsigned i = 0; i < WORKERS; i++)
		caches[i].stacks = &stacks;
	cached = false;
	arena = (struct arena){ .owner = &stacks, .count = FIBERS };
	stacks.area.arenas = (uintptr_t)&arena;
	for (unsigned i = 0; i < FIBERS; i++) {
		struct stack *stack = &places[i].stack;

		*stack = (struct stack){ .low = places[i].memory,
					 .arena = &arena,
					 .order = STACK_ORDER_MIN,
					 .index = i };
		atomic_init(stack_fiber(stack), NULL);
		arena.area.stacks[i] = (uintptr_t)stack;
		in_use[i] = false;
		explore_watch(stack, sizeof(*stack));
		if (i < stacks_count)
			stacks_give(NULL, stack);
	}
	event = (struct skua_event)SKUA_EVENT_INIT;
	explore_watch(&event, sizeof(event));
	atomic_init(&step, 0);
	defect = NO_DEFECT;
	count = 0;
}

static void setup_waits(void)
{
	reset(1);
	user_spawn(0, wait_event, SKUA_FOREVER_NS);
}

static void setup_waits_soon(void)
{
	reset(1);
	user_spawn(0, wait_event, SOON_NS);
}

/* The deadline never comes; its timer must not keep the fiber from its end. */
static void setup_waits_long(void)
{
	reset(1);
	user_spawn(0, wait_event, EXPLORE_FAR_NS);
}

static void setup_waits_cancelled(void)
{
	setup_waits();
	task_state_add_reference(task_state(&users[0].fiber.task));
}

static void setup_waits_soon_cancelled(void)
{
	setup_waits_soon();
	task_state_add_reference(task_state(&users[0].fiber.task));
}

static void setup_masked_soon_cancelled(void)
{
	reset(1);
	user_spawn(0, wait_masked, SOON_NS);
	task_state_add_reference(task_state(&users[0].fiber.task));
}

static void setup_cancelled(void)
{
	reset(1);
	user_spawn(0, await_cancel_only, 0);
	task_state_add_reference(task_state(&users[0].fiber.task));
}

static void setup_awaits(void)
{
	reset(1);
	user_spawn(0, await_cancel_only, 0);
}

static void setup_yields(void)
{
	setup_cancelled();
	users[0].act = yield_and_end;
}

/* The stack of the first is the second's when that is done. */
static void setup_one_stack(void)
{
	reset(1);
	user_spawn(0, end_at_once, 0);
	user_spawn(1, yield_and_end, 0);
}

static void setup_spawns(void)
{
	reset(0);
	cached = true;
	for (unsigned i = 0; i < WORKERS; i++)
		stacks_give(&caches[i], &places[i].stack);
	user_spawn(0, spawn_other, 0);
	user_init(1, await_cancel_only, 0);
}

static void setup_two(void)
{
	reset(2);
	user_spawn(0, wait_event, SKUA_FOREVER_NS);
	user_spawn(1, yield_and_end, 0);
}

#define VARIANT(NAME, SETUP, DEFECT)   \
	static void setup_##NAME(void) \
	{                              \
		setup_##SETUP();       \
		defect = (DEFECT);     \
	}

VARIANT(waits_early, waits, WAITS_EARLY)
VARIANT(gives_early, one_stack, GIVES_EARLY)
VARIANT(not_requeued, cancelled, NOT_REQUEUED)

static void all_over(void)
{
	for (unsigned i = 0; i < count; i++) {
		explore_assert(over[i] && !running[i]);
		explore_assert(!in_use[i] && !places[i].stack.fiber);
	}
	for (unsigned i = 0; i < WORKERS; i++)
		explore_assert(timer_wheel_next(&workers[i].timers.wheel) ==
			       UINT64_MAX);
}

static const struct explore_case cases[] = {
	{ EXPLORE_PASS("granted", setup_waits, all_over, polls_0, polls_1,
		       sets),
	  EXPLORE_WITHIN(2, 1) },
	{ EXPLORE_PASS("granted__long_before", setup_waits_long, all_over,
		       polls_0, polls_1, sets),
	  EXPLORE_WITHIN(1, 1) },
	{ EXPLORE_PASS("granted__deadline", setup_waits_soon, all_over, polls_0,
		       polls_1, sets, fires),
	  EXPLORE_WITHIN(1, 1) },
	{ EXPLORE_PASS("granted__deadline__random", setup_waits_soon, all_over,
		       polls_0, polls_1, sets, fires),
	  .random = 60000 },
	{ EXPLORE_PASS("granted__cancelled", setup_waits_cancelled, all_over,
		       polls_0, polls_1, sets, cancels),
	  EXPLORE_WITHIN(1, 1) },
	{ EXPLORE_PASS("granted__cancelled__random", setup_waits_cancelled,
		       all_over, polls_0, polls_1, sets, cancels),
	  .random = 60000 },
	{ EXPLORE_PASS("granted__cancelled__deadline__random",
		       setup_waits_soon_cancelled, all_over, polls_0, polls_1,
		       sets, cancels, fires),
	  .random = 60000 },
	{ EXPLORE_PASS("masked__cancelled__deadline__random",
		       setup_masked_soon_cancelled, all_over, polls_0, polls_1,
		       cancels, fires),
	  .random = 120000 },
	{ EXPLORE_PASS("cancelled", setup_cancelled, all_over, polls_0, polls_1,
		       cancels),
	  EXPLORE_WITHIN(2, 1) },
	{ EXPLORE_PASS("yields__cancelled", setup_yields, all_over, polls_0,
		       polls_1, cancels),
	  EXPLORE_WITHIN(2, 1) },
	{ EXPLORE_PASS("shut_down", setup_awaits, all_over, polls_0, polls_1,
		       shuts_down),
	  EXPLORE_WITHIN(2, 1) },
	{ EXPLORE_PASS("spawned__shut_down", setup_spawns, all_over, polls_0,
		       polls_1, shuts_down),
	  EXPLORE_WITHIN(2, 1) },
	{ EXPLORE_PASS("granted__shut_down", setup_waits, all_over, polls_0,
		       polls_1, shuts_down, sets),
	  EXPLORE_WITHIN(1, 1) },
	{ EXPLORE_PASS("granted__shut_down__random", setup_waits_soon, all_over,
		       polls_0, polls_1, shuts_down, sets, fires),
	  .random = 60000 },
	{ EXPLORE_PASS("one_stack", setup_one_stack, all_over, polls_0, polls_1,
		       fires),
	  EXPLORE_WITHIN(1, 1) },
	{ EXPLORE_PASS("one_stack__random", setup_one_stack, all_over, polls_0,
		       polls_1, fires),
	  .random = 60000 },
	{ EXPLORE_PASS("two", setup_two, all_over, polls_0, polls_1, sets),
	  EXPLORE_WITHIN(1, 1) },
	{ EXPLORE_PASS("two__random", setup_two, all_over, polls_0, polls_1,
		       sets),
	  .random = 60000 },
	{ EXPLORE_BUG("waits_early", "data race", setup_waits_early, all_over,
		      polls_0, polls_1, sets),
	  EXPLORE_WITHIN(2, 1) },
	{ EXPLORE_BUG("gives_early", "!*use", setup_gives_early, all_over,
		      polls_0, polls_1, fires),
	  EXPLORE_WITHIN(1, 1) },
	{ EXPLORE_BUG("not_requeued", "livelock", setup_not_requeued, all_over,
		      polls_0, polls_1, cancels),
	  EXPLORE_WITHIN(1, 1) },
};

EXPLORE_MAIN(cases)
