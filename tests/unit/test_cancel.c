/* SPDX-License-Identifier: MIT */
/* test_cancel.c - ask a task to end: in each of its states */
#include "tests/unit/tasks.h"

/* ---- refused ------------------------------------------------------------- */

TEST(task_cancel__null_or_never_spawned__einval)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct counter counter = COUNTER_INIT;

	assert_int_equal(skua_task_cancel(NULL), -EINVAL);
	assert_int_equal(skua_task_cancel(&counter.task), -EINVAL);
	assert_false(skua_task_cancelled(&counter.task));
	/* As if it had never been spawned. */
	spawn(rt, &counter.task);
	join(&counter.task);
	assert_int_equal(skua_task_cancel(&counter.task), -EINVAL);
	destroy(rt);
}

TEST(task_cancelled__null_or_not_asked__false)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct waiter it = WAITER_INIT;

	assert_false(skua_task_cancelled(NULL));
	waiter_start(rt, &it);
	assert_false(skua_task_cancelled(&it.task));
	assert_int_equal(skua_task_cancel(&it.task), 0);
	assert_true(skua_task_cancelled(&it.task));
	join(&it.task);
	assert_false(skua_task_cancelled(&it.task));
	destroy(rt);
}

TEST(task_cancel__done_not_joined__ealready)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct counter counter = COUNTER_INIT;

	spawn(rt, &counter.task);
	wait_until_done(&counter.task);
	assert_int_equal(skua_task_cancel(&counter.task), -EALREADY);
	join(&counter.task);
	assert_int_equal(counter.polls, 1);
	destroy(rt);
}

TEST(task_cancel__done_with_a_waker_left__ealready)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct waiter it = WAITER_INIT;
	struct skua_waker waker;

	waiter_start(rt, &it);
	waker = skua_task_waker(&it.task);
	gate_open(&it.end);
	skua_waker_wake_by_ref(waker);
	wait_until_done(&it.task);
	assert_int_equal(skua_task_cancel(&it.task), -EALREADY);
	skua_waker_drop(waker);
	join(&it.task);
	assert_int_equal(it.ends, 1);
	destroy(rt);
}

/* ---- in each state ------------------------------------------------------- */

TEST(task_cancel__idle_task__its_join_ends)
{
	struct skua_runtime *rt = runtime_new(2, 0);

	for (unsigned n = 0; n < 500; n++) {
		struct waiter it = WAITER_INIT;

		waiter_start(rt, &it);
		assert_int_equal(skua_task_cancel(&it.task), 0);
		join(&it.task);
		assert_int_equal(waiter_polls(&it), 2);
		assert_int_equal(atomic_load_relaxed(&it.cancelled), 1);
	}
	destroy(rt);
}

TEST(task_cancel__never_polled__polled_once_with_the_mark)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct holder holder = HOLDER_INIT;
	struct waiter it = WAITER_INIT;

	holder_hold(rt, &holder);
	spawn(rt, &it.task);
	assert_int_equal(skua_task_cancel(&it.task), 0);
	assert_int_equal(skua_task_cancel(&it.task), 0);
	assert_int_equal(waiter_polls(&it), 0);
	holder_end(&holder);
	join(&it.task);
	assert_int_equal(waiter_polls(&it), 1);
	assert_int_equal(atomic_load_relaxed(&it.cancelled), 1);
	destroy(rt);
}

/* Holds its worker in the first poll, and waits if it did not see the mark
 * before. */
struct running {
	struct holder holder; /* first: a task is its running */
	unsigned polls;
	bool at_start[2]; /* was it cancelled when the poll began? */
	bool at_end[2];
};

static enum skua_poll running_poll(struct skua_task *self)
{
	struct running *it = (struct running *)self;
	unsigned poll = it->polls++;

	it->at_start[poll] = skua_task_cancelled(self);
	gate_open(&it->holder.running);
	gate_wait(&it->holder.go_on);
	it->at_end[poll] = skua_task_cancelled(self);
	return it->at_start[poll] ? SKUA_DONE : SKUA_PENDING;
}

TEST(task_cancel__during_a_poll__polled_again)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct running it = { .holder = HOLDER_INIT };

	it.holder.task.poll = running_poll;
	holder_hold(rt, &it.holder);
	for (unsigned n = 0; n < 10; n++)
		assert_int_equal(skua_task_cancel(&it.holder.task), 0);
	holder_end(&it.holder);
	assert_int_equal(it.polls, 2);
	assert_false(it.at_start[0]);
	assert_true(it.at_end[0] && it.at_start[1] && it.at_end[1]);
	destroy(rt);
}

