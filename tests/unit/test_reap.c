/* SPDX-License-Identifier: MIT */
/**
 * test_reap.c - when a worker that has tasks looks for events
 *
 * In most tests the thread of the test acts as the worker of a driven runtime, and makes up
 * the time and the polls.
 */
#include <sys/eventfd.h>

#include "core/loop/loop.h"
#include "core/loop/worker.h"
#include "core/runtime/runtime.h"
#include "tests/unit/pairs.h"
#include "tests/unit/tasks.h"

#define QUEUED 100u

/* ---- a worker, its time and its polls ---------------------------------------- */

struct scene {
	struct skua_runtime *rt;
	struct worker *w;
	struct driver *driver;
	int fd; /* attached */
	uint64_t now_ns;
	struct skua_task tasks[QUEUED]; /* queued, and never polled */
};

static unsigned delivered;

static void count_events(struct driver *driver, uint64_t data, uint32_t events)
{
	(void)driver, (void)data;
	delivered += (events & EPOLLIN) != 0;
}

static void event(const struct scene *it)
{
	uint64_t one = 1;

	assert_int_equal(write(it->fd, &one, sizeof(one)), sizeof(one));
}

/* Let the worker come to the end of a tick. Return: did it look for events? */
static bool looks(struct scene *it, uint64_t later_ns)
{
	it->now_ns += later_ns;
	reap_owner(it->w, it->now_ns, true);
	return atomic_load_relaxed(&it->driver->looked_ns) == it->now_ns;
}

static void polls(const struct scene *it, unsigned count)
{
	it->w->area.counters.tasks_polled += count;
}

static void scene_fill(struct scene *it)
{
	for (unsigned i = 0; i < QUEUED; i++)
		assert_true(
			local_queue_push_owner(it->w->queue, &it->tasks[i]));
}

static void scene_empty(const struct scene *it)
{
	while (local_queue_pop_owner(it->w->queue))
		;
}

/* A worker with a full queue, which has just looked in vain. */
static void scene_begin(struct scene *it)
{
	const struct skua_config cfg = { .size = sizeof(cfg),
					 .flags = SKUA_CALLER_DRIVEN };

	assert_int_equal(skua_runtime_create(&it->rt, &cfg, NULL), 0);
	it->w = it->rt->pool.workers[0];
	it->driver = &it->rt->pool.drivers[0];
	it->driver->deliver = count_events;
	it->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	it->now_ns = skua_now_ns();
	delivered = 0;
	assert_int_equal(driver_attach(it->driver, it->fd, 1), 0);
	/* The first event: the descriptor can be written. */
	assert_true(looks(it, DRIVER_LOOK_NS));
	scene_fill(it);
	assert_true(looks(it, DRIVER_LOOK_NS));
	assert_int_equal(delivered, 0);
}

/* The same, and the worker has just taken an event. */
static void scene_begin_round(struct scene *it)
{
	scene_begin(it);
	event(it);
	assert_true(looks(it, DRIVER_LOOK_NS));
	assert_int_equal(delivered, 1);
}

static void scene_end(struct scene *it)
{
	scene_empty(it);
	assert_int_equal(driver_detach(it->driver, it->fd), 0);
	close(it->fd);
	destroy(it->rt);
}

/* The worker looks again when it has polled what it had, and not before. */
static void expect_round(struct scene *it)
{
	polls(it, QUEUED - 1);
	assert_false(looks(it, DRIVER_LOOK_NS));
	polls(it, 1);
	assert_true(looks(it, 1));
}

/* ---- rounds ------------------------------------------------------------------ */

TEST(reap__as_many_polls_as_tasks__looks_25_us_after_the_last_look)
{
	struct scene it;

	scene_begin_round(&it);
	event(&it);
	expect_round(&it);
	assert_int_equal(delivered, 2);
	/* The next round. */
	expect_round(&it);
	scene_end(&it);
}

TEST(reap__round_is_over__not_before_25_us)
{
	struct scene it;

	scene_begin_round(&it);
	polls(&it, QUEUED);
	assert_false(looks(&it, DRIVER_LOOK_NS - 1));
	assert_true(looks(&it, 1));
	scene_end(&it);
}

TEST(reap__long_round__looks_after_400_us)
{
	struct scene it;

	scene_begin_round(&it);
	event(&it);
	assert_false(looks(&it, DRIVER_ROUND_NS - 1));
	assert_true(looks(&it, 1));
	assert_int_equal(delivered, 2);
	scene_end(&it);
}

/* Tasks that the worker spawned or woke meanwhile do not count. */
TEST(reap__more_tasks_meanwhile__the_round_ends_as_before)
{
	struct skua_task more[QUEUED];
	struct scene it;

	scene_begin_round(&it);
	for (unsigned i = 0; i < QUEUED; i++)
		assert_true(local_queue_push_owner(it.w->queue, &more[i]));
	assert_false(looks(&it, DRIVER_LOOK_NS));
	polls(&it, QUEUED);
	assert_true(looks(&it, 1));
	scene_end(&it);
}

