/* SPDX-License-Identifier: MIT */
/**
 * model_deque_mistakes.c - what is wrong with a deque is found
 *
 * Mistakes, among them those of other schedulers, each as a small variant of an
 * operation of core/queue/deque.c, beside others that are right.
 * The explorer must find them, also by plain accesses to buffers: see explore_watch().
 * model_deque.c has the cases without.
 *
 *   cc -std=gnu11 -O2 -I. -Iinclude -include tests/model/explore.h \
 *      -fsanitize=thread tests/model/model_deque_mistakes.c \
 *      tests/model/explore*.c -o model_deque_mistakes
 */
#include "tests/model/deques.h"

/* ---- setups -------------------------------------------------------------- */

static void setup_zero(void)
{
	setup(LARGE, 0, 0);
}

/* ---- variants that are wrong --------------------------------------------- */

/* Another thread pushes as if it was the owner. */
static void pushes_as_well(void)
{
	struct item *item = &items[ITEMS - 1];
	struct history_op *op;

	as(2);
	op = call();
	explore_write(item->payload, 7);
	deque_push_owner(&deque, item);
	history_return(op, PUSH, 0, item->number);
}

static void pushes_alone(void)
{
	as(1);
	push_one();
}

/* The buffer that was outgrown is freed at once. */
static void frees_outgrown(void)
{
	struct deque_buffer *buffer;

	as(1);
	push_one();
	buffer = buffer_owner(&deque);
	buffer_free(&allocator, buffer->older);
	buffer->older = NULL;
}

/* A pop of which each part can be left out. */
struct pop {
	bool unfenced;
	bool unpublished;   /* bottom is stored relaxed, and not by a fence */
	bool without_claim; /* the last item is not claimed */
	bool forgets_when_won; /* bottom is not restored */
	bool forgets_when_lost;
};

static struct item *pop_broken(struct pop how)
{
	uint64_t bottom = bottom_owner(&deque);
	struct item *item;
	uint64_t top;

	if (how.unpublished)
		atomic_store_relaxed(&deque.bottom, bottom - 1);
	else
		atomic_store_release(&deque.bottom, bottom - 1);
	if (!how.unfenced)
		atomic_fence_seq_cst();
	top = atomic_load_relaxed(&deque.top);
	if (distance(top, bottom) > (how.without_claim ? 0 : 1))
		return slot_load(buffer_owner(&deque), bottom - 1);
	item = take_oldest_owner(&deque, top, bottom);
	if (!(item ? how.forgets_when_won : how.forgets_when_lost))
		atomic_store_release(&deque.bottom, bottom);
	return item;
}

static void pops_by(struct pop how)
{
	struct history_op *op;

	as(1);
	op = call();
	took(op, TAKE_NEWEST, pop_broken(how));
}

static void pops_with_all(void)
{
	pops_by((struct pop){ .unfenced = false });
	push_one();
	pops_by((struct pop){ .unfenced = false });
}

static void pops_unfenced(void)
{
	pops_by((struct pop){ .unfenced = true });
}

static void pushes_and_pops_unpublished(void)
{
	as(1);
	push_more(2);
	pops_by((struct pop){ .unpublished = true });
}

static void pops_without_claim(void)
{
	pops_by((struct pop){ .without_claim = true });
}

/* The pop of the last item does not restore bottom: the next push is lost. */
static void pops_and_forgets(void)
{
	pops_by((struct pop){ .forgets_when_won = true });
	push_one();
}

static void pops_and_forgets_when_lost(void)
{
	pops_by((struct pop){ .forgets_when_lost = true });
	push_one();
}

/* W4: a thief that sees this top may have seen a bottom from long before, and says
 * that there is nothing where there was always something. */
static void pops_oldest_relaxed(void)
{
	uint64_t top = atomic_load_relaxed(&deque.top);
	struct history_op *op = call();
	struct item *item = slot_load(buffer_owner(&deque), top);

	if (atomic_cas_relaxed(&deque.top, &top, top + 1))
		took(op, TAKE_OLDEST, item);
}

static void takes_the_oldest_relaxed(void)
{
	as(1);
	push_more(2);
	pops_oldest_relaxed();
	pops_oldest_relaxed();
}

/* Positions without a sign: the -1 of a pop that finds nothing is a huge
 * one. */
static struct deque_steal steal_unsigned(struct deque *d)
{
	uint64_t top = atomic_load_acquire(&d->top);
	struct deque_steal steal = { .outcome = SKUA_STEAL_EMPTY };

