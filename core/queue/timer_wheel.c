/* SPDX-License-Identifier: MIT */
/* timer_wheel.c - see timer_wheel.h for the structure and its invariants */
#include "core/queue/timer_wheel.h"
#include "core/base/hot.h"

#include <assert.h>

#define SLOT_MASK (TIMER_WHEEL_SLOTS - 1)
#define SLOT_BITS 6u

static_assert(TIMER_WHEEL_SLOTS == 1u << SLOT_BITS,
	      "a level's slots have one bit each in a word");
static_assert(TIMER_WHEEL_LEVEL_BITS == SLOT_BITS - 1,
	      "a window is twice as wide as a slot of the level above");
static_assert(TIMER_WHEEL_GRAIN_BITS +
			      (TIMER_WHEEL_LEVELS - 1) *
				      TIMER_WHEEL_LEVEL_BITS +
			      SLOT_BITS ==
		      64,
	      "the highest level's window holds any deadline");
static_assert(sizeof(struct timer_entry) == 32 &&
		      offsetof(struct timer_entry, link) == 0,
	      "half of what a timer of the public interface may take");

static inline void list_init(struct timer_link *list)
{
	list->next = list;
	list->prev = list;
}

static inline bool list_empty(const struct timer_link *list)
{
	return list->next == list;
}

static inline void list_append(struct timer_link *list, struct timer_link *link)
{
	link->next = list;
	link->prev = list->prev;
	list->prev->next = link;
	list->prev = link;
}

static inline void list_remove(struct timer_link *link)
{
	link->prev->next = link->next;
	link->next->prev = link->prev;
}

static inline struct timer_entry *entry_of(struct timer_link *link)
{
	return (struct timer_entry *)link;
}

/* Return the first grain that begins at @deadline_ns or later, at most
 * TIMER_WHEEL_LAST. */
static inline uint64_t grain_of_deadline(uint64_t deadline_ns)
{
	uint64_t grain = deadline_ns >> TIMER_WHEEL_GRAIN_BITS;

	if (grain << TIMER_WHEEL_GRAIN_BITS != deadline_ns &&
	    grain < TIMER_WHEEL_LAST)
		grain++;
	return grain;
}

/* Return the grain that contains @now_ns. TIMER_WHEEL_LAST contains only
 * UINT64_MAX. */
static inline uint64_t grain_of_now(uint64_t now_ns)
{
	uint64_t grain = now_ns >> TIMER_WHEEL_GRAIN_BITS;

	if (grain == TIMER_WHEEL_LAST && now_ns != UINT64_MAX)
		grain--;
	return grain;
}

/* n(g) of timer_wheel.h: the number of slots of @level from time 0 to @grain. */
static inline uint64_t slot_number(uint64_t grain, unsigned level)
{
	return grain >> level * TIMER_WHEEL_LEVEL_BITS;
}

/* Return the lowest level whose window contains @grain; @grain >= cursor. */
static unsigned level_for(const struct timer_wheel *wheel, uint64_t grain)
{
	uint64_t cursor = wheel->cursor;
	uint64_t ahead = grain - cursor;
	unsigned bits, level;

	if (ahead < TIMER_WHEEL_SLOTS)
		return 0;
	/* First the lowest level in which @ahead, rounded down, is below 64
	 * slots. */
	bits = 64 - (unsigned)__builtin_clzll(ahead);
	level = (bits - SLOT_BITS + TIMER_WHEEL_LEVEL_BITS - 1) /
		TIMER_WHEEL_LEVEL_BITS;
	/* Rounding may have lost one slot, if the cursor is late in its own
	 * slot. Then the next level is right. */
	if (slot_number(grain, level) - slot_number(cursor, level) >=
	    TIMER_WHEEL_SLOTS)
		level++;
	return level;
}

/* Put @entry into the slot of its grain (T2). */
static HOT void place(struct timer_wheel *wheel, struct timer_entry *entry)
{
	uint64_t grain = entry->grain;
	unsigned level = level_for(wheel, grain);
	unsigned index = (unsigned)(slot_number(grain, level) & SLOT_MASK);
	unsigned at = level * TIMER_WHEEL_SLOTS + index;
	struct timer_slot *slot = &wheel->slots[at];
	uint64_t bit = UINT64_C(1) << index;

	if (!(wheel->occupied[level] & bit)) {
		wheel->occupied[level] |= bit;
		list_init(&slot->list);
		slot->earliest = grain;
	} else if (grain < slot->earliest) {
		slot->earliest = grain;
	}
	list_append(&slot->list, &entry->link);
	entry->slot = at + 1;
}

/* Mark a slot as empty (T4). */
static inline void vacate(struct timer_wheel *wheel, unsigned at)
{
	wheel->occupied[at / TIMER_WHEEL_SLOTS] &=
		~(UINT64_C(1) << (at & SLOT_MASK));
}

/* Return the occupied slots of @level in order of time; bit 0 is the cursor's
 * slot. */
static inline uint64_t occupied_ahead(const struct timer_wheel *wheel,
				      unsigned level)
{
	uint64_t word = wheel->occupied[level];
	unsigned turn =
		(unsigned)(slot_number(wheel->cursor, level) & SLOT_MASK);

	return word >> turn | word << ((TIMER_WHEEL_SLOTS - turn) & SLOT_MASK);
}

/* Return the slot of @level that is @ahead slots after the cursor's. */
static inline unsigned slot_ahead(const struct timer_wheel *wheel,
				  unsigned level, unsigned ahead)
{
	uint64_t number = slot_number(wheel->cursor, level) + ahead;

	return level * TIMER_WHEEL_SLOTS + (unsigned)(number & SLOT_MASK);
}

