/* SPDX-License-Identifier: MIT */
/* test_fork_checks.c - mistakes with forks end a program that is checked */
#define SKUA_FORK_CHECKS 1

#include <pthread.h>

#include "skua/parallel.h"
#include "skua/sort.h"
#include "tests/unit/fib.h"
#include "tests/unit/tasks.h"

static void tally_run(struct skua_ctx ctx, struct skua_job *job)
{
	(void)ctx;
	(void)job;
}

static struct skua_job job = { tally_run }, other = { tally_run };

/* Copies made by mistake are not read. */
static void reclaim(struct skua_ctx inner, const struct skua_job *of)
{
	if (skua_reclaim(inner, of))
		job.run(inner, &job);
}

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
	reclaim(inner, &job);
}

static void join_in_the_wrong_order(void)
{
	call_in_runtime(join_in_the_wrong_order_root);
}

static void join_another_root(struct skua_ctx ctx, void *arg)
{
	struct skua_ctx inner = skua_fork(ctx, &job);

	(void)arg;
	reclaim(inner, &other);
}

static void join_another(void)
{
	call_in_runtime(join_another_root);
}

static void join_without_a_fork_root(struct skua_ctx ctx, void *arg)
{
	(void)arg;
	reclaim(ctx, &job);
}

static void join_without_a_fork(void)
{
	call_in_runtime(join_without_a_fork_root);
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

/* The job that is joined, by another one's name, has been taken. */
static void join_another_that_was_taken_root(struct skua_ctx ctx, void *arg)
{
	struct skua_ctx inner = skua_fork(ctx, &job);

	(void)arg;
	while (__atomic_load_n(inner.head - 1, __ATOMIC_RELAXED) == &job)
		sched_yield();
	reclaim(inner, &other);
}

static void join_another_that_was_taken(void)
{
	struct skua_runtime *rt = runtime_new(2, 0);

	skua_run(rt, join_another_that_was_taken_root, NULL);
	destroy(rt);
}

static void keep_root(struct skua_ctx ctx, void *arg)
{
	*(struct skua_ctx *)arg = ctx;
}

static void fork_after_the_end(void)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct skua_ctx kept;

	skua_run(rt, keep_root, &kept);
	skua_fork(kept, &job);
	destroy(rt);
}

static int leave_a_job(struct skua_task *self, void *arg)
{
	(void)arg;
	skua_fork(skua_task_ctx(self), &job);
	return 0;
}

static int begin_anew(struct skua_task *self, void *arg)
{
	(void)arg;
	skua_task_ctx(self);
	return 0;
}

static void join_nothing_in_a_poll(void)
{
	struct skua_runtime *rt = runtime_new(1, 0);

	call_in_poll(rt, leave_a_job, NULL);
	call_in_poll(rt, begin_anew, NULL);
	destroy(rt);
}

static int do_nothing(struct skua_ctx ctx, size_t begin, size_t end, void *arg)
{
	(void)ctx;
	(void)begin;
	(void)end;
	(void)arg;
	return 0;
}

static void loop_with_the_context_before_root(struct skua_ctx ctx, void *arg)
{
	struct skua_ctx inner = skua_fork(ctx, &job);

	(void)arg;
	skua_for(ctx, 0, 10, 0, do_nothing, NULL);
	reclaim(inner, &job);
}

static void loop_with_the_context_before(void)
{
	call_in_runtime(loop_with_the_context_before_root);
}

static void *loop_elsewhere(void *arg)
{
	skua_for(*(struct skua_ctx *)arg, 0, 10, 0, do_nothing, NULL);
	return NULL;
}

static void loop_on_another_thread_root(struct skua_ctx ctx, void *arg)
{
	pthread_t thread;

	(void)arg;
	pthread_create(&thread, NULL, loop_elsewhere, &ctx);
	pthread_join(thread, NULL);
}

static void loop_on_another_thread(void)
{
	call_in_runtime(loop_on_another_thread_root);
}

static void check_the_context_before_root(struct skua_ctx ctx, void *arg)
{
	(void)arg;
	skua_fork(ctx, &job);
	(void)skua_ctx_check(ctx);
}

static void check_the_context_before(void)
{
	call_in_runtime(check_the_context_before_root);
}

static void keep_ctx_root(struct skua_ctx ctx, void *arg)
{
	*(struct skua_ctx *)arg = ctx;
}

static void check_after_the_end(void)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct skua_ctx kept;

	skua_run(rt, keep_ctx_root, &kept);
	(void)skua_ctx_check(kept);
	destroy(rt);
}

/* As skua_fork() and skua_reclaim() where there are no checks. */
static struct skua_ctx fork_unchecked(struct skua_ctx ctx)
{
	struct skua_ctx inner = { ctx.forks, ctx.head + 1 };

	__atomic_store_n(ctx.head, (void *)&job, __ATOMIC_RELAXED);
	if (skua_wanted(ctx))
		skua_fork_wanted(inner);
	return inner;
}

static void join_unchecked(struct skua_ctx inner)
{
	if (inner.head <= inner.forks->split)
		skua_reclaim_shared(inner);
}

