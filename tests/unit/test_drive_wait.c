/* SPDX-License-Identifier: MIT */
/* test_drive_wait.c - threads that wait for a runtime that has none, and drive */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>

#include "core/runtime/runtime.h"
#include "tests/unit/tasks.h"

static int driven_runtime(struct skua_runtime **rt)
{
	const struct skua_config cfg = { .size = sizeof(cfg),
					 .flags = SKUA_CALLER_DRIVEN };

	return skua_runtime_create(rt, &cfg, NULL);
}

static struct skua_runtime *driven(void)
{
	struct skua_runtime *rt = NULL;

	assert_int_equal(driven_runtime(&rt), 0);
	return rt;
}

/* ---- block_on -------------------------------------------------------------- */

TEST(block_on__driven__runs_the_task_here)
{
	struct skua_runtime *rt = driven();

	block_on_often(rt, 100);
	destroy(rt);
}

/* Waits for a timer, and so the thread for the descriptor. */
TEST(block_on__driven_and_timer__sleeps_until_it_fires)
{
	struct skua_runtime *rt = driven();
	struct nap it = NAP_INIT(3000000);

	assert_int_equal(skua_runtime_block_on(rt, &it.task), 0);
	assert_true(skua_now_ns() >= it.when_ns);
	destroy(rt);
}

/* Others that are never done do not keep it. */
static enum skua_poll yield_without_count(struct skua_task *self)
{
	return skua_task_cancelled(self) ? SKUA_DONE : SKUA_YIELD;
}

TEST(block_on__others_never_idle__returns)
{
	struct skua_runtime *rt = driven();
	struct skua_task busy = SKUA_TASK_INIT(yield_without_count);
	struct counter counter = COUNTER_INIT;

	spawn(rt, &busy);
	assert_int_equal(skua_runtime_block_on(rt, &counter.task), 0);
	assert_int_equal(counter.polls, 1);
	assert_int_equal(skua_task_cancel(&busy), 0);
	assert_int_equal(skua_runtime_drain(rt), 0);
	join(&busy);
	destroy(rt);
}

TEST(block_on__driven_and_refused__code_of_the_spawn)
{
	struct skua_runtime *rt = driven();
	struct skua_task none = SKUA_TASK_INIT(NULL);
	struct counter counter = COUNTER_INIT;
	struct waiter waiter = WAITER_INIT;

	assert_int_equal(skua_runtime_block_on(rt, NULL), -EINVAL);
	assert_int_equal(skua_runtime_block_on(rt, &none), -EINVAL);
	spawn(rt, &waiter.task);
	assert_int_equal(skua_runtime_block_on(rt, &waiter.task), -EALREADY);
	assert_int_equal(skua_task_cancel(&waiter.task), 0);
	assert_int_equal(skua_runtime_shutdown(rt, 0, SKUA_SHUTDOWN_RUN), 0);
	assert_int_equal(skua_runtime_block_on(rt, &counter.task), -ESHUTDOWN);
	assert_int_equal(counter.polls, 0);
	join(&waiter.task);
	destroy(rt);
}

/* Spawns the task that a thread has asked for, before that is done. */
struct rival {
	struct skua_task task; /* first: a task is its rival */
	struct skua_runtime *rt;
	struct skua_task *wanted;
};

static enum skua_poll rival_poll(struct skua_task *self)
{
	const struct rival *it = (struct rival *)self;

	spawn(it->rt, it->wanted);
	return SKUA_DONE;
}

TEST(block_on__driven_and_spawned_meanwhile__already)
{
	struct skua_runtime *rt = driven();
	struct counter counter = COUNTER_INIT;
	struct rival rival = { .task = SKUA_TASK_INIT(rival_poll),
			       .rt = rt,
			       .wanted = &counter.task };

	spawn(rt, &rival.task);
	assert_int_equal(skua_runtime_block_on(rt, &counter.task), -EALREADY);
	assert_int_equal(skua_runtime_drain(rt), 0);
	join(&rival.task);
	join(&counter.task);
	assert_int_equal(counter.polls, 1);
	destroy(rt);
}

/* ---- several threads ------------------------------------------------------- */

struct drivers {
	struct skua_runtime *rt;
	struct gate stop;
};

/* As a program's loop. */
static void *host(void *arg)
{
	struct drivers *it = arg;
	struct pollfd fd = { .fd = skua_runtime_eventfd(it->rt),
			     .events = POLLIN };

	while (!gate_is_open(&it->stop)) {
		if (skua_runtime_poll(it->rt, UINT64_MAX) == 0)
			poll(&fd, 1, 1);
	}
	return NULL;
}

static void *drain(void *arg)
{
	struct drivers *it = arg;

	return (void *)(intptr_t)skua_runtime_drain(it->rt);
}

