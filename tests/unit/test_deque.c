/* SPDX-License-Identifier: MIT */
/* test_deque.c - the deque, alone and with a thief */
#include "core/queue/deque.h"

#include <pthread.h>

#include "tests/unit/race.h"

/* Where positions start: at the ends of what signed and unsigned ones hold. */
static const uint64_t starts[] = { 0, INT64_MAX - 2, UINT64_MAX - 2 };

/* ---- helpers ------------------------------------------------------------ */

/* Items are numbers: the deque never looks behind them. */
static void *item(uint64_t n)
{
	return (void *)(uintptr_t)(n + 1);
}

/* Counts what is taken, and refuses what would be the allocation @fail_from. */
struct counted {
	unsigned taken;
	unsigned fail_from;
	size_t bytes;
	size_t most_bytes;
};

static void *counted_alloc(void *ctx, size_t align, size_t bytes)
{
	struct counted *c = ctx;

	assert_int_equal(align, CACHE_PAIR);
	assert_int_equal(bytes % align, 0);
	if (++c->taken >= c->fail_from)
		return NULL;
	c->bytes += bytes;
	if (c->bytes > c->most_bytes)
		c->most_bytes = c->bytes;
	return aligned_alloc(align, bytes);
}

static void counted_free(void *ctx, void *memory, size_t bytes)
{
	struct counted *c = ctx;

	c->bytes -= bytes;
	free(memory);
}

#define COUNTED(c)                                                       \
	{                                                                \
		.alloc = counted_alloc, .free = counted_free, .ctx = (c) \
	}

static struct deque *deque_new(uint64_t capacity, uint64_t start,
			       const struct skua_allocator *allocator)
{
	struct deque *d = aligned_alloc(CACHE_PAIR, sizeof(*d));

	assert_non_null(d);
	assert_int_equal(deque_init(d, capacity, start, allocator), 0);
	return d;
}

static void deque_end(struct deque *d)
{
	deque_destroy(d);
	free(d);
}

static void push_items(struct deque *d, uint64_t first, uint64_t count)
{
	for (uint64_t n = first; n < first + count; n++)
		assert_int_equal(deque_push_owner(d, item(n)), 0);
}

/* Pops @count items, the newest of which is @last. */
static void expect_newest(struct deque *d, uint64_t last, uint64_t count)
{
	for (uint64_t n = 0; n < count; n++)
		assert_ptr_equal(deque_pop_owner(d), item(last - n));
}

static void expect_oldest(struct deque *d, uint64_t first, uint64_t count)
{
	for (uint64_t n = first; n < first + count; n++)
		assert_ptr_equal(deque_pop_oldest_owner(d), item(n));
}

static void expect_stolen(struct deque *d, uint64_t first, uint64_t count)
{
	for (uint64_t n = first; n < first + count; n++) {
		struct deque_steal got = deque_steal(d);

		assert_int_equal(got.outcome, SKUA_STEAL_SUCCESS);
		assert_ptr_equal(got.item, item(n));
	}
}

static void expect_empty(struct deque *d)
{
	assert_int_equal(deque_length(d), 0);
	assert_null(deque_pop_owner(d));
	assert_null(deque_pop_oldest_owner(d));
	assert_int_equal(deque_steal(d).outcome, SKUA_STEAL_EMPTY);
	assert_int_equal(deque_length(d), 0);
}

/* ---- one thread ---------------------------------------------------------- */

TEST(deque_capacity__any__valid_if_power_of_two_in_range)
{
	unsigned valid = 0;

	for (uint64_t n = 0; n <= 70000; n++)
		valid += deque_capacity_valid(n);
	assert_int_equal(valid, 16); /* 2^1 to 2^16 */
	assert_false(deque_capacity_valid(0));
	assert_false(deque_capacity_valid(1));
	assert_true(deque_capacity_valid(2));
	assert_false(deque_capacity_valid(3));
	assert_true(deque_capacity_valid(UINT64_C(1) << 31));
	assert_false(deque_capacity_valid((UINT64_C(1) << 31) + 1));
	assert_false(deque_capacity_valid(UINT64_C(1) << 32));
	assert_false(deque_capacity_valid(UINT64_C(1) << 63));
}

