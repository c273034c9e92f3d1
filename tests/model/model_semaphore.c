/* SPDX-License-Identifier: MIT */
/**
 * model_semaphore.c - threads that take and give permits
 *
 * No permit is lost or made up, whichever waiters give up. A waiter that has all
 * permits frees the semaphore.
 */
#include "tests/model/waiter.h"

#include "core/sync/semaphore.c"

static struct skua_semaphore semaphore;
static unsigned letter; /* plain: from releases to acquires */
static unsigned taken;  /* permits, by waits that returned 0 */
static unsigned given;

static void setup_with(unsigned permits)
{
	waiters_reset();
	explore_assert(skua_semaphore_init(&semaphore, permits) == 0);
	explore_watch(&semaphore, sizeof(semaphore));
	letter = 0;
	taken = 0;
	given = permits;
}

static void setup_none(void)
{
	setup_with(0);
}

static void setup_one(void)
{
	setup_with(1);
}

static int acquire_by(unsigned i, unsigned n, uint64_t deadline_ns)
{
	int code;

	waiter_begin(i);
	code = skua_semaphore_acquire(&semaphore, n, deadline_ns);
	explore_assert(code == 0 ||
		       (code == -ETIMEDOUT && deadline_ns != SKUA_FOREVER_NS));
	if (code == 0)
		taken += n;
	return code;
}

/* The letter was written before the releases. */
static void read_letter(void)
{
	explore_assert(explore_read(letter) == 1);
}

static void release_by(unsigned i, unsigned n)
{
	waiter_begin(i);
	given += n;
	explore_assert(skua_semaphore_release(&semaphore, n) == 0);
}

static void acquires_1(void)
{
	acquire_by(1, 1, SKUA_FOREVER_NS);
}

static void acquires_2_soon(void)
{
	acquire_by(2, 1, SOON_NS);
}

/* And gives them back. */
static void acquires_two_soon(void)
{
	if (acquire_by(2, 2, SOON_NS))
		return;
	given += 2;
	explore_assert(skua_semaphore_release(&semaphore, 2) == 0);
}

static void acquires_two(void)
{
	acquire_by(2, 2, SKUA_FOREVER_NS);
}

static void releases_1(void)
{
	release_by(0, 1);
}

static void releases_2(void)
{
	release_by(0, 2);
}

static void releases_1_twice(void)
{
	release_by(0, 1);
	release_by(0, 1);
}

static void releases_3(void)
{
	release_by(0, 3);
}

static void releases_1_also(void)
{
	release_by(3, 1);
}

/* The semaphore as a completion: what was done is read, and it is freed. */
static void completes(void)
{
	waiter_begin(0);
	explore_write(letter, 1);
	explore_assert(skua_semaphore_release(&semaphore, 1) == 0);
}

static void awaits_completion(void)
{
	/* Gives up, perhaps, and tries again. */
	if (acquire_by(1, 1, SOON_NS))
		acquire_by(1, 1, SKUA_FOREVER_NS);
	read_letter();
	explore_free(&semaphore, sizeof(semaphore));
}

/* A letter is written before a release, and read by those that get its permits. */
static void writes_and_releases(unsigned n)
{
	explore_write(letter, 1);
	release_by(0, n);
}

static void writes_and_releases_1(void)
{
	writes_and_releases(1);
}

static void writes_and_releases_2(void)
{
	writes_and_releases(2);
}

static void acquires_1_and_reads(void)
{
	acquire_by(1, 1, SKUA_FOREVER_NS);
	read_letter();
}

static void acquires_2_and_reads(void)
{
	acquire_by(2, 1, SKUA_FOREVER_NS);
	read_letter();
}

static void gives_up_two(void)
{
	explore_assert(acquire_by(3, 2, SOON_NS) == -ETIMEDOUT);
}

static void none_lost(void)
{
	explore_assert(skua_semaphore_permits(&semaphore) == given - taken);
	explore_assert(!semaphore.waiters.first);
	explore_assert(!(semaphore.word & WAITERS));
}

/* ---- too many --------------------------------------------------------------- */

static unsigned overflows;

