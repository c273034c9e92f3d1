/* SPDX-License-Identifier: MIT */
/**
 * model_broadcast.c - threads that send items to all, receive them, and close the broadcast
 *
 * Each subscription gets or has missed each item once, in order, and whole; what the sender
 * did before is visible; nobody waits while there is something for it; and a broadcast of
 * one thread could have returned the same (W4). tests/model/mutants.toml has the broken
 * variants.
 */
#include "tests/model/waiter.h"

#include "core/channel/broadcast.c"

#include "tests/model/channel_spec.h"

#define CAPACITY SPEC_CAPACITY
#define ITEMS    4

struct item {
	uint64_t first, second;
};

static struct skua_broadcast broadcast;
static uint64_t memory[SKUA_CHANNEL_BYTES(CAPACITY, sizeof(struct item)) / 8];
static struct skua_subscription subscriptions[WAITER_THREADS];
static unsigned letters[ITEMS]; /* plain: of the sender of each item */
static unsigned letter_closed;
static uint64_t sent;
static uint64_t passed[WAITER_THREADS]; /* items received or missed */

static void setup(void)
{
	waiters_reset();
	history_reset(&spec_broadcast);
	explore_assert(skua_broadcast_init(&broadcast, memory, CAPACITY,
					   sizeof(struct item)) == 0);
	explore_watch(&broadcast, sizeof(broadcast));
	for (unsigned i = 0; i < ITEMS; i++)
		letters[i] = 0;
	letter_closed = 0;
	sent = 0;
	for (unsigned i = 0; i < WAITER_THREADS; i++) {
		passed[i] = 0;
		skua_broadcast_subscribe(&broadcast, &subscriptions[i]);
	}
}

static int send_by(unsigned i, uint64_t n)
{
	struct history_op *op = history_call();
	struct item item = { n, n };
	int code;

	waiter_begin(i);
	explore_write(letters[n], 1);
	code = skua_broadcast_send(&broadcast, &item);
	op->given = n;
	history_return(op, SPEC_SEND, code, 0);
	explore_assert(code == 0 || code == -EPIPE);
	if (code)
		explore_assert(explore_read(letter_closed) == 1);
	else
		sent++;
	return code;
}

static void sends_one(void)
{
	send_by(0, 0);
}

static void sends_two(void)
{
	send_by(0, 0);
	send_by(0, 1);
}

static void sends_three(void)
{
	sends_two();
	send_by(0, 2);
}

static void sends_four(void)
{
	sends_three();
	send_by(0, 3);
}

static void sends_3(void)
{
	send_by(3, 3);
}

/* @ordered: the items are numbered in the order in which they are sent */
static int receive_by(unsigned i, bool ordered, uint64_t deadline_ns)
{
	struct history_op *op = history_call();
	struct item item = { ITEMS, ITEMS };
	uint64_t missed = 0;
	int code;

	waiter_begin(i);
	code = skua_subscription_receive(&subscriptions[i], &item, &missed,
					 deadline_ns);
	op->given = i;
	history_return(op, SPEC_RECEIVE, code,
		       code == -EOVERFLOW ? missed : item.first);
	if (code == -EOVERFLOW) {
		explore_assert(missed > 0);
		passed[i] += missed;
	} else if (code == 0) {
		explore_assert(item.first == item.second && item.first < ITEMS);
		explore_assert(!ordered || item.first == passed[i]);
		explore_assert(explore_read(letters[item.first]) == 1);
		passed[i]++;
	} else if (code == -EPIPE) {
		explore_assert(explore_read(letter_closed) == 1);
	} else {
		explore_assert(waiter_may_give_up(code, deadline_ns));
	}
	explore_assert(subscriptions[i].next == passed[i]);
	return code;
}

static void receives_one(void)
{
	receive_by(1, true, SKUA_FOREVER_NS);
}

static void receives_one_also(void)
{
	receive_by(2, true, SKUA_FOREVER_NS);
}

static void receives_one_soon(void)
{
	receive_by(1, true, SOON_NS);
}

