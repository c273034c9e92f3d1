/* SPDX-License-Identifier: MIT */
/**
 * model_spsc.c - a thread that sends to an spsc, one that receives, and one that closes it
 *
 * No item is lost, doubled or out of order, whichever thread gives up; the receiver sees the
 * sender's writes before the send, and the sender those of the receiver before it freed the
 * place; nobody waits while there is something for it. In some cases, calls of a side are
 * light, because the other side was on its worker, and has moved, or seems to be there. The
 * last cases leave out parts of the argument; the explorer must find them.
 */
enum defect {
	NO_DEFECT,
	STORES_WAITS, /* WAITS is stored, not set */
	NO_FENCE,     /* a call that is not light does not fence */
	NO_MEMBARRIER, /* a caller that waits does not fence for the other side */
	DRAINS_UNSAID, /* the receiver does not set DRAINED */
};

static enum defect defect;

#include "core/os/membarrier.h"
#include "tests/model/waiter.h"

static uint32_t set(atomic_u32 *word, uint32_t bits)
{
	uint32_t old;

	/* DRAINED, as in spsc.c. */
	if (defect == DRAINS_UNSAID && bits == 4)
		return atomic_load_acquire(word);
	if (defect != STORES_WAITS)
		return atomic_fetch_or_relaxed(word, bits);
	old = atomic_load_acquire(word);
	atomic_store_release(word, old | bits);
	return old;
}

static void fence(void)
{
	if (defect != NO_FENCE)
		atomic_fence_seq_cst();
}

static bool fence_all(void)
{
	return defect == NO_MEMBARRIER || membarrier_fence();
}

#undef membarrier_fence
#undef atomic_fetch_or_relaxed
#define atomic_fetch_or_relaxed(p, v) set((p), (v))
#define atomic_fence_seq_cst()        fence()
#define membarrier_fence()            fence_all()

/* The workers of the threads of a case; 0: none. */
static uint64_t workers[WAITER_THREADS];

static uint64_t worker_here(void)
{
	return me ? workers[me - waiters] : 0;
}

#define current_address()        worker_here()
#define current_has_membarrier() (worker_here() != 0)

#include "core/channel/spsc.c"

#include <string.h>

#define CAPACITY 2
#define ITEMS    4

static struct skua_spsc spsc;
static uint64_t memory[SKUA_SPSC_BYTES(CAPACITY, 8) / 8];
static unsigned letters[ITEMS];  /* plain: written before the item is sent */
static unsigned receipts[ITEMS]; /* plain: written before the next receive */
static unsigned closing;         /* plain: written before the close */
static unsigned sent, received;

static void setup(void)
{
	defect = NO_DEFECT;
	waiters_reset();
	explore_assert(skua_spsc_init(&spsc, memory, CAPACITY, 8) == 0);
	explore_watch(memory, sizeof(memory));
	explore_watch(&spsc, sizeof(spsc));
	memset(letters, 0, sizeof(letters));
	memset(receipts, 0, sizeof(receipts));
	closing = sent = received = 0;
	memset(workers, 0, sizeof(workers));
}

#define SENDER   0
#define RECEIVER 1
#define W        8 /* a worker */
#define V        16

/* Both sides were on W, and their calls were light; the receiver has moved. */
static void setup_receiver_moved(void)
{
	setup();
	workers[SENDER] = W;
	workers[RECEIVER] = V;
	spsc.sender.at = spsc.receiver.at = W | LIGHT;
}

static void setup_sender_moved(void)
{
	setup();
	workers[SENDER] = V;
	workers[RECEIVER] = W;
	spsc.sender.at = spsc.receiver.at = W | LIGHT;
}

/* Each side has been on the other's worker, or has come from there. */
static void setup_crossed(void)
{
	setup();
	workers[SENDER] = W;
	workers[RECEIVER] = V;
	spsc.sender.at = V;
	spsc.receiver.at = W;
}