static void *block_on(void *arg)
{
	struct drivers *it = arg;
	struct counter counter = COUNTER_INIT;
	intptr_t code = 0;

	for (unsigned n = 0; n < 300 && code == 0; n++)
		code = skua_runtime_block_on(it->rt, &counter.task);
	return (void *)(code == 0 && counter.polls == 300 ? 0 : code + 1);
}

TEST(waits__beside_each_other_and_a_host__all_return)
{
	static void *(*const threads[])(void *) = { block_on, block_on, drain,
						    drain, host };
	pthread_t ids[COUNT_OF(threads)];
	struct drivers it = { .rt = driven() };
	struct waiter waiter = WAITER_INIT;
	void *code;

	spawn(it.rt, &waiter.task);
	for (size_t i = 0; i < COUNT_OF(threads); i++)
		assert_int_equal(pthread_create(&ids[i], NULL, threads[i], &it),
				 0);
	for (size_t i = 0; i < 2; i++) {
		pthread_join(ids[i], &code);
		assert_int_equal((intptr_t)code, 0);
	}
	/* The drains wait for the last one. */
	assert_int_equal(skua_task_cancel(&waiter.task), 0);
	for (size_t i = 2; i < 4; i++) {
		pthread_join(ids[i], &code);
		assert_int_equal((intptr_t)code, 0);
	}
	gate_open(&it.stop);
	pthread_join(ids[4], NULL);
	join(&waiter.task);
	destroy(it.rt);
}

/* Nobody else drives: the drains take turns. */
TEST(drain__by_two_threads_without_a_host__both_return)
{
	for (unsigned n = 0; n < 200; n++) {
		struct drivers it = { .rt = driven() };
		struct counter counters[8];
		pthread_t ids[2];

		for (size_t i = 0; i < COUNT_OF(counters); i++) {
			counters[i] = (struct counter)COUNTER_INIT;
			spawn(it.rt, &counters[i].task);
		}
		for (size_t i = 0; i < COUNT_OF(ids); i++)
			assert_int_equal(
				pthread_create(&ids[i], NULL, drain, &it), 0);
		for (size_t i = 0; i < COUNT_OF(ids); i++)
			pthread_join(ids[i], NULL);
		for (size_t i = 0; i < COUNT_OF(counters); i++)
			assert_int_equal(counters[i].polls, 1);
		destroy(it.rt);
	}
}

static void *wake_later(void *arg)
{
	struct waiter *it = arg;

	gate_open(&it->end);
	skua_task_cancel(&it->task);
	return NULL;
}

TEST(drain__a_foreign_thread_ends_the_task__returns)
{
	for (unsigned n = 0; n < 200; n++) {
		struct skua_runtime *rt = driven();
		struct waiter waiter = WAITER_INIT;
		pthread_t id;

		spawn(rt, &waiter.task);
		assert_int_equal(pthread_create(&id, NULL, wake_later, &waiter),
				 0);
		assert_int_equal(skua_runtime_drain(rt), 0);
		pthread_join(id, NULL);
		join(&waiter.task);
		destroy(rt);
	}
}

/* As a program's loop that has no other reason to look. */
static void *patient_host(void *arg)
{
	struct drivers *it = arg;
	struct pollfd fd = { .fd = skua_runtime_eventfd(it->rt),
			     .events = POLLIN };

	while (!gate_is_open(&it->stop)) {
		if (skua_runtime_poll(it->rt, 0) != 1)
			poll(&fd, 1, -1);
	}
	return NULL;
}

struct blocked {
	struct skua_runtime *rt;
	struct waiter waiter;
};

static void *block_on_waiter(void *arg)
{
	struct blocked *it = arg;

	return (void *)(intptr_t)skua_runtime_block_on(it->rt,
						       &it->waiter.task);
}

/* Both sleep when the task is cancelled. The host may run it, and clear what has woken
 * the other thread, before that one has run. */
TEST(block_on__beside_a_host_and_a_task_that_waits__returns)
{
	struct drivers it = { .rt = driven() };
	struct waiter other = WAITER_INIT;
	pthread_t hosts, blocks;

	spawn(it.rt, &other.task);
	assert_int_equal(pthread_create(&hosts, NULL, patient_host, &it), 0);
	for (unsigned n = 0; n < 200; n++) {
		struct blocked blocked = { it.rt, WAITER_INIT };
		void *code;

		assert_int_equal(pthread_create(&blocks, NULL, block_on_waiter,
						&blocked),
				 0);
		while (waiter_polls(&blocked.waiter) == 0)
			sched_yield();
		usleep(200);
		assert_int_equal(skua_task_cancel(&blocked.waiter.task), 0);
		pthread_join(blocks, &code);
		assert_int_equal((intptr_t)code, 0);
	}
	gate_open(&it.stop);
	assert_int_equal(skua_task_cancel(&other.task), 0);
	pthread_join(hosts, NULL);
	assert_int_equal(skua_runtime_drain(it.rt), 0);
	join(&other.task);
	destroy(it.rt);
}

