/* SPDX-License-Identifier: MIT */
/* race.h - the owner of a queue beside a thief: each item comes out once */
#ifndef SKUA_TESTS_UNIT_RACE_H
#define SKUA_TESTS_UNIT_RACE_H

#include <pthread.h>

#include "tests/unit/support.h"

#define RACE_ITEMS 100000u /* numbered from 1 */

struct race {
	int (*steal)(void *from, void **item); /* SKUA_STEAL_… */
	void *from;
	bool in_order; /* what is stolen */
	struct gate begun;
	struct gate over; /* nothing more is pushed */
	pthread_t thief;
	uint8_t popped[RACE_ITEMS];
	uint8_t stolen[RACE_ITEMS];
};

static inline void *race_steal(void *arg)
{
	struct race *it = arg;
	uintptr_t last = 0;
	void *got;

	gate_open(&it->begun);
	for (;;) {
		bool over = gate_is_open(&it->over);
		int outcome = it->steal(it->from, &got);

		if (outcome == SKUA_STEAL_SUCCESS) {
			if (it->in_order)
				assert_true((uintptr_t)got > last);
			last = (uintptr_t)got;
			it->stolen[last - 1]++;
		} else if (outcome == SKUA_STEAL_EMPTY && over) {
			return NULL;
		}
	}
}

/* race_new - returns when the thief steals by @steal from @from */
static inline struct race *race_new(int (*steal)(void *, void **), void *from,
				    bool in_order)
{
	struct race *it = calloc(1, sizeof(*it));

	assert_non_null(it);
	it->steal = steal;
	it->from = from;
	it->in_order = in_order;
	assert_int_equal(pthread_create(&it->thief, NULL, race_steal, it), 0);
	gate_wait(&it->begun);
	return it;
}

/* race_popped - the owner has got that, or NULL */
static inline void race_popped(struct race *it, const void *got)
{
	if (got)
		it->popped[(uintptr_t)got - 1]++;
}

/* race_end - let the thief take the rest, and count */
static inline void race_end(struct race *it)
{
	gate_open(&it->over);
	assert_int_equal(pthread_join(it->thief, NULL), 0);
	for (unsigned n = 0; n < RACE_ITEMS; n++)
		assert_int_equal(it->popped[n] + it->stolen[n], 1);
	free(it);
}

#endif