static void setup_many(void)
{
	setup_with(1);
	overflows = 0;
}

/* Each of two such releases fits, but not both. */
static void releases_many(unsigned i)
{
	int code;

	waiter_begin(i);
	code = skua_semaphore_release(&semaphore, SKUA_MAX_PERMITS - 1);
	explore_assert(code == 0 || code == -EOVERFLOW);
	overflows += code != 0;
}

static void releases_many_0(void)
{
	releases_many(0);
}

static void releases_many_3(void)
{
	releases_many(3);
}

static void one_overflows(void)
{
	explore_assert(overflows == 1);
	explore_assert(skua_semaphore_permits(&semaphore) ==
		       SKUA_MAX_PERMITS - taken);
	explore_assert(semaphore.word % PERMIT == 0);
}

/* ---- close ------------------------------------------------------------------ */

static int closed_code;

static void setup_close(void)
{
	setup_with(0);
	closed_code = 1;
}

static void acquires_or_is_told(void)
{
	waiter_begin(1);
	closed_code = skua_semaphore_acquire(&semaphore, 1, SKUA_FOREVER_NS);
	if (closed_code == 0)
		taken++;
	else
		read_letter();
}

static void closes(void)
{
	waiter_begin(2);
	explore_write(letter, 1);
	explore_assert(skua_semaphore_close(&semaphore) == 0);
	explore_assert(skua_semaphore_close(&semaphore) == -EALREADY);
}

static void closed(void)
{
	explore_assert(closed_code == 0 || closed_code == -ESHUTDOWN);
	none_lost();
}

static const struct explore_case cases[] = {
	{ EXPLORE_PASS("completion", setup_none, NULL, completes,
		       awaits_completion) },
	{ EXPLORE_PASS("release__acquire", setup_none, none_lost, releases_1,
		       acquires_1) },
	{ EXPLORE_PASS("release_two__acquires", setup_none, none_lost,
		       releases_2, acquires_1, acquires_2_soon),
	  EXPLORE_WITHIN(2, 1) },
	{ EXPLORE_PASS("releases__first_wants_two", setup_none, none_lost,
		       releases_3, acquires_1, acquires_two),
	  EXPLORE_WITHIN(2, 1) },
	{ EXPLORE_PASS("first_wants_two__gives_up", setup_one, none_lost,
		       acquires_1, acquires_two_soon, releases_1),
	  EXPLORE_WITHIN(2, 1) },
	/* Nobody releases: it is the waiter that gives up that lets the one
	 * behind it proceed. */
	{ EXPLORE_PASS("first_wants_two__one_is_enough", setup_one, none_lost,
		       acquires_1, acquires_two_soon) },
	/* It has not acquired what was done before the release. */
	{ EXPLORE_PASS("first_wants_two__gives_up__read", setup_none, none_lost,
		       writes_and_releases_1, acquires_1_and_reads,
		       gives_up_two),
	  EXPLORE_WITHIN(2, 1) },
	{ EXPLORE_PASS("release_two__acquires__read", setup_none, none_lost,
		       writes_and_releases_2, acquires_1_and_reads,
		       acquires_2_and_reads),
	  EXPLORE_WITHIN(2, 1) },
	{ EXPLORE_PASS("two_releases__acquires", setup_none, none_lost,
		       releases_1, acquires_1, acquires_2_soon,
		       releases_1_also),
	  EXPLORE_WITHIN(1, 1) },
	{ EXPLORE_PASS("one_by_one__acquires_two", setup_none, none_lost,
		       releases_1_twice, acquires_two) },
	{ EXPLORE_PASS("two_releases__too_many", setup_many, one_overflows,
		       releases_many_0, acquires_two, releases_many_3),
	  EXPLORE_WITHIN(2, 1) },
	{ EXPLORE_PASS("close__read", setup_close, closed, closes,
		       acquires_or_is_told) },
	{ EXPLORE_PASS("close", setup_close, closed, closes,
		       acquires_or_is_told, releases_1),
	  EXPLORE_WITHIN(2, 1) },
};

EXPLORE_MAIN(cases)
