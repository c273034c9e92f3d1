/* SPDX-License-Identifier: MIT */
/* test_fork_checks.c - mistakes with forks end a program that is checked */
#define SKUA_FORK_CHECKS 1

#include <pthread.h>

#include "tests/unit/fib.h"
#include "tests/unit/tasks.h"

static void tally_run(struct skua_ctx ctx, struct skua_job *job)
{
	(void)ctx;
	(void)job;
}

static struct skua_job job = { tally_run }, other = { tally_run };

/* Call a root that makes a mistake, in a runtime of its own. */
static void call_in_runtime(void (*root)(struct skua_ctx, void *))
{
	struct skua_runtime *rt = runtime_new(1, 0);

	skua_run(rt, root, NULL);
	destroy(rt);
}

static void fork_out_of_nowhere(void)
{
	skua_fork(skua_task_ctx(NULL), &job);
}

static void fork_nothing_root(struct skua_ctx ctx, void *arg)
{
	(void)arg;
	skua_fork(ctx, NULL);
}

static void fork_nothing(void)
{
	call_in_runtime(fork_nothing_root);
}

static void fork_no_function_root(struct skua_ctx ctx, void *arg)
{
	struct skua_job empty = { NULL };

	(void)arg;
	skua_fork(ctx, &empty);
}

static void fork_no_function(void)
{
	call_in_runtime(fork_no_function_root);
}

static void join_in_the_wrong_order_root(struct skua_ctx ctx, void *arg)
{
	struct skua_ctx inner = skua_fork(ctx, &job);

	(void)arg;
	skua_fork(inner, &other);
	skua_reclaim(inner, &job);
}

static void join_in_the_wrong_order(void)
{
	call_in_runtime(join_in_the_wrong_order_root);
}

static void join_another_root(struct skua_ctx ctx, void *arg)
{
	struct skua_ctx inner = skua_fork(ctx, &job);

	(void)arg;
	skua_reclaim(inner, &other);
}

static void join_another(void)
{
	call_in_runtime(join_another_root);
}

static void join_nothing_at_the_end_root(struct skua_ctx ctx, void *arg)
{
	(void)arg;
	skua_fork(ctx, &job);
}

static void join_nothing_at_the_end(void)
{
	call_in_runtime(join_nothing_at_the_end_root);
}

static void fork_twice_from_one_context_root(struct skua_ctx ctx, void *arg)
{
	(void)arg;
	skua_fork(ctx, &job);
	skua_fork(ctx, &other);
}

static void fork_twice_from_one_context(void)
{
	call_in_runtime(fork_twice_from_one_context_root);
}

static void *fork_elsewhere(void *arg)
{
	skua_fork(*(struct skua_ctx *)arg, &job);
	return NULL;
}

static void fork_on_another_thread_root(struct skua_ctx ctx, void *arg)
{
	pthread_t thread;

	(void)arg;
	pthread_create(&thread, NULL, fork_elsewhere, &ctx);
	pthread_join(thread, NULL);
}

static void fork_on_another_thread(void)
{
	call_in_runtime(fork_on_another_thread_root);
}

static void fork_for_ever_root(struct skua_ctx ctx, void *arg)
{
	(void)arg;
	for (;;)
		ctx = skua_fork(ctx, &job);
}

static void fork_for_ever(void)
{
	call_in_runtime(fork_for_ever_root);
}

static void check__a_mistake__aborts(void **state)
{
	static void (*const mistakes[])(void) = {
		fork_out_of_nowhere,
		fork_nothing,
		fork_no_function,
		join_in_the_wrong_order,
		join_another,
		join_nothing_at_the_end,
		fork_twice_from_one_context,
		fork_on_another_thread,
		fork_for_ever,
	};

	(void)state;
	for (unsigned i = 0; i < COUNT_OF(mistakes); i++) {
		if (!aborts(mistakes[i]))
			fail_msg("mistake %u went unnoticed", i);
	}
}

static int fib_in_task(struct skua_task *self, void *arg)
{
	fib_root(skua_task_ctx(self), arg);
	return 0;
}

static void check__no_mistake__right(void **state)
{
	(void)state;
	for (unsigned workers = 1; workers <= 3; workers++) {
		struct skua_runtime *rt = runtime_new(workers, 0);
		struct fib_call call = { .n = 15 };

		for (unsigned i = 0; i < 20; i++) {
			assert_int_equal(skua_run(rt, fib_root, &call), 0);
			assert_int_equal(call.result, 610);
			assert_int_equal(call_in_poll(rt, fib_in_task, &call),
					 0);
			assert_int_equal(call.result, 610);
		}
		destroy(rt);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(check__a_mistake__aborts),
		cmocka_unit_test(check__no_mistake__right),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
