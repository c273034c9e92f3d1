/* SPDX-License-Identifier: MIT */
/* test_queue_api.c - skua_queue and skua_stealer */
#define SUPPORT_FAIL_ALLOCATIONS
#include "tests/unit/race.h"

#include <pthread.h>

#include "core/queue/local_queue.h"

static void *item(uint64_t n)
{
	return (void *)(uintptr_t)(n + 1);
}

static struct skua_queue *queue_new(uint32_t capacity)
{
	struct skua_queue *queue = NULL;

	assert_int_equal(skua_queue_create(&queue, capacity), 0);
	assert_non_null(queue);
	return queue;
}

static void push_items(struct skua_queue *queue, uint64_t first, uint64_t count)
{
	for (uint64_t n = first; n < first + count; n++)
		assert_int_equal(skua_queue_push(queue, item(n)), 0);
}

static void expect_items(struct skua_queue *queue, uint64_t first,
			 uint64_t count)
{
	for (uint64_t n = first; n < first + count; n++)
		assert_ptr_equal(skua_queue_pop(queue), item(n));
}

/* ---- skua_queue --------------------------------------------------------- */

TEST(queue_create__null_out__einval)
{
	assert_int_equal(skua_queue_create(NULL, 4), -EINVAL);
}

TEST(queue_create__bad_capacity__einval)
{
	static const uint32_t wrong[] = { 1,        2,         3,     5,
					  100,      32767,     32769, 65536,
					  1u << 31, UINT32_MAX };

	for (size_t i = 0; i < COUNT_OF(wrong); i++) {
		struct skua_queue *queue = (struct skua_queue *)&queue;

		assert_int_equal(skua_queue_create(&queue, wrong[i]), -EINVAL);
		assert_null(queue);
	}
}

TEST(queue_create__0__capacity_256)
{
	struct skua_queue *queue = queue_new(0);

	push_items(queue, 0, 256);
	assert_int_equal(skua_queue_push(queue, item(256)), -ENOSPC);
	skua_queue_destroy(queue);
}

TEST(queue_create__no_memory__enomem)
{
	struct skua_queue *queue = (struct skua_queue *)&queue;

	if (!CAN_FAIL_ALLOCATIONS) {
		skip_aloud(NO_FAILURES);
		return;
	}
	EXPECT_ENOMEM(skua_queue_create(&queue, 4));
	assert_null(queue);
}

TEST(queue_destroy__null__is_ignored)
{
	skua_queue_destroy(NULL);
	skua_stealer_drop(NULL);
	skua_injector_destroy(NULL);
}

TEST(queue__null__einval_null_or_0)
{
	struct skua_queue *queue = queue_new(4);

	assert_int_equal(skua_queue_push(NULL, item(0)), -EINVAL);
	assert_int_equal(skua_queue_push(queue, NULL), -EINVAL);
	assert_int_equal(skua_queue_push(NULL, NULL), -EINVAL);
	assert_null(skua_queue_pop(NULL));
	assert_int_equal(skua_queue_length(NULL), 0);
	assert_null(skua_queue_stealer(NULL));
	assert_null(skua_stealer_clone(NULL));
	assert_int_equal(skua_queue_length(queue), 0);
	skua_queue_destroy(queue);
}

TEST(queue__each_capacity__fifo_and_length)
{
	static const uint32_t capacities[] = { 4, 256, 32768 };

	for (size_t c = 0; c < COUNT_OF(capacities); c++) {
		struct skua_queue *queue = queue_new(capacities[c]);

		assert_null(skua_queue_pop(queue));
		push_items(queue, 0, capacities[c]);
		assert_int_equal(skua_queue_length(queue), capacities[c]);
		expect_items(queue, 0, capacities[c]);
		assert_int_equal(skua_queue_length(queue), 0);
		assert_null(skua_queue_pop(queue));
		skua_queue_destroy(queue);
	}
}

TEST(queue_push__full__item_stays_the_callers)
{
	struct skua_queue *queue = queue_new(4);

	push_items(queue, 0, 4);
	for (unsigned i = 0; i < 10; i++)
		assert_int_equal(skua_queue_push(queue, item(99)), -ENOSPC);
	assert_int_equal(skua_queue_length(queue), 4);
	expect_items(queue, 0, 1);
	push_items(queue, 4, 1);
	assert_int_equal(skua_queue_push(queue, item(99)), -ENOSPC);
	expect_items(queue, 1, 4);
	assert_null(skua_queue_pop(queue));
	skua_queue_destroy(queue);
}

