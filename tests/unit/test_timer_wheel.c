/* SPDX-License-Identifier: MIT */
/* test_timer_wheel.c - timers at each distance, to the grain; cancels */
#include "core/queue/timer_wheel.h"

#include <string.h>

#include "tests/unit/timer_wheel_fixture.h"

/* ---- one timer ---------------------------------------------------------- */

EACH_TEST(set_up, tear_down);

TEST(timer_wheel__new__is_empty)
{
	struct fixture *f = *state;

	for (size_t s = 0; s < COUNT_OF(starts); s++) {
		restart(f, starts[s]);
		assert_int_equal(timer_wheel_next(&f->wheel), NEVER);
		expect_none(f, starts[s]);
		expect_none(f, NEVER);
	}
}

TEST(timer_entry__zeroed_or_initialised__is_not_queued)
{
	struct fixture *f = *state;
	struct timer_entry entry;

	assert_false(timer_entry_queued(&f->timers[0]));
	memset(&entry, 0xff, sizeof(entry));
	timer_entry_init(&entry);
	assert_false(timer_entry_queued(&entry));
	assert_false(timer_wheel_cancel(&f->wheel, &entry));
}

/* One timer at @deadline: next says when it is due, and it comes then, not
 * before. */
static void expect_exact(struct fixture *f, uint64_t start, uint64_t deadline)
{
	uint64_t due = time_of(grain_due(start, deadline));

	restart(f, start);
	add(f, 0, deadline);
	assert_int_equal(timer_wheel_next(&f->wheel), start == NEVER ? 0 : due);
	if (due > start) {
		assert_true(due == NEVER || due - deadline < GRAIN);
		expect_none(f, start);
		expect_none(f, start + (due - start) / 2);
		expect_none(f, due - 1);
		assert_int_equal(timer_wheel_next(&f->wheel), due);
	}
	expect_one(f, due > start ? due : start, 0);
	expect_none(f, due > start ? due : start);
	assert_int_equal(timer_wheel_next(&f->wheel), NEVER);
}

TEST(timer_wheel__each_ns_of_two_grains__rounded_up)
{
	struct fixture *f = *state;

	for (uint64_t start = GRAIN; start <= 2 * GRAIN; start += 15)
		for (uint64_t d = start; d < start + 2 * GRAIN; d++)
			expect_exact(f, start, d);
}

TEST(timer_wheel__around_each_level__exact)
{
	struct fixture *f = *state;

	for (size_t s = 0; s < COUNT_OF(starts); s++)
		for (unsigned bit = 0; bit < 64; bit++)
			for (uint64_t off = 0; off < 5; off++) {
				uint64_t ahead = (UINT64_C(1) << bit) + off - 2;

				if (ahead <= NEVER - starts[s])
					expect_exact(f, starts[s],
						     starts[s] + ahead);
			}
}

TEST(timer_wheel__each_slot_of_each_level__exact)
{
	struct fixture *f = *state;

	for (size_t s = 0; s < COUNT_OF(starts); s++)
		for (unsigned level = 0; level < TIMER_WHEEL_LEVELS; level++)
			for (uint64_t n = 1; n <= TIMER_WHEEL_SLOTS; n++) {
				uint64_t number = starts[s] / width(level) + n;
				uint64_t deadline = number * width(level);

				if (deadline / width(level) != number)
					continue; /* beyond 64 bits */
				expect_exact(f, starts[s], deadline - 1);
				expect_exact(f, starts[s], deadline);
			}
}

TEST(timer_wheel_add__window_ends__goes_one_level_up)
{
	struct fixture *f = *state;

	for (unsigned level = 0; level + 1 < TIMER_WHEEL_LEVELS; level++) {
		/* The cursor at the begin and at the end of its slot: the
		 * window is the same. */
		uint64_t begin = 5 * width(level + 1);
		uint64_t end = begin + TIMER_WHEEL_SLOTS * width(level);

		for (unsigned late = 0; late < 2; late++) {
			restart(f, begin + late * (width(level) - 1));
			add(f, 0, end - GRAIN);
			add(f, 1, end - GRAIN + 1);
			assert_int_equal(level_of(&f->timers[0]), level);
			assert_int_equal(level_of(&f->timers[1]), level + 1);
		}
	}
}

TEST(timer_wheel__wraps_of_each_level__exact)
{
	struct fixture *f = *state;

	for (unsigned level = 0; level + 2 < TIMER_WHEEL_LEVELS; level++) {
		uint64_t step =
			(width(level) * 21 + width(level) / 3) & ~(GRAIN - 1);
		uint64_t now = 0;

		restart(f, 0);
		/* Each timer comes round after three steps, near the end of
		 * the window. */
		for (unsigned i = 0; i < 3; i++)
			add(f, i, (i + 1) * step);
		for (unsigned round = 0; round < 300; round++) {
			now += step;
			expect_none(f, now - 1);
			assert_int_equal(timer_wheel_next(&f->wheel), now);
			expect_one(f, now, round % 3);
			add(f, round % 3, now + 3 * step);
		}
	}
}

