/* SPDX-License-Identifier: MIT */
/**
 * model_oneshot.c - a thread that sends a value once, one that receives it and frees the
 * oneshot, and one that closes it
 *
 * The value is received if and only if the send returned 0. tests/model/mutants.toml has
 * the broken variants.
 */
#include "tests/model/waiter.h"

#include "core/channel/oneshot.c"

static struct skua_oneshot oneshot;
static unsigned letter;        /* plain: from the sender to the receiver */
static unsigned letter_closed; /* plain: from the thread that closes to all */
static int sent, closed, received;

static void setup(void)
{
	waiters_reset();
	oneshot = (struct skua_oneshot)SKUA_ONESHOT_INIT;
	explore_watch(&oneshot, sizeof(oneshot));
	letter = 0;
	letter_closed = 0;
	sent = closed = received = -EAGAIN;
}

static void sends(void)
{
	waiter_begin(0);
	explore_write(letter, 1);
	sent = skua_oneshot_send(&oneshot, 7);
	explore_assert(sent == 0 || sent == -EPIPE);
	if (sent == -EPIPE)
		explore_assert(explore_read(letter_closed) == 1);
}

static void sends_twice(void)
{
	sends();
	explore_assert(skua_oneshot_send(&oneshot, 8) ==
		       (sent ? sent : -EALREADY));
}

static void closes(void)
{
	waiter_begin(3);
	explore_write(letter_closed, 1);
	closed = skua_oneshot_close(&oneshot);
	explore_assert(closed == 0 || closed == -EALREADY);
	explore_assert(skua_oneshot_close(&oneshot) == -EALREADY);
}

static void closes_once(void)
{
	waiter_begin(3);
	explore_write(letter_closed, 1);
	closed = skua_oneshot_close(&oneshot);
}

static int receive_by(unsigned i, uint64_t deadline_ns)
{
	uintptr_t value = 0;

	waiter_begin(i);
	received = skua_oneshot_receive(&oneshot, &value, deadline_ns);
	if (received == 0)
		explore_assert(value == 7 && explore_read(letter) == 1);
	else if (received == -EPIPE)
		explore_assert(explore_read(letter_closed) == 1);
	else
		explore_assert(received == -ETIMEDOUT &&
			       deadline_ns != SKUA_FOREVER_NS);
	return received;
}

static void receives(void)
{
	receive_by(1, SKUA_FOREVER_NS);
}

static void receives_soon(void)
{
	receive_by(1, SOON_NS);
}

static void receives_twice(void)
{
	uintptr_t value;

	receives();
	explore_assert(skua_oneshot_receive(&oneshot, &value, 0) == -EPIPE);
}

static void receives_and_frees(void)
{
	receives();
	explore_free(&oneshot, sizeof(oneshot));
}

static void receives_late_and_frees(void)
{
	if (receive_by(1, SOON_NS) == -ETIMEDOUT)
		receive_by(1, SKUA_FOREVER_NS);
	explore_free(&oneshot, sizeof(oneshot));
}

static void none_waits(void)
{
	explore_assert(!oneshot.waiters.first && !(oneshot.word & WAITERS));
}

/* The first of send and close decided. */
static void one_decided(void)
{
	none_waits();
	explore_assert((sent == 0) != (closed == 0));
	explore_assert(received == (sent == 0 ? 0 : -EPIPE));
}

/* A receiver that gave up left the value. */
static void one_decided_or_late(void)
{
	uintptr_t value;

	none_waits();
	explore_assert((sent == 0) != (closed == 0));
	if (received == -ETIMEDOUT)
		received = take(&oneshot, &value);
	explore_assert(received == (sent == 0 ? 0 : -EPIPE));
}

static const struct explore_case cases[] = {
	{ EXPLORE_PASS("free", setup, NULL, sends, receives_and_frees) },
	{ EXPLORE_PASS("free__deadline", setup, NULL, sends,
		       receives_late_and_frees) },
	{ EXPLORE_PASS("close__free", setup, NULL, closes_once,
		       receives_and_frees) },
	{ EXPLORE_PASS("close__free__deadline", setup, NULL, closes_once,
		       receives_late_and_frees) },
	{ EXPLORE_PASS("twice", setup, none_waits, sends_twice,
		       receives_twice) },
	{ EXPLORE_PASS("send__close", setup, one_decided, sends_twice,
		       receives_twice, closes) },
	{ EXPLORE_PASS("send__close__deadline", setup, one_decided_or_late,
		       sends, receives_soon, closes),
	  EXPLORE_WITHIN(2, 2) },
	{ EXPLORE_PASS("close__send", setup, NULL, sends, closes) },
};

EXPLORE_MAIN(cases)
