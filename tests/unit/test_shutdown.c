/* SPDX-License-Identifier: MIT */
/* test_shutdown.c - run or cancel what is left, in time */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/runtime/runtime.h"
#include "tests/unit/tasks.h"

#define SOON_NS UINT64_C(1000000)

static void shutdown_now(struct skua_runtime *rt, enum skua_shutdown how)
{
	assert_int_equal(skua_runtime_shutdown(rt, SKUA_FOREVER_NS, how), 0);
}

/* ---- refused ------------------------------------------------------------- */

TEST(shutdown__null_or_no_such_way__einval)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct counter counter = COUNTER_INIT;

	assert_int_equal(skua_runtime_shutdown(NULL, 0, SKUA_SHUTDOWN_RUN),
			 -EINVAL);
	assert_int_equal(skua_runtime_shutdown(rt, SKUA_FOREVER_NS,
					       (enum skua_shutdown)2),
			 -EINVAL);
	/* Not closed by that. */
	spawn(rt, &counter.task);
	join(&counter.task);
	shutdown_now(rt, SKUA_SHUTDOWN_RUN);
	assert_int_equal(skua_runtime_shutdown(rt, SKUA_FOREVER_NS,
					       (enum skua_shutdown)2),
			 -EINVAL);
	destroy(rt);
}

static int shutdown_in_poll(struct skua_task *self, void *arg)
{
	(void)self;
	return skua_runtime_shutdown(arg, SKUA_FOREVER_NS,
				     SKUA_SHUTDOWN_CANCEL);
}

TEST(shutdown__on_a_worker__edeadlk_and_lives_on)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct skua_runtime *other = runtime_new(1, 0);

	assert_int_equal(call_in_poll(rt, shutdown_in_poll, rt), -EDEADLK);
	assert_int_equal(call_in_poll(other, shutdown_in_poll, rt), -EDEADLK);
	assert_int_equal(call_in_poll(rt, shutdown_in_poll, NULL), -EINVAL);
	destroy(rt);
	destroy(other);
}

/* ---- run ------------------------------------------------------------------ */

TEST(shutdown_run__tasks_queued__all_run)
{
	for (unsigned workers = 1; workers <= 3; workers++) {
		struct skua_runtime *rt = runtime_new(workers, 4);
		struct counter counters[500];

		for (unsigned n = 0; n < 500; n++) {
			counters[n] = (struct counter)COUNTER_INIT;
			spawn(rt, &counters[n].task);
		}
		shutdown_now(rt, SKUA_SHUTDOWN_RUN);
		for (unsigned n = 0; n < 500; n++) {
			assert_int_equal(counters[n].polls, 1);
			assert_false(skua_task_cancelled(&counters[n].task));
			join(&counters[n].task);
		}
		destroy(rt);
	}
}

TEST(shutdown__task_waits__etimedout_and_may_be_repeated)
{
	struct skua_runtime *rt = runtime_new(2, 0);
	struct waiter it = WAITER_INIT;
	uint64_t before_ns = skua_now_ns();

	waiter_start(rt, &it);
	for (unsigned n = 0; n < 3; n++) {
		assert_int_equal(
			skua_runtime_shutdown(rt, SOON_NS, SKUA_SHUTDOWN_RUN),
			-ETIMEDOUT);
		assert_true(skua_now_ns() >= before_ns + (n + 1) * SOON_NS);
		assert_int_equal(
			skua_runtime_shutdown(rt, 0, SKUA_SHUTDOWN_RUN),
			-ETIMEDOUT);
	}
	assert_int_equal(waiter_polls(&it), 1);
	/* The workers go on. */
	waiter_end(&it);
	shutdown_now(rt, SKUA_SHUTDOWN_RUN);
	join(&it.task);
	assert_int_equal(atomic_load_relaxed(&it.cancelled), 0);
	destroy(rt);
}

TEST(shutdown__nothing_left__0_within_no_time)
{
	struct skua_runtime *rt = runtime_new(2, 0);

	assert_int_equal(skua_runtime_shutdown(rt, 0, SKUA_SHUTDOWN_RUN), 0);
	destroy(rt);
}

/* A timeout that does not fit behind the clock is without end. */
TEST(shutdown__huge_timeout__waits)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct counter counter = COUNTER_INIT;

	spawn(rt, &counter.task);
	assert_int_equal(skua_runtime_shutdown(rt, SKUA_FOREVER_NS - 1,
					       SKUA_SHUTDOWN_RUN),
			 0);
	assert_int_equal(counter.polls, 1);
	destroy(rt);
}

