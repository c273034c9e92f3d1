/* SPDX-License-Identifier: MIT */
/**
 * timer_wheel.h - a worker's timers, by deadline
 *
 * A hierarchical wheel of intrusive timers: levels of 64 slots, each slot a
 * list. The caller provides the time and the locking. Time is counted in grains
 * of 256 ns. A deadline is rounded up to a grain and the current time down, so
 * that a timer is never early, and at most 256 ns late.
 *
 *	level  slot      window     n(g) = g >> (5 * level)
 *	0      256 ns    16.4 us    a timer lies in slot n(grain) % 64 of the
 *	1      8.2 us    524 us     lowest level whose window of 64 slots, from
 *	2      262 us    16.8 ms    n(cursor) on, holds its grain
 *	3      8.4 ms    537 ms
 *	4      268 ms    17 s
 *	...                         10: 9.1 years, 584 years: all of 56 bits
 *
 * The wheel has handled all timers before the grain *cursor*. When the cursor
 * comes near a slot of a higher level, the timers of the slot move down. 32
 * slots fill one slot of the level above, but a window has 64. So a slot can
 * move down, a few timers a call, while the cursor is still in the slot before
 * it. In the usual wheel, a window is just one slot of the level above. That
 * wheel has to move a whole slot at the moment when the slot begins: with a
 * million timers over 10 s, 27,000 at once.
 *
 * Each slot has a grain before which none of its timers is due. So a worker
 * that sleeps until then is woken once for a far timer, not once for each
 * level. A slot of level 0 has timers of one grain: all of them are due, or
 * none. So no call visits a timer and leaves it in place. A call does no more
 * than hand out the timers that were asked for and move TIMER_WHEEL_MOVES
 * others.
 *
 * Invariants (checked by tests/unit/timer_wheel_check.h):
 *   T1  cursor <= now; the two are equal after an expire that left nothing to
 *       do
 *   T2  for a timer of grain g in slot i of level l: cursor <= g,
 *       n(g) < n(cursor) + 64, and n(g) % 64 = i
 *   T3  for each timer of a slot, cursor <= earliest <= g; earliest = g for one
 *       of them, unless that one was cancelled or moved
 *   T4  bit i of occupied[l] is set if and only if slot i of level l has a
 *       timer
 *   T5  a timer is in the list of its slot, or its slot is 0 and it is in no
 *       list
 *
 * Costs: add and cancel touch the timer, its slot and at most two neighbours. A
 * timer due within 17 s moves at most four times.
 *
 * Rejected:
 *   - a heap: log n cache misses for each add and cancel, and most timers are
 *     cancelled;
 *   - a skip list: as many misses, and it allocates or makes the timer larger;
 *   - a wheel that turns tick by tick: it works even without timers, and cannot
 *     sleep longer than a tick;
 *   - a wheel that rounds deadlines and never moves timers down: late by 1/8 of
 *     the delay;
 *   - slots of level 0 of 8.2 us, whose timers come out exactly by deadline:
 *     the slot is searched for due timers, and these are sorted. With 500,000
 *     timers in a slot, one call took 0.3 s (now 50 us), and all of them 0.5 s
 *     (now 0.08 s).
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
/* The last grain, the end of time; no clock reaches it. */
#define TIMER_WHEEL_LAST (UINT64_MAX >> TIMER_WHEEL_GRAIN_BITS)

/*
 * How many timers one expire moves down: up to about 50 us of work, if none is
 * cached. Timers that must move now come first; the rest is for slots that
 * begin soon. A million timers over 10 s need 400 moves a millisecond. If
 * expire is called too rarely for that, and after a long sleep, the rest of a
 * slot moves when its first timer is due, in as many calls as that takes. A
 * guess; the benchmark `timers` retunes it.
 */
#define TIMER_WHEEL_MOVES 256u

/* A circular list; its head is a link as well. */
struct timer_link {
	struct timer_link *next;
	struct timer_link *prev;
};

/*
 * Embed it, zeroed or initialised by timer_entry_init(). The fields are private
 * to the wheel. It must stay in place while it is queued.
 */
struct timer_entry {
	struct timer_link link; /* first, as entry_of() casts it */
	uint64_t grain;         /* when the timer is due */
	uint32_t slot;          /* 0: not queued; else 1 + level * 64 + slot */
	uint32_t unused;
};

struct timer_slot {
	struct timer_link list;
	uint64_t earliest; /* see T3; undefined while the list is empty */
};

