/* SPDX-License-Identifier: MIT */
/**
 * deques.h - a deque with an owner and two thieves, for model tests
 *
 * An item carries a plain payload. The owner writes it and the taker reads it, so that each
 * take also proves that the push happened before it. Each case checks:
 *
 *   W1  every item has been taken when all threads are done
 *   W2  no item is taken twice
 *   W3  a thief takes items in the order in which they were pushed
 *   W4  a deque of one thread could have had the same results (history.h). A steal that
 *       gives up has no effect, and one that finds nothing is weak. Therefore the owner's
 *       pops take the newest item, and its pops of the oldest the oldest item
 *   D3  the thief has read a slot before the slot is written again
 *
 * The file of core/ is included, not linked, so that broken variants can use its static
 * functions.
 */
#ifndef SKUA_TESTS_MODEL_DEQUES_H
#define SKUA_TESTS_MODEL_DEQUES_H

#include "tests/model/slots.h"

#include "core/queue/deque.c"

#include "tests/model/history.h"

#define ITEMS 10
#define SMALL 2 /* slots at first; the deque grows */
#define LARGE 4
#define WRAP  (UINT64_MAX - 1) /* the default start of positions */

struct item {
	unsigned number; /* in the order of the pushes, from 1 */
	unsigned payload;
	unsigned takes;
};

struct thread {
	unsigned newest; /* the newest item that it has stolen */
	/* The steal that it is making: */
	const volatile void *looked; /* slot read before the claim */
	uint16_t mark;               /* explore_race_mark() before that read */
};

static struct deque deque;
static struct item items[ITEMS];
static struct thread threads[4]; /* the first does setup and check */
static struct thread *self;      /* one for each thread */
static unsigned pushed;
static bool no_memory; /* let growing fail */

/* ---- slots --------------------------------------------------------------- */

/*
 * The explorer's loads never return a store that is executed later, but those of a
 * processor may. For this reason the accesses of a slot are checked for races, as if they
 * were plain. A thief's load before its claim counts as a read if the claim succeeds, and
 * must happen before the slot is written again.
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

/* Write to memory that is given back, so that a thief that still reads it
 * causes a race. */
static inline void memory_give(void *ctx, void *taken, size_t bytes)
{
	struct deque_buffer *buffer = taken;

	(void)ctx;
	explore_write(buffer->capacity, UINT64_MAX);
	given_back += bytes;
}

static const struct skua_allocator allocator = { .alloc = memory_take,
						 .free = memory_give };

/* ---- the deque of one thread ---------------------------------------------- */

/* The kinds of operations. They push or take an item, by its number; 0: none. */
enum deque_kind { PUSH = HISTORY_VOID + 1, TAKE_NEWEST, TAKE_OLDEST, STEAL };

struct simple_deque {
	unsigned first;
	unsigned count;
	unsigned char items[HISTORY_OPS];
};

static inline bool simple_deque_apply(void *object, const struct history_op *op)
{
	struct simple_deque *d = object;

	if (op->kind == PUSH) {
		d->items[d->first + d->count++] = (unsigned char)op->got;
		return true;
	}
	if (d->count == 0 || op->got == 0)
		return d->count == 0 && op->got == 0;
	d->count--;
	if (op->kind == TAKE_NEWEST)
		return d->items[d->first + d->count] == op->got;
	return d->items[d->first++] == op->got;
}

static inline bool simple_deque_weak(const struct history_op *op)
{
	return op->kind == STEAL && op->got == 0;
}

static const struct history_spec simple_deque = { simple_deque_apply,
						  simple_deque_weak };

/* ---- steps --------------------------------------------------------------- */

static inline struct history_op *call(void)
{
	self->looked = NULL;
	return history_call();
}

/* Push the next item. Return: 0; -ENOMEM, and then nothing has changed. */
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
	history_return(op, PUSH, 0, item->number);
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

/* Record that an operation has taken @item; NULL: it found none. Return:
 * whether there was an item. */
static inline bool took(struct history_op *op, enum deque_kind kind,
			struct item *item)
{
	history_return(op, kind, 0, item ? item->number : 0);
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

	return took(op, TAKE_NEWEST, deque_pop_owner(&deque));
}

static inline bool pop_oldest(void)
{
	struct history_op *op = call();

	return took(op, TAKE_OLDEST, deque_pop_oldest_owner(&deque));
}

static inline void steal_by(struct deque_steal (*by)(struct deque *d))
{
	struct history_op *op = call();
	struct deque_steal steal = by(&deque);
	struct item *item =
		steal.outcome == SKUA_STEAL_SUCCESS ? steal.item : NULL;

	if (steal.outcome == SKUA_STEAL_RETRY)
		return;
	if (!took(op, STEAL, item))
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

/* deques_reset - make an empty deque of @capacity; called in setup */
static inline void deques_reset(uint64_t capacity, uint64_t start)
{
	explore_thread_local((void **)&self);
	history_reset(&simple_deque);
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

/* ---- threads ------------------------------------------------------------- */

static inline void pops(void)
{
	as(1);
	pop();
}

static inline void pops_and_pushes(void)
{
	as(1);
	pop();
	push_one();
	drain();
}

/* The last item comes to the slot of the first, or the ring grows. */
static inline void reuses_slots(void)
{
	as(1);
	push_one();
	pop();
	push_more(2);
	pop();
}

static inline void steals(void)
{
	as(2);
	steal();
}

static inline void steals_twice(void)
{
	as(2);
	steal();
	steal();
}

static inline void second_steals(void)
{
	as(3);
	steal();
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
