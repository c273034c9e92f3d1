/* SPDX-License-Identifier: MIT */
/**
 * model_watch.c - threads that set a value, get it, wait for a change, and close the watch
 *
 * A value is whole, and as new as its version; what was done before a set is visible to
 * those that get it; nobody waits for a change that has happened; and a watch of one thread
 * could have returned the same (W4). tests/model/mutants.toml has the broken variants.
 */
#define COPY_TRIES 1
#include "tests/model/waiter.h"

#include "core/channel/watch.c"

#include "tests/model/channel_spec.h"

#define THREADS_SET 2

static struct skua_watch watch;
static uint64_t memory[2];                /* two words of one value */
static unsigned letters[THREADS_SET + 1]; /* plain: of the threads that set */
static unsigned letter_closed;
static int code_of[WAITER_THREADS];
static uint64_t last_seen; /* before the close */

static void setup(void)
{
	waiters_reset();
	history_reset(&spec_watch);
	memory[0] = memory[1] = 0;
	explore_assert(skua_watch_init(&watch, memory, 16) == 0);
	explore_watch(&watch, sizeof(watch));
	for (unsigned i = 0; i <= THREADS_SET; i++)
		letters[i] = 0;
	letter_closed = 0;
	for (unsigned i = 0; i < WAITER_THREADS; i++)
		code_of[i] = -EAGAIN;
}

/* Thread @i sets the value @n, of which the low bit is the thread's. */
static int set_by(unsigned i, uint64_t n)
{
	struct history_op *op = history_call();
	uint64_t value[2] = { n, n };

	waiter_begin(i);
	code_of[i] = skua_watch_set(&watch, value);
	op->given = n;
	history_return(op, SPEC_SEND, code_of[i], 0);
	explore_assert(code_of[i] == 0 || code_of[i] == -EPIPE);
	if (code_of[i])
		explore_assert(explore_read(letter_closed) == 1);
	return code_of[i];
}

static void sets_0(void)
{
	explore_write(letters[0], 1);
	set_by(0, 2);
}

static void sets_0_twice(void)
{
	sets_0();
	set_by(0, 4);
}

static void sets_1(void)
{
	explore_write(letters[1], 1);
	set_by(1, 3);
}

/* A value is whole, and its letter was written before. */
static void check_value(const uint64_t value[2], uint64_t version)
{
	explore_assert(value[0] == value[1]);
	explore_assert((value[0] == 0) == (version == 1));
	if (value[0])
		explore_assert(explore_read(letters[value[0] % 2]) == 1);
}

static uint64_t get_by(unsigned i)
{
	struct history_op *op = history_call();
	uint64_t value[2], version;

	waiter_begin(i);
	version = skua_watch_get(&watch, value);
	history_return(op, SPEC_GET, 0, spec_version(version, value[0]));
	check_value(value, version);
	return version;
}

static void gets(void)
{
	get_by(2);
}

static void gets_twice(void)
{
	uint64_t first = get_by(2);

	explore_assert(get_by(2) >= first);
}

static int await_by(unsigned i, uint64_t *version, uint64_t deadline_ns)
{
	uint64_t value[2] = { 0 }, seen = *version;
	struct history_op *op = history_call();
	int code;

	waiter_begin(i);
	code = skua_watch_changed(&watch, version, value, deadline_ns);
	op->given = seen;
	history_return(op, SPEC_CHANGED, code,
		       spec_version(*version, value[0]));
	code_of[i] = code;
	if (code == 0) {
		explore_assert(*version > seen);
		check_value(value, *version);
		return code;
	}
	explore_assert(*version == seen);
	if (code == -EPIPE)
		explore_assert(explore_read(letter_closed) == 1);
	else
		explore_assert(waiter_may_give_up(code, deadline_ns));
	return code;
}

static void awaits(void)
{
	uint64_t version = 1;

	explore_assert(await_by(2, &version, SKUA_FOREVER_NS) == 0);
}

static void awaits_soon(void)
{
	uint64_t version = 1;

	await_by(2, &version, SOON_NS);
}

static void awaits_last(void)
{
	uint64_t version = 1;

	/* The loop repeats for the first of two values. */
	while (version != 3)
		explore_assert(await_by(2, &version, SKUA_FOREVER_NS) == 0);
}

static void awaits_also(void)
{
	uint64_t version = 1;

	explore_assert(await_by(1, &version, SKUA_FOREVER_NS) == 0);
}

static void awaits_soon_also(void)
{
	uint64_t version = 1;

	await_by(1, &version, SOON_NS);
}

static void awaits_cancelled(void)
{
	uint64_t version = 1;

	await_by(1, &version, CANCELLED_NS);
}

static void awaits_until_closed(void)
{
	uint64_t version = 1;

	while (await_by(2, &version, SKUA_FOREVER_NS) == 0) {
	}
	explore_assert(code_of[2] == -EPIPE);
	last_seen = version;
}

static int close_it(void)
{
	struct history_op *op = history_call();
	int code = skua_watch_close(&watch);

	history_return(op, SPEC_CLOSE, code, 0);
	return code;
}

static void closes(void)
{
	waiter_begin(3);
	explore_write(letter_closed, 1);
	explore_assert(close_it() == 0);
	explore_assert(close_it() == -EALREADY);
}

static void none_waits(void)
{
	explore_assert(history_linearizable());
	explore_assert(!watch.waiters.first && !(watch.word & CHANGING));
}

static void two_set(void)
{
	none_waits();
	explore_assert(get_by(2) == 3);
}

/* A close hides no change. */
static void all_seen(void)
{
	none_waits();
	explore_assert(last_seen == (code_of[0] == 0 ? 2 : 1));
}

static const struct explore_case cases[] = {
	{ EXPLORE_PASS("set__get", setup, none_waits, sets_0, gets_twice) },
	{ EXPLORE_PASS("set_twice__get", setup, two_set, sets_0_twice, gets),
	  EXPLORE_WITHIN(3, 1) },
	{ EXPLORE_PASS("set__set__get", setup, two_set, sets_0, sets_1, gets),
	  EXPLORE_WITHIN(2, 1) },
	{ EXPLORE_PASS("set__changed", setup, none_waits, sets_0, awaits) },
	{ EXPLORE_PASS("set__changed__deadline", setup, none_waits, sets_0,
		       awaits_soon) },
	{ EXPLORE_PASS("set__set__changed", setup, two_set, sets_0, sets_1,
		       awaits_last),
	  EXPLORE_WITHIN(2, 1) },
	{ EXPLORE_PASS("set__changed__changed__deadlines", setup, none_waits,
		       sets_0, awaits_soon, awaits_soon_also),
	  EXPLORE_WITHIN(2, 1) },
	{ EXPLORE_PASS("set__changed__changed", setup, none_waits, sets_0,
		       awaits, awaits_also),
	  EXPLORE_WITHIN(2, 1) },
	{ EXPLORE_PASS("set__changed__deadline__cancel__close", setup,
		       none_waits, sets_0, awaits_soon, awaits_cancelled,
		       closes),
	  EXPLORE_WITHIN(1, 1) },
	{ EXPLORE_PASS("set__changed__close", setup, all_seen, sets_0,
		       awaits_until_closed, closes),
	  EXPLORE_WITHIN(2, 1) },
};

EXPLORE_MAIN(cases)
