/* SPDX-License-Identifier: MIT */
/* inject_queue.c - see inject_queue.h for the protocol and its invariants */
#include "core/queue/inject_queue.h"
#include "core/base/hot.h"

#include <assert.h>

void inject_queue_init(struct inject_queue *q)
{
	atomic_init(&q->tail, NULL);
	atomic_init(&q->pushed, 0);
	atomic_init(&q->head, NULL);
	atomic_init(&q->taken, 0);
	atomic_init(&q->lock, INJECT_FREE);
}

HOT void inject_queue_push(struct inject_queue *q,
			   const struct inject_list *list)
{
	struct inject_node *before;

	assert(list->count > 0);
	/* Relaxed: before the exchange no other thread knows the node. */
	atomic_store_relaxed(&list->last->next, NULL);
	/* Relaxed: an estimate for the fair share and for statistics. Counted
	 * before the push, so that taken does not overtake pushed. */
	atomic_fetch_add_relaxed(&q->pushed, list->count);
	/*
	 * Release: the NULL above comes before the link that the next push
	 * writes to the same field. Acquire: the other side of that: this push
	 * writes the link in @before after the NULL of the push that made
	 * @before the last node. Pairs with itself in another push, and with
	 * take_last_locked().
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
 * Take the last linked node. This fails unless the node is tail too: then a
 * push after it is unfinished (J3). Head, which is @head, stays visible until
 * tail is NULL. If it were NULL for a moment while a push is unfinished, other
 * workers could check it at that moment, and go to sleep.
 */
static bool take_last_locked(struct inject_queue *q, struct inject_node *node,
			     struct inject_node *head)
{
	struct inject_node *last = node;

	/*
	 * Release: this taker's accesses to the node come before the push that
	 * finds the list empty. Acquire: not needed. Pairs with the exchange of
	 * tail in inject_queue_push(). Failure: a push after the node is
	 * unfinished (J3).
	 */
	if (!atomic_cas_release(&q->tail, &last, NULL))
		return false;
	/* Relaxed: if this fails, a push has found the list empty and written
	 * head (J2), and its value stays. */
	atomic_cas_relaxed(&q->head, &head, NULL);
	return true;
}

static struct inject_list take_locked(struct inject_queue *q, uint64_t most)
{
	struct inject_list list = { NULL, NULL, 0 };
	/* Acquire, here and of next: the nodes. Pairs with the releases of head
	 * and next in inject_queue_push(). */
	struct inject_node *node = atomic_load_acquire(&q->head);

	list.first = node;
	while (node != NULL && list.count < most) {
		struct inject_node *next = atomic_load_acquire(&node->next);

		if (next == NULL && !take_last_locked(q, node, list.first))
			break;
		list.last = node;
		list.count++;
		node = next;
	}
	/* Once, as all workers read head at each poll. Relaxed: the lock hands
	 * head to the next taker. */
	if (node != NULL)
		atomic_store_relaxed(&q->head, node);
	/* Relaxed: an estimate; only written under the lock. */
	atomic_store_relaxed(&q->taken,
			     atomic_load_relaxed(&q->taken) + list.count);
	return list;
}

/*
 * Take the lock, or leave a mark in it for its holder. If the mark is there
 * already, the taker writes it again: so the holder also sees everything that
 * *this* taker saw before.
 */
static bool try_lock(struct inject_queue *q)
{
	uint32_t seen = INJECT_FREE;

	/* The loop repeats when another taker changed the lock. */
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

/* Release the lock. Return: true if it turned another taker away meanwhile. */
static bool unlock(struct inject_queue *q)
{
	/* Release: the fields that the lock guards. Acquire: everything that
	 * the takers did before they were turned away. Both pair with
	 * try_lock(). */
	return atomic_exchange_acq_rel(&q->lock, INJECT_FREE) == INJECT_MARKED;
}

HOT struct inject_take inject_queue_take(struct inject_queue *q, uint64_t most)
{
	struct inject_take take;
	bool turned_away = false;
	bool marked;

	/* The loop repeats when this taker got nothing and has turned another
	 * taker away: it checks again on behalf of that taker (I5). */
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