/* ---- cancel --------------------------------------------------------------- */

TEST(shutdown_cancel__queued__polled_once_with_the_mark)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct holder holder = HOLDER_INIT;
	struct waiter waiters[20];

	holder_hold(rt, &holder);
	for (unsigned n = 0; n < 20; n++) {
		waiters[n] = (struct waiter)WAITER_INIT;
		spawn(rt, &waiters[n].task);
	}
	assert_int_equal(
		skua_runtime_shutdown(rt, SOON_NS, SKUA_SHUTDOWN_CANCEL),
		-ETIMEDOUT);
	gate_open(&holder.go_on);
	shutdown_now(rt, SKUA_SHUTDOWN_RUN);
	for (unsigned n = 0; n < 20; n++) {
		assert_int_equal(waiter_polls(&waiters[n]), 1);
		assert_int_equal(atomic_load_relaxed(&waiters[n].cancelled), 1);
		join(&waiters[n].task);
	}
	join(&holder.task);
	destroy(rt);
}

TEST(shutdown_cancel__waits_for_a_waker__when_it_is_woken)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct waiter it = WAITER_INIT;

	waiter_start(rt, &it);
	for (unsigned n = 0; n < 3; n++)
		assert_int_equal(skua_runtime_shutdown(rt, SOON_NS,
						       SKUA_SHUTDOWN_CANCEL),
				 -ETIMEDOUT);
	assert_int_equal(waiter_polls(&it), 1);
	skua_waker_wake(skua_task_waker(&it.task)); /* its end is not open */
	shutdown_now(rt, SKUA_SHUTDOWN_CANCEL);
	assert_int_equal(waiter_polls(&it), 2);
	assert_int_equal(atomic_load_relaxed(&it.cancelled), 1);
	join(&it.task);
	destroy(rt);
}

TEST(shutdown_cancel__after_a_run_that_timed_out__ends)
{
	struct skua_runtime *rt = runtime_new(2, 0);
	struct counter tasks[4];

	for (unsigned n = 0; n < 4; n++) {
		tasks[n] = (struct counter){ .task = SKUA_TASK_INIT(
						     yield_until_cancelled) };
		spawn(rt, &tasks[n].task);
	}
	assert_int_equal(skua_runtime_shutdown(rt, SOON_NS, SKUA_SHUTDOWN_RUN),
			 -ETIMEDOUT);
	shutdown_now(rt, SKUA_SHUTDOWN_CANCEL);
	for (unsigned n = 0; n < 4; n++) {
		assert_true(tasks[n].polls > 0);
		join(&tasks[n].task);
	}
	destroy(rt);
}

/* It did not see the mark when its poll began. */
static enum skua_poll run_then_wait(struct skua_task *self)
{
	struct holder *it = (struct holder *)self;
	bool cancelled = skua_task_cancelled(self);

	gate_open(&it->running);
	gate_wait(&it->go_on);
	return cancelled ? SKUA_DONE : SKUA_PENDING;
}

TEST(shutdown_cancel__running__polled_again_with_the_mark)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct holder it = { .task = SKUA_TASK_INIT(run_then_wait) };

	holder_hold(rt, &it);
	assert_int_equal(
		skua_runtime_shutdown(rt, SOON_NS, SKUA_SHUTDOWN_CANCEL),
		-ETIMEDOUT);
	gate_open(&it.go_on);
	shutdown_now(rt, SKUA_SHUTDOWN_RUN);
	join(&it.task);
	destroy(rt);
}

/* ---- destroy until --------------------------------------------------------- */

TEST(destroy_until__null_or_no_such_way__einval_and_says_so)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct skua_error err = { 0 };

	assert_int_equal(
		skua_runtime_destroy_until(NULL, 0, SKUA_SHUTDOWN_RUN, &err),
		-EINVAL);
	assert_int_equal(err.code, -EINVAL);
	assert_int_equal(skua_runtime_destroy_until(rt, SKUA_FOREVER_NS,
						    (enum skua_shutdown)2,
						    NULL),
			 -EINVAL);
	destroy(rt);
}

TEST(destroy_until__nothing_left__0_also_at_a_past_deadline)
{
	const uint64_t deadlines_ns[] = { 0, SKUA_FOREVER_NS };

	for (unsigned n = 0; n < 2; n++)
		assert_int_equal(skua_runtime_destroy_until(
					 runtime_new(2, 0), deadlines_ns[n],
					 SKUA_SHUTDOWN_RUN, NULL),
				 0);
}

