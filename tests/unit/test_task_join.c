/* SPDX-License-Identifier: MIT */
/* test_task_join.c - wait for a task from outside */
#include <pthread.h>

#include "tests/unit/tasks.h"

/* Calls that a task tried on itself or the runtime, from inside its poll. */
struct prober {
	struct skua_task task; /* first: a task is its prober */
	struct skua_task *other;
	int codes[8];
};

/* ---- join --------------------------------------------------------------- */

TEST(task_join__null_or_never_spawned__einval)
{
	struct counter counter = COUNTER_INIT;

	assert_int_equal(skua_task_join(NULL), -EINVAL);
	assert_int_equal(skua_task_join(&counter.task), -EINVAL);
	assert_int_equal(skua_task_join(&counter.task), -EINVAL);
}

TEST(task_join__joined_already__einval)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct counter counter = COUNTER_INIT;

	spawn(rt, &counter.task);
	assert_int_equal(skua_task_join(&counter.task), 0);
	/* As if it had never been spawned. */
	assert_int_equal(skua_task_join(&counter.task), -EINVAL);
	assert_int_equal(skua_runtime_destroy(rt), 0);
}

TEST(task_join__before_the_task_runs__returns_after_it)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct counter counter = COUNTER_INIT;
	struct holder holder = HOLDER_INIT;
	struct joiner joiner = { .task = &counter.task };

	holder_hold(rt, &holder);
	spawn(rt, &counter.task);
	joiner_start(&joiner);
	assert_int_equal(counter.polls, 0);
	holder_end(&holder);
	joiner_end(&joiner);
	assert_int_equal(counter.polls, 1);
	assert_int_equal(skua_runtime_destroy(rt), 0);
}

TEST(task_join__while_the_task_runs__returns_after_it)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct holder holder = HOLDER_INIT;
	struct joiner joiner = { .task = &holder.task };

	holder_hold(rt, &holder);
	joiner_start(&joiner);
	assert_true(state_of(&holder.task) & TASK_ACTIVE);
	gate_open(&holder.go_on);
	joiner_end(&joiner);
	assert_int_equal(state_of(&holder.task), TASK_IDLE);
	assert_int_equal(skua_runtime_destroy(rt), 0);
}

TEST(task_join__after_the_task_ended__returns_at_once)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct counter counter = COUNTER_INIT;

	spawn(rt, &counter.task);
	wait_for_state(&counter.task, TASK_COMPLETE);
	assert_int_equal(skua_task_join(&counter.task), 0);
	assert_int_equal(counter.polls, 1);
	assert_int_equal(skua_runtime_destroy(rt), 0);
}

TEST(task_join__runtime_destroyed_meanwhile__returns_0)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct counter counter = COUNTER_INIT;

	spawn(rt, &counter.task);
	assert_int_equal(skua_runtime_destroy(rt), 0);
	assert_int_equal(skua_task_join(&counter.task), 0);
	assert_int_equal(counter.polls, 1);
}

TEST(task_join__second_joiner__ealready)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct holder holder = HOLDER_INIT;
	struct joiner joiner = { .task = &holder.task };

	holder_hold(rt, &holder);
	joiner_start(&joiner);
	assert_int_equal(skua_task_join(&holder.task), -EALREADY);
	assert_int_equal(skua_task_detach(&holder.task, NULL), -EALREADY);
	gate_open(&holder.go_on);
	joiner_end(&joiner);
	assert_int_equal(skua_runtime_destroy(rt), 0);
}

TEST(task_join__detached__ealready)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct holder holder = HOLDER_INIT;

	holder_hold(rt, &holder);
	assert_int_equal(skua_task_detach(&holder.task, NULL), 0);
	assert_int_equal(skua_task_join(&holder.task), -EALREADY);
	gate_open(&holder.go_on);
	assert_int_equal(skua_runtime_drain(rt), 0);
	assert_int_equal(skua_task_join(&holder.task), -EALREADY);
	assert_int_equal(skua_runtime_destroy(rt), 0);
}

static enum skua_poll join_others(struct skua_task *self)
{
	struct prober *prober = (struct prober *)self;

	prober->codes[0] = skua_task_join(prober->other);
	prober->codes[1] = skua_task_join(self);
	prober->codes[2] = skua_task_join(NULL);
	return SKUA_DONE;
}

