/* SPDX-License-Identifier: MIT */
/* test_drive.c - a runtime without threads, and pollers: allowed callers */
#include <poll.h>
#include <pthread.h>

#include "tests/unit/tasks.h"

static struct skua_runtime *driven_runtime(void)
{
	const struct skua_config cfg = { .size = sizeof(cfg),
					 .flags = SKUA_CALLER_DRIVEN };
	struct skua_runtime *rt = NULL;
	struct skua_error err = { 0, "" };

	if (skua_runtime_create(&rt, &cfg, &err) != 0)
		fail_msg("%s", err.text);
	return rt;
}

static int poll_in_poll(struct skua_task *self, void *arg)
{
	(void)self;
	return skua_runtime_poll(arg, 0);
}

TEST(runtime_poll__null_threads_or_worker__refused)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct skua_runtime *driven = driven_runtime();

	assert_int_equal(skua_runtime_poll(NULL, 0), -EINVAL);
	assert_int_equal(skua_runtime_eventfd(NULL), -EINVAL);
	assert_int_equal(skua_runtime_poll(rt, 0), -EPERM);
	assert_int_equal(skua_runtime_eventfd(rt), -EPERM);
	assert_int_equal(call_in_poll(rt, poll_in_poll, driven), -EDEADLK);
	destroy(rt);
	destroy(driven);
}

struct parks {
	unsigned parked;
	unsigned unparked;
};

static void note_park(void *ctx, unsigned worker)
{
	((struct parks *)ctx)->parked += 1 + worker;
}

static void note_unpark(void *ctx, unsigned worker)
{
	((struct parks *)ctx)->unparked += 1 + worker;
}

/* It sleeps from one call to the next, and first from its creation on. */
TEST(runtime_poll__each_call__is_between_two_parks)
{
	struct parks parks = { 0, 0 };
	const struct skua_hooks hooks = { .worker_park = note_park,
					  .worker_unpark = note_unpark,
					  .ctx = &parks };
	struct skua_runtime *rt =
		RUNTIME(.hooks = &hooks, .flags = SKUA_CALLER_DRIVEN);
	struct skua_worker_stats stats;

	for (unsigned n = 0; n < 10; n++) {
		assert_int_equal(parks.parked, n + 1);
		assert_int_equal(parks.unparked, n);
		assert_int_equal(skua_runtime_poll(rt, 0), 0);
	}
	assert_int_equal(skua_runtime_worker_stats(rt, 0, &stats), 0);
	assert_int_equal(stats.times_parked, 11);
	destroy(rt);
}

static void *poll_it(void *arg)
{
	return (void *)(intptr_t)skua_runtime_poll(arg, 0);
}

TEST(runtime_poll__another_thread_is_in_it__ebusy)
{
	struct skua_runtime *rt = driven_runtime();
	struct holder holder = HOLDER_INIT;
	pthread_t thread;
	void *code;

	spawn(rt, &holder.task);
	assert_int_equal(pthread_create(&thread, NULL, poll_it, rt), 0);
	gate_wait(&holder.running);
	assert_int_equal(skua_runtime_poll(rt, 0), -EBUSY);
	gate_open(&holder.go_on);
	assert_int_equal(pthread_join(thread, &code), 0);
	assert_in_range((intptr_t)code, 0, 1);
	destroy(rt);
}

/* wait_until_readable - until there is something to do */
static void wait_until_readable(struct skua_runtime *rt)
{
	struct pollfd fd = { .fd = skua_runtime_eventfd(rt), .events = POLLIN };

	assert_true(fd.fd >= 0);
	while (poll(&fd, 1, -1) != 1)
		;
}

TEST(runtime_poll__tasks_spawned__run_on_this_thread)
{
	struct skua_runtime *rt = driven_runtime();
	struct counter counter = COUNTER_INIT;

	assert_int_equal(skua_runtime_workers(rt), 1);
	for (unsigned n = 1; n <= 100; n++) {
		spawn(rt, &counter.task);
		wait_until_readable(rt);
		while (skua_runtime_poll(rt, 0) == 1)
			;
		assert_int_equal(counter.polls, n);
		join(&counter.task);
	}
	assert_int_equal(skua_worker_index(rt), -ENOENT);
	destroy(rt);
}

static enum skua_poll yield_until_open(struct skua_task *self)
{
	return gate_is_open(&((struct waiter *)self)->end) ? SKUA_DONE
							   : SKUA_YIELD;
}

TEST(runtime_poll__more_to_do__1_at_the_deadline)
{
	struct skua_runtime *rt = driven_runtime();
	struct waiter it = { .task = SKUA_TASK_INIT(yield_until_open) };

	spawn(rt, &it.task);
	for (unsigned n = 0; n < 10; n++)
		assert_int_equal(skua_runtime_poll(rt, 0), 1);
	gate_open(&it.end);
	destroy(rt);
	join(&it.task);
}

/* ---- pollers -------------------------------------------------------------- */

/* Looks a hundred times. */
struct looker {
	struct skua_poller poller; /* first: a poller is its looker */
	atomic_u32 looks;
	struct gate done;
};

static int look(struct skua_poller *self)
{
	struct looker *it = (struct looker *)self;

	if (atomic_fetch_add_release(&it->looks, 1) < 99)
		return 0;
	gate_open(&it->done);
	return SKUA_POLLER_DONE;
}

static void no_park(struct skua_poller *self, uint64_t deadline_ns)
{
	(void)self;
	(void)deadline_ns;
}

