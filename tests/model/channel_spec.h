/* SPDX-License-Identifier: MIT */
/**
 * channel_spec.h - what a channel, a oneshot, a broadcast and a watch of one thread return
 *
 * For history.h. A call that gives up (-EAGAIN, -ETIMEDOUT, -ECANCELED) had to wait at some
 * moment between its call and its return, and has no effect.
 */
#ifndef SKUA_TESTS_MODEL_CHANNEL_SPEC_H
#define SKUA_TESTS_MODEL_CHANNEL_SPEC_H

#include <errno.h>

#include "tests/model/history.h"

#define SPEC_CAPACITY      2u /* of a channel and of a broadcast */
#define SPEC_SUBSCRIPTIONS 8u

enum spec_kind {
	SPEC_SEND = HISTORY_VOID + 1, /* or set: given: the item */
	SPEC_RECEIVE, /* got: the item. Of a broadcast, given: the subscription */
	SPEC_CLOSE,
	SPEC_SUBSCRIBE, /* given: the subscription */
	SPEC_GET,       /* got: spec_version() */
	SPEC_CHANGED,   /* given: the version seen; got: spec_version() */
};

static inline bool spec_gave_up(const struct history_op *op)
{
	return op->code == -EAGAIN || op->code == -ETIMEDOUT ||
	       op->code == -ECANCELED;
}

/* Apply a close. */
static inline bool spec_close(bool *closed, const struct history_op *op)
{
	bool was = *closed;

	*closed = true;
	return op->code == (was ? -EALREADY : 0);
}

/* ---- channel ---------------------------------------------------------------- */

struct spec_channel {
	unsigned char head, tail; /* items received and sent so far */
	bool closed;
	/* Of each item: its number, and the operations that sent and received it. */
	unsigned char items[HISTORY_OPS];
	unsigned char senders[HISTORY_OPS];
	unsigned char receivers[HISTORY_OPS];
};

/* Were both operations under way at some moment? Then the one may hold up the other: it
 * has its ticket, and its slot is not ready. */
static inline bool spec_meets(unsigned other, const struct history_op *op)
{
	return !history_precedes(&history.ops[other], op);
}

/* May a send have met a receive that has its place? An item that was handed to a receiver
 * that waited took no place, so that any of the receives may have it. */
static inline bool spec_meets_receive(const struct spec_channel *c,
				      const struct history_op *op)
{
	for (unsigned i = 0; i < c->head; i++)
		if (spec_meets(c->receivers[i], op))
			return true;
	return false;
}

static inline bool spec_channel_send(struct spec_channel *c,
				     const struct history_op *op)
{
	unsigned char self = (unsigned char)(op - history.ops);

	if (op->code == -EPIPE)
		return c->closed;
	if (c->closed)
		return false;
	if (spec_gave_up(op))
		return c->tail - c->head == SPEC_CAPACITY ||
		       spec_meets_receive(c, op);
	if (c->tail - c->head == SPEC_CAPACITY)
		return false;
	c->items[c->tail] = (unsigned char)op->given;
	c->senders[c->tail++] = self;
	return op->code == 0;
}

static inline bool spec_channel_receive(struct spec_channel *c,
					const struct history_op *op)
{
	unsigned char self = (unsigned char)(op - history.ops);
	bool empty = c->tail == c->head;

	if (op->code == -EPIPE)
		return c->closed && empty;
	if (spec_gave_up(op))
		return empty ? !c->closed : spec_meets(c->senders[c->head], op);
	if (empty)
		return false;
	c->receivers[c->head] = self;
	return op->code == 0 && c->items[c->head++] == op->got;
}

static inline bool spec_channel_apply(void *object, const struct history_op *op)
{
	struct spec_channel *c = object;

	if (op->kind == SPEC_SEND)
		return spec_channel_send(c, op);
	if (op->kind == SPEC_RECEIVE)
		return spec_channel_receive(c, op);
	return spec_close(&c->closed, op);
}

static inline bool spec_channel_weak(const struct history_op *op)
{
	return spec_gave_up(op);
}

static const struct history_spec spec_channel = { spec_channel_apply,
						  spec_channel_weak };

/* ---- oneshot ---------------------------------------------------------------- */

enum spec_oneshot_state { SPEC_NEW, SPEC_SENT, SPEC_TAKEN, SPEC_CLOSED };

struct spec_oneshot {
	enum spec_oneshot_state state;
	uint64_t value;
};

