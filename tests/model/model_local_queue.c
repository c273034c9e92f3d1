/* SPDX-License-Identifier: MIT */
/**
 * model_local_queue.c - core/queue/local_queue.h in every interleaving
 *
 * Three workers with a queue of four slots each. An item carries a plain
 * payload, written by its spawner and read by its runner, so that each
 * run also proves that the spawn happened before it. Checked in each case:
 *
 *   W1  every item is run, at the latest when all threads are done
 *   W2  no item is run twice
 *   W3  what one worker takes from one queue, it runs in the order of pushing
 *   Q1  no queue holds more than its capacity; no steal stays pending
 *
 * The positions start just below 2^48, where head wraps, except in one case
 * where they start just below 2^64, where tail wraps too.
 *
 * The last cases are defects that other schedulers have had, each as a
 * small variant of an operation; the explorer must find them.
 *
 *   cc -std=gnu11 -O2 -I. -Iinclude -include tests/model/explore.h \
 *      tests/model/model_local_queue.c tests/model/explore*.c \
 *      -o model_local_queue
 *
 * The core file is included, not linked: the variants reach its inner parts.
 */
#include "tests/model/slots.h"

#include "core/queue/local_queue.c"

#include <string.h>

#define CAPACITY LOCAL_QUEUE_MIN_CAPACITY
#define LARGE    8 /* the capacity of a victim with more than its thief holds */
#define ITEMS    12
#define LIMIT    32 /* of a steal: more than there ever is */

struct item {
	unsigned id; /* 1 to ITEMS, in order of pushing to one queue */
	unsigned payload;
};

/* A worker's queue, with room for its slots. */
union ring {
	struct local_queue q;
	unsigned char
		bytes[sizeof(struct local_queue) + LARGE * sizeof(atomic_ptr)];
};

struct worker {
	unsigned newest; /* the last one run of those taken from one queue */
	struct item *spilled[ITEMS]; /* stands for the injection queue */
	unsigned spilled_count;
	/* Its operation under way: */
	bool claimed;                /* its compare-exchange succeeded */
	const volatile void *looked; /* before that, at this slot */
	uint16_t mark;               /* when */
	union ring ring;
};

static struct worker a, b, c;
static struct worker *self; /* one for each thread; NULL: no notes of slots */
static struct item items[ITEMS + 1]; /* the first is not used */
static unsigned runs[ITEMS + 1];

/* ---- slots --------------------------------------------------------------- */

/*
 * A slot is written again only after its claimer has read it (Q2). The
 * explorer's loads never return a store that is executed later, as processors'
 * may; so the slots' accesses are checked for races, as if they were plain: a
 * read has to happen before the write. A thief's look before its claim is a
 * read if the claim succeeds.
 */
static void slot_loaded(const volatile void *slot, const char *function)
{
	if (!self || strcmp(function, "local_queue_slot_load") != 0)
		return;
	self->looked = slot;
	self->mark = explore_race_mark();
	if (self->claimed)
		explore_race_read_at(slot, self->mark, EXPLORE_SITE("slot"));
}

static void slot_stored(const volatile void *slot, const char *function)
{
	if (self && strcmp(function, "local_queue_slot_store") == 0)
		explore_race_write(slot, EXPLORE_SITE("slot"));
}

static bool slot_claimed(bool success)
{
	if (!self || !success)
		return success;
	self->claimed = true;
	if (self->looked)
		explore_race_read_at(self->looked, self->mark,
				     EXPLORE_SITE("slot"));
	return true;
}

/* Worker @w begins an operation. */
static void begin(struct worker *w)
{
	self = w;
	w->claimed = false;
	w->looked = NULL;
}

/* ---- what workers do ---------------------------------------------------- */

static void run(struct worker *w, struct item *item)
{
	explore_assert(item >= &items[1] && item <= &items[ITEMS]);
	explore_assert(explore_read(item->payload) == item->id * 7);
	explore_assert(runs[item->id] == 0); /* W2 */
	runs[item->id]++;
	explore_assert(item->id > w->newest); /* W3 */
	w->newest = item->id;
}

/* As the worker does: a full ring spills its older half, or if it cannot, the
 * new item alone. */
static void spawn(struct worker *w, unsigned id)
{
	struct local_queue_run half;

	begin(w);
	explore_write(items[id].payload, id * 7);
	if (local_queue_push_owner(&w->ring.q, &items[id]))
		return;
	half = local_queue_spill_owner(&w->ring.q);
	for (uint32_t i = 0; i < half.count; i++)
		w->spilled[w->spilled_count++] =
			local_queue_run_item(&w->ring.q, half, i);
	if (half.count == 0)
		w->spilled[w->spilled_count++] = &items[id];
	else
		explore_assert(local_queue_push_owner(&w->ring.q, &items[id]));
}

