/* SPDX-License-Identifier: MIT */
/* test_other_group.c - tasks that wait at a group of workers which are all in long
 * polls; a runtime has two groups if it has more workers than fit into one */
#include <sched.h>
#include <semaphore.h>

#include "core/runtime/runtime.h"
#include "tests/unit/tasks.h"

#define WORKERS (LLC_GROUP_WORKERS + 2)
#define MAX     (WORKERS + 10)
/* Each worker that wakes another one halves it. */
#define MANY_TASKS 1000000u

/* Occupies a worker. */
struct occupant {
	struct skua_task task; /* first: a task is its occupant */
	atomic_u32 worker;     /* index + 1; 0: none yet */
	sem_t go_on;           /* from here on it yields */
	/* Not NULL: as soon as tasks wait at the worker's group, hold the worker again, until
	 * this is open. */
	struct gate *behind;
	struct gate end;
};

/* Notes which worker polls it. */
struct visitor {
	struct skua_task task; /* first: a task is its visitor */
	unsigned worker;
	uint32_t told; /* the tasks that the worker was told of, halved */
	struct gate visited;
};

static struct skua_runtime *rt;
static struct occupant occupants[WORKERS];
static cpu_set_t before;
static atomic_u32 asleep; /* workers that have looked for work the last time */

static void note_park(void *ctx, unsigned worker)
{
	(void)ctx;
	(void)worker;
	atomic_fetch_add_relaxed(&asleep, 1);
}

static void note_unpark(void *ctx, unsigned worker)
{
	(void)ctx;
	(void)worker;
	atomic_fetch_sub_relaxed(&asleep, 1);
}

static const struct skua_hooks hooks = { .worker_park = note_park,
					 .worker_unpark = note_unpark };

static void wait_until_asleep(unsigned count)
{
	while (atomic_load_relaxed(&asleep) != count)
		sched_yield();
}

static unsigned group_of(const struct occupant *it)
{
	/* Acquire: pairs with hold(). */
	unsigned worker = atomic_load_acquire(&it->worker) - 1;

	return rt->pool.groups->places[worker].group;
}

static enum skua_poll hold(struct skua_task *self)
{
	struct occupant *it = (struct occupant *)self;

	if (atomic_load_relaxed(&it->worker) == 0) {
		/* Release: pairs with the acquire in hold_all(). */
		atomic_store_release(&it->worker,
				     (uint32_t)skua_worker_index(rt) + 1);
		while (sem_wait(&it->go_on) != 0)
			;
	}
	if (it->behind && inject_group_visible(&rt->pool.inject[group_of(it)]))
		gate_wait(it->behind);
	return gate_is_open(&it->end) ? SKUA_DONE : SKUA_YIELD;
}

static enum skua_poll visit(struct skua_task *self)
{
	struct visitor *it = (struct visitor *)self;

	it->worker = (unsigned)skua_worker_index(rt);
	it->told = rt->pool.workers[it->worker]->told;
	gate_open(&it->visited);
	return SKUA_DONE;
}

static struct skua_stats stats_now(void)
{
	struct skua_stats stats;

	assert_int_equal(skua_runtime_stats(rt, &stats), 0);
	return stats;
}

/* Hold all workers. */
static void hold_all(uint32_t max_queued)
{
	atomic_store_relaxed(&asleep, 0);
	rt = RUNTIME(.workers = WORKERS, .max_queued = max_queued,
		     .hooks = &hooks);
	assert_true(rt->pool.groups->count > 1);
	memset(occupants, 0, sizeof(occupants));
	for (unsigned i = 0; i < WORKERS; i++) {
		skua_task_init(&occupants[i].task, hold);
		sem_init(&occupants[i].go_on, 0, 0);
		spawn(rt, &occupants[i].task);
	}
	for (unsigned i = 0; i < WORKERS; i++)
		while (atomic_load_acquire(&occupants[i].worker) == 0)
			sched_yield();
}

static void let_go(struct occupant *it)
{
	gate_open(&it->end);
	sem_post(&it->go_on);
}

static void end_all(void)
{
	for (unsigned i = 0; i < WORKERS; i++)
		let_go(&occupants[i]);
	for (unsigned i = 0; i < WORKERS; i++)
		join(&occupants[i].task);
	destroy(rt);
}

/* Keep this thread at one group. Returns an occupant of a worker of another one. */
static struct occupant *occupant_elsewhere(void)
{
	unsigned here = idle_group_here(&rt->pool.idle);

	for (unsigned i = 0; i < WORKERS; i++) {
		if (group_of(&occupants[i]) != here)
			return &occupants[i];
	}
	fail();
	return NULL;
}

