/* SPDX-License-Identifier: MIT */
/* test_parker_idle.c - one sleeper; searchers, sleepers and wake-ups */
#include "core/idle/idle.h"
#include "core/idle/parker.h"

#include <pthread.h>

#include "tests/near.h"
#include "tests/unit/support.h"

/* ---- parker ------------------------------------------------------------- */

static uint32_t parker_state(struct parker *parker)
{
	return atomic_load_relaxed(&parker->state);
}

TEST(parker__new__is_empty)
{
	struct parker parker;

	parker_init(&parker);
	assert_int_equal(parker_state(&parker), PARKER_EMPTY);
}

TEST(parker_park__notified_before__returns_at_once)
{
	struct parker parker;

	parker_init(&parker);
	parker_unpark(&parker);
	assert_int_equal(parker_state(&parker), PARKER_NOTIFIED);
	parker_park(&parker);
	assert_int_equal(parker_state(&parker), PARKER_EMPTY);
}

TEST(parker_unpark__twice__is_kept_one_deep)
{
	struct parker parker;

	parker_init(&parker);
	parker_unpark(&parker);
	parker_unpark(&parker);
	assert_int_equal(parker_state(&parker), PARKER_NOTIFIED);
	parker_park(&parker);
	assert_int_equal(parker_state(&parker), PARKER_EMPTY);
}

struct sleep {
	struct parker parker;
	unsigned written; /* by the waker, before it unparks */
	unsigned seen;    /* by the sleeper, after its park */
};

static void *park_once(void *arg)
{
	struct sleep *sleep = arg;

	parker_park(&sleep->parker);
	sleep->seen = sleep->written;
	return NULL;
}

static void wait_until_parked(struct parker *parker)
{
	while (atomic_load_acquire(&parker->state) != PARKER_PARKED)
		sched_yield();
}

TEST(parker_park__unparked_by_another__sees_what_it_wrote)
{
	for (unsigned round = 1; round <= 200; round++) {
		struct sleep sleep = { .written = 0 };
		pthread_t thread;

		parker_init(&sleep.parker);
		assert_int_equal(
			pthread_create(&thread, NULL, park_once, &sleep), 0);
		if (round % 2)
			wait_until_parked(&sleep.parker);
		sleep.written = round;
		parker_unpark(&sleep.parker);
		assert_int_equal(pthread_join(thread, NULL), 0);
		assert_int_equal(sleep.seen, round);
		assert_int_equal(parker_state(&sleep.parker), PARKER_EMPTY);
	}
}

TEST(parker_park__woken_without_cause__sleeps_on)
{
	struct sleep sleep = { .written = 0 };
	pthread_t thread;

	parker_init(&sleep.parker);
	assert_int_equal(pthread_create(&thread, NULL, park_once, &sleep), 0);
	wait_until_parked(&sleep.parker);
	for (unsigned i = 0; i < 100; i++) {
		futex_wake(&sleep.parker.state, 1);
		sched_yield();
		assert_int_equal(parker_state(&sleep.parker), PARKER_PARKED);
	}
	sleep.written = 1;
	parker_unpark(&sleep.parker);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(sleep.seen, 1);
}

/* ---- idle: helpers ------------------------------------------------------ */

static struct idle *idle_new(unsigned workers)
{
	struct idle *idle = aligned_alloc(CACHE_PAIR, sizeof(*idle));
	struct idle_sleeper *sleepers =
		aligned_alloc(CACHE_PAIR, workers * sizeof(*sleepers));
	struct idle_group *by_group =
		aligned_alloc(CACHE_PAIR, workers * sizeof(*by_group));

	assert_non_null(idle);
	assert_non_null(sleepers);
	assert_non_null(by_group);
	idle_init(idle, near_groups(workers, 1), by_group, sleepers);
	return idle;
}

static void idle_free(struct idle *idle)
{
	free(idle->sleepers);
	free(idle->by_group);
	free(idle);
}

static uint64_t searching(struct idle *idle)
{
	uint64_t sum = 0;

	for (unsigned g = 0; g < idle->groups->count; g++)
		sum += atomic_load_relaxed(&idle->by_group[g].searching);
	return sum;
}

