/* SPDX-License-Identifier: MIT */
/**
 * model_drive.c - workers that sleep elsewhere: driven ones, and in pollers
 *
 * The real loops of core/loop/loop.c with core/driver/pollers.c. A descriptor is a word
 * that a thread sleeps on until it is set; the drivers here are what drive.c
 * makes of eventfd, timerfd and epoll. No wake-up may be lost, and when a
 * worker goes on, nobody is inside its callback any more.
 *
 * An execution takes some hundred steps: all cases are run at random, each with
 * few deviations and with many.
 */
#include "tests/model/workers.h"

static unsigned results[TASKS]; /* written by the task, plain */
static unsigned polls[TASKS];
static unsigned expected; /* tasks that are run */
static unsigned ended;
static struct timer timer;

/* ---- descriptors ---------------------------------------------------------- */

struct descriptor {
	atomic_u32 readable;
	unsigned writers; /* written inside the callback, plain */
};

static struct descriptor driven; /* of worker 0, caller-driven */
static struct descriptor pollable;
static struct descriptor io; /* where an event comes in */

static void descriptor_signal(struct descriptor *it)
{
	explore_write(it->writers, 1);
	atomic_store_release(&it->readable, 1);
	explore_futex_wake(&it->readable, 1);
}

static void descriptor_wait(struct descriptor *it, uint64_t deadline_ns)
{
	while (atomic_load_acquire(&it->readable) == 0) {
		if (deadline_ns == EXPLORE_NEVER)
			explore_futex_wait(&it->readable, 0);
		else
			explore_futex_wait_until(&it->readable, 0, deadline_ns);
		if (explore_now_ns() >= deadline_ns)
			return;
	}
}

static bool descriptor_read(struct descriptor *it)
{
	return atomic_exchange_acquire(&it->readable, 0) != 0;
}

/* ---- tasks ---------------------------------------------------------------- */

static void finished(const struct skua_task *task)
{
	/* Nobody is inside: see the top. */
	explore_write(driven.writers, 0);
	ended++;
	explore_write(results[task_number(task)], task_number(task) + 1);
}

static enum skua_poll finish(struct skua_task *task)
{
	explore_assert(polls[task_number(task)]++ == 0);
	finished(task);
	return SKUA_DONE;
}

static enum skua_poll spawn_one(struct skua_task *task)
{
	explore_assert(workers_spawn(1) == 0);
	return finish(task);
}

/* Waits for a timer. */
static enum skua_poll wait_once(struct skua_task *task)
{
	if (polls[task_number(task)]++ == 0) {
		explore_assert(timers_add(current_worker, &timer, task,
					  EXPLORE_START_NS + 5));
		return SKUA_PENDING;
	}
	explore_assert(explore_now_ns() >= EXPLORE_START_NS + 5);
	finished(task);
	return SKUA_DONE;
}

/* ---- a caller that drives ------------------------------------------------- */

static void wake_driver(void *ctx)
{
	descriptor_signal(ctx);
}

/* As a loop around skua_runtime_poll(), until all tasks have ended. */
static void drives(void)
{
	while (ended < expected) {
		descriptor_read(&driven);
		if (!loop_drive(&workers[0], 0) && ended < expected)
			descriptor_wait(&driven, pool_next_timer_ns(&pool));
	}
}

static void spawns(void)
{
	explore_assert(workers_spawn(0) == 0);
}

static void spawns_1(void)
{
	explore_assert(workers_spawn(1) == 0);
}

static void spawns_two(void)
{
	spawns();
	spawns_1();
}

/* ---- a poller ------------------------------------------------------------- */

static struct skua_poller poller;
static unsigned events;     /* that the poller found */
static unsigned event_task; /* that it then spawns */

static int look_for_event(struct skua_poller *self)
{
	(void)self;
	descriptor_read(&pollable);
	if (!descriptor_read(&io))
		return 0;
	events++;
	explore_assert(workers_spawn(event_task) == 0);
	return 1;
}

/* One sleep for both, as epoll does it. */
static void park_for_event(struct skua_poller *self, uint64_t deadline_ns)
{
	(void)self;
	explore_assert(deadline_ns == EXPLORE_NEVER);
	descriptor_wait(&pollable, deadline_ns);
}

static void unpark_poller(struct skua_poller *self)
{
	(void)self;
	descriptor_signal(&pollable);
}

/* The event wakes the thread that sleeps in the poller. */
static void event_comes(void)
{
	atomic_store_release(&io.readable, 1);
	atomic_store_release(&pollable.readable, 1);
	explore_futex_wake(&pollable.readable, 1);
}

static void event_comes_then_ends(void)
{
	event_comes();
	/* Its task is spawned by the poller, and joined as any other. */
	while (atomic_load_acquire(task_state(&tasks[1])) == TASK_IDLE)
		cpu_relax();
	workers_join(1);
	pool_stop(&pool);
}

static void spawns_joins_and_ends(void)
{
	spawns();
	workers_join(0);
	pool_stop(&pool);
}

/* As skua_runtime_add_poller(). */
static void add_poller(void)
{
	pollers_add(&workers[0].pollers, &poller);
	atomic_fence_seq_cst();
	idle_wake_worker(&pool.idle, 0);
}

static void adds_poller_with_event(void)
{
	atomic_store_release(&io.readable, 1);
	add_poller();
}

static void adds_poller_then_event(void)
{
	add_poller();
	event_comes_then_ends();
}

/* ---- fixture -------------------------------------------------------------- */

static void descriptor_reset(struct descriptor *it)
{
	atomic_init(&it->readable, 0);
	it->writers = 0;
}

