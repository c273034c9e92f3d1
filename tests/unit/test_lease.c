/* SPDX-License-Identifier: MIT */
/* test_lease.c - searchers that have no CPU, and others who are woken beside them */
#include "core/loop/current.h"
#include "core/base/clock.h"
#include "core/runtime/runtime.h"
#include "tests/near.h"
#include "tests/unit/tasks.h"

#define WORKERS 6u

static struct idle idle;
static struct idle_group by_group[WORKERS];
static struct idle_sleeper sleepers[WORKERS];

/* Worker i is of group i % @groups, all asleep. */
static void begin(unsigned groups)
{
	idle_init(&idle, near_groups(WORKERS, groups), by_group, sleepers);
	for (unsigned i = 0; i < WORKERS; i++)
		idle_park_begin(&idle, i, false);
}

static unsigned parked_in(unsigned group)
{
	return (unsigned)__builtin_popcountll(
		atomic_load_relaxed(&by_group[group].parked));
}

static uint64_t searching_in(unsigned group)
{
	return atomic_load_relaxed(&by_group[group].searching);
}

/* As if nobody had renewed it for long. */
static void age(unsigned group)
{
	atomic_store_relaxed(&by_group[group].lease_ns, 1);
}

/* ---- workers at work ------------------------------------------------------- */

TEST(idle_at_work__some_search_or_are_parked__counts_the_others)
{
	begin(2);
	assert_int_equal(idle_at_work(&idle), 0);
	for (unsigned i = 0; i < WORKERS; i++) {
		idle_park_cancel(&idle, i);
		assert_int_equal(idle_at_work(&idle), i);
		idle_leave_search(&idle, i); /* as which it counted */
		assert_int_equal(idle_at_work(&idle), i + 1);
	}
	assert_true(idle_try_search(&idle, 0));
	assert_int_equal(idle_at_work(&idle), WORKERS - 1);
	assert_true(idle_try_search(&idle, 1));
	assert_int_equal(idle_at_work(&idle), WORKERS - 2);
	/* While a worker goes from one state to the other, it may count twice. */
	for (unsigned i = 0; i < WORKERS; i++)
		idle_park_begin(&idle, i, false);
	assert_int_equal(idle_at_work(&idle), 0);
}

/* ---- the wake cost ---------------------------------------------------------- */

/* Worker @i wakes so long after its claim. */
static void wakes_after(unsigned i, uint64_t cost_ns)
{
	atomic_store_relaxed(&sleepers[i].claimed_ns, 1000);
	idle_woken(&idle, i, 1000 + cost_ns);
}

TEST(idle_woken__like_before__leaves_the_cost_of_the_group)
{
	uint64_t first_ns;

	begin(2);
	first_ns = idle_wake_cost_ns(&idle, 0);
	for (unsigned n = 0; n < 100; n++)
		wakes_after(0, first_ns + first_ns / 9);
	assert_int_equal(idle_wake_cost_ns(&idle, 0), first_ns);
	for (unsigned n = 0; n < 100; n++)
		wakes_after(0, 2 * first_ns);
	/* Within an eighth, and that of another group stays. */
	assert_in_range(idle_wake_cost_ns(&idle, 0),
			2 * first_ns - first_ns / 4, 2 * first_ns);
	assert_int_equal(idle_wake_cost_ns(&idle, 1), first_ns);
	for (unsigned n = 0; n < 100; n++)
		wakes_after(0, first_ns / 2);
	assert_in_range(idle_wake_cost_ns(&idle, 0), first_ns / 2,
			first_ns / 2 + first_ns / 14);
}

/* The CPU of a worker that slept for so long was busy, or the process was stopped. */
TEST(idle_woken__far_too_late__leaves_the_cost_of_the_group)
{
	uint64_t first_ns;

	begin(1);
	first_ns = idle_wake_cost_ns(&idle, 0);
	for (unsigned n = 0; n < 100; n++)
		wakes_after(0, 100 * first_ns);
	assert_int_equal(idle_wake_cost_ns(&idle, 0), first_ns);
}

/* ---- one group ------------------------------------------------------------ */

TEST(idle_wake_beside__lease_runs__wakes_nobody)
{
	uint64_t claimed_ns;

	begin(1);
	idle_notify(&idle, 0);
	claimed_ns = atomic_load_relaxed(&by_group[0].lease_ns);
	assert_int_not_equal(claimed_ns, 0);
	assert_false(idle_lapsed(&idle, 0, claimed_ns + 1));
	idle_wake_beside(&idle, 0, claimed_ns + 1);
	assert_int_equal(parked_in(0), WORKERS - 1);
	assert_int_equal(searching_in(0), 1);
}