TEST(deque__new__is_empty)
{
	for (size_t s = 0; s < COUNT_OF(starts); s++) {
		struct deque *d = deque_new(2, starts[s], NULL);

		expect_empty(d);
		deque_end(d);
	}
}

TEST(deque_pop__any_start__newest_first)
{
	for (size_t s = 0; s < COUNT_OF(starts); s++) {
		struct deque *d = deque_new(4, starts[s], NULL);

		push_items(d, 0, 4);
		assert_int_equal(deque_length(d), 4);
		expect_newest(d, 3, 2);
		push_items(d, 10, 2);
		expect_newest(d, 11, 2);
		expect_newest(d, 1, 2);
		expect_empty(d);
		push_items(d, 20, 1);
		expect_newest(d, 20, 1);
		expect_empty(d);
		deque_end(d);
	}
}

TEST(deque_pop_oldest__any_start__oldest_first)
{
	for (size_t s = 0; s < COUNT_OF(starts); s++) {
		struct deque *d = deque_new(4, starts[s], NULL);

		for (uint64_t n = 0; n < 20; n += 4) {
			push_items(d, n, 4);
			expect_oldest(d, n, 4);
			expect_empty(d);
		}
		deque_end(d);
	}
}

TEST(deque_steal__any_start__oldest_first)
{
	for (size_t s = 0; s < COUNT_OF(starts); s++) {
		struct deque *d = deque_new(4, starts[s], NULL);

		push_items(d, 0, 4);
		expect_stolen(d, 0, 3);
		push_items(d, 4, 3);
		expect_stolen(d, 3, 4);
		expect_empty(d);
		deque_end(d);
	}
}

TEST(deque__all_ends__meet_in_the_middle)
{
	struct deque *d = deque_new(8, UINT64_MAX - 2, NULL);

	push_items(d, 0, 7);
	expect_stolen(d, 0, 2);
	expect_newest(d, 6, 2);
	expect_oldest(d, 2, 1);
	expect_newest(d, 4, 1);
	assert_int_equal(deque_length(d), 1);
	expect_stolen(d, 3, 1);
	expect_empty(d);
	deque_end(d);
}

TEST(deque_pop__last_item__next_push_is_kept)
{
	struct deque *d = deque_new(2, 0, NULL);

	for (uint64_t n = 0; n < 10; n++) {
		assert_null(deque_pop_owner(d));
		push_items(d, n, 1);
		expect_newest(d, n, 1);
		assert_null(deque_pop_owner(d));
		assert_int_equal(deque_steal(d).outcome, SKUA_STEAL_EMPTY);
	}
	deque_end(d);
}

/* As it is when thieves take the last item between the pop's two looks at top:
 * the first is behind by what they took. */
TEST(deque_pop__empty__nothing_to_steal)
{
	struct deque *d = deque_new(2, 0, NULL);

	atomic_store_relaxed(&d->bottom, UINT64_MAX);
	assert_int_equal(deque_length(d), 0);
	assert_int_equal(deque_steal(d).outcome, SKUA_STEAL_EMPTY);
	atomic_store_relaxed(&d->bottom, 0);
	push_items(d, 0, 1);
	expect_stolen(d, 0, 1);
	deque_end(d);
}

/* ---- growth -------------------------------------------------------------- */

TEST(deque_push__full__doubles_and_keeps_all)
{
	for (size_t s = 0; s < COUNT_OF(starts); s++) {
		struct deque *d = deque_new(2, starts[s], NULL);

		push_items(d, 0, 1000);
		assert_int_equal(deque_length(d), 1000);
		expect_stolen(d, 0, 300);
		expect_newest(d, 999, 300);
		expect_oldest(d, 300, 400);
		expect_empty(d);
		deque_end(d);
	}
}