TEST(destroy_until__deadline__etimedout_and_runtime_lives_on)
{
	const unsigned flags[] = { 0, SKUA_CALLER_DRIVEN };

	for (unsigned n = 0; n < 2; n++) {
		struct skua_runtime *rt = runtime_new(1, flags[n]);
		uint64_t deadline_ns = skua_now_ns() + SOON_NS;
		struct waiter it = WAITER_INIT;
		struct skua_error err = { 0 };

		spawn(rt, &it.task);
		assert_int_equal(skua_runtime_destroy_until(rt, deadline_ns,
							    SKUA_SHUTDOWN_RUN,
							    &err),
				 -ETIMEDOUT);
		assert_true(skua_now_ns() >= deadline_ns);
		assert_int_equal(err.code, -ETIMEDOUT);
		assert_non_null(strstr(err.text, "1 task is left"));
		assert_int_equal(skua_runtime_destroy_until(
					 rt, 0, SKUA_SHUTDOWN_RUN, NULL),
				 -ETIMEDOUT);
		/* The tasks left can be cancelled and awaited. */
		assert_int_equal(skua_task_cancel(&it.task), 0);
		assert_int_equal(skua_runtime_destroy_until(rt, SKUA_FOREVER_NS,
							    SKUA_SHUTDOWN_RUN,
							    NULL),
				 0);
		assert_int_equal(atomic_load_relaxed(&it.cancelled), 1);
		join(&it.task);
	}
}

TEST(destroy_until__cancel_after_a_timeout__cancels)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct counter it = { .task = SKUA_TASK_INIT(yield_until_cancelled) };

	spawn(rt, &it.task);
	assert_int_equal(skua_runtime_destroy_until(rt, skua_now_ns() + SOON_NS,
						    SKUA_SHUTDOWN_RUN, NULL),
			 -ETIMEDOUT);
	assert_int_equal(skua_runtime_destroy_until(rt, SKUA_FOREVER_NS,
						    SKUA_SHUTDOWN_CANCEL, NULL),
			 0);
	join(&it.task);
}

TEST(destroy_until__gave_up__workers_still_run_tasks)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct waiter it = WAITER_INIT;

	waiter_start(rt, &it);
	assert_int_equal(
		skua_runtime_destroy_until(rt, 0, SKUA_SHUTDOWN_RUN, NULL),
		-ETIMEDOUT);
	waiter_end(&it);
	join(&it.task);
	destroy(rt);
}

/* ---- spawns ---------------------------------------------------------------- */

/* Holds the runtime open, and then spawns one. */
struct last_holder {
	struct holder holder; /* first: a task is its last_holder */
	struct counter child;
	int code;
};

static enum skua_poll hold_then_spawn(struct skua_task *self)
{
	struct last_holder *it = (struct last_holder *)self;

	holder_poll(self);
	it->code = skua_task_spawn(runtime_of_task(self), &it->child.task);
	return SKUA_DONE;
}

TEST(shutdown__begun__eshutdown_outside_but_not_inside)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct skua_runtime *other = runtime_new(1, 0);
	struct counter counter = COUNTER_INIT;
	struct last_holder it = { .holder = HOLDER_INIT,
				  .child = COUNTER_INIT };

	it.holder.task.poll = hold_then_spawn;
	holder_hold(rt, &it.holder);
	assert_int_equal(skua_runtime_shutdown(rt, SOON_NS, SKUA_SHUTDOWN_RUN),
			 -ETIMEDOUT);
	assert_int_equal(skua_task_spawn(rt, &counter.task), -ESHUTDOWN);
	assert_int_equal(skua_task_spawn_on(rt, 0, &counter.task), -ESHUTDOWN);
	assert_int_equal(skua_runtime_block_on(rt, &counter.task), -ESHUTDOWN);
	gate_open(&it.holder.go_on);
	shutdown_now(rt, SKUA_SHUTDOWN_RUN);
	assert_int_equal(it.code, 0);
	assert_int_equal(it.child.polls, 1);
	join(&it.child.task);
	/* And for good. */
	assert_int_equal(skua_task_spawn(rt, &counter.task), -ESHUTDOWN);
	assert_int_equal(skua_task_spawn_on(rt, 0, &counter.task), -ESHUTDOWN);
	assert_int_equal(skua_runtime_block_on(rt, &counter.task), -ESHUTDOWN);
	assert_int_equal(counter.polls, 0);
	/* The task is the caller's as before. */
	assert_int_equal(skua_task_join(&counter.task), -EINVAL);
	assert_int_equal(skua_task_cancel(&counter.task), -EINVAL);
	spawn(other, &counter.task);
	join(&counter.task);
	destroy(rt);
	destroy(other);
}

