/* SPDX-License-Identifier: MIT */
/* test_shutdown_wait.c - a shutdown that cancels ends each wait that is not masked */
#include <pthread.h>

#include "core/fiber/fiber.h"
#include "skua/fiber.h"
#include "skua/sync.h"
#include "tests/unit/tasks.h"

#define SOON_NS UINT64_C(1000000)
#define LONG_NS UINT64_C(3600000000000)
/* A wait of this length must not be many polls. */
#define PAUSE_NS UINT64_C(50000000)
/* Polls of a fiber that waits once: the first one, the one after its wait, and a few for
 * wake-ups without a cause. */
#define POLLS_MOST 20u

/* The objects that fibers and polls wait for. The test holds the mutex. */
struct objects {
	struct skua_mutex mutex, other;
	struct skua_rwlock lock;
	struct skua_semaphore semaphore;
	struct skua_event event;
	struct skua_notify notify;
	struct skua_condition condition;
	struct skua_barrier barrier;
	struct skua_once once;
	struct waiter task; /* to join; ends with the shutdown */
	struct skua_group group;
};

static void objects_init(struct objects *o, struct skua_runtime *rt)
{
	*o = (struct objects){ .task = WAITER_INIT };
	assert_int_equal(skua_semaphore_init(&o->semaphore, 0), 0);
	assert_int_equal(skua_barrier_init(&o->barrier, 1000), 0);
	assert_int_equal(skua_group_init(&o->group, rt), 0);
	assert_int_equal(skua_mutex_lock(&o->mutex, SKUA_FOREVER_NS), 0);
	assert_int_equal(skua_rwlock_write(&o->lock, SKUA_FOREVER_NS), 0);
	assert_int_equal(skua_once_begin(&o->once, SKUA_FOREVER_NS), 1);
}

static void objects_end(struct objects *o)
{
	assert_int_equal(skua_mutex_unlock(&o->mutex), 0);
	assert_int_equal(skua_rwlock_write_unlock(&o->lock), 0);
	assert_int_equal(skua_once_end(&o->once, true), 0);
	assert_int_equal(skua_mutex_destroy(&o->mutex), 0);
	assert_int_equal(skua_mutex_destroy(&o->other), 0);
	assert_int_equal(skua_rwlock_destroy(&o->lock), 0);
}

struct call {
	struct skua_fiber fiber; /* first: a fiber is its call */
	struct skua_runtime *rt;
	struct objects *objects;
	int (*act)(struct call *it);
	struct gate begun;
	int result;
	uint64_t polls; /* of its worker while it waited */
};

static void call_act(struct skua_fiber *self)
{
	struct call *it = (struct call *)self;

	it->result = it->act(it);
}

static void call_start(struct call *it, struct skua_runtime *rt,
		       struct objects *objects, int (*act)(struct call *it))
{
	*it = (struct call){ .rt = rt, .objects = objects, .act = act };
	assert_int_equal(skua_fiber_init(&it->fiber, call_act, 0), 0);
	spawn(rt, &it->fiber.task);
}

/* ---- waits of fibers ------------------------------------------------------- */

static int wait_mutex(struct call *it)
{
	return skua_mutex_lock(&it->objects->mutex, SKUA_FOREVER_NS);
}

static int wait_read(struct call *it)
{
	return skua_rwlock_read(&it->objects->lock, SKUA_FOREVER_NS);
}

static int wait_write(struct call *it)
{
	return skua_rwlock_write(&it->objects->lock, SKUA_FOREVER_NS);
}

static int wait_semaphore(struct call *it)
{
	return skua_semaphore_acquire(&it->objects->semaphore, 1,
				      SKUA_FOREVER_NS);
}

static int wait_event(struct call *it)
{
	return skua_event_wait(&it->objects->event, SKUA_FOREVER_NS);
}

static int wait_event_long(struct call *it)
{
	return skua_event_wait(&it->objects->event, skua_now_ns() + LONG_NS);
}

static int wait_notify(struct call *it)
{
	return skua_notify_wait(&it->objects->notify, SKUA_FOREVER_NS);
}

