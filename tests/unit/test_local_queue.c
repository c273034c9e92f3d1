/* SPDX-License-Identifier: MIT */
/* test_local_queue.c - the ring, alone and with a thief or two */
#include "core/queue/local_queue.h"

#include <pthread.h>

#include "tests/unit/support.h"

#define WRAP (UINT64_C(1) << 48) /* of positions in the head word */

static const uint32_t capacities[] = { 4, 256, 32768 };

/* ---- helpers ------------------------------------------------------------ */

/* Items are numbers: the queue never looks behind them. */
static void *item(uint64_t n)
{
	return (void *)(uintptr_t)(n + 1);
}

static struct local_queue *queue_new(uint32_t capacity, uint64_t start)
{
	struct local_queue *q =
		aligned_alloc(CACHE_PAIR, local_queue_size(capacity));

	assert_non_null(q);
	local_queue_init(q, capacity, start);
	return q;
}

static void push_items(struct local_queue *q, uint64_t first, uint64_t count)
{
	for (uint64_t n = first; n < first + count; n++)
		assert_true(local_queue_push_owner(q, item(n)));
}

static void expect_items(struct local_queue *q, uint64_t first, uint64_t count)
{
	for (uint64_t n = first; n < first + count; n++)
		assert_ptr_equal(local_queue_pop_owner(q), item(n));
}

static void expect_empty(struct local_queue *q)
{
	assert_int_equal(local_queue_length(q), 0);
	assert_null(local_queue_pop_owner(q));
}

/* The head word: [real:48 | pending:16]. */
static uint64_t head_word(uint64_t real, uint64_t pending)
{
	return real << 16 | pending;
}

static uint64_t head(struct local_queue *q)
{
	return atomic_load_relaxed(&q->head);
}

/* As a thief's claim of @count items, and its release. */
static void claim_by_hand(struct local_queue *q, uint64_t count)
{
	uint64_t real = head(q) >> 16;

	assert_int_equal(head(q) & 0xffff, 0);
	atomic_store_relaxed(&q->head, head_word(real + count, count));
}

static void release_by_hand(struct local_queue *q)
{
	atomic_fetch_and_release(&q->head, ~UINT64_C(0xffff));
}

/* ---- the owner alone ---------------------------------------------------- */

TEST(local_queue__new__is_empty)
{
	for (size_t c = 0; c < COUNT_OF(capacities); c++) {
		struct local_queue *q = queue_new(capacities[c], 0);

		expect_empty(q);
		assert_int_equal(local_queue_room_owner(q), capacities[c]);
		free(q);
	}
}

TEST(local_queue_capacity__any__valid_if_power_of_two_in_range)
{
	unsigned valid = 0;

	for (uint64_t n = 0; n <= 70000; n++)
		valid += local_queue_capacity_valid(n);
	assert_int_equal(valid, 14); /* 2^2 to 2^15 */
	assert_false(local_queue_capacity_valid(0));
	assert_false(local_queue_capacity_valid(2));
	assert_true(local_queue_capacity_valid(4));
	assert_false(local_queue_capacity_valid(6));
	assert_true(local_queue_capacity_valid(32768));
	assert_false(local_queue_capacity_valid(65536));
	assert_false(local_queue_capacity_valid(UINT64_C(1) << 63));
}

TEST(local_queue_size__any__holds_the_slots_in_whole_pairs)
{
	for (size_t c = 0; c < COUNT_OF(capacities); c++) {
		size_t size = local_queue_size(capacities[c]);

		assert_int_equal(size % CACHE_PAIR, 0);
		assert_true(size >= offsetof(struct local_queue, slots) +
					    capacities[c] * sizeof(atomic_ptr));
	}
}

TEST(local_queue_push__to_capacity__then_refused)
{
	for (size_t c = 0; c < COUNT_OF(capacities); c++) {
		struct local_queue *q = queue_new(capacities[c], 0);

		push_items(q, 0, capacities[c]);
		assert_false(local_queue_push_owner(q, item(1000000)));
		assert_int_equal(local_queue_length(q), capacities[c]);
		assert_int_equal(local_queue_room_owner(q), 0);
		expect_items(q, 0, 1);
		push_items(q, capacities[c], 1);
		assert_false(local_queue_push_owner(q, item(1000000)));
		expect_items(q, 1, capacities[c]);
		expect_empty(q);
		free(q);
	}
}

