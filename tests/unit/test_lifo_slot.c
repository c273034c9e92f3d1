/* SPDX-License-Identifier: MIT */
/* test_lifo_slot.c - the slot, filled by its owner, taken by anyone */
#include "core/queue/lifo_slot.h"

#include <pthread.h>

#include "tests/unit/support.h"

TEST(lifo_slot__new__is_empty)
{
	struct lifo_slot slot;

	lifo_slot_init(&slot);
	assert_false(lifo_slot_peek(&slot));
	assert_null(lifo_slot_take(&slot));
}

TEST(lifo_slot_put__empty__displaces_nothing)
{
	struct lifo_slot slot;
	int a;

	lifo_slot_init(&slot);
	assert_null(lifo_slot_put_owner(&slot, &a));
	assert_true(lifo_slot_peek(&slot));
	assert_true(lifo_slot_peek(&slot)); /* a look takes nothing */
	assert_ptr_equal(lifo_slot_take(&slot), &a);
	assert_false(lifo_slot_peek(&slot));
	assert_null(lifo_slot_take(&slot));
}

TEST(lifo_slot_put__filled__returns_the_displaced)
{
	struct lifo_slot slot;
	int a;
	int b;
	int c;

	lifo_slot_init(&slot);
	assert_null(lifo_slot_put_owner(&slot, &a));
	assert_ptr_equal(lifo_slot_put_owner(&slot, &b), &a);
	assert_ptr_equal(lifo_slot_put_owner(&slot, &c), &b);
	assert_ptr_equal(lifo_slot_take(&slot), &c);
	assert_null(lifo_slot_put_owner(&slot, &a));
	assert_ptr_equal(lifo_slot_take(&slot), &a);
	assert_null(lifo_slot_take(&slot));
}

#define RACE_ITEMS 200000u

struct race_item {
	unsigned payload; /* written before the put, read after the take */
	unsigned taken;
};

struct race {
	struct lifo_slot slot;
	struct gate begun;
	struct gate done;
	struct race_item items[RACE_ITEMS];
	unsigned wrong;
};

static void note(struct race *race, struct race_item *it)
{
	if (it->payload != (unsigned)(it - race->items) + 1)
		race->wrong++;
	it->taken++;
}

static void *thief(void *arg)
{
	struct race *race = arg;

	gate_open(&race->begun);
	while (!gate_is_open(&race->done)) {
		struct race_item *it = lifo_slot_take(&race->slot);

		if (it)
			note(race, it);
	}
	return NULL;
}

TEST(lifo_slot__owner_beside_a_thief__each_item_once)
{
	struct race *race = calloc(1, sizeof(*race));
	unsigned displaced_wrongly = 0;
	pthread_t thread;

	assert_non_null(race);
	lifo_slot_init(&race->slot);
	assert_int_equal(pthread_create(&thread, NULL, thief, race), 0);
	gate_wait(&race->begun);
	for (unsigned n = 0; n < RACE_ITEMS; n++) {
		struct race_item *it = &race->items[n];

		it->payload = n + 1;
		it = lifo_slot_put_owner(&race->slot, it);
		if (it) {
			displaced_wrongly += it->payload != n;
			it->taken++;
		}
		/* So that the two do run beside each other. */
		while (n % 64 == 0 && lifo_slot_peek(&race->slot))
			sched_yield();
		if (n % 3 == 0) {
			it = lifo_slot_take(&race->slot);
			if (it)
				it->taken++;
		}
	}
	gate_open(&race->done);
	assert_int_equal(pthread_join(thread, NULL), 0);
	if (lifo_slot_peek(&race->slot))
		note(race, lifo_slot_take(&race->slot));

	assert_int_equal(displaced_wrongly, 0);
	assert_int_equal(race->wrong, 0);
	for (unsigned n = 0; n < RACE_ITEMS; n++)
		assert_int_equal(race->items[n].taken, 1);
	free(race);
}
