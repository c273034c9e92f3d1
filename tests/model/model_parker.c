/* SPDX-License-Identifier: MIT */
/**
 * model_parker.c - core/idle/parker.h: no notification is lost
 *
 * A thread sleeps on the parker's futex, or elsewhere until a callback wakes it. Nothing
 * here has a timeout, so that a lost notification leaves it asleep, which the explorer
 * reports.
 *
 * The last cases are defects; the explorer must find them.
 */
#include "core/idle/parker.h"

/* ---- asleep on the futex ------------------------------------------------- */

static struct parker parker;
static atomic_u32 condition; /* relaxed: the parker alone orders */
static unsigned letter;

static void setup_parker(void)
{
	parker_init(&parker);
	atomic_init(&condition, 0);
	explore_watch(&parker, sizeof(parker));
	letter = 0;
}

static void sleeps_until_two(void)
{
	while (atomic_load_relaxed(&condition) < 2)
		parker_park(&parker);
}

static void sleeps_once(void)
{
	parker_park(&parker);
	explore_assert(explore_read(letter) == 7);
}

static void wakes(void)
{
	atomic_fetch_add_relaxed(&condition, 1);
	parker_unpark(&parker);
}

static void wakes_with_letter(void)
{
	explore_write(letter, 7);
	parker_unpark(&parker);
}

/* Overwrites the notification instead of taking it. */
static void sleeps_blindly_until_two(void)
{
	uint32_t state = PARKER_EMPTY;

	while (atomic_load_relaxed(&condition) < 2) {
		state = PARKER_EMPTY;
		if (atomic_cas_relaxed(&parker.state, &state, PARKER_PARKED))
			while (atomic_load_relaxed(&parker.state) ==
			       PARKER_PARKED)
				futex_wait(&parker.state, PARKER_PARKED);
		atomic_store_relaxed(&parker.state, PARKER_EMPTY);
	}
}

/* Wakes only if it sees a sleeper; notifies nobody who is on the way. */
static void wakes_only_a_sleeper(void)
{
	atomic_fetch_add_relaxed(&condition, 1);
	if (atomic_load_relaxed(&parker.state) != PARKER_PARKED)
		return;
	atomic_store_release(&parker.state, PARKER_NOTIFIED);
	futex_wake(&parker.state, 1);
}

/* ---- asleep elsewhere ---------------------------------------------------- */

static atomic_u32 event; /* what the sleeper waits for instead of the futex */
static unsigned poller;  /* what the callback uses; plain, gone at the end */
static bool leaves_at_once; /* a variant: the sleeper waits for no callback */

static void ring(void *ctx)
{
	(void)ctx;
	explore_assert(explore_read(poller) == 1);
	atomic_store_release(&event, 1);
	futex_wake(&event, 1);
	explore_assert(explore_read(poller) == 1); /* still there */
}

static void setup_elsewhere(void)
{
	setup_parker();
	parker.wake = ring;
	atomic_init(&event, 0);
	poller = 1;
	leaves_at_once = false;
}

static void setup_elsewhere_hasty(void)
{
	setup_elsewhere();
	leaves_at_once = true;
}

/* As pollers_park_owner(), once: the parker alone orders. */
static void sleeps_elsewhere_once(void)
{
	parker.wake = ring;
	parker.ctx = NULL;
	if (parker_begin(&parker)) {
		while (atomic_load_relaxed(&event) == 0)
			futex_wait(&event, 0);
		parker_end(&parker);
	}
	explore_assert(explore_read(letter) == 7);
}

/* As pollers_park_owner(), until both wakers have been; then the poller goes. */
static void sleeps_elsewhere_until_two(void)
{
	while (atomic_load_relaxed(&condition) < 2) {
		if (!parker_begin(&parker))
			continue;
		while (atomic_load_acquire(&event) == 0)
			futex_wait(&event, 0);
		atomic_store_relaxed(&event, 0);
		if (leaves_at_once)
			atomic_exchange_acquire(&parker.state, PARKER_EMPTY);
		else
			parker_end(&parker);
	}
	explore_write(poller, 0);
}

/* ---- cases --------------------------------------------------------------- */

static const struct explore_case cases[] = {
	{ EXPLORE_PASS("parker__two_wakers", setup_parker, NULL,
		       sleeps_until_two, wakes, wakes) },
	{ EXPLORE_PASS("parker__elsewhere__two_wakers", setup_elsewhere, NULL,
		       sleeps_elsewhere_until_two, wakes, wakes) },
	{ EXPLORE_PASS("parker__hands_over", setup_parker, NULL, sleeps_once,
		       wakes_with_letter) },
	{ EXPLORE_PASS("parker__elsewhere__hands_over", setup_elsewhere, NULL,
		       sleeps_elsewhere_once, wakes_with_letter) },

	{ EXPLORE_BUG("notification_overwritten", "lost wake-up", setup_parker,
		      NULL, sleeps_blindly_until_two, wakes, wakes) },
	{ EXPLORE_BUG("parker__elsewhere__callback_not_awaited", "",
		      setup_elsewhere_hasty, NULL, sleeps_elsewhere_until_two,
		      wakes, wakes) },
	{ EXPLORE_BUG("parker__only_sleepers_notified", "lost wake-up",
		      setup_parker, NULL, sleeps_until_two, wakes,
		      wakes_only_a_sleeper) },
};

EXPLORE_MAIN(cases)
