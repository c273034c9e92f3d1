/* SPDX-License-Identifier: MIT */
/**
 * model_channel.c - threads that send to a channel, receive from it, and close it
 *
 * No item is lost, doubled, or out of its sender's order, whichever thread gives up; the
 * receiver sees the sender's writes before the send; nobody waits while there is something
 * for it; and a channel of one thread could have returned the same (W4). The last cases leave out parts of the argument; the explorer must find them.
 */
enum defect {
	NO_DEFECT,
	ARMS_UNFENCED,    /* a receiver alone does not fence before it looks */
	LISTS_UNFENCED,   /* nor does a waiter that enters the list */
	SETTLES_UNFENCED, /* nor a caller that has sent or received */
	SERVES_UNFENCED,  /* nor one that has done so on behalf of others */
	CLOSES_EARLY,     /* the close hides the items that are left */
};

static enum defect defect;

static void fence_of(const char *function);
static uint64_t seen_by(const char *function, uint64_t word);

#include "tests/model/waiter.h"

/* A fence that a variant leaves out, by the function that it is in. */
#define atomic_fence_seq_cst()         fence_of(__func__)
#define atomic_fence_updated_seq_cst() fence_of(__func__)
/* A tail that a variant takes for another one. */
#undef atomic_load_acquire
#define atomic_load_acquire(word) \
	seen_by(__func__, atomic_load_explicit((word), memory_order_acquire))

#include "core/channel/channel.c"

#undef atomic_fence_seq_cst
#undef atomic_fence_updated_seq_cst
#undef atomic_load_acquire
#define atomic_load_acquire(word) \
	atomic_load_explicit((word), memory_order_acquire)

#include "tests/model/channel_spec.h"

static void fence_of(const char *function)
{
	if (defect == ARMS_UNFENCED && strcmp(function, "receive_alone") == 0)
		return;
	if (defect == LISTS_UNFENCED &&
	    strcmp(function, "look_again_locked") == 0)
		return;
	if (defect == SETTLES_UNFENCED && strcmp(function, "settle") == 0)
		return;
	if (defect == SERVES_UNFENCED && strcmp(function, "serve_all") == 0)
		return;
	atomic_fence_seq_cst();
}

#define ITEMS 8

static struct skua_channel channel;

static uint64_t seen_by(const char *function, uint64_t word)
{
	if (defect == CLOSES_EARLY && strcmp(function, "drained") == 0 &&
	    word & RING_CLOSED)
		return atomic_load_relaxed(head_of(&channel)) | RING_CLOSED;
	return word;
}

static uint64_t memory[SKUA_CHANNEL_BYTES(SPEC_CAPACITY, 8) / 8];
static unsigned letters[ITEMS]; /* plain: written before the item is sent */
static unsigned closing;        /* plain: written before the close */
static unsigned received[ITEMS];
static unsigned sent[ITEMS]; /* 1: send has returned 0 */
static uint64_t last_of[ITEMS];

static void setup(void)
{
	defect = NO_DEFECT;
	waiters_reset();
	history_reset(&spec_channel);
	explore_assert(skua_channel_init(&channel, memory, SPEC_CAPACITY, 8) ==
		       0);
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
	struct history_op *op = history_call();
	int code;

	waiter_begin(i);
	explore_write(letters[item], 1);
	code = skua_channel_send(&channel, &item, deadline_ns);
	op->given = item;
	history_return(op, SPEC_SEND, code, 0);
	explore_assert(code == 0 || code == -EPIPE ||
		       waiter_may_give_up(code, deadline_ns));
	sent[item] = code == 0;
	return told(code);
}