static bool pop_and_run(struct worker *w)
{
	struct item *item;

	begin(w);
	item = local_queue_pop_owner(&w->ring.q);
	if (item)
		run(w, item);
	return item != NULL;
}

static void drain(struct worker *w)
{
	while (pop_and_run(w))
		;
}

typedef struct local_queue_steal
steal_fn(struct local_queue *src, struct local_queue *dst, uint32_t limit);

/* All tasks from here on come from @src alone, if the queue was empty. */
static void steal_by(steal_fn *steal, struct worker *src, struct worker *w)
{
	struct local_queue_steal got;

	begin(w);
	got = steal(&src->ring.q, &w->ring.q, LIMIT);
	w->newest = 0;
	if (got.outcome == SKUA_STEAL_SUCCESS)
		run(w, got.item);
}

static void steal(struct worker *src, struct worker *w)
{
	steal_by(local_queue_steal_into, src, w);
}

static void steal_one(struct worker *src, struct worker *w)
{
	struct local_queue_steal got;

	begin(w);
	got = local_queue_steal_one(&src->ring.q);
	if (got.outcome == SKUA_STEAL_SUCCESS) {
		explore_assert(got.count == 1);
		run(w, got.item);
	}
}

/* ---- fixture ------------------------------------------------------------ */

static void worker_reset(struct worker *w, uint32_t slots, uint64_t start)
{
	memset(w, 0, sizeof(*w));
	local_queue_init(&w->ring.q, slots, start);
}

static void reset(uint64_t start)
{
	explore_thread_local((void **)&self);
	worker_reset(&a, CAPACITY, start);
	worker_reset(&b, CAPACITY, start);
	worker_reset(&c, CAPACITY, start);
	memset(runs, 0, sizeof(runs));
	for (unsigned id = 1; id <= ITEMS; id++)
		items[id] = (struct item){ .id = id };
}

static void spawn_all(struct worker *w, unsigned first, unsigned last)
{
	for (unsigned id = first; id <= last; id++)
		spawn(w, id);
}

static void setup(unsigned queued)
{
	reset(POSITION_MASK - 1);
	spawn_all(&a, 1, queued);
}

static void setup_empty(void)
{
	setup(0);
}

static void setup_two(void)
{
	setup(2);
}

static void setup_three(void)
{
	setup(3);
}

static void setup_four(void)
{
	setup(4);
}

static void setup_tail_wrap(void)
{
	reset(UINT64_MAX - 1);
	spawn_all(&a, 1, 3);
}

static void setup_chain(void)
{
	setup(0);
	worker_reset(&a, LARGE, POSITION_MASK - 1);
	spawn_all(&a, 1, 8);
	spawn_all(&b, 9, 12);
}

/* Run what is left over, and see that it was all. */
static void check_worker(struct worker *w)
{
	uint64_t head = atomic_load_relaxed(&w->ring.q.head);

	explore_assert(head_pending(head) == 0);
	explore_assert(local_queue_length(&w->ring.q) <= capacity(&w->ring.q));
	w->newest = 0;
	drain(w);
	for (unsigned i = 0; i < w->spilled_count; i++) {
		w->newest = 0; /* one that went alone is ahead of its elders */
		run(w, w->spilled[i]);
	}
}

static void check(unsigned count)
{
	check_worker(&a);
	check_worker(&b);
	check_worker(&c);
	for (unsigned id = 1; id <= count; id++)
		explore_assert(runs[id] == 1); /* W1 */
}

static void check_one(void)
{
	check(1);
}

static void check_two(void)
{
	check(2);
}

static void check_three(void)
{
	check(3);
}

static void check_four(void)
{
	check(4);
}

static void check_five(void)
{
	check(5);
}

static void check_six(void)
{
	check(6);
}

static void check_seven(void)
{
	check(7);
}

static void check_twelve(void)
{
	check(12);
}

/* ---- threads ------------------------------------------------------------ */

static void a_pushes_and_pops(void)
{
	spawn(&a, 1);
	spawn(&a, 2);
	pop_and_run(&a);
	spawn(&a, 3);
	drain(&a);
}

static void a_overflows(void)
{
	spawn_all(&a, 4, 7);
	drain(&a);
}

static void a_pushes_one_more(void)
{
	spawn(&a, 5);
	drain(&a);
}

static void a_pushes_two_more(void)
{
	spawn_all(&a, 5, 6);
	drain(&a);
}

static void a_reuses_slots(void)
{
	for (unsigned id = 3; id <= 6; id++) {
		spawn(&a, id);
		pop_and_run(&a);
	}
	drain(&a);
}