static void receives_one_soon_also(void)
{
	receive_by(2, true, SOON_NS);
}

static void receives_one_cancelled(void)
{
	receive_by(2, true, CANCELLED_NS);
}

/* A subscription does not begin with an item that another one has received before. */
static void receives_and_subscribes(void)
{
	struct history_op *op;

	receive_by(1, true, SKUA_FOREVER_NS);
	op = history_call();
	op->given = 2;
	history_return(op, SPEC_SUBSCRIBE,
		       skua_broadcast_subscribe(&broadcast, &subscriptions[2]),
		       0);
	passed[2] = subscriptions[2].next;
	receive_by(2, true, 0);
}

static void receives_three(void)
{
	while (passed[1] < 3)
		receive_by(1, true, SKUA_FOREVER_NS);
}

static void receives_two(void)
{
	while (passed[1] < 2)
		receive_by(1, false, SKUA_FOREVER_NS);
}

static void receives_all(void)
{
	while (receive_by(1, true, SKUA_FOREVER_NS) != -EPIPE) {
	}
}

static int close_it(void)
{
	struct history_op *op = history_call();
	int code = skua_broadcast_close(&broadcast);

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
	explore_assert(!broadcast.waiters.first);
	explore_assert(broadcast.tail / TICKET == sent);
}

static void all_passed(void)
{
	none_waits();
	explore_assert(passed[1] == sent);
}

/* A receiver that has fallen behind goes on at the oldest item that is left. */
static void oldest_is_left(void)
{
	struct skua_subscription late = { &broadcast, 0 };
	struct item item;
	uint64_t missed = 0;

	all_passed();
	explore_assert(receive_now(&late, &item, &missed) == -EOVERFLOW);
	explore_assert(missed == sent - CAPACITY);
	explore_assert(receive_now(&late, &item, &missed) == 0);
	explore_assert(item.first == sent - CAPACITY);
}

static const struct explore_case cases[] = {
	{ EXPLORE_PASS("send__receive", setup, none_waits, sends_one,
		       receives_one) },
	{ EXPLORE_PASS("send__receive__deadline", setup, none_waits, sends_one,
		       receives_one_soon) },
	{ EXPLORE_PASS("receive__subscribe", setup, none_waits, sends_two,
		       receives_and_subscribes) },
	{ EXPLORE_PASS("lag", setup, oldest_is_left, sends_three,
		       receives_three),
	  EXPLORE_WITHIN(2, 2) },
	{ EXPLORE_PASS("lag__further", setup, none_waits, sends_four,
		       receives_one_soon),
	  EXPLORE_WITHIN(3, 2) },
	{ EXPLORE_PASS("two_senders", setup, none_waits, sends_one, sends_3,
		       receives_two),
	  EXPLORE_WITHIN(2, 1) },
	{ EXPLORE_PASS("two_receivers__deadlines", setup, none_waits, sends_one,
		       receives_one_soon, receives_one_soon_also),
	  EXPLORE_WITHIN(2, 1) },
	{ EXPLORE_PASS("two_receivers__deadline__cancel", setup, none_waits,
		       sends_one, receives_one_soon, receives_one_cancelled),
	  EXPLORE_WITHIN(2, 1) },
	{ EXPLORE_PASS("close__deadline__cancel", setup, none_waits, sends_two,
		       receives_one_soon, receives_one_cancelled, closes),
	  EXPLORE_WITHIN(1, 1) },
	{ EXPLORE_PASS("two_receivers", setup, none_waits, sends_one,
		       receives_one, receives_one_also),
	  EXPLORE_WITHIN(2, 1) },
	{ EXPLORE_PASS("close", setup, all_passed, sends_two, receives_all,
		       closes),
	  EXPLORE_WITHIN(2, 1) },
	{ EXPLORE_PASS("close__lag", setup, all_passed, sends_three,
		       receives_all, closes),
	  EXPLORE_WITHIN(1, 1) },
};

EXPLORE_MAIN(cases)
