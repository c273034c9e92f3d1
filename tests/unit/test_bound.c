/* SPDX-License-Identifier: MIT */
/* test_bound.c - tasks that one worker runs, and no other */
#include "core/runtime/runtime.h"
#include "tests/unit/tasks.h"

/* Asks where it is at each poll. */
struct bound {
	struct skua_task task; /* first: a task is its bound */
	int home;
	unsigned polls;
	unsigned elsewhere; /* polls on another worker */
	unsigned yields;    /* left */
	unsigned wakes;     /* of itself, left */
	atomic_u32 ended;
};

static enum skua_poll bound_poll(struct skua_task *self)
{
	struct bound *it = (struct bound *)self;

	it->polls++;
	it->elsewhere += skua_worker_index(runtime_of_task(self)) != it->home;
	if (it->yields > 0) {
		it->yields--;
		return SKUA_YIELD;
	}
	if (it->wakes > 0) {
		it->wakes--;
		skua_waker_wake(skua_task_waker(self));
		return SKUA_PENDING;
	}
	atomic_store_release(&it->ended, 1);
	return SKUA_DONE;
}

static void bound_init(struct bound *it, unsigned home, unsigned yields)
{
	*it = (struct bound){ .task = SKUA_TASK_INIT(bound_poll),
			      .home = (int)home,
			      .yields = yields,
			      .wakes = yields };
}

static void spawn_on(struct skua_runtime *rt, unsigned worker,
		     struct skua_task *task)
{
	assert_int_equal(skua_task_spawn_on(rt, worker, task), 0);
}

/* hold_worker - occupy that very worker */
static void hold_worker(struct skua_runtime *rt, unsigned worker,
			struct holder *holder)
{
	spawn_on(rt, worker, &holder->task);
	gate_wait(&holder->running);
}

static void wait_until_all_parked(struct skua_runtime *rt)
{
	while (!idle_all_parked(&rt->pool.idle))
		sched_yield();
}

/* ---- refused ------------------------------------------------------------- */

TEST(spawn_on__null_no_poll_or_no_such_worker__einval)
{
	struct skua_runtime *rt = runtime_new(2, 0);
	struct skua_task without_poll = SKUA_TASK_INIT(NULL);
	struct counter counter = COUNTER_INIT;

	assert_int_equal(skua_task_spawn_on(NULL, 0, &counter.task), -EINVAL);
	assert_int_equal(skua_task_spawn_on(rt, 0, NULL), -EINVAL);
	assert_int_equal(skua_task_spawn_on(rt, 0, &without_poll), -EINVAL);
	assert_int_equal(skua_task_spawn_on(rt, 2, &counter.task), -EINVAL);
	assert_int_equal(skua_task_spawn_on(rt, UINT32_MAX, &counter.task),
			 -EINVAL);
	spawn_on(rt, 1, &counter.task);
	join(&counter.task);
	destroy(rt);
}

TEST(spawn_on__spawned_already__ealready_and_stays_home)
{
	struct skua_runtime *rt = runtime_new(2, 0);
	struct holder holder = HOLDER_INIT;
	struct bound it;

	bound_init(&it, 1, 3);
	hold_worker(rt, 1, &holder);
	spawn_on(rt, 1, &it.task);
	assert_int_equal(skua_task_spawn_on(rt, 0, &it.task), -EALREADY);
	assert_int_equal(skua_task_spawn(rt, &it.task), -EALREADY);
	assert_int_equal(skua_task_spawn_on(rt, 0, &holder.task), -EALREADY);
	holder_end(&holder);
	wait_until_done(&it.task);
	assert_int_equal(skua_task_spawn_on(rt, 0, &it.task), -EALREADY);
	join(&it.task);
	assert_int_equal(it.elsewhere, 0);
	destroy(rt);
}

/* ---- where it runs ------------------------------------------------------- */

TEST(spawn_on__polls_yields_and_wakes__always_at_home)
{
	struct skua_runtime *rt = runtime_new(3, 0);
	struct bound tasks[30];

	for (unsigned n = 0; n < 30; n++) {
		bound_init(&tasks[n], n % 3, 200);
		spawn_on(rt, n % 3, &tasks[n].task);
	}
	for (unsigned n = 0; n < 30; n++) {
		join(&tasks[n].task);
		assert_int_equal(tasks[n].polls, 401);
		assert_int_equal(tasks[n].elsewhere, 0);
	}
	destroy(rt);
}

struct located {
	struct waiter waiter; /* first: a task is its located */
	struct skua_runtime *rt;
	int home;
	unsigned elsewhere;
};

static enum skua_poll located_poll(struct skua_task *self)
{
	struct located *it = (struct located *)self;

	it->elsewhere += skua_worker_index(it->rt) != it->home;
	return waiter_poll(self);
}

static int wake_arg(struct skua_task *self, void *arg)
{
	(void)self;
	skua_waker_wake(skua_task_waker(arg));
	return 0;
}

TEST(spawn_on__woken_from_anywhere__at_home)
{
	struct skua_runtime *rt = runtime_new(2, 0);
	struct located it = { .waiter = { .task = SKUA_TASK_INIT(
						  located_poll) },
			      .rt = rt,
			      .home = 1 };
	uint32_t polls = 1;

	spawn_on(rt, 1, &it.waiter.task);
	while (waiter_polls(&it.waiter) == 0)
		sched_yield();
	for (unsigned n = 0; n < 300; n++) {
		wait_until_waiting(&it.waiter.task);
		if (n % 2)
			call_in_poll(rt, wake_arg, &it.waiter.task);
		else
			skua_waker_wake(skua_task_waker(&it.waiter.task));
		polls++;
		while (waiter_polls(&it.waiter) < polls)
			sched_yield();
	}
	wait_until_waiting(&it.waiter.task);
	assert_int_equal(skua_task_cancel(&it.waiter.task), 0);
	join(&it.waiter.task);
	assert_int_equal(it.elsewhere, 0);
	destroy(rt);
}