/* Items that lie around the end of the ring are in their order afterwards. */
TEST(deque_push__full_at_any_offset__keeps_the_order)
{
	for (uint64_t offset = 0; offset < 8; offset++) {
		struct deque *d = deque_new(8, 0, NULL);

		push_items(d, 0, offset);
		expect_stolen(d, 0, offset);
		push_items(d, offset, 9);
		expect_stolen(d, offset, 9);
		expect_empty(d);
		deque_end(d);
	}
}

TEST(deque_push__room_again__does_not_grow)
{
	struct counted counted = { .fail_from = 2 };
	const struct skua_allocator allocator = COUNTED(&counted);
	struct deque *d = deque_new(4, 0, &allocator);

	for (uint64_t n = 0; n < 100; n++) {
		push_items(d, 4 * n, 4);
		expect_stolen(d, 4 * n, 2);
		expect_newest(d, 4 * n + 3, 2);
	}
	assert_int_equal(counted.taken, 1);
	deque_end(d);
	assert_int_equal(counted.bytes, 0);
}

/* D4: what was outgrown is kept, and is less than what is in use. */
TEST(deque_destroy__after_growth__frees_all_of_it)
{
	struct counted counted = { .fail_from = 100 };
	const struct skua_allocator allocator = COUNTED(&counted);
	struct deque *d = deque_new(2, 0, &allocator);

	push_items(d, 0, 1024);
	assert_int_equal(counted.taken, 10);
	assert_int_equal(counted.bytes, counted.most_bytes);
	assert_true(counted.bytes <
		    2 * 1024 * sizeof(void *) + 10 * 2 * CACHE_PAIR);
	deque_end(d);
	assert_int_equal(counted.bytes, 0);
}

TEST(deque_init__no_memory__enomem)
{
	struct counted counted = { .fail_from = 1 };
	const struct skua_allocator allocator = COUNTED(&counted);
	struct deque d;

	assert_int_equal(deque_init(&d, 2, 0, &allocator), -ENOMEM);
	assert_int_equal(counted.bytes, 0);
}

TEST(deque_push__no_memory__item_stays_the_callers)
{
	struct counted counted = { .fail_from = 2 };
	const struct skua_allocator allocator = COUNTED(&counted);
	struct deque *d = deque_new(4, UINT64_MAX - 1, &allocator);

	push_items(d, 0, 4);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(deque_push_owner(d, item(99)), -ENOMEM);
	assert_int_equal(deque_length(d), 4);
	expect_stolen(d, 0, 1);
	push_items(d, 4, 1);
	assert_int_equal(deque_push_owner(d, item(99)), -ENOMEM);
	counted.fail_from = 100;
	push_items(d, 5, 1);
	expect_newest(d, 5, 5);
	expect_empty(d);
	deque_end(d);
	assert_int_equal(counted.bytes, 0);
}

/* ---- a thief ------------------------------------------------------------- */

static int steal(void *from, void **got)
{
	struct deque_steal stolen = deque_steal(from);

	*got = stolen.item;
	return (int)stolen.outcome;
}

static void race_with(void *(*pop)(struct deque *d))
{
	struct deque *d = deque_new(2, UINT64_MAX - RACE_ITEMS / 2, NULL);
	struct race *race = race_new(steal, d, true);

	for (uint64_t n = 0; n < RACE_ITEMS; n++) {
		assert_int_equal(deque_push_owner(d, item(n)), 0);
		if (n % 3 == 0)
			race_popped(race, pop(d));
		/* So that the two do run beside each other. */
		while (n % 64 == 0 && deque_length(d) > 40)
			sched_yield();
	}
	race_end(race);
	expect_empty(d);
	deque_end(d);
}

TEST(deque_pop__beside_a_thief__each_item_once)
{
	race_with(deque_pop_owner);
}

TEST(deque_pop_oldest__beside_a_thief__each_item_once)
{
	race_with(deque_pop_oldest_owner);
}
