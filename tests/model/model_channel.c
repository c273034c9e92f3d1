/* SPDX-License-Identifier: MIT */
/**
 * model_channel.c - threads that send to a channel, receive from it, and close it
 *
 * No item is lost, doubled, or out of its sender's order, whichever thread gives up; the
 * receiver sees the sender's writes before the send; nobody waits while there is something
 * for it. The last cases leave out parts of the argument; the explorer must find them.
 */
enum defect {
	NO_DEFECT,
	ARMS_UNFENCED,    /* a waiter does not fence before its last look */
	SETTLES_UNFENCED, /* nor a caller that has sent or received */
	SERVES_UNFENCED,  /* nor one that has done so on behalf of others */
};

static enum defect defect;

static void fence_of(const char *function);

#include "tests/model/waiter.h"

/* A fence that a variant leaves out, by the function that it is in. */
#define atomic_fence_seq_cst()         fence_of(__func__)
#define atomic_fence_updated_seq_cst() fence_of(__func__)

#include "core/channel/channel.c"

#undef atomic_fence_seq_cst
#undef atomic_fence_updated_seq_cst

#include <string.h>

static void fence_of(const char *function)
{
	if (defect == ARMS_UNFENCED &&
	    strcmp(function, "look_again_locked") == 0)
		return;
	if (defect == SETTLES_UNFENCED && strcmp(function, "settle") == 0)
		return;
	if (defect == SERVES_UNFENCED && strcmp(function, "serve_all") == 0)
		return;
	atomic_fence_seq_cst();
}

#define CAPACITY 2
#define ITEMS    8

static struct skua_channel channel;
static uint64_t memory[SKUA_CHANNEL_BYTES(CAPACITY, 8) / 8];
static unsigned letters[ITEMS]; /* plain: written before the item is sent */
static unsigned closing;        /* plain: written before the close */
static unsigned received[ITEMS];
static unsigned sent[ITEMS]; /* 1: send has returned 0 */
static uint64_t last_of[ITEMS];

static void setup(void)
{
	defect = NO_DEFECT;
	waiters_reset();
	explore_assert(skua_channel_init(&channel, memory, CAPACITY, 8) == 0);
	explore_watch(memory, sizeof(memory));
	closing = 0;
	memset(letters, 0, sizeof(letters));
	memset(received, 0, sizeof(received));
	memset(sent, 0, sizeof(sent));
	memset(last_of, 0, sizeof(last_of));
}

/* A thread that is told of the close sees the writes before it. */
static int told(int code)
{
	if (code == -EPIPE)
		explore_assert(explore_read(closing) == 1);
	return code;
}

static int send_by(unsigned i, uint64_t item, uint64_t deadline_ns)
{
	int code;

	waiter_begin(i);
	explore_write(letters[item], 1);
	code = skua_channel_send(&channel, &item, deadline_ns);
	explore_assert(code == 0 || code == -EPIPE ||
		       (code == -ETIMEDOUT && deadline_ns != SKUA_FOREVER_NS));
	sent[item] = code == 0;
	return told(code);
}

static int receive_by(unsigned i, uint64_t deadline_ns)
{
	uint64_t item = ITEMS;
	int code;

	waiter_begin(i);
	code = skua_channel_receive(&channel, &item, deadline_ns);
	explore_assert(code == 0 || code == -EPIPE ||
		       (code == -ETIMEDOUT && deadline_ns != SKUA_FOREVER_NS));
	if (code)
		return told(code);
	explore_assert(item < ITEMS && explore_read(letters[item]) == 1);
	/* Even and odd items are of one sender each, in order. */
	explore_assert(item >= last_of[2 * i + item % 2]);
	last_of[2 * i + item % 2] = item;
	received[item]++;
	return 0;
}

static void sends_0(void)
{
	send_by(0, 0, SKUA_FOREVER_NS);
}

static void sends_three(void)
{
	for (uint64_t item = 0; item < 6; item += 2)
		send_by(0, item, SKUA_FOREVER_NS);
}

static void sends_1_also(void)
{
	send_by(3, 1, SKUA_FOREVER_NS);
}

static void sends_5(void)
{
	send_by(2, 5, SKUA_FOREVER_NS);
}

static void sends_two(void)
{
	send_by(0, 0, SKUA_FOREVER_NS);
	send_by(0, 2, SKUA_FOREVER_NS);
}

static void sends_three_soon(void)
{
	for (uint64_t item = 0; item < 6; item += 2)
		send_by(0, item, SOON_NS);
}