static int wait_condition(struct call *it)
{
	struct objects *o = it->objects;
	int code;

	/* The wait for the mutex alone may be what is cancelled. */
	code = skua_mutex_lock(&o->other, SKUA_FOREVER_NS);
	if (code)
		return code;
	code = skua_condition_wait(&o->condition, &o->other, SKUA_FOREVER_NS);
	assert_int_equal(skua_mutex_unlock(&o->other), 0);
	return code;
}

static int wait_barrier(struct call *it)
{
	return skua_barrier_wait(&it->objects->barrier, SKUA_FOREVER_NS);
}

static int wait_once(struct call *it)
{
	return skua_once_begin(&it->objects->once, SKUA_FOREVER_NS);
}

static int wait_sleep(struct call *it)
{
	(void)it;
	return skua_sleep_until(SKUA_FOREVER_NS);
}

static int wait_await(struct call *it)
{
	while (!skua_task_cancelled(&it->fiber.task))
		assert_int_equal(skua_await(), 0);
	return -ECANCELED;
}

static int (*const waits[])(struct call *it) = {
	wait_mutex,   wait_read,       wait_write,  wait_semaphore,
	wait_event,   wait_event_long, wait_notify, wait_condition,
	wait_barrier, wait_once,       wait_sleep,  wait_await,
};

TEST(shutdown_cancel__fibers_wait__each_ends_with_ecanceled)
{
	enum { EACH = 20, FIBERS = EACH * COUNT_OF(waits) };
	static struct call calls[FIBERS];

	for (unsigned workers = 1; workers <= 3; workers++) {
		struct skua_runtime *rt = runtime_new(workers, 0);
		struct objects objects;

		objects_init(&objects, rt);
		for (unsigned i = 0; i < FIBERS; i++)
			call_start(&calls[i], rt, &objects,
				   waits[i % COUNT_OF(waits)]);
		/* All of them wait; half the time, some only begin to. */
		for (unsigned i = 0; workers != 2 && i < FIBERS; i++)
			wait_until_waiting(&calls[i].fiber.task);
		assert_int_equal(skua_runtime_shutdown(rt, SKUA_FOREVER_NS,
						       SKUA_SHUTDOWN_CANCEL),
				 0);
		for (unsigned i = 0; i < FIBERS; i++) {
			join(&calls[i].fiber.task);
			assert_int_equal(calls[i].result, -ECANCELED);
		}
		objects_end(&objects);
		destroy(rt);
	}
}

static int join_waiter(struct call *it)
{
	int code = skua_task_join(&it->objects->task.task);

	return code ? code : -ECANCELED;
}

static int wait_group(struct call *it)
{
	int code = skua_group_wait(&it->objects->group);

	return code ? code : -ECANCELED;
}

/* Those wait for tasks that end only when they are cancelled themselves. */
TEST(shutdown_cancel__fibers_join__all_end)
{
	struct skua_runtime *rt = runtime_new(2, 0);
	struct objects objects;
	struct call join_it, group, member, last;

	objects_init(&objects, rt);
	call_start(&last, rt, &objects, wait_sleep);
	member = (struct call){ .rt = rt, .act = wait_sleep };
	assert_int_equal(skua_fiber_init(&member.fiber, call_act, 0), 0);
	assert_int_equal(skua_group_spawn(&objects.group, &member.fiber.task),
			 0);
	waiter_start(rt, &objects.task);
	call_start(&join_it, rt, &objects, join_waiter);
	call_start(&group, rt, &objects, wait_group);
	wait_until_waiting(&join_it.fiber.task);
	wait_until_waiting(&group.fiber.task);
	/* A task that waits for a waker of its own is not woken. */
	assert_int_equal(
		skua_runtime_shutdown(rt, SOON_NS, SKUA_SHUTDOWN_CANCEL),
		-ETIMEDOUT);
	join(&last.fiber.task);
	assert_int_equal(last.result, -ECANCELED);
	waiter_end(&objects.task);
	assert_int_equal(skua_runtime_shutdown(rt, SKUA_FOREVER_NS,
					       SKUA_SHUTDOWN_CANCEL),
			 0);
	join(&join_it.fiber.task);
	join(&group.fiber.task);
	objects_end(&objects);
	destroy(rt);
}

