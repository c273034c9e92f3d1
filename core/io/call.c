/* SPDX-License-Identifier: MIT */
/* call.c - see call.h */
#include "core/io/call.h"

#include <string.h>

#include "core/base/clock.h"
#include "core/base/hot.h"
#include "core/io/attach.h"
#include "core/loop/schedule.h"
#include "core/os/log.h"
#include "probes/probes.h"

/* How a wait was granted: skua_wait.given. */
enum { BY_EVENT, BY_CLOSE };

/* ---- steps ------------------------------------------------------------------ */

static struct io_slot *slot_of(const struct skua_wait *wait)
{
	return (struct io_slot *)(uintptr_t)wait->amount;
}

/* End the call. @empty: the descriptor is empty, or full. */
static HOT void leave(struct io_call *call, bool empty)
{
	if (slot_leave(call->slot, call->way, empty))
		attach_drop(call->slot);
}

/* Let the call wait. Return: 0; -EAGAIN: an event has come; -EBADF. The caller leaves after
 * an error. */
static HOT int arm(struct io_call *call, struct skua_wait *wait,
		   uint64_t delayed)
{
	int code;

	wait->object = call->slot;
	wait->code = (int32_t)call->io.serial;
	wait_arm_alone(wait);
	code = slot_arm(call->slot, call->way, wait, delayed);
	if (code)
		wait_withdraw_alone(wait);
	return code;
}

/* Try, and wait if the try finds nothing. The caller has claimed the direction. The wait
 * keeps call->aside.
 * @ready: the try may succeed */
static int attempt(struct io_call *call, struct skua_wait *wait, bool ready,
		   int give_up)
{
	wait->aside = call->aside;
	/* The loop repeats when an event came during the try. */
	for (;;) {
		ssize_t result = ready ? call->operation(call) : -EAGAIN;
		int code = give_up;

		if (result != -EAGAIN) {
			leave(call, call->empty);
			return (int)result;
		}
		if (!code)
			code = slot_ready(call->slot, call->way)
				       ? -EAGAIN
				       : arm(call, wait, 0);
		if (code == 0)
			return -EAGAIN;
		if (code != -EAGAIN) {
			leave(call, !call->aside);
			return code;
		}
		slot_retry(call->slot, call->way);
		ready = true;
	}
}

/* The step of a wait that is armed, or was chosen, and not granted yet. @bits: for
 * slot_withdraw() */
static int wait_on(struct skua_wait *wait, enum io_direction way, int give_up,
		   uint64_t bits)
{
	if (!give_up)
		return -EAGAIN;
	if (slot_withdraw(slot_of(wait), way, (uint32_t)wait->code, bits)) {
		wait_withdraw_alone(wait);
		return give_up;
	}
	wait_expect_grant(wait);
	return -EAGAIN;
}

/* Try once more, after the deadline has passed and the wait is withdrawn: what the call
 * waited for may have come, and no worker has looked for the event yet. */
static int last_try(struct io_call *call, struct skua_wait *wait)
{
	bool ready;
	int code = slot_claim(call->slot, call->way, call->io.serial, &ready);

	/* Another call has begun meanwhile, and takes what there is. */
	if (code == -EBUSY)
		return -ETIMEDOUT;
	return code ? code : attempt(call, wait, true, -ETIMEDOUT);
}

/* @object: the call; of a wait that is given up by skua_wait_cancel(), the slot */
static HOT int step(struct skua_wait *wait, void *object, enum io_direction way,
		    bool granted, int give_up)
{
	struct io_call *call = object;
	bool ready = true;
	int code;

	if (granted && wait->given == BY_CLOSE)
		return -EBADF;
	if (!granted && await_armed(wait)) {
		code = wait_on(wait, way, give_up, wait->aside ? IO_READY : 0);
		/* A withdrawal that must have no effect, as in a select, gives
		 * -ECANCELED. */
		return code == -ETIMEDOUT ? last_try(call, wait) : code;
	}
	code = granted ? slot_resume(call->slot, way, call->io.serial)
		       : slot_claim(call->slot, way, call->io.serial, &ready);
	return code ? code : attempt(call, wait, ready || give_up, give_up);
}

static HOT int read_step(struct skua_wait *wait, void *object, bool granted,
			 int give_up)
{
	return step(wait, object, IO_READ, granted, give_up);
}

static int write_step(struct skua_wait *wait, void *object, bool granted,
		      int give_up)
{
	return step(wait, object, IO_WRITE, granted, give_up);
}

HOT int call_advance(struct skua_wait *wait, struct io_call *call, bool granted,
		     int give_up)
{
	return step(wait, call, call->way, granted, give_up);
}

