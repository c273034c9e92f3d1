/* SPDX-License-Identifier: MIT */
/**
 * model_condition.c - threads that wait for a condition under a mutex
 *
 * A thread that signals has changed the condition under the mutex. No waiter
 * misses that, and each holds the mutex when its call returns. The last user
 * frees both objects.
 */
static unsigned long starving_ns;
#define STARVING_NS starving_ns
#define SPINS       1

#include "tests/model/waiter.h"

#include "core/sync/mutex.c"
#include "core/sync/condition.c"

static struct skua_mutex mutex;
static struct skua_condition condition;
static unsigned items; /* plain: under the mutex */
static unsigned users; /* likewise */

static void setup_users(unsigned n)
{
	waiters_reset();
	mutex = (struct skua_mutex)SKUA_MUTEX_INIT;
	condition = (struct skua_condition)SKUA_CONDITION_INIT;
	explore_watch(&mutex, sizeof(mutex));
	explore_watch(&condition, sizeof(condition));
	starving_ns = 1000000;
	items = 0;
	users = n;
}

static void setup_two(void)
{
	setup_users(2);
}

static void setup_three(void)
{
	setup_users(3);
}

static void lock(void)
{
	explore_assert(skua_mutex_lock(&mutex, SKUA_FOREVER_NS) == 0);
}

static void unlock_and_leave(void)
{
	bool last = explore_read(users) == 1;

	explore_write(users, users - 1);
	explore_assert(skua_mutex_unlock(&mutex) == 0);
	if (last) {
		explore_free(&condition, sizeof(condition));
		explore_free(&mutex, sizeof(mutex));
	}
}

static void consume_by(unsigned i, uint64_t deadline_ns)
{
	int code = 0;

	waiter_begin(i);
	lock();
	while (explore_read(items) == 0 && code == 0)
		code = skua_condition_wait(&condition, &mutex, deadline_ns);
	explore_assert(code == 0 ||
		       (code == -ETIMEDOUT && deadline_ns != SKUA_FOREVER_NS));
	explore_assert(mutex_held_by(&mutex, await_self()));
	if (explore_read(items) > 0)
		explore_write(items, items - 1);
	unlock_and_leave();
}

static void produce_by(unsigned i, unsigned n, bool to_all)
{
	waiter_begin(i);
	lock();
	explore_write(items, explore_read(items) + n);
	explore_assert((to_all ? skua_condition_broadcast(&condition)
			       : skua_condition_signal(&condition)) == 0);
	unlock_and_leave();
}

/* Takes nothing, and passes a signal on. A signal that it got, but does not
 * report, is lost. */
static void passes_on_1_soon(void)
{
	int code;

	waiter_begin(1);
	lock();
	code = skua_condition_wait(&condition, &mutex, SOON_NS);
	if (code == 0)
		skua_condition_signal(&condition);
	unlock_and_leave();
}

static void produces(void)
{
	produce_by(0, 1, false);
}

static void produces_two(void)
{
	produce_by(0, 2, true);
}

static void consumes_1(void)
{
	consume_by(1, SKUA_FOREVER_NS);
}

static void consumes_1_soon(void)
{
	consume_by(1, SOON_NS);
}

static void consumes_2(void)
{
	consume_by(2, SKUA_FOREVER_NS);
}

static void none_waits(void)
{
	explore_assert(users == 0);
}

static const struct explore_case cases[] = {
	{ EXPLORE_PASS("signal", setup_two, none_waits, produces, consumes_1) },
	{ EXPLORE_PASS("signal__deadline", setup_two, none_waits, produces,
		       consumes_1_soon) },
	{ EXPLORE_PASS("signal__passed_on", setup_three, none_waits, produces,
		       passes_on_1_soon, consumes_2),
	  EXPLORE_WITHIN(2, 1) },
	{ EXPLORE_PASS("broadcast", setup_three, none_waits, produces_two,
		       consumes_1, consumes_2),
	  EXPLORE_WITHIN(2, 1) },
	{ EXPLORE_PASS("broadcast__deadline", setup_three, none_waits,
		       produces_two, consumes_1_soon, consumes_2),
	  EXPLORE_WITHIN(2, 1) },
};

EXPLORE_MAIN(cases)
