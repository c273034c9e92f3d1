/* SPDX-License-Identifier: MIT */
/* test_blocking_polls.c - the same calls, begun by polls */
#include "tests/unit/blocking_calls.h"

ALL_TESTS(process_settle, NULL);

TEST(start__poll__runs)
{
	struct skua_runtime *rt = runtime_new(2, 0);
	struct caller it;

	for (unsigned i = 0; i < 100; i++) {
		caller_init(&it, run_job);
		spawn(rt, &it.task);
		join(&it.task);
		assert_int_equal(it.start, 0);
		assert_int_equal(it.again, 0);
		assert_int_equal(it.end, 0);
		assert_int_equal(it.late, -EINVAL);
		assert_int_equal(it.job.runs, 1);
	}
	assert_int_equal(skua_blocking_start(&it.task, &it.job.call, 0),
			 -EPERM);
	assert_int_equal(skua_blocking_poll(&it.task, &it.job.call, 0), -EPERM);
	destroy(rt);
}

TEST(start__queue_full__eagain_until_there_is_a_place)
{
	struct busy busy;
	struct caller first, second;

	busy_begin(&busy);
	caller_init(&first, run_held);
	caller_init(&second, run_job);
	spawn(busy.rt, &first.task);
	wait_for_queue(busy.rt, 1, 0);
	gate_wait(&first.started);
	spawn(busy.rt, &second.task);
	wait_for_queue(busy.rt, 1, 1);
	wait_until_waiting(&second.task);
	assert_false(gate_is_open(&second.started));
	gate_open(&busy.first.go_on);
	gate_wait(&second.started);
	gate_open(&first.job.go_on);
	join(&first.task);
	join(&second.task);
	assert_int_equal(first.end, 0);
	assert_int_equal(second.start, 0);
	assert_int_equal(second.end, 0);
	assert_int_equal(second.job.runs, 1);
	busy_end(&busy);
}

TEST(start__queue_full_until_deadline__etimedout)
{
	struct busy busy;
	struct caller first, second;

	busy_begin(&busy);
	caller_init(&first, run_job);
	caller_init(&second, run_job);
	spawn(busy.rt, &first.task);
	wait_for_queue(busy.rt, 1, 0);
	second.job.deadline_ns = skua_now_ns() + 1000000;
	spawn(busy.rt, &second.task);
	join(&second.task);
	assert_int_equal(second.start, -ETIMEDOUT);
	assert_int_equal(second.again, -ETIMEDOUT);
	assert_int_equal(second.job.runs, 0);
	gate_open(&busy.first.go_on);
	join(&first.task);
	busy_end(&busy);
}

TEST(poll__deadline_while_queued__etimedout_and_not_run)
{
	struct busy busy;
	struct caller it;

	busy_begin(&busy);
	caller_init(&it, run_job);
	it.deadline_ns = skua_now_ns() + 1000000;
	spawn(busy.rt, &it.task);
	join(&it.task);
	assert_int_equal(it.start, 0);
	assert_int_equal(it.end, -ETIMEDOUT);
	assert_int_equal(it.late, -EINVAL);
	assert_int_equal(it.job.runs, 0);
	busy_end(&busy);
}

TEST(wait_cancel__queued__not_run)
{
	struct busy busy;
	struct caller it;

	busy_begin(&busy);
	caller_init(&it, run_job);
	it.cancels = true;
	spawn(busy.rt, &it.task);
	join(&it.task);
	assert_int_equal(it.start, 0);
	assert_int_equal(it.cancel, 0);
	assert_int_equal(it.job.runs, 0);
	busy_end(&busy);
}

static enum skua_poll cancel_running(struct skua_task *self)
{
	struct caller *it = (struct caller *)self;

	if (!gate_is_open(&it->started)) {
		it->start = skua_blocking_start(self, &it->job.call, 0);
		it->start =
			skua_blocking_start(self, &it->job.call, FOREVER_NS);
		gate_open(&it->started);
		gate_wait(&it->job.begun);
		it->cancel = skua_wait_cancel(self, &it->job.call.wait);
		gate_open(&it->job.go_on);
	}
	it->end = skua_blocking_poll(self, &it->job.call, 0);
	return it->end == -EAGAIN ? SKUA_PENDING : SKUA_DONE;
}

TEST(wait_cancel__running__ealready_and_waited_for)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct caller it;

	caller_init(&it, run_held);
	it.task = (struct skua_task)SKUA_TASK_INIT(cancel_running);
	spawn(rt, &it.task);
	join(&it.task);
	assert_int_equal(it.start, 0);
	assert_int_equal(it.cancel, -EALREADY);
	assert_int_equal(it.end, 0);
	destroy(rt);
}
