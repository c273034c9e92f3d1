/* SPDX-License-Identifier: MIT */
/* test_awake.c - workers that never sleep, and what nobody else would find */
#include <semaphore.h>

#include "core/runtime/runtime.h"
#include "tests/unit/tasks.h"

static struct skua_runtime *runtime_spinning(unsigned workers, uint64_t spin_ns)
{
	return RUNTIME(.workers = workers, .spin_ns = spin_ns);
}

/* ---- pollers --------------------------------------------------------------- */

struct looker {
	struct skua_poller poller; /* first: a poller is its looker */
	atomic_u32 looks;
	struct gate stop;
	struct skua_waker waker; /* of a task to wake, in its only look */
	struct gate *wait_for;   /* what it waits for, in its only look */
};

static int look(struct skua_poller *self)
{
	struct looker *it = (struct looker *)self;

	atomic_fetch_add_relaxed(&it->looks, 1);
	return gate_is_open(&it->stop) ? SKUA_POLLER_DONE : 0;
}

static int wake_and_be_done(struct skua_poller *self)
{
	struct looker *it = (struct looker *)self;

	skua_waker_wake(it->waker);
	return SKUA_POLLER_DONE;
}

static int wait_and_be_done(struct skua_poller *self)
{
	struct looker *it = (struct looker *)self;

	gate_open(&it->stop);
	gate_wait(it->wait_for);
	return SKUA_POLLER_DONE;
}

static void add(struct skua_runtime *rt, unsigned worker, struct looker *it)
{
	assert_int_equal(skua_runtime_add_poller(rt, worker, &it->poller), 0);
}

/* The task is in the worker's LIFO slot, where nobody else looks. */
TEST(poller__wakes_a_task_and_is_done__task_runs)
{
	struct skua_runtime *rt = runtime_new(1, 0);

	for (unsigned n = 0; n < 50; n++) {
		struct looker it = { .poller = { .poll = wake_and_be_done } };
		struct waiter waiter = WAITER_INIT;

		waiter_start(rt, &waiter);
		gate_open(&waiter.end);
		it.waker = skua_task_waker(&waiter.task);
		add(rt, 0, &it);
		join(&waiter.task);
	}
	destroy(rt);
}

/* Half of the workers look for ever; one of the others runs a task. */
TEST(pollers__on_three_of_four__all_are_called_on)
{
	struct skua_runtime *rt = runtime_new(4, 0);
	struct looker lookers[3];
	struct counter counter = COUNTER_INIT;

	for (unsigned i = 0; i < COUNT_OF(lookers); i++) {
		lookers[i] = (struct looker){ .poller = { .poll = look } };
		add(rt, i, &lookers[i]);
	}
	for (unsigned n = 0; n < 20; n++) {
		assert_int_equal(skua_task_spawn_on(rt, n % 3, &counter.task),
				 0);
		join(&counter.task);
		for (unsigned i = 0; i < COUNT_OF(lookers); i++) {
			uint32_t seen = atomic_load_relaxed(&lookers[i].looks);

			while (atomic_load_relaxed(&lookers[i].looks) <
			       seen + 10)
				sched_yield();
		}
	}
	for (unsigned i = 0; i < COUNT_OF(lookers); i++)
		gate_open(&lookers[i].stop);
	destroy(rt);
}

static void count_poll_and_open(void *arg)
{
	gate_open(arg);
}

/* Nobody may rely on a worker that is in a user's function. */
static void look_for_nothing(struct skua_poller *self, uint64_t deadline_ns)
{
	(void)self;
	(void)deadline_ns;
}

static void unpark_nothing(struct skua_poller *self)
{
	(void)self;
}

static int be_done(struct skua_poller *self)
{
	struct looker *it = (struct looker *)self;

	atomic_fetch_add_release(&it->looks, 1);
	return SKUA_POLLER_DONE;
}