static void receives_1(void)
{
	receive_by(1, SKUA_FOREVER_NS);
}

static void receives_1_soon(void)
{
	receive_by(1, SOON_NS);
}

static void receives_2(void)
{
	receive_by(2, SKUA_FOREVER_NS);
}

static void receives_2_soon(void)
{
	receive_by(2, SOON_NS);
}

static void receives_three(void)
{
	for (unsigned i = 0; i < 3; i++)
		receive_by(1, SKUA_FOREVER_NS);
}

static void receives_all(void)
{
	while (receive_by(1, SKUA_FOREVER_NS) == 0) {
	}
}

static void receives_all_also(void)
{
	while (receive_by(2, SKUA_FOREVER_NS) == 0) {
	}
}

static void closes(void)
{
	waiter_begin(3);
	explore_write(closing, 1);
	explore_assert(skua_channel_close(&channel) == 0);
	explore_assert(skua_channel_close(&channel) == -EALREADY);
}

static void sends_two_and_closes(void)
{
	sends_two();
	waiter_begin(0);
	explore_write(closing, 1);
	explore_assert(skua_channel_close(&channel) == 0);
}

static void none_waits(void)
{
	explore_assert(!channel.receivers.first && !channel.receivers_wait);
	explore_assert(!channel.senders.first && !channel.senders_wait);
}

/* Each item that was sent was received once, or is in the channel. */
static void none_lost(void)
{
	uint64_t item;

	none_waits();
	while (receive_now(&channel, &item) == 0)
		received[item]++;
	for (unsigned i = 0; i < ITEMS; i++)
		explore_assert(received[i] == sent[i]);
}

static void setup_arms_unfenced(void)
{
	setup();
	defect = ARMS_UNFENCED;
}

static void setup_settles_unfenced(void)
{
	setup();
	defect = SETTLES_UNFENCED;
}

static void setup_serves_unfenced(void)
{
	setup();
	defect = SERVES_UNFENCED;
}

static const struct explore_case cases[] = {
	{ EXPLORE_PASS("send__receive", setup, none_lost, sends_0,
		       receives_1) },
	{ EXPLORE_PASS("send__receive__deadline", setup, none_lost, sends_0,
		       receives_1_soon) },
	{ EXPLORE_PASS("full", setup, none_lost, sends_three, receives_three),
	  EXPLORE_WITHIN(2, 2) },
	{ EXPLORE_PASS("full__deadline", setup, none_lost, sends_three_soon,
		       receives_1),
	  EXPLORE_WITHIN(2, 1) },
	{ EXPLORE_PASS("two_receivers", setup, none_lost, sends_two, receives_1,
		       receives_2),
	  EXPLORE_WITHIN(2, 1) },
	{ EXPLORE_PASS("two_receivers__deadlines", setup, none_lost, sends_0,
		       receives_1_soon, receives_2_soon),
	  EXPLORE_WITHIN(2, 1) },
	{ EXPLORE_PASS("two_senders__two_receivers", setup, none_lost, sends_0,
		       sends_1_also, receives_1, receives_2),
	  EXPLORE_WITHIN(1, 1) },
	/* A sender that loses its CPU fills the channel with another one, and a
	 * third waits. The first then receives on behalf of a receiver: the place
	 * is for the third. */
	{ EXPLORE_PASS("three_senders__receiver", setup, none_lost, sends_0,
		       sends_1_also, sends_5, receives_1),
	  EXPLORE_WITHIN(2, 1) },
	{ EXPLORE_PASS("close", setup, none_lost, sends_two, closes,
		       receives_all),
	  EXPLORE_WITHIN(2, 1) },
	{ EXPLORE_PASS("close__two_receivers", setup, none_lost,
		       sends_two_and_closes, receives_all, receives_all_also),
	  EXPLORE_WITHIN(1, 1) },
	{ EXPLORE_PASS("close__full", setup, none_lost, sends_three, closes),
	  EXPLORE_WITHIN(2, 2) },

	{ EXPLORE_BUG("arms_unfenced", "lost wake-up", setup_arms_unfenced,
		      none_lost, sends_0, receives_1) },
	{ EXPLORE_BUG("settles_unfenced", "lost wake-up",
		      setup_settles_unfenced, none_lost, sends_0, receives_1) },
	{ EXPLORE_BUG("serves_unfenced", "lost wake-up", setup_serves_unfenced,
		      none_lost, sends_0, sends_1_also, sends_5, receives_1),
	  EXPLORE_WITHIN(2, 1) },
};

EXPLORE_MAIN(cases)
