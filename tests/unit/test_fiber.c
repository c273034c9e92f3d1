/* SPDX-License-Identifier: MIT */
/* test_fiber.c - fibers are tasks with a stack of their own */
#include <fenv.h>
#include <setjmp.h>

#include "core/fiber/fiber.h"
#include "core/runtime/runtime.h"
#include "core/telemetry/track.h"
#include "skua/fiber.h"
#include "skua/fork.h"
#include "tests/unit/tasks.h"

/* Calls a function on its own stack. */
struct call {
	struct skua_fiber fiber; /* first: a fiber is its call */
	struct skua_runtime *rt;
	int (*act)(struct call *it);
	void *arg;
	unsigned count;
	int result;
};

static void call_act(struct skua_fiber *self)
{
	struct call *it = (struct call *)self;

	it->result = it->act(it);
}

static void call_init(struct call *it, int (*act)(struct call *it), void *arg)
{
	it->act = act;
	it->arg = arg;
	assert_int_equal(skua_fiber_init(&it->fiber, call_act, 0), 0);
}

/* call_in_fiber - what @act returns in a fiber of @rt */
static int call_in_fiber(struct skua_runtime *rt, int (*act)(struct call *it),
			 void *arg)
{
	struct call it = { .rt = rt };

	call_init(&it, act, arg);
	spawn(rt, &it.fiber.task);
	join(&it.fiber.task);
	return it.result;
}

/* ---- arguments ------------------------------------------------------------- */

static void do_nothing(struct skua_fiber *self)
{
	(void)self;
}

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

/* ---- running --------------------------------------------------------------- */

static int expect_self(struct call *it)
{
	assert_ptr_equal(skua_fiber_self(), &it->fiber);
	assert_ptr_equal(skua_task_self(), &it->fiber.task);
	assert_ptr_equal(skua_task_runtime(&it->fiber.task), it->rt);
	assert_int_equal((uintptr_t)__builtin_frame_address(0) % 16, 0);
	return 7;
}

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

