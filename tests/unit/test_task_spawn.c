/* SPDX-License-Identifier: MIT */
/* test_task_spawn.c - initialise and spawn; allowed callers */
#include "core/runtime/runtime.h"
#include "tests/unit/tasks.h"

/* ---- initialisation ----------------------------------------------------- */

TEST(task_init__null__einval)
{
	struct skua_task task;

	assert_int_equal(skua_task_init(NULL, count_poll), -EINVAL);
	assert_int_equal(skua_task_init(&task, NULL), -EINVAL);
	assert_int_equal(skua_task_init(NULL, NULL), -EINVAL);
}

TEST(task_init__used_memory__equals_the_initialiser)
{
	struct skua_task by_macro = SKUA_TASK_INIT(count_poll);
	struct skua_task by_call;

	memset(&by_call, 0xa5, sizeof(by_call));
	assert_int_equal(skua_task_init(&by_call, count_poll), 0);
	assert_memory_equal(&by_call, &by_macro, sizeof(by_call));
}

/* ---- spawn -------------------------------------------------------------- */

TEST(task_spawn__null_or_no_poll__einval)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct counter counter = COUNTER_INIT;
	struct skua_task without_poll = SKUA_TASK_INIT(NULL);

	assert_int_equal(skua_task_spawn(NULL, &counter.task), -EINVAL);
	assert_int_equal(skua_task_spawn(rt, NULL), -EINVAL);
	assert_int_equal(skua_task_spawn(rt, &without_poll), -EINVAL);
	spawn(rt, &counter.task); /* still as it was initialised */
	assert_int_equal(skua_runtime_destroy(rt), 0);
	assert_int_equal(counter.polls, 1);
}

TEST(task_spawn__queued_running_or_not_joined__ealready)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct counter counter = COUNTER_INIT;
	struct holder holder = HOLDER_INIT;

	holder_hold(rt, &holder);
	spawn(rt, &counter.task);
	assert_int_equal(skua_task_spawn(rt, &counter.task), -EALREADY);
	assert_int_equal(skua_task_spawn(rt, &holder.task), -EALREADY);
	holder_end(&holder);
	assert_int_equal(skua_runtime_drain(rt), 0);
	assert_int_equal(skua_task_spawn(rt, &counter.task), -EALREADY);
	assert_int_equal(counter.polls, 1);
	assert_int_equal(skua_task_join(&counter.task), 0);
	spawn(rt, &counter.task);
	assert_int_equal(skua_task_join(&counter.task), 0);
	assert_int_equal(counter.polls, 2);
	assert_int_equal(skua_runtime_destroy(rt), 0);
}

TEST(task_spawn__after_join__runs_again_each_time)
{
	struct skua_runtime *rt = runtime_new(2, 0);
	struct counter counter = COUNTER_INIT;

	for (unsigned n = 1; n <= 2000; n++) {
		spawn(rt, &counter.task);
		assert_int_equal(skua_task_join(&counter.task), 0);
		assert_int_equal(counter.polls, n);
	}
	assert_int_equal(skua_runtime_destroy(rt), 0);
}

TEST(task_spawn__after_drain_and_init__runs_again)
{
	struct skua_runtime *rt = runtime_new(2, 0);
	struct counter counter = COUNTER_INIT;

	for (unsigned n = 1; n <= 200; n++) {
		assert_int_equal(skua_task_init(&counter.task, count_poll), 0);
		spawn(rt, &counter.task);
		assert_int_equal(skua_runtime_drain(rt), 0);
		assert_int_equal(counter.polls, n);
	}
	assert_int_equal(skua_runtime_destroy(rt), 0);
}

TEST(task_spawn__on_another_runtime_after_join__runs)
{
	struct skua_runtime *a = runtime_new(1, 0);
	struct skua_runtime *b = runtime_new(1, 0);
	struct counter counter = COUNTER_INIT;

	spawn(a, &counter.task);
	assert_int_equal(skua_task_join(&counter.task), 0);
	spawn(b, &counter.task);
	assert_int_equal(skua_task_join(&counter.task), 0);
	assert_int_equal(counter.polls, 2);
	assert_int_equal(skua_runtime_destroy(a), 0);
	assert_int_equal(skua_runtime_destroy(b), 0);
}

/* Calls that a task tried on itself or the runtime, from inside its poll. */
struct prober {
	struct skua_task task; /* first: a task is its prober */
	struct skua_task *other;
	int codes[8];
};

static enum skua_poll spawn_itself(struct skua_task *self)
{
	struct prober *prober = (struct prober *)self;

	prober->codes[0] = skua_task_spawn(runtime_of_task(self), self);
	return SKUA_DONE;
}

TEST(task_spawn__by_the_running_task_itself__ealready)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct prober prober = { .task = SKUA_TASK_INIT(spawn_itself) };

	spawn(rt, &prober.task);
	assert_int_equal(skua_task_join(&prober.task), 0);
	assert_int_equal(prober.codes[0], -EALREADY);
	assert_int_equal(skua_runtime_destroy(rt), 0);
}

static struct skua_runtime *signalled_rt;
static struct counter signalled = COUNTER_INIT;
static int signalled_code;

