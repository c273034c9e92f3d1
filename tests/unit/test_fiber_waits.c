/* SPDX-License-Identifier: MIT */
/* test_fiber_waits.c - fibers are tasks with a stack of their own: they run, wait, and move between workers */
#include "tests/unit/fiber_calls.h"

/* ---- arguments ---------------------------------------------------------- */

TEST(init__wrong_arguments__einval)
{
	struct skua_fiber fiber;

	assert_int_equal(skua_fiber_init(NULL, do_nothing, 0), -EINVAL);
	assert_int_equal(skua_fiber_init(&fiber, NULL, 0), -EINVAL);
	assert_int_equal(skua_fiber_init(&fiber, do_nothing, 16383), -EINVAL);
	assert_int_equal(
		skua_fiber_init(&fiber, do_nothing, SKUA_MAX_STACK + 1),
		-EINVAL);
	assert_int_equal(skua_fiber_init(&fiber, do_nothing, SKUA_MIN_STACK),
			 0);
	assert_int_equal(skua_fiber_init(&fiber, do_nothing, SKUA_MAX_STACK),
			 0);
}

static int await_and_yield(struct skua_task *self, void *arg)
{
	(void)self, (void)arg;
	assert_null(skua_fiber_self());
	assert_int_equal(skua_yield(), -EDEADLK);
	return skua_await();
}

TEST(await__outside_of_fibers__edeadlk)
{
	struct skua_runtime *rt = runtime_new(1, 0);

	assert_null(skua_fiber_self());
	assert_int_equal(skua_await(), -EDEADLK);
	assert_int_equal(skua_yield(), -EDEADLK);
	assert_int_equal(call_in_poll(rt, await_and_yield, NULL), -EDEADLK);
	destroy(rt);
}

/* ---- running ------------------------------------------------------------ */

TEST(fiber__runs_once__joined)
{
	struct skua_runtime *rt = runtime_new(1, 0);

	assert_int_equal(call_in_fiber(rt, expect_self, NULL), 7);
	destroy(rt);
}

TEST(fiber__joined__may_be_spawned_again)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct call it = { .rt = rt };

	call_init(&it, expect_self, NULL);
	for (unsigned n = 0; n < 3; n++) {
		it.result = 0;
		spawn(rt, &it.fiber.task);
		join(&it.fiber.task);
		assert_int_equal(it.result, 7);
	}
	destroy(rt);
}

TEST(yield__two_fibers__both_go_on)
{
	for (unsigned workers = 1; workers <= 2; workers++) {
		struct skua_runtime *rt = runtime_new(workers, 0);
		struct call one = { .rt = rt }, two = { .rt = rt };

		call_init(&one, yield_often, NULL);
		call_init(&two, yield_often, NULL);
		spawn(rt, &one.fiber.task);
		spawn(rt, &two.fiber.task);
		join(&one.fiber.task);
		join(&two.fiber.task);
		assert_int_equal(one.count, 1000);
		assert_int_equal(two.count, 1000);
		destroy(rt);
	}
}

/* Uses 40 KB of its 64 KB, and yields in the middle. */
static int fill_stack(struct call *it)
{
	volatile unsigned char large[40000];

	for (unsigned i = 0; i < sizeof(large); i++)
		large[i] = (unsigned char)(i + (uintptr_t)it);
	assert_int_equal(skua_yield(), 0);
	for (unsigned i = 0; i < sizeof(large); i++)
		assert_int_equal(large[i], (unsigned char)(i + (uintptr_t)it));
	return 1;
}

TEST(fiber__locals__kept_while_others_run)
{
	enum { FIBERS = 100 };
	struct skua_runtime *rt = runtime_new(2, 0);
	static struct call calls[FIBERS];

	for (unsigned i = 0; i < FIBERS; i++) {
		call_init(&calls[i], fill_stack, NULL);
		spawn(rt, &calls[i].fiber.task);
	}
	for (unsigned i = 0; i < FIBERS; i++) {
		join(&calls[i].fiber.task);
		assert_int_equal(calls[i].result, 1);
	}
	destroy(rt);
}

/* ---- waiting ------------------------------------------------------------ */

struct signal {
	struct gate waits; /* the waker is made */
	struct skua_waker waker;
	struct gate set;
};

static int await_signal(struct call *it)
{
	struct signal *signal = it->arg;

	signal->waker = skua_task_waker(&it->fiber.task);
	gate_open(&signal->waits);
	while (!gate_is_open(&signal->set))
		assert_int_equal(skua_await(), 0);
	return 3;
}

TEST(await__woken_by_a_thread__goes_on)
{
	struct skua_runtime *rt = runtime_new(2, 0);

	for (unsigned n = 0; n < 1000; n++) {
		struct signal signal = { 0 };
		struct call it = { .rt = rt };

		call_init(&it, await_signal, &signal);
		spawn(rt, &it.fiber.task);
		gate_wait(&signal.waits);
		if (n % 2)
			wait_until_waiting(&it.fiber.task);
		gate_open(&signal.set);
		skua_waker_wake(signal.waker);
		join(&it.fiber.task);
		assert_int_equal(it.result, 3);
	}
	destroy(rt);
}

