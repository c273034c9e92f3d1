/* SPDX-License-Identifier: MIT */
/* test_mutex.c - mutexes between polls, fibers, threads and children of fork() */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "skua/sync.h"
#include "tests/unit/users.h"

#define SOON_NS UINT64_C(3000000)

static int lock_and_unlock(void *object)
{
	int code = skua_mutex_lock(object, SKUA_FOREVER_NS);

	return code ? code : skua_mutex_unlock(object);
}

static int unlock(struct user *it)
{
	return skua_mutex_unlock(it->object);
}

TEST(mutex__unlocked_by_another__eperm)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct skua_mutex mutex = SKUA_MUTEX_INIT;

	assert_int_equal(skua_mutex_unlock(&mutex), -EPERM);
	assert_int_equal(skua_mutex_lock(&mutex, SKUA_FOREVER_NS), 0);
	assert_int_equal(user_run(rt, true, unlock, &mutex), -EPERM);
	assert_int_equal(user_run(rt, false, unlock, &mutex), -EPERM);
	assert_int_equal(skua_mutex_unlock(&mutex), 0);
	destroy(rt);
}

static int lock_twice(struct user *it)
{
	int code;

	assert_int_equal(skua_mutex_lock(it->object, SKUA_FOREVER_NS), 0);
	code = skua_mutex_lock(it->object, SKUA_FOREVER_NS);
	assert_int_equal(skua_mutex_lock_try(it->object), code);
	assert_int_equal(skua_mutex_unlock(it->object), 0);
	return code;
}

TEST(mutex__locked_twice__edeadlk)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct skua_mutex mutex = SKUA_MUTEX_INIT;

	assert_int_equal(user_run(rt, true, lock_twice, &mutex), -EDEADLK);
	assert_int_equal(user_run(rt, false, lock_twice, &mutex), -EDEADLK);
	destroy(rt);
}

static int lock_soon(struct user *it)
{
	int code = skua_mutex_lock(it->object, skua_now_ns() + SOON_NS);

	return code ? code : skua_mutex_unlock(it->object);
}

static int lock_at_once(struct user *it)
{
	return skua_mutex_lock(it->object, 0);
}

TEST(mutex__held__deadline_passes_and_nothing_stays)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct skua_mutex mutex = SKUA_MUTEX_INIT;

	assert_int_equal(skua_mutex_lock(&mutex, SKUA_FOREVER_NS), 0);
	assert_int_equal(skua_mutex_destroy(&mutex), -EBUSY);
	for (unsigned fiber = 0; fiber < 2; fiber++) {
		assert_int_equal(user_run(rt, fiber, lock_soon, &mutex),
				 -ETIMEDOUT);
		assert_int_equal(user_run(rt, fiber, lock_at_once, &mutex),
				 -ETIMEDOUT);
	}
	assert_int_equal(skua_mutex_unlock(&mutex), 0);
	assert_int_equal(mutex.word, 0);
	assert_int_equal(skua_mutex_destroy(&mutex), 0);
	destroy(rt);
}

static int lock_until_cancelled(struct user *it)
{
	return skua_mutex_lock(it->object, SKUA_FOREVER_NS);
}

TEST(mutex__waiting_fiber_cancelled__ecanceled)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct skua_mutex mutex = SKUA_MUTEX_INIT;
	struct user it = { .number = 0 };

	assert_int_equal(skua_mutex_lock(&mutex, SKUA_FOREVER_NS), 0);
	user_start(&it, rt, true, lock_until_cancelled, &mutex);
	wait_for_waiters(&mutex.waiters, 1);
	assert_int_equal(skua_task_cancel(&it.fiber.task), 0);
	assert_int_equal(user_end(&it), -ECANCELED);
	assert_int_equal(skua_mutex_unlock(&mutex), 0);
	assert_int_equal(skua_mutex_destroy(&mutex), 0);
	destroy(rt);
}

static int lock_when_cancelled(struct user *it)
{
	while (!skua_task_cancelled(&it->fiber.task))
		skua_await();
	return lock_and_unlock(it->object);
}

TEST(mutex__free_and_fiber_cancelled__locked)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct skua_mutex mutex = SKUA_MUTEX_INIT;
	struct user it = { .number = 0 };

	user_start(&it, rt, true, lock_when_cancelled, &mutex);
	assert_int_equal(skua_task_cancel(&it.fiber.task), 0);
	assert_int_equal(user_end(&it), 0);
	destroy(rt);
}

#define ROUNDS 20000u
#define USERS  6u

struct shared {
	struct skua_mutex mutex;
	uint64_t count; /* plain */
};

