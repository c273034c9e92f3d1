/* SPDX-License-Identifier: MIT */
/**
 * test_mutex_woken.c - what a lock and an unlock cost while a woken waiter is on its way
 *
 * The mutex is compiled with a compare-exchange that counts. There is one worker, so that the
 * woken waiter does not run before the fiber that counts has ended.
 */
#include "core/base/clock.h"
#include "core/sync/mutex.h"
#include "core/sync/verbs.h"
#include "tests/unit/users.h"

/* After the headers. */
#include "tests/unit/counted_exchanges.h"

#include "core/sync/mutex.c"

static int lock_and_unlock(struct user *it)
{
	int code = skua_mutex_lock(it->object, SKUA_FOREVER_NS);

	return code ? code : skua_mutex_unlock(it->object);
}

/* Wake one of @it->number waiters. Return: the tries of a lock and an unlock after that. */
static int count_tries(struct user *it)
{
	struct skua_mutex *mutex = it->object;
	unsigned before;

	assert_int_equal(skua_mutex_lock(mutex, SKUA_FOREVER_NS), 0);
	while (count_of(&mutex->waiters) != it->number)
		skua_yield();
	assert_int_equal(skua_mutex_unlock(mutex), 0);
	assert_int_equal(count_of(&mutex->waiters), it->number - 1);
	before = tries;
	assert_int_equal(lock_and_unlock(it), 0);
	return (int)(tries - before);
}

static int tries_beside(unsigned waiters)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct skua_mutex mutex = SKUA_MUTEX_INIT;
	struct user waits[2] = { { .number = 0 } };
	struct user counts = { .number = waiters };
	int result;

	user_start(&counts, rt, true, count_tries, &mutex);
	while (!atomic_load_relaxed(word_of(&mutex)))
		sched_yield();
	for (unsigned i = 0; i < waiters; i++)
		user_start(&waits[i], rt, true, lock_and_unlock, &mutex);
	result = user_end(&counts);
	for (unsigned i = 0; i < waiters; i++)
		assert_int_equal(user_end(&waits[i]), 0);
	assert_int_equal(skua_mutex_destroy(&mutex), 0);
	destroy(rt);
	return result;
}

TEST(mutex__waiter_on_its_way__locked_and_unlocked_at_the_first_try)
{
	assert_int_equal(tries_beside(1), 2);
}

TEST(mutex__waiter_on_its_way_and_another_asleep__the_same)
{
	assert_int_equal(tries_beside(2), 2);
}
