/* SPDX-License-Identifier: MIT */
/**
 * test_short_queue.c - a search leaves a short queue to an owner that works it off
 *
 * Fibers meet at a barrier again and again: the last one to arrive queues all others, and
 * each runs for some tens of nanoseconds.
 */
#include "core/runtime/runtime.h"
#include "skua/fiber.h"
#include "skua/sync.h"
#include "tests/unit/tasks.h"

#define FIBERS 8u
#define TIMES  10000u
/* The fewest polls for each stolen task, in RUNS runs. Without the rule, 5 to 30 were measured;
 * with it, 70 to 400. */
#define POLLS_LEAST 40u
#define RUNS        20u

static struct skua_barrier barrier;

static void meet_again(struct skua_fiber *self)
{
	(void)self;
	for (unsigned n = 0; n < TIMES; n++)
		skua_barrier_wait(&barrier, SKUA_FOREVER_NS);
}

/* Add to *@stolen and *@polled the tasks that were. */
static void run(uint64_t *stolen, uint64_t *polled)
{
	struct skua_runtime *rt = RUNTIME(.workers = 2);
	struct skua_fiber fibers[FIBERS];

	assert_int_equal(skua_barrier_init(&barrier, FIBERS), 0);
	for (unsigned i = 0; i < FIBERS; i++) {
		assert_int_equal(skua_fiber_init(&fibers[i], meet_again, 0), 0);
		spawn(rt, &fibers[i].task);
	}
	assert_int_equal(skua_runtime_drain(rt), 0);
	for (unsigned i = 0; i < 2; i++) {
		const struct worker *w = rt->pool.workers[i];

		*stolen += counter_read(&w->area.counters.tasks_stolen);
		*polled += counter_read(&w->area.counters.tasks_polled);
	}
	destroy(rt);
}

TEST(short_queue__owner_works_it_off__few_tasks_are_stolen)
{
	uint64_t stolen = 0, polled = 0;

	if (SANITIZED) {
		skip_aloud("a poll takes longer with a sanitizer");
		return;
	}
	for (unsigned n = 0; n < RUNS; n++)
		run(&stolen, &polled);
	print_message("%ju of %ju\n", (uintmax_t)stolen, (uintmax_t)polled);
	assert_true(stolen * POLLS_LEAST <= polled);
}