TEST(task_cancel__yields_for_ever__ends)
{
	struct skua_runtime *rt = runtime_new(2, 0);
	struct counter it = { .task = SKUA_TASK_INIT(yield_until_cancelled) };

	for (unsigned n = 0; n < 200; n++) {
		spawn(rt, &it.task);
		assert_int_equal(skua_task_cancel(&it.task), 0);
		join(&it.task);
	}
	assert_true(it.polls >= 200);
	destroy(rt);
}

/* Nothing is taken from under a task that does not want to end. */
static enum skua_poll ignore_it(struct skua_task *self)
{
	struct waiter *it = (struct waiter *)self;

	atomic_fetch_add_release(&it->polls, 1);
	return gate_is_open(&it->end) ? SKUA_DONE : SKUA_PENDING;
}

TEST(task_cancel__task_does_not_care__goes_on_until_it_ends)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct waiter it = { .task = SKUA_TASK_INIT(ignore_it) };

	waiter_start(rt, &it);
	for (uint32_t polls = 2; polls < 20; polls++) {
		assert_int_equal(skua_task_cancel(&it.task), 0);
		while (waiter_polls(&it) < polls)
			sched_yield();
		wait_until_waiting(&it.task);
		assert_true(skua_task_cancelled(&it.task));
	}
	gate_open(&it.end);
	skua_waker_wake(skua_task_waker(&it.task));
	join(&it.task);
	destroy(rt);
}

TEST(task_cancel__spawned_again__not_cancelled)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct waiter it = WAITER_INIT;

	waiter_start(rt, &it);
	assert_int_equal(skua_task_cancel(&it.task), 0);
	join(&it.task);
	gate_open(&it.end);
	spawn(rt, &it.task);
	join(&it.task);
	assert_int_equal(atomic_load_relaxed(&it.cancelled), 0);
	assert_int_equal(it.ends, 2);
	destroy(rt);
}

/* ---- from where ---------------------------------------------------------- */

static int cancel_arg(struct skua_task *self, void *arg)
{
	return skua_task_cancel(arg ? arg : self);
}

TEST(task_cancel__by_a_task__ends)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct skua_runtime *other = runtime_new(1, 0);
	struct waiter it = WAITER_INIT;
	struct waiter second = WAITER_INIT;

	waiter_start(rt, &it);
	waiter_start(rt, &second);
	assert_int_equal(call_in_poll(rt, cancel_arg, &it.task), 0);
	join(&it.task);
	assert_int_equal(call_in_poll(other, cancel_arg, &second.task), 0);
	join(&second.task);
	/* A task may cancel itself, too. */
	assert_int_equal(call_in_poll(rt, cancel_arg, NULL), 0);
	destroy(rt);
	destroy(other);
}

static struct skua_task *signalled;
static int signalled_code;

static void cancel_from_handler(int signal)
{
	(void)signal;
	signalled_code = skua_task_cancel(signalled);
}

TEST(task_cancel__from_a_signal_handler__ends)
{
	const struct sigaction action = { .sa_handler = cancel_from_handler };
	struct skua_runtime *rt = runtime_new(1, 0);
	struct waiter it = WAITER_INIT;
	struct sigaction before;

	waiter_start(rt, &it);
	signalled = &it.task;
	signalled_code = 1;
	assert_int_equal(sigaction(SIGUSR1, &action, &before), 0);
	assert_int_equal(raise(SIGUSR1), 0);
	assert_int_equal(sigaction(SIGUSR1, &before, NULL), 0);
	assert_int_equal(signalled_code, 0);
	join(&it.task);
	destroy(rt);
}

/* The end of the task and the cancel meet at every moment. */
TEST(task_cancel__beside_the_end__0_or_ealready)
{
	struct skua_runtime *rt = runtime_new(2, 0);

	for (unsigned n = 0; n < 5000; n++) {
		struct counter counter = COUNTER_INIT;
		int code;

		spawn(rt, &counter.task);
		for (unsigned spins = n % 64; spins > 0; spins--)
			cpu_relax();
		code = skua_task_cancel(&counter.task);
		assert_true(code == 0 || code == -EALREADY);
		join(&counter.task);
		assert_int_equal(counter.polls, 1);
	}
	destroy(rt);
}
