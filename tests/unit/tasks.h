/* SPDX-License-Identifier: MIT */
/* tasks.h - tasks that several unit tests run, and what they ask of them */
#ifndef SKUA_TESTS_UNIT_TASKS_H
#define SKUA_TESTS_UNIT_TASKS_H

#include <pthread.h>

#include "core/task/task.h"
#include "tests/unit/support.h"

/* Counts its polls, in plain memory: what the library does must order it. */
struct counter {
	struct skua_task task; /* first: a task is its counter */
	unsigned polls;
};

static inline enum skua_poll count_poll(struct skua_task *self)
{
	((struct counter *)self)->polls++;
	return SKUA_DONE;
}

#define COUNTER_INIT                               \
	{                                          \
		.task = SKUA_TASK_INIT(count_poll) \
	}

static inline uint64_t state_of(struct skua_task *task)
{
	/* Acquire: a test acts on what it sees. */
	return atomic_load_acquire(task_state(task));
}

static inline void wait_for_state(struct skua_task *task, uint64_t bit)
{
	while (!(state_of(task) & bit))
		sched_yield();
}

/* wait_until_waiting - until a spawned task is neither queued nor polled */
static inline void wait_until_waiting(struct skua_task *task)
{
	while (state_of(task) & (TASK_SCHEDULED | TASK_ACTIVE | TASK_COMPLETE))
		sched_yield();
}

/* wait_until_done - until its last poll was over */
static inline void wait_until_done(struct skua_task *task)
{
	wait_for_state(task, TASK_COMPLETE);
}

/* wakers_of - how many hold a spawned task beside the scheduler; while it is not
 * being polled */
static inline uint64_t wakers_of(struct skua_task *task)
{
	uint64_t state = state_of(task);

	return task_state_references(state) -
	       (state & TASK_COMPLETE ? 0 : TASK_SPAWN_REFERENCES);
}

static inline void spawn(struct skua_runtime *rt, struct skua_task *task)
{
	assert_int_equal(skua_task_spawn(rt, task), 0);
}

static inline void join(struct skua_task *task)
{
	assert_int_equal(skua_task_join(task), 0);
}

static inline void destroy(struct skua_runtime *rt)
{
	assert_int_equal(skua_runtime_destroy(rt), 0);
}

/* As a counter's poll. */
static inline enum skua_poll yield_until_cancelled(struct skua_task *self)
{
	((struct counter *)self)->polls++;
	return skua_task_cancelled(self) ? SKUA_DONE : SKUA_YIELD;
}

/* ---- a thread that joins a task --------------------------------------------- */

struct joiner {
	struct skua_task *task;
	pthread_t thread;
	struct gate returned;
	int code; /* of the join */
};

static inline void *joiner_run(void *arg)
{
	struct joiner *it = arg;

	it->code = skua_task_join(it->task);
	gate_open(&it->returned);
	return NULL;
}

/* joiner_start - @it->task is set; returns once the join waits */
static inline void joiner_start(struct joiner *it)
{
	assert_int_equal(pthread_create(&it->thread, NULL, joiner_run, it), 0);
	wait_for_state(it->task, TASK_END_THREAD);
}

/* joiner_end - wait for the join, which succeeds */
static inline void joiner_end(struct joiner *it)
{
	assert_int_equal(pthread_join(it->thread, NULL), 0);
	assert_int_equal(it->code, 0);
}

/* ---- a task that sleeps once ------------------------------------------------ */

struct nap {
	struct skua_task task; /* first: a task is its nap */
	struct skua_timer timer;
	uint64_t delay_ns; /* from its first poll */
	uint64_t when_ns;
};

static inline enum skua_poll nap_poll(struct skua_task *self)
{
	struct nap *it = (struct nap *)self;

	if (it->when_ns == 0) {
		it->when_ns = skua_now_ns() + it->delay_ns;
		skua_timer_add(self, &it->timer, it->when_ns);
	}
	return skua_timer_pending(&it->timer) ? SKUA_PENDING : SKUA_DONE;
}

#define NAP_INIT(delay)                                               \
	{                                                             \
		.task = SKUA_TASK_INIT(nap_poll), .delay_ns = (delay) \
	}

/* ---- a task that waits until it is told to end --------------------------- */

/* Pending at each poll until @end is open, or it was cancelled. */
struct waiter {
	struct skua_task task; /* first: a task is its waiter */
	struct gate end;
	atomic_u32 polls;     /* begun */
	atomic_u32 cancelled; /* at the last poll */
	unsigned ends;
};

static inline enum skua_poll waiter_poll(struct skua_task *self)
{
	struct waiter *it = (struct waiter *)self;
	bool cancelled = skua_task_cancelled(self);

	atomic_store_relaxed(&it->cancelled, cancelled);
	/* Release: the mark. Pairs with the acquires of the tests. */
	atomic_fetch_add_release(&it->polls, 1);
	if (!cancelled && !gate_is_open(&it->end))
		return SKUA_PENDING;
	it->ends++;
	return SKUA_DONE;
}

#define WAITER_INIT                                 \
	{                                           \
		.task = SKUA_TASK_INIT(waiter_poll) \
	}

static inline uint32_t waiter_polls(struct waiter *it)
{
	return atomic_load_acquire(&it->polls);
}

/* waiter_start - spawn it; returns when it waits after its first poll */
/* waiter_end - let it end at its next poll, and wake it */
static inline void waiter_end(struct waiter *it)
{
	gate_open(&it->end);
	skua_waker_wake(skua_task_waker(&it->task));
}

static inline void waiter_start(struct skua_runtime *rt, struct waiter *it)
{
	spawn(rt, &it->task);
	while (waiter_polls(it) == 0)
		sched_yield();
	wait_until_waiting(&it->task);
}

/* ---- a task that calls a function --------------------------------------- */

/* call_in_poll - what @act(@self, @arg) returns, called in a poll on @rt */
struct poll_call {
	struct skua_task task; /* first: a task is its poll_call */
	int (*act)(struct skua_task *self, void *arg);
	void *arg;
	int result;
};

static inline enum skua_poll poll_call_poll(struct skua_task *self)
{
	struct poll_call *it = (struct poll_call *)self;

	it->result = it->act(self, it->arg);
	return SKUA_DONE;
}

static inline int call_in_poll(struct skua_runtime *rt,
			       int (*act)(struct skua_task *self, void *arg),
			       void *arg)
{
	struct poll_call it = { .task = SKUA_TASK_INIT(poll_call_poll),
				.act = act,
				.arg = arg };

	spawn(rt, &it.task);
	join(&it.task);
	return it.result;
}

/* block_on_often - the task has run each time it returns */
static inline void block_on_often(struct skua_runtime *rt, unsigned times)
{
	struct counter counter = COUNTER_INIT;

	for (unsigned n = 1; n <= times; n++) {
		assert_int_equal(skua_runtime_block_on(rt, &counter.task), 0);
		assert_int_equal(counter.polls, n);
	}
}

#endif
