/* SPDX-License-Identifier: MIT */
/* test_blocking_calls.c - functions that run on the pool of threads for calls that block */
#include "tests/unit/blocking_calls.h"

ALL_TESTS(process_settle, NULL);

/* ---- calls -------------------------------------------------------------- */

TEST(call__null__einval)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct job job = JOB_INIT(NULL);

	assert_int_equal(skua_blocking_call(NULL, &job.call, 0), -EINVAL);
	assert_int_equal(skua_blocking_call(rt, NULL, 0), -EINVAL);
	assert_int_equal(skua_blocking_call(rt, &job.call, 0), -EINVAL);
	assert_int_equal(skua_blocking_start(NULL, &job.call, 0), -EINVAL);
	assert_int_equal(skua_blocking_poll(NULL, &job.call, 0), -EINVAL);
	assert_int_equal(skua_blocking_poll(NULL, NULL, 0), -EINVAL);
	destroy(rt);
}

TEST(call__by_fiber_or_thread__runs_on_a_thread_of_the_pool)
{
	struct belongings before = belongings();
	struct skua_runtime *rt = runtime_new(1, 0);

	assert_int_equal(figures(rt).threads, 0);
	for (unsigned fiber = 0; fiber < 2; fiber++) {
		struct job job = JOB_INIT(run_job);

		job.rt = rt;
		assert_int_equal(user_run(rt, fiber, call_it, &job), 0);
		assert_int_equal(job.runs, 1);
		assert_int_not_equal(job.thread, gettid());
		assert_string_equal(job.name, "skua-block");
	}
	assert_int_equal(figures(rt).threads, 1);
	assert_int_equal(figures(rt).queued, 0);
	end(rt, before);
}

/* On one worker: the second fiber runs only if the first holds up nobody. */
static int open_gate(struct user *it)
{
	gate_open(it->object);
	return 0;
}

TEST(call__that_blocks__worker_is_free)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct job job = JOB_INIT(run_held);
	struct user first = { .number = 0 };

	job.rt = rt;
	user_start(&first, rt, true, call_it, &job);
	gate_wait(&job.begun);
	assert_int_equal(user_run(rt, true, open_gate, &job.go_on), 0);
	assert_int_equal(user_end(&first), 0);
	destroy(rt);
}

static void run_nested(struct skua_blocking *self)
{
	struct job *it = (struct job *)self;
	struct job inner = JOB_INIT(run_job);

	run_job(self);
	it->code = skua_blocking_call(it->rt, &inner.call, 0);
	it->code |= inner.runs == 1 && inner.thread == gettid() ? 0 : -1;
}

TEST(call__by_a_call__runs_directly)
{
	struct skua_runtime *rt = RUNTIME(.workers = 1, .blocking_threads = 1);
	struct job job = JOB_INIT(run_nested);

	job.rt = rt;
	assert_int_equal(user_run(rt, true, call_it, &job), 0);
	assert_int_equal(job.code, 0);
	destroy(rt);
}

static enum skua_poll call_by_poll(struct skua_task *self)
{
	struct holder *holder = (struct holder *)self;
	struct job job = JOB_INIT(run_job);

	job.rt = skua_task_runtime(self);
	assert_int_equal(skua_blocking_call(job.rt, &job.call, FOREVER_NS),
			 -EDEADLK);
	assert_int_equal(job.runs, 0);
	gate_open(&holder->running);
	return SKUA_DONE;
}

static void call_in_run(struct skua_ctx ctx, void *arg)
{
	struct job *job = arg;

	(void)ctx;
	job->code = skua_blocking_call(job->rt, &job->call, FOREVER_NS);
}

TEST(call__in_poll_or_run__edeadlk)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct holder holder = { .task = SKUA_TASK_INIT(call_by_poll) };
	struct job job = JOB_INIT(run_job);

	spawn(rt, &holder.task);
	join(&holder.task);
	job.rt = rt;
	assert_int_equal(skua_run(rt, call_in_run, &job), 0);
	assert_int_equal(job.code, -EDEADLK);
	assert_int_equal(job.runs, 0);
	destroy(rt);
}

static void run_destroy(struct skua_blocking *self)
{
	struct job *it = (struct job *)self;

	it->runs++;
	it->code = skua_runtime_destroy(it->rt);
}

TEST(destroy__in_a_call__edeadlk)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct job job = JOB_INIT(run_destroy);

	job.rt = rt;
	assert_int_equal(user_run(rt, false, call_it, &job), 0);
	assert_int_equal(job.code, -EDEADLK);
	destroy(rt);
}

/* ---- bounds ------------------------------------------------------------- */

#define CALLERS 10

