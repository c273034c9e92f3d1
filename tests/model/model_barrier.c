/* SPDX-License-Identifier: MIT */
/**
 * model_barrier.c - threads that proceed together
 *
 * One thread of each round is told that it was the last. A thread that gives up
 * takes its arrival back. After the last round, the last thread that returns
 * frees the barrier.
 */
#include "tests/model/waiter.h"

#include "core/sync/barrier.c"

static struct skua_barrier barrier;
static unsigned marks[3]; /* plain: from arrivals to all */
static unsigned lasts;    /* returns of 1 */
static atomic_u32 inside;

static void setup_of(unsigned parties)
{
	waiters_reset();
	explore_assert(skua_barrier_init(&barrier, parties) == 0);
	explore_watch(&barrier, sizeof(barrier));
	for (unsigned i = 0; i < 3; i++)
		marks[i] = 0;
	lasts = 0;
	atomic_init(&inside, parties);
}

static void setup_two(void)
{
	setup_of(2);
}

static void setup_three(void)
{
	setup_of(3);
}

static void leave(void)
{
	if (atomic_fetch_sub_acq_rel(&inside, 1) == 1)
		explore_free(&barrier, sizeof(barrier));
}

/* Arrive, until the wait succeeds. */
static void arrive(unsigned i, unsigned parties, uint64_t deadline_ns)
{
	int code;

	waiter_begin(i);
	explore_write(marks[i], 1);
	code = skua_barrier_wait(&barrier, deadline_ns);
	if (code == -ETIMEDOUT)
		code = skua_barrier_wait(&barrier, SKUA_FOREVER_NS);
	explore_assert(code == 0 || code == 1);
	lasts += (unsigned)code;
	for (unsigned other = 0; other < parties; other++)
		explore_assert(explore_read(marks[other]) == 1);
	leave();
}

static void two_0(void)
{
	arrive(0, 2, SKUA_FOREVER_NS);
}

static void two_1_soon(void)
{
	arrive(1, 2, SOON_NS);
}

static void three_0(void)
{
	arrive(0, 3, SKUA_FOREVER_NS);
}

static void three_1(void)
{
	arrive(1, 3, SKUA_FOREVER_NS);
}

static void three_2_soon(void)
{
	arrive(2, 3, SOON_NS);
}

/* The one that was not the last frees the barrier, and the last one may still be
 * in its call. */
static void arrive_and_free(unsigned i)
{
	int code;

	waiter_begin(i);
	code = skua_barrier_wait(&barrier, SKUA_FOREVER_NS);
	lasts += (unsigned)code;
	if (code == 0)
		explore_free(&barrier, sizeof(barrier));
}

static void frees_0(void)
{
	arrive_and_free(0);
}

static void frees_1(void)
{
	arrive_and_free(1);
}

static void rounds(unsigned i)
{
	waiter_begin(i);
	for (unsigned round = 0; round < 2; round++) {
		int code = skua_barrier_wait(&barrier, SKUA_FOREVER_NS);

		explore_assert(code == 0 || code == 1);
		lasts += (unsigned)code;
	}
	leave();
}

static void rounds_0(void)
{
	rounds(0);
}

static void rounds_1(void)
{
	rounds(1);
}

static void one_last(void)
{
	explore_assert(lasts == 1);
}

static void two_lasts(void)
{
	explore_assert(lasts == 2);
}

static const struct explore_case cases[] = {
	{ EXPLORE_PASS("two", setup_two, one_last, two_0, two_1_soon) },
	{ EXPLORE_PASS("free", setup_two, one_last, frees_0, frees_1) },
	{ EXPLORE_PASS("three", setup_three, one_last, three_0, three_1,
		       three_2_soon),
	  EXPLORE_WITHIN(2, 1) },
	{ EXPLORE_PASS("two_rounds", setup_two, two_lasts, rounds_0,
		       rounds_1) },
};

EXPLORE_MAIN(cases)
