/* SPDX-License-Identifier: MIT */
/* test_lifo_slot.c - the slot, filled by its owner, taken by anyone */
#include "tests/lifo_thief.h"

#include <pthread.h>

#include "tests/unit/support.h"

TEST(lifo_slot__new__is_empty)
{
	struct lifo_slot slot;

	lifo_slot_init(&slot, true);
	assert_false(lifo_slot_peek(&slot));
	assert_null(lifo_slot_take_owner(&slot));
}

TEST(lifo_slot_put__empty__displaces_nothing)
{
	struct lifo_slot slot;
	int a;

	lifo_slot_init(&slot, true);
	assert_null(lifo_slot_put_owner(&slot, &a));
	assert_true(lifo_slot_peek(&slot));
	assert_true(lifo_slot_peek(&slot)); /* a look takes nothing */
	assert_ptr_equal(lifo_slot_take_owner(&slot), &a);
	assert_false(lifo_slot_peek(&slot));
	assert_null(lifo_slot_take_owner(&slot));
}

TEST(lifo_slot_put__filled__returns_the_displaced)
{
	struct lifo_slot slot;
	int a;
	int b;
	int c;

	lifo_slot_init(&slot, true);
	assert_null(lifo_slot_put_owner(&slot, &a));
	assert_ptr_equal(lifo_slot_put_owner(&slot, &b), &a);
	assert_ptr_equal(lifo_slot_put_owner(&slot, &c), &b);
	assert_ptr_equal(lifo_slot_take_owner(&slot), &c);
	assert_null(lifo_slot_put_owner(&slot, &a));
	assert_ptr_equal(lifo_slot_take_owner(&slot), &a);
	assert_null(lifo_slot_take_owner(&slot));
}

TEST(lifo_slot_take_claimed__item_still_there__is_the_thiefs)
{
	struct lifo_slot slot;
	int a;
	int b;

	lifo_slot_init(&slot, false);
	lifo_slot_put_owner(&slot, &a);
	assert_ptr_equal(lifo_thief_take(&slot, 1), &a);
	assert_false(lifo_slot_peek(&slot));
	assert_null(lifo_slot_take_owner(&slot));
	assert_null(lifo_slot_take_owner(&slot));
	lifo_slot_put_owner(&slot, &a);
	assert_ptr_equal(lifo_thief_take(&slot, 1), &a);
	assert_null(lifo_slot_put_owner(&slot, &b)); /* displaces nothing */
	assert_true(lifo_slot_peek(&slot));
	assert_true(lifo_slot_holds_owner(&slot, &b));
	assert_ptr_equal(lifo_slot_take_owner(&slot), &b);
}

TEST(lifo_slot_take_claimed__owner_was_faster__is_nobodys)
{
	struct lifo_slot slot;
	int a;
	int b;

	lifo_slot_init(&slot, false);
	lifo_slot_put_owner(&slot, &a);
	assert_true(lifo_slot_claim(&slot, 1));
	assert_false(lifo_slot_claim(&slot, 2));
	assert_ptr_equal(lifo_slot_put_owner(&slot, &b), &a);
	assert_false(lifo_slot_take_claimed(&slot, &a, 1));
	/* The claim has ended, also for the item that is there now. */
	assert_false(lifo_slot_take_claimed(&slot, &b, 1));
	assert_true(lifo_slot_claim(&slot, 2));
	lifo_slot_give_back(&slot, 2);
	assert_ptr_equal(lifo_thief_take(&slot, 3), &b);
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
		struct race_item *it = lifo_thief_take(&race->slot, 1);

		if (it)
			note(race, it);
	}
	return NULL;
}

TEST(lifo_slot__owner_beside_a_thief__each_item_once)
{
	struct race *race = calloc(1, sizeof(*race));
	unsigned displaced_wrongly = 0;
	struct race_item *last;
	pthread_t thread;

	assert_non_null(race);
	lifo_slot_init(&race->slot, membarrier_register());
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
			it = lifo_slot_take_owner(&race->slot);
			if (it)
				it->taken++;
		}
	}
	gate_open(&race->done);
	assert_int_equal(pthread_join(thread, NULL), 0);
	last = lifo_slot_take_owner(&race->slot);
	if (last)
		note(race, last);

	assert_int_equal(displaced_wrongly, 0);
	assert_int_equal(race->wrong, 0);
	for (unsigned n = 0; n < RACE_ITEMS; n++)
		assert_int_equal(race->items[n].taken, 1);
	free(race);
}
