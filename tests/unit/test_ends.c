/* SPDX-License-Identifier: MIT */
/* test_ends.c - what is left when a runtime ends, and what runs beside that */
#include <pthread.h>
#include <time.h>

#include "core/runtime/runtime.h"
#include "tests/unit/tasks.h"

#define HOUR_NS UINT64_C(3600000000000)

/* ---- timers that are left -------------------------------------------------- */

/* Done at once, with a timer pending: a waker that nobody drops. */
struct hasty {
	struct skua_task task; /* first: a task is its hasty */
	struct skua_timer timer;
	unsigned releases;
};

static enum skua_poll hasty_poll(struct skua_task *self)
{
	struct hasty *it = (struct hasty *)self;

	skua_timer_add(self, &it->timer, skua_now_ns() + HOUR_NS);
	return SKUA_DONE;
}

static void note_release(struct skua_task *task)
{
	((struct hasty *)task)->releases++;
}

TEST(shutdown__timer_of_a_task_that_is_done__join_ends)
{
	struct skua_runtime *rt = runtime_new(2, 0);
	struct hasty it = { .task = SKUA_TASK_INIT(hasty_poll) };

	spawn(rt, &it.task);
	assert_int_equal(
		skua_runtime_shutdown(rt, SKUA_FOREVER_NS, SKUA_SHUTDOWN_RUN),
		0);
	join(&it.task);
	assert_false(skua_timer_pending(&it.timer));
	destroy(rt);
}

TEST(destroy__timer_of_a_detached_task__released_once)
{
	struct skua_runtime *rt = runtime_new(2, 0);
	struct hasty it = { .task = SKUA_TASK_INIT(hasty_poll) };

	assert_int_equal(skua_task_detach(&it.task, note_release), 0);
	spawn(rt, &it.task);
	destroy(rt);
	assert_int_equal(it.releases, 1);
}

/* ---- afterwards ------------------------------------------------------------ */

static enum skua_poll add_and_cancel(struct skua_task *self)
{
	struct hasty *it = (struct hasty *)self;

	skua_timer_add(self, &it->timer, skua_now_ns() + HOUR_NS);
	return skua_timer_cancel(&it->timer) ? SKUA_DONE : SKUA_PENDING;
}

/* As they are: neither the task nor its timer is initialised again. */
TEST(task_and_timer__on_another_runtime__run_again)
{
	struct hasty it = { .task = SKUA_TASK_INIT(add_and_cancel) };

	for (unsigned n = 0; n < 10; n++) {
		struct skua_runtime *rt = runtime_new(1 + n % 2, 0);

		spawn(rt, &it.task);
		join(&it.task);
		destroy(rt);
		assert_int_equal(skua_timer_add(&it.task, &it.timer, 0),
				 -EPERM);
		assert_false(skua_timer_cancel(&it.timer));
	}
}

/* ---- beside ---------------------------------------------------------------- */

static void *join_it(void *arg)
{
	return (void *)(intptr_t)skua_task_join(arg);
}

static void *cancel_it(void *arg)
{
	return (void *)(intptr_t)skua_task_cancel(arg);
}

TEST(destroy__beside_a_join_and_a_cancel__both_return)
{
	for (unsigned n = 0; n < (SANITIZED ? 100 : 500); n++) {
		struct skua_runtime *rt = runtime_new(2, 4);
		struct counter counter = COUNTER_INIT;
		pthread_t joins;
		pthread_t cancels;
		void *code;

		spawn(rt, &counter.task);
		assert_int_equal(
			pthread_create(&joins, NULL, join_it, &counter.task),
			0);
		assert_int_equal(pthread_create(&cancels, NULL, cancel_it,
						&counter.task),
				 0);
		destroy(rt);
		pthread_join(cancels, NULL);
		pthread_join(joins, &code);
		assert_int_equal((intptr_t)code, 0);
		assert_int_equal(counter.polls, 1);
	}
}

struct refused {
	struct skua_runtime *rt;
	struct gate stop;
};

static void *spawn_in_vain(void *arg)
{
	struct refused *it = arg;
	struct counter counter = COUNTER_INIT;

	while (!gate_is_open(&it->stop)) {
		if (skua_task_spawn(it->rt, &counter.task) != -ESHUTDOWN)
			abort();
	}
	return NULL;
}

