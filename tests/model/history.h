/* SPDX-License-Identifier: MIT */
/**
 * history.h - check that concurrent operations of a deque are linearizable
 *
 * A case records each operation, from its call to its return, with the item that it pushed
 * or took. history_linearizable() searches for an order of all operations in which a deque
 * of one thread has the same results (W4). The order must keep the order of each pair of
 * operations that is ordered. A pair is ordered:
 *
 *   - in time (one operation had returned when the other was called), if the execution is
 *     sequentially consistent, or if every steal found an item;
 *   - otherwise by happens-before, because nothing else distinguishes an old "empty" from
 *     a new one.
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
	HISTORY_VOID, /* had no effect, or has not returned */
};

struct history_op {
	enum history_kind kind;
	unsigned item; /* the item, from 1; 0: it found none */
	unsigned called;
	unsigned returned;
	uint32_t happened; /* bits of operations that happened before */
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

/* history_call - begin an operation. Return: the operation, for history_return(). */
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

/* history_return - end an operation; @item is what it pushed or took */
static inline void history_return(struct history_op *op, enum history_kind kind,
				  unsigned item)
{
	op->kind = kind;
	op->item = item;
	op->returned = history.time++;
	op->end = explore_moment();
}

/* Apply an operation to a deque of one thread. Return: whether the result is
 * the same. */
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

/* Return whether pairs are ordered in time. */
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

/* Return whether operation @i must precede operation @j. */
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

/* Return whether the operations that are not in @done can be applied to this
 * deque in some order. */
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

/* history_linearizable - return whether there is such an order */
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
