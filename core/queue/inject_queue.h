/* SPDX-License-Identifier: MIT */
/**
 * inject_queue.h - the queue that anyone may push to
 *
 * An unbounded intrusive list, first in, first out. Foreign threads spawn
 * through it, and full local queues spill into it.
 *
 *	head -> a -> b -> c <- tail        empty: tail is NULL
 *
 * A push exchanges tail for the new last node, then links the new first node:
 * behind the old last node, or as head if there was none. Between the two
 * steps the list is cut there. A take walks from head, under a lock that
 * takers only try; the last linked node goes only if it is tail as well,
 * because the thread that pushed behind it still has to write its next field.
 *
 * Invariants (checked by tests/model/model_inject_queue.c):
 *   J1  tail is NULL, or the last node of the newest push
 *   J2  head is written by the push that found tail NULL, and otherwise by
 *       the taker that holds the lock; the two meet only when a taker empties
 *       the list, and then the push's value stands
 *   J3  a node is taken only when nobody is going to write to it any more
 *
 * Progress: a push is wait-free and async-signal-safe; it never waits for a
 * taker. A taker never waits either: when the lock is held it leaves a mark
 * there and returns with nothing, and when it meets the cut of an unfinished
 * push it returns with what it has. Callers have duties, so that nothing is left behind
 * (core/idle/IDLE.md):
 *   I1  a thread that pushed fences after the push has returned, before it looks
 *       for sleepers and before it takes again. Without the fence its own take
 *       may miss its own nodes: their link may be behind a store of another
 *       thread that this one does not see yet, while the other thread does not
 *       see the link;
 *   I5  a thread that took nodes, and turned others away meanwhile, sees to what
 *       is left: they may have gone to sleep.
 * skua_injector_take() asks nothing of programs: it fences itself before it
 * returns with nothing.
 *
 * Rejected: a list that is pushed to by compare-exchange and reversed by the
 * taker has no cut, but the reversal touches all nodes before the first can
 * run. A stub node (D. Vyukov's queue, which this descends from) takes one
 * more exchange for each time that the queue runs empty, and no less care.
 */
#ifndef SKUA_CORE_QUEUE_INJECT_QUEUE_H
#define SKUA_CORE_QUEUE_INJECT_QUEUE_H

#include <stdalign.h>
#include <stddef.h>

#include "core/base/atomic.h"

struct inject_node {
	/* Writer: the push behind this node, once. Reader: the taker. */
	_Atomic(struct inject_node *) next;
};

/* Nodes in order, linked by next. Count says where the list ends: the next
 * field of the last node means nothing. */
struct inject_list {
	struct inject_node *first;
	struct inject_node *last;
	uint64_t count;
};

/* The result of a take. */
struct inject_take {
	struct inject_list list;
	bool turned_away; /* others, while it took: see I5 above */
};

#define INJECT_FREE   0u
#define INJECT_HELD   1u
#define INJECT_MARKED 2u

struct inject_queue {
	/* Writers: pushers, and takers that empty the list. Readers: all. */
	alignas(CACHE_PAIR) _Atomic(struct inject_node *) tail;
	/* Writers: pushers, before they push. Readers: all. Wraps at 2^64. */
	atomic_u64 pushed;

	/* Writers: J2. Readers: all. NULL when there is nothing to take. */
	alignas(CACHE_PAIR) _Atomic(struct inject_node *) head;
	/* Writers: takers, under the lock. Readers: all. Wraps at 2^64. */
	atomic_u64 taken;
	/*
	 * INJECT_FREE, INJECT_HELD by a taker, or INJECT_MARKED: held, and
	 * another taker was turned away. Writers: takers. Readers: takers.
	 */
	atomic_u32 lock;
};

void inject_queue_init(struct inject_queue *q);

/* inject_list_append - add a node to a list that only the caller knows */
void inject_list_append(struct inject_list *list, struct inject_node *node);

/* inject_list_pop - take the first node of such a list; NULL if it is empty */
struct inject_node *inject_list_pop(struct inject_list *list);

/* inject_queue_push - push all nodes of a list, at least one, as one step */
void inject_queue_push(struct inject_queue *q, const struct inject_list *list);

/**
 * inject_queue_take - take up to @most nodes, the oldest first
 *
 * Return: the nodes; an empty list if there are none, if another taker is at
 * work, or if the first node is still being pushed behind. In the second case
 * the other taker learns of it: it looks again if it got nothing, and says with
 * what it gets in the end that others were turned away. With an empty list it
 * never says so.
 */
struct inject_take inject_queue_take(struct inject_queue *q, uint64_t most);

/* inject_queue_visible - is there a node that a take may find? Any thread. */
static inline bool inject_queue_visible(const struct inject_queue *q)
{
	/* Relaxed: a caller that must not miss a push has a fence before this
	 * (core/idle/IDLE.md), and a take acquires what it finds. */
	return atomic_load_relaxed(&q->head) != NULL;
}

/* inject_queue_length - nodes pushed and not taken; an estimate, any thread */
static inline uint64_t inject_queue_length(const struct inject_queue *q)
{
	/* Relaxed: an estimate. Taken is read first, so that it is not ahead of pushed
	 * unless the loads are reordered, which the comparison catches. */
	uint64_t taken = atomic_load_relaxed(&q->taken);
	uint64_t pushed = atomic_load_relaxed(&q->pushed);

	return pushed - taken <= INT64_MAX ? pushed - taken : 0;
}

#endif