void call_pass_on(struct skua_wait *wait, enum io_direction way)
{
	struct io_slot *slot = slot_of(wait);

	/* A close has nothing to pass on. After an event, a close may have come. */
	if (wait->given == BY_CLOSE ||
	    slot_resume(slot, way, (uint32_t)wait->code) != 0)
		return;
	if (slot_leave(slot, way, false))
		attach_drop(slot);
}

/* The step of a delay: only a close grants it. */
static int sleep_step(struct skua_wait *wait, void *object,
		      enum io_direction way, bool granted, int give_up)
{
	struct io_call *call = object;
	bool ready;
	int code;

	if (granted)
		return -EBADF;
	if (await_armed(wait))
		return wait_on(wait, way, give_up, 0);
	code = slot_claim(call->slot, way, call->io.serial, &ready);
	if (code)
		return code;
	wait->delay = call->delay;
	code = give_up ? give_up : arm(call, wait, IO_DELAYED | IO_READY);
	if (code == 0)
		return -EAGAIN;
	leave(call, false);
	return code;
}

static int read_sleep_step(struct skua_wait *wait, void *object, bool granted,
			   int give_up)
{
	return sleep_step(wait, object, IO_READ, granted, give_up);
}

static int write_sleep_step(struct skua_wait *wait, void *object, bool granted,
			    int give_up)
{
	return sleep_step(wait, object, IO_WRITE, granted, give_up);
}

#define IO_VERB(step, kind)                                                 \
	{                                                                   \
		(step), AREA_WAITS_##kind, 0, WAIT_NO_HOLDER, 0, NULL, NULL \
	}

/* By direction. */
static const struct wait_verb verbs[] = {
	IO_VERB(read_step, IO_READ),
	IO_VERB(write_step, IO_WRITE),
};
static const struct wait_verb sleeps[] = {
	IO_VERB(read_sleep_step, IO_READ),
	IO_VERB(write_sleep_step, IO_WRITE),
};

/* ---- budget ----------------------------------------------------------------- */

bool call_spent(uint16_t cost)
{
	struct worker *worker = current_worker;
	uint64_t poll;

	if (!worker)
		return false;
	poll = worker->area.counters.tasks_polled;
	if (worker->io_poll != poll) {
		worker->io_poll = poll;
		worker->io_calls = 0;
	}
	if (worker->io_calls >= CALL_BUDGET)
		return true;
	worker->io_calls += cost;
	return false;
}

/* Not inlined: a fiber may go on on another thread. */
__attribute__((noinline)) void call_let_others_run(void)
{
	struct skua_fiber *fiber = await_fiber();

	if (fiber && fiber_may_suspend(fiber))
		fiber_yield(fiber);
}

/* ---- delays ----------------------------------------------------------------- */

#define DELAY_FIRST_NS UINT64_C(1000000)
#define DELAY_MOST_NS  UINT64_C(100000000)
#define DELAYS_COUNTED 8u /* the last ones are the longest */

static uint64_t delay_ns(unsigned delays)
{
	uint64_t ns = DELAY_FIRST_NS << (delays - 1);

	return ns < DELAY_MOST_NS ? ns : DELAY_MOST_NS;
}

/* Log a delay, unless there was one in the last second. */
static void report_delay(struct pool *pool, int fd, int code, uint64_t ns)
{
	uint64_t now_ns = clock_now_ns();
	/* Relaxed, all: a count and a time, which order nothing. */
	uint64_t logged_ns = atomic_load_relaxed(&pool->delay_logged_ns);

	atomic_fetch_add_relaxed(&pool->accepts_delayed, 1);
	probe_accept_delayed(code, ns);
	if ((logged_ns && now_ns - logged_ns < NS_PER_S) ||
	    !atomic_cas_relaxed(&pool->delay_logged_ns, &logged_ns, now_ns))
		return;
	log_say(&pool->telemetry.hooks, SKUA_LOG_WARNING,
		"descriptor %d: accept: %s; it is tried again. Close "
		"descriptors, or raise the limit (ulimit -n, fs.file-max, "
		"fs.epoll.max_user_watches)",
		fd, strerror(-code));
}

ssize_t call_delay(struct io_call *call, int code)
{
	uint8_t *delays = &call->slot->delays[call->way];

	/* A receiver or a listener that is full says nothing about that of the next call,
	 * so a new write begins with the shortest delay. A lack of descriptors lasts. */
	if (call->way == IO_WRITE && !call->again)
		*delays = 0;
	if (*delays < DELAYS_COUNTED)
		++*delays;
	call->delay = *delays;
	if (call->way == IO_READ)
		report_delay(atomic_load_relaxed(&call->slot->pool),
			     call->io.fd, code, delay_ns(*delays));
	return code;
}

