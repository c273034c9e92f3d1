/* SPDX-License-Identifier: MIT */
/**
 * model_notify.c - threads that wait for a notification, and threads that notify
 *
 * A notification is never lost when a waiter gives up: it reaches another one, or
 * is kept.
 */
#include "tests/model/waiter.h"

#include "core/sync/notify.c"

static struct skua_notify notify;
static unsigned letter; /* plain: from a notification to waiters */
static unsigned got;    /* waits that returned 0 */
static unsigned sent;

static void setup(void)
{
	waiters_reset();
	notify = (struct skua_notify)SKUA_NOTIFY_INIT;
	explore_watch(&notify, sizeof(notify));
	letter = 0;
	got = 0;
	sent = 0;
}

static void notifies(void)
{
	waiter_begin(0);
	explore_write(letter, 1);
	sent++;
	explore_assert(skua_notify_one(&notify) == 0);
}

static void notifies_twice(void)
{
	notifies();
	sent++;
	explore_assert(skua_notify_one(&notify) == 0);
}

static void notifies_all(void)
{
	waiter_begin(3);
	explore_assert(skua_notify_all(&notify) == 0);
}

static int await_by(unsigned i, uint64_t deadline_ns)
{
	int code;

	waiter_begin(i);
	code = skua_notify_wait(&notify, deadline_ns);
	if (code == 0)
		got++;
	else
		explore_assert(code == -ETIMEDOUT &&
			       deadline_ns != SKUA_FOREVER_NS);
	return code;
}

static void awaits_and_reads(void)
{
	await_by(1, SKUA_FOREVER_NS);
	explore_assert(explore_read(letter) == 1);
}

static void awaits_and_frees(void)
{
	if (await_by(1, SOON_NS))
		await_by(1, SKUA_FOREVER_NS);
	explore_assert(explore_read(letter) == 1);
	explore_free(&notify, sizeof(notify));
}

static void awaits_1_soon(void)
{
	await_by(1, SOON_NS);
}

static void awaits_2_soon(void)
{
	await_by(2, SOON_NS);
}

static void none_lost(void)
{
	explore_assert(!notify.waiters.first && !(notify.word & WAITERS));
	explore_assert(got + (notify.word & KEPT) == sent);
}

/* Two notifications that nobody waits for are one. */
static void one_kept(void)
{
	explore_assert(!notify.waiters.first && !(notify.word & WAITERS));
	explore_assert(got + (notify.word & KEPT) >= 1);
	explore_assert(got + (notify.word & KEPT) <= sent);
}

static void none_waits(void)
{
	explore_assert(!notify.waiters.first && !(notify.word & WAITERS));
}

static const struct explore_case cases[] = {
	{ EXPLORE_PASS("free", setup, NULL, notifies, awaits_and_frees) },
	{ EXPLORE_PASS("two_wait__one_notification", setup, none_lost, notifies,
		       awaits_1_soon, awaits_2_soon),
	  EXPLORE_WITHIN(2, 2) },
	{ EXPLORE_PASS("two_wait__two_notifications", setup, one_kept,
		       notifies_twice, awaits_1_soon, awaits_2_soon),
	  EXPLORE_WITHIN(2, 1) },
	{ EXPLORE_PASS("all", setup, none_waits, notifies_all, awaits_1_soon,
		       awaits_2_soon),
	  EXPLORE_WITHIN(2, 1) },
	{ EXPLORE_PASS("one__read", setup, none_lost, notifies,
		       awaits_and_reads) },
	{ EXPLORE_PASS("all__and_one", setup, none_waits, notifies_all,
		       awaits_1_soon, awaits_2_soon, notifies),
	  EXPLORE_WITHIN(1, 1) },
};

EXPLORE_MAIN(cases)
