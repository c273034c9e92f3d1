/* SPDX-License-Identifier: MIT */
/* test_fiber_within.c - fibers polled within other polls, and the registers that are a fiber's own */
#include "tests/unit/fiber_calls.h"

/* ---- registers ---------------------------------------------------------- */

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

static int yield_twice(struct call *it)
{
	it->count++;
	assert_int_equal(skua_yield(), 0);
	assert_int_equal(skua_yield(), 0);
	assert_ptr_equal(skua_fiber_self(), &it->fiber);
	return 0;
}

/* ---- polls within polls ------------------------------------------------- */

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

/* Its next polls are those after a switch of the parent, which has the same mode by then. */
static int yield_rounding_up(struct call *it)
{
	(void)it;
	assert_int_equal(fesetround(FE_UPWARD), 0);
	for (unsigned n = 0; n < 2; n++) {
		assert_int_equal(skua_yield(), 0);
		assert_int_equal(fegetround(), FE_UPWARD);
	}
	assert_int_equal(fesetround(FE_TONEAREST), 0);
	return 0;
}

static bool round_up_once(struct call *it)
{
	struct rounding *rounding = (struct rounding *)it;
	struct skua_task *child = &rounding->child.fiber.task;
	struct call first = { .rt = it->rt };
	struct skua_task *yields = &first.fiber.task;
	int code;

	spawn(it->rt, child);
	for (unsigned n = 0; n < 3; n++)
		assert_int_equal(skua_yield(), 0);
	/* Leaves its stack within this poll, before that has another mode. */
	call_init(&first, yield_rounding_up, NULL);
	spawn(it->rt, yields);
	assert_int_equal(skua_task_join_poll(&it->fiber.task, yields), -EAGAIN);
	assert_int_equal(fesetround(FE_UPWARD), 0);
	skua_event_set(&rounding->event);
	while ((code = skua_task_join_poll(&it->fiber.task, child)) == -EAGAIN)
		assert_int_equal(skua_await(), 0);
	/* And so after a switch of its own, and in the poll after that. */
	for (unsigned n = 0; n < 3; n++) {
		assert_int_equal(fegetround(), FE_UPWARD);
		assert_int_equal(skua_yield(), 0);
	}
	assert_int_equal(fesetround(FE_TONEAREST), 0);
	while (skua_task_join_poll(&it->fiber.task, yields) == -EAGAIN)
		assert_int_equal(skua_await(), 0);
	return code == 0;
}

/* Many times in a row, so that the ticks become long. */
static int join_rounding_up(struct call *it)
{
	struct rounding *rounding = (struct rounding *)it;

	for (unsigned n = 0; n < 1000; n++) {
		rounding->child = (struct call){ .rt = it->rt };
		rounding->event = (struct skua_event)SKUA_EVENT_INIT;
		call_init(&rounding->child, wait_near, NULL);
		if (!round_up_once(it) || rounding->child.result != 1)
			return -1;
	}
	return 1;
}