static int yield_often(struct call *it)
{
	for (; it->count < 1000; it->count++) {
		assert_int_equal(skua_yield(), 0);
		assert_ptr_equal(skua_fiber_self(), &it->fiber);
	}
	return 0;
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

/* ---- waiting ---------------------------------------------------------------- */

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

static int await_the_cancel(struct call *it)
{
	gate_open(it->arg);
	while (!skua_task_cancelled(&it->fiber.task))
		assert_int_equal(skua_await(), 0);
	return -ECANCELED;
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

/* ---- where it runs ----------------------------------------------------------- */

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

/* ---- registers --------------------------------------------------------------- */

static int round_up(struct call *it)
{
	volatile double one = 1, three = 3;

	assert_int_equal(fegetround(), FE_TONEAREST);
	assert_int_equal(fesetround(FE_UPWARD), 0);
	for (unsigned n = 0; n < 100; n++) {
		assert_int_equal(skua_yield(), 0);
		assert_int_equal(fegetround(), FE_UPWARD);
		assert_true(one / three == 0x1.5555555555556p-2);
	}
	(void)it;
	return 1;
}

static int round_near(struct call *it)
{
	volatile double one = 1, three = 3;
	int result = 1;

	for (unsigned n = 0; n < 100; n++) {
		result &= one / three == 0x1.5555555555555p-2;
		assert_int_equal(fegetround(), FE_TONEAREST);
		assert_int_equal(skua_yield(), 0);
	}
	(void)it;
	return result;
}

TEST(fiber__rounding_mode__its_own)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct call up = { .rt = rt }, near = { .rt = rt };

	call_init(&up, round_up, NULL);
	call_init(&near, round_near, NULL);
	spawn(rt, &up.fiber.task);
	spawn(rt, &near.fiber.task);
	join(&up.fiber.task);
	join(&near.fiber.task);
	assert_int_equal(up.result, 1);
	assert_int_equal(near.result, 1);
	destroy(rt);
}

/* ---- polls within polls -------------------------------------------------------- */

static int join_child(struct call *it, struct skua_task *child)
{
	int code;

	spawn(it->rt, child);
	while ((code = skua_task_join_poll(&it->fiber.task, child)) == -EAGAIN)
		assert_int_equal(skua_await(), 0);
	assert_ptr_equal(skua_fiber_self(), &it->fiber);
	return code;
}

/* The child waits with a mode of its own, and goes on within the poll of its parent, which
 * has another one at that time. */
struct rounding {
	struct call parent, child; /* first: the parent is its rounding */
	struct skua_event event;
};

static int wait_near(struct call *it)
{
	struct rounding *rounding =
		SKUA_CONTAINER_OF(it, struct rounding, child);
	int result = skua_event_wait(&rounding->event, SKUA_FOREVER_NS) == 0;

	return result && fegetround() == FE_TONEAREST;
}

static int join_rounding_up(struct call *it)
{
	struct rounding *rounding = (struct rounding *)it;
	struct skua_task *child = &rounding->child.fiber.task;
	int code;

	spawn(it->rt, child);
	for (unsigned n = 0; n < 3; n++)
		assert_int_equal(skua_yield(), 0);
	assert_int_equal(fesetround(FE_UPWARD), 0);
	skua_event_set(&rounding->event);
	while ((code = skua_task_join_poll(&it->fiber.task, child)) == -EAGAIN)
		assert_int_equal(skua_await(), 0);
	assert_int_equal(fegetround(), FE_UPWARD);
	assert_int_equal(fesetround(FE_TONEAREST), 0);
	return code == 0;
}

TEST(fiber__polled_within_another__rounding_mode_its_own)
{
	struct skua_runtime *rt = runtime_new(1, 0);

	for (unsigned n = 0; n < 100; n++) {
		struct rounding it = { .parent = { .rt = rt },
				       .child = { .rt = rt },
				       .event = SKUA_EVENT_INIT };

		call_init(&it.parent, join_rounding_up, NULL);
		call_init(&it.child, wait_near, NULL);
		spawn(rt, &it.parent.fiber.task);
		join(&it.parent.fiber.task);
		assert_int_equal(it.parent.result, 1);
		assert_int_equal(it.child.result, 1);
	}
	destroy(rt);
}

/* Against the ABI, as the constructor of a library made for fast arithmetic does. */
static enum skua_poll leave_rounding_up(struct skua_task *self)
{
	(void)self;
	assert_int_equal(fesetround(FE_UPWARD), 0);
	return SKUA_DONE;
}

TEST(fiber__after_a_poll_that_left_a_rounding_mode__has_its_own)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct rounding it = { .child = { .rt = rt },
			       .event = SKUA_EVENT_INIT };
	struct skua_task task = SKUA_TASK_INIT(leave_rounding_up);

	call_init(&it.child, wait_near, NULL);
	spawn(rt, &it.child.fiber.task);
	spawn(rt, &task);
	join(&task);
	skua_event_set(&it.event);
	join(&it.child.fiber.task);
	assert_int_equal(it.child.result, 1);
	destroy(rt);
}

struct where {
	struct skua_task task; /* first: a task is its where */
	bool on_fiber;
};

static enum skua_poll where_poll(struct skua_task *self)
{
	((struct where *)self)->on_fiber = fiber_current() != NULL;
	return SKUA_DONE;
}

static int join_tasks(struct call *it)
{
	for (unsigned n = 0; n < 1000; n++) {
		struct where child = { .task = SKUA_TASK_INIT(where_poll) };

		if (join_child(it, &child.task) || child.on_fiber)
			return -1;
	}
	return 0;
}

TEST(join__task_by_a_fiber__polled_on_the_worker_stack)
{
	for (unsigned workers = 1; workers <= 2; workers++) {
		struct skua_runtime *rt = runtime_new(workers, 0);

		assert_int_equal(call_in_fiber(rt, join_tasks, NULL), 0);
		destroy(rt);
	}
}