/* A worker sleeps in one; what another looks at would never be seen. */
TEST(pollers__two_with_a_park__second_refused)
{
	const struct skua_poller with_park = { .poll = look,
					       .park = look_for_nothing,
					       .unpark = unpark_nothing };
	struct looker first = { .poller = with_park };
	struct looker second = { .poller = with_park };
	struct looker plain = { .poller = { .poll = be_done } };
	struct looker gone = { .poller = with_park };
	struct skua_runtime *rt = runtime_new(2, 0);

	gone.poller.poll = be_done;
	assert_int_equal(skua_runtime_add_poller(rt, 0, &first.poller), 0);
	assert_int_equal(skua_runtime_add_poller(rt, 0, &second.poller),
			 -EEXIST);
	assert_int_equal(skua_runtime_add_poller(rt, 0, &plain.poller), 0);
	/* Once one has gone, there may be another. */
	assert_int_equal(skua_runtime_add_poller(rt, 1, &gone.poller), 0);
	while (skua_runtime_add_poller(rt, 1, &second.poller) == -EEXIST)
		sched_yield();
	assert_int_equal(atomic_load_acquire(&gone.looks), 1);
	destroy(rt);
}

/* A poller that sleeps until it is woken. */
struct sleeper {
	struct skua_poller poller; /* first: a poller is its sleeper */
	sem_t woken;
	atomic_u32 parks;
};

static int find_nothing(struct skua_poller *self)
{
	(void)self;
	return 0;
}

static void sleep_in_it(struct skua_poller *self, uint64_t deadline_ns)
{
	struct sleeper *it = (struct sleeper *)self;

	(void)deadline_ns;
	atomic_fetch_add_release(&it->parks, 1);
	sem_wait(&it->woken);
}

static void wake_it(struct skua_poller *self)
{
	sem_post(&((struct sleeper *)self)->woken);
	errno = EAGAIN;
}

TEST(poller__unpark_sets_errno__errno_is_left_alone)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct counter counter = COUNTER_INIT;
	struct sleeper it = { .poller = { .poll = find_nothing,
					  .park = sleep_in_it,
					  .unpark = wake_it } };

	sem_init(&it.woken, 0, 0);
	assert_int_equal(skua_runtime_add_poller(rt, 0, &it.poller), 0);
	for (uint32_t n = 1; n <= 20; n++) {
		while (atomic_load_acquire(&it.parks) < n)
			sched_yield();
		errno = 123;
		spawn(rt, &counter.task);
		assert_int_equal(errno, 123);
		join(&counter.task);
	}
	destroy(rt);
	sem_destroy(&it.woken);
}

TEST(poller__waits_for_a_task__another_worker_is_woken)
{
	for (unsigned n = 0; n < 20; n++) {
		struct skua_runtime *rt = runtime_new(3, 0);
		struct gate ran = { 0 };
		struct looker it = { .poller = { .poll = wait_and_be_done },
				     .wait_for = &ran };

		add(rt, 0, &it);
		gate_wait(&it.stop);
		assert_int_equal(skua_call(rt, count_poll_and_open, &ran), 0);
		destroy(rt);
	}
}

struct late_spawner {
	struct skua_poller poller; /* first: a poller is its late_spawner */
	struct skua_runtime *rt;
	struct counter counters[64];
	unsigned accepted;
	unsigned tried;
};

static int spawn_some_more(struct skua_poller *self)
{
	struct late_spawner *it = (struct late_spawner *)self;

	if (it->tried == COUNT_OF(it->counters))
		return 0;
	it->accepted +=
		skua_task_spawn_on(it->rt, 1,
				   &it->counters[it->tried++].task) == 0;
	return 1;
}

/* Refused or run. */
TEST(poller__spawns_beside_the_shutdown__none_is_lost)
{
	for (unsigned n = 0; n < (SANITIZED ? 30 : 200); n++) {
		struct late_spawner it = {
			.poller = { .poll = spawn_some_more },
			.rt = runtime_new(2, 0)
		};
		unsigned polls = 0;

		for (unsigned i = 0; i < COUNT_OF(it.counters); i++)
			it.counters[i] = (struct counter)COUNTER_INIT;
		assert_int_equal(skua_runtime_add_poller(it.rt, 0, &it.poller),
				 0);
		assert_int_equal(skua_runtime_shutdown(it.rt, SKUA_FOREVER_NS,
						       SKUA_SHUTDOWN_RUN),
				 0);
		for (unsigned i = 0; i < it.tried; i++)
			polls += it.counters[i].polls;
		assert_int_equal(polls, it.accepted);
		destroy(it.rt);
	}
}

