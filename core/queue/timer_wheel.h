/* SPDX-License-Identifier: MIT */
/**
 * timer_wheel.h - a worker's timers, by deadline
 *
 * A hierarchical wheel of intrusive timers: levels of 64 slots, each slot a
 * list. Time is what the caller says; the locking is the caller's too. It is
 * counted in grains of 256 ns: a deadline is rounded up to one, the time down,
 * so that a timer is never early, and at most 256 ns late.
 *
 *	level  slot      window     n(g) = g >> (5 * level)
 *	0      256 ns    16.4 us    a timer lies in slot n(grain) % 64 of the
 *	1      8.2 us    524 us     lowest level whose window of 64 slots, from
 *	2      262 us    16.8 ms    n(cursor) on, holds its grain
 *	3      8.4 ms    537 ms
 *	4      268 ms    17 s
 *	...                         10: 9.1 years, 584 years: all of 56 bits
 *
 * The cursor is the grain up to which the wheel is worked off. When it comes
 * near a slot of a higher level, the slot's timers move down. 32 slots fill
 * one slot of the level above, but a window has 64: so a slot can move down
 * when the cursor is still in the slot before it, a few timers a call. The
 * usual wheel, whose window is just one slot of the level above, has to move
 * a slot at the moment that it begins: with a million timers over 10 s, 27,000
 * at once.
 *
 * A slot knows a grain before which none of its timers is due, so that a worker that
 * sleeps until then is woken once for a far timer, not once a level. A slot of level 0
 * has timers of one grain: all of them are due, or none. So no call looks at timers to
 * leave them where they are, and none does more than hand out as many as are asked for
 * and move TIMER_WHEEL_MOVES.
 *
 * Invariants (checked by tests/unit/timer_wheel_check.h):
 *   T1  cursor <= now; the two are equal after an expire that left nothing to
 *       do
 *   T2  a timer of grain g in slot i of level l: cursor <= g,
 *       n(g) < n(cursor) + 64, and n(g) % 64 = i
 *   T3  in a slot, cursor <= earliest <= g; earliest = g for some timer of it,
 *       unless that one was cancelled or moved
 *   T4  bit i of occupied[l] is set if and only if slot i of level l has a
 *       timer
 *   T5  a timer is in the list of its slot, or its slot is 0 and it is in none
 *
 * Costs: add and cancel touch the timer, its slot and at most two neighbours.
 * A timer due within 17 s moves four times at most.
 *
 * Rejected: a heap (log n misses for each add and cancel; most timers are
 * cancelled), a skip list (the same, and allocates or bloats the timer), a
 * wheel that turns tick by tick (works without timers, and sleeps no longer
 * than a tick), one that never moves timers down but rounds their deadlines
 * (late by 1/8 of the delay), and slots of level 0 of 8.2 us, whose timers
 * come out exactly by deadline (the slot is walked for those that are due, and
 * they are sorted: with 500,000 timers in it 0.3 s in one call, where it is
 * 50 us now, and 0.5 s for all of them, where it is 0.08 s).
 *
 * Follows G. Varghese and A. Lauck, "Hashed and hierarchical timing wheels"
 * (SOSP 1987), scheme 7.
 */
#ifndef SKUA_CORE_QUEUE_TIMER_WHEEL_H
#define SKUA_CORE_QUEUE_TIMER_WHEEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TIMER_WHEEL_GRAIN_BITS  8u
#define TIMER_WHEEL_LEVELS      11u
#define TIMER_WHEEL_SLOTS       64u
#define TIMER_WHEEL_LEVEL_BITS  5u
#define TIMER_WHEEL_SLOTS_TOTAL (TIMER_WHEEL_LEVELS * TIMER_WHEEL_SLOTS)
/* The end of time, which no clock gets to. */
#define TIMER_WHEEL_LAST (UINT64_MAX >> TIMER_WHEEL_GRAIN_BITS)

/*
 * How many timers move down in one expire: up to about 50 us of work, if none
 * is cached. Those that are due to move come first; what is left is for slots
 * whose time comes soon. A million timers over 10 s need 400 moves a
 * millisecond. With fewer calls than that takes, and after a long sleep, the
 * rest of a slot moves when the first of it is due, in as many calls as that
 * takes. A guess; the benchmark `timers` retunes it.
 */
#define TIMER_WHEEL_MOVES 256u

/* A circular list; its head is a link too. */
struct timer_link {
	struct timer_link *next;
	struct timer_link *prev;
};

/*
 * Embed it, all zero or initialised by timer_entry_init(). The fields are the
 * wheel's. Stays in place while it is queued.
 */
struct timer_entry {
	struct timer_link link; /* first: a link is its entry */
	uint64_t grain;         /* when it is due */
	uint32_t slot;          /* 0: not queued; 1 + level * 64 + slot */
	uint32_t unused;
};

struct timer_slot {
	struct timer_link list;
	uint64_t earliest; /* T3; meaningless while the list is empty */
};

/* Points to itself: stays in place. About 17 KiB. */
struct timer_wheel {
	uint64_t cursor;
	uint64_t now; /* the latest time that the caller gave */
	uint64_t occupied[TIMER_WHEEL_LEVELS];
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
 * @deadline_ns: any time. One that has passed counts as the time of the latest
 *               expire. UINT64_MAX, or within 512 ns of it: never, for a clock
 *               that does not get there
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
 * timer_wheel_expire - take out timers whose deadline has come
 * @now_ns: not before that of an earlier call; read the clock under the lock.
 *          UINT64_MAX: the end of time, at which all are due, for ever
 * @due: they are put there, no longer queued
 * @most: how many at most; not 0
 * @more: whether another call is needed for what is due by now
 *
 * O(@most + TIMER_WHEEL_MOVES), however many are queued or due: it may hand
 * out none because there are so many to move first. Call it also when nothing
 * is likely to be due: the call that leaves nothing to do moves some timers
 * down ahead of their time. Between calls, any timer may be added or cancelled.
 *
 * Order: by grain; any order among timers of the same grain. One that is added
 * while there is more to do comes behind those that were due before, if its
 * deadline has passed: so no other waits for ever because it is added again.
 *
 * Return: how many.
 */
unsigned timer_wheel_expire(struct timer_wheel *wheel, uint64_t now_ns,
			    struct timer_entry **due, unsigned most,
			    bool *more);

/**
 * timer_wheel_next - when to expire again
 *
 * O(1). Return: a time before which no timer is due. It is when the earliest
 * is due, unless one was cancelled that was the earliest of its slot: then it
 * may be that one's time, until an expire at that time; or unless an expire has
 * left more to do: then it may be any time before. UINT64_MAX if there is none,
 * or none but never; 0 at the end of time if there is one.
 */
uint64_t timer_wheel_next(const struct timer_wheel *wheel);

#endif