static inline bool spec_oneshot_receive(struct spec_oneshot *o,
					const struct history_op *op)
{
	if (spec_gave_up(op))
		return o->state == SPEC_NEW;
	if (op->code == -EPIPE)
		return o->state == SPEC_TAKEN || o->state == SPEC_CLOSED;
	if (op->code || o->state != SPEC_SENT)
		return false;
	o->state = SPEC_TAKEN;
	return op->got == o->value;
}

/* Apply a send or a close. */
static inline bool spec_oneshot_end(struct spec_oneshot *o,
				    const struct history_op *op)
{
	bool is_send = op->kind == SPEC_SEND;

	if (o->state == SPEC_NEW) {
		o->state = is_send ? SPEC_SENT : SPEC_CLOSED;
		o->value = op->given;
		return op->code == 0;
	}
	if (is_send && o->state == SPEC_CLOSED)
		return op->code == -EPIPE;
	return op->code == -EALREADY;
}

static inline bool spec_oneshot_apply(void *object, const struct history_op *op)
{
	return op->kind == SPEC_RECEIVE ? spec_oneshot_receive(object, op)
					: spec_oneshot_end(object, op);
}

static inline bool spec_oneshot_weak(const struct history_op *op)
{
	return spec_gave_up(op);
}

static const struct history_spec spec_oneshot = { spec_oneshot_apply,
						  spec_oneshot_weak };

/* ---- broadcast -------------------------------------------------------------- */

struct spec_broadcast {
	unsigned char count; /* items sent so far */
	bool closed;
	unsigned char items[HISTORY_OPS];
	unsigned char next[SPEC_SUBSCRIPTIONS];
};

static inline bool spec_broadcast_receive(struct spec_broadcast *b,
					  const struct history_op *op)
{
	unsigned char *next = &b->next[op->given];
	unsigned oldest =
		b->count > SPEC_CAPACITY ? b->count - SPEC_CAPACITY : 0;
	unsigned missed = oldest > *next ? oldest - *next : 0;

	if (op->code == -EOVERFLOW) {
		*next = (unsigned char)oldest;
		return missed > 0 && op->got == missed;
	}
	if (*next == b->count)
		return b->closed ? op->code == -EPIPE : spec_gave_up(op);
	return missed == 0 && op->code == 0 && b->items[(*next)++] == op->got;
}

static inline bool spec_broadcast_apply(void *object,
					const struct history_op *op)
{
	struct spec_broadcast *b = object;

	switch (op->kind) {
	case SPEC_SEND:
		if (b->closed)
			return op->code == -EPIPE;
		b->items[b->count++] = (unsigned char)op->given;
		return op->code == 0;
	case SPEC_RECEIVE:
		return spec_broadcast_receive(b, op);
	case SPEC_SUBSCRIBE:
		b->next[op->given] = b->count;
		return op->code == 0;
	default:
		return spec_close(&b->closed, op);
	}
}

/* A receive may return an item that was overwritten long ago, in another thread's eyes, and
 * a subscription may begin with one. */
static inline bool spec_broadcast_weak(const struct history_op *op)
{
	return op->kind == SPEC_RECEIVE || op->kind == SPEC_SUBSCRIBE;
}

static const struct history_spec spec_broadcast = { spec_broadcast_apply,
						    spec_broadcast_weak };

/* ---- watch ------------------------------------------------------------------ */

struct spec_watch {
	uint64_t sets;
	uint64_t value;
	bool closed;
};

/* spec_version - return a version and its value in one number */
static inline uint64_t spec_version(uint64_t version, uint64_t value)
{
	return version << 32 | value;
}

static inline bool spec_watch_apply(void *object, const struct history_op *op)
{
	struct spec_watch *w = object;
	uint64_t version = w->sets + 1;

	if (op->kind == SPEC_CLOSE)
		return spec_close(&w->closed, op);
	if (op->kind == SPEC_SEND) {
		if (w->closed)
			return op->code == -EPIPE;
		w->sets++;
		w->value = op->given;
		return op->code == 0;
	}
	if (op->kind == SPEC_CHANGED && version == op->given)
		return w->closed ? op->code == -EPIPE : spec_gave_up(op);
	return op->code == 0 && op->got == spec_version(version, w->value);
}

/* A value that was read may be old. */
static inline bool spec_watch_weak(const struct history_op *op)
{
	return op->kind == SPEC_GET || op->kind == SPEC_CHANGED;
}

static const struct history_spec spec_watch = { spec_watch_apply,
						spec_watch_weak };

#endif
