/* SPDX-License-Identifier: MIT */
/**
 * history.h - check that concurrent operations of an object are linearizable
 *
 * A test records each operation, from its call to its return, with what it was given and
 * what it returned. history_linearizable() searches for an order of all operations in which
 * an object of one thread, the *specification*, has the same results (W4; J. Wing and
 * C. Gong, "Testing and verifying concurrent objects", 1993). The order must keep the order
 * of each pair of operations that is ordered. On real threads, a pair is ordered in time
 * (one operation had returned when the other was called). In the explorer, a pair is
 * ordered:
 *
 *   - in time, if the execution is sequentially consistent, or if no operation is *weak*: one
 *     with a result that says only what the object did not have;
 *   - otherwise by happens-before, because nothing else distinguishes an old "empty" from
 *     a new one.
 *
 * An operation that has no effect, whatever its result, has no place in the order.
 */
#ifndef SKUA_TESTS_MODEL_HISTORY_H
#define SKUA_TESTS_MODEL_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define HISTORY_OPS   24
#define HISTORY_BYTES 128 /* of an object of one thread, at most */
#define HISTORY_VOID  0u  /* the kind of an operation without an effect */

struct history_op {
	unsigned
		kind; /* of the specification; HISTORY_VOID also: not returned */
	int code;     /* what it returned */
	uint64_t given;
	uint64_t got;
	unsigned called;
	unsigned returned;
#ifdef SKUA_EXPLORE
	uint32_t happened; /* bits of operations that happened before */
	struct explore_moment end;
#endif
};

/* An object of one thread. */
struct history_spec {
	/* Apply an operation. Return: does it return the same? If not, the object
	 * is lost. */
	bool (*apply)(void *object, const struct history_op *op);
	/* Is the operation weak? */
	bool (*weak)(const struct history_op *op);
};

static struct {
	const struct history_spec *spec;
	unsigned time;
	unsigned count;
	bool in_time;
	struct history_op ops[HISTORY_OPS];
} history;

/* history_reset - forget all operations; called before the threads begin */
static inline void history_reset(const struct history_spec *spec)
{
	history.spec = spec;
	history.time = 0;
	history.count = 0;
}

/* ---- recording -------------------------------------------------------------- */

#ifdef SKUA_EXPLORE

static inline unsigned history_next(unsigned *count)
{
	return (*count)++;
}

static inline void history_note_call(struct history_op *op)
{
	unsigned self = (unsigned)(op - history.ops);

	for (unsigned i = 0; i < self; i++)
		if (history.ops[i].kind != HISTORY_VOID &&
		    explore_happened(history.ops[i].end))
			op->happened |= UINT32_C(1) << i;
}

static inline void history_note_return(struct history_op *op)
{
	op->end = explore_moment();
}

static inline bool history_sequential(void)
{
	return explore_sequential();
}

static inline bool history_happened(const struct history_op *a,
				    const struct history_op *b)
{
	return b->happened >> (a - history.ops) & 1;
}

#define history_assert(condition) explore_assert(condition)

#else

/* Full fences, so that the times are those of the calls. */
static inline unsigned history_next(unsigned *count)
{
	return __atomic_fetch_add(count, 1, __ATOMIC_SEQ_CST);
}

static inline void history_note_call(struct history_op *op)
{
	(void)op;
}

static inline void history_note_return(struct history_op *op)
{
	(void)op;
}

static inline bool history_sequential(void)
{
	return true;
}

static inline bool history_happened(const struct history_op *a,
				    const struct history_op *b)
{
	return a->returned < b->called;
}

#define history_assert(condition)         \
	do {                              \
		if (!(condition))         \
			__builtin_trap(); \
	} while (0)

#endif

/* history_call - begin an operation. Return: the operation, for history_return(). */
static inline struct history_op *history_call(void)
{
	unsigned i = history_next(&history.count);
	struct history_op *op = &history.ops[i];

	history_assert(i < HISTORY_OPS);
	*op = (struct history_op){ .kind = HISTORY_VOID };
	op->called = history_next(&history.time);
	history_note_call(op);
	return op;
}

/* history_return - end an operation; @got is what it got or took */
static inline void history_return(struct history_op *op, unsigned kind,
				  int code, uint64_t got)
{
	op->kind = kind;
	op->code = code;
	op->got = got;
	op->returned = history_next(&history.time);
	history_note_return(op);
}

/* ---- the search ------------------------------------------------------------- */

/* history_precedes - must operation @a come before @b in the order? */
static inline bool history_precedes(const struct history_op *a,
				    const struct history_op *b)
{
	return history.in_time ? a->returned < b->called
			       : history_happened(a, b);
}

/* Return whether pairs are ordered in time. */
static inline bool history_in_time(void)
{
	if (history_sequential())
		return true;
	for (unsigned i = 0; i < history.count; i++)
		if (history.ops[i].kind != HISTORY_VOID &&
		    history.spec->weak(&history.ops[i]))
			return false;
	return true;
}

static inline bool history_ready(unsigned j, uint32_t done)
{
	for (unsigned i = 0; i < history.count; i++)
		if (!(done >> i & 1) &&
		    history_precedes(&history.ops[i], &history.ops[j]))
			return false;
	return true;
}

struct history_object {
	_Alignas(8) unsigned char bytes[HISTORY_BYTES];
};

/* Return whether the operations that are not in @done can be applied to this
 * object in some order. */
static inline bool history_follow(uint32_t done,
				  const struct history_object *object)
{
	bool all = true;

	for (unsigned i = 0; i < history.count; i++) {
		struct history_object next;

		if (done >> i & 1)
			continue;
		all = false;
		if (!history_ready(i, done))
			continue;
		next = *object;
		if (history.spec->apply(next.bytes, &history.ops[i]) &&
		    history_follow(done | UINT32_C(1) << i, &next))
			return true;
	}
	return all;
}

/* history_linearizable - return whether there is such an order, from the object on that is
 * all zero */
static inline bool history_linearizable(void)
{
	const struct history_object object = { { 0 } };
	uint32_t done = 0;

	history.in_time = history_in_time();
	for (unsigned i = 0; i < history.count; i++)
		if (history.ops[i].kind == HISTORY_VOID)
			done |= UINT32_C(1) << i;
	return history_follow(done, &object);
}

#endif