static bool bit_set(struct idle *idle, unsigned i)
{
	return idle_parked(idle, i);
}

static unsigned bits_set(struct idle *idle)
{
	int count = 0;

	for (unsigned g = 0; g < idle->groups->count; g++)
		count += __builtin_popcountll(
			atomic_load_relaxed(&idle->by_group[g].parked));
	return (unsigned)count;
}

static bool notified(struct idle *idle, unsigned i)
{
	return parker_state(&idle->sleepers[i].parker) == PARKER_NOTIFIED;
}

/* ---- idle: searching ---------------------------------------------------- */

TEST(idle__new__nobody_searches_or_sleeps)
{
	static const unsigned counts[] = { 1, 2, 63, 64, 65, 200, 4096 };

	for (size_t c = 0; c < COUNT_OF(counts); c++) {
		struct idle *idle = idle_new(counts[c]);

		assert_int_equal(searching(idle), 0);
		assert_int_equal(bits_set(idle), 0);
		assert_int_equal(idle->groups->count, (counts[c] + 63) / 64);
		idle_free(idle);
	}
}

TEST(idle_try_search__half_of_the_workers__then_refused)
{
	for (unsigned workers = 1; workers <= 9; workers++) {
		struct idle *idle = idle_new(workers);

		for (unsigned n = 0; n < (workers + 1) / 2; n++)
			assert_true(idle_try_search(idle, 0));
		assert_false(idle_try_search(idle, 0));
		assert_int_equal(searching(idle), (workers + 1) / 2);
		idle_free(idle);
	}
}

TEST(idle_leave_search__last_of_three__is_told)
{
	struct idle *idle = idle_new(6);

	for (unsigned n = 0; n < 3; n++)
		assert_true(idle_try_search(idle, 0));
	assert_false(idle_leave_search(idle, 0));
	assert_false(idle_leave_search(idle, 0));
	assert_true(idle_leave_search(idle, 0));
	assert_int_equal(searching(idle), 0);
	assert_true(idle_try_search(idle, 0));
	assert_true(idle_leave_search(idle, 0));
	idle_free(idle);
}

/* As a worker between idle_park_begin() and its next search. */
static void park_wait(struct idle *idle, unsigned i)
{
	while (idle_parked(idle, i))
		parker_park(&idle->sleepers[i].parker);
}

/* ---- idle: parking ------------------------------------------------------ */

TEST(idle_park_begin__searcher__bit_set_and_count_given_back)
{
	struct idle *idle = idle_new(4);

	assert_true(idle_try_search(idle, 0));
	idle_park_begin(idle, 2, true);
	assert_true(bit_set(idle, 2));
	assert_int_equal(bits_set(idle), 1);
	assert_int_equal(searching(idle), 0);
	/* One that was no searcher had no count to give back. */
	assert_true(idle_try_search(idle, 0));
	idle_park_begin(idle, 3, false);
	assert_true(bit_set(idle, 3));
	assert_int_equal(searching(idle), 1);
	idle_free(idle);
}

TEST(idle_park_cancel__bit_still_set__searches_past_the_limit)
{
	struct idle *idle = idle_new(1);

	assert_true(idle_try_search(idle, 0));
	idle_park_begin(idle, 0, false);
	idle_park_cancel(idle, 0);
	assert_int_equal(bits_set(idle), 0);
	assert_int_equal(searching(idle), 2);
	idle_free(idle);
}

TEST(idle_park_cancel__already_claimed__counted_once)
{
	struct idle *idle = idle_new(4);

	idle_park_begin(idle, 1, false);
	idle_notify(idle, 0);
	assert_int_equal(searching(idle), 1);
	idle_park_cancel(idle, 1);
	assert_int_equal(searching(idle), 1);
	assert_int_equal(bits_set(idle), 0);
	/* The notification stays, and ends a later park without cause. */
	assert_true(notified(idle, 1));
	idle_free(idle);
}

TEST(idle_parked__already_claimed__is_a_searcher)
{
	struct idle *idle = idle_new(4);

	idle_park_begin(idle, 1, false);
	idle_notify(idle, 0);
	park_wait(idle, 1);
	assert_int_equal(searching(idle), 1);
	assert_true(idle_leave_search(idle, 0));
	idle_free(idle);
}