/* Return the slot that is due first; NULL: there is none. In a level the first
 * occupied slot is due first. Slots of several levels may be due at the same
 * time; then return that of the lowest level. */
static const struct timer_slot *first_slot(const struct timer_wheel *wheel)
{
	const struct timer_slot *first = NULL;

	for (unsigned level = 0; level < TIMER_WHEEL_LEVELS; level++) {
		uint64_t ahead = occupied_ahead(wheel, level);
		const struct timer_slot *slot;

		if (ahead == 0)
			continue;
		slot = &wheel->slots[slot_ahead(
			wheel, level, (unsigned)__builtin_ctzll(ahead))];
		if (!first || slot->earliest < first->earliest)
			first = slot;
	}
	return first;
}

/*
 * Move up to @most timers of a slot to lower levels. The slot is the cursor's
 * slot of its level, or the next one. Return: how many were moved.
 */
static HOT unsigned move_down(struct timer_wheel *wheel, unsigned at,
			      unsigned most)
{
	struct timer_link *list = &wheel->slots[at].list;
	unsigned moved = 0;

	while (moved < most && !list_empty(list)) {
		struct timer_link *link = list->next;

		list_remove(link);
		place(wheel, entry_of(link));
		assert(entry_of(link)->slot <=
		       at / TIMER_WHEEL_SLOTS * TIMER_WHEEL_SLOTS);
		moved++;
	}
	if (list_empty(list))
		vacate(wheel, at);
	return moved;
}

/* Move up to @left timers down before their slots begin. The lowest levels come
 * first, because their slots begin soonest. */
static void move_ahead(struct timer_wheel *wheel, unsigned left)
{
	for (unsigned level = 1; level < TIMER_WHEEL_LEVELS; level++) {
		uint64_t near = occupied_ahead(wheel, level) & 3;

		for (; near != 0 && left > 0; near &= near - 1) {
			unsigned ahead = (unsigned)__builtin_ctzll(near);

			left -= move_down(
				wheel, slot_ahead(wheel, level, ahead), left);
		}
	}
}

unsigned timer_wheel_hand_out(struct timer_wheel *wheel,
			      struct timer_link *list, struct timer_entry **due,
			      unsigned most)
{
	unsigned count = 0;

	while (count < most && !list_empty(list)) {
		due[count] = entry_of(list->next);
		timer_wheel_cancel(wheel, due[count]);
		count++;
	}
	return count;
}

void timer_wheel_init(struct timer_wheel *wheel, struct timer_slot *slots,
		      uint64_t now_ns)
{
	wheel->slots = slots;
	wheel->now = grain_of_now(now_ns);
	wheel->cursor = wheel->now;
	for (unsigned level = 0; level < TIMER_WHEEL_LEVELS; level++)
		wheel->occupied[level] = 0;
}

HOT void timer_wheel_add(struct timer_wheel *wheel, struct timer_entry *entry,
			 uint64_t deadline_ns)
{
	uint64_t grain = grain_of_deadline(deadline_ns);

	assert(!timer_entry_queued(entry));
	entry->grain = grain > wheel->now ? grain : wheel->now;
	place(wheel, entry);
}

HOT bool timer_wheel_cancel(struct timer_wheel *wheel,
			    struct timer_entry *entry)
{
	unsigned slot = entry->slot;

	if (slot == 0)
		return false;
	list_remove(&entry->link);
	if (list_empty(&wheel->slots[slot - 1].list))
		vacate(wheel, slot - 1);
	entry->slot = 0;
	return true;
}

unsigned timer_wheel_expire(struct timer_wheel *wheel, uint64_t now_ns,
			    struct timer_entry **due, unsigned most, bool *more)
{
	uint64_t now = grain_of_now(now_ns);
	unsigned moves = TIMER_WHEEL_MOVES;
	unsigned count = 0;
	const struct timer_slot *slot;

	assert(now >= wheel->now);
	if (now > wheel->now)
		wheel->now = now;
	*more = true;
	while ((slot = first_slot(wheel)) && slot->earliest <= wheel->now) {
		unsigned at = (unsigned)(slot - wheel->slots);
		bool lowest = at < TIMER_WHEEL_SLOTS;

		if (lowest ? count == most : moves == 0)
			return count;
		wheel->cursor = slot->earliest;
		if (lowest)
			count += timer_wheel_hand_out(
				wheel, &wheel->slots[at].list, due + count,
				most - count);
		else
			moves -= move_down(wheel, at, moves);
	}
	wheel->cursor = wheel->now;
	move_ahead(wheel, moves);
	*more = false;
	return count;
}

/* Move all timers of a list, which is not empty, to the end of another one. */
static void list_append_all(struct timer_link *list, struct timer_link *from)
{
	from->next->prev = list->prev;
	list->prev->next = from->next;
	from->prev->next = list;
	list->prev = from->prev;
	list_init(from);
}

void timer_wheel_take_all(struct timer_wheel *wheel, struct timer_link *all)
{
	const struct timer_slot *slot;

	list_init(all);
	while ((slot = first_slot(wheel)) != NULL) {
		unsigned at = (unsigned)(slot - wheel->slots);

		/* A timer that is cancelled in @all finds its slot empty, or
		 * with other timers (timer_wheel_cancel()). */
		list_append_all(all, &wheel->slots[at].list);
		vacate(wheel, at);
	}
}

uint64_t timer_wheel_next(const struct timer_wheel *wheel)
{
	const struct timer_slot *first = first_slot(wheel);

	if (!first)
		return UINT64_MAX;
	if (wheel->now == TIMER_WHEEL_LAST)
		return 0;
	return first->earliest == TIMER_WHEEL_LAST
		       ? UINT64_MAX
		       : first->earliest << TIMER_WHEEL_GRAIN_BITS;
}