/* Nor do tasks that others have stolen. */
TEST(reap__tasks_are_stolen__the_round_is_shorter)
{
	struct scene it;

	scene_begin_round(&it);
	for (unsigned i = 0; i < QUEUED - 10; i++)
		assert_non_null(local_queue_pop_owner(it.w->queue));
	assert_false(looks(&it, DRIVER_LOOK_NS));
	polls(&it, 9);
	assert_false(looks(&it, 1));
	polls(&it, 1);
	assert_true(looks(&it, 1));
	scene_end(&it);
}

/* A look in vain begins no round: events soon after it would wait for two. */
TEST(reap__last_look_in_vain__looks_after_25_us)
{
	struct scene it;

	scene_begin_round(&it);
	polls(&it, QUEUED);
	assert_true(looks(&it, DRIVER_LOOK_NS));
	assert_true(looks(&it, DRIVER_LOOK_NS));
	event(&it);
	assert_true(looks(&it, DRIVER_LOOK_NS));
	assert_int_equal(delivered, 2);
	assert_false(looks(&it, DRIVER_LOOK_NS));
	scene_end(&it);
}

/* Events that end a sleep begin a round as well. */
TEST(reap__events_ended_a_sleep__a_round_begins)
{
	struct driver_batch batch = { .count = 2, .slept = true };
	struct scene it;

	scene_begin(&it);
	for (unsigned i = 0; i < 2; i++)
		batch.events[i] = (struct epoll_event){ EPOLLIN, { .u64 = 1 } };
	reap_deliver_owner(it.w, &batch);
	assert_int_equal(delivered, 2);
	expect_round(&it);
	scene_end(&it);
}

TEST(reap__another_worker_leads__looks_after_100_us_or_in_a_round_400_us)
{
	struct scene it;

	scene_begin_round(&it);
	atomic_store_relaxed(&it.driver->leader, 2);
	assert_false(looks(&it, DRIVER_ROUND_NS - 1));
	assert_true(looks(&it, 1));
	polls(&it, QUEUED);
	assert_false(looks(&it, DRIVER_HELP_NS - 1));
	assert_true(looks(&it, 1));
	/* It sleeps in the driver. */
	atomic_store_relaxed(&it.driver->leader, 2 | DRIVER_ASLEEP);
	assert_false(looks(&it, DRIVER_ROUND_NS));
	atomic_store_relaxed(&it.driver->leader, 0);
	scene_end(&it);
}

/* ---- urgent and bound tasks -------------------------------------------------- */

static void expect_prioritised(bool urgent)
{
	struct counter counter = COUNTER_INIT;
	struct scene it;

	scene_begin(&it);
	scene_empty(&it);
	assert_int_equal(skua_task_set_urgent(&counter.task, urgent), 0);
	assert_int_equal(atomic_load_relaxed(&it.rt->pool.prioritises), 0);
	assert_int_equal(urgent ? skua_task_spawn(it.rt, &counter.task)
				: skua_task_spawn_on(it.rt, 0, &counter.task),
			 0);
	while (skua_runtime_poll(it.rt, 0))
		;
	join(&counter.task);
	scene_fill(&it);
	it.now_ns = skua_now_ns() + DRIVER_ROUND_NS;
	event(&it);
	assert_true(looks(&it, 0));
	assert_int_equal(delivered, 1);
	/* In a round. */
	assert_false(looks(&it, DRIVER_LOOK_NS - 1));
	assert_true(looks(&it, 1));
	atomic_store_relaxed(&it.rt->pool.prioritises, 0);
	assert_false(looks(&it, DRIVER_LOOK_NS));
	scene_end(&it);
}

TEST(reap__a_task_was_urgent__looks_after_25_us_in_a_round)
{
	expect_prioritised(true);
}

TEST(reap__a_task_was_bound__looks_after_25_us_in_a_round)
{
	expect_prioritised(false);
}

/* ---- a worker with a thread -------------------------------------------------- */

/* Polls of the only worker, which never sleeps meanwhile. Each takes at least POLL_NS, so
 * that the times above are numbers of polls, which a busy machine can only make smaller. */
#define POLL_NS UINT64_C(4000)
#define ROUNDS  50u

static uint64_t polls_begun;
static atomic_u32 pingers_done;

static void poll_begins(void)
{
	uint64_t end_ns = skua_now_ns() + POLL_NS;

	polls_begun++;
	while (skua_now_ns() < end_ns)
		;
}

static enum skua_poll yield_often(struct skua_task *self)
{
	(void)self;
	poll_begins();
	return atomic_load_relaxed(&pingers_done) == 2 ? SKUA_DONE : SKUA_YIELD;
}