static int yield_twice(struct call *it)
{
	it->count++;
	assert_int_equal(skua_yield(), 0);
	assert_int_equal(skua_yield(), 0);
	assert_ptr_equal(skua_fiber_self(), &it->fiber);
	return 0;
}

static int join_fibers(struct call *it)
{
	for (unsigned n = 0; n < 1000; n++) {
		struct call child = { .rt = it->rt };

		call_init(&child, it->arg, NULL);
		if (join_child(it, &child.fiber.task))
			return -1;
	}
	return 0;
}

TEST(join__fiber_by_a_fiber__polled_within_or_later)
{
	for (unsigned workers = 1; workers <= 2; workers++) {
		struct skua_runtime *rt = runtime_new(workers, 0);

		assert_int_equal(call_in_fiber(rt, join_fibers, expect_self),
				 0);
		assert_int_equal(call_in_fiber(rt, join_fibers, yield_twice),
				 0);
		destroy(rt);
	}
}

/* ---- fibers of the library ------------------------------------------------------- */

struct tally {
	atomic_u32 calls;
	atomic_u32 fibers;
};

static void count_call(void *arg)
{
	struct tally *tally = arg;

	assert_int_equal(skua_yield(), 0);
	/* Relaxed, both: the drain orders them. */
	atomic_fetch_add_relaxed(&tally->calls, 1);
	if (skua_fiber_self())
		atomic_fetch_add_relaxed(&tally->fibers, 1);
	assert_int_equal(skua_yield(), 0);
}

static int spawn_calls(struct call *it)
{
	for (unsigned n = 0; n < 1000; n++)
		assert_int_equal(
			skua_fiber_spawn(it->rt, NULL, count_call, it->arg), 0);
	return 0;
}

TEST(spawn__from_outside_and_from_a_fiber__each_called_once)
{
	static const struct skua_task_type type = SKUA_TASK_TYPE("counting");
	struct skua_runtime *rt = runtime_new(2, 0);
	struct tally tally = { 0 };

	assert_int_equal(skua_fiber_spawn(NULL, NULL, count_call, NULL),
			 -EINVAL);
	assert_int_equal(skua_fiber_spawn(rt, NULL, NULL, NULL), -EINVAL);
	for (unsigned n = 0; n < 1000; n++)
		assert_int_equal(
			skua_fiber_spawn(rt, &type, count_call, &tally), 0);
	assert_int_equal(call_in_fiber(rt, spawn_calls, &tally), 0);
	assert_int_equal(skua_runtime_drain(rt), 0);
	assert_int_equal(atomic_load_relaxed(&tally.calls), 2000);
	assert_int_equal(atomic_load_relaxed(&tally.fibers), 2000);
	destroy(rt);
}

TEST(spawn__after_a_shutdown__eshutdown)
{
	struct skua_runtime *rt = runtime_new(1, 0);

	assert_int_equal(
		skua_runtime_shutdown(rt, SKUA_FOREVER_NS, SKUA_SHUTDOWN_RUN),
		0);
	assert_int_equal(skua_fiber_spawn(rt, NULL, count_call, NULL),
			 -ESHUTDOWN);
	destroy(rt);
}

static int mask_twice(struct call *it)
{
	assert_int_equal(skua_cancel_unmask(), -EINVAL);
	assert_int_equal(skua_cancel_mask(), 0);
	assert_int_equal(skua_cancel_mask(), 0);
	assert_int_equal(skua_cancel_unmask(), 0);
	assert_true(fiber_cancel_masked(&it->fiber));
	assert_int_equal(skua_cancel_unmask(), 0);
	assert_false(fiber_cancel_masked(&it->fiber));
	assert_int_equal(skua_cancel_mask(), 0);
	return 0;
}

