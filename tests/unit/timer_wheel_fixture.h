/* SPDX-License-Identifier: MIT */
/* timer_wheel_fixture.h - a wheel and some timers; what comes out and when */
#ifndef SKUA_TESTS_UNIT_TIMER_WHEEL_FIXTURE_H
#define SKUA_TESTS_UNIT_TIMER_WHEEL_FIXTURE_H

#include "tests/unit/timer_wheel_check.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

#define TIMERS 256u

struct fixture {
	struct timer_wheel wheel;
	struct timer_slot slots[TIMER_WHEEL_SLOTS_TOTAL];
	struct timer_entry timers[TIMERS];
};

/* Where the cursor is in its slots when a test begins. */
static const uint64_t starts[] = {
	0,
	1,
	GRAIN - 1,
	GRAIN,
	32 * GRAIN - 1,
	32 * GRAIN,
	63 * S + 12345,
	(UINT64_C(1) << 58) - 1,
	UINT64_C(0x0123456789abcdef),
	NEVER - 1,
	NEVER,
};

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	if (!f)
		return -1;
	timer_wheel_init(&f->wheel, f->slots, 0);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	free(*state);
	return 0;
}

static inline void restart(struct fixture *f, uint64_t now)
{
	memset(f->slots, 0, sizeof(f->slots));
	timer_wheel_init(&f->wheel, f->slots, now);
	for (unsigned i = 0; i < TIMERS; i++)
		timer_entry_init(&f->timers[i]);
}

static inline unsigned level_of(const struct timer_entry *entry)
{
	return (entry->slot - 1) / TIMER_WHEEL_SLOTS;
}

static inline void expect_none(struct fixture *f, uint64_t now)
{
	assert_null(expire_one(&f->wheel, now));
	assert_int_equal(f->wheel.cursor, grain_at(now));
	assert_true(now == NEVER || timer_wheel_next(&f->wheel) > now);
	check(&f->wheel);
}

static inline void expect_one(struct fixture *f, uint64_t now, unsigned i)
{
	assert_ptr_equal(expire_one(&f->wheel, now), &f->timers[i]);
	assert_false(timer_entry_queued(&f->timers[i]));
	check(&f->wheel);
}

static inline void add(struct fixture *f, unsigned i, uint64_t deadline)
{
	timer_wheel_add(&f->wheel, &f->timers[i], deadline);
	assert_true(timer_entry_queued(&f->timers[i]));
	check(&f->wheel);
}

#endif
