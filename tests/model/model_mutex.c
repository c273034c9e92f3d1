/* SPDX-License-Identifier: MIT */
/**
 * model_mutex.c - threads that lock a mutex, with and without a deadline
 *
 * The mutex protects a plain count, and the last thread that unlocks it frees it.
 * With a starving time of 0, each waiter that was woken in vain has the mutex
 * handed over.
 */
static unsigned long starving_ns;
#define STARVING_NS starving_ns
#define SPINS       0 /* each look at the word is a step */

#include "tests/model/waiter.h"

#include "core/sync/mutex.c"

static struct skua_mutex mutex;
static unsigned users; /* plain: under the mutex */
static atomic_u32 locked;

static void setup_users(unsigned n)
{
	waiters_reset();
	mutex = (struct skua_mutex)SKUA_MUTEX_INIT;
	explore_watch(&mutex, sizeof(mutex));
	starving_ns = 1000000;
	users = n;
	atomic_init(&locked, 0);
}

static void setup_two(void)
{
	setup_users(2);
}

static void setup_three(void)
{
	setup_users(3);
}

static void setup_two_starving(void)
{
	setup_users(2);
	starving_ns = 0;
}

static void setup_three_starving(void)
{
	setup_users(3);
	starving_ns = 0;
}

/* Lock, and leave. A thread that could not lock leaves as well, later. */
static void use(unsigned i, uint64_t deadline_ns)
{
	bool last;
	int code;

	waiter_begin(i);
	code = skua_mutex_lock(&mutex, deadline_ns);
	explore_assert(code == 0 ||
		       (code == -ETIMEDOUT && deadline_ns != SKUA_FOREVER_NS));
	if (code)
		explore_assert(skua_mutex_lock(&mutex, SKUA_FOREVER_NS) == 0);
	explore_assert(skua_mutex_lock_try(&mutex) == -EDEADLK);
	explore_write(users, explore_read(users) - 1);
	last = users == 0;
	explore_assert(skua_mutex_unlock(&mutex) == 0);
	if (last)
		explore_free(&mutex, sizeof(mutex));
}

static void locks_0(void)
{
	use(0, SKUA_FOREVER_NS);
}

static void locks_1(void)
{
	use(1, SKUA_FOREVER_NS);
}

static void locks_2(void)
{
	use(2, SKUA_FOREVER_NS);
}

static void locks_1_soon(void)
{
	use(1, SOON_NS);
}

static void locks_2_soon(void)
{
	use(2, SOON_NS);
}

/* Twice: the second time it may barge. */
static void locks_0_twice(void)
{
	waiter_begin(0);
	explore_assert(skua_mutex_lock(&mutex, SKUA_FOREVER_NS) == 0);
	explore_write(users, explore_read(users));
	explore_assert(skua_mutex_unlock(&mutex) == 0);
	use(0, SKUA_FOREVER_NS);
}

/* A thread that learns from skua_mutex_destroy() that the mutex is free. */
static void locks_and_says_so(void)
{
	waiter_begin(0);
	explore_assert(skua_mutex_lock(&mutex, SKUA_FOREVER_NS) == 0);
	atomic_store_release(&locked, 1);
	explore_write(users, 0);
	explore_assert(skua_mutex_unlock(&mutex) == 0);
}

static void destroys(void)
{
	int code;

	if (!atomic_load_acquire(&locked))
		return;
	code = skua_mutex_destroy(&mutex);
	explore_assert(code == 0 || code == -EBUSY);
	if (code == 0)
		explore_assert(explore_read(users) == 0);
}

static void all_left(void)
{
	explore_assert(users == 0);
}

static const struct explore_case cases[] = {
	{ EXPLORE_PASS("two", setup_two, all_left, locks_0, locks_1) },
	{ EXPLORE_PASS("two__deadline", setup_two, all_left, locks_0,
		       locks_1_soon) },
	{ EXPLORE_PASS("two__barges", setup_two, all_left, locks_0_twice,
		       locks_1) },
	{ EXPLORE_PASS("two__starving", setup_two_starving, all_left,
		       locks_0_twice, locks_1) },
	{ EXPLORE_PASS("two__starving__deadline", setup_two_starving, all_left,
		       locks_0_twice, locks_1_soon) },
	{ EXPLORE_PASS("destroy", setup_two, NULL, locks_and_says_so,
		       destroys) },
	{ EXPLORE_PASS("three", setup_three, all_left, locks_0, locks_1,
		       locks_2),
	  EXPLORE_WITHIN(2, 1) },
	{ EXPLORE_PASS("three__deadlines", setup_three, all_left, locks_0,
		       locks_1_soon, locks_2_soon),
	  EXPLORE_WITHIN(2, 1) },
	{ EXPLORE_PASS("three__starving__random", setup_three_starving,
		       all_left, locks_0_twice, locks_1, locks_2),
	  .random = 300000 },
	{ EXPLORE_PASS("three__starving", setup_three_starving, all_left,
		       locks_0_twice, locks_1_soon, locks_2),
	  EXPLORE_WITHIN(2, 1) },
};

EXPLORE_MAIN(cases)
