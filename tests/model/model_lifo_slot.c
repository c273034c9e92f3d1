/* SPDX-License-Identifier: MIT */
/**
 * model_lifo_slot.c - core/queue/lifo_slot.h in every interleaving
 *
 * An owner that fills and takes, beside thieves that take. Every item leaves
 * the slot once, displaced or taken, and its taker sees its payload. An item
 * may come back to the slot.
 *
 *   cc -std=gnu11 -O2 -I. -Iinclude -include tests/model/explore.h \
 *      tests/model/model_lifo_slot.c tests/model/explore*.c \
 *      -o model_lifo_slot
 */
#include "core/queue/lifo_slot.h"

#include <string.h>

#include "core/os/membarrier.h"

#define ITEMS 4

struct item {
	unsigned payload;
	unsigned puts;
	unsigned runs;
};

static struct lifo_slot slot;
static struct item items[ITEMS];

static void setup_slot(bool heavy)
{
	lifo_slot_init(&slot, heavy);
	memset(items, 0, sizeof(items));
}

static void setup(void)
{
	setup_slot(true);
}

/* Without membarrier: both sides fence. */
static void setup_fences(void)
{
	setup_slot(false);
}

static void run(struct item *item)
{
	if (!item)
		return;
	explore_assert(explore_read(item->payload) == 7);
	item->runs++;
	explore_assert(item->runs <= item->puts);
	explore_write(item->payload, 0);
}

static void put_by(void *(*put)(struct lifo_slot *, void *), unsigned i)
{
	explore_write(items[i].payload, 7);
	items[i].puts++;
	run(put(&slot, &items[i]));
}

static void put(unsigned i)
{
	put_by(lifo_slot_put_owner, i);
}

static void take(void)
{
	run(lifo_slot_take_owner(&slot));
}

static void setup_filled(void)
{
	setup();
	put(0);
}

static void setup_filled_fences(void)
{
	setup_fences();
	put(0);
}

/* ---- thieves ------------------------------------------------------------- */

enum wrong {
	NOTHING_WRONG,
	NO_FENCE,
	FENCES_FIRST,     /* then claims */
	FENCES_ALONE,     /* although the owner relies on its fence */
	DOES_NOT_RECHECK, /* that the item is still there */
	RECHECKS_RELAXED,
	TAKES_UNCLAIMED, /* although the owner may have ended its claim */
};

static bool take_claimed(struct item *item, uint32_t thief, enum wrong wrong)
{
	if (wrong == RECHECKS_RELAXED || wrong == DOES_NOT_RECHECK) {
		if (atomic_load_relaxed(&slot.item) != item &&
		    wrong != DOES_NOT_RECHECK) {
			lifo_slot_give_back(&slot, thief);
			return false;
		}
		return atomic_cas_release(&slot.claim, &thief, LIFO_SLOT_TAKEN);
	}
	if (wrong == TAKES_UNCLAIMED) {
		if (atomic_load_acquire(&slot.item) != item)
			return false;
		atomic_store_release(&slot.claim, LIFO_SLOT_TAKEN);
		return true;
	}
	return lifo_slot_take_claimed(&slot, item, thief);
}

/* As the sentinel does. */
static void steal_by(uint32_t thief, enum wrong wrong)
{
	struct item *item = lifo_slot_seen(&slot);

	if (!item)
		return;
	if (wrong == FENCES_FIRST)
		membarrier_fence();
	if (!lifo_slot_claim(&slot, thief))
		return;
	if (wrong != NO_FENCE && wrong != FENCES_FIRST)
		membarrier_or_fence(!slot.owner_fences &&
				    wrong != FENCES_ALONE);
	if (take_claimed(item, thief, wrong))
		run(item);
}

static void steal(void)
{
	steal_by(1, NOTHING_WRONG);
}

static void steal_twice(void)
{
	steal();
	steal();
}

static void steal_as_another(void)
{
	steal_by(2, NOTHING_WRONG);
}

/* A thief that the kernel refuses its fence. */
static void claim_and_give_back(void)
{
	if (lifo_slot_seen(&slot) && lifo_slot_claim(&slot, 1))
		lifo_slot_give_back(&slot, 1);
}

static void steal_unfenced(void)
{
	steal_by(1, NO_FENCE);
}

static void steal_fenced_first(void)
{
	steal_by(1, FENCES_FIRST);
}

static void steal_fenced_alone(void)
{
	steal_by(1, FENCES_ALONE);
}

static void steal_unchecked(void)
{
	steal_by(1, DOES_NOT_RECHECK);
}

static void steal_checked_relaxed(void)
{
	steal_by(1, RECHECKS_RELAXED);
}

static void steal_unclaimed(void)
{
	steal_by(1, TAKES_UNCLAIMED);
}

/* ---- the owner ----------------------------------------------------------- */

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

/* As a poll that joins its child. */
static void owner_takes_seen(void)
{
	put(1);
	if (lifo_slot_holds_owner(&slot, &items[1]))
		take();
	put(2);
}

/* An item comes back: to the empty slot, and in place of another. */
static void owner_refills(void)
{
	struct item *item = lifo_slot_take_owner(&slot);

	run(item);
	if (!item)
		return;
	put(0);
	item = lifo_slot_take_owner(&slot);
	run(item);
	put(1);
	if (item)
		put(0);
}