TEST(stats__beside_refused_spawns__count_none_or_those_there)
{
	struct refused it = { .rt = runtime_new(1, 0) };
	struct waiter waiter = WAITER_INIT;
	struct skua_stats stats;
	pthread_t id;

	waiter_start(it.rt, &waiter);
	assert_int_equal(skua_runtime_shutdown(it.rt, 0, SKUA_SHUTDOWN_RUN),
			 -ETIMEDOUT);
	assert_int_equal(pthread_create(&id, NULL, spawn_in_vain, &it), 0);
	for (unsigned n = 0; n < 100000; n++) {
		assert_int_equal(skua_runtime_stats(it.rt, &stats), 0);
		/* Each that is under way is counted before it is refused; but
		 * more are never taken back than were counted. */
		assert_in_range(stats.tasks_spawned, 1, UINT32_MAX);
	}
	gate_open(&it.stop);
	pthread_join(id, NULL);
	assert_int_equal(skua_runtime_stats(it.rt, &stats), 0);
	assert_int_equal(stats.tasks_spawned, 1);
	assert_int_equal(skua_task_cancel(&waiter.task), 0);
	join(&waiter.task);
	destroy(it.rt);
}

/* ---- driven ---------------------------------------------------------------- */

static struct skua_runtime *driven(void)
{
	return RUNTIME(.flags = SKUA_CALLER_DRIVEN);
}

/* Due at once, again and again: the worker is never idle, and no tick full. */
struct restless {
	struct skua_task task; /* first: a task is its restless */
	struct skua_timer timer;
	uint64_t polls;
};

static enum skua_poll restless_poll(struct skua_task *self)
{
	struct restless *it = (struct restless *)self;

	it->polls++;
	if (skua_task_cancelled(self))
		return SKUA_DONE;
	skua_timer_add(self, &it->timer, 0);
	return SKUA_PENDING;
}

TEST(drive__timer_always_due__a_turn_is_one_turn)
{
	struct skua_runtime *rt = driven();
	struct restless it = { .task = SKUA_TASK_INIT(restless_poll) };

	spawn(rt, &it.task);
	for (unsigned n = 0; n < 2000; n++) {
		uint64_t before = it.polls;

		assert_int_equal(skua_runtime_poll(rt, 0), 1);
		assert_in_range(it.polls - before, 1, 128); /* the budget */
	}
	assert_int_equal(skua_runtime_shutdown(rt, 1000000, SKUA_SHUTDOWN_RUN),
			 -ETIMEDOUT);
	assert_int_equal(skua_task_cancel(&it.task), 0);
	assert_int_equal(skua_runtime_drain(rt), 0);
	join(&it.task);
	destroy(rt);
}

static struct waiter handled;
static struct skua_waker handled_waker;
static atomic_u32 handled_wakes;

static void wake_from_handler(int signal)
{
	(void)signal;
	atomic_fetch_add_relaxed(&handled_wakes, 1);
	skua_waker_wake_by_ref(handled_waker);
}

/* The program's own thread drives, and its handlers run there. */
TEST(drive__woken_by_a_signal_handler__nothing_is_torn)
{
	const struct itimerspec often = { { 0, 50000 }, { 0, 50000 } };
	struct sigaction action = { .sa_handler = wake_from_handler };
	struct sigaction before;
	struct skua_runtime *rt = driven();
	struct restless restless = { .task = SKUA_TASK_INIT(restless_poll) };
	timer_t timer;

	handled = (struct waiter)WAITER_INIT;
	spawn(rt, &handled.task);
	handled_waker = skua_task_waker(&handled.task);
	spawn(rt, &restless.task);
	sigaction(SIGALRM, &action, &before);
	assert_int_equal(timer_create(CLOCK_MONOTONIC, NULL, &timer), 0);
	assert_int_equal(timer_settime(timer, 0, &often, NULL), 0);
	while (waiter_polls(&handled) < (SANITIZED ? 50 : 500))
		skua_runtime_poll(rt, 0);
	timer_delete(timer);
	sigaction(SIGALRM, &before, NULL);
	assert_true(atomic_load_relaxed(&handled_wakes) + 1 >=
		    waiter_polls(&handled));
	skua_waker_drop(handled_waker);
	assert_int_equal(skua_task_cancel(&handled.task), 0);
	assert_int_equal(skua_task_cancel(&restless.task), 0);
	assert_int_equal(skua_runtime_drain(rt), 0);
	join(&handled.task);
	join(&restless.task);
	destroy(rt);
}
