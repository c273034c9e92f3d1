/* SPDX-License-Identifier: MIT */
/**
 * model_once.c - threads of which one initialises, while others wait
 *
 * The first attempt fails in some cases: then another thread begins.
 */
#include "tests/model/waiter.h"

#include "core/sync/once.c"

static struct skua_once once;
static unsigned value;    /* plain: what is initialised */
static unsigned fails;    /* attempts that fail; plain: by initialisers */
static unsigned attempts; /* plain: likewise */

static void setup_failing(unsigned n)
{
	waiters_reset();
	once = (struct skua_once)SKUA_ONCE_INIT;
	explore_watch(&once, sizeof(once));
	value = 0;
	fails = n;
	attempts = 0;
}

static void setup(void)
{
	setup_failing(0);
}

static void setup_one_fails(void)
{
	setup_failing(1);
}

/* Return: is it initialised now? */
static bool initialise(void)
{
	bool fail = explore_read(attempts) < fails;

	explore_assert(skua_once_begin_try(&once) == -EDEADLK);
	explore_write(attempts, attempts + 1);
	if (!fail)
		explore_write(value, 1);
	explore_assert(skua_once_end(&once, !fail) == 0);
	return !fail;
}

static void begin_by(unsigned i, uint64_t deadline_ns)
{
	int code;

	waiter_begin(i);
	do {
		code = skua_once_begin(&once, deadline_ns);
		explore_assert(
			code == 0 || code == 1 ||
			(code == -ETIMEDOUT && deadline_ns != SKUA_FOREVER_NS));
		deadline_ns = SKUA_FOREVER_NS;
	} while (code < 0 || (code == 1 && !initialise()));
	explore_assert(explore_read(value) == 1);
	explore_assert(skua_once_end(&once, true) == -EPERM);
}

static void begins_0(void)
{
	begin_by(0, SKUA_FOREVER_NS);
}

static void begins_1(void)
{
	begin_by(1, SKUA_FOREVER_NS);
}

static void begins_1_soon(void)
{
	begin_by(1, SOON_NS);
}

static void begins_2_soon(void)
{
	begin_by(2, SOON_NS);
}

static void is_done(void)
{
	explore_assert(attempts == fails + 1);
	explore_assert(once.word == DONE && !once.waiters.first);
}

static const struct explore_case cases[] = {
	{ EXPLORE_PASS("two", setup, is_done, begins_0, begins_1) },
	{ EXPLORE_PASS("two__deadline", setup, is_done, begins_0,
		       begins_1_soon) },
	{ EXPLORE_PASS("two__fails", setup_one_fails, is_done, begins_0,
		       begins_1_soon),
	  EXPLORE_WITHIN(3, 1) },
	{ EXPLORE_PASS("three", setup, is_done, begins_0, begins_1,
		       begins_2_soon),
	  EXPLORE_WITHIN(2, 1) },
	{ EXPLORE_PASS("three__fails", setup_one_fails, is_done, begins_0,
		       begins_1, begins_2_soon),
	  EXPLORE_WITHIN(2, 1) },
};

EXPLORE_MAIN(cases)
