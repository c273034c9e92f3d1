/* SPDX-License-Identifier: MIT */
/* timer_wheel.c - see timer_wheel.h for the structure and its invariants */
#include "core/timer_wheel.h"

#include <assert.h>

#define SLOT_MASK (TIMER_WHEEL_SLOTS - 1)
#define SLOT_BITS 6u
/* The entry's slot number of the list of due ones. */
#define SLOT_DUE (TIMER_WHEEL_SLOTS_TOTAL + 1)
/* Runs of up to 2^32 entries can be sorted. */
#define SORT_RUNS 32u

static_assert(TIMER_WHEEL_SLOTS == 1u << SLOT_BITS,
	      "a level's slots have one bit each in a word");
static_assert(TIMER_WHEEL_LEVEL_BITS == SLOT_BITS - 1,
	      "a window is twice as wide as a slot of the level above");
static_assert(TIMER_WHEEL_BASE_BITS +
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

/* n(t) of timer_wheel.h: slots of @level from time 0 to @t_ns. */
static inline uint64_t slot_number(uint64_t t_ns, unsigned level)
{
	return t_ns >> (TIMER_WHEEL_BASE_BITS + level * TIMER_WHEEL_LEVEL_BITS);
}

/* The lowest level that has @t_ns >= cursor in its window. */
static unsigned level_for(const struct timer_wheel *wheel, uint64_t t_ns)
{
	uint64_t cursor = wheel->cursor_ns;
	uint64_t ahead = slot_number(t_ns, 0) - slot_number(cursor, 0);
	unsigned bits, level;

	if (ahead < TIMER_WHEEL_SLOTS)
		return 0;
	/* The lowest that has room for as many slots, rounded down ... */
	bits = 64 - (unsigned)__builtin_clzll(ahead);
	level = (bits - SLOT_BITS + TIMER_WHEEL_LEVEL_BITS - 1) /
		TIMER_WHEEL_LEVEL_BITS;
	/* ... unless the cursor is so far in its slot that it is one more. */
	if (slot_number(t_ns, level) - slot_number(cursor, level) >=
	    TIMER_WHEEL_SLOTS)
		level++;
	return level;
}

/* Put @entry where its deadline belongs (T2). */
static void place(struct timer_wheel *wheel, struct timer_entry *entry)
{
	uint64_t deadline = entry->deadline_ns;
	uint64_t t = deadline > wheel->cursor_ns ? deadline : wheel->cursor_ns;
	unsigned level = level_for(wheel, t);
	unsigned index = (unsigned)(slot_number(t, level) & SLOT_MASK);
	unsigned at = level * TIMER_WHEEL_SLOTS + index;
	struct timer_slot *slot = &wheel->slots[at];

	if (list_empty(&slot->list)) {
		wheel->occupied[level] |= UINT64_C(1) << index;
		slot->earliest_ns = deadline;
	} else if (deadline < slot->earliest_ns) {
		slot->earliest_ns = deadline;
	}
	list_append(&slot->list, &entry->link);
	entry->slot = at + 1;
}

/* The slot was emptied (T4). */
static inline void vacate(struct timer_wheel *wheel, unsigned at)
{
	wheel->occupied[at / TIMER_WHEEL_SLOTS] &=
		~(UINT64_C(1) << (at & SLOT_MASK));
}

/* Which slots of @level are occupied; bit 0 is the one of the cursor. */
static inline uint64_t occupied_ahead(const struct timer_wheel *wheel,
				      unsigned level)
{
	uint64_t word = wheel->occupied[level];
	unsigned turn =
		(unsigned)(slot_number(wheel->cursor_ns, level) & SLOT_MASK);

	return word >> turn | word << ((TIMER_WHEEL_SLOTS - turn) & SLOT_MASK);
}

/* The slot of @level that is @ahead slots ahead of the cursor's. */
static inline unsigned slot_ahead(const struct timer_wheel *wheel,
				  unsigned level, unsigned ahead)
{
	uint64_t number = slot_number(wheel->cursor_ns, level) + ahead;

	return level * TIMER_WHEEL_SLOTS + (unsigned)(number & SLOT_MASK);
}

/* The first occupied slot of @level; NULL if there is none. */
static const struct timer_slot *first_of_level(const struct timer_wheel *wheel,
					       unsigned level)
{
	uint64_t ahead = occupied_ahead(wheel, level);

	if (ahead == 0)
		return NULL;
	return &wheel->slots[slot_ahead(wheel, level,
					(unsigned)__builtin_ctzll(ahead))];
}

/*
 * The slot above level 0 that is due first; NULL if there is none. A level's
 * first slot is its earliest, but slots of several levels overlap.
 */
static const struct timer_slot *first_above(const struct timer_wheel *wheel)
{
	const struct timer_slot *first = NULL;

	for (unsigned level = 1; level < TIMER_WHEEL_LEVELS; level++) {
		const struct timer_slot *slot = first_of_level(wheel, level);

		if (slot && (!first || slot->earliest_ns < first->earliest_ns))
			first = slot;
	}
	return first;
}

/* Nothing is due before @t_ns but what is in due (T2). */
static inline void advance(struct timer_wheel *wheel, uint64_t t_ns)
{
	if (t_ns > wheel->cursor_ns)
		wheel->cursor_ns = t_ns;
}

/*
 * Move up to @most timers out of a slot that is the cursor's or the next one
 * of its level: they belong into a lower one. Returns how many were moved.
 */
static unsigned move_down(struct timer_wheel *wheel, unsigned at, unsigned most)
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

/* Begin early with what has to be in a lower level when its slot begins. The
 * lowest levels first: their slots begin soonest. */
static void move_ahead(struct timer_wheel *wheel)
{
	unsigned left = TIMER_WHEEL_AHEAD;

	for (unsigned level = 1; level < TIMER_WHEEL_LEVELS; level++) {
		uint64_t near = occupied_ahead(wheel, level) & 3;

		for (; near != 0 && left > 0; near &= near - 1) {
			unsigned ahead = (unsigned)__builtin_ctzll(near);

			left -= move_down(
				wheel, slot_ahead(wheel, level, ahead), left);
		}
	}
}

/* Does @a come out before @b? Serials are compared modulo 2^32. */
static inline bool before(const struct timer_entry *a,
			  const struct timer_entry *b)
{
	if (a->deadline_ns != b->deadline_ns)
		return a->deadline_ns < b->deadline_ns;
	return a->serial - b->serial > UINT32_MAX / 2;
}

/* Merge two ordered chains, linked by next and ended by NULL. */
static struct timer_link *merge(struct timer_link *a, struct timer_link *b)
{
	struct timer_link *first = NULL;
	struct timer_link **end = &first;

	while (a && b) {
		struct timer_link **from =
			before(entry_of(b), entry_of(a)) ? &b : &a;

		*end = *from;
		end = &(*end)->next;
		*from = *end;
	}
	*end = a ? a : b;
	return first;
}

/* Order a list by merging runs of equal length: runs[i] has 2^i, or none. */
static void sort(struct timer_link *list)
{
	struct timer_link *runs[SORT_RUNS] = { NULL };
	struct timer_link *chain = NULL;
	struct timer_link *link = list->next;

	while (link != list) {
		struct timer_link *next = link->next;
		unsigned i = 0;

		link->next = NULL;
		for (; i < SORT_RUNS - 1 && runs[i]; i++) {
			link = merge(runs[i], link);
			runs[i] = NULL;
		}
		runs[i] = merge(runs[i], link);
		link = next;
	}
	for (unsigned i = 0; i < SORT_RUNS; i++)
		chain = merge(runs[i], chain);

	list_init(list);
	while (chain) {
		struct timer_link *next = chain->next;

		list_append(list, chain);
		chain = next;
	}
}

/* Make a level-0 slot's timers up to @limit_ns the due ones, in order (T5);
 * there were none. What stays tells the slot's earliest anew (T3). */
static void collect(struct timer_wheel *wheel, unsigned at, uint64_t limit_ns)
{
	struct timer_slot *slot = &wheel->slots[at];
	const struct timer_entry *last = NULL;
	uint64_t earliest = UINT64_MAX;
	bool ordered = true;
	struct timer_link *next;

	for (struct timer_link *link = slot->list.next; link != &slot->list;
	     link = next) {
		struct timer_entry *entry = entry_of(link);

		next = link->next;
		if (entry->deadline_ns > limit_ns) {
			if (entry->deadline_ns < earliest)
				earliest = entry->deadline_ns;
			continue;
		}
		list_remove(link);
		list_append(&wheel->due, link);
		entry->slot = SLOT_DUE;
		if (last && before(entry, last))
			ordered = false;
		last = entry;
	}
	slot->earliest_ns = earliest;
	if (list_empty(&slot->list))
		vacate(wheel, at);
	if (!ordered)
		sort(&wheel->due);
}

/*
 * Work off the slot that is due first: move it down, or collect what is due
 * in it, though nothing later than what slots above may hold. False: nothing
 * is due by now.
 */
static bool turn(struct timer_wheel *wheel)
{
	const struct timer_slot *above = first_above(wheel);
	const struct timer_slot *slot = first_of_level(wheel, 0);
	uint64_t limit = wheel->now_ns;

	if (above && above->earliest_ns <= limit) {
		if (!slot || above->earliest_ns <= slot->earliest_ns) {
			advance(wheel, above->earliest_ns);
			move_down(wheel, (unsigned)(above - wheel->slots),
				  UINT32_MAX);
			return true;
		}
		limit = above->earliest_ns - 1;
	}
	if (!slot || slot->earliest_ns > limit)
		return false;
	advance(wheel, slot->earliest_ns);
	collect(wheel, (unsigned)(slot - wheel->slots), limit);
	return true;
}

void timer_wheel_init(struct timer_wheel *wheel, uint64_t now_ns)
{
	wheel->cursor_ns = now_ns;
	wheel->now_ns = now_ns;
	wheel->count = 0;
	wheel->serial = 0;
	for (unsigned level = 0; level < TIMER_WHEEL_LEVELS; level++)
		wheel->occupied[level] = 0;
	list_init(&wheel->due);
	for (unsigned at = 0; at < TIMER_WHEEL_SLOTS_TOTAL; at++) {
		list_init(&wheel->slots[at].list);
		wheel->slots[at].earliest_ns = 0;
	}
}

void timer_wheel_add(struct timer_wheel *wheel, struct timer_entry *entry,
		     uint64_t deadline_ns)
{
	assert(!timer_entry_queued(entry));
	entry->deadline_ns = deadline_ns;
	entry->serial = wheel->serial++;
	place(wheel, entry);
	wheel->count++;
}

bool timer_wheel_cancel(struct timer_wheel *wheel, struct timer_entry *entry)
{
	unsigned slot = entry->slot;

	if (slot == 0)
		return false;
	list_remove(&entry->link);
	if (slot != SLOT_DUE && list_empty(&wheel->slots[slot - 1].list))
		vacate(wheel, slot - 1);
	entry->slot = 0;
	wheel->count--;
	return true;
}

struct timer_entry *timer_wheel_expire(struct timer_wheel *wheel,
				       uint64_t now_ns)
{
	struct timer_entry *entry;

	assert(now_ns >= wheel->now_ns);
	if (now_ns > wheel->now_ns)
		wheel->now_ns = now_ns;
	while (list_empty(&wheel->due)) {
		if (turn(wheel))
			continue;
		advance(wheel, wheel->now_ns);
		move_ahead(wheel);
		return NULL;
	}
	entry = entry_of(wheel->due.next);
	timer_wheel_cancel(wheel, entry);
	return entry;
}

uint64_t timer_wheel_next(const struct timer_wheel *wheel)
{
	const struct timer_slot *above = first_above(wheel);
	const struct timer_slot *slot = first_of_level(wheel, 0);
	uint64_t next = UINT64_MAX;

	if (!list_empty(&wheel->due))
		next = entry_of(wheel->due.next)->deadline_ns;
	if (above && above->earliest_ns < next)
		next = above->earliest_ns;
	if (slot && slot->earliest_ns < next)
		next = slot->earliest_ns;
	return next;
}