TEST(local_queue_pop__many_rounds__is_fifo)
{
	struct local_queue *q = queue_new(4, 0);
	uint64_t pushed = 0;
	uint64_t popped = 0;

	for (unsigned round = 0; round < 1000; round++) {
		uint32_t in = 1 + round % 4;
		uint32_t out;

		while (in-- > 0 && local_queue_push_owner(q, item(pushed)))
			pushed++;
		assert_int_equal(local_queue_length(q), pushed - popped);
		assert_int_equal(local_queue_room_owner(q),
				 4 - (pushed - popped));
		out = 1 + round / 4 % 4;
		while (out-- > 0 && popped < pushed)
			expect_items(q, popped++, 1);
	}
	expect_items(q, popped, pushed - popped);
	expect_empty(q);
	free(q);
}

/* Near 2^48 the head word holds less of a position than tail. */
TEST(local_queue_before__position_passed_or_not__counts_items_before_it)
{
	static const uint64_t starts[] = { 0, WRAP - 2, WRAP };

	for (size_t s = 0; s < COUNT_OF(starts); s++) {
		struct local_queue *q = queue_new(4, starts[s]);
		uint64_t position;

		push_items(q, 0, 2);
		position = local_queue_end_owner(q);
		push_items(q, 2, 2);
		for (unsigned left = 2; left > 0; left--) {
			assert_int_equal(local_queue_before_owner(q, position),
					 left);
			expect_items(q, 2 - left, 1);
		}
		assert_int_equal(local_queue_before_owner(q, position), 0);
		expect_items(q, 2, 2);
		assert_int_equal(local_queue_before_owner(q, position), 0);
		free(q);
	}
}

TEST(local_queue_spill__full__older_half_in_order)
{
	for (size_t c = 0; c < COUNT_OF(capacities); c++) {
		uint32_t half = capacities[c] / 2;
		struct local_queue *q = queue_new(capacities[c], 3);
		struct local_queue_run run;

		push_items(q, 0, capacities[c]);
		run = local_queue_spill_owner(q);
		assert_int_equal(run.count, half);
		for (uint32_t i = 0; i < half; i++)
			assert_ptr_equal(local_queue_run_item(q, run, i),
					 item(i));
		assert_int_equal(local_queue_length(q), half);
		assert_int_equal(local_queue_room_owner(q), half);
		push_items(q, capacities[c], half);
		expect_items(q, half, capacities[c]);
		expect_empty(q);
		free(q);
	}
}

TEST(local_queue_spill__steal_pending__takes_nothing)
{
	struct local_queue *q = queue_new(4, 0);

	push_items(q, 0, 4);
	claim_by_hand(q, 2);
	assert_int_equal(local_queue_spill_owner(q).count, 0);
	assert_int_equal(head(q), head_word(2, 2));
	release_by_hand(q);
	push_items(q, 4, 2);
	assert_int_equal(local_queue_spill_owner(q).count, 2);
	expect_items(q, 4, 2);
	free(q);
}

TEST(local_queue_spill__not_full__takes_nothing)
{
	struct local_queue *q = queue_new(4, 0);

	for (uint64_t n = 0; n < 4; n++) {
		assert_int_equal(local_queue_spill_owner(q).count, 0);
		push_items(q, n, 1);
	}
	/* As when a thief took and released since the push that failed. */
	assert_ptr_equal(local_queue_steal_one(q).item, item(0));
	assert_int_equal(local_queue_spill_owner(q).count, 0);
	expect_items(q, 1, 3);
	expect_empty(q);
	free(q);
}

/* ---- thieves ------------------------------------------------------------ */

