/* SPDX-License-Identifier: MIT */
/* test_timer_groups.c - timers of groups of workers that are all in long polls; a
 * runtime has three groups if it has more workers than fit into two. And the turns
 * in which workers check the timers of other groups, on made machines */
#include <sched.h>
#include <semaphore.h>

#include "core/base/clock.h"
#include "core/loop/timers.h"
#include "core/loop/worker.h"
#include "core/runtime/runtime.h"
#include "tests/near.h"
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

/* ---- turns --------------------------------------------------------------------- */

#define MOST_WORKERS 128u
#define MOST_GROUPS  32u

static struct pool pool;
static struct worker *list[MOST_WORKERS];
static struct timer_deadlines deadlines[MOST_GROUPS];
static struct timer_slot slots[TIMER_WHEEL_SLOTS_TOTAL];
static struct sentinel_sight sights[MOST_WORKERS];

/* Workers without threads; those of a group are number g, g + groups, ... */
static void make_workers(unsigned groups, unsigned size)
{
	unsigned count = groups * size;

	memset(&pool, 0, sizeof(pool));
	pool.groups = near_groups(count, groups);
	pool.worker_count = count;
	pool.workers = list;
	pool.deadlines = deadlines;
	sentinel_init(&pool.sentinel, sights);
	for (unsigned i = 0; i < count; i++) {
		const struct llc_place *place = &pool.groups->places[i];

		list[i] = aligned_alloc(alignof(struct worker),
					sizeof(struct worker));
		assert_non_null(list[i]);
		memset(list[i], 0, sizeof(struct worker));
		list[i]->pool = &pool;
		list[i]->index = i;
		list[i]->group = place->group;
		timers_init(&list[i]->timers, slots,
			    &deadlines[place->group].next_ns[place->bit]);
		timers_begin_turns(list[i]);
	}
}

static void free_workers(void)
{
	for (unsigned i = 0; i < pool.worker_count; i++)
		free(list[i]);
}

static atomic_u64 *deadline_of(unsigned group)
{
	return &deadlines[group].next_ns[0];
}

static void make_due(void)
{
	for (unsigned g = 0; g < pool.groups->count; g++)
		atomic_store_relaxed(deadline_of(g), 1);
}

/* The worker ends a tick in which it checks another group. */
static void check_one(unsigned i)
{
	timers_fire_due(list[i], 1, 1);
}

static bool fired(unsigned group)
{
	return atomic_load_relaxed(deadline_of(group)) == UINT64_MAX;
}

static bool all_checked(void)
{
	for (unsigned g = 0; g < pool.groups->count; g++) {
		if (!fired(g))
			return false;
	}
	return true;
}

/* Return the periods until all groups were checked, if all workers of @group end
 * their ticks in step. */
static unsigned periods_of_group(unsigned group)
{
	const struct llc_group *members = &pool.groups->groups[group];
	unsigned periods = 0;

	for (make_due(); !all_checked(); periods++) {
		for (unsigned i = 0; i < members->count; i++)
			check_one(members->workers[i]);
	}
	return periods;
}

static void check_turns(unsigned groups, unsigned size)
{
	make_workers(groups, size);
	/* The second time, each goes on where it was. */
	for (unsigned n = 0; n < 2 * groups; n++)
		assert_in_range(periods_of_group(n % groups), 1,
				(groups - 1 + size - 1) / size);
	free_workers();
}

TEST(timers_fire_due__workers_of_a_group_in_step__check_all_groups_together)
{
	check_turns(8, 16);
	check_turns(8, 8);
	check_turns(8, 7);
	check_turns(16, 8);
	check_turns(32, 4);
	check_turns(32, 3);
	check_turns(3, 2);
	check_turns(2, 1);
}

TEST(timers_fire_due__one_worker__checks_each_group_in_turn)
{
	make_workers(8, 1);
	for (unsigned n = 0; n < 3; n++) {
		make_due();
		for (unsigned turn = 0; turn < 7; turn++) {
			assert_false(all_checked());
			check_one(5);
		}
		assert_true(all_checked());
	}
	free_workers();
}

TEST(timers_fire_due__worker_of_each_group_in_step__check_all_groups_together)
{
	make_workers(8, 4);
	for (unsigned n = 0; n < 20; n++) {
		unsigned checked = 0;

		for (unsigned i = 0; i < 8; i++) {
			make_due();
			check_one(i);
			for (unsigned g = 0; g < 8; g++) {
				if (g != list[i]->group && fired(g))
					checked |= 1u << g;
			}
		}
		assert_int_equal(checked, 255);
	}
	free_workers();
}
