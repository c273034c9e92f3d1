/* SPDX-License-Identifier: MIT */
/* users.h - fibers and threads that call a function which may wait */
#ifndef SKUA_TESTS_UNIT_USERS_H
#define SKUA_TESTS_UNIT_USERS_H

#include "core/wait/wait.h"
#include "skua/fiber.h"
#include "tests/unit/tasks.h"

/* Calls a function: in a fiber, or by a thread. */
struct user {
	struct skua_fiber fiber; /* first: a fiber is its user */
	pthread_t thread;
	bool is_fiber;
	int (*act)(struct user *it);
	void *object;
	unsigned number;
	int result;
};

static inline void fiber_acts(struct skua_fiber *self)
{
	struct user *it = (struct user *)self;

	it->result = it->act(it);
}

static inline void *thread_acts(void *arg)
{
	struct user *it = arg;

	it->result = it->act(it);
	return NULL;
}

static inline void user_start(struct user *it, struct skua_runtime *rt,
			      bool is_fiber, int (*act)(struct user *it),
			      void *object)
{
	it->is_fiber = is_fiber;
	it->act = act;
	it->object = object;
	if (!is_fiber) {
		assert_int_equal(
			pthread_create(&it->thread, NULL, thread_acts, it), 0);
		return;
	}
	assert_int_equal(skua_fiber_init(&it->fiber, fiber_acts, 0), 0);
	spawn(rt, &it->fiber.task);
}

static inline int user_end(struct user *it)
{
	if (it->is_fiber)
		join(&it->fiber.task);
	else
		assert_int_equal(pthread_join(it->thread, NULL), 0);
	return it->result;
}

/* user_run - what @act returns; in a fiber or by a thread */
static inline int user_run(struct skua_runtime *rt, bool is_fiber,
			   int (*act)(struct user *it), void *object)
{
	struct user it = { .number = 0 };

	user_start(&it, rt, is_fiber, act, object);
	return user_end(&it);
}

static inline uint32_t count_of(struct skua_waiters *waiters)
{
	uint32_t count;

	waiters_lock(waiters);
	count = waiters->count;
	waiters_unlock(waiters);
	return count;
}

/* wait_for_waiters - until so many wait for an object */
static inline void wait_for_waiters(struct skua_waiters *waiters,
				    uint32_t count)
{
	while (count_of(waiters) != count)
		sched_yield();
}

#endif