TEST(spawn_on__home_is_busy__not_stolen)
{
	struct skua_runtime *rt = runtime_new(2, 0);
	struct holder holder = HOLDER_INIT;
	struct bound tasks[100];
	struct counter counter = COUNTER_INIT;

	hold_worker(rt, 0, &holder);
	for (unsigned n = 0; n < 100; n++) {
		bound_init(&tasks[n], 0, 1);
		spawn_on(rt, 0, &tasks[n].task);
	}
	/* The other one looks for work all the while, and sleeps. */
	for (unsigned n = 0; n < 1000; n++) {
		spawn(rt, &counter.task);
		join(&counter.task);
	}
	for (unsigned n = 0; n < 100; n++)
		assert_int_equal(tasks[n].polls, 0);
	holder_end(&holder);
	for (unsigned n = 0; n < 100; n++) {
		join(&tasks[n].task);
		assert_int_equal(tasks[n].polls, 3);
		assert_int_equal(tasks[n].elsewhere, 0);
	}
	destroy(rt);
}

TEST(spawn_on__all_asleep__wakes_the_home)
{
	static const unsigned counts[] = { 1, 2, 3, 64, 65, 200 };

	for (size_t c = 0; c < COUNT_OF(counts); c++) {
		struct skua_runtime *rt = runtime_new(counts[c], 0);

		for (unsigned worker = 0; worker < counts[c]; worker++) {
			struct bound it;

			bound_init(&it, worker, 0);
			wait_until_all_parked(rt);
			spawn_on(rt, worker, &it.task);
			join(&it.task);
			assert_int_equal(it.elsewhere, 0);
		}
		destroy(rt);
	}
}

/* By a task of another worker: the home sleeps, the others do not. */
struct distributor {
	struct skua_task task; /* first: a task is its distributor */
	struct bound *tasks;
	unsigned count;
	int code;
};

static enum skua_poll distribute(struct skua_task *self)
{
	struct distributor *it = (struct distributor *)self;
	struct skua_runtime *rt = runtime_of_task(self);

	for (unsigned n = 0; n < it->count; n++)
		it->code |= skua_task_spawn_on(rt, (unsigned)it->tasks[n].home,
					       &it->tasks[n].task);
	return SKUA_DONE;
}

TEST(spawn_on__by_a_task__each_at_its_home)
{
	struct skua_runtime *rt = runtime_new(4, 0);
	struct bound tasks[40];
	struct distributor it = { SKUA_TASK_INIT(distribute), tasks, 40, 0 };

	for (unsigned round = 0; round < 200; round++) {
		for (unsigned n = 0; n < 40; n++)
			bound_init(&tasks[n], n % 4, n % 2);
		spawn(rt, &it.task);
		join(&it.task);
		assert_int_equal(it.code, 0);
		for (unsigned n = 0; n < 40; n++) {
			join(&tasks[n].task);
			assert_int_equal(tasks[n].elsewhere, 0);
		}
	}
	destroy(rt);
}

/* ---- afterwards ---------------------------------------------------------- */

/* The one before it on the queue is polled by the free worker. It must be
 * polled there, or it waits for the worker that it was bound to. */
TEST(spawn__after_spawn_on_and_join__bound_no_more)
{
	struct skua_runtime *rt = runtime_new(2, 0);
	struct holder holder = HOLDER_INIT;
	struct counter other = COUNTER_INIT;
	struct bound it;

	bound_init(&it, 1, 0);
	spawn_on(rt, 1, &it.task);
	join(&it.task);
	hold_worker(rt, 1, &holder);
	it.home = 0;
	atomic_store_relaxed(&it.ended, 0);
	spawn(rt, &it.task);
	for (unsigned n = 0; n < 100; n++) {
		spawn(rt, &other.task);
		join(&other.task);
	}
	assert_int_equal(atomic_load_acquire(&it.ended), 1);
	holder_end(&holder);
	join(&it.task);
	assert_int_equal(it.elsewhere, 0);
	destroy(rt);
}

TEST(spawn__after_spawn_on_where_there_were_more__runs)
{
	struct skua_runtime *many = runtime_new(8, 0);
	struct skua_runtime *one = runtime_new(1, 0);
	struct bound it;

	bound_init(&it, 7, 0);
	spawn_on(many, 7, &it.task);
	join(&it.task);
	it.home = 0;
	spawn(one, &it.task);
	/* Or else it is in the inbox of a worker that is not there. */
	assert_int_equal(it.task.home, 0);
	join(&it.task);
	assert_int_equal(it.elsewhere, 0);
	destroy(many);
	destroy(one);
}

TEST(spawn_on__other_workers_in_turn__each_time_there)
{
	struct skua_runtime *rt = runtime_new(3, 0);
	struct bound it;

	bound_init(&it, 0, 0);
	for (unsigned n = 0; n < 300; n++) {
		it.home = (int)(n % 3);
		spawn_on(rt, n % 3, &it.task);
		join(&it.task);
	}
	assert_int_equal(it.polls, 300);
	assert_int_equal(it.elsewhere, 0);
	destroy(rt);
}
