/* SPDX-License-Identifier: MIT */
/* test_park_wakes.c - a poller that wakes tasks while the worker sleeps in it */
#include "core/runtime/runtime.h"
#include "tests/unit/tasks.h"

/* Sleeps as a program's own event source does, and wakes what it has seen. */
struct source {
	struct skua_poller poller; /* first: a poller is its source */
	struct skua_waker wakers[3];
	unsigned count; /* of them; read in a park, if armed */
	atomic_u32 armed;
	atomic_u32 unparked;
	atomic_u32 parks;
	bool stop;
};

static int source_poll(struct skua_poller *self)
{
	struct source *it = (struct source *)self;

	return it->stop ? SKUA_POLLER_DONE : 0;
}

static void source_park(struct skua_poller *self, uint64_t deadline_ns)
{
	struct source *it = (struct source *)self;

	(void)deadline_ns;
	atomic_fetch_add_relaxed(&it->parks, 1);
	/* Acquire: the wakers, what the unparker did. */
	for (;;) {
		if (atomic_exchange_acquire(&it->armed, 0)) {
			for (unsigned i = 0; i < it->count; i++)
				skua_waker_wake(it->wakers[i]);
			/* This park ends, and its causes are done with. */
			atomic_store_relaxed(&it->unparked, 0);
			return;
		}
		if (atomic_exchange_acquire(&it->unparked, 0))
			return;
		sched_yield();
	}
}

static void source_unpark(struct skua_poller *self)
{
	atomic_store_release(&((struct source *)self)->unparked, 1);
}

static void wakes_in_park(unsigned workers, unsigned count)
{
	struct source source = { .poller = { .poll = source_poll,
					     .park = source_park,
					     .unpark = source_unpark },
				 .count = count };
	struct waiter waiters[3] = { WAITER_INIT, WAITER_INIT, WAITER_INIT };
	struct skua_runtime *rt = runtime_new(workers, 0);

	assert_int_equal(skua_runtime_add_poller(rt, 0, &source.poller), 0);
	for (unsigned i = 0; i < count; i++) {
		waiter_start(rt, &waiters[i]);
		source.wakers[i] = skua_task_waker(&waiters[i].task);
		gate_open(&waiters[i].end);
	}
	while (!idle_parked(&rt->pool.idle, 0))
		sched_yield();
	atomic_store_release(&source.armed, 1);
	for (unsigned i = 0; i < count; i++)
		join(&waiters[i].task);
	destroy(rt);
}

TEST(park__wakes_one__is_polled)
{
	wakes_in_park(1, 1);
}

TEST(park__wakes_two__both_are_polled)
{
	wakes_in_park(1, 2);
}

TEST(park__wakes_three_of_two_workers__all_are_polled)
{
	wakes_in_park(2, 3);
}