/* The claim is read before the slot is emptied. */
static void *take_claim_first(struct lifo_slot *s)
{
	void *item = atomic_load_relaxed(&s->item);
	bool claimed = atomic_load_relaxed(&s->claim) != 0;

	if (!item)
		return NULL;
	atomic_store_relaxed(&s->item, NULL);
	return claimed && !lifo_slot_withdraw_owner(s) ? NULL : item;
}

static void owner_checks_first(void)
{
	run(take_claim_first(&slot));
}

/* One store of the new item, instead of two. */
static void *displace_by_one_store(struct lifo_slot *s, void *item)
{
	void *displaced = atomic_load_relaxed(&s->item);

	atomic_store_release(&s->item, item);
	atomic_fence_compiler();
	return atomic_load_relaxed(&s->claim) != 0 &&
			       !lifo_slot_withdraw_owner(s)
		       ? NULL
		       : displaced;
}

static void owner_displaces_by_one_store(void)
{
	put_by(displace_by_one_store, 1);
}

/* A displaced item is taken for the owner's without a check. */
static void *displace_unchecked(struct lifo_slot *s, void *item)
{
	void *displaced = atomic_load_relaxed(&s->item);

	atomic_store_release(&s->item, item);
	return displaced;
}

static void owner_displaces_unchecked(void)
{
	put_by(displace_unchecked, 1);
}

/* A claim is believed to be the loss of the item. */
static void owner_believes_claims(void)
{
	struct item *item = atomic_load_relaxed(&slot.item);

	atomic_store_relaxed(&slot.item, NULL);
	if (atomic_load_relaxed(&slot.claim) == 0)
		run(item);
	else
		atomic_store_relaxed(&slot.claim, 0);
}

static void check(void)
{
	take();
	explore_assert(!lifo_slot_peek(&slot) && !lifo_slot_seen(&slot));
	explore_assert(atomic_load_relaxed(&slot.claim) == 0);
	for (unsigned i = 0; i < ITEMS; i++)
		explore_assert(items[i].runs == items[i].puts);
}

/* Another thread fills the slot, too. */
static void other_fills(void)
{
	put(1);
}

static void owner_fills(void)
{
	put(0);
	put(2);
}

static const struct explore_case cases[] = {
	{ EXPLORE_PASS("fill_and_take__thief", setup, check,
		       owner_fills_and_takes, steal_twice) },
	{ EXPLORE_PASS("fill_and_take__two_thieves", setup, check,
		       owner_fills_and_takes, steal, steal_as_another) },
	{ EXPLORE_PASS("fill_and_take__refused_fence", setup, check,
		       owner_fills_and_takes, claim_and_give_back,
		       steal_as_another) },
	{ EXPLORE_PASS("displace__two_thieves", setup_filled, check,
		       owner_displaces, steal_twice, steal_as_another) },
	{ EXPLORE_PASS("take_seen__two_thieves", setup_filled, check,
		       owner_takes_seen, steal, steal_as_another) },
	{ EXPLORE_PASS("refill__thief", setup_filled, check, owner_refills,
		       steal_twice) },
	{ EXPLORE_PASS("refill__two_thieves", setup_filled, check,
		       owner_refills, steal, steal_as_another) },

	{ EXPLORE_PASS("fences__fill_and_take__two_thieves", setup_fences,
		       check, owner_fills_and_takes, steal, steal_as_another) },
	{ EXPLORE_PASS("fences__refill__two_thieves", setup_filled_fences,
		       check, owner_refills, steal, steal_as_another) },

	{ EXPLORE_BUG("filled_by_another", "data race", setup, check,
		      owner_fills, other_fills) },
	{ EXPLORE_BUG("thief_does_not_fence", "item->payload", setup_filled,
		      check, owner_displaces, steal_unfenced) },
	{ EXPLORE_BUG("thief_fences_before_it_claims", "item->payload",
		      setup_filled, check, owner_displaces,
		      steal_fenced_first) },
	{ EXPLORE_BUG("thief_fences_for_itself", "item->payload", setup_filled,
		      check, owner_displaces, steal_fenced_alone) },
	{ EXPLORE_BUG("thief_does_not_recheck", "item->payload", setup_filled,
		      check, owner_displaces, steal_unchecked) },
	{ EXPLORE_BUG("thief_rechecks_relaxed", "data race", setup_filled,
		      check, owner_refills, steal_checked_relaxed) },
	{ EXPLORE_BUG("thief_takes_without_its_claim", "item->payload",
		      setup_filled, check, owner_displaces, steal_unclaimed) },
	{ EXPLORE_BUG("two_thieves_of_one_number", "item->payload",
		      setup_filled, check, owner_refills, steal, steal) },
	{ EXPLORE_BUG("owner_checks_the_claim_first", "item->payload",
		      setup_filled, check, owner_checks_first, steal) },
	{ EXPLORE_BUG("owner_displaces_by_one_store", "item->payload",
		      setup_filled, check, owner_displaces_by_one_store,
		      steal) },
	{ EXPLORE_BUG("owner_does_not_check_when_it_displaces", "item->payload",
		      setup_filled, check, owner_displaces_unchecked, steal) },
	{ EXPLORE_BUG("owner_believes_claims", "items[i].runs", setup_filled,
		      check, owner_believes_claims, steal) },
};

EXPLORE_MAIN(cases)
