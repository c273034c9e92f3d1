/* SPDX-License-Identifier: MIT */
/**
 * model_select_spsc.c - a sender or a receiver of an spsc that waits for an event as well
 *
 * The select has its item, its place, or the event; then the thread sends or receives what is
 * left without a select. No item is lost, doubled or out of order. The select and its cases
 * are freed when the call returns.
 */
#include "tests/model/waiter.h"

#define word_of         event_word_of
#define withdraw_locked event_withdraw_locked
#include "core/sync/event.c"
#undef word_of
#undef withdraw_locked
#undef WAITERS
#include "core/channel/spsc.c"
#include "core/select/select.c"

#define CAPACITY 2
#define ITEMS    4

static struct skua_spsc spsc;
static uint64_t memory[SKUA_SPSC_BYTES(CAPACITY, 8) / 8];
static struct skua_event event;
static struct skua_select_case cases[2];
static unsigned letters[ITEMS]; /* plain: written before the item is sent */
static unsigned told;           /* plain: written before the event is set */
static unsigned sent, received;

static void setup(void)
{
	waiters_reset();
	explore_assert(skua_spsc_init(&spsc, memory, CAPACITY, 8) == 0);
	event = (struct skua_event)SKUA_EVENT_INIT;
	memset(cases, 0, sizeof(cases));
	explore_watch(memory, sizeof(memory));
	explore_watch(&spsc, sizeof(spsc));
	explore_watch(cases, sizeof(cases));
	memset(letters, 0, sizeof(letters));
	told = sent = received = 0;
}

static void setup_full(void)
{
	setup();
	for (; sent < CAPACITY; sent++) {
		uint64_t item = sent;

		letters[sent] = 1;
		explore_assert(skua_spsc_send_try(&spsc, &item) == 0);
	}
}

/* Return: has the operation on the spsc taken effect? */
static bool select_one(enum skua_select_kind kind, uint64_t *item,
		       uint64_t deadline_ns)
{
	int at, code = 0;

	cases[0] = (struct skua_select_case)SKUA_SELECT_CASE(SKUA_SELECT_EVENT,
							     &event, NULL, 0);
	cases[1] =
		(struct skua_select_case)SKUA_SELECT_CASE(kind, &spsc, item, 0);
	at = skua_select(cases, 2, SKUA_SELECT_IN_ORDER, deadline_ns);
	explore_assert(at >= 0 ||
		       (at == -ETIMEDOUT && deadline_ns != SKUA_FOREVER_NS));
	if (at >= 0)
		code = cases[at].code;
	explore_free(cases, sizeof(cases));
	explore_assert(code == 0);
	if (at == 0)
		explore_assert(explore_read(told) == 1);
	return at == 1;
}

static void got(uint64_t item)
{
	explore_assert(item == received && explore_read(letters[item]) == 1);
	received++;
}

static void receive_first(uint64_t deadline_ns)
{
	uint64_t item = ITEMS;

	waiter_begin(0);
	if (!select_one(SKUA_SELECT_SPSC_RECEIVE, &item, deadline_ns)) {
		explore_assert(item == ITEMS);
		explore_assert(
			skua_spsc_receive(&spsc, &item, SKUA_FOREVER_NS) == 0);
	}
	got(item);
	explore_assert(skua_spsc_receive(&spsc, &item, SKUA_FOREVER_NS) == 0);
	got(item);
}

static void receives(void)
{
	receive_first(SKUA_FOREVER_NS);
}

static void receives_soon(void)
{
	receive_first(SOON_NS);
}

static void sends_both(void)
{
	waiter_begin(1);
	for (; sent < 2; sent++) {
		uint64_t item = sent;

		explore_write(letters[sent], 1);
		explore_assert(skua_spsc_send(&spsc, &item, SKUA_FOREVER_NS) ==
			       0);
	}
}

static void send_third(uint64_t deadline_ns)
{
	uint64_t item = sent;

	waiter_begin(1);
	explore_write(letters[item], 1);
	if (!select_one(SKUA_SELECT_SPSC_SEND, &item, deadline_ns))
		explore_assert(skua_spsc_send(&spsc, &item, SKUA_FOREVER_NS) ==
			       0);
	sent++;
}

static void sends(void)
{
	send_third(SKUA_FOREVER_NS);
}

static void sends_soon(void)
{
	send_third(SOON_NS);
}

static void receives_all(void)
{
	uint64_t item[2]; /* gcc believes that items may have 16 bytes */

	waiter_begin(0);
	while (received < CAPACITY + 1) {
		explore_assert(
			skua_spsc_receive(&spsc, item, SKUA_FOREVER_NS) == 0);
		got(item[0]);
	}
}

static void sets(void)
{
	waiter_begin(3);
	explore_write(told, 1);
	explore_assert(skua_event_set(&event) == 0);
}

static void all_received(void)
{
	explore_assert(sent == received && skua_spsc_length(&spsc) == 0);
	explore_assert(!spsc.senders.first && !spsc.receivers.first);
	explore_assert(!event.waiters.first);
	explore_assert(!((spsc.sender.flags | spsc.receiver.flags) & WAITS));
}

static const struct explore_case all_cases[] = {
	{ EXPLORE_PASS("receive", setup, all_received, receives, sends_both,
		       sets),
	  EXPLORE_WITHIN(2, 1) },
	{ EXPLORE_PASS("receive__deadline", setup, all_received, receives_soon,
		       sends_both),
	  EXPLORE_WITHIN(3, 1) },
	{ EXPLORE_PASS("send", setup_full, all_received, sends, receives_all,
		       sets),
	  EXPLORE_WITHIN(2, 1) },
	{ EXPLORE_PASS("send__deadline", setup_full, all_received, sends_soon,
		       receives_all),
	  EXPLORE_WITHIN(3, 1) },
};

EXPLORE_MAIN(all_cases)