static void spawn_from_handler(int signal)
{
	(void)signal;
	signalled_code = skua_task_spawn(signalled_rt, &signalled.task);
}

TEST(task_spawn__from_a_signal_handler__runs)
{
	const struct sigaction action = { .sa_handler = spawn_from_handler };
	struct sigaction before;

	signalled_rt = runtime_new(1, 0);
	assert_int_equal(sigaction(SIGUSR1, &action, &before), 0);
	for (unsigned n = 1; n <= 100; n++) {
		signalled_code = 1;
		assert_int_equal(raise(SIGUSR1), 0);
		assert_int_equal(signalled_code, 0);
		assert_int_equal(skua_task_join(&signalled.task), 0);
		assert_int_equal(signalled.polls, n);
	}
	assert_int_equal(sigaction(SIGUSR1, &before, NULL), 0);
	assert_int_equal(skua_runtime_destroy(signalled_rt), 0);
}

/* ---- threads that are no worker of the runtime -------------------------- */

/* From outside a worker's own thread, nothing of the worker is written. */
static void expect_untouched(struct skua_runtime *rt, uint64_t injected)
{
	struct worker *worker = rt->pool.workers[0];
	struct skua_stats stats;

	assert_false(lifo_slot_peek(&worker->lifo));
	assert_int_equal(local_queue_length(worker->queue), 0);
	assert_int_equal(atomic_load_relaxed(&worker->queue->tail), 0);
	assert_int_equal(skua_runtime_stats(rt, &stats), 0);
	assert_int_equal(stats.injection_depth, injected);
	assert_int_equal(stats.total.tasks_spawned, 0);
	assert_int_equal(stats.tasks_spawned, 1 + injected); /* the holder */
}

TEST(task_spawn__by_an_outside_thread__is_injected)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct counter counters[5];
	struct holder holder = HOLDER_INIT;
	struct skua_stats stats;

	holder_hold(rt, &holder);
	for (unsigned n = 0; n < 5; n++) {
		counters[n] = (struct counter)COUNTER_INIT;
		spawn(rt, &counters[n].task);
		expect_untouched(rt, n + 1);
	}
	holder_end(&holder);
	assert_int_equal(skua_runtime_drain(rt), 0);
	for (unsigned n = 0; n < 5; n++)
		assert_int_equal(counters[n].polls, 1);
	assert_int_equal(skua_runtime_stats(rt, &stats), 0);
	assert_int_equal(stats.total.lifo_hits, 0);
	assert_int_equal(stats.total.tasks_spawned, 0);
	assert_int_equal(skua_runtime_destroy(rt), 0);
}

/* Spawns its counters on a runtime that is not its own. */
struct envoy {
	struct skua_task task; /* first: a task is its envoy */
	struct skua_runtime *target;
	struct counter counters[5];
	int codes;
};

static enum skua_poll envoy_poll(struct skua_task *self)
{
	struct envoy *envoy = (struct envoy *)self;

	for (unsigned n = 0; n < COUNT_OF(envoy->counters); n++)
		envoy->codes |= skua_task_spawn(envoy->target,
						&envoy->counters[n].task);
	return SKUA_DONE;
}

TEST(task_spawn__by_another_runtimes_worker__is_injected)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct skua_runtime *home = runtime_new(1, 0);
	struct holder holder = HOLDER_INIT;
	struct envoy envoy = { .task = SKUA_TASK_INIT(envoy_poll),
			       .target = rt };
	struct skua_stats stats;

	for (unsigned n = 0; n < 5; n++)
		envoy.counters[n] = (struct counter)COUNTER_INIT;
	holder_hold(rt, &holder);
	spawn(home, &envoy.task);
	assert_int_equal(skua_task_join(&envoy.task), 0);
	assert_int_equal(envoy.codes, 0);
	expect_untouched(rt, 5);
	expect_untouched(home, 0); /* its "holder" is the envoy */
	holder_end(&holder);
	assert_int_equal(skua_runtime_drain(rt), 0);
	for (unsigned n = 0; n < 5; n++)
		assert_int_equal(envoy.counters[n].polls, 1);
	assert_int_equal(skua_runtime_stats(rt, &stats), 0);
	assert_int_equal(stats.total.lifo_hits, 0);
	assert_int_equal(skua_runtime_destroy(home), 0);
	assert_int_equal(skua_runtime_destroy(rt), 0);
}

/* ---- misuse ------------------------------------------------------------- */

#ifndef NDEBUG
static enum skua_poll poll_nonsense(struct skua_task *self)
{
	(void)self;
	return (enum skua_poll)3;
}

static void run_a_task_that_returns_3(void)
{
	const struct skua_config cfg = { .size = sizeof(cfg), .workers = 1 };
	static struct skua_task task = SKUA_TASK_INIT(poll_nonsense);
	struct skua_runtime *rt;

	if (skua_runtime_create(&rt, &cfg, NULL) == 0 &&
	    skua_task_spawn(rt, &task) == 0)
		skua_runtime_destroy(rt);
}
#endif

TEST(task_poll__returns_no_known_value__asserts)
{
#ifdef NDEBUG
	skip_aloud(NO_ASSERTS);
#else
	assert_true(aborts(run_a_task_that_returns_3));
#endif
}