TEST(cancel_mask__counted__until_the_end)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct call it = { .rt = rt };

	assert_int_equal(skua_cancel_mask(), -EPERM);
	assert_int_equal(skua_cancel_unmask(), -EPERM);
	call_init(&it, mask_twice, NULL);
	for (unsigned n = 0; n < 2; n++) {
		spawn(rt, &it.fiber.task);
		join(&it.fiber.task);
		assert_int_equal(it.result, 0);
	}
	destroy(rt);
}

static __attribute__((noinline)) int use_40000(struct call *it)
{
	char large[40000];

	large[0] = 1;
	/* So that the compiler keeps all of it. */
	__asm__ volatile("" : : "r"(large) : "memory");
	assert_in_range(skua_fiber_stack_used(&it->fiber), 40000, 81920);
	return large[0];
}

static int use_stack(struct call *it)
{
	assert_in_range(skua_fiber_stack_used(&it->fiber), 1, 32768);
	return use_40000(it);
}

TEST(stack_used__deep_call__counted)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct skua_fiber fiber;

	assert_int_equal(skua_fiber_init(&fiber, do_nothing, 0), 0);
	assert_int_equal(skua_fiber_stack_used(&fiber), 0);
	assert_int_equal(skua_fiber_stack_used(NULL), 0);
	assert_int_equal(call_in_fiber(rt, use_stack, NULL), 1);
	destroy(rt);
}

/* ---- jobs --------------------------------------------------------------------- */

static int wait_with_context(struct call *it)
{
	struct skua_ctx ctx = skua_task_ctx(&it->fiber.task);

	assert_non_null(ctx.forks);
	assert_int_equal(skua_yield(), -EDEADLK);
	assert_int_equal(skua_await(), -EDEADLK);
	assert_int_equal(skua_task_ctx_end(&it->fiber.task), 0);
	return skua_yield();
}

TEST(yield__with_a_context__edeadlk)
{
	struct skua_runtime *rt = runtime_new(1, 0);

	assert_int_equal(call_in_fiber(rt, wait_with_context, NULL), 0);
	destroy(rt);
}

static int keep_context(struct call *it)
{
	skua_task_ctx(&it->fiber.task);
	return 0;
}

static int join_forkers(struct call *it)
{
	for (unsigned n = 0; n < 100; n++) {
		struct call child = { .rt = it->rt };

		call_init(&child, keep_context, NULL);
		if (join_child(it, &child.fiber.task) || skua_yield())
			return -1;
	}
	return 0;
}

TEST(yield__child_within_had_a_context__yields)
{
	struct skua_runtime *rt = runtime_new(1, 0);

	assert_int_equal(call_in_fiber(rt, join_forkers, NULL), 0);
	destroy(rt);
}

TEST(ctx_end__not_polled__eperm)
{
	struct skua_task task = SKUA_TASK_INIT(count_poll);

	assert_int_equal(skua_task_ctx_end(NULL), -EINVAL);
	assert_int_equal(skua_task_ctx_end(&task), -EPERM);
}

/* A job waits: it is refused, on each thread. */
struct waiting_job {
	struct skua_job job; /* first: a job is its waiting_job */
	int code;
};

static void wait_in_job(struct skua_ctx ctx, struct skua_job *job)
{
	(void)ctx;
	((struct waiting_job *)job)->code = skua_yield();
}

static int fork_waiting_jobs(struct call *it)
{
	struct skua_ctx ctx = skua_task_ctx(&it->fiber.task);
	struct skua_scope scope = skua_scope_begin(ctx);
	struct waiting_job jobs[64];

	for (unsigned i = 0; i < COUNT_OF(jobs); i++) {
		jobs[i] = (struct waiting_job){ { wait_in_job }, 0 };
		skua_scope_fork(&scope, &jobs[i].job);
	}
	skua_scope_join(&scope);
	for (unsigned i = 0; i < COUNT_OF(jobs); i++) {
		if (jobs[i].code != -EDEADLK)
			return -1;
	}
	assert_int_equal(skua_task_ctx_end(&it->fiber.task), 0);
	return skua_yield();
}

