/* SPDX-License-Identifier: MIT */
/* timer_wheel_check.h - the invariants of a timer wheel, for its tests */
#ifndef SKUA_TESTS_UNIT_TIMER_WHEEL_CHECK_H
#define SKUA_TESTS_UNIT_TIMER_WHEEL_CHECK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "core/timer_wheel.h"

#define US    UINT64_C(1000)
#define MS    (1000 * US)
#define S     (1000 * MS)
#define YEAR  (365 * 86400 * S)
#define NEVER UINT64_MAX

#define SLOT_DUE (TIMER_WHEEL_SLOTS_TOTAL + 1)

/* width - of a slot, in ns */
static inline uint64_t width(unsigned level)
{
	return UINT64_C(1) << (TIMER_WHEEL_BASE_BITS +
			       level * TIMER_WHEEL_LEVEL_BITS);
}

static inline void check_entry(const struct timer_wheel *w,
			       const struct timer_entry *entry, unsigned at)
{
	unsigned level = at / TIMER_WHEEL_SLOTS;
	uint64_t deadline = entry->deadline_ns;
	uint64_t t = deadline > w->cursor_ns ? deadline : w->cursor_ns;
	uint64_t n = t / width(level);

	assert_int_equal(entry->slot, at + 1);
	assert_true(n - w->cursor_ns / width(level) < TIMER_WHEEL_SLOTS);
	assert_int_equal(n % TIMER_WHEEL_SLOTS, at % TIMER_WHEEL_SLOTS);
	assert_true(w->slots[at].earliest_ns <= deadline);
}

static inline uint64_t check_slot(const struct timer_wheel *w, unsigned at)
{
	const struct timer_link *list = &w->slots[at].list;
	const struct timer_link *link;
	uint64_t bit =
		w->occupied[at / TIMER_WHEEL_SLOTS] >> at % TIMER_WHEEL_SLOTS;
	uint64_t count = 0;

	for (link = list->next; link != list; link = link->next) {
		assert_ptr_equal(link->next->prev, link);
		check_entry(w, (const struct timer_entry *)link, at);
		count++;
	}
	assert_int_equal(bit & 1, count > 0);
	return count;
}

static inline uint64_t check_due(const struct timer_wheel *w)
{
	const struct timer_entry *last = NULL;
	const struct timer_link *link;
	uint64_t count = 0;

	for (link = w->due.next; link != &w->due; link = link->next) {
		const struct timer_entry *entry =
			(const struct timer_entry *)link;

		assert_ptr_equal(link->next->prev, link);
		assert_int_equal(entry->slot, SLOT_DUE);
		assert_true(entry->deadline_ns <= w->now_ns);
		if (last)
			assert_true(
				last->deadline_ns < entry->deadline_ns ||
				(last->deadline_ns == entry->deadline_ns &&
				 entry->serial - last->serial <= INT32_MAX));
		last = entry;
		count++;
	}
	return count;
}

/* check - T1 to T6 of timer_wheel.h */
static inline void check(const struct timer_wheel *w)
{
	uint64_t count = check_due(w);

	assert_true(w->cursor_ns <= w->now_ns);
	for (unsigned at = 0; at < TIMER_WHEEL_SLOTS_TOTAL; at++)
		count += check_slot(w, at);
	assert_int_equal(w->count, count);
}

#endif
