/* SPDX-License-Identifier: MIT */
/**
 * test_timer_order.c - tasks that timers wake, beside tasks that yield
 *
 * All tasks are those of one worker. Tasks whose timers fire together overtake the tasks
 * that yield, but overtake none of them again before it was polled.
 */
#include "tests/unit/tasks.h"

#define YIELDING     2u
#define SLEEPERS_MAX 24u

/* The numbers of the tasks in the order of their polls. */
static unsigned polled[1u << 20];
static unsigned polls;

static unsigned asleep; /* sleepers that have not ended */

static void spin(unsigned number, uint64_t spin_ns)
{
	uint64_t end_ns = skua_now_ns() + spin_ns;

	if (polls < COUNT_OF(polled))
		polled[polls++] = number;
	while (skua_now_ns() < end_ns)
		cpu_relax();
}

/* Yields as long as there are sleepers. */
struct yielding {
	struct skua_task task; /* first: a task is its yielding one */
	unsigned number;
	uint64_t spin_ns;
};

/* Sleeps again and again. */
struct sleeper {
	struct skua_task task; /* first: a task is its sleeper */
	struct skua_timer timer;
	unsigned number;
	unsigned naps; /* left */
	uint64_t spin_ns;
	uint64_t due_ns; /* 0: at once */
};

static struct yielding yielding[YIELDING];
static struct sleeper sleepers[SLEEPERS_MAX];

static enum skua_poll yield(struct skua_task *self)
{
	struct yielding *it = (struct yielding *)self;

	spin(it->number, it->spin_ns);
	return asleep == 0 ? SKUA_DONE : SKUA_YIELD;
}

static enum skua_poll nap(struct skua_task *self)
{
	struct sleeper *it = (struct sleeper *)self;

	spin(it->number, it->spin_ns);
	if (it->naps == 0) {
		asleep--;
		return SKUA_DONE;
	}
	it->naps--;
	assert_int_equal(skua_timer_add(self, &it->timer, it->due_ns), 0);
	return SKUA_PENDING;
}

static enum skua_poll spawn_all(struct skua_task *self)
{
	struct skua_runtime *rt = skua_task_runtime(self);

	for (unsigned i = 0; i < asleep; i++)
		assert_int_equal(skua_task_spawn(rt, &sleepers[i].task), 0);
	for (unsigned i = 0; i < YIELDING; i++)
		assert_int_equal(skua_task_spawn(rt, &yielding[i].task), 0);
	return SKUA_DONE;
}

/* Run @count sleepers, like @sleeper, and tasks that yield after @spin_ns. */
static void run(unsigned count, struct sleeper sleeper, uint64_t spin_ns)
{
	struct skua_runtime *rt = RUNTIME(.workers = 1);
	struct skua_task first = SKUA_TASK_INIT(spawn_all);

	polls = 0;
	asleep = count;
	for (unsigned i = 0; i < YIELDING; i++)
		yielding[i] = (struct yielding){ .task = SKUA_TASK_INIT(yield),
						 .number = i,
						 .spin_ns = spin_ns };
	for (unsigned i = 0; i < count; i++) {
		sleepers[i] = sleeper;
		sleepers[i].task = (struct skua_task)SKUA_TASK_INIT(nap);
		sleepers[i].timer = (struct skua_timer)SKUA_TIMER_INIT;
		sleepers[i].number = YIELDING + i;
	}
	spawn(rt, &first);
	assert_int_equal(skua_runtime_drain(rt), 0);
	destroy(rt);
	assert_true(polls < COUNT_OF(polled));
}

/* Each task that yields holds the worker for longer than a tick, so that the timers
 * fire after one of its polls. */
TEST(timers__due_in_one_poll__run_before_tasks_that_yield)
{
	unsigned last = 0, woken = 0;

	run(3,
	    (struct sleeper){ .naps = 1, .due_ns = skua_now_ns() + 20000000 },
	    100000);
	while (woken < 3 && polls > 0) {
		last = polled[--polls];
		woken += last >= YIELDING;
		/* Nothing yielded between the first and the last sleeper. */
		assert_true(woken == 0 || last >= YIELDING);
	}
	assert_int_equal(woken, 3);
}

/* Return the most polls between two polls of a task that yields. */
static unsigned longest_wait(unsigned number)
{
	unsigned longest = 0, wait = 0;

	for (unsigned i = 0; i < polls; i++) {
		wait = polled[i] == number ? 0 : wait + 1;
		if (wait > longest)
			longest = wait;
	}
	return longest;
}

/* There are more sleepers than a tick has polls. So at the end of each tick, as many
 * timers fire as the next tick has polls. */
TEST(timers__without_end__overtake_a_task_once)
{
	run(20, (struct sleeper){ .naps = 2000, .spin_ns = 1500 }, 1500);
	for (unsigned i = 0; i < YIELDING; i++) {
		print_message("%u polls\n", longest_wait(i));
		assert_true(longest_wait(i) < 1000);
	}
}
