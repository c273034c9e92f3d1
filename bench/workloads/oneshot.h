/* SPDX-License-Identifier: MIT */
/**
 * oneshot.h - one value from one task to another
 *
 * Either side may come first. One task sends, once; another receives. If the receiver
 * came first, the sender wakes it. The memory must stay in place until both tasks have
 * ended: a sender may still read it when the receiver is done.
 *
 *	EMPTY ----------> SENT     the sender came first
 *	EMPTY -> WAITING -> SENT   the receiver did; the sender wakes it
 */
#ifndef SKUA_BENCH_WORKLOADS_ONESHOT_H
#define SKUA_BENCH_WORKLOADS_ONESHOT_H

#include <stdbool.h>
#include <stdint.h>

#include "skua/skua.h"

enum { ONESHOT_EMPTY, ONESHOT_WAITING, ONESHOT_SENT };

struct oneshot {
	/* Writers: both tasks, each once. Guards the two below. */
	uint32_t state;
	struct skua_waker waker; /* of the receiver, from WAITING on */
	uint64_t value;          /* from SENT on */
};

static inline void oneshot_init(struct oneshot *oneshot)
{
	*oneshot = (struct oneshot){ .state = ONESHOT_EMPTY };
}

static inline void oneshot_send(struct oneshot *oneshot, uint64_t value)
{
	oneshot->value = value;
	/* Release: the value. Acquire: the waker. Both pair with
	 * oneshot_receive_poll(). */
	if (__atomic_exchange_n(&oneshot->state, ONESHOT_SENT,
				__ATOMIC_ACQ_REL) == ONESHOT_WAITING)
		skua_waker_wake(oneshot->waker);
}

/**
 * oneshot_receive_poll - receive, in the poll of task @self
 *
 * Return: false if there is nothing yet: return SKUA_PENDING, and call again.
 */
static inline bool oneshot_receive_poll(struct oneshot *oneshot,
					struct skua_task *self, uint64_t *value)
{
	/* Acquire: the value. Pairs with oneshot_send(). */
	uint32_t state = __atomic_load_n(&oneshot->state, __ATOMIC_ACQUIRE);

	if (state == ONESHOT_WAITING)
		return false;
	if (state == ONESHOT_EMPTY) {
		oneshot->waker = skua_task_waker(self);
		/* Release: the waker. Acquire: the value. Both pair with
		 * oneshot_send(). */
		if (__atomic_compare_exchange_n(
			    &oneshot->state, &state, ONESHOT_WAITING, false,
			    __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
			return false;
		skua_waker_drop(oneshot->waker);
	}
	*value = oneshot->value;
	return true;
}

#endif