/* Writes to itself, and reads when the event has come. */
struct pinger {
	struct skua_fiber fiber; /* first: a fiber is its pinger */
	struct pair pair;
	uint64_t most; /* polls of others between a write and its read */
	unsigned wrong;
};

static void ping(struct skua_fiber *self)
{
	struct pinger *it = (struct pinger *)self;

	for (unsigned i = 0; i < ROUNDS; i++) {
		uint64_t begun = polls_begun;
		char byte;

		it->wrong +=
			skua_io_read_try(it->pair.ends[0], &byte, 1) != -EAGAIN;
		it->wrong += skua_io_write_try(it->pair.ends[1], "x", 1) != 1;
		it->wrong += skua_io_read(it->pair.ends[0], &byte, 1,
					  SKUA_FOREVER_NS) != 1;
		if (polls_begun - begun > it->most)
			it->most = polls_begun - begun;
	}
	atomic_fetch_add_relaxed(&pingers_done, 1);
}

/* Return the most polls of others between an event and its task. */
static uint64_t most_polls(unsigned pingers, bool urgent)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct pinger pings[2] = { 0 };
	struct skua_task others[QUEUED];
	uint64_t most = 0;

	polls_begun = 0;
	atomic_store_relaxed(&pingers_done, 2 - pingers);
	for (unsigned i = 0; i < QUEUED; i++) {
		others[i] = (struct skua_task)SKUA_TASK_INIT(yield_often);
		spawn(rt, &others[i]);
	}
	for (unsigned i = 0; i < pingers; i++) {
		pair_open(rt, &pings[i].pair, PAIR_UNIX);
		assert_int_equal(skua_fiber_init(&pings[i].fiber, ping, 0), 0);
		assert_int_equal(
			skua_task_set_urgent(&pings[i].fiber.task, urgent), 0);
		spawn(rt, &pings[i].fiber.task);
	}
	for (unsigned i = 0; i < pingers; i++) {
		join(&pings[i].fiber.task);
		assert_int_equal(pings[i].wrong, 0);
		if (pings[i].most > most)
			most = pings[i].most;
		pair_close(&pings[i].pair);
	}
	for (unsigned i = 0; i < QUEUED; i++)
		join(&others[i]);
	destroy(rt);
	printf("%u pingers%s: at most %u polls\n", pingers,
	       urgent ? ", urgent" : "", (unsigned)most);
	return most;
}

/* An event waits for a round until the worker sees it, for another one until its task runs,
 * and for some polls more until the ticks end. */
TEST(reap__worker_with_a_full_queue__an_event_waits_for_two_rounds)
{
	assert_true(most_polls(2, false) <= 2 * QUEUED + 40);
}

/* The event of an urgent task waits only for 25 us and a tick. A round of one event is over
 * soon. */
TEST(reap__urgent_task__its_event_waits_for_25_us)
{
	assert_true(most_polls(2, true) <= QUEUED / 2);
}

/* ---- the end of a search ------------------------------------------------------ */

static uint64_t parks_of(const struct skua_runtime *rt)
{
	struct skua_stats stats;

	assert_int_equal(skua_runtime_stats(rt, &stats), 0);
	return stats.total.io_parks;
}

/* Reads an eventfd until it is closed. */
struct event_reader {
	struct skua_fiber fiber; /* first: a fiber is its reader */
	struct skua_io io;
};

static void read_events(struct skua_fiber *self)
{
	struct event_reader *it = (struct event_reader *)self;
	uint64_t count;

	while (skua_io_read(it->io, &count, sizeof(count), SKUA_FOREVER_NS) > 0)
		;
}

/* Each event begins another search, for which there is no time, but a great number of
 * steps. They would take longer than the time to the next event. */
TEST(reap__leader_whose_search_time_is_over__sleeps)
{
	const struct skua_config cfg = {
		.size = sizeof(cfg),
		.workers = 1,
		.spin_ns = 1,
		.steal_attempts = SKUA_MAX_STEAL_ATTEMPTS,
	};
	const struct timespec pause = { 0, 200000 };
	const uint64_t one = 1;
	struct skua_runtime *rt;
	struct event_reader it;

	assert_int_equal(skua_runtime_create(&rt, &cfg, NULL), 0);
	it.io = attached(rt, eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
	assert_int_equal(skua_fiber_init(&it.fiber, read_events, 0), 0);
	spawn(rt, &it.fiber.task);
	for (unsigned n = 0; n < 10000 && parks_of(rt) < 10; n++) {
		assert_int_equal(write(it.io.fd, &one, sizeof(one)),
				 sizeof(one));
		nanosleep(&pause, NULL);
	}
	assert_true(parks_of(rt) >= 10);
	io_close(it.io);
	join(&it.fiber.task);
	destroy(rt);
}
