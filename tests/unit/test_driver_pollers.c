/* SPDX-License-Identifier: MIT */
/* test_driver_pollers.c - events beside a worker that sleeps in a poller */
#include <poll.h>

#include "core/loop/worker.h"
#include "tests/unit/eventfd_readers.h"

/* Sleeps until it is unparked or until the deadline. */
struct source {
	struct skua_poller poller; /* first: a poller is its source */
	int fd;
	struct gate stop;
};

static int source_poll(struct skua_poller *self)
{
	return gate_is_open(&((struct source *)self)->stop) ? SKUA_POLLER_DONE
							    : 0;
}

static void source_park(struct skua_poller *self, uint64_t deadline_ns)
{
	struct source *it = (struct source *)self;
	struct pollfd wait = { .fd = it->fd, .events = POLLIN };
	uint64_t now_ns = skua_now_ns(), left_ns, count;
	struct timespec left;

	left_ns = deadline_ns > now_ns ? deadline_ns - now_ns : 0;
	left = (struct timespec){ (time_t)(left_ns / 1000000000),
				  (long)(left_ns % 1000000000) };
	ppoll(&wait, 1, deadline_ns == UINT64_MAX ? NULL : &left, NULL);
	if (wait.revents)
		assert_int_equal(read(it->fd, &count, sizeof(count)),
				 sizeof(count));
}

static void source_unpark(struct skua_poller *self)
{
	uint64_t one = 1;

	assert_int_equal(write(((struct source *)self)->fd, &one, sizeof(one)),
			 sizeof(one));
}

/* Worker 0 sleeps in the poller, and so never in the driver. */
TEST(poller__with_a_park__events_are_reaped_beside_it)
{
	for (unsigned workers = 1; workers <= 2; workers++) {
		struct source source = { .poller = { .poll = source_poll,
						     .park = source_park,
						     .unpark = source_unpark },
					 .fd = eventfd(0, EFD_NONBLOCK) };
		struct skua_runtime *rt = runtime_new(workers, 0);
		struct reader reader;

		event_by_event(rt, 10);
		assert_int_equal(skua_runtime_add_poller(rt, 0, &source.poller),
				 0);
		reader_start(rt, &reader, 10);
		for (unsigned i = 0; i < 10; i++) {
			wait_until_waiting(&reader.task);
			while (!idle_all_parked(&rt->pool.idle))
				sched_yield();
			tell(&reader);
			while (sum_of(&reader) < i + 1)
				sched_yield();
		}
		reader_end(rt, &reader);
		gate_open(&source.stop);
		destroy(rt);
		close(source.fd);
	}
}

/* Stands before reap_owner(), and counts the looks for events. */
static atomic_u64 looks;

bool __real_reap_owner(struct worker *w, uint64_t now_ns, bool busy);
bool __wrap_reap_owner(struct worker *w, uint64_t now_ns, bool busy);

bool __wrap_reap_owner(struct worker *w, uint64_t now_ns, bool busy)
{
	/* Relaxed: a count. */
	atomic_fetch_add_relaxed(&looks, 1);
	return __real_reap_owner(w, now_ns, busy);
}

static void wait_until_parked(struct skua_runtime *rt)
{
	while (!idle_all_parked(&rt->pool.idle))
		sched_yield();
}

/* A leader's search may end at once, as it sleeps where events come. That of a worker that
 * sleeps in a poller looks for events and tasks as often as the configuration says; but it may
 * find an event, or not begin while the machine is busy. */
TEST(poller__with_a_park__search_is_not_that_of_a_leader)
{
	enum { ATTEMPTS = 200, ROUNDS = 1000 };
	struct source source = { .poller = { .poll = source_poll,
					     .park = source_park,
					     .unpark = source_unpark },
				 .fd = eventfd(0, EFD_NONBLOCK) };
	struct skua_runtime *rt =
		RUNTIME(.workers = 1, .steal_attempts = ATTEMPTS);
	struct reader reader;
	uint64_t most = 0, rest;

	assert_int_equal(skua_runtime_add_poller(rt, 0, &source.poller), 0);
	reader_start(rt, &reader, ROUNDS);
	for (unsigned i = 0; i < ROUNDS && most < ATTEMPTS; i++) {
		uint64_t before;

		wait_until_waiting(&reader.task);
		wait_until_parked(rt);
		before = atomic_load_relaxed(&looks);
		tell(&reader);
		while (sum_of(&reader) < i + 1)
			sched_yield();
		wait_until_parked(rt);
		most = atomic_load_relaxed(&looks) - before;
	}
	assert_true(most >= ATTEMPTS);
	rest = ROUNDS - sum_of(&reader);
	assert_true(rest == 0 ||
		    write(reader.fd, &rest, sizeof(rest)) == sizeof(rest));
	reader_end(rt, &reader);
	gate_open(&source.stop);
	destroy(rt);
	close(source.fd);
}