/* Return an occupant of another worker of the same group. */
static struct occupant *occupant_beside(const struct occupant *it)
{
	for (unsigned i = 0; i < WORKERS; i++) {
		if (&occupants[i] != it &&
		    group_of(&occupants[i]) == group_of(it))
			return &occupants[i];
	}
	fail();
	return NULL;
}

static int stay(void **state)
{
	cpu_set_t here;

	(void)state;
	assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
	CPU_ZERO(&here);
	CPU_SET((unsigned)sched_getcpu(), &here);
	return sched_setaffinity(0, sizeof(here), &here);
}

static int move_on(void **state)
{
	(void)state;
	return sched_setaffinity(0, sizeof(before), &before);
}

EACH_TEST(stay, move_on);

static void visit_beside(bool urgent, bool busy)
{
	struct visitor visitor = { .task = SKUA_TASK_INIT(visit) };
	struct occupant *elsewhere;

	assert_int_equal(skua_task_set_urgent(&visitor.task, urgent), 0);
	hold_all(0);
	elsewhere = occupant_elsewhere();
	if (busy)
		sem_post(&elsewhere->go_on);
	else
		let_go(elsewhere);
	spawn(rt, &visitor.task);
	join(&visitor.task);
	assert_int_equal(visitor.worker + 1, elsewhere->worker);
	end_all();
}

TEST(injected__own_group_is_held__idle_worker_elsewhere_takes_it)
{
	visit_beside(false, false);
}

TEST(injected__own_group_is_held__busy_worker_elsewhere_takes_it)
{
	visit_beside(false, true);
}

TEST(urgent__own_group_is_held__idle_worker_elsewhere_takes_it)
{
	visit_beside(true, false);
}

TEST(urgent__own_group_is_held__busy_worker_elsewhere_takes_it)
{
	visit_beside(true, true);
}

/* As if a worker of a group had been woken, and had no CPU: a push there wakes no worker. */
static void pretend_searcher(unsigned group)
{
	atomic_fetch_add_relaxed(&rt->pool.idle.by_group[group].searching, 1);
}

static void end_searcher(unsigned group)
{
	atomic_fetch_sub_relaxed(&rt->pool.idle.by_group[group].searching, 1);
}

/* The worker that moves a late task to its own group wakes another one for it, as its own next
 * poll may take long. */
TEST(injected__moved_before_a_long_poll__another_worker_takes_it)
{
	struct visitor visitor = { .task = SKUA_TASK_INIT(visit) };
	struct occupant *mover, *sleeper;
	unsigned here;

	hold_all(0);
	mover = occupant_elsewhere();
	sleeper = occupant_beside(mover);
	let_go(sleeper);
	wait_until_asleep(1);
	here = idle_group_here(&rt->pool.idle);
	pretend_searcher(here);
	spawn(rt, &visitor.task);
	mover->behind = &visitor.visited;
	sem_post(&mover->go_on);
	join(&visitor.task);
	end_searcher(here);
	end_all();
}

/* A waker that knows of many tasks tells the worker, which then looks for them in all groups. */
TEST(idle_wake_for__many_tasks__woken_worker_was_told_of_them)
{
	struct visitor visitor = { .task = SKUA_TASK_INIT(visit) };
	unsigned groups;

	atomic_store_relaxed(&asleep, 0);
	rt = RUNTIME(.workers = WORKERS, .hooks = &hooks);
	groups = rt->pool.groups->count;
	wait_until_asleep(WORKERS);
	for (unsigned g = 0; g < groups; g++)
		pretend_searcher(g);
	spawn(rt, &visitor.task);
	for (unsigned g = 0; g < groups; g++)
		end_searcher(g);
	idle_wake_for(&rt->pool.idle, 0, MANY_TASKS);
	join(&visitor.task);
	assert_in_range(visitor.told, IDLE_MANY, MANY_TASKS / 2);
	destroy(rt);
}

/* The bound is that of all groups together, and nothing stays counted. */
TEST(max_queued__several_groups__counts_all)
{
	static struct counter counters[MAX + 1];

	hold_all(MAX);
	for (unsigned n = 0; n <= MAX; n++)
		counters[n] = (struct counter)COUNTER_INIT;
	for (unsigned n = 0; n < MAX; n++)
		spawn(rt, &counters[n].task);
	assert_int_equal(skua_task_spawn(rt, &counters[MAX].task), -EAGAIN);
	assert_int_equal(stats_now().injection_depth, MAX);
	/* Some are taken from the queue of another group, or moved. */
	sem_post(&occupant_elsewhere()->go_on);
	for (unsigned n = 0; n < MAX; n++)
		join(&counters[n].task);
	assert_int_equal(stats_now().injection_depth, 0);
	assert_int_equal(atomic_load_relaxed(&rt->pool.queued), 0);
	spawn(rt, &counters[MAX].task);
	join(&counters[MAX].task);
	end_all();
}
