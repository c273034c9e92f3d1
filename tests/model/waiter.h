/* SPDX-License-Identifier: MIT */
/**
 * waiter.h - threads that wait for an object, for models of core/sync/
 *
 * Include it before the file of the object. Each call that waits has a wait of its
 * own, which is freed when the call returns (explore_free()). The objects' own
 * code calls await(), which is replaced here.
 */
#ifndef SKUA_TESTS_MODEL_WAITER_H
#define SKUA_TESTS_MODEL_WAITER_H

#define LOCK_SPINS    0 /* each look at the lock is a step */
#define STAND_BACK_NS 0 /* likewise: nobody stands back */
#include "core/wait/wait.c"

#define WAITER_THREADS 5
#ifndef WAITER_CALLS
#define WAITER_CALLS 4 /* that wait, of each thread */
#endif

/* Comes at any time after the start, if the explorer wants. */
#define SOON_NS (EXPLORE_START_NS + 1000)
/* No time: the caller is a poll that cancels its wait, at any time. */
#define CANCELLED_NS (SOON_NS + 1)

struct waiter {
	struct wait_thread thread;
	struct skua_wait waits[WAITER_CALLS];
	unsigned calls;
};

static struct waiter waiters[WAITER_THREADS];
/* Of the calling thread: all threads of a case are one of the kernel. */
static struct waiter *me;

#define wait_thread_here() (&me->thread)

#include "core/wait/await.c"

/* The short paths, which are for tasks, take a thread of a case for one. */
static inline uintptr_t waiter_self(void)
{
	return (uintptr_t)&me->thread | WAIT_THREAD;
}

#define await_self_as_fiber() waiter_self()
#define await_self_as_task()  waiter_self()

/* Arm a wait, and cancel it, as skua_wait_cancel(). If it was granted, or is going to be,
 * take that. */
static int waiter_cancel(struct skua_wait *wait, void *object)
{
	const struct wait_verb *verb = wait->verb;
	int code;

	wait->waiter = await_self();
	code = verb->step(wait, object, false, 0);
	if (code == -EAGAIN && phase_of(wait) != WAIT_GRANTED)
		code = verb->step(wait, object, false, -ECANCELED);
	while (code == -EAGAIN) {
		sleep_until(wait, SKUA_FOREVER_NS);
		code = verb->step(wait, object, await_take_grant(wait), 0);
	}
	return code;
}

static int waiter_await(const struct wait_verb *verb, void *object,
			uint64_t amount, uint64_t deadline_ns)
{
	struct skua_wait *wait = &me->waits[me->calls++];
	int code;

	await_begin(wait, verb, amount);
	code = deadline_ns == CANCELLED_NS
		       ? waiter_cancel(wait, object)
		       : await_by_thread(wait, object, deadline_ns);
	explore_free(wait, sizeof(*wait));
	return code;
}

#define await(verb, object, amount, deadline_ns) \
	waiter_await((verb), (object), (amount), (deadline_ns))

/* Called in setup. */
static void waiters_reset(void)
{
	explore_thread_local((void **)&me);
	for (unsigned i = 0; i < WAITER_THREADS; i++)
		waiters[i] = (struct waiter){ .thread = { .id = i + 1 } };
	/* All plain fields: links, phases' other words. */
	explore_watch(waiters, sizeof(waiters));
}

/* A thread of a case begins. */
static void waiter_begin(unsigned i)
{
	me = &waiters[i];
}

/* May a call with this deadline return this error? */
static inline bool waiter_may_give_up(int code, uint64_t deadline_ns)
{
	if (deadline_ns == CANCELLED_NS)
		return code == -ECANCELED;
	return code == -ETIMEDOUT && deadline_ns != SKUA_FOREVER_NS;
}

#endif