static void a_drains(void)
{
	drain(&a);
}

static void a_drains_and_steals_back(void)
{
	drain(&a);
	steal(&b, &a);
	drain(&a);
}

static void b_steals(void)
{
	steal(&a, &b);
	drain(&b);
}

static void c_steals(void)
{
	steal(&a, &c);
	drain(&c);
}

static void b_steals_twice(void)
{
	steal(&a, &b);
	drain(&b);
	steal(&a, &b);
	drain(&b);
}

static void b_steals_one(void)
{
	steal_one(&a, &b);
	steal_one(&a, &b);
}

static void b_measures(void)
{
	explore_assert(local_queue_length(&a.ring.q) <= CAPACITY);
	explore_assert(local_queue_length(&a.ring.q) <= CAPACITY);
}

/* Never more than one is queued; a length of two is one seen before it was
 * taken, and the next one. */
static void a_pushes_and_pops_ones(void)
{
	spawn(&a, 1);
	pop_and_run(&a);
	spawn(&a, 2);
	pop_and_run(&a);
}

static void b_measures_ones(void)
{
	explore_assert(local_queue_length(&a.ring.q) <= 2);
}

/* The chain: c steals from b, while b steals from a. */
static void b_drains_and_steals(void)
{
	drain(&b);
	steal(&a, &b);
	drain(&b);
}

static void c_steals_from_b(void)
{
	steal(&b, &c);
	drain(&c);
}

/* ---- variants that are wrong -------------------------------------------- */

/* Steal with the parts that each variant replaces. */
static struct local_queue_steal steal_copying(struct local_queue *src,
					      struct local_queue *dst,
					      uint64_t most, bool *release)
{
	uint64_t tail = local_queue_tail_owner(dst);
	uint64_t first;
	struct local_queue_steal steal = claim(src, most, &first);

	*release = steal.count > 1;
	for (uint32_t i = 1; i < steal.count; i++)
		local_queue_slot_store(dst, tail + i - 1,
				       local_queue_slot_load(src, first + i));
	if (steal.count > 1)
		local_queue_publish_owner(dst, tail + steal.count - 1);
	return steal;
}

/* No check of the room in the thief's own queue. */
static struct local_queue_steal steal_without_room(struct local_queue *src,
						   struct local_queue *dst,
						   uint32_t limit)
{
	bool release;
	struct local_queue_steal steal =
		steal_copying(src, dst, limit, &release);

	if (release)
		atomic_fetch_and_release(&src->head, ~PENDING_MASK);
	return steal;
}

static void b_drains_and_steals_without_room(void)
{
	drain(&b);
	steal_by(steal_without_room, &a, &b);
	drain(&b);
}

/* A release that gives up when the owner has popped meanwhile. */
static struct local_queue_steal steal_abandoning(struct local_queue *src,
						 struct local_queue *dst,
						 uint32_t limit)
{
	uint64_t most = local_queue_room_owner(dst) + UINT64_C(1);
	bool release;
	struct local_queue_steal steal =
		steal_copying(src, dst, limit < most ? limit : most, &release);
	uint64_t head = atomic_load_relaxed(&src->head);

	if (release)
		atomic_cas_acq_rel(&src->head, &head, head & ~PENDING_MASK);
	return steal;
}

static void b_steals_abandoning(void)
{
	steal_by(steal_abandoning, &a, &b);
	drain(&b);
}

/* The item leaves its slot before the claim, which may fail. */
static void b_takes_before_its_claim(void)
{
	uint64_t head = atomic_load_acquire(&a.ring.q.head);
	uint64_t tail = atomic_load_acquire(&a.ring.q.tail);
	uint64_t real = head_real(head);
	struct item *item;

	if (distance(real, tail) == 0)
		return;
	item = atomic_exchange_acq_rel(&a.ring.q.slots[real & a.ring.q.mask],
				       NULL);
	if (atomic_cas_acq_rel(&a.ring.q.head, &head, head_pack(real + 1, 0)))
		run(&b, item);
}

/* A push that publishes its slot without release. */
static void a_pushes_unpublished(void)
{
	explore_write(items[1].payload, 7);
	local_queue_slot_store(&a.ring.q, local_queue_tail_owner(&a.ring.q),
			       &items[1]);
	atomic_store_relaxed(&a.ring.q.tail,
			     local_queue_tail_owner(&a.ring.q) + 1);
}

/*
 * Positions that come round while a thief is suspended. A ring with one bit beyond
 * the slots' stands for one of 32 bits: eight pushes for four billion. With
 * positions that are wide enough the same ring is right.
 */
static uint64_t rounds; /* where positions come round, less one */