/* The ring is full as far as the sender knows, which settles when it looks. */
static void setup_settles(void)
{
	/* The compiler does not know the size of an item. */
	uint64_t item[2];

	setup_crossed();
	for (item[0] = 0; item[0] < CAPACITY; item[0]++) {
		letters[item[0]] = 1;
		explore_assert(send_now(&spsc, item) == 0);
		sent++;
	}
	explore_assert(receive_now(&spsc, item) == 0 && item[0] == 0);
	receipts[received++] = 1;
	/* Relaxed, both: stores that the explorer sees, after those of the calls. */
	atomic_store_relaxed(at_of(&spsc.sender), V);
	atomic_store_relaxed(at_of(&spsc.receiver), W);
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
	code = skua_spsc_send(&spsc, &item, deadline_ns);
	explore_assert(code == 0 || code == -EPIPE ||
		       (code == -ETIMEDOUT && deadline_ns != SKUA_FOREVER_NS));
	if (code)
		return told(code);
	/* The place was free, or freed by a receive that came before. */
	if (sent >= CAPACITY)
		explore_assert(explore_read(receipts[sent - CAPACITY]) == 1);
	sent++;
	return 0;
}

static int receive_by(unsigned i, uint64_t deadline_ns)
{
	uint64_t item = ITEMS;
	int code;

	waiter_begin(i);
	explore_write(receipts[received], 1);
	code = skua_spsc_receive(&spsc, &item, deadline_ns);
	explore_assert(code == 0 || code == -EPIPE ||
		       (code == -ETIMEDOUT && deadline_ns != SKUA_FOREVER_NS));
	if (code)
		return told(code);
	explore_assert(item == received && explore_read(letters[item]) == 1);
	received++;
	return 0;
}

/* Send items until one is refused. */
static void send_all(unsigned n, uint64_t deadline_ns)
{
	for (uint64_t item = 0; item < n; item++)
		if (send_by(0, item, deadline_ns))
			return;
}

static void sends_one(void)
{
	send_all(1, SKUA_FOREVER_NS);
}

static void sends_third(void)
{
	send_by(SENDER, 2, SKUA_FOREVER_NS);
}

static void sends_two(void)
{
	send_all(2, SKUA_FOREVER_NS);
}

static void sends_three(void)
{
	send_all(3, SKUA_FOREVER_NS);
}

static void sends_three_soon(void)
{
	send_all(3, SOON_NS);
}

static void receives_one(void)
{
	receive_by(1, SKUA_FOREVER_NS);
}

static void receives_one_soon(void)
{
	receive_by(1, SOON_NS);
}

static void receives_two(void)
{
	receive_by(1, SKUA_FOREVER_NS);
	receive_by(1, SKUA_FOREVER_NS);
}

static void receives_three(void)
{
	receives_two();
	receive_by(1, SKUA_FOREVER_NS);
}

static void receives_all(void)
{
	while (receive_by(1, SKUA_FOREVER_NS) == 0) {
	}
	explore_assert(receive_by(1, SKUA_FOREVER_NS) == -EPIPE);
}

static void closes(void)
{
	waiter_begin(3);
	explore_write(closing, 1);
	explore_assert(skua_spsc_close(&spsc) == 0);
	explore_assert(skua_spsc_close(&spsc) == -EALREADY);
}

static void sends_two_and_closes(void)
{
	sends_two();
	explore_write(closing, 1);
	explore_assert(skua_spsc_close(&spsc) == 0);
}

/* The receiver gives up the whole queue. */
static void receives_one_and_closes(void)
{
	receives_one();
	explore_write(closing, 1);
	explore_assert(skua_spsc_close(&spsc) == 0);
}

/* Each item that was sent was received, or is in the queue. */
static void none_lost(void)
{
	uint64_t item[2]; /* the compiler does not know the size of an item */

	explore_assert(!spsc.receivers.first && !spsc.senders.first);
	explore_assert(!((spsc.sender.flags | spsc.receiver.flags) & WAITS));
	explore_assert(skua_spsc_length(&spsc) == sent - received);
	while (receive_now(&spsc, item) == 0)
		explore_assert(item[0] == received++);
	explore_assert(received == sent);
}

static void setup_stores_waits(void)
{
	setup();
	defect = STORES_WAITS;
}

static void setup_no_fence(void)
{
	setup();
	defect = NO_FENCE;
}

static void setup_no_membarrier(void)
{
	setup_receiver_moved();
	defect = NO_MEMBARRIER;
}