/* Another thread drives on: for it, there is always more to do. */
TEST(block_on__beside_a_drain_that_goes_on__returns)
{
	struct drivers it = { .rt = driven() };
	struct skua_task busy = SKUA_TASK_INIT(yield_without_count);
	struct counter counter = COUNTER_INIT;
	pthread_t drains;

	spawn(it.rt, &busy);
	assert_int_equal(pthread_create(&drains, NULL, drain, &it), 0);
	for (unsigned n = 1; n <= 100; n++) {
		assert_int_equal(skua_runtime_block_on(it.rt, &counter.task),
				 0);
		assert_int_equal(counter.polls, n);
		usleep(10);
	}
	assert_int_equal(skua_task_cancel(&busy), 0);
	pthread_join(drains, NULL);
	join(&busy);
	destroy(it.rt);
}

/* ---- pollers --------------------------------------------------------------- */

struct looker {
	struct skua_poller poller; /* first: a poller is its looker */
	unsigned looks;
};

static int look(struct skua_poller *self)
{
	struct looker *it = (struct looker *)self;

	return ++it->looks == 10 ? SKUA_POLLER_DONE : 0;
}

TEST(poller_without_park__driven__never_idle)
{
	struct skua_runtime *rt = driven();
	struct pollfd fd = { .fd = skua_runtime_eventfd(rt), .events = POLLIN };
	struct looker it = { .poller = { .poll = look } };

	assert_int_equal(skua_runtime_add_poller(rt, 0, &it.poller), 0);
	while (it.looks < 10) {
		assert_int_equal(poll(&fd, 1, -1), 1);
		assert_in_range(skua_runtime_poll(rt, 0), 0, 1);
	}
	assert_int_equal(skua_runtime_poll(rt, UINT64_MAX), 0);
	assert_int_equal(it.looks, 10);
	destroy(rt);
}

/* ---- what it is made of ---------------------------------------------------- */

TEST(create__workers_in_the_environment__ignored)
{
	struct skua_runtime *rt;

	setenv("SKUA_WORKERS", "2", 1);
	rt = driven();
	unsetenv("SKUA_WORKERS");
	assert_int_equal(skua_runtime_workers(rt), 1);
	destroy(rt);
}

/* As in a daemon that has closed its standard input. */
TEST(create__descriptor_0_is_free__closed_with_the_others)
{
	int input = dup(0);
	struct skua_runtime *rt;

	assert_true(input > 0);
	close(0);
	rt = driven();
	assert_true(fcntl(0, F_GETFD) >= 0);
	destroy(rt);
	assert_int_equal(fcntl(0, F_GETFD), -1);
	assert_int_equal(dup2(input, 0), 0);
	close(input);
}

/* Fewer descriptors than it needs, from none to one too few. */
TEST(create__no_descriptors__emfile_and_nothing_left)
{
	struct rlimit before;
	struct rlimit few;
	struct skua_runtime *rt = NULL;
	int lowest = dup(0);

	assert_true(lowest > 0);
	close(lowest);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	few = before;
	for (rlim_t n = 0; n < 4; n++) {
		few.rlim_cur = (rlim_t)lowest + n;
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
		assert_int_equal(driven_runtime(&rt), -EMFILE);
		assert_null(rt);
		assert_int_equal(fcntl(lowest, F_GETFD), -1);
	}
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_int_equal(driven_runtime(&rt), 0);
	destroy(rt);
}

static void interrupted(int signal)
{
	(void)signal;
}

TEST(drain__interrupted__errno_is_left_alone)
{
	struct skua_runtime *rt = driven();
	struct nap it = NAP_INIT(3000000);
	struct sigaction action = { .sa_handler = interrupted };
	struct sigaction before;
	timer_t timer;
	const struct itimerspec soon = { { 0, 300000 }, { 0, 300000 } };

	sigaction(SIGALRM, &action, &before);
	assert_int_equal(timer_create(CLOCK_MONOTONIC, NULL, &timer), 0);
	assert_int_equal(timer_settime(timer, 0, &soon, NULL), 0);
	spawn(rt, &it.task);
	errno = 123;
	assert_int_equal(skua_runtime_drain(rt), 0);
	assert_int_equal(errno, 123);
	timer_delete(timer);
	sigaction(SIGALRM, &before, NULL);
	join(&it.task);
	destroy(rt);
}