TEST(timer_wheel_add__deadline_passed__due_at_once)
{
	struct fixture *f = *state;
	uint64_t now = 10 * S / GRAIN * GRAIN;

	restart(f, now);
	add(f, 0, now);
	add(f, 1, now - 1);
	add(f, 2, 0);
	add(f, 3, now + 1);
	assert_int_equal(timer_wheel_next(&f->wheel), now);
	for (unsigned i = 0; i < 3; i++)
		assert_true(expire_one(&f->wheel, now) != &f->timers[3]);
	expect_none(f, now + GRAIN - 1);
	expect_one(f, now + GRAIN, 3);
}

TEST(timer_wheel__time_and_deadline_0__due)
{
	struct fixture *f = *state;

	add(f, 0, 0);
	add(f, 1, 1);
	assert_int_equal(timer_wheel_next(&f->wheel), 0);
	expect_one(f, 0, 0);
	expect_none(f, 0);
	expect_one(f, GRAIN, 1);
}

/* ---- far away ----------------------------------------------------------- */

TEST(timer_wheel__never__stays_until_the_end_of_time)
{
	struct fixture *f = *state;
	uint64_t before = (LAST - 1) * GRAIN;

	add(f, 0, NEVER);
	assert_int_equal(timer_wheel_next(&f->wheel), NEVER);
	add(f, 1, before);
	add(f, 2, before + 1);
	for (uint64_t now = 1; now < NEVER / 2; now *= 2) {
		expect_none(f, now);
		assert_int_equal(timer_wheel_next(&f->wheel), before);
	}
	expect_none(f, before - 1);
	expect_one(f, before, 1);
	expect_none(f, NEVER - 1);
	assert_int_equal(timer_wheel_next(&f->wheel), NEVER);
	assert_true(timer_wheel_cancel(&f->wheel, &f->timers[2]));
	expect_one(f, NEVER, 0);
	expect_none(f, NEVER);
}

TEST(timer_wheel__end_of_time__any_is_due_for_ever)
{
	struct fixture *f = *state;

	expect_none(f, NEVER);
	for (size_t s = 0; s < COUNT_OF(starts); s++) {
		assert_int_equal(timer_wheel_next(&f->wheel), NEVER);
		add(f, 0, starts[s]);
		/* At any time of the clock. */
		assert_int_equal(timer_wheel_next(&f->wheel), 0);
		expect_one(f, NEVER, 0);
	}
}

TEST(timer_wheel__jump_of_years__all_in_order)
{
	struct fixture *f = *state;
	uint64_t deadlines[TIMERS] = { GRAIN };
	unsigned n = 1;

	/* Some in each level, added in no order. */
	for (; n < TIMERS && deadlines[n - 1] < 400 * YEAR; n++)
		deadlines[n] = deadlines[n - 1] + deadlines[n - 1] / 5 + GRAIN;
	assert_int_not_equal(n % 7, 0);
	for (unsigned i = 0; i < n; i++)
		add(f, i * 7 % n, deadlines[i * 7 % n]);
	for (unsigned i = 0; i < n; i++)
		expect_one(f, 501 * YEAR, i);
	expect_none(f, 501 * YEAR);
	expect_exact(f, 501 * YEAR, 501 * YEAR + 3 * MS);
}

TEST(timer_wheel__years_without_a_call__adds_are_exact)
{
	struct fixture *f = *state;
	uint64_t now = 30 * YEAR / GRAIN * GRAIN;

	/* The wheel's time is 0 still. */
	add(f, 0, now + 20000 * GRAIN);
	add(f, 1, now + 10000 * GRAIN);
	add(f, 2, now + 10000 * GRAIN + 1);
	assert_int_equal(timer_wheel_next(&f->wheel), now + 10000 * GRAIN);
	expect_none(f, now);
	expect_one(f, now + 10000 * GRAIN, 1);
	expect_none(f, now + 10000 * GRAIN);
	expect_one(f, now + 10001 * GRAIN, 2);
	assert_int_equal(timer_wheel_next(&f->wheel), now + 20000 * GRAIN);
	expect_one(f, now + 20000 * GRAIN, 0);
}

/* ---- cancel ------------------------------------------------------------- */

TEST(timer_wheel_cancel__in_each_level__is_not_handed_out)
{
	struct fixture *f = *state;

	for (unsigned level = 0; level < TIMER_WHEEL_LEVELS; level++) {
		uint64_t deadline = 40 * width(level);

		restart(f, 0);
		for (unsigned i = 0; i < 3; i++)
			add(f, i, deadline);
		assert_int_equal(level_of(&f->timers[1]), level);
		assert_true(timer_wheel_cancel(&f->wheel, &f->timers[1]));
		assert_false(timer_entry_queued(&f->timers[1]));
		assert_false(timer_wheel_cancel(&f->wheel, &f->timers[1]));
		assert_int_equal(timer_wheel_next(&f->wheel), deadline);
		check(&f->wheel);
		expect_one(f, deadline, 0);
		expect_one(f, deadline, 2);
		expect_none(f, deadline);
	}
}