TEST(local_queue_steal_one__some_queued__takes_the_oldest)
{
	struct local_queue *q = queue_new(4, 0);

	push_items(q, 0, 4);
	for (uint64_t n = 0; n < 4; n++) {
		struct local_queue_steal got = local_queue_steal_one(q);

		assert_int_equal(got.outcome, SKUA_STEAL_SUCCESS);
		assert_int_equal(got.count, 1);
		assert_ptr_equal(got.item, item(n));
		/* Nothing stays claimed: the slot is free at once. */
		assert_int_equal(head(q), head_word(n + 1, 0));
		assert_int_equal(local_queue_room_owner(q), n + 1);
	}
	assert_int_equal(local_queue_steal_one(q).outcome, SKUA_STEAL_EMPTY);
	free(q);
}

TEST(local_queue_steal__another_thief_at_work__says_retry)
{
	struct local_queue *q = queue_new(8, 0);
	struct local_queue *dst = queue_new(8, 0);

	push_items(q, 0, 4);
	claim_by_hand(q, 2);
	assert_int_equal(local_queue_steal_one(q).outcome, SKUA_STEAL_RETRY);
	assert_int_equal(local_queue_steal_into(q, dst, 8).outcome,
			 SKUA_STEAL_RETRY);
	assert_int_equal(head(q), head_word(2, 2));
	expect_empty(dst);
	/* The rest of the other thief is all that is left. */
	expect_items(q, 2, 2);
	assert_int_equal(local_queue_steal_one(q).outcome, SKUA_STEAL_EMPTY);
	free(q);
	free(dst);
}

TEST(local_queue_steal_into__empty__says_empty)
{
	struct local_queue *src = queue_new(4, 0);
	struct local_queue *dst = queue_new(4, 0);

	assert_int_equal(local_queue_steal_into(src, dst, 4).outcome,
			 SKUA_STEAL_EMPTY);
	push_items(src, 0, 1);
	expect_items(src, 0, 1);
	assert_int_equal(local_queue_steal_into(src, dst, 4).outcome,
			 SKUA_STEAL_EMPTY);
	expect_empty(dst);
	free(src);
	free(dst);
}

/* Steal from a queue of @queued items; @expected of them must come, in order,
 * and the others must stay. */
static void check_steal(uint32_t capacity, uint32_t queued, uint32_t limit,
			uint32_t expected)
{
	struct local_queue *src = queue_new(capacity, 1);
	struct local_queue *dst = queue_new(capacity, 2);
	struct local_queue_steal got;

	push_items(src, 0, queued);
	got = local_queue_steal_into(src, dst, limit);
	assert_int_equal(got.outcome, SKUA_STEAL_SUCCESS);
	assert_int_equal(got.count, expected);
	assert_ptr_equal(got.item, item(0));
	assert_int_equal(local_queue_length(dst), expected - 1);
	expect_items(dst, 1, expected - 1);
	expect_empty(dst);
	/* The claim is released: all slots but the queued ones are free. */
	assert_int_equal(local_queue_length(src), queued - expected);
	assert_int_equal(local_queue_room_owner(src),
			 capacity - (queued - expected));
	expect_items(src, expected, queued - expected);
	expect_empty(src);
	free(src);
	free(dst);
}

TEST(local_queue_steal_into__no_limit__older_half_rounded_up)
{
	for (uint32_t queued = 1; queued <= 4; queued++)
		check_steal(4, queued, 32768, (queued + 1) / 2);
	for (uint32_t queued = 1; queued <= 256; queued++)
		check_steal(256, queued, 32768, (queued + 1) / 2);
	check_steal(32768, 32767, 32768, 16384);
	check_steal(32768, 32768, 32768, 16384);
}

TEST(local_queue_steal_into__limit__takes_no_more)
{
	check_steal(4, 4, 1, 1);
	check_steal(4, 4, 2, 2);
	for (uint32_t limit = 1; limit <= 64; limit++)
		check_steal(256, 100, limit, limit < 50 ? limit : 50);
	check_steal(32768, 32768, 32, 32);
}

/* ---- the head does not come back ---------------------------------------- */

