/* SPDX-License-Identifier: MIT */
/* test_mutex_starving.c - a mutex that is handed over, and the waiters after that */
#include "core/sync/mutex.h"
#include "tests/unit/users.h"

/* A bit of the word: see core/sync/mutex.c. */
#define STARVING UINT64_C(4)
#define NEXT     0 /* a link: see core/wait/wait.c */

static int lock_and_unlock(struct user *it)
{
	int code = skua_mutex_lock(it->object, SKUA_FOREVER_NS);

	return code ? code : skua_mutex_unlock(it->object);
}

/* Return: could the caller take the mutex after its own unlock? The next waiter does not run in
 * between, because there is one worker. */
static int lock_and_take_again(struct user *it)
{
	struct skua_mutex *mutex = it->object;
	int code;

	assert_int_equal(skua_mutex_lock(mutex, SKUA_FOREVER_NS), 0);
	assert_int_equal(skua_mutex_unlock(mutex), 0);
	code = skua_mutex_lock_try(mutex);
	if (code == 0)
		assert_int_equal(skua_mutex_unlock(mutex), 0);
	return code;
}

/* Hand a mutex over to the first of its waiters. The second one, if there is one, starves.
 * Return: as lock_and_take_again(), by the first. */
static int take_beside(bool another)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct skua_mutex mutex = SKUA_MUTEX_INIT;
	struct user first = { .number = 0 }, second = { .number = 0 };
	int code;

	assert_int_equal(skua_mutex_lock(&mutex, SKUA_FOREVER_NS), 0);
	user_start(&first, rt, true, lock_and_take_again, &mutex);
	wait_for_waiters(&mutex.waiters, 1);
	if (another) {
		user_start(&second, rt, true, lock_and_unlock, &mutex);
		wait_for_waiters(&mutex.waiters, 2);
		wait_until_waiting(&second.fiber.task);
	}
	waiters_lock(&mutex.waiters);
	if (another)
		mutex.waiters.first->link[NEXT]->since_ns = 0;
	/* As if the first one had been woken in vain, after a long wait. */
	atomic_fetch_or_relaxed((atomic_u64 *)&mutex.word, STARVING);
	waiters_unlock(&mutex.waiters);

	assert_int_equal(skua_mutex_unlock(&mutex), 0);
	code = user_end(&first);
	if (another)
		assert_int_equal(user_end(&second), 0);
	assert_int_equal(skua_mutex_destroy(&mutex), 0);
	destroy(rt);
	return code;
}

TEST(mutex__handed_over_and_the_next_starves__handed_over_to_it)
{
	assert_int_equal(take_beside(true), -EAGAIN);
}

TEST(mutex__handed_over_to_the_last_waiter__free_again)
{
	assert_int_equal(take_beside(false), 0);
}