TEST(timer_wheel_cancel__last_of_a_slot__empties_it)
{
	struct fixture *f = *state;

	for (unsigned level = 0; level < TIMER_WHEEL_LEVELS; level++) {
		uint64_t deadline = 40 * width(level);

		restart(f, 0);
		add(f, 0, deadline);
		assert_true(timer_wheel_cancel(&f->wheel, &f->timers[0]));
		assert_int_equal(f->wheel.occupied[level], 0);
		assert_int_equal(timer_wheel_next(&f->wheel), NEVER);
		/* The slot forgets the cancelled one. */
		add(f, 0, deadline + GRAIN);
		assert_int_equal(timer_wheel_next(&f->wheel), deadline + GRAIN);
	}
}

/* Sleep as a worker does, from now on. Returns how often it woke in vain. */
static unsigned sleep_until(struct fixture *f, uint64_t now, unsigned i)
{
	unsigned vain = 0;

	for (;;) {
		uint64_t next = timer_wheel_next(&f->wheel);

		assert_true(next > now && next / GRAIN <= f->timers[i].grain);
		now = next;
		if (now / GRAIN == f->timers[i].grain) {
			expect_one(f, now, i);
			return vain;
		}
		expect_none(f, now);
		vain++;
	}
}

TEST(timer_wheel_next__far_timer__one_sleep)
{
	struct fixture *f = *state;

	for (unsigned level = 0; level < TIMER_WHEEL_LEVELS; level++) {
		restart(f, 12345);
		add(f, 0, 12345 + 41 * width(level));
		assert_int_equal(sleep_until(f, 12345, 0), 0);
	}
}

TEST(timer_wheel_next__earliest_cancelled__exact_after_one)
{
	struct fixture *f = *state;

	for (unsigned level = 0; level < TIMER_WHEEL_LEVELS; level++) {
		restart(f, 0);
		for (unsigned i = 0; i < 20; i++)
			add(f, i, 40 * width(level) + i * 300);
		for (unsigned i = 0; i < 19; i++)
			assert_true(
				timer_wheel_cancel(&f->wheel, &f->timers[i]));
		assert_true(sleep_until(f, 0, 19) <= 1);
	}
}

TEST(timer_wheel_cancel__in_another_slot__next_is_exact)
{
	struct fixture *f = *state;

	for (unsigned i = 0; i < 50; i++)
		add(f, i, (i + 1) * MS);
	for (unsigned i = 0; i < 49; i++) {
		assert_true(timer_wheel_cancel(&f->wheel, &f->timers[i]));
		assert_true(timer_wheel_next(&f->wheel) <= 50 * MS + GRAIN);
	}
	assert_true(sleep_until(f, 0, 49) <= 2);
}

TEST(timer_wheel_take_all__every_level__all_handed_out_or_cancelled)
{
	struct fixture *f = *state;
	struct timer_entry *due[TIMERS];
	struct timer_link all;
	unsigned count = 0;

	for (unsigned n = 0; n < COUNT_OF(starts); n++) {
		restart(f, starts[n]);
		/* Two for each level, and one that is never due. */
		for (unsigned i = 0; i < 2 * TIMER_WHEEL_LEVELS; i++)
			add(f, i, starts[n] + 40 * width(i / 2));
		add(f, 2 * TIMER_WHEEL_LEVELS, NEVER);
		timer_wheel_take_all(&f->wheel, &all);
		assert_int_equal(check(&f->wheel), 0);
		assert_int_equal(timer_wheel_next(&f->wheel), NEVER);
		/* A cancel takes one out of the list, also while others are in
		 * its slot. */
		add(f, 100, starts[n] + 40 * width(1));
		assert_true(timer_entry_queued(&f->timers[2]));
		assert_true(timer_wheel_cancel(&f->wheel, &f->timers[2]));
		assert_true(timer_wheel_cancel(&f->wheel, &f->timers[8]));
		assert_int_equal(check(&f->wheel), 1);
		count = timer_wheel_hand_out(&f->wheel, &all, due, 5);
		assert_int_equal(count, 5);
		count += timer_wheel_hand_out(&f->wheel, &all, due, TIMERS);
		assert_int_equal(count, 2 * TIMER_WHEEL_LEVELS - 1);
		assert_int_equal(check(&f->wheel), 1);
		assert_true(timer_wheel_cancel(&f->wheel, &f->timers[100]));
		for (unsigned i = 0; i <= 100; i++)
			assert_false(timer_entry_queued(&f->timers[i]));
	}
}
