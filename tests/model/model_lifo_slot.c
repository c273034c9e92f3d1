/* SPDX-License-Identifier: MIT */
/**
 * model_lifo_slot.c - core/queue/lifo_slot.h in every interleaving
 *
 * An owner that fills and takes, beside thieves that take. Every item leaves
 * the slot once, displaced or taken, and its taker sees its payload.
 *
 *   cc -std=gnu11 -O2 -I. -Iinclude -include tests/model/explore.h \
 *      tests/model/model_lifo_slot.c tests/model/explore*.c \
 *      -o model_lifo_slot
 */
#include "core/queue/lifo_slot.h"

#include <string.h>

#define ITEMS 3

struct item {
	unsigned payload;
	unsigned runs;
};

static struct lifo_slot slot;
static struct item items[ITEMS];

static void setup(void)
{
	lifo_slot_init(&slot);
	memset(items, 0, sizeof(items));
}

static void run(struct item *item)
{
	if (!item)
		return;
	explore_assert(explore_read(item->payload) == 7);
	explore_assert(item->runs == 0);
	item->runs++;
}

static void put(unsigned i)
{
	explore_write(items[i].payload, 7);
	run(lifo_slot_put_owner(&slot, &items[i]));
}

static void setup_filled(void)
{
	setup();
	put(0);
}

static void take(void)
{
	run(lifo_slot_take(&slot));
}

static void take_twice(void)
{
	take();
	take();
}

/* As the sentinel does. */
static void take_seen(void)
{
	struct item *item = lifo_slot_seen(&slot);

	if (item && lifo_slot_take_seen(&slot, item))
		run(item);
}

static void owner_fills_and_takes(void)
{
	put(0);
	take();
	put(1);
	put(2); /* displaces, if no thief was faster */
	take();
}

static void owner_displaces(void)
{
	put(1);
	put(2);
}

static void check(void)
{
	take();
	explore_assert(!lifo_slot_peek(&slot));
	for (unsigned i = 0; i < ITEMS; i++)
		explore_assert(items[i].runs == 1);
}

/* Design 4.7: another thread fills the slot, too. */
static void other_fills(void)
{
	put(1);
}

static void owner_fills(void)
{
	put(0);
	put(2);
}

/* A take that is no exchange. */
static void take_by_load_and_store(void)
{
	struct item *item = atomic_load_acquire(&slot.item);

	if (item)
		atomic_store_relaxed(&slot.item, NULL);
	run(item);
}

static void take_relaxed(void)
{
	run(atomic_exchange_explicit(&slot.item, NULL, memory_order_relaxed));
}

static const struct explore_case cases[] = {
	{ EXPLORE_PASS("fill_and_take__thief", setup, check,
		       owner_fills_and_takes, take_twice) },
	{ EXPLORE_PASS("fill_and_take__two_thieves", setup, check,
		       owner_fills_and_takes, take_twice, take_twice) },
	{ EXPLORE_PASS("fill_and_take__seen", setup, check,
		       owner_fills_and_takes, take_seen, take) },
	{ EXPLORE_PASS("displace__two_thieves", setup_filled, check,
		       owner_displaces, take_twice, take) },

	{ EXPLORE_BUG("design_4_7__filled_by_another", "data race", setup,
		      check, owner_fills, other_fills) },
	{ EXPLORE_BUG("taken_by_load_and_store", "item->runs == 0",
		      setup_filled, check, owner_displaces,
		      take_by_load_and_store) },
	{ EXPLORE_BUG("taken_relaxed", "data race", setup_filled, check,
		      owner_displaces, take_relaxed) },
};

EXPLORE_MAIN(cases)
