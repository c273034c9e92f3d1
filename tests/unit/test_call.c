/* SPDX-License-Identifier: MIT */
/* test_call.c - run a function on a worker, without a task of one's own */
#define SUPPORT_FAIL_ALLOCATIONS
#include "tests/unit/tasks.h"

static atomic_u32 calls;

static void count_call(void *arg)
{
	(void)arg;
	atomic_fetch_add_release(&calls, 1);
}

static uint32_t count(void)
{
	return atomic_load_acquire(&calls);
}

static int calls_clear(void **state)
{
	(void)state;
	atomic_store_relaxed(&calls, 0);
	return 0;
}

EACH_TEST(calls_clear, NULL);

TEST(call__null__einval)
{
	struct skua_runtime *rt = runtime_new(1, 0);

	assert_int_equal(skua_call(NULL, count_call, NULL), -EINVAL);
	assert_int_equal(skua_call(rt, NULL, NULL), -EINVAL);
	destroy(rt);
	assert_int_equal(count(), 0);
}

/* Plain memory: the call orders it. */
static void double_it(void *arg)
{
	*(unsigned *)arg *= 2;
}

TEST(call__many__each_once_and_a_drain_waits)
{
	struct skua_runtime *rt = runtime_new(2, 0);
	unsigned values[1000];

	for (unsigned round = 0; round < 20; round++) {
		for (unsigned n = 0; n < COUNT_OF(values); n++) {
			values[n] = n + 1;
			assert_int_equal(skua_call(rt, double_it, &values[n]),
					 0);
		}
		assert_int_equal(skua_runtime_drain(rt), 0);
		for (unsigned n = 0; n < COUNT_OF(values); n++)
			assert_int_equal(values[n], 2 * (n + 1));
	}
	destroy(rt);
}

static int call_it(struct skua_task *self, void *arg)
{
	return skua_call(runtime_of_task(self), count_call, arg);
}

TEST(call__in_a_poll__runs)
{
	struct skua_runtime *rt = runtime_new(1, 0);

	for (unsigned n = 0; n < 100; n++)
		assert_int_equal(call_in_poll(rt, call_it, NULL), 0);
	assert_int_equal(skua_runtime_drain(rt), 0);
	assert_int_equal(count(), 100);
	destroy(rt);
}

/* A waker outlives the poll of a call, and its drop ends the call. */
static void keep_waker(void *arg)
{
	*(struct skua_waker *)arg = skua_task_waker(skua_task_self());
}

static int drop_waker(struct skua_task *self, void *arg)
{
	(void)self;
	skua_waker_drop(*(struct skua_waker *)arg);
	return 0;
}

/* call_with_waker - call a function that leaves a waker */
static struct skua_waker call_with_waker(struct skua_runtime *rt)
{
	struct skua_waker waker;

	assert_int_equal(skua_call(rt, keep_waker, &waker), 0);
	assert_int_equal(skua_runtime_drain(rt), 0);
	return waker;
}

TEST(call__waker_dropped_elsewhere__gives_the_memory_back)
{
	struct skua_runtime *other = runtime_new(1, 0);

	for (unsigned n = 0; n < 40; n++) {
		struct skua_runtime *rt = runtime_new(1, 0);
		struct skua_waker waker = call_with_waker(rt);

		skua_waker_drop(waker);
		waker = call_with_waker(rt);
		assert_int_equal(call_in_poll(other, drop_waker, &waker), 0);
		destroy(rt);
	}
	destroy(other);
}

static void add_timer(void *arg)
{
	assert_int_equal(
		skua_timer_add(skua_task_self(), arg,
			       skua_now_ns() + UINT64_C(3600000000000)),
		0);
}

TEST(call__timer_left__ends_with_the_runtime)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct skua_timer timer = SKUA_TIMER_INIT;

	assert_int_equal(skua_call(rt, add_timer, &timer), 0);
	assert_int_equal(skua_runtime_drain(rt), 0);
	destroy(rt);
}

TEST(call__too_many_queued__eagain)
{
	struct skua_runtime *rt = RUNTIME(.workers = 1, .max_queued = 3);
	struct holder holder = HOLDER_INIT;

	holder_hold(rt, &holder);
	for (unsigned n = 0; n < 3; n++)
		assert_int_equal(skua_call(rt, count_call, NULL), 0);
	assert_int_equal(skua_call(rt, count_call, NULL), -EAGAIN);
	assert_int_equal(count(), 0);
	holder_end(&holder);
	assert_int_equal(skua_runtime_drain(rt), 0);
	assert_int_equal(count(), 3);
	destroy(rt);
}

TEST(call__shut_down__eshutdown)
{
	struct skua_runtime *rt = runtime_new(1, 0);

	assert_int_equal(skua_call(rt, count_call, NULL), 0);
	assert_int_equal(
		skua_runtime_shutdown(rt, SKUA_FOREVER_NS, SKUA_SHUTDOWN_RUN),
		0);
	assert_int_equal(count(), 1);
	assert_int_equal(skua_call(rt, count_call, NULL), -ESHUTDOWN);
	destroy(rt);
	assert_int_equal(count(), 1);
}

TEST(call__no_memory__enomem_and_not_called)
{
	struct skua_runtime *rt;
	int code;

	if (!CAN_FAIL_ALLOCATIONS) {
		skip_aloud(NO_FAILURES);
		return;
	}
	rt = runtime_new(1, 0);
	allocations_begin(1);
	code = skua_call(rt, count_call, NULL);
	allocations_end();
	assert_int_equal(code, -ENOMEM);
	assert_int_equal(skua_call(rt, count_call, NULL), 0);
	destroy(rt);
	assert_int_equal(count(), 1);
}