TEST(calls__more_than_threads__queued_in_their_order)
{
	struct belongings before = belongings();
	struct skua_runtime *rt = RUNTIME(.workers = 2, .blocking_threads = 1,
					  .blocking_queued = CALLERS / 2);
	struct job jobs[CALLERS];
	struct user users[CALLERS] = { 0 };

	atomic_store_relaxed(&begun, 0);
	for (unsigned i = 0; i < CALLERS; i++) {
		jobs[i] = (struct job)JOB_INIT(run_held);
		jobs[i].rt = rt;
		user_start(&users[i], rt, i % 2, call_it, &jobs[i]);
		if (i == 0)
			gate_wait(&jobs[0].begun);
		else if (i <= CALLERS / 2)
			wait_for_queue(rt, i, 0);
		else
			wait_for_queue(rt, CALLERS / 2, i - CALLERS / 2);
	}
	assert_int_equal(figures(rt).threads, 1);
	assert_int_equal(figures(rt).running, 1);
	assert_int_equal(figures(rt).max_threads, 1);
	assert_int_equal(figures(rt).max_queued, CALLERS / 2);
	for (unsigned i = 0; i < CALLERS; i++) {
		gate_wait(&jobs[i].begun);
		gate_open(&jobs[i].go_on);
		assert_int_equal(user_end(&users[i]), 0);
		assert_int_equal(jobs[i].order, i);
	}
	end(rt, before);
}

TEST(calls__up_to_the_limit__run_at_the_same_time)
{
	struct skua_runtime *rt =
		RUNTIME(.workers = 1, .blocking_threads = CALLERS);
	struct job jobs[CALLERS];
	struct user users[CALLERS] = { 0 };

	for (unsigned i = 0; i < CALLERS; i++) {
		jobs[i] = (struct job)JOB_INIT(run_held);
		jobs[i].rt = rt;
		user_start(&users[i], rt, true, call_it, &jobs[i]);
	}
	for (unsigned i = 0; i < CALLERS; i++)
		gate_wait(&jobs[i].begun);
	assert_int_equal(figures(rt).running, CALLERS);
	for (unsigned i = 0; i < CALLERS; i++) {
		gate_open(&jobs[i].go_on);
		assert_int_equal(user_end(&users[i]), 0);
	}
	assert_int_equal(figures(rt).threads, CALLERS);
	destroy(rt);
}

/* ---- deadlines and cancels ---------------------------------------------- */

TEST(call__deadline_while_queued__etimedout_and_not_run)
{
	struct busy busy;

	busy_begin(&busy);
	for (unsigned i = 0; i < 4; i++) {
		struct job job = JOB_INIT(run_job);

		job.rt = busy.rt;
		job.deadline_ns = i < 2 ? skua_now_ns() + 1000000 : 0;
		assert_int_equal(user_run(busy.rt, i % 2, call_it, &job),
				 -ETIMEDOUT);
		assert_int_equal(job.runs, 0);
		assert_int_equal(figures(busy.rt).queued, 0);
	}
	busy_end(&busy);
}

/* The wait for a place, too. The one behind gets it, and then runs. */
TEST(call__deadline_while_it_has_no_place__next_moves_up)
{
	struct busy busy;
	struct job jobs[3];
	struct user users[3] = { 0 };

	busy_begin(&busy);
	for (unsigned i = 0; i < 3; i++) {
		jobs[i] = (struct job)JOB_INIT(run_job);
		jobs[i].rt = busy.rt;
		if (i == 1)
			jobs[i].deadline_ns = skua_now_ns() + 1000000;
		user_start(&users[i], busy.rt, i % 2, call_it, &jobs[i]);
		wait_for_queue(busy.rt, 1, i == 2);
		if (i == 1)
			assert_int_equal(user_end(&users[1]), -ETIMEDOUT);
	}
	gate_open(&busy.first.go_on);
	assert_int_equal(user_end(&users[0]), 0);
	assert_int_equal(user_end(&users[2]), 0);
	assert_int_equal(jobs[1].runs, 0);
	busy_end(&busy);
}

static int call_until_over(struct user *it)
{
	struct job *job = it->object;
	int code = call_it(it);

	gate_open(&job->over);
	return code;
}

/* Begin a call that waits for the job's gate. Return: false if the deadline came first. */
static bool call_begins(struct job *job, struct user *user, bool fiber)
{
	job->deadline_ns = skua_now_ns() + 20000000;
	user_start(user, job->rt, fiber, call_until_over, job);
	while (!gate_is_open(&job->begun) && !gate_is_open(&job->over))
		sched_yield();
	if (gate_is_open(&job->begun))
		return true;
	assert_int_equal(user_end(user), -ETIMEDOUT);
	return false;
}

TEST(call__deadline_while_it_runs__waited_for)
{
	struct skua_runtime *rt = runtime_new(1, 0);

	for (unsigned fiber = 0; fiber < 2; fiber++) {
		struct user user = { .number = 0 };
		struct job job;

		do {
			job = (struct job)JOB_INIT(run_held);
			job.rt = rt;
			user = (struct user){ .number = 0 };
		} while (!call_begins(&job, &user, fiber));
		while (skua_now_ns() < job.deadline_ns)
			sched_yield();
		gate_open(&job.go_on);
		assert_int_equal(user_end(&user), 0);
	}
	destroy(rt);
}

TEST(call__fiber_cancelled__ecanceled_unless_it_runs)
{
	struct busy busy;
	struct job job = JOB_INIT(run_job);
	struct user user = { .number = 0 };

	busy_begin(&busy);
	job.rt = busy.rt;
	user_start(&user, busy.rt, true, call_it, &job);
	wait_for_queue(busy.rt, 1, 0);
	assert_int_equal(skua_task_cancel(&user.fiber.task), 0);
	assert_int_equal(user_end(&user), -ECANCELED);
	assert_int_equal(job.runs, 0);
	assert_int_equal(skua_task_cancel(&busy.user.fiber.task), 0);
	busy_end(&busy);
}