static int count_rounds(struct user *it)
{
	struct shared *shared = it->object;

	for (unsigned i = 0; i < ROUNDS; i++) {
		int code = skua_mutex_lock(&shared->mutex,
					   i % 8 ? SKUA_FOREVER_NS
						 : skua_now_ns() + 20000);

		if (code == -ETIMEDOUT)
			code = skua_mutex_lock(&shared->mutex, SKUA_FOREVER_NS);
		assert_int_equal(code, 0);
		shared->count++;
		assert_int_equal(skua_mutex_unlock(&shared->mutex), 0);
	}
	return 0;
}

/* The same in polls. */
struct poller {
	struct skua_task task; /* first: a task is its poller */
	struct skua_wait wait;
	struct shared *shared;
	unsigned rounds;
};

static enum skua_poll poll_rounds(struct skua_task *self)
{
	struct poller *it = (struct poller *)self;
	struct shared *shared = it->shared;

	for (; it->rounds < ROUNDS; it->rounds++) {
		int code = skua_mutex_lock_poll(self, &shared->mutex, &it->wait,
						SKUA_FOREVER_NS);

		assert_true(skua_wait_armed(&it->wait) == (code == -EAGAIN));
		if (code == -EAGAIN)
			return SKUA_PENDING;
		assert_int_equal(code, 0);
		shared->count++;
		assert_int_equal(skua_mutex_unlock(&shared->mutex), 0);
	}
	return SKUA_DONE;
}

TEST(mutex__polls_fibers_and_threads__exclude_each_other)
{
	struct skua_runtime *rt = runtime_new(2, 0);
	struct shared shared = { .mutex = SKUA_MUTEX_INIT };
	struct user users[USERS] = { 0 };
	struct poller pollers[2];

	for (unsigned i = 0; i < USERS; i++)
		user_start(&users[i], rt, i % 3 != 0, count_rounds, &shared);
	for (unsigned i = 0; i < 2; i++) {
		pollers[i] =
			(struct poller){ .task = SKUA_TASK_INIT(poll_rounds),
					 .shared = &shared };
		spawn(rt, &pollers[i].task);
	}
	for (unsigned i = 0; i < USERS; i++)
		assert_int_equal(user_end(&users[i]), 0);
	for (unsigned i = 0; i < 2; i++)
		join(&pollers[i].task);
	assert_int_equal(shared.count, (USERS + 2) * ROUNDS);
	assert_int_equal(skua_mutex_destroy(&shared.mutex), 0);
	destroy(rt);
}

/* ---- children of fork() ------------------------------------------------------------- */

static void *hold_until_waited_for(void *arg)
{
	struct skua_mutex *mutex = arg;

	assert_int_equal(skua_mutex_lock(mutex, SKUA_FOREVER_NS), 0);
	wait_for_waiters(&mutex->waiters, 1);
	assert_int_equal(skua_mutex_unlock(mutex), 0);
	return NULL;
}

/* Lock a mutex that another thread holds. */
static int contend(void)
{
	struct skua_mutex mutex = SKUA_MUTEX_INIT;
	pthread_t thread;
	int code;

	if (pthread_create(&thread, NULL, hold_until_waited_for, &mutex))
		return -ENOMEM;
	while (skua_mutex_destroy(&mutex) == 0)
		sched_yield();
	code = lock_and_unlock(&mutex);
	pthread_join(thread, NULL);
	return code;
}

static int contend_in_child(void)
{
	struct skua_task *parents = skua_task_self();
	int status = 0;
	pid_t child = fork();

	if (child == 0) {
		sigset_t all;

		/* Ends a child that hangs; part of no success. */
		sigfillset(&all);
		pthread_sigmask(SIG_UNBLOCK, &all, NULL);
		alarm(20);
		_exit(contend() || skua_sleep_until(1) ||
		      skua_task_join(parents) != -EOWNERDEAD);
	}
	return waitpid(child, &status, 0) == child ? status : -1;
}

static int contend_in_child_of_poll(struct skua_task *self, void *arg)
{
	(void)self;
	(void)arg;
	return contend_in_child();
}

static int contend_in_child_of_fiber(struct user *it)
{
	(void)it;
	return contend_in_child();
}

TEST(mutex__child_of_a_poll_or_a_fiber__waits_as_a_thread)
{
	struct skua_runtime *rt;

	if (THREAD_SANITIZED) {
		skip_aloud("TSan starts no threads in the child of a fork()");
		return;
	}
	rt = runtime_new(1, 0);
	assert_int_equal(call_in_poll(rt, contend_in_child_of_poll, NULL), 0);
	assert_int_equal(user_run(rt, true, contend_in_child_of_fiber, NULL),
			 0);
	destroy(rt);
}