static void leave_above_unchecked_root(struct skua_ctx ctx, void *arg)
{
	struct skua_ctx inner = fork_unchecked(ctx);

	(void)arg;
	skua_fork(inner, &other);
	join_unchecked(inner);
	skua_fork(ctx, &job);
}

static void leave_above_unchecked(void)
{
	call_in_runtime(leave_above_unchecked_root);
}

#define NOT_THE_NEWEST "a job is joined that is not the newest"
#define NOT_JOINED     "a function has forked a job, and not joined it"
#define NOT_ALL_JOINED                                                 \
	"a function that forks has returned, and not all of its jobs " \
	"are joined"
#define FROM_BEFORE "a function is given the context from before a fork"
#define NOT_ITS_THREAD                                                \
	"a context is used by another thread than its own, or after " \
	"skua_run() has returned"

TEST(check__a_mistake__aborts_and_says_so)
{
	static const struct {
		void (*mistake)(void);
		const char *text;
	} cases[] = {
		{ fork_out_of_nowhere, "no context: a fork outside of "
				       "skua_run() and of tasks" },
		{ fork_nothing, "no job, or one without a function" },
		{ fork_no_function, "no job, or one without a function" },
		{ join_in_the_wrong_order, NOT_THE_NEWEST },
		{ join_another, NOT_THE_NEWEST },
		{ join_another_that_was_taken, NOT_THE_NEWEST },
		{ join_without_a_fork,
		  "a job is joined, and none has been forked" },
		{ leave_above_unchecked, NOT_JOINED },
		{ join_nothing_at_the_end, NOT_ALL_JOINED },
		{ join_nothing_in_a_poll, NOT_ALL_JOINED },
		{ fork_twice_from_one_context, NOT_JOINED },
		{ fork_on_another_thread, NOT_ITS_THREAD },
		{ fork_after_the_end, NOT_ITS_THREAD },
		{ loop_on_another_thread, NOT_ITS_THREAD },
		{ loop_with_the_context_before, FROM_BEFORE },
		{ check_the_context_before, FROM_BEFORE },
		{ check_after_the_end, NOT_ITS_THREAD },
		{ fork_for_ever, "more than SKUA_MAX_FORKS jobs are forked" },
	};

	for (unsigned i = 0; i < COUNT_OF(cases); i++) {
		if (!aborts_saying(cases[i].mistake, cases[i].text))
			fail_msg("mistake %u went unnoticed: %s", i,
				 cases[i].text);
	}
}

static int fib_in_task(struct skua_task *self, void *arg)
{
	fib_root(skua_task_ctx(self), arg);
	return 0;
}

TEST(check__no_mistake__right)
{
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

/* The library, which is not checked, forks around and below what is. */

static int fib_in_loop(struct skua_ctx ctx, size_t begin, size_t end, void *arg)
{
	(void)begin;
	(void)end;
	(void)arg;
	assert_int_equal(fib(ctx, 10), 55);
	return 0;
}

static int compare_ints(const void *a, const void *b, void *arg)
{
	const int *left = a, *right = b;

	(void)arg;
	return *left - *right;
}

static int sort_in_loop(struct skua_ctx ctx, size_t begin, size_t end,
			void *arg)
{
	int items[3000];

	(void)begin;
	(void)end;
	(void)arg;
	for (int i = 0; i < 3000; i++)
		items[i] = i * 7919 % 3000;
	/* As somebody who wants to help. */
	__atomic_store_n(&ctx.forks->wanted, 1, __ATOMIC_RELAXED);
	assert_int_equal(skua_sort(ctx, items, 3000, sizeof(items[0]),
				   compare_ints, NULL),
			 0);
	for (int i = 0; i < 3000; i++)
		assert_int_equal(items[i], i);
	return 0;
}

static void loops_root(struct skua_ctx ctx, void *arg)
{
	struct skua_ctx inner = skua_fork(ctx, &job);

	(void)arg;
	skua_for(inner, 0, 100, 1, fib_in_loop, NULL);
	skua_for(inner, 0, 10, 1, sort_in_loop, NULL);
	skua_for(inner, 0, 3, 1, fib_in_loop, NULL);
	reclaim(inner, &job);
	assert_int_equal(fib(ctx, 10), 55);
}

static void mixed_root(struct skua_ctx ctx, void *arg)
{
	(void)arg;
	for (int i = 0; i < 100; i++) {
		struct skua_ctx inner = fork_unchecked(ctx);

		reclaim(skua_fork(inner, &other), &other);
		join_unchecked(inner);
		reclaim(skua_fork(ctx, &other), &other);
		inner = fork_unchecked(ctx);
		reclaim(skua_fork(inner, &other), &other);
		join_unchecked(inner);
	}
}

TEST(check__code_without_checks_between__right)
{
	for (unsigned workers = 1; workers <= 3; workers++) {
		struct skua_runtime *rt = runtime_new(workers, 0);

		assert_int_equal(skua_run(rt, mixed_root, NULL), 0);
		destroy(rt);
	}
}

TEST(check__loops_around_and_below__right)
{
	for (unsigned workers = 2; workers <= 4; workers++) {
		struct skua_runtime *rt = runtime_new(workers, 0);

		for (unsigned i = 0; i < 20; i++)
			assert_int_equal(skua_run(rt, loops_root, NULL), 0);
		destroy(rt);
	}
}
