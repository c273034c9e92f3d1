/* SPDX-License-Identifier: MIT */
/**
 * oneshot.h - a channel that carries one value from one task to another
 *
 * One task sends once; another task receives. Either may come first. If the receiver
 * came first, the sender wakes it. The memory must stay in place until both tasks have
 * ended, because the sender may still read it when the receiver is done.
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
	/* Writers: both tasks, each once. Guards @waker and @value. */
	uint32_t state;
	struct skua_waker waker; /* the receiver's; valid from WAITING on */
	uint64_t value;          /* valid from SENT on */
};

static inline void oneshot_init(struct oneshot *oneshot)
{
	*oneshot = (struct oneshot){ .state = ONESHOT_EMPTY };
}

static inline void oneshot_send(struct oneshot *oneshot, uint64_t value)
{
	oneshot->value = value;
	/* Release: publishes the value. Acquire: reads the waker. Both pair with
	 * the accesses of @state in oneshot_receive_poll(). */
	if (__atomic_exchange_n(&oneshot->state, ONESHOT_SENT,
				__ATOMIC_ACQ_REL) == ONESHOT_WAITING)
		skua_waker_wake(oneshot->waker);
}

/**
 * oneshot_receive_poll - try to receive, in the poll of task @self
 * @value: receives the value
 *
 * Return: true if there was a value. False if it has not been sent yet: the poll must
 * return SKUA_PENDING, and call this again when the task is woken.
 */
static inline bool oneshot_receive_poll(struct oneshot *oneshot,
					struct skua_task *self, uint64_t *value)
{
	/* Acquire: reads the value. Pairs with the release in oneshot_send(). */
	uint32_t state = __atomic_load_n(&oneshot->state, __ATOMIC_ACQUIRE);

	if (state == ONESHOT_WAITING)
		return false;
	if (state == ONESHOT_EMPTY) {
		oneshot->waker = skua_task_waker(self);
		/* Release: publishes the waker. Acquire (on failure too): reads
		 * the value. Both pair with the exchange in oneshot_send(). */
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
