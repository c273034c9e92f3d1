/* SPDX-License-Identifier: MIT */
/* timer_wheel_check.h - a timer wheel's invariants and times, for its tests */
#ifndef SKUA_TESTS_UNIT_TIMER_WHEEL_CHECK_H
#define SKUA_TESTS_UNIT_TIMER_WHEEL_CHECK_H

#include <stdlib.h>

#include "core/queue/timer_wheel.h"
#include "tests/unit/unit.h"

#define US    UINT64_C(1000)
#define MS    (1000 * US)
#define S     (1000 * MS)
#define YEAR  (365 * 86400 * S)
#define NEVER UINT64_MAX
#define GRAIN (UINT64_C(1) << TIMER_WHEEL_GRAIN_BITS)
#define LAST  TIMER_WHEEL_LAST

/* width - of a slot, in ns */
static inline uint64_t width(unsigned level)
{
	return GRAIN << level * TIMER_WHEEL_LEVEL_BITS;
}

/* grain_at - the one that a time is in */
static inline uint64_t grain_at(uint64_t now)
{
	if (now == NEVER)
		return LAST;
	return now / GRAIN < LAST ? now / GRAIN : LAST - 1;
}

/* grain_due - the one at which a timer comes that is added at @now */
static inline uint64_t grain_due(uint64_t now, uint64_t deadline)
{
	uint64_t grain = deadline / GRAIN + (deadline % GRAIN > 0);

	if (grain > LAST)
		grain = LAST;
	return grain > grain_at(now) ? grain : grain_at(now);
}

/* time_of - when a grain begins */
static inline uint64_t time_of(uint64_t grain)
{
	return grain == LAST ? NEVER : grain * GRAIN;
}

static inline void check_entry(const struct timer_wheel *w,
			       const struct timer_entry *entry, unsigned at)
{
	unsigned bits = at / TIMER_WHEEL_SLOTS * TIMER_WHEEL_LEVEL_BITS;
	uint64_t n = entry->grain >> bits;

	assert_int_equal(entry->slot, at + 1);
	assert_true(entry->grain <= LAST);
	assert_true(n - (w->cursor >> bits) < TIMER_WHEEL_SLOTS);
	assert_int_equal(n % TIMER_WHEEL_SLOTS, at % TIMER_WHEEL_SLOTS);
	assert_true(w->cursor <= w->slots[at].earliest);
	assert_true(w->slots[at].earliest <= entry->grain);
}

static inline unsigned check_slot(const struct timer_wheel *w, unsigned at)
{
	const struct timer_link *list = &w->slots[at].list;
	const struct timer_link *link;
	uint64_t bit =
		w->occupied[at / TIMER_WHEEL_SLOTS] >> at % TIMER_WHEEL_SLOTS;
	unsigned count = 0;

	/* The list of a slot that was never used is not even empty. */
	for (link = list->next; link && link != list; link = link->next) {
		assert_ptr_equal(link->next->prev, link);
		check_entry(w, (const struct timer_entry *)link, at);
		count++;
	}
	assert_int_equal(bit & 1, count > 0);
	return count;
}

/* check - T1 to T5 of timer_wheel.h; returns how many timers there are */
static inline unsigned check(const struct timer_wheel *w)
{
	unsigned count = 0;

	assert_true(w->cursor <= w->now);
	for (unsigned at = 0; at < TIMER_WHEEL_SLOTS_TOTAL; at++)
		count += check_slot(w, at);
	return count;
}

/* expire_one - in as many calls as it takes; NULL if none is due */
static inline struct timer_entry *expire_one(struct timer_wheel *w,
					     uint64_t now)
{
	struct timer_entry *entry;
	bool more;

	do {
		if (timer_wheel_expire(w, now, &entry, 1, &more) > 0)
			return entry;
	} while (more);
	return NULL;
}

#endif
