/* SPDX-License-Identifier: MIT */
/**
 * model_event.c - threads that wait for an event, one that sets it, one that resets it
 */
#include "tests/model/waiter.h"

#include "core/sync/event.c"

static struct skua_event event;
static unsigned letter; /* plain: from the set to the waiters */
static atomic_u32 put;

static void setup(void)
{
	waiters_reset();
	event = (struct skua_event)SKUA_EVENT_INIT;
	explore_watch(&event, sizeof(event));
	letter = 0;
	atomic_init(&put, 0);
}

static void sets(void)
{
	waiter_begin(0);
	explore_write(letter, 1);
	explore_assert(skua_event_set(&event) == 0);
}

static void resets(void)
{
	waiter_begin(3);
	explore_assert(skua_event_reset(&event) == 0);
}

static int await_by(unsigned i, uint64_t deadline_ns)
{
	int code;

	waiter_begin(i);
	code = skua_event_wait(&event, deadline_ns);
	if (code == 0)
		explore_assert(explore_read(letter) == 1);
	else
		explore_assert(code == -ETIMEDOUT &&
			       deadline_ns != SKUA_FOREVER_NS);
	return code;
}

static void awaits_1(void)
{
	await_by(1, SKUA_FOREVER_NS);
}

static void awaits_2(void)
{
	await_by(2, SKUA_FOREVER_NS);
}

static void awaits_1_soon(void)
{
	await_by(1, SOON_NS);
}

static void awaits_2_soon(void)
{
	await_by(2, SOON_NS);
}

static void awaits_and_frees(void)
{
	if (await_by(1, SOON_NS))
		await_by(1, SKUA_FOREVER_NS);
	explore_free(&event, sizeof(event));
}

/* A consumer resets the event, looks, and waits if there is nothing: it must
 * not look past what was done before a set that it resets. */
static void puts_and_sets(void)
{
	waiter_begin(0);
	atomic_store_relaxed(&put, 1);
	explore_assert(skua_event_set(&event) == 0);
}

static void resets_and_looks(void)
{
	waiter_begin(1);
	explore_assert(skua_event_reset(&event) == 0);
	if (!atomic_load_relaxed(&put))
		explore_assert(skua_event_wait(&event, SKUA_FOREVER_NS) == 0);
	explore_assert(atomic_load_relaxed(&put));
}

static void none_waits(void)
{
	explore_assert(!event.waiters.first && !(event.word & WAITERS));
}

static const struct explore_case cases[] = {
	{ EXPLORE_PASS("free", setup, NULL, sets, awaits_and_frees) },
	{ EXPLORE_PASS("two_wait", setup, none_waits, sets, awaits_1, awaits_2),
	  EXPLORE_WITHIN(2, 2) },
	{ EXPLORE_PASS("two_wait__deadlines", setup, none_waits, sets,
		       awaits_1_soon, awaits_2_soon),
	  EXPLORE_WITHIN(2, 1) },
	{ EXPLORE_PASS("reset__look", setup, none_waits, puts_and_sets,
		       resets_and_looks) },
	{ EXPLORE_PASS("reset", setup, none_waits, sets, awaits_1_soon,
		       resets) },
};

EXPLORE_MAIN(cases)