TEST(yield__in_a_job__edeadlk)
{
	for (unsigned workers = 1; workers <= 2; workers++) {
		struct skua_runtime *rt = runtime_new(workers, 0);

		for (unsigned n = 0; n < 100; n++)
			assert_int_equal(
				call_in_fiber(rt, fork_waiting_jobs, NULL), 0);
		destroy(rt);
	}
}

/* ---- names ------------------------------------------------------------------------- */

/* Is a task with this function in the table of tasks? */
static bool table_shows(struct skua_runtime *rt, const void *function)
{
	const struct area_task *slots = rt->pool.telemetry.track->tasks;

	for (unsigned i = 0; i < TRACK_SLOTS; i++)
		if (counter_read(&slots[i].task) &&
		    counter_read(&slots[i].poll) == (uintptr_t)function)
			return true;
	return false;
}

TEST(fiber__tracked__shown_by_its_function)
{
	struct skua_runtime *rt =
		RUNTIME(.flags = SKUA_TRACK_TASKS, .workers = 1);
	struct gate waits = { 0 };
	struct call it = { .rt = rt };

	call_init(&it, await_the_cancel, &waits);
	spawn(rt, &it.fiber.task);
	gate_wait(&waits);
	assert_true(table_shows(rt, (const void *)(uintptr_t)call_act));
	assert_false(table_shows(rt, (const void *)(uintptr_t)fiber_poll));
	assert_int_equal(skua_task_cancel(&it.fiber.task), 0);
	join(&it.fiber.task);
	destroy(rt);
}

/* ---- left by longjmp() ---------------------------------------------------------------- */

#if !defined(NDEBUG) && !SANITIZED
static const struct skua_task_type jumps_type = SKUA_TASK_TYPE("jumping");
static jmp_buf target;

static int jump(struct call *it)
{
	(void)it;
	longjmp(target, 1);
}

/* The caller drives, so that it has a frame to go to. */
static void leave_by_jump(void)
{
	struct skua_runtime *rt =
		RUNTIME(.flags = SKUA_CALLER_DRIVEN, .workers = 1);
	static struct call jumper, other;

	jumper.rt = other.rt = rt;
	call_init(&jumper, jump, NULL);
	call_init(&other, yield_often, NULL);
	skua_task_set_type(&jumper.fiber.task, &jumps_type);
	spawn(rt, &jumper.fiber.task);
	spawn(rt, &other.fiber.task);
	if (setjmp(target) == 0)
		skua_runtime_poll(rt, SKUA_FOREVER_NS);
	skua_runtime_poll(rt, SKUA_FOREVER_NS);
}

static int wait_for_jump(struct call *it)
{
	if (setjmp(target) == 0)
		skua_await();
	skua_yield(); /* as the other one, on this stack */
	(void)it;
	return 0;
}

static void jump_to_other(void)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	static struct call one, jumper;

	one.rt = jumper.rt = rt;
	call_init(&one, wait_for_jump, NULL);
	spawn(rt, &one.fiber.task);
	wait_until_waiting(&one.fiber.task);
	call_init(&jumper, jump, NULL);
	skua_task_set_type(&jumper.fiber.task, &jumps_type);
	spawn(rt, &jumper.fiber.task);
	join(&jumper.fiber.task);
}
#endif

TEST(fiber__left_by_longjmp__told_with_its_type)
{
#if !defined(NDEBUG) && !SANITIZED
	const char *says =
		"skua: longjmp() leaves the function of a fiber of type jumping, ";

	assert_true(aborts_saying(leave_by_jump, says));
	assert_true(aborts_saying(jump_to_other, says));
#else
	skip_aloud(NO_ASSERTS);
#endif
}