	atomic_fence_seq_cst();
	if (top >= atomic_load_acquire(&d->bottom))
		return steal;
	steal.item = slot_load(atomic_load_acquire(&d->buffer), top);
	if (atomic_cas_release(&d->top, &top, top + 1))
		steal.outcome = SKUA_STEAL_SUCCESS;
	return steal;
}

static void steals_unsigned(void)
{
	as(2);
	steal_by(steal_unsigned);
}

/* Top may be older than bottom. */
static struct deque_steal steal_unfenced(struct deque *d)
{
	uint64_t top = atomic_load_acquire(&d->top);
	struct deque_steal steal = { .outcome = SKUA_STEAL_EMPTY };

	if (distance(top, atomic_load_acquire(&d->bottom)) <= 0)
		return steal;
	steal.item = slot_load(atomic_load_acquire(&d->buffer), top);
	if (atomic_cas_release(&d->top, &top, top + 1))
		steal.outcome = SKUA_STEAL_SUCCESS;
	return steal;
}

static void steals_unfenced(void)
{
	as(2);
	steal_by(steal_unfenced);
	steal_by(steal_unfenced);
}

/* Reads the slot after its claim, when the owner may write it again. */
static struct deque_steal steal_late(struct deque *d)
{
	uint64_t top = atomic_load_acquire(&d->top);
	struct deque_steal steal = { .outcome = SKUA_STEAL_EMPTY };
	struct deque_buffer *buffer;

	atomic_fence_seq_cst();
	if (distance(top, atomic_load_acquire(&d->bottom)) <= 0)
		return steal;
	buffer = atomic_load_acquire(&d->buffer);
	if (atomic_cas_release(&d->top, &top, top + 1)) {
		steal.outcome = SKUA_STEAL_SUCCESS;
		steal.item = slot_load(buffer, top);
	}
	return steal;
}

static void steals_late(void)
{
	as(2);
	steal_by(steal_late);
}

/* Takes the item out of its slot before its claim, which may fail. */
static struct deque_steal steal_early(struct deque *d)
{
	uint64_t top = atomic_load_acquire(&d->top);
	struct deque_steal steal = { .outcome = SKUA_STEAL_EMPTY };
	struct deque_buffer *buffer;

	atomic_fence_seq_cst();
	if (distance(top, atomic_load_acquire(&d->bottom)) <= 0)
		return steal;
	buffer = atomic_load_acquire(&d->buffer);
	steal.item = atomic_exchange_acq_rel(slot_of(buffer, top), NULL);
	if (atomic_cas_release(&d->top, &top, top + 1))
		steal.outcome = SKUA_STEAL_SUCCESS;
	return steal;
}

static void steals_early(void)
{
	as(2);
	steal_by(steal_early);
}

/* ---- cases --------------------------------------------------------------- */

static const struct explore_case cases[] = {
	{ EXPLORE_PASS("nothing_left_out", setup_two, check, pops_with_all,
		       steals_twice) },

	{ EXPLORE_BUG("two_owners", "data race: two writes", setup_one, check,
		      pushes_alone, pushes_as_well) },
	{ EXPLORE_BUG("outgrown_freed", "data race", setup_small, check,
		      frees_outgrown, steals) },
	{ EXPLORE_BUG("pop_unfenced", "takes == 0", setup_two, check,
		      pops_unfenced, steals_twice) },
	{ EXPLORE_BUG("steal_unfenced", "takes == 0", setup_three, check,
		      pops_and_pushes, steals_unfenced, second_steals) },
	{ EXPLORE_BUG("popped_bottom_relaxed", "data race", setup_empty, check,
		      pushes_and_pops_unpublished, steals) },
	{ EXPLORE_BUG("last_item_not_claimed", "takes == 0", setup_one, check,
		      pops_without_claim, steals) },
	{ EXPLORE_BUG("bottom_not_restored_when_won", "takes == 1", setup_one,
		      check, pops_and_forgets) },
	{ EXPLORE_BUG("bottom_not_restored_when_lost", "takes == 1", setup_one,
		      check, pops_and_forgets_when_lost, steals) },
	{ EXPLORE_BUG("positions_without_sign", "data race", setup_zero, check,
		      pops_with_all, steals_unsigned) },
	{ EXPLORE_BUG("oldest_claimed_relaxed", "history_linearizable",
		      setup_two, check, takes_the_oldest_relaxed, steals) },
	{ EXPLORE_BUG("slot_read_after_the_claim", "data race", setup_three,
		      check, reuses_slots, steals_late) },
	{ EXPLORE_BUG("taken_before_the_claim", "takes == 1", setup_two, check,
		      pops, steals_early, second_steals) },
};

EXPLORE_MAIN(cases)
