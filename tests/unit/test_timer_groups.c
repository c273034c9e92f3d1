/* SPDX-License-Identifier: MIT */
/* test_timer_groups.c - timers of groups of workers that are all in long polls; a
 * runtime has three groups if it has more workers than fit into two */
#include <sched.h>
#include <semaphore.h>

#include "core/base/clock.h"
#include "core/runtime/runtime.h"
#include "tests/unit/tasks.h"

#define WORKERS (2 * LLC_GROUP_WORKERS + 2)

/* Longer than any other step of the test. A search of this length without success
 * ends in a park, which a test notices. */
#define SEARCH_NS (60 * NS_PER_S)
#define TIMER_NS  UINT64_C(1000000)

/* Occupies a worker in one poll. At each post of @go_on it adds its timer, or, if
 * @end is open, ends. */
struct occupant {
	struct skua_task task; /* first: a task is its occupant */
	struct skua_timer timer;
	atomic_u32 worker; /* index + 1; 0: none yet */
	sem_t go_on;
	sem_t added;
	struct gate end;
};

static struct skua_runtime *rt;
static struct occupant occupants[WORKERS];

static enum skua_poll hold(struct skua_task *self)
{
	struct occupant *it = (struct occupant *)self;

	/* Release: pairs with the acquire in hold_all(). */
	atomic_store_release(&it->worker, (uint32_t)skua_worker_index(rt) + 1);
	for (;;) {
		while (sem_wait(&it->go_on) != 0)
			;
		if (gate_is_open(&it->end))
			return SKUA_DONE;
		skua_timer_add(self, &it->timer, skua_now_ns() + TIMER_NS);
		sem_post(&it->added);
	}
}

static void hold_all(void)
{
	rt = RUNTIME(.workers = WORKERS,
		     .lifo_steal_delay_ns = SKUA_LIFO_PRIVATE);
	assert_int_equal(rt->pool.groups->count, 3);
	memset(occupants, 0, sizeof(occupants));
	for (unsigned i = 0; i < WORKERS; i++) {
		skua_task_init(&occupants[i].task, hold);
		sem_init(&occupants[i].go_on, 0, 0);
		sem_init(&occupants[i].added, 0, 0);
		spawn(rt, &occupants[i].task);
	}
	for (unsigned i = 0; i < WORKERS; i++)
		while (atomic_load_acquire(&occupants[i].worker) == 0)
			sched_yield();
}

static void end(struct occupant *it)
{
	gate_open(&it->end);
	sem_post(&it->go_on);
}

static struct worker *worker_of(struct occupant *it)
{
	return rt->pool.workers[atomic_load_relaxed(&it->worker) - 1];
}

static struct occupant *occupant_of(unsigned group)
{
	unsigned i = 0;

	while (worker_of(&occupants[i])->group != group)
		i++;
	return &occupants[i];
}

static void add_and_wait_until_fired(struct occupant *it)
{
	sem_post(&it->go_on);
	while (sem_wait(&it->added) != 0)
		;
	while (skua_timer_pending(&it->timer))
		sched_yield();
}

TEST(timer__two_groups_held__searcher_of_the_third_fires)
{
	struct worker *searcher;
	uint64_t parks;

	hold_all();
	/* While no worker reads it. A runtime allows no more than a second. */
	rt->pool.tuning.spin_ns = SEARCH_NS;
	searcher = worker_of(occupant_of(2));
	parks = counter_read(&searcher->area.counters.times_parked);
	end(occupant_of(2));
	/* Twice each: a searcher that checks another group only after it has
	 * fired misses one of them. */
	for (unsigned n = 0; n < 4; n++)
		add_and_wait_until_fired(occupant_of(n / 2));
	assert_int_equal(counter_read(&searcher->area.counters.times_parked),
			 parks);
	for (unsigned i = 0; i < WORKERS; i++)
		end(&occupants[i]);
	for (unsigned i = 0; i < WORKERS; i++)
		join(&occupants[i].task);
	destroy(rt);
}
