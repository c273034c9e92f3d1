/* SPDX-License-Identifier: MIT */
/**
 * deques.h - a deque for model tests, its owner and two thieves
 *
 * An item carries a plain payload, written by its owner and read by the thread that
 * takes it, so that each take also proves that the push happened before it. Checked in
 * each case:
 *
 *   W1  every item is taken, at the latest when all threads are done
 *   W2  no item is taken twice
 *   W3  a thief takes items in the order of pushing
 *   W4  a deque of one thread could have done the same; see history.h. So the
 *       owner's pops take the newest item, or those of the oldest the oldest
 *   D3  a slot was read by its thief when it is written again
 *
 * The core file is included, not linked: variants reach its inner parts.
 */
#ifndef SKUA_TESTS_MODEL_DEQUES_H
#define SKUA_TESTS_MODEL_DEQUES_H

#include "tests/model/slots.h"

#include "core/queue/deque.c"

#include "tests/model/history.h"

#define ITEMS 10
#define SMALL 2 /* slots, that become more */
#define LARGE 4
#define WRAP  (UINT64_MAX - 1) /* where positions start, if nothing is said */

struct item {
	unsigned number; /* in the order of pushing, from 1 */
	unsigned payload;
	unsigned takes;
};

struct thread {
	unsigned newest; /* item that it has stolen */
	/* Its steal under way: */
	const volatile void *looked; /* at this slot, before its claim */
	uint16_t mark;               /* when */
};

static struct deque deque;
static struct item items[ITEMS];
static struct thread threads[4]; /* the first is setup and check */
static struct thread *self;      /* one for each thread */
static unsigned pushed;
static bool no_memory; /* to grow with */

/* ---- slots --------------------------------------------------------------- */

/*
 * The explorer's loads never return a store that is executed later, as
 * processors' may; so a slot's accesses are checked for races, as if they were
 * plain: a thief's look before its claim is a read if the claim succeeds, and
 * has to happen before the slot is written again.
 */
static void slot_loaded(const volatile void *slot, const char *function)
{
	if (!self || strcmp(function, "slot_load") != 0)
		return;
	self->looked = slot;
	self->mark = explore_race_mark();
}

static void slot_stored(const volatile void *slot, const char *function)
{
	if (strcmp(function, "slot_store") == 0)
		explore_race_write(slot, EXPLORE_SITE("slot"));
}

static bool slot_claimed(bool success)
{
	if (success && self && self->looked)
		explore_race_read_at(self->looked, self->mark,
				     EXPLORE_SITE("slot"));
	return success;
}

/* ---- memory -------------------------------------------------------------- */

static alignas(CACHE_PAIR) unsigned char memory[2048];
static size_t used;
static size_t given_back;

static void *memory_take(void *ctx, size_t align, size_t bytes)
{
	void *taken = memory + used;

	(void)ctx;
	if (no_memory)
		return NULL;
	explore_assert(align == CACHE_PAIR && bytes % CACHE_PAIR == 0);
	used += bytes;
	explore_assert(used <= sizeof(memory));
	return taken;
}

/* A write to what is given back: a thief that still reads there races with it. */
static inline void memory_give(void *ctx, void *taken, size_t bytes)
{
	struct deque_buffer *buffer = taken;

	(void)ctx;
	explore_write(buffer->capacity, UINT64_MAX);
	given_back += bytes;
}

static const struct skua_allocator allocator = { .alloc = memory_take,
						 .free = memory_give };

/* ---- steps --------------------------------------------------------------- */

static inline struct history_op *call(void)
{
	self->looked = NULL;
	return history_call();
}

/* Return: 0 or -ENOMEM, then nothing has changed. */
static inline int push(void)
{
	struct item *item = &items[pushed];
	struct history_op *op = call();
	int code;

	explore_assert(pushed < ITEMS);
	explore_write(item->payload, 7);
	code = deque_push_owner(&deque, item);
	if (code)
		return code;
	pushed++;
	history_return(op, HISTORY_PUSH, item->number);
	return 0;
}

static inline void push_one(void)
{
	explore_assert(push() == 0);
}

static inline void push_more(unsigned count)
{
	while (count-- > 0)
		push_one();
}

/* Return: was there an item? */
static inline bool took(struct history_op *op, enum history_kind kind,
			struct item *item)
{
	history_return(op, kind, item ? item->number : 0);
	if (!item)
		return false;
	explore_assert(explore_read(item->payload) == 7);
	explore_assert(item->takes == 0); /* W2 */
	item->takes++;
	return true;
}

static inline bool pop(void)
{
	struct history_op *op = call();

	return took(op, HISTORY_TAKE_NEWEST, deque_pop_owner(&deque));
}

static inline bool pop_oldest(void)
{
	struct history_op *op = call();

	return took(op, HISTORY_TAKE_OLDEST, deque_pop_oldest_owner(&deque));
}

static inline void steal_by(struct deque_steal (*by)(struct deque *d))
{
	struct history_op *op = call();
	struct deque_steal steal = by(&deque);
	struct item *item =
		steal.outcome == SKUA_STEAL_SUCCESS ? steal.item : NULL;

	if (steal.outcome == SKUA_STEAL_RETRY)
		return;
	if (!took(op, HISTORY_STEAL, item))
		return;
	explore_assert(item->number > self->newest); /* W3 */
	self->newest = item->number;
}

static inline void steal(void)
{
	steal_by(deque_steal);
}

static inline void drain(void)
{
	while (pop())
		;
}

static inline void drain_oldest(void)
{
	while (pop_oldest())
		;
}

/* ---- fixtures ------------------------------------------------------------ */

static inline void as(unsigned thread)
{
	self = &threads[thread];
}

/* deques_reset - a deque of @capacity that is empty; its caller is setup */
static inline void deques_reset(uint64_t capacity, uint64_t start)
{
	explore_thread_local((void **)&self);
	history_reset();
	used = 0;
	given_back = 0;
	no_memory = false;
	pushed = 0;
	for (unsigned i = 0; i < ITEMS; i++)
		items[i] = (struct item){ .number = i + 1 };
	for (unsigned i = 0; i < 4; i++)
		threads[i] = (struct thread){ .newest = 0 };
	as(0);
	explore_assert(deque_init(&deque, capacity, start, &allocator) == 0);
}

/* ---- setups -------------------------------------------------------------- */

static inline void setup(uint64_t capacity, uint64_t start, unsigned count)
{
	explore_watch(memory, sizeof(memory));
	deques_reset(capacity, start);
	push_more(count);
}

static inline void setup_empty(void)
{
	setup(LARGE, WRAP, 0);
}

static inline void setup_one(void)
{
	setup(LARGE, WRAP, 1);
}

static inline void setup_two(void)
{
	setup(LARGE, WRAP, 2);
}

static inline void setup_three(void)
{
	setup(LARGE, WRAP, 3);
}

static inline void setup_small(void)
{
	setup(SMALL, WRAP, 2);
}

/* ---- checks --------------------------------------------------------------- */

static inline void check(void)
{
	as(0);
	drain();
	explore_assert(deque_length(&deque) == 0);
	for (unsigned i = 0; i < pushed; i++)
		explore_assert(items[i].takes == 1); /* W1 */
	explore_assert(history_linearizable());      /* W4 */
	deque_destroy(&deque);
	explore_assert(given_back == used);
}

#endif
