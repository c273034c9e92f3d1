/* SPDX-License-Identifier: MIT */
/* deque_api.c - the public work-stealing deque, accessed by counted handles */
#include <assert.h>
#include <errno.h>

#include "core/queue/deque.h"
#include "core/base/memory.h"

#define DEFAULT_CAPACITY 256u

/* The one object that handles of both kinds refer to: skua_deque and
 * skua_deque_stealer. */
struct skua_deque {
	/* Number of handles of both kinds. Writers and readers: any thread that
	 * holds a handle. */
	atomic_u64 handles;
	/* Constant after init. */
	enum skua_deque_order order;
	struct deque deque;
};

static struct skua_deque *deque_of(struct skua_deque_stealer *stealer)
{
	return (struct skua_deque *)stealer;
}

/* Return one more handle. The caller holds a handle, so that the count is not
 * zero. */
static struct skua_deque_stealer *new_stealer(struct skua_deque *deque)
{
	/* Relaxed: the thread that passes the new handle on publishes it. */
	atomic_fetch_add_relaxed(&deque->handles, 1);
	return (struct skua_deque_stealer *)deque;
}

static void free_deque(struct skua_deque *deque)
{
	memory_free(NULL, deque, CACHE_PAIR, 1, sizeof(*deque));
}

static void drop_handle(struct skua_deque *deque)
{
	/* Release: the uses through this handle come before the free. Acquire:
	 * the uses through all other handles come before it, too. Pairs with
	 * itself. */
	if (atomic_fetch_sub_acq_rel(&deque->handles, 1) != 1)
		return;
	deque_destroy(&deque->deque);
	free_deque(deque);
}

int skua_deque_create(struct skua_deque **out, enum skua_deque_order order,
		      uint32_t capacity)
{
	struct skua_deque *deque;

	if (!out)
		return -EINVAL;
	*out = NULL;
	if (capacity == 0)
		capacity = DEFAULT_CAPACITY;
	if (!deque_capacity_valid(capacity) ||
	    (order != SKUA_DEQUE_LIFO && order != SKUA_DEQUE_FIFO))
		return -EINVAL;
	deque = memory_alloc(NULL, CACHE_PAIR, 1, sizeof(*deque));
	if (!deque)
		return -ENOMEM;
	if (deque_init(&deque->deque, capacity, 0, NULL) != 0) {
		free_deque(deque);
		return -ENOMEM;
	}
	atomic_init(&deque->handles, 1);
	deque->order = order;
	*out = deque;
	return 0;
}

void skua_deque_destroy(struct skua_deque *deque)
{
	if (deque)
		drop_handle(deque);
}

int skua_deque_push(struct skua_deque *deque, void *item)
{
	if (!deque || !item)
		return -EINVAL;
	return deque_push_owner(&deque->deque, item);
}

void *skua_deque_pop(struct skua_deque *deque)
{
	if (!deque)
		return NULL;
	return deque->order == SKUA_DEQUE_FIFO
		       ? deque_pop_oldest_owner(&deque->deque)
		       : deque_pop_owner(&deque->deque);
}

size_t skua_deque_length(const struct skua_deque *deque)
{
	return deque ? deque_length(&deque->deque) : 0;
}

struct skua_deque_stealer *skua_deque_stealer_create(struct skua_deque *deque)
{
	return deque ? new_stealer(deque) : NULL;
}

struct skua_deque_stealer *
skua_deque_stealer_clone(struct skua_deque_stealer *stealer)
{
	return stealer ? new_stealer(deque_of(stealer)) : NULL;
}

void skua_deque_stealer_drop(struct skua_deque_stealer *stealer)
{
	if (stealer)
		drop_handle(deque_of(stealer));
}

int skua_deque_stealer_steal(struct skua_deque_stealer *stealer, void **item)
{
	struct deque_steal steal;

	if (!item)
		return -EINVAL;
	*item = NULL;
	if (!stealer)
		return -EINVAL;
	steal = deque_steal(&deque_of(stealer)->deque);
	if (steal.outcome == SKUA_STEAL_SUCCESS)
		*item = steal.item;
	return (int)steal.outcome;
}
