/* SPDX-License-Identifier: MIT */
/**
 * history.h - is what was done to a deque what some order of its operations does?
 *
 * A case notes each operation, from its call to its return, with the item that
 * it pushed or took. history_linearizable() looks for an order of all of them
 * that does the same to a deque of one thread, and keeps theirs (W4). Theirs is:
 *
 *   - that in time, if the execution is sequentially consistent or no steal
 *     found nothing: one had returned when the other was called
 *   - else one happened before the other: nothing else tells an old "empty"
 *     from a new one
 *
 * A steal that gives up does nothing, and has no place in the order.
 */
#ifndef SKUA_TESTS_MODEL_HISTORY_H
#define SKUA_TESTS_MODEL_HISTORY_H

#include "tests/model/explore.h"

#define HISTORY_OPS 24

enum history_kind {
	HISTORY_PUSH,
	HISTORY_TAKE_NEWEST,
	HISTORY_TAKE_OLDEST,
	HISTORY_STEAL,
	HISTORY_VOID, /* did nothing, or has not returned */
};

struct history_op {
	enum history_kind kind;
	unsigned item; /* from 1; 0: found none */
	unsigned called;
	unsigned returned;
	uint32_t happened; /* before it: a bit for each operation */
	struct explore_moment end;
};

/* A deque of one thread. */
struct history_deque {
	unsigned first;
	unsigned count;
	unsigned char items[HISTORY_OPS];
};

static struct {
	unsigned time;
	unsigned count;
	bool in_time;
	struct history_op ops[HISTORY_OPS];
} history;

static inline void history_reset(void)
{
	history.time = 0;
	history.count = 0;
}

/* history_call - an operation begins; returns it, for history_return() */
static inline struct history_op *history_call(void)
{
	struct history_op *op = &history.ops[history.count];

	explore_assert(history.count < HISTORY_OPS);
	*op = (struct history_op){ .kind = HISTORY_VOID,
				   .called = history.time++ };
	for (unsigned i = 0; i < history.count; i++)
		if (history.ops[i].kind != HISTORY_VOID &&
		    explore_happened(history.ops[i].end))
			op->happened |= UINT32_C(1) << i;
	history.count++;
	return op;
}

/* history_return - what it was, and the item that it pushed or took */
static inline void history_return(struct history_op *op, enum history_kind kind,
				  unsigned item)
{
	op->kind = kind;
	op->item = item;
	op->returned = history.time++;
	op->end = explore_moment();
}

/* Does the deque of one thread do this, too? */
static inline bool history_apply(struct history_deque *d,
				 const struct history_op *op)
{
	if (op->kind == HISTORY_PUSH) {
		d->items[d->first + d->count++] = (unsigned char)op->item;
		return true;
	}
	if (d->count == 0 || op->item == 0)
		return d->count == 0 && op->item == 0;
	d->count--;
	if (op->kind == HISTORY_TAKE_NEWEST)
		return d->items[d->first + d->count] == op->item;
	return d->items[d->first++] == op->item;
}

/* Is it the order in time that counts? */
static inline bool history_in_time(void)
{
	if (explore_sequential())
		return true;
	for (unsigned i = 0; i < history.count; i++)
		if (history.ops[i].kind == HISTORY_STEAL &&
		    history.ops[i].item == 0)
			return false;
	return true;
}

/* Has operation @i to stand before @j? */
static inline bool history_precedes(unsigned i, unsigned j)
{
	const struct history_op *ops = history.ops;

	return history.in_time ? ops[i].returned < ops[j].called
			       : ops[j].happened >> i & 1;
}

static inline bool history_ready(unsigned j, uint32_t done)
{
	for (unsigned i = 0; i < history.count; i++)
		if (!(done >> i & 1) && history_precedes(i, j))
			return false;
	return true;
}

/* Can those that are not @done follow, on this deque? */
static inline bool history_follow(uint32_t done, struct history_deque deque)
{
	bool all = true;

	for (unsigned i = 0; i < history.count; i++) {
		struct history_deque next = deque;

		if (done >> i & 1)
			continue;
		all = false;
		if (history_ready(i, done) &&
		    history_apply(&next, &history.ops[i]) &&
		    history_follow(done | UINT32_C(1) << i, next))
			return true;
	}
	return all;
}

/* history_linearizable - is there such an order? */
static inline bool history_linearizable(void)
{
	uint32_t done = 0;

	history.in_time = history_in_time();
	for (unsigned i = 0; i < history.count; i++)
		if (history.ops[i].kind == HISTORY_VOID)
			done |= UINT32_C(1) << i;
	return history_follow(done, (struct history_deque){ 0 });
}

#endif