static void setup_drains_unsaid(void)
{
	setup();
	defect = DRAINS_UNSAID;
}

static const struct explore_case cases[] = {
	{ EXPLORE_PASS("send__receive", setup, none_lost, sends_one,
		       receives_one) },
	{ EXPLORE_PASS("send__receive__deadline", setup, none_lost, sends_one,
		       receives_one_soon) },
	{ EXPLORE_PASS("two", setup, none_lost, sends_two, receives_two),
	  EXPLORE_WITHIN(3, 2) },
	{ EXPLORE_PASS("full", setup, none_lost, sends_three, receives_three),
	  EXPLORE_WITHIN(2, 2) },
	{ EXPLORE_PASS("full__deadline", setup, none_lost, sends_three_soon,
		       receives_one),
	  EXPLORE_WITHIN(2, 2) },
	{ EXPLORE_PASS("close", setup, none_lost, sends_two, closes,
		       receives_all),
	  EXPLORE_WITHIN(2, 1) },
	{ EXPLORE_PASS("close__sender", setup, none_lost, sends_two_and_closes,
		       receives_all),
	  EXPLORE_WITHIN(2, 2) },
	{ EXPLORE_PASS("close__receiver", setup, none_lost, sends_three,
		       receives_one_and_closes),
	  EXPLORE_WITHIN(2, 2) },
	{ EXPLORE_PASS("close__full", setup, none_lost, sends_three, closes),
	  EXPLORE_WITHIN(2, 2) },

	{ EXPLORE_PASS("receiver_moved", setup_receiver_moved, none_lost,
		       sends_one, receives_one) },
	{ EXPLORE_PASS("receiver_moved__deadline", setup_receiver_moved,
		       none_lost, sends_one, receives_one_soon) },
	{ EXPLORE_PASS("receiver_moved__two", setup_receiver_moved, none_lost,
		       sends_two, receives_two),
	  EXPLORE_WITHIN(2, 2) },
	{ EXPLORE_PASS("receiver_moved__full", setup_receiver_moved, none_lost,
		       sends_three, receives_three),
	  EXPLORE_WITHIN(2, 2) },
	{ EXPLORE_PASS("receiver_moved__close", setup_receiver_moved, none_lost,
		       sends_two, closes, receives_all),
	  EXPLORE_WITHIN(2, 1) },
	{ EXPLORE_PASS("sender_moved", setup_sender_moved, none_lost, sends_two,
		       receives_two),
	  EXPLORE_WITHIN(3, 2) },
	{ EXPLORE_PASS("sender_moved__full", setup_sender_moved, none_lost,
		       sends_three, receives_three),
	  EXPLORE_WITHIN(2, 2) },
	{ EXPLORE_PASS("sender_moved__close", setup_sender_moved, none_lost,
		       sends_two, closes, receives_all),
	  EXPLORE_WITHIN(2, 1) },
	{ EXPLORE_PASS("settles", setup_settles, none_lost, sends_third,
		       receives_two) },
	{ EXPLORE_PASS("crossed", setup_crossed, none_lost, sends_two,
		       receives_two),
	  EXPLORE_WITHIN(3, 2) },
	{ EXPLORE_PASS("crossed__full", setup_crossed, none_lost, sends_three,
		       receives_three),
	  EXPLORE_WITHIN(2, 2) },

	/* The close is overwritten. */
	{ EXPLORE_BUG("stores_waits", "skua_spsc_close(&spsc) == -EALREADY",
		      setup_stores_waits, none_lost, closes, receives_one) },
	{ EXPLORE_BUG("no_fence", "lost wake-up", setup_no_fence, none_lost,
		      sends_one, receives_one) },
	{ EXPLORE_BUG("no_membarrier", "lost wake-up", setup_no_membarrier,
		      none_lost, sends_one, receives_one) },
	/* An item comes after the receiver was told that none will. */
	{ EXPLORE_BUG("drains_unsaid",
		      "receive_by(1, SKUA_FOREVER_NS) == -EPIPE",
		      setup_drains_unsaid, none_lost, sends_one, closes,
		      receives_all) },
};

EXPLORE_MAIN(cases)