TEST(add_poller__each_mistake__einval)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct skua_poller good = { .poll = look };
	struct skua_poller without_poll = { .poll = NULL };
	struct skua_poller without_unpark = { .poll = look, .park = no_park };

	assert_int_equal(skua_runtime_add_poller(NULL, 0, &good), -EINVAL);
	assert_int_equal(skua_runtime_add_poller(rt, 0, NULL), -EINVAL);
	assert_int_equal(skua_runtime_add_poller(rt, 1, &good), -EINVAL);
	assert_int_equal(skua_runtime_add_poller(rt, 0, &without_poll),
			 -EINVAL);
	assert_int_equal(skua_runtime_add_poller(rt, 0, &without_unpark),
			 -EINVAL);
	destroy(rt);
}

TEST(add_poller__shut_down__eshutdown)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct skua_poller good = { .poll = look };

	assert_int_equal(
		skua_runtime_shutdown(rt, SKUA_FOREVER_NS, SKUA_SHUTDOWN_RUN),
		0);
	assert_int_equal(skua_runtime_add_poller(rt, 0, &good), -ESHUTDOWN);
	destroy(rt);
}

TEST(add_poller__worker_idle__looks_until_it_says_done)
{
	struct skua_runtime *rt = runtime_new(2, 0);
	struct counter counter = COUNTER_INIT;
	struct looker it = { .poller = { .poll = look } };

	assert_int_equal(skua_runtime_add_poller(rt, 1, &it.poller), 0);
	gate_wait(&it.done);
	for (unsigned n = 0; n < 100; n++) {
		spawn(rt, &counter.task);
		join(&counter.task);
	}
	destroy(rt);
	assert_int_equal(atomic_load_relaxed(&it.looks), 100);
}

/* Adds another poller, as the last step before its worker goes to sleep. */
struct adder {
	struct skua_poller poller; /* first: a poller is its adder */
	struct skua_runtime *rt;
	struct looker next;
	int code;
};

static int add_and_end(struct skua_poller *self)
{
	struct adder *it = (struct adder *)self;

	it->code = skua_runtime_add_poller(it->rt, 0, &it->next.poller);
	return SKUA_POLLER_DONE;
}

TEST(add_poller__worker_about_to_sleep__looks)
{
	for (unsigned driven = 0; driven < 2; driven++) {
		struct skua_runtime *rt =
			driven ? driven_runtime() : runtime_new(1, 0);
		struct adder it = { .poller = { .poll = add_and_end },
				    .rt = rt,
				    .next = { .poller = { .poll = look } } };

		assert_int_equal(skua_runtime_add_poller(rt, 0, &it.poller), 0);
		if (driven) {
			assert_int_equal(skua_runtime_poll(rt, SKUA_FOREVER_NS),
					 0);
			assert_true(gate_is_open(&it.next.done));
		}
		gate_wait(&it.next.done);
		assert_int_equal(it.code, 0);
		destroy(rt);
	}
}

/* ---- a poller beside a task that yields alone ------------------------------ */

struct displacement {
	struct skua_poller poller; /* first: a poller is its displacement */
	struct skua_task waiter;
	struct skua_task yielder;
	struct skua_waker waker;
	atomic_u32 yields;
	bool woken;
};

static struct displacement displacement;

/* Takes part in one tick alone: long, so that a tick ends after it. */
static enum skua_poll yield_long(struct skua_task *self)
{
	uint64_t end_ns = skua_now_ns() + 100000;

	(void)self;
	while (skua_now_ns() < end_ns)
		cpu_relax();
	return atomic_fetch_add_relaxed(&displacement.yields, 1) == 0
		       ? SKUA_YIELD
		       : SKUA_DONE;
}

/* First waits; once woken, waits in its poll for the yielder's second poll,
 * which only the other worker can give it. */
static enum skua_poll wait_for_yielder(struct skua_task *self)
{
	if (!displacement.woken) {
		displacement.waker = skua_task_waker(self);
		return SKUA_PENDING;
	}
	while (atomic_load_relaxed(&displacement.yields) < 2)
		sched_yield();
	return SKUA_DONE;
}

static int wake_after_yield(struct skua_poller *self)
{
	(void)self;
	if (displacement.woken ||
	    atomic_load_relaxed(&displacement.yields) == 0)
		return 0;
	displacement.woken = true;
	skua_waker_wake(displacement.waker);
	return 1;
}

TEST(poller__wakes_before_lone_yielder__another_worker_is_told)
{
	struct skua_config cfg = SKUA_CONFIG_INIT;
	struct skua_runtime *rt;
	struct displacement *d = &displacement;

	cfg.workers = 2;
	cfg.lifo_steal_delay_ns = SKUA_LIFO_PRIVATE;
	cfg.spin_ns = SKUA_SPIN_NEVER;
	assert_int_equal(skua_runtime_create(&rt, &cfg, NULL), 0);
	d->poller.poll = wake_after_yield;
	atomic_init(&d->yields, 0);
	skua_task_init(&d->waiter, wait_for_yielder);
	skua_task_init(&d->yielder, yield_long);
	assert_int_equal(skua_task_spawn(rt, &d->waiter), 0);
	wait_until_waiting(&d->waiter);
	/* Worker 0 has to be polled, and so never sleeps: it searches, so that
	 * a spawn wakes nobody else. */
	assert_int_equal(skua_runtime_add_poller(rt, 0, &d->poller), 0);
	assert_int_equal(skua_task_spawn(rt, &d->yielder), 0);
	assert_int_equal(skua_task_join(&d->yielder), 0);
	assert_int_equal(skua_task_join(&d->waiter), 0);
	assert_int_equal(skua_runtime_destroy(rt), 0);
}