TEST(local_queue_positions__after_2_16_operations__head_is_another)
{
	struct local_queue *q = queue_new(4, 0);
	uint64_t stale = head(q);

	push_items(q, 0, 1);
	for (uint64_t n = 0; n < 65536; n++) {
		push_items(q, n + 1, 1);
		expect_items(q, n, 1);
		assert_int_not_equal(head(q), stale);
	}
	/* A thief that saw the head then cannot claim by it now. */
	assert_false(atomic_cas_acq_rel(&q->head, &stale, head_word(1, 0)));
	expect_items(q, 65536, 1);
	free(q);
}

TEST(local_queue_positions__at_start_plus_2_32__head_is_another)
{
	static const unsigned shifts[] = { 16, 31, 32, 33, 47 };
	struct local_queue *q = queue_new(4, 7);
	const uint64_t before = head(q);

	for (size_t i = 0; i < COUNT_OF(shifts); i++) {
		uint64_t stale = before;

		/* As if so many operations had gone by. */
		local_queue_init(q, 4, 7 + (UINT64_C(1) << shifts[i]));
		push_items(q, 0, 4);
		assert_int_not_equal(head(q), before);
		assert_false(
			atomic_cas_acq_rel(&q->head, &stale, head_word(8, 0)));
		assert_ptr_equal(local_queue_steal_one(q).item, item(0));
		expect_items(q, 1, 3);
	}
	free(q);
}

/* Pushes, pops and steals over a wrap of positions at @start plus a few. */
static void check_wrap(uint32_t capacity, uint64_t start)
{
	struct local_queue *q = queue_new(capacity, start);
	struct local_queue *dst = queue_new(capacity, start);
	uint64_t n = 0;

	expect_empty(q);
	assert_int_equal(local_queue_steal_one(q).outcome, SKUA_STEAL_EMPTY);
	for (unsigned round = 0; round < 8; round++, n += capacity) {
		struct local_queue_steal got;
		uint32_t half = capacity / 2;

		push_items(q, n, capacity);
		assert_false(local_queue_push_owner(q, item(0)));
		assert_int_equal(local_queue_length(q), capacity);
		assert_int_equal(local_queue_room_owner(q), 0);

		got = local_queue_steal_into(q, dst, capacity);
		assert_int_equal(got.outcome, SKUA_STEAL_SUCCESS);
		assert_int_equal(got.count, half);
		assert_ptr_equal(got.item, item(n));
		assert_int_equal(local_queue_room_owner(q), half);
		expect_items(dst, n + 1, half - 1);
		expect_empty(dst);

		assert_ptr_equal(local_queue_steal_one(q).item, item(n + half));
		expect_items(q, n + half + 1, half - 1);
		expect_empty(q);
	}
	free(q);
	free(dst);
}

TEST(local_queue_positions__start_below_2_48__fifo_and_steals_hold)
{
	for (uint64_t below = 0; below <= 12; below++) {
		check_wrap(4, WRAP - below);
		check_wrap(8, WRAP - below);
	}
	check_wrap(256, WRAP - 300);
	check_wrap(32768, WRAP - 40000);
	for (uint64_t below = 1; below <= 12; below++)
		check_wrap(4, UINT64_MAX - below); /* tail wraps, too */
}

TEST(local_queue_positions__start_below_2_48__spill_holds)
{
	for (uint64_t below = 0; below <= 6; below++) {
		struct local_queue *q = queue_new(4, WRAP - below);
		struct local_queue_run run;

		push_items(q, 0, 4);
		run = local_queue_spill_owner(q);
		assert_int_equal(run.count, 2);
		assert_ptr_equal(local_queue_run_item(q, run, 0), item(0));
		assert_ptr_equal(local_queue_run_item(q, run, 1), item(1));
		push_items(q, 4, 2);
		expect_items(q, 2, 4);
		expect_empty(q);
		free(q);
	}
}