struct timer_wheel {
	uint64_t cursor;
	uint64_t now; /* the latest time from the caller */
	uint64_t occupied[TIMER_WHEEL_LEVELS];
	/* TIMER_WHEEL_SLOTS_TOTAL of them, 16.5 KiB. A slot that is not
	 * occupied is not read, and an add writes to no other. */
	struct timer_slot *slots;
};

/**
 * timer_wheel_init - make an empty wheel whose time is @now_ns
 * @slots: TIMER_WHEEL_SLOTS_TOTAL of them, borrowed, with any content. Lists
 *         point into them, so they must stay in place
 *
 * Touches no slot. So a wheel without timers takes no page of the slots'
 * memory, and timers of similar delays take few.
 */
void timer_wheel_init(struct timer_wheel *wheel, struct timer_slot *slots,
		      uint64_t now_ns);

/* timer_entry_init - make an entry that is not queued; zeroing it does the same */
static inline void timer_entry_init(struct timer_entry *entry)
{
	*entry = (struct timer_entry){ .slot = 0 };
}

/* timer_entry_queued - return true if the entry was added, and neither
 * cancelled nor handed out since */
static inline bool timer_entry_queued(const struct timer_entry *entry)
{
	return entry->slot != 0;
}

/**
 * timer_wheel_add - queue a timer
 * @entry: not queued
 * @deadline_ns: any time. A time that has passed counts as the time of the
 *               latest expire. UINT64_MAX, or a time within 512 ns of it, means
 *               never: no clock gets there
 *
 * O(1). The slot depends on the time of the latest expire. If that is long ago,
 * the timer moves more often than necessary.
 */
void timer_wheel_add(struct timer_wheel *wheel, struct timer_entry *entry,
		     uint64_t deadline_ns);

/**
 * timer_wheel_cancel - remove a timer
 * @entry: not queued, or queued in this wheel
 *
 * O(1). Return: true if it was queued; it is then not handed out.
 */
bool timer_wheel_cancel(struct timer_wheel *wheel, struct timer_entry *entry);

/**
 * timer_wheel_expire - remove and hand out timers whose deadline has come
 * @now_ns: not before that of an earlier call; read the clock under the
 *          caller's lock. UINT64_MAX is the end of time: all timers are due
 *          from then on
 * @due: receives the timers, which are no longer queued
 * @most: the most timers to hand out; not 0
 * @more: receives true if another call is needed for timers that are due by now
 *
 * O(@most + TIMER_WHEEL_MOVES), however many timers are queued or due. A call
 * may hand out none because so many have to move first. Call it also when
 * probably no timer is due: the call that leaves nothing to do moves some
 * timers down ahead of time. Between calls, any timer may be added or
 * cancelled.
 *
 * Order: by grain; timers of the same grain come in any order. If a timer is
 * added while @more is true, and its deadline has passed, it comes after the
 * timers that were due before. So no other timer waits for ever because this
 * one is added again and again.
 *
 * Return: the number of timers in @due.
 */
unsigned timer_wheel_expire(struct timer_wheel *wheel, uint64_t now_ns,
			    struct timer_entry **due, unsigned most,
			    bool *more);

/**
 * timer_wheel_take_all - move all timers to a list
 * @all: receives them, about in the order of their deadlines
 *
 * The time of the wheel stays as it is. A timer in the list still counts as queued: it may
 * be cancelled, until timer_wheel_hand_out() has handed it out.
 *
 * O(TIMER_WHEEL_SLOTS_TOTAL), however many timers there are.
 */
void timer_wheel_take_all(struct timer_wheel *wheel, struct timer_link *all);

/* timer_wheel_hand_out - remove up to @most timers from such a list. Return: how many */
unsigned timer_wheel_hand_out(struct timer_wheel *wheel, struct timer_link *all,
			      struct timer_entry **due, unsigned most);

/**
 * timer_wheel_next - return when to call timer_wheel_expire() again, in ns
 *
 * O(1). No timer is due before the returned time. It is when the earliest timer
 * is due, with two exceptions. If the earliest timer of a slot was cancelled,
 * it may be the time of that timer, until an expire at that time. If an expire
 * has left more to do, it may be any earlier time.
 *
 * Return: UINT64_MAX if there is no timer, or only timers that are never due; 0
 * at the end of time if there is a timer.
 */
uint64_t timer_wheel_next(const struct timer_wheel *wheel);

#endif