/* ---- afterwards ------------------------------------------------------------ */

TEST(shutdown__done__0_again_and_the_rest_still_answers)
{
	struct skua_runtime *rt = runtime_new(3, 0);
	struct counter counter = COUNTER_INIT;
	struct skua_stats stats;

	spawn(rt, &counter.task);
	shutdown_now(rt, SKUA_SHUTDOWN_RUN);
	shutdown_now(rt, SKUA_SHUTDOWN_RUN);
	shutdown_now(rt, SKUA_SHUTDOWN_CANCEL);
	assert_int_equal(skua_runtime_shutdown(rt, 0, SKUA_SHUTDOWN_RUN), 0);
	assert_int_equal(skua_runtime_drain(rt), 0);
	assert_int_equal(skua_runtime_workers(rt), 3);
	assert_int_equal(skua_worker_index(rt), -ENOENT);
	assert_int_equal(skua_runtime_stats(rt, &stats), 0);
	assert_int_equal(stats.total.tasks_polled, 1);
	join(&counter.task);
	destroy(rt);
}

/* A task that was done before the end of its runtime. */
TEST(destroy__task_done_before__may_be_joined_or_detached)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct counter counters[3] = { COUNTER_INIT, COUNTER_INIT,
				       COUNTER_INIT };

	for (unsigned n = 0; n < 3; n++)
		spawn(rt, &counters[n].task);
	destroy(rt);
	assert_int_equal(skua_task_join(&counters[0].task), 0);
	assert_int_equal(skua_task_cancel(&counters[1].task), -EALREADY);
	assert_int_equal(skua_task_detach(&counters[2].task, NULL), 0);
}

TEST(destroy__task_done_before__its_waker_may_be_dropped)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct waiter it = WAITER_INIT;
	struct skua_waker waker;

	waiter_start(rt, &it);
	waker = skua_task_waker(&it.task);
	waiter_end(&it);
	destroy(rt);
	assert_int_equal(it.ends, 1);
	skua_waker_drop(waker);
	join(&it.task);
}

TEST(destroy__task_joined_before__may_be_asked)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct counter counter = COUNTER_INIT;

	spawn(rt, &counter.task);
	join(&counter.task);
	destroy(rt);
	assert_int_equal(skua_task_join(&counter.task), -EINVAL);
	assert_int_equal(skua_task_cancel(&counter.task), -EINVAL);
	rt = runtime_new(1, 0);
	spawn(rt, &counter.task);
	join(&counter.task);
	destroy(rt);
}

/* ---- block_on ---------------------------------------------------------------- */

static int block_on_in_poll(struct skua_task *self, void *arg)
{
	struct counter counter = COUNTER_INIT;

	(void)self;
	return skua_runtime_block_on(arg, &counter.task);
}

TEST(block_on__any_task__has_ended)
{
	struct skua_runtime *rt = runtime_new(2, 0);

	block_on_often(rt, 1000);
	destroy(rt);
}

TEST(block_on__refused__each_reason)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct counter counter = COUNTER_INIT;
	struct skua_task without_poll = SKUA_TASK_INIT(NULL);
	struct waiter it = WAITER_INIT;

	assert_int_equal(skua_runtime_block_on(NULL, &counter.task), -EINVAL);
	assert_int_equal(skua_runtime_block_on(rt, NULL), -EINVAL);
	assert_int_equal(skua_runtime_block_on(rt, &without_poll), -EINVAL);
	assert_int_equal(call_in_poll(rt, block_on_in_poll, rt), -EDEADLK);
	waiter_start(rt, &it);
	assert_int_equal(skua_runtime_block_on(rt, &it.task), -EALREADY);
	waiter_end(&it);
	join(&it.task);
	destroy(rt);
}

TEST(block_on__detached__ealready_and_not_spawned)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct counter counter = COUNTER_INIT;

	assert_int_equal(skua_task_detach(&counter.task, NULL), 0);
	assert_int_equal(skua_runtime_block_on(rt, &counter.task), -EALREADY);
	destroy(rt);
	assert_int_equal(counter.polls, 0);
}
