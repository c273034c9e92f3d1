/* SPDX-License-Identifier: MIT */
/**
 * model_oneshot.c - a thread that sends a value once, one that receives it and frees the
 * oneshot, and one that closes it
 *
 * The value is received if and only if the send returned 0, and a oneshot of one thread
 * could have returned the same (W4). tests/model/mutants.toml has most broken variants.
 */
#include "tests/model/waiter.h"

#include "core/channel/oneshot.c"

#include "tests/model/channel_spec.h"

static struct skua_oneshot oneshot;
static unsigned letter;        /* plain: from the sender to the receiver */
static unsigned letter_closed; /* plain: from the thread that closes to all */
static int sent, closed, received;

static void setup(void)
{
	waiters_reset();
	history_reset(&spec_oneshot);
	oneshot = (struct skua_oneshot)SKUA_ONESHOT_INIT;
	explore_watch(&oneshot, sizeof(oneshot));
	letter = 0;
	letter_closed = 0;
	sent = closed = received = -EAGAIN;
}

static int send_value(uintptr_t value)
{
	struct history_op *op = history_call();
	int code = skua_oneshot_send(&oneshot, value);

	op->given = value;
	history_return(op, SPEC_SEND, code, 0);
	return code;
}

static int close_it(void)
{
	struct history_op *op = history_call();
	int code = skua_oneshot_close(&oneshot);

	history_return(op, SPEC_CLOSE, code, 0);
	return code;
}

static void sends(void)
{
	waiter_begin(0);
	explore_write(letter, 1);
	sent = send_value(7);
	explore_assert(sent == 0 || sent == -EPIPE);
	if (sent == -EPIPE)
		explore_assert(explore_read(letter_closed) == 1);
}

static void sends_twice(void)
{
	sends();
	explore_assert(send_value(8) == (sent ? sent : -EALREADY));
}

static void closes(void)
{
	waiter_begin(3);
	explore_write(letter_closed, 1);
	closed = close_it();
	explore_assert(closed == 0 || closed == -EALREADY);
	explore_assert(close_it() == -EALREADY);
}

static void closes_once(void)
{
	waiter_begin(3);
	explore_write(letter_closed, 1);
	closed = close_it();
}

static int receive_it(uintptr_t *value, uint64_t deadline_ns)
{
	struct history_op *op = history_call();
	int code = skua_oneshot_receive(&oneshot, value, deadline_ns);

	history_return(op, SPEC_RECEIVE, code, *value);
	return code;
}

static int receive_by(unsigned i, uint64_t deadline_ns)
{
	uintptr_t value = 0;

	waiter_begin(i);
	received = receive_it(&value, deadline_ns);
	if (received == 0)
		explore_assert(value == 7 && explore_read(letter) == 1);
	else if (received == -EPIPE)
		explore_assert(explore_read(letter_closed) == 1);
	else
		explore_assert(waiter_may_give_up(received, deadline_ns));
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

static void receives_cancelled(void)
{
	receive_by(1, CANCELLED_NS);
}

static void receives_twice(void)
{
	uintptr_t value = 0;

	receives();
	explore_assert(receive_it(&value, 0) == -EPIPE);
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

static void in_order(void)
{
	explore_assert(history_linearizable());
}

static void none_waits(void)
{
	in_order();
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
	if (received == -ETIMEDOUT || received == -ECANCELED)
		received = take(&oneshot, &value);
	explore_assert(received == (sent == 0 ? 0 : -EPIPE));
}

static const struct explore_case cases[] = {
	{ EXPLORE_PASS("free", setup, in_order, sends, receives_and_frees) },
	{ EXPLORE_PASS("free__deadline", setup, in_order, sends,
		       receives_late_and_frees) },
	{ EXPLORE_PASS("close__free", setup, in_order, closes_once,
		       receives_and_frees) },
	{ EXPLORE_PASS("close__free__deadline", setup, in_order, closes_once,
		       receives_late_and_frees) },
	{ EXPLORE_PASS("twice", setup, none_waits, sends_twice,
		       receives_twice) },
	{ EXPLORE_PASS("send__close", setup, one_decided, sends_twice,
		       receives_twice, closes) },
	{ EXPLORE_PASS("send__close__deadline", setup, one_decided_or_late,
		       sends, receives_soon, closes),
	  EXPLORE_WITHIN(2, 2) },
	{ EXPLORE_PASS("send__close__cancel", setup, one_decided_or_late, sends,
		       receives_cancelled, closes),
	  EXPLORE_WITHIN(2, 2) },
	{ EXPLORE_PASS("close__send", setup, in_order, sends, closes) },
};

EXPLORE_MAIN(cases)