TEST(task_join__inside_a_poll__edeadlk)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct skua_runtime *other = runtime_new(1, 0);
	struct counter counter = COUNTER_INIT;
	struct prober prober = { .task = SKUA_TASK_INIT(join_others),
				 .other = &counter.task };

	spawn(other, &counter.task);
	spawn(rt, &prober.task);
	assert_int_equal(skua_task_join(&prober.task), 0);
	assert_int_equal(prober.codes[0], -EDEADLK);
	assert_int_equal(prober.codes[1], -EDEADLK);
	assert_int_equal(prober.codes[2], -EINVAL);
	/* The refused join left no mark. */
	assert_int_equal(skua_task_join(&counter.task), 0);
	assert_int_equal(skua_runtime_destroy(rt), 0);
	assert_int_equal(skua_runtime_destroy(other), 0);
}

/* The end of the task and the join of it meet at every moment. */
TEST(task_join__many_beside_their_end__each_returns)
{
	struct skua_runtime *rt = runtime_new(2, 0);
	struct counter counters[16];

	for (unsigned c = 0; c < 16; c++)
		counters[c] = (struct counter)COUNTER_INIT;
	for (unsigned n = 1; n <= 500; n++) {
		for (unsigned c = 0; c < 16; c++)
			spawn(rt, &counters[c].task);
		for (unsigned c = 0; c < 16; c++) {
			assert_int_equal(skua_task_join(&counters[c].task), 0);
			assert_int_equal(counters[c].polls, n);
		}
	}
	assert_int_equal(skua_runtime_destroy(rt), 0);
}

static struct skua_task *released;

static void note_release(struct skua_task *task)
{
	released = task;
}

/* ---- join_until ------------------------------------------------------------- */

TEST(task_join_until__bad_arguments__as_join)
{
	struct counter counter = COUNTER_INIT;

	assert_int_equal(skua_task_join_until(NULL, UINT64_MAX), -EINVAL);
	assert_int_equal(skua_task_join_until(&counter.task, 0), -EINVAL);
}

TEST(task_join_until__ended__0_whatever_the_deadline)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct counter counter = COUNTER_INIT;

	for (uint64_t deadline = 0; deadline < 2; deadline++) {
		spawn(rt, &counter.task);
		wait_until_done(&counter.task);
		assert_int_equal(skua_task_join_until(&counter.task, deadline),
				 0);
	}
	spawn(rt, &counter.task);
	assert_int_equal(skua_task_join_until(&counter.task, UINT64_MAX), 0);
	assert_int_equal(skua_runtime_destroy(rt), 0);
}

TEST(task_join_until__time_is_over__may_be_joined_again)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct counter counter = COUNTER_INIT;
	struct holder holder = HOLDER_INIT;
	uint64_t before_ns;

	holder_hold(rt, &holder);
	spawn(rt, &counter.task);
	for (unsigned i = 0; i < 100; i++)
		assert_int_equal(skua_task_join_until(&counter.task, 0),
				 -ETIMEDOUT);
	before_ns = skua_now_ns();
	assert_int_equal(
		skua_task_join_until(&counter.task, before_ns + 1000000),
		-ETIMEDOUT);
	assert_true(skua_now_ns() >= before_ns + 1000000);
	holder_end(&holder);
	assert_int_equal(skua_task_join(&counter.task), 0);
	assert_int_equal(counter.polls, 1);
	/* Nothing is left of it: the task is as new. */
	spawn(rt, &counter.task);
	assert_int_equal(skua_task_join(&counter.task), 0);
	assert_int_equal(skua_runtime_destroy(rt), 0);
}

TEST(task_join_until__time_is_over__may_be_detached)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct counter counter = COUNTER_INIT;
	struct holder holder = HOLDER_INIT;

	holder_hold(rt, &holder);
	spawn(rt, &counter.task);
	assert_int_equal(skua_task_join_until(&counter.task, 0), -ETIMEDOUT);
	released = NULL;
	assert_int_equal(skua_task_detach(&counter.task, note_release), 0);
	assert_int_equal(skua_task_join_until(&counter.task, 0), -EALREADY);
	holder_end(&holder);
	assert_int_equal(skua_runtime_drain(rt), 0);
	assert_ptr_equal(released, &counter.task);
	assert_int_equal(skua_runtime_destroy(rt), 0);
}

/* Each end meets a joiner that gives up, or is about to. */
TEST(task_join_until__beside_the_end__joined_once)
{
	struct skua_runtime *rt = runtime_new(2, 0);
	unsigned timeouts = 0;

	for (unsigned i = 0; i < 20000; i++) {
		struct counter counter = COUNTER_INIT;
		int code;

		spawn(rt, &counter.task);
		while ((code = skua_task_join_until(
				&counter.task, skua_now_ns() + i % 4096)) !=
		       0) {
			assert_int_equal(code, -ETIMEDOUT);
			timeouts++;
		}
		assert_int_equal(counter.polls, 1);
	}
	assert_true(timeouts > 0);
	assert_int_equal(skua_runtime_destroy(rt), 0);
}
