/* SPDX-License-Identifier: MIT */
/* queue_api.c - the public queue and injector; the queue is accessed by counted
 * handles */
#include <assert.h>
#include <errno.h>

#include "core/queue/inject_queue.h"
#include "core/queue/local_queue.h"
#include "core/base/memory.h"

#define DEFAULT_CAPACITY 256u

/* The one object that handles of both kinds refer to: skua_queue and
 * skua_stealer. */
struct skua_queue {
	/* Number of handles of both kinds. Writers and readers: any thread that
	 * holds a handle. */
	atomic_u64 handles;
	alignas(CACHE_PAIR) struct local_queue ring;
};

struct skua_injector {
	struct inject_queue queue;
};

static struct skua_queue *queue_of(struct skua_stealer *stealer)
{
	return (struct skua_queue *)stealer;
}

/* Return one more handle. The caller holds a handle, so that the count is not
 * zero. */
static struct skua_stealer *new_stealer(struct skua_queue *queue)
{
	/* Relaxed: the thread that passes the new handle on publishes it. */
	atomic_fetch_add_relaxed(&queue->handles, 1);
	return (struct skua_stealer *)queue;
}

static size_t queue_size(uint32_t capacity)
{
	return offsetof(struct skua_queue, ring) + local_queue_size(capacity);
}

static void free_queue(struct skua_queue *queue)
{
	memory_free(NULL, queue, CACHE_PAIR, 1,
		    queue_size((uint32_t)queue->ring.mask + 1));
}

static void drop_handle(struct skua_queue *queue)
{
	/* Release: the uses through this handle come before the free. Acquire:
	 * the uses through all other handles come before it, too. Pairs with
	 * itself. */
	if (atomic_fetch_sub_acq_rel(&queue->handles, 1) == 1)
		free_queue(queue);
}

int skua_queue_create(struct skua_queue **out, uint32_t capacity)
{
	struct skua_queue *queue;

	if (!out)
		return -EINVAL;
	*out = NULL;
	if (capacity == 0)
		capacity = DEFAULT_CAPACITY;
	if (!local_queue_capacity_valid(capacity))
		return -EINVAL;
	queue = memory_alloc(NULL, CACHE_PAIR, 1, queue_size(capacity));
	if (!queue)
		return -ENOMEM;
	atomic_init(&queue->handles, 1);
	local_queue_init(&queue->ring, capacity, 0);
	*out = queue;
	return 0;
}

void skua_queue_destroy(struct skua_queue *queue)
{
	if (queue)
		drop_handle(queue);
}

int skua_queue_push(struct skua_queue *queue, void *item)
{
	if (!queue || !item)
		return -EINVAL;
	return local_queue_push_owner(&queue->ring, item) ? 0 : -ENOSPC;
}

void *skua_queue_pop(struct skua_queue *queue)
{
	return queue ? local_queue_pop_owner(&queue->ring) : NULL;
}

uint32_t skua_queue_length(const struct skua_queue *queue)
{
	return queue ? local_queue_length(&queue->ring) : 0;
}

struct skua_stealer *skua_queue_stealer(struct skua_queue *queue)
{
	return queue ? new_stealer(queue) : NULL;
}

struct skua_stealer *skua_stealer_clone(struct skua_stealer *stealer)
{
	return stealer ? new_stealer(queue_of(stealer)) : NULL;
}

void skua_stealer_drop(struct skua_stealer *stealer)
{
	if (stealer)
		drop_handle(queue_of(stealer));
}

int skua_stealer_steal(struct skua_stealer *stealer, void **item)
{
	struct local_queue_steal steal;

	if (!item)
		return -EINVAL;
	*item = NULL;
	if (!stealer)
		return -EINVAL;
	steal = local_queue_steal_one(&queue_of(stealer)->ring);
	if (steal.outcome == SKUA_STEAL_SUCCESS)
		*item = steal.item;
	return (int)steal.outcome;
}

int skua_stealer_steal_half(struct skua_stealer *stealer,
			    struct skua_queue *into, void **item)
{
	struct local_queue_steal steal;

	if (!item)
		return -EINVAL;
	*item = NULL;
	if (!stealer || !into || queue_of(stealer) == into)
		return -EINVAL;
	steal = local_queue_steal_into(&queue_of(stealer)->ring, &into->ring,
				       LOCAL_QUEUE_MAX_CAPACITY);
	if (steal.outcome == SKUA_STEAL_RETRY)
		return -EAGAIN;
	if (steal.outcome == SKUA_STEAL_EMPTY)
		return 0;
	*item = steal.item;
	return (int)steal.count;
}

int skua_injector_create(struct skua_injector **out)
{
	struct skua_injector *injector;

	if (!out)
		return -EINVAL;
	injector = memory_alloc(NULL, CACHE_PAIR, 1, sizeof(*injector));
	*out = injector;
	if (!injector)
		return -ENOMEM;
	inject_queue_init(&injector->queue);
	return 0;
}

void skua_injector_destroy(struct skua_injector *injector)
{
	memory_free(NULL, injector, CACHE_PAIR, 1, sizeof(*injector));
}

static struct inject_node *node_of(struct skua_node *node)
{
	static_assert(sizeof(struct skua_node) == sizeof(struct inject_node),
		      "one layout, seen as plain and as atomic");
	return (struct inject_node *)node;
}

int skua_injector_push(struct skua_injector *injector, struct skua_node *node)
{
	return skua_injector_push_batch(injector, &node, 1);
}

int skua_injector_push_batch(struct skua_injector *injector,
			     struct skua_node *const *nodes, size_t count)
{
	struct inject_list list = { NULL, NULL, 0 };

	if (!injector || (!nodes && count > 0))
		return -EINVAL;
	for (size_t i = 0; i < count; i++) {
		if (!nodes[i])
			return -EINVAL;
		inject_list_append(&list, node_of(nodes[i]));
	}
	if (count == 0)
		return 0;
	inject_queue_push(&injector->queue, &list);
	/* Orders the push before the caller's check for a sleeping thread to
	 * wake: the caller may have no fence of its own. Pairs with the fence
	 * in skua_injector_take(), by a thread that has announced its sleep and
	 * gets nothing. */
	atomic_fence_seq_cst();
	return 0;
}

size_t skua_injector_take(struct skua_injector *injector,
			  struct skua_node **nodes, size_t max)
{
	struct inject_take take;
	struct inject_node *node;
	size_t count = 0;

	if (!injector || !nodes || max == 0)
		return 0;
	take = inject_queue_take(&injector->queue, max);
	if (take.list.count == 0) {
		/*
		 * Orders the caller's announcement of its sleep, and its own
		 * pushes, before the second take. Pairs with the fence in
		 * skua_injector_push_batch(). Of the threads that push,
		 * announce a sleep or take, the one with the last fence sees
		 * what all others did before theirs.
		 */
		atomic_fence_seq_cst();
		take = inject_queue_take(&injector->queue, max);
	}
	while ((node = inject_list_pop(&take.list)) != NULL)
		nodes[count++] = (struct skua_node *)node;
	return count;
}

size_t skua_injector_length(const struct skua_injector *injector)
{
	return injector ? inject_queue_length(&injector->queue) : 0;
}