static void setup(unsigned count, skua_task_fn first, unsigned worker_count)
{
	workers_reset(first, finish, SENTINEL_NEVER);
	workers_place(worker_count, 1);
	memset(polls, 0, sizeof(polls));
	memset(results, 0, sizeof(results));
	memset(&timer, 0, sizeof(timer));
	descriptor_reset(&driven);
	descriptor_reset(&pollable);
	descriptor_reset(&io);
	poller = (struct skua_poller){ .poll = look_for_event,
				       .park = park_for_event,
				       .unpark = unpark_poller };
	events = 0;
	event_task = 1;
	expected = count;
	ended = 0;
}

/* As drive_init(). */
static void setup_driven(unsigned count, skua_task_fn first)
{
	setup(count, first, 1);
	sleepers[0].parker.wake = wake_driver;
	sleepers[0].parker.ctx = &driven;
	loop_drive(&workers[0], 0);
}

static void setup_drive_one(void)
{
	setup_driven(1, finish);
}

static void setup_drive_two(void)
{
	setup_driven(2, finish);
}

static void setup_drive_child(void)
{
	setup_driven(2, spawn_one);
}

static void setup_drive_timer(void)
{
	setup_driven(1, wait_once);
}

static void setup_drive_event(void)
{
	setup_driven(1, finish);
	event_task = 0;
}

/* A waker that returns before it has called: its wake-up is lost. */
static void wake_nobody(void *ctx)
{
	(void)ctx;
}

static void setup_drive_unheard(void)
{
	setup_driven(1, finish);
	sleepers[0].parker.wake = wake_nobody;
}

static void setup_poller(unsigned count, unsigned worker_count)
{
	setup(count, finish, worker_count);
	pollers_add(&workers[0].pollers, &poller);
}

static void setup_poller_alone(void)
{
	setup_poller(1, 1);
}

static void setup_poller_and_worker(void)
{
	setup_poller(1, 2);
}

static void setup_event(unsigned worker_count)
{
	setup_poller(0, worker_count);
}

static void setup_event_alone(void)
{
	setup_event(1);
}

static void setup_event_and_worker(void)
{
	setup_event(2);
}

static void setup_event_added(void)
{
	setup(0, finish, 1);
}

static void check(void)
{
	for (unsigned i = 0; i < expected; i++)
		explore_assert(explore_read(results[i]) == i + 1);
}

static void check_event(void)
{
	explore_assert(events == 1);
	explore_assert(explore_read(results[1]) == 2);
}

/* ---- cases ---------------------------------------------------------------- */

#define FEW(EXECUTIONS)  EXPLORE_WITHIN(3, 2), .random = (EXECUTIONS)
#define MANY(EXECUTIONS) EXPLORE_WITHIN(12, 6), .random = (EXECUTIONS)

static const struct explore_case cases[] = {
	{ EXPLORE_PASS("drive_one", setup_drive_one, check, drives, spawns),
	  EXPLORE_WITHIN(2, 1) },
	{ EXPLORE_PASS("drive_one__many", setup_drive_one, check, drives,
		       spawns),
	  MANY(20000) },
	{ EXPLORE_PASS("drive_two_in_turn__few", setup_drive_two, check, drives,
		       spawns_two),
	  FEW(20000) },
	{ EXPLORE_PASS("drive_two_producers__few", setup_drive_two, check,
		       drives, spawns, spawns_1),
	  FEW(40000) },
	{ EXPLORE_PASS("drive_two_producers__many", setup_drive_two, check,
		       drives, spawns, spawns_1),
	  MANY(40000) },
	{ EXPLORE_PASS("drive_child__few", setup_drive_child, check, drives,
		       spawns),
	  FEW(20000) },
	{ EXPLORE_PASS("drive_timer__few", setup_drive_timer, check, drives,
		       spawns),
	  FEW(20000) },
	{ EXPLORE_PASS("drive_added_poller", setup_drive_event, check, drives,
		       adds_poller_with_event),
	  EXPLORE_WITHIN(2, 1) },
	{ EXPLORE_BUG("drive_unheard", "nobody can run", setup_drive_unheard,
		      check, drives, spawns) },

	{ EXPLORE_PASS("poller_alone__few", setup_poller_alone, check,
		       workers_run_0, spawns_joins_and_ends),
	  FEW(20000) },
	{ EXPLORE_PASS("poller_alone__many", setup_poller_alone, check,
		       workers_run_0, spawns_joins_and_ends),
	  MANY(20000) },
	{ EXPLORE_PASS("poller_and_worker__few", setup_poller_and_worker, check,
		       workers_run_0, workers_run_1, spawns_joins_and_ends),
	  FEW(20000) },
	{ EXPLORE_PASS("event_alone__few", setup_event_alone, check_event,
		       workers_run_0, event_comes_then_ends),
	  FEW(20000) },
	{ EXPLORE_PASS("event_alone__many", setup_event_alone, check_event,
		       workers_run_0, event_comes_then_ends),
	  MANY(20000) },
	{ EXPLORE_PASS("event_and_worker__few", setup_event_and_worker,
		       check_event, workers_run_0, workers_run_1,
		       event_comes_then_ends),
	  FEW(20000) },
	{ EXPLORE_PASS("event_of_added_poller__few", setup_event_added,
		       check_event, workers_run_0, adds_poller_then_event),
	  FEW(20000) },
	{ EXPLORE_PASS("event_of_added_poller__many", setup_event_added,
		       check_event, workers_run_0, adds_poller_then_event),
	  MANY(20000) },
};

EXPLORE_MAIN(cases)
