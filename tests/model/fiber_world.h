/* SPDX-License-Identifier: MIT */
/**
 * fiber_world.h - two workers that poll fibers with the real switch of stacks, for
 * model_fiber.c
 *
 * A fiber runs on a stack in static memory, and goes on on whichever worker polls it next.
 * The workers are two threads that poll as core/loop/loop.c does; a word for each task says
 * that it is queued. Each switch away from a fiber is a step, before which the stack is
 * still in use.
 */
#ifndef SKUA_TESTS_MODEL_FIBER_WORLD_H
#define SKUA_TESTS_MODEL_FIBER_WORLD_H

#define WORKERS    2
#define LOCK_SPINS 0 /* each look at the lock is a step */

#include "core/fiber/fiber.h"
#include "core/fiber/fiber_stacks.h"
#include "core/fiber/switch.h"
#include "core/loop/work.h"
#include "core/wait/await.h"
#include "tests/model/workers.h"

static inline void enqueue(struct skua_task *task);
static inline int switch_from(void **from, void *to, int value);
static _Noreturn void switch_last(void *to, int (*then)(void *), void *arg);

#define work_schedule_owner(worker, task) ((void)(worker), enqueue(task))
#define pool_inject(pool, group, lane, task) \
	((void)(pool), (void)(group), enqueue(task))
#include "core/loop/schedule.c"

#define sentinel_leave(worker) ((void)(worker))
#define sentinel_summon(pool)  ((void)(pool))
#include "core/loop/timers.c"

/* Stacks come from the node, so that each worker sees those that the other one has given;
 * or from a cache of the worker. */
static struct stacks stacks;
static struct stack_cache caches[WORKERS];
static bool cached;

static inline struct stack_cache *cache_of(const struct worker *worker)
{
	return cached ? &caches[worker->index] : NULL;
}

#define fiber_stacks_take(worker, order) \
	((void)(order), stacks_take(&stacks, cache_of(worker), STACK_ORDER_MIN))
#define fiber_stacks_give(worker, stack) stacks_give(cache_of(worker), (stack))
#define fiber_stacks_missing(worker)     ((void)(worker))
#define arena_warm(arena)                ((void)(arena), NULL)
#define arena_map(owner, order, node)    NULL
#define fiber_switch(from, to, value)    switch_from(from, to, value)
#define fiber_switch_enter(from, to, arithmetic) \
	((void)(arithmetic), switch_from(from, to, 0))
#define fiber_switch_last(to, then, arg) switch_last(to, then, arg)
#include "core/fiber/stacks.c"
#include "core/fiber/fiber_cancel.c"
#include "core/fiber/fiber.c"
#undef fiber_switch
#undef fiber_switch_enter
#undef fiber_switch_last

#include "core/wait/wait.c"
#include "core/wait/await.c"

#define FIBERS      2
#define STACK_BYTES (48 * 1024)

/* The mistake of a variant. */
enum defect {
	NO_DEFECT,
	WAITS_EARLY,  /* a fiber may be polled before it has left its stack */
	GIVES_EARLY,  /* a stack is given back before its fiber has left it */
	NOT_REQUEUED, /* a wake-up during the poll is forgotten */
};

struct user {
	struct skua_fiber fiber; /* first: a fiber is its user */
	void (*act)(struct user *it);
	unsigned steps;  /* plain: of the fiber, on each of its workers */
	unsigned result; /* plain: from the fiber to its release */
	uint64_t deadline_ns;
};

static enum defect defect;
static struct user users[FIBERS];
static atomic_u32 queued[FIBERS];
static atomic_u32 step;
static bool running[FIBERS], over[FIBERS];
static bool early[FIBERS];
static struct arena arena;
static struct {
	_Alignas(64) char memory[STACK_BYTES];
	struct stack stack;
} places[FIBERS];
static bool in_use[FIBERS]; /* the stack */
static unsigned count;      /* of fibers and of stacks */

/* ---- queues ------------------------------------------------------------------ */

static inline unsigned number(const struct skua_task *task)
{
	return (unsigned)((const struct user *)task - users);
}

static inline void enqueue(struct skua_task *task)
{
	/* Release: publishes the task, as a queue does. */
	explore_assert(atomic_exchange_acq_rel(&queued[number(task)], 1) == 0);
}

/* ---- switches ------------------------------------------------------------------ */

static inline bool *use_of(const struct skua_fiber *fiber)
{
	const struct stack *stack = fiber->stack;

	return &in_use[stack->index];
}

static inline int switch_to_fiber(struct user *it, void **from, void *to,
				  int value)
{
	int result;
	bool *use = use_of(&it->fiber);

	explore_assert(!running[it - users]);
	explore_assert(!*use);
	running[it - users] = true;
	*use = true;
	/* The registers that the last switch has saved. */
	explore_race_read(to, EXPLORE_SITE("registers"));
	result = fiber_switch(from, to, value);
	if (result != SKUA_DONE) {
		running[it - users] = false;
		*use = false;
	}
	return result;
}