TEST(idle_wake_beside__lease_over__wakes_one_a_lease)
{
	begin(1);
	idle_notify(&idle, 0);
	for (unsigned woken = 2; woken <= WORKERS; woken++) {
		uint64_t now_ns;

		age(0);
		now_ns = clock_now_ns();
		assert_true(idle_lapsed(&idle, 0, now_ns));
		/* A producer reads no clock. */
		idle_notify(&idle, 0);
		assert_int_equal(searching_in(0), woken - 1);
		idle_wake_beside(&idle, 0, now_ns);
		assert_false(idle_lapsed(&idle, 0, now_ns));
		idle_wake_beside(&idle, 0, now_ns);
		assert_int_equal(parked_in(0), WORKERS - woken);
		assert_int_equal(searching_in(0), woken);
	}
	/* Nobody is left: the count stays exact. */
	age(0);
	assert_false(idle_lapsed(&idle, 0, clock_now_ns()));
	idle_wake_beside(&idle, 0, clock_now_ns());
	assert_int_equal(searching_in(0), WORKERS);
}

TEST(idle_wake_injected__claimed_has_not_begun__wakes_a_second)
{
	unsigned first;

	begin(1);
	idle_wake_injected(&idle, 0);
	assert_int_equal(searching_in(0), 1);
	first = atomic_load_relaxed(&by_group[0].waking) - 1;
	/* A worker of the runtime relies on the searcher all the same. */
	idle_notify(&idle, 0);
	assert_int_equal(searching_in(0), 1);
	idle_wake_injected(&idle, 0);
	assert_int_equal(searching_in(0), 2);
	assert_int_equal(parked_in(0), WORKERS - 2);
	assert_int_not_equal(atomic_load_relaxed(&by_group[0].waking) - 1,
			     first);
	idle_wake_injected(&idle, 0);
	assert_int_equal(searching_in(0), 2);
}

TEST(idle_wake_injected__claimed_has_begun__wakes_nobody)
{
	begin(1);
	idle_wake_injected(&idle, 0);
	idle_begun(&idle, atomic_load_relaxed(&by_group[0].waking) - 1);
	idle_wake_injected(&idle, 0);
	assert_int_equal(searching_in(0), 1);
	assert_int_equal(parked_in(0), WORKERS - 1);
}

TEST(idle_wake_injected__nobody_left__keeps_the_count)
{
	begin(WORKERS); /* one worker in each group */
	idle_wake_worker(&idle, 0);
	idle_wake_injected(&idle, 0);
	assert_int_equal(searching_in(0), 1);
}

TEST(idle_wake_beside__renewed__wakes_nobody)
{
	uint64_t now_ns = clock_now_ns();

	begin(1);
	idle_notify(&idle, 0);
	age(0);
	idle_renew(&idle, 0, now_ns);
	assert_false(idle_lapsed(&idle, 0, now_ns));
	idle_wake_beside(&idle, 0, now_ns);
	assert_int_equal(parked_in(0), WORKERS - 1);
	/* A reading from before changes nothing. */
	idle_renew(&idle, 0, now_ns - NS_PER_S);
	assert_int_equal(atomic_load_relaxed(&by_group[0].lease_ns), now_ns);
}

TEST(idle_lapsed__nobody_searches__false)
{
	begin(1);
	age(0);
	assert_false(idle_lapsed(&idle, 0, clock_now_ns()));
}

/* ---- several groups ------------------------------------------------------- */

TEST(idle_wake__group_with_a_searcher__wakes_in_the_next)
{
	uint64_t now_ns = clock_now_ns();

	begin(3);
	/* Nobody sleeps in group 0, and one searches in each other. */
	idle_wake_worker(&idle, 0);
	idle_wake_worker(&idle, 3);
	assert_false(idle_leave_search(&idle, 0));
	assert_true(idle_leave_search(&idle, 3));
	idle_notify(&idle, 0);
	idle_notify(&idle, 0);
	assert_int_equal(searching_in(1), 1);
	assert_int_equal(searching_in(2), 1);
	/* From now on these two look. */
	idle_notify(&idle, 0);
	assert_int_equal(parked_in(1), 1);
	assert_int_equal(parked_in(2), 1);
	assert_false(idle_lapsed(&idle, 0, now_ns));
	/* Until one of them has no CPU. */
	age(2);
	assert_true(idle_lapsed(&idle, 0, now_ns));
	idle_wake_beside(&idle, 0, now_ns);
	assert_int_equal(parked_in(1), 1);
	assert_int_equal(parked_in(2), 0);
	assert_int_equal(searching_in(2), 2);
}

