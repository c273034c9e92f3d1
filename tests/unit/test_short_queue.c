/* SPDX-License-Identifier: MIT */
/**
 * test_short_queue.c - a search leaves a short queue to an owner that works it off
 *
 * Fibers meet at a barrier again and again: the last one to arrive queues all others, and
 * each runs for some tens of nanoseconds. In the other tests, a thread stands for the owner of
 * a queue.
 */
/* Included, not linked: a test calls works_off(). */
#include "core/loop/work_shared.c"

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

/* A queue, and a thread that takes its oldest item and puts it back, again and again. */
struct owner {
	struct local_queue *queue;
	pthread_t thread;
	atomic_u32 stop;
};

static struct pool pool; /* its workers share no CPUs */

static void *take_and_put_back(void *arg)
{
	struct owner *owner = arg;

	/* Relaxed: a request. */
	while (!atomic_load_relaxed(&owner->stop)) {
		void *item = local_queue_pop_owner(owner->queue);

		assert_true(local_queue_push_owner(owner->queue, item));
	}
	return NULL;
}

static void owner_init(struct owner *owner, unsigned items)
{
	size_t size = local_queue_size(2 * SHORT_QUEUE);

	owner->queue = aligned_alloc(CACHE_PAIR, size);
	assert_non_null(owner->queue);
	local_queue_init(owner->queue, 2 * SHORT_QUEUE, 0);
	for (unsigned i = 0; i < items; i++)
		assert_true(local_queue_push_owner(owner->queue, owner));
	atomic_init(&owner->stop, 0);
}

static void owner_stop(struct owner *owner)
{
	atomic_store_relaxed(&owner->stop, 1);
	assert_int_equal(pthread_join(owner->thread, NULL), 0);
}

/* Watch @owner @times times. Return: how often its queue would have been passed by. */
static unsigned watch(struct owner *owner, unsigned times, unsigned *watches)
{
	unsigned passed = 0;

	for (unsigned i = 0; i < times; i++)
		passed += works_off(&pool, owner->queue, watches);
	return passed;
}

/* Some seconds of watching. */
#define WATCHES_MOST 10000000u

/* Start an owner, and wait until its queue would be passed by. With a single CPU, the owner runs
 * now and then. */
static void owner_start(struct owner *owner)
{
	unsigned watches, passed = 0;

	owner_init(owner, SHORT_QUEUE);
	assert_int_equal(
		pthread_create(&owner->thread, NULL, take_and_put_back, owner),
		0);
	for (unsigned i = 0; passed == 0 && i < WATCHES_MOST; i++) {
		watches = 1;
		passed = watch(owner, 1, &watches);
	}
	if (passed == 0)
		owner_stop(owner);
	assert_int_equal(passed, 1);
}

TEST(works_off__owner_takes__queue_is_passed_by_at_most_watches_times)
{
	struct owner owner;
	unsigned watches = 3;

	owner_start(&owner);
	assert_true(watch(&owner, 1000, &watches) <= 3);
	assert_int_equal(watches, 0);
	owner_stop(&owner);
	free(owner.queue);
}

/* As an owner whose thread the kernel has taken off its CPU: the step of the search that
 * follows its last take steals. */
TEST(works_off__owner_has_stopped__queue_is_not_passed_by)
{
	struct owner owner;
	unsigned watches = 1;

	owner_start(&owner);
	owner_stop(&owner);
	assert_int_equal(watch(&owner, 1, &watches), 0);
	assert_int_equal(watches, 0);
	free(owner.queue);
}

TEST(works_off__empty_queue__is_not_watched)
{
	struct owner owner;
	unsigned watches = 1;

	owner_init(&owner, 0);
	assert_int_equal(watch(&owner, 1, &watches), 0);
	assert_int_equal(watches, 1);
	free(owner.queue);
}

TEST(works_off__longer_queue__is_not_watched)
{
	struct owner owner;
	unsigned watches = 1;

	owner_init(&owner, SHORT_QUEUE + 1);
	assert_int_equal(watch(&owner, 1, &watches), 0);
	assert_int_equal(watches, 1);
	free(owner.queue);
}

TEST(works_off__workers_share_cpus__queue_is_not_watched)
{
	struct owner owner;
	unsigned watches = 1;

	owner_init(&owner, SHORT_QUEUE);
	atomic_store_relaxed(&pool.idle.sharing_cpus, 1);
	assert_int_equal(watch(&owner, 1, &watches), 0);
	assert_int_equal(watches, 1);
	atomic_store_relaxed(&pool.idle.sharing_cpus, 0);
	free(owner.queue);
}
