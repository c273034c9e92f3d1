/* SPDX-License-Identifier: MIT */
/* test_driver_preferred.c - the worker on whose CPU events arrive becomes the leader */
#include "core/loop/current.h"
#include "core/loop/loop.h"
#include "core/loop/worker.h"
#include "tests/unit/eventfd_readers.h"

#define PASSES 60u

static void prefer(struct skua_runtime *rt, unsigned i)
{
	for (unsigned n = 0; n < 4 * DRIVER_VOTES; n++)
		driver_arrived(driver_of(rt), i);
	assert_int_equal(driver_preferred(driver_of(rt)), i + 1);
}

/* Does worker @i lead, and sleep, soon? */
static bool soon_leads(struct skua_runtime *rt, unsigned i)
{
	for (unsigned n = 0; n < 1000; n++) {
		if (atomic_load_acquire(&driver_of(rt)->leader) ==
		    (DRIVER_ASLEEP | (i + 1)))
			return true;
		sched_yield();
	}
	return false;
}

/* The leader passes the role on after an event, unless its polls were long, so that it had given
 * the role up before. If no worker passed it on, the test would hang. */
TEST(leader__another_worker_is_preferred__takes_the_role)
{
	struct skua_runtime *rt = runtime_new(3, 0);
	struct reader reader;

	reader_start(rt, &reader, UINT64_MAX);
	for (unsigned n = 0; n < PASSES; n++) {
		prefer(rt, n % 3);
		do
			tell(&reader);
		while (!soon_leads(rt, n % 3));
	}
	atomic_store_relaxed(&reader.goal, 0);
	tell(&reader);
	reader_end(rt, &reader);
	destroy(rt);
}

TEST(votes__for_two_workers__most_of_the_last_ones_decide)
{
	struct driver driver = { .owner = NULL };

	assert_int_equal(driver_preferred(&driver), 0);
	driver_arrived(&driver, 5);
	assert_int_equal(driver_preferred(&driver), 0);
	driver_arrived(&driver, 5);
	assert_int_equal(driver_preferred(&driver), 6);
	for (unsigned n = 0; n < 100; n++)
		driver_arrived(&driver, 5);
	driver_arrived(&driver, 7);
	assert_int_equal(driver_preferred(&driver), 6);
	for (unsigned n = 0; n < 6; n++)
		driver_arrived(&driver, 7);
	assert_int_equal(driver_preferred(&driver), 8);
}

static struct skua_runtime *voting;

/* The CPU on which worker 0 went to sleep. */
static int cpu_of_first(uint64_t data)
{
	(void)data;
	return (int)atomic_load_relaxed(&voting->pool.idle.sleepers[0].cpu) - 1;
}

static void ignore(struct driver *driver, uint64_t data, uint32_t events)
{
	(void)driver, (void)data, (void)events;
}

/* Deliver events, @count at once, that vote as often as they can. Return: index + 1 of the
 * worker that is preferred then; 0: none. */
static unsigned preferred_after(uint32_t count)
{
	struct driver_batch batch = { .count = count };

	for (unsigned n = 0; n < 8 * DRIVER_VOTES * DRIVER_VOTE_EVENTS; n++)
		reap_deliver_owner(current_worker, &batch);
	return driver_preferred(driver_of(voting));
}

static unsigned preferred[3];

static enum skua_poll vote_alone_and_at_once(struct skua_task *self)
{
	(void)self;
	preferred[0] = preferred_after(1);
	preferred[1] = preferred_after(2);
	preferred[2] = preferred_after(1);
	return SKUA_DONE;
}

TEST(votes__of_events_that_come_at_once__for_no_worker)
{
	struct skua_task task = SKUA_TASK_INIT(vote_alone_and_at_once);

	voting = runtime_new(2, 0);
	driver_of(voting)->deliver = ignore;
	driver_of(voting)->cpu_of = cpu_of_first;
	while (!idle_all_parked(&voting->pool.idle))
		sched_yield();
	spawn(voting, &task);
	join(&task);
	assert_true(preferred[0] != 0);
	assert_int_equal(preferred[1], 0);
	assert_true(preferred[2] != 0);
	destroy(voting);
}
