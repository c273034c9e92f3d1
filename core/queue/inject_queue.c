/* SPDX-License-Identifier: MIT */
/* inject_queue.c - see inject_queue.h for the protocol and its invariants */
#include "core/queue/inject_queue.h"

#include <assert.h>

void inject_queue_init(struct inject_queue *q)
{
	atomic_init(&q->tail, NULL);
	atomic_init(&q->pushed, 0);
	atomic_init(&q->head, NULL);
	atomic_init(&q->taken, 0);
	atomic_init(&q->lock, INJECT_FREE);
}

void inject_list_append(struct inject_list *list, struct inject_node *node)
{
	/* Relaxed: nobody else knows the nodes before they are pushed. */
	if (list->count == 0)
		list->first = node;
	else
		atomic_store_relaxed(&list->last->next, node);
	list->last = node;
	list->count++;
}

struct inject_node *inject_list_pop(struct inject_list *list)
{
	struct inject_node *node = list->first;

	if (list->count == 0)
		return NULL;
	/* Relaxed: acquired by the take, or the caller's own. The last node's
	 * next means nothing: count ends the list. */
	list->first = atomic_load_relaxed(&node->next);
	list->count--;
	return node;
}

void inject_queue_push(struct inject_queue *q, const struct inject_list *list)
{
	struct inject_node *before;

	assert(list->count > 0);
	/* Relaxed: before the exchange nobody knows the node. */
	atomic_store_relaxed(&list->last->next, NULL);
	/* Relaxed: an estimate for the fair share and for statistics. Before
	 * the push, so that taken does not overtake it. */
	atomic_fetch_add_relaxed(&q->pushed, list->count);
	/*
	 * Release: the NULL above comes before whatever the push behind this
	 * one writes there. Acquire: the same from the other side, this push
	 * writes to @before after the NULL of the push that made it the last
	 * node. Pairs with itself and with take_last_locked().
	 */
	before = atomic_exchange_acq_rel(&q->tail, list->last);
	/* Release: publishes the nodes. Pairs with the acquires of head and
	 * next in take_locked(). */
	if (before == NULL)
		atomic_store_release(&q->head, list->first);
	else
		atomic_store_release(&before->next, list->first);
}

/*
 * Take off the last linked node, which is tail if nobody pushes behind it.
 * Head stays visible until tail is NULL: if it were NULL for a moment while a
 * push is unfinished, others could look just then, and go to sleep.
 */
static bool take_last_locked(struct inject_queue *q, struct inject_node *node)
{
	struct inject_node *last = node;

	/*
	 * Release: what this taker knows of the node, to the push that finds
	 * the list empty. Acquire: not needed. Pairs with the exchange of tail
	 * in inject_queue_push(). A failure is J3: a push behind the node is
	 * unfinished.
	 */
	if (!atomic_cas_release(&q->tail, &last, NULL))
		return false;
	/* Relaxed: if it fails, a push has found the list empty and written
	 * head (J2), and that stands. */
	atomic_cas_relaxed(&q->head, &node, NULL);
	return true;
}

static struct inject_list take_locked(struct inject_queue *q, uint64_t most)
{
	struct inject_list list = { NULL, NULL, 0 };
	/* Acquire: the nodes. Pairs with the release in inject_queue_push(). */
	struct inject_node *node = atomic_load_acquire(&q->head);

	list.first = node;
	while (node != NULL && list.count < most) {
		struct inject_node *next = atomic_load_acquire(&node->next);

		if (next == NULL) {
			if (!take_last_locked(q, node))
				break;
		} else {
			/* Relaxed: the lock hands it to the next taker. */
			atomic_store_relaxed(&q->head, next);
		}
		list.last = node;
		list.count++;
		node = next;
	}
	/* Relaxed: an estimate; written under the lock only. */
	atomic_store_relaxed(&q->taken,
			     atomic_load_relaxed(&q->taken) + list.count);
	return list;
}

/*
 * Take the lock, or leave a mark for its holder. A mark that is there already is made
 * again: it asks the holder to see to what *this* taker saw, and to all that it saw
 * before.
 */
static bool try_lock(struct inject_queue *q)
{
	uint32_t seen = INJECT_FREE;

	/* A further round means that another taker came or went. */
	for (;;) {
		/*
		 * Acquire: the fields that the lock guards. Pairs with the
		 * release in unlock(). Release, for a mark: all that the caller
		 * saw. Pairs with the acquire in unlock().
		 */
		if (atomic_cas_acq_rel(&q->lock, &seen,
				       seen == INJECT_FREE ? INJECT_HELD
							   : INJECT_MARKED))
			return seen == INJECT_FREE;
	}
}

/* Give the lock back; true if somebody was turned away. */
static bool unlock(struct inject_queue *q)
{
	/* Release: the fields that the lock guards. Acquire: what those who
	 * were turned away did before. Both pair with try_lock(). */
	return atomic_exchange_acq_rel(&q->lock, INJECT_FREE) == INJECT_MARKED;
}

struct inject_take inject_queue_take(struct inject_queue *q, uint64_t most)
{
	struct inject_take take;
	bool turned_away = false;
	bool marked;

	/* A further round means that another taker came and went: the look is repeated
	 * on its behalf, together with what the caller owes (I5). */
	do {
		if (!inject_queue_visible(q) || !try_lock(q))
			return (struct inject_take){ .turned_away = false };
		take.list = take_locked(q, most);
		marked = unlock(q);
		turned_away |= marked;
	} while (take.list.count == 0 && marked);
	take.turned_away = turned_away && take.list.count > 0;
	return take;
}