/* ---- idle: waking ------------------------------------------------------- */

TEST(idle_notify__nobody_parked__does_nothing)
{
	struct idle *idle = idle_new(4);

	idle_notify(idle, 0);
	assert_int_equal(searching(idle), 0);
	for (unsigned i = 0; i < 4; i++)
		assert_false(notified(idle, i));
	idle_free(idle);
}

TEST(idle_notify__some_parked__claims_exactly_one)
{
	struct idle *idle = idle_new(8);
	unsigned woken = 0;

	for (unsigned i = 2; i < 7; i++)
		idle_park_begin(idle, i, false);
	idle_notify(idle, 0);
	assert_int_equal(searching(idle), 1);
	assert_int_equal(bits_set(idle), 4);
	for (unsigned i = 0; i < 8; i++) {
		woken += notified(idle, i);
		if (i >= 2 && i < 7)
			assert_true(bit_set(idle, i) != notified(idle, i));
	}
	assert_int_equal(woken, 1);
	/* While that one is on its way, no second one is woken. */
	idle_notify(idle, 0);
	assert_int_equal(searching(idle), 1);
	assert_int_equal(bits_set(idle), 4);
	idle_free(idle);
}

TEST(idle_notify__somebody_searches__wakes_nobody)
{
	struct idle *idle = idle_new(4);

	assert_true(idle_try_search(idle, 0));
	idle_park_begin(idle, 0, false);
	idle_notify(idle, 0);
	assert_true(bit_set(idle, 0));
	assert_false(notified(idle, 0));
	assert_int_equal(searching(idle), 1);
	idle_free(idle);
}

TEST(idle_notify__chain__wakes_each_in_turn)
{
	struct idle *idle = idle_new(200);
	bool ended[200] = { false };

	for (unsigned i = 0; i < 200; i++)
		idle_park_begin(idle, i, false);
	for (unsigned left = 200; left > 0; left--) {
		unsigned woken = 0;

		assert_int_equal(bits_set(idle), left);
		idle_notify(idle, 0);
		assert_int_equal(bits_set(idle), left - 1);
		while (ended[woken] || bit_set(idle, woken))
			woken++;
		ended[woken] = true;
		assert_true(idle_leave_search(idle, woken));
	}
	for (unsigned i = 0; i < 200; i++)
		assert_true(notified(idle, i));
	idle_notify(idle, 0);
	assert_int_equal(searching(idle), 0);
	idle_free(idle);
}

TEST(idle_notify__any_word_of_the_bitmap__finds_it)
{
	static const unsigned who[] = { 0, 63, 64, 127, 128, 4095 };

	for (size_t n = 0; n < COUNT_OF(who); n++) {
		struct idle *idle = idle_new(4096);

		idle_park_begin(idle, who[n], false);
		assert_true(bit_set(idle, who[n]));
		idle_notify(idle, 0);
		assert_false(bit_set(idle, who[n]));
		assert_true(notified(idle, who[n]));
		assert_int_equal(searching(idle), 1);
		idle_free(idle);
	}
}

TEST(idle_wake_all__some_parked__all_are_searchers)
{
	struct idle *idle = idle_new(130);

	for (unsigned i = 0; i < 130; i += 3)
		idle_park_begin(idle, i, false);
	idle_wake_all(idle);
	assert_int_equal(bits_set(idle), 0);
	assert_int_equal(searching(idle), 44);
	for (unsigned i = 0; i < 130; i++)
		assert_int_equal(notified(idle, i), i % 3 == 0);
	idle_free(idle);
}

/* Unlike a notification: those that end must not wait for one another. */
TEST(idle_wake_all__somebody_searches__wakes_nevertheless)
{
	struct idle *idle = idle_new(4);

	idle_wake_all(idle);
	assert_int_equal(searching(idle), 0);
	assert_true(idle_try_search(idle, 0));
	idle_park_begin(idle, 0, false);
	idle_park_begin(idle, 3, false);
	idle_wake_all(idle);
	assert_true(notified(idle, 0) && notified(idle, 3));
	assert_int_equal(searching(idle), 3);
	idle_free(idle);
}