static bool is_over(uint64_t deadline_ns)
{
	return deadline_ns != SKUA_FOREVER_NS &&
	       (deadline_ns == 0 || clock_now_ns() >= deadline_ns);
}

static uint64_t earlier(uint64_t a_ns, uint64_t b_ns)
{
	return a_ns < b_ns ? a_ns : b_ns;
}

/* ---- forms ------------------------------------------------------------------ */

/* Try, if the descriptor may be ready. */
static inline ssize_t try_now(struct io_call *call)
{
	ssize_t result;
	bool ready;
	int code = slot_claim(call->slot, call->way, call->io.serial, &ready);

	if (code)
		return code;
	result = call->operation(call);
	leave(call, call->empty || (result == -EAGAIN && !call->aside));
	return result;
}

ssize_t call_try(struct io_call *call)
{
	ssize_t result;
	int code;

	call->slot = attach_find(call->io, &code);
	if (!call->slot)
		return code;
	result = try_now(call);
	return call->delay ? -EAGAIN : result;
}

/* Try again and again, with delays in between. */
static __attribute__((noinline)) ssize_t await_delayed(struct io_call *call,
						       uint64_t deadline_ns)
{
	uint64_t slot = (uintptr_t)call->slot;
	ssize_t result = 0;

	while (call->delay) {
		uint64_t retry_ns = clock_now_ns() + delay_ns(call->delay);

		result = await(&sleeps[call->way], call, slot,
			       earlier(deadline_ns, retry_ns));
		if (result != -ETIMEDOUT || is_over(deadline_ns))
			return result;
		call->delay = 0;
		call->again = true;
		result = await(&verbs[call->way], call, slot, deadline_ns);
	}
	return result;
}

HOT ssize_t call_await(struct io_call *call, uint64_t deadline_ns)
{
	ssize_t result = -EAGAIN;
	int code = await_allowed();

	if (code)
		return code;
	call->slot = attach_find(call->io, &code);
	if (!call->slot)
		return code;
	if (call_spent(call->cost))
		call_let_others_run();
	if (slot_ready(call->slot, call->way))
		result = try_now(call);
	if (result == -EAGAIN)
		result = await(&verbs[call->way], call, (uintptr_t)call->slot,
			       deadline_ns);
	return call->delay ? await_delayed(call, deadline_ns) : result;
}

/* In a poll, try again after a delay, which has begun if the wait is armed. */
static __attribute__((noinline)) ssize_t poll_delayed(struct io_call *call,
						      struct skua_task *self,
						      struct skua_wait *wait,
						      uint64_t deadline_ns)
{
	const struct wait_verb *sleep = &sleeps[call->way];
	uint64_t slot = (uintptr_t)call->slot;
	ssize_t result = 0;

	while (call->delay || await_armed(wait)) {
		uint64_t retry_ns =
			await_armed(wait)
				? wait->since_ns + delay_ns(wait->delay)
				: clock_now_ns() + delay_ns(call->delay);

		result = await_poll(self, wait, sleep, call, slot,
				    earlier(deadline_ns, retry_ns));
		if (result != -ETIMEDOUT || is_over(deadline_ns))
			return result;
		call->delay = 0;
		call->again = true;
		result = await_poll(self, wait, &verbs[call->way], call, slot,
				    deadline_ns);
		if (!call->delay)
			return result;
	}
	return result;
}

HOT ssize_t call_poll(struct io_call *call, struct skua_task *self,
		      struct skua_wait *wait, uint64_t deadline_ns)
{
	int code = await_may_poll(self, wait);
	ssize_t result = -EAGAIN;
	bool armed;

	if (code)
		return code;
	call->slot = attach_find(call->io, &code);
	if (!call->slot)
		return code;
	armed = await_armed(wait);
	if (armed && wait->verb == &sleeps[call->way])
		return poll_delayed(call, self, wait, deadline_ns);
	if (!armed) {
		if (call_spent(call->cost)) {
			schedule_wake(self);
			return -EAGAIN;
		}
		if (slot_ready(call->slot, call->way))
			result = try_now(call);
	}
	if (result == -EAGAIN)
		result = await_poll(self, wait, &verbs[call->way], call,
				    (uintptr_t)call->slot, deadline_ns);
	return call->delay ? poll_delayed(call, self, wait, deadline_ns)
			   : result;
}