TEST(await__cancelled__returns)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct gate waits = { 0 };
	struct call it = { .rt = rt };

	call_init(&it, await_the_cancel, &waits);
	spawn(rt, &it.fiber.task);
	gate_wait(&waits);
	assert_int_equal(skua_task_cancel(&it.fiber.task), 0);
	join(&it.fiber.task);
	assert_int_equal(it.result, -ECANCELED);
	destroy(rt);
}

TEST(await__group_cancelled__all_end)
{
	enum { FIBERS = 50 };
	struct skua_runtime *rt = runtime_new(2, 0);
	struct gate waits = { 0 };
	static struct call calls[FIBERS];
	struct skua_group group;

	assert_int_equal(skua_group_init(&group, rt), 0);
	for (unsigned i = 0; i < FIBERS; i++) {
		call_init(&calls[i], await_the_cancel, &waits);
		assert_int_equal(skua_group_spawn(&group, &calls[i].fiber.task),
				 0);
	}
	assert_int_equal(skua_group_cancel(&group), 0);
	assert_int_equal(skua_group_wait(&group), 0);
	for (unsigned i = 0; i < FIBERS; i++)
		assert_int_equal(calls[i].result, -ECANCELED);
	destroy(rt);
}

static int await_timer(struct call *it)
{
	struct skua_timer timer = SKUA_TIMER_INIT;
	uint64_t when_ns = skua_now_ns() + 100000;

	assert_int_equal(skua_timer_add(&it->fiber.task, &timer, when_ns), 0);
	while (skua_timer_pending(&timer))
		assert_int_equal(skua_await(), 0);
	return skua_now_ns() >= when_ns;
}

TEST(await__timer__woken)
{
	struct skua_runtime *rt = runtime_new(1, 0);

	assert_int_equal(call_in_fiber(rt, await_timer, NULL), 1);
	destroy(rt);
}

TEST(fiber__driven_by_the_caller__runs)
{
	struct skua_runtime *rt =
		RUNTIME(.flags = SKUA_CALLER_DRIVEN, .workers = 1);
	struct call it = { .rt = rt };

	call_init(&it, yield_often, NULL);
	spawn(rt, &it.fiber.task);
	assert_int_equal(skua_runtime_drain(rt), 0);
	assert_int_equal(it.count, 1000);
	destroy(rt);
}

/* ---- where it runs ------------------------------------------------------ */

static int yield_on_worker(struct call *it)
{
	int worker = skua_worker_index(it->rt);

	for (unsigned n = 0; n < 1000; n++) {
		assert_int_equal(skua_yield(), 0);
		if (skua_worker_index(it->rt) != worker)
			return -1;
	}
	(void)it;
	return worker;
}

TEST(fiber__bound__stays_on_its_worker)
{
	struct skua_runtime *rt = runtime_new(2, 0);
	struct call its[2] = { { .rt = rt }, { .rt = rt } };

	for (unsigned i = 0; i < 2; i++) {
		call_init(&its[i], yield_on_worker, NULL);
		assert_int_equal(skua_task_spawn_on(rt, i, &its[i].fiber.task),
				 0);
	}
	for (unsigned i = 0; i < 2; i++) {
		join(&its[i].fiber.task);
		assert_int_equal(its[i].result, i);
	}
	destroy(rt);
}

/* Wakes a fiber from the worker that it is bound to. */
struct caller {
	struct skua_task task; /* first: a task is its caller */
	struct skua_waker waker;
};

static enum skua_poll wake_poll(struct skua_task *self)
{
	skua_waker_wake(((struct caller *)self)->waker);
	return SKUA_DONE;
}

/* Have the other worker wake it, until it is there. Each worker keeps the values of its
 * thread-local variables: a compiler may not mix them up. */
static int move(struct call *it)
{
	int before = skua_worker_index(it->rt);

	while (skua_worker_index(it->rt) == before) {
		struct caller caller = {
			.task = SKUA_TASK_INIT(wake_poll),
			.waker = skua_task_waker(&it->fiber.task),
		};

		assert_int_equal(skua_task_spawn_on(it->rt,
						    (unsigned)(1 - before),
						    &caller.task),
				 0);
		assert_int_equal(skua_await(), 0);
		while (skua_task_join_poll(&it->fiber.task, &caller.task) ==
		       -EAGAIN)
			assert_int_equal(skua_await(), 0);
	}
	assert_ptr_equal(skua_fiber_self(), &it->fiber);
	assert_ptr_equal(skua_task_self(), &it->fiber.task);
	return 5;
}

TEST(fiber__woken_on_another_worker__goes_on_there)
{
	struct skua_runtime *rt = runtime_new(2, 0);

	for (unsigned n = 0; n < 100; n++)
		assert_int_equal(call_in_fiber(rt, move, NULL), 5);
	destroy(rt);
}

TEST(fiber__urgent__runs)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct call it = { .rt = rt };

	call_init(&it, yield_often, NULL);
	assert_int_equal(skua_task_set_urgent(&it.fiber.task, true), 0);
	spawn(rt, &it.fiber.task);
	join(&it.fiber.task);
	assert_int_equal(it.count, 1000);
	destroy(rt);
}