/* ---- waits of polls --------------------------------------------------------- */

struct poll_waiter {
	struct skua_task task; /* first: a task is its poll_waiter */
	struct skua_wait wait;
	struct objects *objects;
	uint64_t until_ns;
	int result;
};

static enum skua_poll poll_mutex(struct skua_task *self)
{
	struct poll_waiter *it = (struct poll_waiter *)self;

	if (it->until_ns == 0)
		it->until_ns = skua_now_ns() + LONG_NS;
	it->result = skua_mutex_lock_poll(self, &it->objects->mutex, &it->wait,
					  it->until_ns);
	return it->result == -EAGAIN ? SKUA_PENDING : SKUA_DONE;
}

TEST(shutdown_cancel__polls_wait_with_a_deadline__each_ends_with_ecanceled)
{
	enum { POLLS = 200 };
	static struct poll_waiter its[POLLS];

	for (unsigned workers = 1; workers <= 3; workers++) {
		struct skua_runtime *rt = runtime_new(workers, 0);
		struct objects objects;

		objects_init(&objects, rt);
		for (unsigned i = 0; i < POLLS; i++) {
			its[i] = (struct poll_waiter){
				.task = SKUA_TASK_INIT(poll_mutex),
				.objects = &objects,
			};
			spawn(rt, &its[i].task);
		}
		for (unsigned i = 0; workers != 2 && i < POLLS; i++)
			wait_until_waiting(&its[i].task);
		assert_int_equal(skua_runtime_shutdown(rt, SKUA_FOREVER_NS,
						       SKUA_SHUTDOWN_CANCEL),
				 0);
		for (unsigned i = 0; i < POLLS; i++) {
			join(&its[i].task);
			assert_int_equal(its[i].result, -ECANCELED);
		}
		objects_end(&objects);
		destroy(rt);
	}
}

/* ---- masked ------------------------------------------------------------------ */

static uint64_t polls_of(struct skua_runtime *rt)
{
	struct skua_stats stats;

	assert_int_equal(skua_runtime_stats(rt, &stats), 0);
	return stats.total.tasks_polled;
}

static int clean_up_by_sleep(struct call *it)
{
	uint64_t when_ns;

	assert_int_equal(skua_sleep_until(SKUA_FOREVER_NS), -ECANCELED);
	assert_int_equal(skua_cancel_mask(), 0);
	it->polls = polls_of(it->rt);
	when_ns = skua_now_ns() + PAUSE_NS;
	assert_int_equal(skua_sleep_until(when_ns), 0);
	assert_true(skua_now_ns() >= when_ns);
	assert_int_equal(
		skua_event_wait(&it->objects->event, skua_now_ns() + PAUSE_NS),
		-ETIMEDOUT);
	it->polls = polls_of(it->rt) - it->polls;
	assert_int_equal(skua_cancel_unmask(), 0);
	return skua_sleep_until(SKUA_FOREVER_NS);
}

TEST(shutdown_cancel__masked_with_a_deadline__waits_without_polls)
{
	for (unsigned workers = 1; workers <= 2; workers++) {
		struct skua_runtime *rt = runtime_new(workers, 0);
		struct objects objects;
		struct call it;

		objects_init(&objects, rt);
		call_start(&it, rt, &objects, clean_up_by_sleep);
		wait_until_waiting(&it.fiber.task);
		assert_int_equal(skua_runtime_shutdown(rt, SKUA_FOREVER_NS,
						       SKUA_SHUTDOWN_CANCEL),
				 0);
		join(&it.fiber.task);
		assert_int_equal(it.result, -ECANCELED);
		assert_in_range(it.polls, 0, POLLS_MOST);
		objects_end(&objects);
		destroy(rt);
	}
}

static int masked_before(struct call *it)
{
	uint64_t deadline_ns = skua_now_ns() + PAUSE_NS;

	assert_int_equal(skua_cancel_mask(), 0);
	it->polls = polls_of(it->rt);
	gate_open(&it->begun);
	assert_int_equal(skua_event_wait(&it->objects->event, deadline_ns),
			 -ETIMEDOUT);
	assert_true(skua_now_ns() >= deadline_ns);
	it->polls = polls_of(it->rt) - it->polls;
	return 0;
}