/* With differences modulo 2^64 the room here is enormous, or nothing. */
TEST(local_queue_positions__claim_over_the_wrap__difference_modulo_2_48)
{
	struct local_queue *q = queue_new(4, WRAP - 2);

	push_items(q, 0, 4);
	/* A thief claims three: real goes round, steal stays behind it. */
	atomic_store_relaxed(&q->head, head_word(1, 3));
	assert_int_equal(local_queue_length(q), 1);
	assert_int_equal(local_queue_room_owner(q), 0);
	assert_false(local_queue_push_owner(q, item(9)));
	expect_items(q, 3, 1);
	assert_int_equal(head(q), head_word(2, 4));
	assert_int_equal(local_queue_room_owner(q), 0);
	release_by_hand(q);
	assert_int_equal(local_queue_room_owner(q), 4);
	push_items(q, 4, 4);
	expect_items(q, 4, 4);
	expect_empty(q);
	free(q);
}

/* ---- the destination's room --------------------------------------------- */

TEST(local_queue_steal_into__nearly_full__is_bounded)
{
	for (uint32_t held = 0; held <= 8; held++) {
		struct local_queue *src = queue_new(32, 0);
		struct local_queue *dst = queue_new(8, 5);
		struct local_queue_steal got;
		uint32_t expected = 8 - held + 1;

		push_items(src, 0, 32);
		push_items(dst, 100, held);
		got = local_queue_steal_into(src, dst, 32768);
		assert_int_equal(got.outcome, SKUA_STEAL_SUCCESS);
		assert_int_equal(got.count, expected);
		assert_ptr_equal(got.item, item(0));
		expect_items(dst, 100, held);
		expect_items(dst, 1, expected - 1);
		expect_empty(dst);
		expect_items(src, expected, 32 - expected);
		expect_empty(src);
		free(src);
		free(dst);
	}
}

TEST(local_queue_steal_into__claim_pending_on_destination__slots_held)
{
	struct local_queue *src = queue_new(32, 0);
	struct local_queue *dst = queue_new(8, 0);
	struct local_queue_steal got;

	push_items(src, 0, 32);
	push_items(dst, 100, 6);
	/* A third party copies out of four slots, and the thief has popped the
	 * rest: its queue is empty, and yet has room for two only. */
	claim_by_hand(dst, 4);
	expect_items(dst, 104, 2);
	assert_int_equal(head(dst), head_word(6, 6));
	assert_int_equal(local_queue_length(dst), 0);
	assert_int_equal(local_queue_room_owner(dst), 2);

	got = local_queue_steal_into(src, dst, 32768);
	assert_int_equal(got.outcome, SKUA_STEAL_SUCCESS);
	assert_int_equal(got.count, 3);
	for (uint64_t i = 0; i < 6; i++)
		assert_ptr_equal(atomic_load_relaxed(&dst->slots[i]),
				 item(100 + i));
	assert_int_equal(local_queue_room_owner(dst), 0);

	/* With no room at all, one goes past the queue. */
	got = local_queue_steal_into(src, dst, 32768);
	assert_int_equal(got.count, 1);
	assert_ptr_equal(got.item, item(3));
	release_by_hand(dst);
	expect_items(dst, 1, 2);
	expect_empty(dst);
	expect_items(src, 4, 28);
	free(src);
	free(dst);
}

/* ---- the release -------------------------------------------------------- */

TEST(local_queue_release__owner_pops_during_a_claim__both_halves_rise)
{
	struct local_queue *q = queue_new(8, 10);

	push_items(q, 0, 8);
	claim_by_hand(q, 4);
	for (uint64_t n = 0; n < 4; n++) {
		expect_items(q, 4 + n, 1);
		/* Steal, real minus pending, stays where the thief reads. */
		assert_int_equal(head(q), head_word(15 + n, 5 + n));
		assert_int_equal(local_queue_room_owner(q), 0);
		assert_false(local_queue_push_owner(q, item(9)));
	}
	expect_empty(q);
	release_by_hand(q);
	assert_int_equal(head(q), head_word(18, 0));
	push_items(q, 8, 8);
	assert_int_equal(local_queue_steal_one(q).outcome, SKUA_STEAL_SUCCESS);
	expect_items(q, 9, 7);
	free(q);
}