/* ---- idle: two threads -------------------------------------------------- */

#define HANDOVERS 2000u

/* A producer hands numbers to a worker that sleeps whenever it sees none. */
struct handover {
	struct idle *idle;
	atomic_u32 produced; /* the visible work */
	unsigned sum;
};

static void *consume(void *arg)
{
	struct handover *h = arg;
	bool searches = false;
	uint32_t consumed = 0;

	while (consumed < HANDOVERS) {
		if (atomic_load_acquire(&h->produced) > consumed) {
			consumed++;
			h->sum += consumed;
			if (searches)
				idle_leave_search(h->idle, 0);
			searches = false;
			continue;
		}
		idle_park_begin(h->idle, 0, searches);
		if (atomic_load_acquire(&h->produced) > consumed)
			idle_park_cancel(h->idle, 0);
		else
			park_wait(h->idle, 0);
		searches = true;
	}
	return NULL;
}

TEST(idle__producer_and_parker__no_wake_up_is_lost)
{
	struct handover h = { .idle = idle_new(1) };
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, consume, &h), 0);
	for (uint32_t n = 1; n <= HANDOVERS; n++) {
		atomic_store_release(&h.produced, n);
		idle_notify(h.idle, 0);
		/* Now and then, let it fall asleep. */
		if (n % 4 == 0)
			while (!bit_set(h.idle, 0) && searching(h.idle) == 0 &&
			       n < HANDOVERS)
				sched_yield();
	}
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(h.sum, HANDOVERS * (HANDOVERS + 1) / 2);
	assert_int_equal(searching(h.idle), 0);
	assert_int_equal(bits_set(h.idle), 0);
	idle_free(h.idle);
}

struct late {
	struct idle *idle;
	unsigned written;
	unsigned seen;
};

static void *wait_once(void *arg)
{
	struct late *late = arg;

	park_wait(late->idle, 0);
	late->seen = late->written;
	return NULL;
}

TEST(idle_parked__late_notification__parks_again)
{
	struct late late = { .idle = idle_new(2) };
	struct parker *parker = &late.idle->sleepers[0].parker;
	pthread_t thread;

	/* Claimed, cancelled, and now it parks again: the notification of the
	 * claim is still there. */
	idle_park_begin(late.idle, 0, false);
	idle_notify(late.idle, 0);
	idle_park_cancel(late.idle, 0);
	assert_true(idle_leave_search(late.idle, 0));
	idle_park_begin(late.idle, 0, false);
	assert_true(notified(late.idle, 0));
	assert_int_equal(pthread_create(&thread, NULL, wait_once, &late), 0);
	wait_until_parked(parker);
	assert_true(bit_set(late.idle, 0));

	late.written = 1;
	idle_notify(late.idle, 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(late.seen, 1);
	assert_int_equal(searching(late.idle), 1);
	idle_free(late.idle);
}

/* ---- misuse ------------------------------------------------------------- */

#ifndef NDEBUG
/* Other fields of the groups are not read. */
static void init_with(unsigned workers)
{
	static struct idle idle;
	static struct idle_group group;
	static struct idle_sleeper sleeper;
	const struct llc_groups groups = { .worker_count = workers };

	idle_init(&idle, &groups, &group, &sleeper);
}

static void init_without_workers(void)
{
	init_with(0);
}

static void init_with_4097_workers(void)
{
	init_with(4097);
}

static void leave_a_search_that_nobody_began(void)
{
	idle_leave_search(idle_new(2), 0);
}

static void park_worker_2_of_2(void)
{
	idle_park_begin(idle_new(2), 2, false);
}
#endif

TEST(idle__misuse__asserts)
{
#ifdef NDEBUG
	skip_aloud(NO_ASSERTS);
#else
	assert_true(aborts(init_without_workers));
	assert_true(aborts(init_with_4097_workers));
	assert_true(aborts(leave_a_search_that_nobody_began));
	assert_true(aborts(park_worker_2_of_2));
#endif
}