TEST(fiber__polled_within_another__rounding_mode_its_own)
{
	struct skua_runtime *rt = runtime_new(1, 0);

	for (unsigned n = 0; n < 3; n++) {
		struct rounding it = { .parent = { .rt = rt } };

		call_init(&it.parent, join_rounding_up, NULL);
		spawn(rt, &it.parent.fiber.task);
		join(&it.parent.fiber.task);
		assert_int_equal(it.parent.result, 1);
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

static enum skua_poll leave_rounding_near(struct skua_task *self)
{
	(void)self;
	assert_int_equal(fesetround(FE_TONEAREST), 0);
	return SKUA_DONE;
}

static int yield_beside_leavers(struct call *it)
{
	for (unsigned n = 0; n < 100; n++) {
		struct skua_task task = SKUA_TASK_INIT(
			n % 2 ? leave_rounding_near : leave_rounding_up);

		spawn(it->rt, &task);
		assert_int_equal(skua_yield(), 0);
		if (fegetround() != FE_TONEAREST)
			return -1;
		assert_int_equal(skua_task_join(&task), 0);
	}
	return 0;
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

TEST(fiber__beside_polls_that_leave_rounding_modes__has_its_own)
{
	struct skua_runtime *rt = runtime_new(1, 0);

	assert_int_equal(call_in_fiber(rt, yield_beside_leavers, NULL), 0);
	destroy(rt);
}

/* ---- the mode of the thread ------------------------------------------------ */

/* A poll that sees the mode of its thread. */
struct seen {
	struct skua_task task; /* first: a task is its seen */
	int mode;
};

static enum skua_poll see_mode(struct skua_task *self)
{
	((struct seen *)self)->mode = fegetround();
	return SKUA_DONE;
}

/* Waits with a mode of its own, and leaves it to no poll. */
static int beside_polls(struct call *it)
{
	const int modes[] = { FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO,
			      FE_TONEAREST };

	for (unsigned n = 0; n < 1000; n++) {
		struct seen seen = { .task = SKUA_TASK_INIT(see_mode) };

		assert_int_equal(fesetround(modes[(n + it->count) % 4]), 0);
		spawn(it->rt, &seen.task);
		for (unsigned i = 0; i < n % 3; i++)
			assert_int_equal(skua_yield(), 0);
		assert_int_equal(skua_task_join(&seen.task), 0);
		if (fegetround() != modes[(n + it->count) % 4])
			return -1;
		if (seen.mode != FE_TONEAREST)
			return -2;
	}
	assert_int_equal(fesetround(FE_TONEAREST), 0);
	return 0;
}

TEST(fiber__rounding_mode__not_that_of_polls_of_its_worker)
{
	for (unsigned workers = 1; workers <= 2; workers++) {
		struct skua_runtime *rt = runtime_new(workers, 0);
		struct call calls[4] = { 0 };

		for (unsigned i = 0; i < 4; i++) {
			calls[i].rt = rt;
			calls[i].count = i;
			call_init(&calls[i], beside_polls, NULL);
			spawn(rt, &calls[i].fiber.task);
		}
		for (unsigned i = 0; i < 4; i++) {
			join(&calls[i].fiber.task);
			assert_int_equal(calls[i].result, 0);
		}
		destroy(rt);
	}
}

static int yield_rounding(struct call *it)
{
	const int *mode = it->arg;

	assert_int_equal(fesetround(*mode), 0);
	for (unsigned n = 0; n < 1000; n++) {
		/* It wakes up at the end of a tick, which may be that of a drive. */
		assert_int_equal(skua_sleep_until(skua_now_ns() + 1000), 0);
		assert_int_equal(skua_yield(), 0);
		if (fegetround() != *mode)
			return -1;
	}
	it->count = 1;
	return 0;
}

/* The thread that drives has a mode of its own each time, which is that of neither fiber. */
TEST(fiber__driven_by_a_thread_with_a_rounding_mode__each_has_its_own)
{
	const int host[] = { FE_DOWNWARD, FE_TONEAREST, FE_UPWARD };
	int up = FE_UPWARD, near = FE_TONEAREST;
	struct skua_runtime *rt =
		RUNTIME(.flags = SKUA_CALLER_DRIVEN, .workers = 1);
	struct call calls[2] = { { .rt = rt }, { .rt = rt } };

	call_init(&calls[0], yield_rounding, &up);
	call_init(&calls[1], yield_rounding, &near);
	spawn(rt, &calls[0].fiber.task);
	spawn(rt, &calls[1].fiber.task);
	for (unsigned n = 0; calls[0].count + calls[1].count < 2; n++) {
		assert_int_equal(fesetround(host[n % 3]), 0);
		skua_runtime_poll(rt, 0);
		assert_int_equal(fegetround(), host[n % 3]);
	}
	assert_int_equal(fesetround(FE_TONEAREST), 0);
	assert_int_equal(calls[0].result, 0);
	assert_int_equal(calls[1].result, 0);
	destroy(rt);
}

/* A poller that leaves another mode behind, against the ABI. */
struct rounding_poller {
	struct skua_poller poller; /* first: a poller is its rounding_poller */
	unsigned calls;
};

static int leave_mode(struct skua_poller *self)
{
	assert_int_equal(fesetround(FE_UPWARD), 0);
	return ++((struct rounding_poller *)self)->calls < 10
		       ? 0
		       : SKUA_POLLER_DONE;
}

static int yield_beside_poller(struct call *it)
{
	const struct rounding_poller *poller = it->arg;

	while (*(volatile const unsigned *)&poller->calls < 10) {
		assert_int_equal(skua_yield(), 0);
		if (fegetround() != FE_TONEAREST)
			return -1;
	}
	return 0;
}

TEST(fiber__beside_a_poller_that_left_a_rounding_mode__has_its_own)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct rounding_poller poller = { .poller = { .poll = leave_mode } };
	struct call call = { .rt = rt };

	call_init(&call, yield_beside_poller, &poller);
	spawn(rt, &call.fiber.task);
	assert_int_equal(skua_runtime_add_poller(rt, 0, &poller.poller), 0);
	join(&call.fiber.task);
	assert_int_equal(call.result, 0);
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

/* ---- left by longjmp() -------------------------------------------------- */

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