/* The worker, which has left the stack before. */
static inline void wait_early(struct user *it)
{
	struct skua_task *task = &it->fiber.task;

	early[it - users] = true;
	if (!task_state_transition_to_waiting(task_state(task),
					      current_worker->spare))
		schedule(task);
}

static inline int switch_from(void **from, void *to, int value)
{
	for (struct user *it = users; it < users + count; it++) {
		if (from == &it->fiber.caller)
			return switch_to_fiber(it, from, to, value);
		if (from != &it->fiber.context)
			continue;
		if (defect == WAITS_EARLY && value == SKUA_PENDING)
			wait_early(it);
		/* Others may act before the registers are saved. */
		atomic_fetch_add_relaxed(&step, 1);
		explore_race_write(use_of(&it->fiber),
				   EXPLORE_SITE("registers"));
	}
	return fiber_switch(from, to, value);
}

static struct {
	int (*then)(void *arg);
	struct user *it;
	bool *use;
} last;

/* On the stack of the worker: the fiber has left its own for good. */
static inline int left_for_good(void *arg)
{
	struct user *it = arg;

	running[it - users] = false;
	*last.use = false;
	return defect == GIVES_EARLY ? SKUA_DONE : last.then(arg);
}

static _Noreturn void switch_last(void *to, int (*then)(void *), void *arg)
{
	struct user *it = arg;
	bool *use = use_of(&it->fiber);

	if (defect == GIVES_EARLY)
		then(arg);
	atomic_fetch_add_relaxed(&step, 1);
	last.then = then;
	last.it = it;
	last.use = use;
	fiber_switch_last(to, left_for_good, arg);
}

/* ---- workers ------------------------------------------------------------------- */

static inline void release(struct skua_task *task)
{
	struct user *it = (struct user *)task;
	unsigned i = number(task);

	explore_assert(it->result == 1);
	explore_assert(!it->fiber.stack && !it->fiber.context);
	over[i] = true;
	explore_free(it, sizeof(*it));
}

/* As poll_here() and what it calls. */
static inline void poll_task(struct worker *w, struct skua_task *task)
{
	unsigned i = number(task);
	enum skua_poll result;
	bool told = pool_cancelling(&pool);

	task_state_transition_to_running(task_state(task));
	counter_add_owner(&w->area.counters.tasks_polled, 1);
	counter_set_owner(&w->area.task, (uintptr_t)task);
	w->spare = true;
	early[i] = false;
	if (told)
		atomic_fetch_or_relaxed(task_state(task), TASK_CANCELLED);
	result = task->poll(task);
	counter_set_owner(&w->area.task, 0);
	explore_assert(!fiber_here);
	if (result == SKUA_DONE) {
		schedule_complete(task, w->spare, NULL);
	} else if (result == SKUA_YIELD) {
		if (!w->spare)
			task_state_add_reference(task_state(task));
		enqueue(task);
	} else if (!early[i]) {
		if (!told && pool_cancelling(&pool)) {
			atomic_fetch_or_relaxed(task_state(task),
						TASK_CANCELLED);
			task_state_transition_to_woken(task_state(task), 0);
		}
		if (!task_state_transition_to_waiting(task_state(task),
						      w->spare) &&
		    defect != NOT_REQUEUED)
			schedule(task);
	}
}

static inline void poll_until_over(struct worker *w)
{
	unsigned i = 0;

	current_worker = w;
	while (i < count) {
		if (over[i]) {
			i++;
			continue;
		}
		for (unsigned n = i; n < count; n++)
			/* Acquire: as a queue does. */
			if (atomic_load_relaxed(&queued[n]) &&
			    atomic_exchange_acq_rel(&queued[n], 0))
				poll_task(w, &users[n].fiber.task);
		if (!over[i])
			cpu_relax();
	}
	current_worker = NULL;
}

static inline void polls_0(void)
{
	poll_until_over(&workers[0]);
}

static inline void polls_1(void)
{
	poll_until_over(&workers[1]);
}

/* Fires timers as they come due, as the sentinel does. */
static inline void fires(void)
{
	atomic_u32 nobody = 0;

	while (!over[0] || !over[count - 1]) {
		uint64_t next_ns = pool_next_timer_ns(&pool);

		if (next_ns >= EXPLORE_FAR_NS)
			cpu_relax();
		else if (next_ns > explore_now_ns())
			futex_wait_until(&nobody, 0, next_ns);
		else
			timers_fire_due(&workers[0], explore_now_ns(), 0);
	}
}

#endif