static int receive_by(unsigned i, uint64_t deadline_ns)
{
	struct history_op *op = history_call();
	uint64_t item = ITEMS;
	int code;

	waiter_begin(i);
	code = skua_channel_receive(&channel, &item, deadline_ns);
	history_return(op, SPEC_RECEIVE, code, item);
	explore_assert(code == 0 || code == -EPIPE ||
		       waiter_may_give_up(code, deadline_ns));
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

static void sends_1_and_3(void)
{
	send_by(3, 1, SKUA_FOREVER_NS);
	send_by(3, 3, SKUA_FOREVER_NS);
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

static void sends_three_cancelled(void)
{
	for (uint64_t item = 0; item < 6; item += 2)
		send_by(0, item, CANCELLED_NS);
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

static void receives_1_cancelled(void)
{
	receive_by(1, CANCELLED_NS);
}

static void receives_2_cancelled(void)
{
	receive_by(2, CANCELLED_NS);
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

static int close_by(unsigned i)
{
	struct history_op *op = history_call();
	int code;

	waiter_begin(i);
	explore_write(closing, 1);
	code = skua_channel_close(&channel);
	history_return(op, SPEC_CLOSE, code, 0);
	return code;
}

static void closes(void)
{
	explore_assert(close_by(3) == 0);
	explore_assert(skua_channel_close(&channel) == -EALREADY);
}

static void tries_to_send(uint64_t item)
{
	struct history_op *op = history_call();
	int code;

	explore_write(letters[item], 1);
	code = skua_channel_send_try(&channel, &item);
	op->given = item;
	history_return(op, SPEC_SEND, code, 0);
	sent[item] = code == 0;
}

static void tries_two(void)
{
	tries_to_send(0);
	tries_to_send(2);
}

static void tries_two_also(void)
{
	tries_to_send(1);
	tries_to_send(3);
}

static void tries_to_receive_three(void)
{
	for (unsigned i = 0; i < 3; i++) {
		struct history_op *op = history_call();
		uint64_t item = ITEMS;
		int code = skua_channel_receive_try(&channel, &item);

		history_return(op, SPEC_RECEIVE, code, item);
		explore_assert(code == 0 || code == -EAGAIN);
		if (code == 0)
			received[item]++;
	}
}

static void sends_two_and_closes(void)
{
	sends_two();
	explore_assert(close_by(0) == 0);
}

static void none_waits(void)
{
	explore_assert(!channel.receivers.first && !channel.receivers_wait);
	explore_assert(!channel.receiver);
	explore_assert(!channel.senders.first && !channel.senders_wait);
}

/* Each item that was sent was received once, or is in the channel. */
static void none_lost(void)
{
	uint64_t item;

	none_waits();
	explore_assert(history_linearizable());
	while (ring_receive(&channel, &item) == 0)
		received[item]++;
	for (unsigned i = 0; i < ITEMS; i++)
		explore_assert(received[i] == sent[i]);
}

static void setup_arms_unfenced(void)
{
	setup();
	defect = ARMS_UNFENCED;
}

static void setup_lists_unfenced(void)
{
	setup();
	defect = LISTS_UNFENCED;
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

static void setup_closes_early(void)
{
	setup();
	defect = CLOSES_EARLY;
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
	{ EXPLORE_PASS("send__receive__cancel", setup, none_lost, sends_0,
		       receives_1_cancelled) },
	{ EXPLORE_PASS("full__cancel", setup, none_lost, sends_three_cancelled,
		       receives_1),
	  EXPLORE_WITHIN(2, 1) },
	{ EXPLORE_PASS("two_receivers__cancel__deadline", setup, none_lost,
		       sends_0, receives_1_soon, receives_2_cancelled),
	  EXPLORE_WITHIN(2, 1) },
	/* A call that does not wait gives up while another one holds it up. */
	{ EXPLORE_PASS("tries", setup, none_lost, tries_two, tries_two_also,
		       tries_to_receive_three),
	  EXPLORE_WITHIN(2, 1) },
	{ EXPLORE_PASS("tries__two_receivers", setup, none_lost, tries_two,
		       tries_to_receive_three, tries_to_receive_three),
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
	/* A sender that has a slot and loses its CPU holds back an item of the other
	 * one, whose next item must not be handed over before it. */
	{ EXPLORE_PASS("slow_sender__hand_over", setup, none_lost, sends_0,
		       sends_1_and_3, receives_three),
	  EXPLORE_WITHIN(2, 1) },
	{ EXPLORE_PASS("close", setup, none_lost, sends_two, closes,
		       receives_all),
	  EXPLORE_WITHIN(2, 1) },
	{ EXPLORE_PASS("close__two_receivers", setup, none_lost,
		       sends_two_and_closes, receives_all, receives_all_also),
	  EXPLORE_WITHIN(1, 1) },
	/* A receiver is told of the close, and then another one comes. A sender that has
	 * seen the channel open must not hand it an item. */
	{ EXPLORE_PASS("close__told", setup, none_lost, sends_0, closes,
		       receives_1, receives_2),
	  EXPLORE_WITHIN(2, 1) },
	{ EXPLORE_PASS("close__deadline__cancel", setup, none_lost, sends_two,
		       closes, receives_1_soon, receives_2_cancelled),
	  EXPLORE_WITHIN(1, 1) },
	{ EXPLORE_PASS("close__full", setup, none_lost, sends_three, closes),
	  EXPLORE_WITHIN(2, 2) },

	{ EXPLORE_BUG("arms_unfenced", "lost wake-up", setup_arms_unfenced,
		      none_lost, sends_0, receives_1) },
	{ EXPLORE_BUG("lists_unfenced", "lost wake-up", setup_lists_unfenced,
		      none_lost, sends_two, receives_1, receives_2),
	  EXPLORE_WITHIN(2, 1) },
	{ EXPLORE_BUG("settles_unfenced", "lost wake-up",
		      setup_settles_unfenced, none_lost, sends_0, receives_1) },
	{ EXPLORE_BUG("serves_unfenced", "lost wake-up", setup_serves_unfenced,
		      none_lost, sends_0, sends_1_also, sends_5, receives_1),
	  EXPLORE_WITHIN(2, 1) },
	{ EXPLORE_BUG("closes_early", "history_linearizable",
		      setup_closes_early, none_lost, sends_two_and_closes,
		      receives_all) },
};

EXPLORE_MAIN(cases)