/* ---- skua_stealer ------------------------------------------------------- */

/* Another thief's claim cannot be seen through the interface, so it is made by
 * hand: the ring is behind the handle count, on a pair of lines of its own. */
static struct local_queue *ring_of(struct skua_queue *queue)
{
	return (struct local_queue *)((char *)queue + CACHE_PAIR);
}

TEST(stealer_steal__null__einval)
{
	struct skua_queue *queue = queue_new(4);
	struct skua_queue *other = queue_new(4);
	struct skua_stealer *stealer = skua_queue_stealer(queue);
	void *got = &queue;

	push_items(queue, 0, 1);
	assert_int_equal(skua_stealer_steal(NULL, &got), -EINVAL);
	assert_null(got);
	assert_int_equal(skua_stealer_steal(stealer, NULL), -EINVAL);
	got = &queue;
	assert_int_equal(skua_stealer_steal_half(NULL, other, &got), -EINVAL);
	assert_null(got);
	got = &queue;
	assert_int_equal(skua_stealer_steal_half(stealer, NULL, &got), -EINVAL);
	assert_null(got);
	assert_int_equal(skua_stealer_steal_half(stealer, other, NULL),
			 -EINVAL);
	assert_int_equal(skua_queue_length(queue), 1);
	skua_stealer_drop(stealer);
	skua_queue_destroy(queue);
	skua_queue_destroy(other);
}

TEST(stealer_steal_half__into_its_own_queue__einval)
{
	struct skua_queue *queue = queue_new(4);
	struct skua_stealer *stealer = skua_queue_stealer(queue);
	void *got = &queue;

	push_items(queue, 0, 4);
	assert_int_equal(skua_stealer_steal_half(stealer, queue, &got),
			 -EINVAL);
	assert_null(got);
	assert_int_equal(skua_queue_length(queue), 4);
	skua_stealer_drop(stealer);
	skua_queue_destroy(queue);
}

TEST(stealer_steal__some_then_none__success_then_empty)
{
	struct skua_queue *queue = queue_new(4);
	struct skua_stealer *stealer = skua_queue_stealer(queue);
	void *got;

	push_items(queue, 0, 3);
	for (uint64_t n = 0; n < 3; n++) {
		assert_int_equal(skua_stealer_steal(stealer, &got),
				 SKUA_STEAL_SUCCESS);
		assert_ptr_equal(got, item(n));
	}
	assert_int_equal(skua_stealer_steal(stealer, &got), SKUA_STEAL_EMPTY);
	assert_null(got);
	skua_stealer_drop(stealer);
	skua_queue_destroy(queue);
}

TEST(stealer_steal_half__some_then_none__counts_then_0)
{
	struct skua_queue *queue = queue_new(256);
	struct skua_queue *into = queue_new(256);
	struct skua_stealer *stealer = skua_queue_stealer(queue);
	uint32_t left = 256;
	void *got;

	push_items(queue, 0, 256);
	while (left > 0) {
		uint32_t half = left - left / 2;
		uint32_t first = 256 - left;

		assert_int_equal(skua_stealer_steal_half(stealer, into, &got),
				 half);
		assert_ptr_equal(got, item(first));
		assert_int_equal(skua_queue_length(into), half - 1);
		expect_items(into, first + 1, half - 1);
		left -= half;
		assert_int_equal(skua_queue_length(queue), left);
	}
	assert_int_equal(skua_stealer_steal_half(stealer, into, &got), 0);
	assert_null(got);
	skua_stealer_drop(stealer);
	skua_queue_destroy(queue);
	skua_queue_destroy(into);
}