/* Groups 0 to 2 are one node. */
static void one_node(struct skua_cpu *cpu, unsigned groups)
{
	cpu->llc = cpu->cpu % groups;
	cpu->node = 0;
}

TEST(idle_wake__only_an_earlier_group_sleeps__wakes_there)
{
	static struct llc_groups groups;

	near_make(&groups, WORKERS, 1, one_node, 3);
	idle_init(&idle, &groups, by_group, sleepers);
	idle_park_begin(&idle, 0, false);
	/* The scan begins at group 2, and goes round to group 0. */
	idle_notify(&idle, 1);
	assert_int_equal(searching_in(0), 1);
	assert_int_equal(parked_in(0), 0);
	llc_groups_free(&groups);
}

TEST(idle_wake_for__many_tasks__tells_workers_of_two_groups)
{
	unsigned told = 0;

	begin(3);
	idle_wake_for(&idle, 1, IDLE_MANY - 1);
	assert_int_equal(searching_in(0) + searching_in(1) + searching_in(2),
			 1);
	begin(3);
	idle_wake_for(&idle, 1, IDLE_MANY);
	for (unsigned g = 0; g < 3; g++)
		assert_in_range(searching_in(g), 0, 1);
	assert_int_equal(searching_in(0) + searching_in(1) + searching_in(2),
			 2);
	for (unsigned i = 0; i < WORKERS; i++)
		told += idle_told(&idle, i);
	assert_int_equal(told, 2 * (IDLE_MANY / 2));
}

TEST(idle_wake_beside__own_lease_over__wakes_elsewhere)
{
	uint64_t now_ns = clock_now_ns();

	begin(2);
	for (unsigned i = 0; i < WORKERS; i += 2)
		idle_wake_worker(&idle, i);
	assert_int_equal(parked_in(0), 0);
	age(0);
	assert_true(idle_lapsed(&idle, 0, now_ns));
	idle_wake_beside(&idle, 0, now_ns);
	assert_int_equal(searching_in(1), 1);
	/* That one looks, and has a CPU as far as is known. */
	assert_false(idle_lapsed(&idle, 0, now_ns));
}

/* ---- a runtime ------------------------------------------------------------ */

/* Spawns until somebody else runs what it spawned; in polls as short as any. */
struct spawner {
	struct skua_task task; /* first: a task is its spawner */
	struct skua_runtime *rt;
	const struct worker *worker;
	atomic_u32 helped;
	int code;
};

static void child(void *arg)
{
	struct spawner *it = arg;

	if (current_here() != it->worker)
		atomic_store_relaxed(&it->helped, 1);
}

static enum skua_poll spawner_poll(struct skua_task *self)
{
	struct spawner *it = (struct spawner *)self;

	/* Two: the first is what the second displaces into the queue. */
	for (unsigned i = 0; i < 2; i++)
		it->code |= skua_call(it->rt, child, it);
	return it->code != 0 || atomic_load_relaxed(&it->helped) ? SKUA_DONE
								 : SKUA_YIELD;
}

/*
 * A thread is preempted for good when it has counted the worker that it is going
 * to wake, in each group; as is a worker that is woken, or searches, and has no
 * CPU. The tasks of another one are not left to it.
 */
TEST(runtime__searcher_has_no_cpu__another_is_woken)
{
	/* No sentinel, which would take a task that waits to run next. */
	struct skua_runtime *rt =
		RUNTIME(.workers = 3, .lifo_steal_delay_ns = SKUA_LIFO_PRIVATE);
	struct spawner it = { .task = SKUA_TASK_INIT(spawner_poll) };
	struct idle *all;

	it.rt = rt;
	it.worker = rt->pool.workers[0];
	all = &rt->pool.idle;
	while (!idle_all_parked(all))
		sched_yield();
	for (unsigned g = 0; g < all->group_count; g++)
		atomic_fetch_add_relaxed(&all->by_group[g].searching, 1);
	assert_int_equal(skua_task_spawn_on(rt, 0, &it.task), 0);
	join(&it.task);
	assert_int_equal(it.code, 0);
	for (unsigned g = 0; g < all->group_count; g++) {
		/* As the one that was preempted (I4). */
		atomic_fetch_sub_acq_rel(&all->by_group[g].searching, 1);
		atomic_fence_seq_cst();
		idle_wake(all, g);
	}
	assert_int_equal(skua_runtime_drain(rt), 0);
	destroy(rt);
}
