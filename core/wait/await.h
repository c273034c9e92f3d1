/* SPDX-License-Identifier: MIT */
/**
 * await.h - run an operation that may have to wait, in each of its forms
 *
 * An operation is a verb: a step, which is called again and again until it
 * returns anything but -EAGAIN. The step contains all that the operation does with
 * its object. This file calls it for a poll, a fiber or a thread, and has all
 * that concerns deadlines and cancels.
 */
#ifndef SKUA_CORE_WAIT_AWAIT_H
#define SKUA_CORE_WAIT_AWAIT_H

#include <errno.h>

#include "core/fiber/fiber.h"
#include "core/loop/current.h"
#include "core/wait/wait.h"
#include "probes/area.h"

/*
 * One step of an operation.
 * @wait: of the caller; idle or armed. Its amount is the operation's argument
 * @granted: the wait was granted since the last step, and is idle now
 * @give_up: 0, or the error that the step returns if it would have to wait
 *
 * Return: -EAGAIN: @wait is armed, or was chosen. Otherwise the result: the wait is
 * idle.
 */
typedef int wait_step(struct skua_wait *wait, void *object, bool granted,
		      int give_up);

/* Tools read it, as a struct area_verb. */
struct wait_verb {
	wait_step *step;
	enum area_wait_kind kind;
	uint32_t waiters; /* offset of the waiters in the object */
	uint32_t
		holder; /* offset of the holder; WAIT_NO_HOLDER: there is none */
	uint32_t
		second; /* of a condition: offset of the waiters in its mutex */
	/* Pass on the grant of @wait, of a select that takes another case (N6); its
	 * phase is idle, and the step was not called since. NULL: nothing was given. */
	void (*pass_on)(struct skua_wait *wait, void *object);
	/* After a step that was told to give up, and waits nevertheless: must it be told
	 * again, although nobody will wake the waiter for it? NULL: never. */
	bool (*insists)(const struct skua_wait *wait);
};

#define WAIT_NO_HOLDER UINT32_MAX

/* WAIT_VERB - the verb of an object of @type; @holder as above */
#define WAIT_VERB(step, kind, type, holder) \
	WAIT_VERB_GIVES(step, kind, type, holder, NULL)

/* WAIT_VERB_GIVES - the same with a function pass_on */
#define WAIT_VERB_GIVES(step, kind, type, holder, pass_on)               \
	{                                                                \
		step, AREA_WAITS_##kind, offsetof(struct type, waiters), \
			holder, 0, pass_on, NULL                         \
	}

/* WAIT_SHOWN - assert that tools find a field of an object of struct @type, which they read
 * as struct @area */
#define WAIT_SHOWN(type, area, field)                        \
	_Static_assert(offsetof(struct type, field) ==       \
			       offsetof(struct area, field), \
		       #type "." #field " is where tools read it")

/* await_may_poll - may @self use @wait now? Return: 0; -EINVAL (an argument is NULL),
 * -EPERM, -EOWNERDEAD (@self is not being polled) */
int await_may_poll(const struct skua_task *self, const struct skua_wait *wait);

/* await_poll - one call of an operation in the poll of @self, after
 * await_may_poll(). Return: what the step returns; -EINVAL: @wait is armed for
 * something else */
int await_poll(struct skua_task *self, struct skua_wait *wait,
	       const struct wait_verb *verb, void *object, uint64_t amount,
	       uint64_t deadline_ns);

/* await_cancel - as skua_wait_cancel() */
int await_cancel(struct skua_task *self, struct skua_wait *wait);

/* await_begin - begin an operation with an idle wait */
void await_begin(struct skua_wait *wait, const struct wait_verb *verb,
		 uint64_t amount);

/* await_take_grant - if the wait was granted, make it idle, and return true */
bool await_take_grant(struct skua_wait *wait);

/* await_armed - is the wait, of the caller, in use? */
bool await_armed(struct skua_wait *wait);

/* await_time - as skua_sleep_until() */
int await_time(uint64_t when_ns);

/* await_fiber - return the calling fiber; NULL: none. The child of a fork() in a fiber
 * is a thread. */
struct skua_fiber *await_fiber(void);

/* await_self_as_task - return the task that is being polled; 0: none */
static inline uintptr_t await_self_as_task(void)
{
	const struct worker *worker = current_worker;

	return worker ? worker->area.task : 0;
}

/* await_self_as_fiber - return the fiber that runs, as a waiter; 0: none. Also 0 in a poll
 * or a release function on the stack of a fiber: their waiter is not the fiber. */
static inline uintptr_t await_self_as_fiber(void)
{
	const struct skua_fiber *fiber = fiber_current();
	uintptr_t task = await_self_as_task();

	return fiber && task == (uintptr_t)&fiber->task ? task : 0;
}

/* await_allowed_outside - as await_allowed(), for a caller that is no fiber */
int await_allowed_outside(void);

/* await_allowed - may the caller wait? Return: 0; -EDEADLK: it is in a poll or
 * a job */
static inline int await_allowed(void)
{
	return await_self_as_fiber() ? 0 : await_allowed_outside();
}

/* await - an operation of a fiber or a thread that may wait. Return: what the
 * step returns, but not -EAGAIN; -EDEADLK */
int await(const struct wait_verb *verb, void *object, uint64_t amount,
	  uint64_t deadline_ns);

/* The verbs of waits that need no wait, and have one for tools. */
extern const struct wait_verb await_join __attribute__((visibility("hidden")));
extern const struct wait_verb await_group __attribute__((visibility("hidden")));

/**
 * await_suspend - suspend a fiber until it is woken or cancelled, or until a deadline
 * @wait: what it waits for; armed, or of one of the verbs above
 * @give_up: the result of await_give_up(), for which the caller goes on waiting
 */
void await_suspend(struct skua_fiber *fiber, struct skua_wait *wait,
		   uint64_t deadline_ns, int give_up);

/* await_give_up - return the error with which the calling fiber must end a wait; 0:
 * none. -EDEADLK: it must not wait at all */
int await_give_up(struct skua_fiber *fiber, uint64_t deadline_ns);

/* await_self - return the waiter that calls: a task that is being polled, or the
 * thread. Also identifies the holder of a lock. */
static inline uintptr_t await_self(void)
{
	uintptr_t task = await_self_as_task();

	return task ? task : (uintptr_t)wait_thread_here() | WAIT_THREAD;
}

/* await_enter - begin the step of an operation that waits in @waiters: lock the
 * list. Return: false if there is nothing to do but to return @code; the list
 * is not locked then. */
static inline bool await_enter(struct skua_waiters *waiters,
			       struct skua_wait *wait, void *object, int *code)
{
	uint32_t phase;

	wait->object = object;
	waiters_lock(waiters);
	/* Relaxed: under the list lock. */
	phase = atomic_load_relaxed(wait_phase(wait));
	if (phase == WAIT_IDLE || phase == WAIT_ARMED)
		return true;
	/* Chosen, and granted since or in a moment: a wake-up follows (N3). */
	waiters_unlock(waiters);
	*code = -EAGAIN;
	return false;
}

#endif