TEST(local_queue_release__largest_queue_popped_empty__pending_fits)
{
	struct local_queue *q = queue_new(32768, 0);

	push_items(q, 0, 32768);
	claim_by_hand(q, 16384);
	expect_items(q, 16384, 16384);
	assert_int_equal(head(q), head_word(32768, 32768));
	assert_int_equal(local_queue_room_owner(q), 0);
	release_by_hand(q);
	assert_int_equal(head(q), head_word(32768, 0));
	assert_int_equal(local_queue_room_owner(q), 32768);
	free(q);
}

#define RACE_ITEMS 200000u

struct race {
	struct local_queue *q;
	struct gate begun;
	struct gate done;
	uint8_t taken[RACE_ITEMS]; /* by the thief */
};

static void *thief(void *arg)
{
	struct race *race = arg;
	struct local_queue *own = queue_new(4, WRAP - 7);
	bool last = false;

	gate_open(&race->begun);
	for (;;) {
		struct local_queue_steal got =
			local_queue_steal_into(race->q, own, 32);
		void *it = got.outcome == SKUA_STEAL_SUCCESS ? got.item : NULL;

		for (; it; it = local_queue_pop_owner(own))
			race->taken[(uintptr_t)it - 1]++;
		if (got.outcome == SKUA_STEAL_EMPTY && last)
			break;
		last = gate_is_open(&race->done);
	}
	free(own);
	return NULL;
}

TEST(local_queue_release__owner_pops_beside_a_thief__each_item_once)
{
	struct race *race = calloc(1, sizeof(*race));
	uint8_t *popped = calloc(RACE_ITEMS, 1);
	pthread_t thread;
	void *it;

	assert_non_null(race);
	assert_non_null(popped);
	race->q = queue_new(4, WRAP - RACE_ITEMS / 2);
	assert_int_equal(pthread_create(&thread, NULL, thief, race), 0);
	gate_wait(&race->begun);
	for (uint64_t n = 0; n < RACE_ITEMS; n++) {
		while (!local_queue_push_owner(race->q, item(n))) {
			it = local_queue_pop_owner(race->q);
			if (it)
				popped[(uintptr_t)it - 1]++;
		}
		/* So that the two do run beside each other. */
		while (n % 64 == 0 && local_queue_length(race->q) > 0)
			sched_yield();
	}
	while ((it = local_queue_pop_owner(race->q)) != NULL)
		popped[(uintptr_t)it - 1]++;
	gate_open(&race->done);
	assert_int_equal(pthread_join(thread, NULL), 0);

	for (unsigned n = 0; n < RACE_ITEMS; n++)
		assert_int_equal(popped[n] + race->taken[n], 1);
	assert_int_equal(head(race->q) & 0xffff, 0);
	assert_int_equal(local_queue_room_owner(race->q), 4);
	free(race->q);
	free(race);
	free(popped);
}

/* ---- misuse ------------------------------------------------------------- */

#ifndef NDEBUG
static void init_with_capacity_5(void)
{
	static struct local_queue q;

	local_queue_init(&q, 5, 0);
}

static void read_past_a_run(void)
{
	struct local_queue *q = queue_new(4, 0);
	struct local_queue_run run;

	push_items(q, 0, 4);
	run = local_queue_spill_owner(q);
	local_queue_run_item(q, run, run.count);
}

static void steal_from_itself(void)
{
	struct local_queue *q = queue_new(4, 0);

	push_items(q, 0, 4);
	local_queue_steal_into(q, q, 1);
}

static void steal_with_limit_0(void)
{
	struct local_queue *src = queue_new(4, 0);
	struct local_queue *dst = queue_new(4, 0);

	push_items(src, 0, 4);
	local_queue_steal_into(src, dst, 0);
}
#endif

TEST(local_queue__misuse__asserts)
{
#ifdef NDEBUG
	skip_aloud(NO_ASSERTS);
#else
	assert_true(aborts(init_with_capacity_5));
	assert_true(aborts(read_past_a_run));
	assert_true(aborts(steal_from_itself));
	assert_true(aborts(steal_with_limit_0));
#endif
}