TEST(queue_steal_half__into_a_small_queue__is_bounded)
{
	struct skua_queue *queue = queue_new(32768);
	struct skua_queue *into = queue_new(4);
	struct skua_stealer *stealer = skua_queue_stealer(queue);
	void *got;

	push_items(queue, 0, 32768);
	push_items(into, 50000, 3);
	assert_int_equal(skua_stealer_steal_half(stealer, into, &got), 2);
	assert_ptr_equal(got, item(0));
	assert_int_equal(skua_stealer_steal_half(stealer, into, &got), 1);
	assert_ptr_equal(got, item(2));
	expect_items(into, 50000, 3);
	expect_items(into, 1, 1);
	expect_items(queue, 3, 32765);
	skua_stealer_drop(stealer);
	skua_queue_destroy(queue);
	skua_queue_destroy(into);
}

TEST(stealer__another_at_work__retry_and_eagain)
{
	struct skua_queue *queue = queue_new(8);
	struct skua_queue *into = queue_new(8);
	struct skua_stealer *stealer = skua_queue_stealer(queue);
	void *got = &queue;

	push_items(queue, 0, 4);
	assert_int_equal(atomic_load_relaxed(&ring_of(queue)->tail), 4);
	atomic_store_relaxed(&ring_of(queue)->head, 2 << 16 | 2);
	assert_int_equal(skua_stealer_steal(stealer, &got), SKUA_STEAL_RETRY);
	assert_null(got);
	got = &queue;
	assert_int_equal(skua_stealer_steal_half(stealer, into, &got), -EAGAIN);
	assert_null(got);
	atomic_store_relaxed(&ring_of(queue)->head, 2 << 16);
	assert_int_equal(skua_stealer_steal(stealer, &got), SKUA_STEAL_SUCCESS);
	assert_ptr_equal(got, item(2));
	skua_stealer_drop(stealer);
	skua_queue_destroy(queue);
	skua_queue_destroy(into);
}

TEST(stealer__queue_destroyed__goes_on_taking)
{
	struct skua_queue *queue = queue_new(4);
	struct skua_queue *into = queue_new(4);
	struct skua_stealer *first = skua_queue_stealer(queue);
	struct skua_stealer *second = skua_stealer_clone(first);
	void *got;

	push_items(queue, 0, 4);
	skua_queue_destroy(queue);
	assert_int_equal(skua_stealer_steal(first, &got), SKUA_STEAL_SUCCESS);
	assert_ptr_equal(got, item(0));
	skua_stealer_drop(first);
	assert_int_equal(skua_stealer_steal_half(second, into, &got), 2);
	assert_ptr_equal(got, item(1));
	second = skua_stealer_clone(second);
	skua_stealer_drop(second); /* there are two of it now */
	assert_int_equal(skua_stealer_steal(second, &got), SKUA_STEAL_SUCCESS);
	assert_ptr_equal(got, item(3));
	assert_int_equal(skua_stealer_steal(second, &got), SKUA_STEAL_EMPTY);
	skua_stealer_drop(second);
	expect_items(into, 2, 1);
	skua_queue_destroy(into);
}

TEST(queue__handles_of_both_kinds__freed_with_the_last)
{
	struct skua_queue *queue;
	struct skua_stealer *stealer;
	struct skua_stealer *clone;

	if (!CAN_FAIL_ALLOCATIONS) {
		skip_aloud("allocations are not counted under a sanitizer");
		return;
	}
	allocations_begin(0);
	queue = queue_new(4);
	stealer = skua_queue_stealer(queue);
	clone = skua_stealer_clone(stealer);
	skua_stealer_drop(stealer);
	skua_queue_destroy(queue);
	assert_int_equal(allocations_end(), 1);
	allocations_begin(0);
	skua_stealer_drop(clone);
	assert_int_equal(allocations_end(), -1);
}

static int steal(void *from, void **got)
{
	return skua_stealer_steal(from, got);
}

TEST(stealer__beside_its_owner__each_item_once)
{
	struct skua_queue *queue = queue_new(16);
	struct skua_stealer *stealer = skua_queue_stealer(queue);
	struct race *race = race_new(steal, stealer, false);

	for (uint64_t n = 0; n < RACE_ITEMS; n++) {
		while (skua_queue_push(queue, item(n)) != 0)
			race_popped(race, skua_queue_pop(queue));
		assert_true(skua_queue_length(queue) <= 16);
		/* So that the two do run beside each other. */
		while (n % 64 == 0 && skua_queue_length(queue) > 0)
			sched_yield();
	}
	skua_queue_destroy(queue); /* the stealer takes the rest */
	race_end(race);
	skua_stealer_drop(stealer);
}
