/* SPDX-License-Identifier: MIT */
/* await.c - see await.h */
#include "core/wait/await.h"

#include <errno.h>

#include "core/base/clock.h"
#include "core/base/hot.h"
#include "core/fork_join/fork_join.h"
#include "core/loop/timers.h"
#include "core/os/futex.h"
#include "core/task/group.h"
#include "core/task/task.h"

#define VERB_HAS(field, other)                                    \
	_Static_assert(offsetof(struct wait_verb, field) ==       \
			       offsetof(struct area_verb, other), \
		       #field)
VERB_HAS(step, step);
VERB_HAS(kind, kind);
VERB_HAS(waiters, waiters);
VERB_HAS(holder, holder);
VERB_HAS(second, second);

/* How soon a step that insists is told again. A guess: rarely enough that it costs no
 * measurable CPU time. */
#define INSIST_NS UINT64_C(1000000)

int await_allowed_outside(void)
{
	return current_here() || fork_region_current ? -EDEADLK : 0;
}

struct skua_fiber *await_fiber(void)
{
	return current_here() ? fiber_current() : NULL;
}

static uint32_t phase_of(struct skua_wait *wait)
{
	/* Acquire: what the grantor did before. Pairs with the release in
	 * grant(), wait.c. */
	return atomic_load_acquire(wait_phase(wait));
}

bool await_take_grant(struct skua_wait *wait)
{
	if (phase_of(wait) != WAIT_GRANTED)
		return false;
	/* Relaxed: the wait is the caller's alone again. */
	atomic_store_relaxed(wait_phase(wait), WAIT_IDLE);
	return true;
}

/* ---- deadlines -------------------------------------------------------------- */

/* Not inlined, so that waits without a deadline save no registers for it. */
static __attribute__((noinline)) bool is_past(uint64_t deadline_ns)
{
	return deadline_ns == 0 || clock_now_ns() >= deadline_ns;
}

static inline bool has_passed(uint64_t deadline_ns)
{
	return deadline_ns != SKUA_FOREVER_NS && is_past(deadline_ns);
}

/* Return the error with which a task that would have to wait gives up; 0: none. */
static inline __attribute__((always_inline)) int
give_up_of(struct skua_task *self, bool masked, uint64_t deadline_ns)
{
	if (!masked && group_task_cancelled(self, true))
		return -ECANCELED;
	return has_passed(deadline_ns) ? -ETIMEDOUT : 0;
}

/* Return the end of a sleep after a step that was told to give up, and waits nevertheless. It
 * does not depend on the deadline any more. */
static __attribute__((noinline)) uint64_t
tell_again_at(const struct skua_wait *wait)
{
	const struct wait_verb *verb = wait->verb;

	return verb->insists && verb->insists(wait) ? clock_now_ns() + INSIST_NS
						    : SKUA_FOREVER_NS;
}

/* Return the end of a sleep after a step that has to wait. */
static inline uint64_t left_of(const struct skua_wait *wait,
			       uint64_t deadline_ns, int give_up)
{
	return give_up ? tell_again_at(wait) : deadline_ns;
}

/* Note for tools when a wait began, unless its step has. Of a task, that is the start of
 * the tick: a check of the clock would take as long as the wait itself. */
static void begin_at(struct skua_wait *wait, uint64_t now_ns)
{
	if (wait->since_ns == 0)
		wait->since_ns = now_ns;
}

/* Begin an operation with an idle wait. Field by field: clearing all of its 128 bytes took
 * 5 ns of a wait of 70 ns. */
void await_begin(struct skua_wait *wait, const struct wait_verb *verb,
		 uint64_t amount)
{
	wait->verb = verb;
	wait->since_ns = 0;
	wait->amount = amount;
	wait->stage = 0; /* and what shares its place */
	wait->given = 0;
	wait->in_select = 0;
	wait->noted = 0;
}

static bool is_lock(uint32_t kind)
{
	return kind == AREA_WAITS_MUTEX || kind == AREA_WAITS_READ ||
	       kind == AREA_WAITS_WRITE;
}

/* The word that names the holder of a lock; NULL: the object has none, or may be gone.
 * A lock is still there: a waiter that was chosen meanwhile holds it, or will access it
 * again, so nobody may have freed it. */
static const uint64_t *holder_of(const struct skua_wait *wait, uint32_t kind)
{
	const struct wait_verb *verb = wait->verb;

	if (!is_lock(kind))
		return NULL;
	return (const uint64_t *)((const char *)wait->object + verb->holder);
}

/* Note for tools what the task of a worker waits for, before its poll ends. Not inlined, so
 * that waits save no registers for it. */
static __attribute__((noinline)) void record_wait(struct worker *worker,
						  struct skua_wait *wait)
{
	const struct wait_verb *verb = wait->verb;
	enum area_wait_kind kind = verb->kind;

	if (kind == AREA_WAITS_CONDITION &&
	    (uintptr_t)wait->object == wait->amount)
		kind = AREA_WAITS_MUTEX;
	telemetry_wait(&worker->telemetry, wait->waiter, wait->object, kind,
		       wait->noted == (uint32_t)kind, holder_of(wait, kind));
	wait->noted = (uint32_t)kind;
}

/* Note for tools that the task has not got what it waited for, if they know of the wait. A
 * wait for a condition always ends with its mutex. Not inlined, as wake_fiber_at(). */
static __attribute__((noinline)) void note_give_up(const struct skua_wait *wait,
						   int code)
{
	const struct wait_verb *verb = wait->verb;

	if (wait->noted && verb->kind != AREA_WAITS_CONDITION)
		telemetry_give_up(&current_worker->telemetry, wait->waiter,
				  wait->object, code);
}

/* ---- polls ------------------------------------------------------------------ */

HOT int await_may_poll(const struct skua_task *self,
		       const struct skua_wait *wait)
{
	if (!self || !wait)
		return -EINVAL;
	if (current_polls(self))
		return 0;
	return task_dead(self) ? -EOWNERDEAD : -EPERM;
}

/* Is this the call that armed the wait? A condition's goes on to wait for the
 * mutex, which is its amount. */
static bool is_armed_by(const struct skua_wait *wait,
			const struct skua_task *self,
			const struct wait_verb *verb, const void *object,
			uint64_t amount)
{
	return wait->waiter == (uintptr_t)self && wait->verb == verb &&
	       wait->amount == amount &&
	       (wait->object == object || (uintptr_t)wait->object == amount);
}

HOT int await_poll(struct skua_task *self, struct skua_wait *wait,
		   const struct wait_verb *verb, void *object, uint64_t amount,
		   uint64_t deadline_ns)
{
	struct timer *timer = (struct timer *)&wait->timer;
	uint64_t left_ns;
	int give_up, code;

	if (phase_of(wait) == WAIT_IDLE) {
		wait->waiter = (uintptr_t)self;
		await_begin(wait, verb, amount);
	} else if (!is_armed_by(wait, self, verb, object, amount)) {
		return -EINVAL;
	}
	give_up = give_up_of(self, false, deadline_ns);
	code = verb->step(wait, object, await_take_grant(wait), give_up);
	if (code != -EAGAIN) {
		if (give_up && code == give_up)
			note_give_up(wait, code);
		timers_cancel(timer);
		return code;
	}
	begin_at(wait, current_worker->tick.start_ns);
	if (current_worker->telemetry.recorder.on)
		record_wait(current_worker, wait);
	left_ns = left_of(wait, deadline_ns, give_up);
	/* The timer of the deadline may still be queued. */
	if (give_up)
		timers_cancel(timer);
	if (left_ns != SKUA_FOREVER_NS)
		timers_add_exact(current_worker, timer, self, left_ns);
	return code;
}

int await_cancel(struct skua_task *self, struct skua_wait *wait)
{
	int code = await_may_poll(self, wait);
	const struct wait_verb *verb;

	if (code)
		return code;
	if (phase_of(wait) == WAIT_IDLE)
		return 0;
	if (wait->waiter != (uintptr_t)self)
		return -EINVAL;
	if (phase_of(wait) == WAIT_GRANTED)
		return -EALREADY;
	verb = wait->verb;
	code = verb->step(wait, wait->object, false, -ECANCELED);
	if (code == -EAGAIN)
		return -EALREADY;
	if (code >= 0) {
		/* Relaxed: the wait of a select is the caller's alone. Its next step
		 * returns the case again. */
		atomic_store_relaxed(wait_phase(wait), WAIT_ARMED);
		return -EALREADY;
	}
	note_give_up(wait, -ECANCELED);
	timers_cancel((struct timer *)&wait->timer);
	return 0;
}

HOT bool await_armed(struct skua_wait *wait)
{
	return phase_of(wait) != WAIT_IDLE;
}

/* ---- fibers ----------------------------------------------------------------- */

/* Record the wait of a fiber, and wake it at a deadline. An earlier timer that is still
 * queued stays, and is added again when it has fired: so a deadline that moves on with each
 * call costs no timer for each. Not inlined, so that other waits save no registers for
 * it. */
static __attribute__((noinline)) void prepare_slowly(struct worker *worker,
						     struct skua_fiber *fiber,
						     struct skua_wait *wait,
						     uint64_t deadline_ns)
{
	struct timer *timer = (struct timer *)&fiber->timer;

	if (worker->telemetry.recorder.on)
		record_wait(worker, wait);
	if (deadline_ns == SKUA_FOREVER_NS)
		return;
	if (timers_queued(timer)) {
		if (timer->entry.grain <= deadline_ns >> TIMER_WHEEL_GRAIN_BITS)
			return;
		timers_cancel(timer);
	}
	/* Exact: a fiber that masks cancels waits on in a shutdown that cancels. */
	timers_add_exact(worker, timer, &fiber->task, deadline_ns);
}

/* Note for tools what the fiber waits for, and wake it at a deadline. A separate function:
 * the caller must not keep the address of a thread-local across a suspension. */
static __attribute__((noinline)) void wake_fiber_at(struct skua_fiber *fiber,
						    struct skua_wait *wait,
						    uint64_t deadline_ns)
{
	struct worker *worker = current_worker;

	begin_at(wait, worker->tick.start_ns);
	fiber->wait = wait;
	if (deadline_ns != SKUA_FOREVER_NS || worker->telemetry.recorder.on)
		prepare_slowly(worker, fiber, wait, deadline_ns);
}

HOT int await_give_up(struct skua_fiber *fiber, uint64_t deadline_ns)
{
	if (!fiber_may_suspend(fiber))
		return -EDEADLK;
	return give_up_of(&fiber->task, fiber_cancel_masked(fiber),
			  deadline_ns);
}

void await_suspend(struct skua_fiber *fiber, struct skua_wait *wait,
		   uint64_t deadline_ns, int give_up)
{
	wake_fiber_at(fiber, wait, left_of(wait, deadline_ns, give_up));
	fiber_suspend(fiber);
	fiber->wait = NULL;
}

const struct wait_verb await_join = { .kind = AREA_WAITS_JOIN };
const struct wait_verb await_group = { .kind = AREA_WAITS_GROUP };
static const struct wait_verb time_verb = { .kind = AREA_WAITS_TIME };

static int await_by_fiber(struct skua_fiber *fiber, struct skua_wait *wait,
			  void *object, uint64_t deadline_ns)
{
	const struct wait_verb *verb = wait->verb;
	int give_up = await_give_up(fiber, deadline_ns);
	int code;

	wait->waiter = (uintptr_t)&fiber->task;
	code = verb->step(wait, object, false, give_up);
	/* The loop repeats when the fiber was woken for another cause. */
	while (code == -EAGAIN) {
		await_suspend(fiber, wait, deadline_ns, give_up);
		give_up = give_up_of(&fiber->task, fiber_cancel_masked(fiber),
				     deadline_ns);
		code = verb->step(wait, object, await_take_grant(wait),
				  give_up);
	}
	if (give_up && code == give_up)
		note_give_up(wait, code);
	return code;
}

/* ---- threads ---------------------------------------------------------------- */

/* Sleep until the wait is granted, or its deadline has passed. */
static void sleep_until(struct skua_wait *wait, uint64_t deadline_ns)
{
	uint32_t phase;

	/* The loop repeats when the sleep ended without a cause, and when the
	 * wait was chosen. The grantor then wakes this thread in a moment,
	 * whatever the deadline. Of a select, the phase exceeds WAIT_GRANTED when
	 * a case was granted. */
	while ((phase = phase_of(wait)) < WAIT_GRANTED) {
		if (phase == WAIT_CHOSEN || deadline_ns == SKUA_FOREVER_NS)
			futex_wait(wait_phase(wait), phase);
		else if (has_passed(deadline_ns))
			return;
		else
			futex_wait_until(wait_phase(wait), phase, deadline_ns);
	}
}

/* Not inlined, so that waits of fibers save no registers for it. */
static __attribute__((noinline)) int
await_by_thread(struct skua_wait *wait, void *object, uint64_t deadline_ns)
{
	const struct wait_verb *verb = wait->verb;

	wait->waiter = await_self();
	for (;;) {
		int give_up = has_passed(deadline_ns) ? -ETIMEDOUT : 0;
		int code = verb->step(wait, object, await_take_grant(wait),
				      give_up);

		if (code != -EAGAIN)
			return code;
		begin_at(wait, clock_now_ns());
		wait_thread.wait = wait;
		sleep_until(wait, left_of(wait, deadline_ns, give_up));
		wait_thread.wait = NULL;
	}
}

HOT int await(const struct wait_verb *verb, void *object, uint64_t amount,
	      uint64_t deadline_ns)
{
	/* In the child of a fork() in a fiber, the thread waits. */
	bool by_fiber = await_self_as_fiber() && current_here();
	struct skua_wait wait;

	if (!by_fiber && await_allowed())
		return -EDEADLK;
	/* Relaxed: nobody else knows the wait. */
	atomic_store_relaxed(wait_phase(&wait), WAIT_IDLE);
	await_begin(&wait, verb, amount);
	return by_fiber ? await_by_fiber(fiber_current(), &wait, object,
					 deadline_ns)
			: await_by_thread(&wait, object, deadline_ns);
}

/* ---- times ------------------------------------------------------------------ */

int await_time(uint64_t when_ns)
{
	struct skua_fiber *fiber = await_fiber();
	struct skua_wait wait = { .verb = &time_verb,
				  .amount = when_ns,
				  .waiter = (uintptr_t)fiber };
	atomic_u32 nobody = 0; /* wakes it */
	int code = 0;

	/* The loops repeat when the sleep ended without a cause. */
	while (fiber && !code) {
		code = await_give_up(fiber, when_ns);
		if (!code)
			await_suspend(fiber, &wait, when_ns, 0);
	}
	if (!fiber)
		code = await_allowed();
	while (!fiber && !code) {
		futex_wait_until(&nobody, 0, when_ns);
		code = has_passed(when_ns) ? -ETIMEDOUT : 0;
	}
	return code == -ETIMEDOUT ? 0 : code;
}