/* ---- spinning -------------------------------------------------------------- */

TEST(spin_forever__four_workers__none_sleeps)
{
	struct skua_runtime *rt = runtime_spinning(4, SKUA_SPIN_FOREVER);
	struct skua_worker_stats stats;

	for (unsigned i = 0; i < 4; i++) {
		/* Again and again with nothing to do. */
		for (unsigned n = 0; n < 100; n++) {
			struct counter counter = COUNTER_INIT;

			assert_int_equal(
				skua_task_spawn_on(rt, i, &counter.task), 0);
			join(&counter.task);
		}
		assert_int_equal(skua_runtime_worker_stats(rt, i, &stats), 0);
		assert_int_equal(stats.tasks_polled, 100);
		assert_int_equal(stats.times_parked, 0);
	}
	destroy(rt);
}

/* Ends after a wait for a timer. */
TEST(long_spin__timer__fires_before_the_worker_sleeps)
{
	struct skua_runtime *rt = runtime_spinning(1, SKUA_MAX_DELAY_NS);
	struct nap it = NAP_INIT(1000000);
	struct skua_stats stats;

	spawn(rt, &it.task);
	join(&it.task);
	assert_int_equal(skua_runtime_stats(rt, &stats), 0);
	assert_int_equal(stats.total.times_parked, 0);
	destroy(rt);
}

/* ---- LIFO slots ------------------------------------------------------------ */

/* Spawns its children and stays in its poll until they are done. */
struct parent {
	struct skua_task task; /* first: a task is its parent */
	struct skua_runtime *rt;
	unsigned count;
	struct child {
		struct skua_task task; /* first: a task is its child */
		struct gate done;
	} children[2];
};

static enum skua_poll child_poll(struct skua_task *self)
{
	gate_open(&((struct child *)self)->done);
	return SKUA_DONE;
}

static enum skua_poll parent_poll(struct skua_task *self)
{
	struct parent *it = (struct parent *)self;

	for (unsigned i = 0; i < it->count; i++)
		skua_task_spawn(it->rt, &it->children[i].task);
	for (unsigned i = 0; i < it->count; i++)
		gate_wait(&it->children[i].done);
	return SKUA_DONE;
}

static void run_parent(struct skua_runtime *rt, unsigned count)
{
	struct parent it = { .task = SKUA_TASK_INIT(parent_poll),
			     .rt = rt,
			     .count = count };

	for (unsigned i = 0; i < count; i++)
		skua_task_init(&it.children[i].task, child_poll);
	spawn(rt, &it.task);
	join(&it.task);
	assert_int_equal(skua_runtime_drain(rt), 0);
}

TEST(spin__child_behind_its_parent__taken_by_another)
{
	static const uint64_t spins_ns[] = { SKUA_SPIN_FOREVER,
					     SKUA_MAX_DELAY_NS };

	for (size_t i = 0; i < COUNT_OF(spins_ns); i++) {
		struct skua_runtime *rt = runtime_spinning(2, spins_ns[i]);

		for (unsigned n = 0; n < 20; n++)
			run_parent(rt, 1);
		destroy(rt);
	}
}

/* Nobody watches when all have slept for a while. The first spawn summons the
 * worker that the second one claims. */
TEST(sleep__two_children_behind_their_parent__both_taken)
{
	struct skua_runtime *rt = runtime_new(4, 0);

	for (unsigned n = 0; n < (SANITIZED ? 5 : 20); n++) {
		while (!idle_all_parked(&rt->pool.idle) ||
		       atomic_load_relaxed(&rt->pool.sentinel.holder) != 0)
			sched_yield();
		run_parent(rt, 2);
	}
	destroy(rt);
}