static void setup_rounds(uint64_t mask)
{
	reset(0);
	rounds = mask;
	explore_write(items[1].payload, 7);
	local_queue_slot_store(&a.ring.q, 0, &items[1]);
	atomic_store_release(&a.ring.q.tail, 1);
}

static void setup_narrow(void)
{
	setup_rounds(2 * CAPACITY - 1);
}

static void setup_wide(void)
{
	setup_rounds(POSITION_MASK);
}

static void rounds_push(unsigned id)
{
	uint64_t tail = local_queue_tail_owner(&a.ring.q);

	explore_write(items[id].payload, id * 7);
	local_queue_slot_store(&a.ring.q, tail, &items[id]);
	local_queue_publish_owner(&a.ring.q, (tail + 1) & rounds);
}

static void rounds_take(struct worker *w)
{
	uint64_t head = atomic_load_acquire(&a.ring.q.head);
	struct item *item;

	if (atomic_load_acquire(&a.ring.q.tail) == head)
		return;
	item = local_queue_slot_load(&a.ring.q, head);
	if (atomic_cas_acq_rel(&a.ring.q.head, &head, (head + 1) & rounds))
		run(w, item);
}

static void a_goes_round(void)
{
	rounds_take(&a);
	for (unsigned id = 2; id <= 2 * CAPACITY; id++) {
		rounds_push(id);
		rounds_take(&a);
	}
	rounds_push(2 * CAPACITY + 1);
}

static void b_takes_in_rounds(void)
{
	rounds_take(&b);
}

/* ---- cases -------------------------------------------------------------- */

static const struct explore_case cases[] = {
	{ EXPLORE_PASS("push_and_pop__thief", setup_empty, check_three,
		       a_pushes_and_pops, b_steals) },
	{ EXPLORE_PASS("overflow__thief", setup_three, check_seven, a_overflows,
		       b_steals) },
	{ EXPLORE_PASS("overflow__thief__tail_wraps", setup_tail_wrap,
		       check_seven, a_overflows, b_steals) },
	{ EXPLORE_PASS("two_thieves", setup_four, check_five, a_pushes_one_more,
		       b_steals, c_steals),
	  EXPLORE_WITHIN(3, 1) },
	/* The second slot is one that a thief reads behind its claim. */
	{ EXPLORE_PASS("two_thieves__two_slots_reused", setup_four, check_six,
		       a_pushes_two_more, b_steals, c_steals),
	  EXPLORE_WITHIN(2, 1) },
	{ EXPLORE_PASS("two_thieves__owner_away", setup_four, check_four,
		       b_steals, c_steals) },
	{ EXPLORE_PASS("thief_steals_twice", setup_three, check_three, a_drains,
		       b_steals_twice) },
	{ EXPLORE_PASS("steal_one__owner", setup_three, check_three, a_drains,
		       b_steals_one) },
	{ EXPLORE_PASS("steal_one__owner__thief", setup_three, check_three,
		       a_drains, b_steals_one, c_steals) },
	{ EXPLORE_PASS("slots_reused__thief", setup_two, check_six,
		       a_reuses_slots, b_steals) },
	{ EXPLORE_PASS("slots_reused__steal_one", setup_two, check_six,
		       a_reuses_slots, b_steals_one) },
	{ EXPLORE_PASS("chain__thief_is_stolen_from", setup_chain, check_twelve,
		       b_drains_and_steals, c_steals_from_b) },
	{ EXPLORE_PASS("steal_back", setup_three, check_three,
		       a_drains_and_steals_back, b_steals) },
	{ EXPLORE_PASS("length__owner", setup_two, check_six, a_reuses_slots,
		       b_measures) },
	{ EXPLORE_PASS("length__of_what_is_gone", setup_empty, check_two,
		       a_pushes_and_pops_ones, b_measures_ones) },

	{ EXPLORE_BUG("narrow_positions", "", setup_narrow, NULL, a_goes_round,
		      b_takes_in_rounds) },
	{ EXPLORE_PASS("wide_positions", setup_wide, NULL, a_goes_round,
		       b_takes_in_rounds) },
	{ EXPLORE_BUG("no_room_check", "", setup_chain, check_twelve,
		      b_drains_and_steals_without_room, c_steals_from_b) },
	{ EXPLORE_BUG("abandoned_release", "head_pending(head) == 0",
		      setup_four, check_four, a_drains, b_steals_abandoning) },
	{ EXPLORE_BUG("taken_before_claim", "", setup_two, check_two, a_drains,
		      b_takes_before_its_claim) },
	{ EXPLORE_BUG("tail_published_relaxed", "data race", setup_empty,
		      check_one, a_pushes_unpublished, b_steals) },
};
EXPLORE_MAIN(cases)
