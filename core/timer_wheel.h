/* SPDX-License-Identifier: MIT */
/**
 * timer_wheel.h - a worker's timers, by deadline (L1)
 *
 * A hierarchical wheel of intrusive timers: levels of 64 slots, each slot a
 * list. Time is what the caller says; the locking is the caller's too.
 *
 *	level  slot      window     n(t) = t >> (13 + 5 * level)
 *	0      8.2 us    524 us     a timer lies in slot n(deadline) % 64 of
 *	1      262 us    16.8 ms    the lowest level whose window of 64 slots,
 *	2      8.4 ms    537 ms     from n(cursor) on, holds its deadline
 *	3      268 ms    17 s
 *	...                         9: 9.1 years, 584 years: all of 64 bits
 *
 * The cursor is the time up to which the wheel is worked off. When it comes
 * near a slot of a higher level, the slot's timers move down. 32 slots fill
 * one slot of the level above, but a window has 64: so a slot can move down
 * when the cursor is still in the slot before it, a few timers a call. The
 * usual wheel, whose window is just one slot of the level above, has to move
 * a slot at the moment that it begins: with a million timers over 10 s, 27,000
 * at once, which takes about 5 ms under the lock.
 *
 * Deadlines stay exact: a slot knows a time before which none of its timers
 * is due, and hands out those that are. The width of a slot decides what
 * moves cost, not when a timer fires.
 *
 * Invariants (checked by tests/unit/timer_wheel_check.h):
 *   T1  cursor_ns <= now_ns; the two are equal after an expire that found
 *       nothing due
 *   T2  a timer in slot i of level l: n = n(max(deadline_ns, cursor_ns)),
 *       n(cursor_ns) <= n < n(cursor_ns) + 64, and n % 64 = i
 *   T3  in a slot, earliest_ns <= deadline_ns; equal for some timer of it,
 *       unless that one was cancelled or moved
 *   T4  bit i of occupied[l] is set if and only if slot i of level l has a
 *       timer; count = timers in slots + timers in due
 *   T5  due holds timers with deadline_ns <= now_ns in their order, which is
 *       by deadline, then by serial
 *   T6  a timer is in one list, or its slot is 0 and it is in none
 *
 * Costs: add and cancel touch the timer, its slot and at most two neighbours.
 * A timer due within 17 s moves three times, then waits in level 0, whose
 * slots are walked to find the ones due: more than once only by callers that
 * return within the 8.2 us of the slot, so that walks take no longer than
 * these 8.2 us and one walk more.
 *
 * Rejected: a heap (log n misses for each add and cancel; most timers are
 * cancelled), a skip list (the same, and allocates or bloats the timer), a
 * wheel that turns tick by tick (works without timers, and sleeps no longer
 * than a tick), one that never moves timers down but rounds their deadlines
 * (late by 1/8 of the delay), and slots of 1 ns (no walk, but twice the moves).
 *
 * Follows G. Varghese and A. Lauck, "Hashed and hierarchical timing wheels"
 * (SOSP 1987), scheme 7.
 */
#ifndef SKUA_CORE_TIMER_WHEEL_H
#define SKUA_CORE_TIMER_WHEEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TIMER_WHEEL_LEVELS      10u
#define TIMER_WHEEL_SLOTS       64u
#define TIMER_WHEEL_BASE_BITS   13u
#define TIMER_WHEEL_LEVEL_BITS  5u
#define TIMER_WHEEL_SLOTS_TOTAL (TIMER_WHEEL_LEVELS * TIMER_WHEEL_SLOTS)

/*
 * How many timers move down ahead of their slot in one expire: up to about
 * 50 us of work, if none is cached. A million timers over 10 s need 300 moves
 * a millisecond; with fewer calls than that takes, and after a long sleep,
 * the rest of a slot moves at once, when the first of it is due. A guess; the
 * benchmark `timers` retunes it.
 */
#define TIMER_WHEEL_AHEAD 256u

/* A circular list; its head is a link too. */
struct timer_link {
	struct timer_link *next;
	struct timer_link *prev;
};

/*
 * Embed it, all zero or initialised by timer_entry_init(). Read deadline_ns
 * freely; the rest is the wheel's. Stays in place while it is queued.
 */
struct timer_entry {
	struct timer_link link; /* first: a link is its entry */
	uint64_t deadline_ns;
	uint32_t serial; /* order of adding, modulo 2^32 */
	uint32_t slot;   /* 0: not queued; 1 + level * 64 + slot; or due */
};

struct timer_slot {
	struct timer_link list;
	uint64_t earliest_ns; /* T3; meaningless while the list is empty */
};

/* Points to itself: stays in place. About 15 KiB. */
struct timer_wheel {
	uint64_t cursor_ns;
	uint64_t now_ns; /* the latest time that the caller gave */
	uint64_t count;
	uint32_t serial; /* of the next add */
	uint64_t occupied[TIMER_WHEEL_LEVELS];
	struct timer_link due;
	struct timer_slot slots[TIMER_WHEEL_SLOTS_TOTAL];
};

/* timer_wheel_init - make an empty wheel whose time is @now_ns */
void timer_wheel_init(struct timer_wheel *wheel, uint64_t now_ns);

/* timer_entry_init - make an entry that is not queued; zeroing does as well */
static inline void timer_entry_init(struct timer_entry *entry)
{
	*entry = (struct timer_entry){ .slot = 0 };
}

/* timer_entry_queued - added, and neither cancelled nor handed out since? */
static inline bool timer_entry_queued(const struct timer_entry *entry)
{
	return entry->slot != 0;
}

/**
 * timer_wheel_add - queue a timer
 * @entry: not queued
 * @deadline_ns: any time. One that has passed: due at the next expire.
 *               UINT64_MAX: never, for a clock that does not get there
 *
 * O(1). Places by the time of the latest expire; when that is long ago, the
 * timer moves more often than it would have to.
 */
void timer_wheel_add(struct timer_wheel *wheel, struct timer_entry *entry,
		     uint64_t deadline_ns);

/**
 * timer_wheel_cancel - take a timer out
 * @entry: not queued, or queued in this very wheel
 *
 * O(1). Return: whether it was queued; if so, it is not handed out.
 */
bool timer_wheel_cancel(struct timer_wheel *wheel, struct timer_entry *entry);

/**
 * timer_wheel_expire - take out the earliest timer whose deadline has come
 * @now_ns: not before that of an earlier call; read the clock under the lock
 *
 * Call until it returns NULL, also when nothing is likely to be due: the
 * call that finds nothing due moves some timers down ahead of their time.
 * Between calls, any timer may be added or cancelled.
 *
 * Order: by deadline, and in order of adding for the same deadline (if fewer
 * than 2^31 adds lie between). A timer that is added with a deadline already
 * passed, between calls that hand out, comes behind up to one level-0 slot's
 * worth of due timers that are later than it.
 *
 * Return: the timer, no longer queued, its deadline_ns <= @now_ns; or NULL.
 */
struct timer_entry *timer_wheel_expire(struct timer_wheel *wheel,
				       uint64_t now_ns);

/**
 * timer_wheel_next - when to expire again
 *
 * O(1). Return: a time before which no timer is due. It is the earliest
 * deadline, but for a timer that was cancelled as the earliest of its slot:
 * then it may be that timer's deadline, until an expire at that time.
 * UINT64_MAX if there is none.
 */
uint64_t timer_wheel_next(const struct timer_wheel *wheel);

#endif
