/* SPDX-License-Identifier: MIT */
/* inject_queue.c - see inject_queue.h for the protocol and its invariants */
#include "core/inject_queue.h"

#include <assert.h>

void inject_queue_init(struct inject_queue *q)
{
	atomic_init(&q->tail, NULL);
	atomic_init(&q->pushed, 0);
	atomic_init(&q->head, NULL);
	atomic_init(&q->taken, 0);
	atomic_init(&q->lock, 0);
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
	 * node; and after a taker's head = NULL, when it finds the list empty.
	 * Pairs with itself and with the compare-exchange in take_locked().
	 */
	before = atomic_exchange_acq_rel(&q->tail, list->last);
	/* Release: publishes the nodes. Pairs with the acquires of head and
	 * next in take_locked(). */
	if (before == NULL)
		atomic_store_release(&q->head, list->first);
	else
		atomic_store_release(&before->next, list->first);
}

/* Take off the last linked node, which is tail if nobody pushes behind it. */
static bool take_last_locked(struct inject_queue *q, struct inject_node *node)
{
	struct inject_node *expected = node;

	/* Relaxed: published by the exchange below, to the next push that
	 * finds the list empty. */
	atomic_store_relaxed(&q->head, NULL);
	/* Release: the store above. Pairs with the exchange of tail in
	 * inject_queue_push(), whose store of head thus comes later. */
	if (atomic_cas_acq_rel(&q->tail, &expected, NULL))
		return true;
	/* J3: a push behind the node is unfinished; that push found tail not
	 * NULL, so that head is still the taker's to write. */
	atomic_store_relaxed(&q->head, node);
	return false;
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

struct inject_list inject_queue_take(struct inject_queue *q, uint64_t most)
{
	struct inject_list list = { NULL, NULL, 0 };

	if (!inject_queue_visible(q))
		return list;
	/* Acquire: the fields that the lock guards. Pairs with the release
	 * below. The load spares a held lock's line the exchange. */
	if (atomic_load_relaxed(&q->lock) != 0 ||
	    atomic_exchange_acquire(&q->lock, 1) != 0)
		return list;
	list = take_locked(q, most);
	/* Release: the fields that the lock guards; pairs with the above. */
	atomic_store_release(&q->lock, 0);
	return list;
}
