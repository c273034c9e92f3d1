/* SPDX-License-Identifier: MIT */
/**
 * inject_queue.h - the queue that any thread may push to
 *
 * An unbounded intrusive list, first in, first out. Threads that are not
 * workers spawn through it, and full local queues spill into it.
 *
 *	head -> a -> b -> c <- tail        empty: tail is NULL
 *
 * A push exchanges tail for its last node, and then links its first node: to
 * the previous last node, or as head if there was none. Between the two steps
 * the list is cut at that place. A take walks from head, under a lock for which
 * takers never wait. It takes the last linked node only if that is tail as
 * well: otherwise, the thread that pushed after the node still has to write the
 * node's next field.
 *
 * Invariants (checked by tests/model/model_inject_queue.c):
 *   J1  tail is NULL, or the last node of the newest push
 *   J2  head is written by the push that found tail NULL, and otherwise by the
 *       taker that holds the lock. Both write it only when a taker empties the
 *       list, and then the value of the push stays
 *   J3  a node is taken only when no thread will write to it any more
 *
 * Progress: a push is wait-free and async-signal-safe; it never waits for a
 * taker. A taker never waits either. If the lock is held, the taker leaves a
 * mark there and returns nothing. If it reaches the cut of an unfinished push,
 * it returns the nodes before the cut. Callers have duties, so that no node is
 * forgotten (core/idle/IDLE.md):
 *   I1  after a push has returned, the thread fences before it checks for
 *       sleepers and before it takes again. Without the fence its own take may
 *       miss its own nodes: they may follow another thread's push whose link
 *       this thread does not see yet, while that thread does not see the link
 *       of this one
 *   I5  a thread that took nodes, and turned other takers away meanwhile, must
 *       see that a worker checks for the nodes that are left (by I3 or I1),
 *       because those takers may have gone to sleep
 * skua_injector_take() demands nothing of programs: it fences before it returns
 * nothing.
 *
 * Rejected: a list that pushes extend by compare-exchange and that the taker
 * reverses. It has no cut, but the reversal touches all nodes before the first
 * one can run. Also rejected: a stub node, as in D. Vyukov's queue, from which
 * this one descends. It costs one more exchange each time the queue becomes
 * empty, and needs the same care.
 */
#ifndef SKUA_CORE_QUEUE_INJECT_QUEUE_H
#define SKUA_CORE_QUEUE_INJECT_QUEUE_H

#include <stdalign.h>
#include <stddef.h>

#include "core/base/atomic.h"

struct inject_node {
	/* Writer: the next push after this node, once. Reader: the taker. */
	_Atomic(struct inject_node *) next;
};

/* Nodes in order, linked by next. @count says where the list ends: the next
 * field of the last node is undefined. */
struct inject_list {
	struct inject_node *first;
	struct inject_node *last;
	uint64_t count;
};

/* The result of a take. */
struct inject_take {
	struct inject_list list;
	bool turned_away; /* another taker, while this one took: see I5 above */
};

#define INJECT_FREE   0u
#define INJECT_HELD   1u
#define INJECT_MARKED 2u

struct inject_queue {
	/* Writers: pushers, and takers that empty the list. Readers: all. */
	alignas(CACHE_PAIR) _Atomic(struct inject_node *) tail;
	/* Writers: pushers, before they push. Readers: all. Wraps at 2^64. */
	atomic_u64 pushed;

	/* Writers: see J2. Readers: all. NULL when there is nothing to take. */
	alignas(CACHE_PAIR) _Atomic(struct inject_node *) head;

	/*
	 * INJECT_FREE; INJECT_HELD: a taker holds it; INJECT_MARKED: a taker
	 * holds it, and another one was turned away. Writers and readers:
	 * takers. On a line of its own, so that takers which are turned away do
	 * not disturb those that read head.
	 */
	alignas(CACHE_PAIR) atomic_u32 lock;
	/* Writers: takers, under the lock. Readers: all. Wraps at 2^64. */
	atomic_u64 taken;
};

void inject_queue_init(struct inject_queue *q);

/* inject_list_append - add a node to a list that no other thread knows */
static inline void inject_list_append(struct inject_list *list,
				      struct inject_node *node)
{
	/* Relaxed: no other thread knows the nodes before they are pushed. */
	if (list->count == 0)
		list->first = node;
	else
		atomic_store_relaxed(&list->last->next, node);
	list->last = node;
	list->count++;
}

/* inject_list_pop - take the first node of such a list; NULL: it is empty */
static inline struct inject_node *inject_list_pop(struct inject_list *list)
{
	struct inject_node *node = list->first;

	if (list->count == 0)
		return NULL;
	/* Relaxed: the take acquired the link, or the caller wrote it. The next
	 * field of the last node is undefined: count ends the list. */
	list->first = atomic_load_relaxed(&node->next);
	list->count--;
	return node;
}

/* inject_queue_push - push all nodes of @list, at least one, in one step */
void inject_queue_push(struct inject_queue *q, const struct inject_list *list);

/**
 * inject_queue_take - take up to @most nodes, the oldest first
 *
 * Return: the nodes. The list is empty if there are no nodes, if another taker
 * holds the lock, or if a push after the first node is unfinished. A taker that
 * holds the lock learns that it turned this one away. If it has got nothing, it
 * takes again; if it has nodes in the end, it returns them with turned_away
 * set. With an empty list, turned_away is never set.
 */
struct inject_take inject_queue_take(struct inject_queue *q, uint64_t most);

/* inject_queue_visible - return true if a take may find a node. Threads: any */
static inline bool inject_queue_visible(const struct inject_queue *q)
{
	/* Relaxed: a caller that must not miss a push fences before this call
	 * (core/idle/IDLE.md), and a take acquires the nodes that it finds. */
	return atomic_load_relaxed(&q->head) != NULL;
}

/* inject_queue_length - return how many nodes were pushed and not taken yet; an
 * estimate. Threads: any */
static inline uint64_t inject_queue_length(const struct inject_queue *q)
{
	/* Relaxed, both loads: an estimate. taken is read first, so that it is
	 * not ahead of pushed. The comparison below catches reordered loads. */
	uint64_t taken = atomic_load_relaxed(&q->taken);
	uint64_t pushed = atomic_load_relaxed(&q->pushed);

	return pushed - taken <= INT64_MAX ? pushed - taken : 0;
}

#endif
