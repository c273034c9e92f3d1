/* SPDX-License-Identifier: MIT */
/* test_pi_lock.c - the lock whose holder inherits the priority of its waiters */
#include "core/os/pi_lock.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/support.h"

#define THREADS 3
#define TIMES   20000

static void *try_lock(void *arg)
{
	return pi_lock_try(arg) ? arg : NULL;
}

/* Does another thread find the lock free? Then that thread holds it. */
static bool free_for_others(struct pi_lock *lock)
{
	pthread_t thread;
	void *taken;

	assert_int_equal(pthread_create(&thread, NULL, try_lock, lock), 0);
	assert_int_equal(pthread_join(thread, &taken), 0);
	return taken != NULL;
}

static void adopt(void)
{
	uint32_t generation;

	assert_int_equal(process_generation_adopt(&generation), 0);
}

TEST(pi_lock__held__others_cannot_take_it)
{
	struct pi_lock lock;

	adopt();
	pi_lock_init(&lock);
	pi_lock_take(&lock);
	assert_false(free_for_others(&lock));
	pi_lock_release(&lock);
	assert_true(free_for_others(&lock));
}

struct shared {
	struct pi_lock lock;
	uint64_t count; /* under the lock */
};

static void *count_up(void *arg)
{
	struct shared *shared = arg;

	for (int i = 0; i < TIMES; i++) {
		pi_lock_take(&shared->lock);
		shared->count++;
		pi_lock_release(&shared->lock);
	}
	return NULL;
}

TEST(pi_lock__many_threads__one_at_a_time)
{
	struct shared shared = { .count = 0 };
	pthread_t threads[THREADS];

	adopt();
	pi_lock_init(&shared.lock);
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(
			pthread_create(&threads[i], NULL, count_up, &shared),
			0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(shared.count, THREADS * TIMES);
	assert_int_equal(atomic_load_relaxed(&shared.lock.word), 0);
}

/* The child has a copy of the parent's thread-local data. */
TEST(pi_lock__forked_child__takes_it_as_itself)
{
	struct pi_lock lock;
	int status;
	pid_t child;

	adopt();
	pi_lock_init(&lock);
	pi_lock_take(&lock);
	pi_lock_release(&lock);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		adopt();
		pi_lock_take(&lock);
		_exit(atomic_load_relaxed(&lock.word) != (uint32_t)gettid());
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}