/* Many, so that their timers are not all fired under one hold of the lock. */
TEST(shutdown_cancel__masked_before__waits_until_its_deadline)
{
	enum { FIBERS = 300 };
	static struct call calls[FIBERS];
	struct skua_runtime *rt = runtime_new(2, 0);
	struct objects objects;

	objects_init(&objects, rt);
	for (unsigned i = 0; i < FIBERS; i++)
		call_start(&calls[i], rt, &objects, masked_before);
	for (unsigned i = 0; i < FIBERS; i++)
		gate_wait(&calls[i].begun);
	assert_int_equal(skua_runtime_shutdown(rt, SKUA_FOREVER_NS,
					       SKUA_SHUTDOWN_CANCEL),
			 0);
	for (unsigned i = 0; i < FIBERS; i++) {
		join(&calls[i].fiber.task);
		assert_int_equal(calls[i].result, 0);
		assert_in_range(calls[i].polls, 0, POLLS_MOST * FIBERS);
	}
	objects_end(&objects);
	destroy(rt);
}

static int masked_event(struct call *it)
{
	assert_int_equal(skua_cancel_mask(), 0);
	gate_open(&it->begun);
	assert_int_equal(skua_event_wait(&it->objects->event, SKUA_FOREVER_NS),
			 0);
	assert_int_equal(skua_cancel_unmask(), 0);
	return skua_sleep_until(SKUA_FOREVER_NS);
}

TEST(shutdown_cancel__masked_without_a_deadline__waits_for_the_grant)
{
	struct skua_runtime *rt = runtime_new(2, 0);
	struct objects objects;
	struct call it;

	objects_init(&objects, rt);
	call_start(&it, rt, &objects, masked_event);
	gate_wait(&it.begun);
	for (unsigned n = 0; n < 3; n++)
		assert_int_equal(skua_runtime_shutdown(rt, SOON_NS,
						       SKUA_SHUTDOWN_CANCEL),
				 -ETIMEDOUT);
	assert_int_equal(skua_event_set(&objects.event), 0);
	assert_int_equal(skua_runtime_shutdown(rt, SKUA_FOREVER_NS,
					       SKUA_SHUTDOWN_CANCEL),
			 0);
	join(&it.fiber.task);
	assert_int_equal(it.result, -ECANCELED);
	objects_end(&objects);
	destroy(rt);
}

/* ---- fibers that end meanwhile ------------------------------------------------ */

static void yield_some(void *arg)
{
	for (uintptr_t n = (uintptr_t)arg % 4; n > 0; n--)
		assert_int_equal(skua_yield(), 0);
}

/* ThreadSanitizer takes 5 ms to make a fiber: it maps and clears some MB for each. */
#define BURST (THREAD_SANITIZED ? 50u : 300u)

static int spawn_and_sleep(struct call *it)
{
	for (uintptr_t n = 0; n < BURST; n++)
		assert_int_equal(
			skua_fiber_spawn(it->rt, NULL, yield_some, (void *)n),
			0);
	gate_open(&it->begun);
	for (uintptr_t n = 0; n < BURST; n++)
		assert_int_equal(
			skua_fiber_spawn(it->rt, NULL, yield_some, (void *)n),
			0);
	return skua_sleep_until(SKUA_FOREVER_NS);
}

TEST(shutdown_cancel__fibers_end_meanwhile__all_end)
{
	for (unsigned n = 0; n < (THREAD_SANITIZED ? 9 : 30); n++) {
		struct skua_runtime *rt = runtime_new(1 + n % 3, 0);
		struct call its[4];

		for (unsigned i = 0; i < COUNT_OF(its); i++)
			call_start(&its[i], rt, NULL, spawn_and_sleep);
		gate_wait(&its[0].begun);
		assert_int_equal(skua_runtime_shutdown(rt, SKUA_FOREVER_NS,
						       SKUA_SHUTDOWN_CANCEL),
				 0);
		for (unsigned i = 0; i < COUNT_OF(its); i++) {
			join(&its[i].fiber.task);
			assert_int_equal(its[i].result, -ECANCELED);
		}
		destroy(rt);
	}
}
