/* SPDX-License-Identifier: MIT */
/* test_deque_api.c - the public deque: skua_deque and skua_deque_stealer */
#define SUPPORT_FAIL_ALLOCATIONS
#include "tests/unit/race.h"

#include <pthread.h>

static const enum skua_deque_order orders[] = { SKUA_DEQUE_LIFO,
						SKUA_DEQUE_FIFO };

static void *item(uint64_t n)
{
	return (void *)(uintptr_t)(n + 1);
}

static struct skua_deque *deque_new(enum skua_deque_order order,
				    uint32_t capacity)
{
	struct skua_deque *deque = NULL;

	assert_int_equal(skua_deque_create(&deque, order, capacity), 0);
	assert_non_null(deque);
	return deque;
}

static void push_items(struct skua_deque *deque, uint64_t first, uint64_t count)
{
	for (uint64_t n = first; n < first + count; n++)
		assert_int_equal(skua_deque_push(deque, item(n)), 0);
}

static void expect_stolen(struct skua_deque_stealer *stealer, uint64_t n)
{
	void *got = &got;

	assert_int_equal(skua_deque_stealer_steal(stealer, &got),
			 SKUA_STEAL_SUCCESS);
	assert_ptr_equal(got, item(n));
}

static void expect_nothing(struct skua_deque_stealer *stealer)
{
	void *got = &got;

	assert_int_equal(skua_deque_stealer_steal(stealer, &got),
			 SKUA_STEAL_EMPTY);
	assert_null(got);
}

/* ---- skua_deque --------------------------------------------------------- */

TEST(deque_create__null_out__einval)
{
	assert_int_equal(skua_deque_create(NULL, SKUA_DEQUE_LIFO, 4), -EINVAL);
}

TEST(deque_create__bad_capacity__einval)
{
	static const uint32_t wrong[] = {
		1, 3, 5, 100, 65535, (1u << 31) - 1, (1u << 31) + 1, UINT32_MAX
	};

	for (size_t i = 0; i < COUNT_OF(wrong); i++) {
		struct skua_deque *deque = (struct skua_deque *)&deque;

		assert_int_equal(
			skua_deque_create(&deque, SKUA_DEQUE_FIFO, wrong[i]),
			-EINVAL);
		assert_null(deque);
	}
}

TEST(deque_create__bad_order__einval)
{
	static const int wrong[] = { 2, 3, INT32_MAX };

	for (size_t i = 0; i < COUNT_OF(wrong); i++) {
		struct skua_deque *deque = (struct skua_deque *)&deque;

		assert_int_equal(
			skua_deque_create(&deque,
					  (enum skua_deque_order)wrong[i], 4),
			-EINVAL);
		assert_null(deque);
	}
}

/* Of the handles' object, and of its slots. */
TEST(deque_create__no_memory__enomem)
{
	if (!CAN_FAIL_ALLOCATIONS) {
		skip_aloud(NO_FAILURES);
		return;
	}
	for (unsigned nth = 1; nth <= 2; nth++) {
		struct skua_deque *deque = (struct skua_deque *)&deque;
		int code;

		errno = 0;
		allocations_begin(nth);
		code = skua_deque_create(&deque, SKUA_DEQUE_LIFO, 4);
		assert_true(allocations_failed());
		assert_int_equal(allocations_end(), 0);
		assert_int_equal(code, -ENOMEM);
		assert_int_equal(errno, 0);
		assert_null(deque);
	}
}

TEST(deque_create__0__does_not_grow_before_256)
{
	struct skua_deque *deque = deque_new(SKUA_DEQUE_LIFO, 0);
	int code;

	if (!CAN_FAIL_ALLOCATIONS) {
		skua_deque_destroy(deque);
		skip_aloud(NO_FAILURES);
		return;
	}
	allocations_begin(1);
	push_items(deque, 0, 256);
	assert_false(allocations_failed());
	code = skua_deque_push(deque, item(256));
	assert_true(allocations_failed());
	allocations_end();
	assert_int_equal(code, -ENOMEM);
	skua_deque_destroy(deque);
}

TEST(deque__null__einval_null_or_0)
{
	struct skua_deque *deque = deque_new(SKUA_DEQUE_LIFO, 4);

	skua_deque_destroy(NULL);
	skua_deque_stealer_drop(NULL);
	assert_int_equal(skua_deque_push(NULL, item(0)), -EINVAL);
	assert_int_equal(skua_deque_push(deque, NULL), -EINVAL);
	assert_int_equal(skua_deque_push(NULL, NULL), -EINVAL);
	assert_null(skua_deque_pop(NULL));
	assert_int_equal(skua_deque_length(NULL), 0);
	assert_null(skua_deque_stealer_create(NULL));
	assert_null(skua_deque_stealer_clone(NULL));
	assert_int_equal(skua_deque_length(deque), 0);
	skua_deque_destroy(deque);
}

TEST(deque_pop__lifo__newest_first)
{
	struct skua_deque *deque = deque_new(SKUA_DEQUE_LIFO, 2);

	assert_null(skua_deque_pop(deque));
	push_items(deque, 0, 1000);
	assert_int_equal(skua_deque_length(deque), 1000);
	for (uint64_t n = 1000; n-- > 0;)
		assert_ptr_equal(skua_deque_pop(deque), item(n));
	assert_null(skua_deque_pop(deque));
	assert_int_equal(skua_deque_length(deque), 0);
	skua_deque_destroy(deque);
}

TEST(deque_pop__fifo__oldest_first)
{
	struct skua_deque *deque = deque_new(SKUA_DEQUE_FIFO, 2);

	assert_null(skua_deque_pop(deque));
	push_items(deque, 0, 1000);
	assert_int_equal(skua_deque_length(deque), 1000);
	for (uint64_t n = 0; n < 1000; n++)
		assert_ptr_equal(skua_deque_pop(deque), item(n));
	assert_null(skua_deque_pop(deque));
	assert_int_equal(skua_deque_length(deque), 0);
	skua_deque_destroy(deque);
}

TEST(deque_push__no_memory__item_stays_the_callers)
{
	if (!CAN_FAIL_ALLOCATIONS) {
		skip_aloud(NO_FAILURES);
		return;
	}
	for (size_t o = 0; o < COUNT_OF(orders); o++) {
		struct skua_deque *deque = deque_new(orders[o], 4);
		struct skua_deque_stealer *stealer =
			skua_deque_stealer_create(deque);
		int code;

		push_items(deque, 0, 4);
		errno = 0;
		allocations_begin(1);
		code = skua_deque_push(deque, item(99));
		allocations_end();
		assert_int_equal(code, -ENOMEM);
		assert_int_equal(errno, 0);
		assert_int_equal(skua_deque_length(deque), 4);
		push_items(deque, 4, 1);
		for (uint64_t n = 0; n < 5; n++)
			expect_stolen(stealer, n);
		expect_nothing(stealer);
		skua_deque_stealer_drop(stealer);
		skua_deque_destroy(deque);
	}
}

/* ---- skua_deque_stealer ------------------------------------------------- */

TEST(stealer_steal__null__einval)
{
	struct skua_deque *deque = deque_new(SKUA_DEQUE_LIFO, 4);
	struct skua_deque_stealer *stealer = skua_deque_stealer_create(deque);
	void *got = &got;

	push_items(deque, 0, 1);
	assert_int_equal(skua_deque_stealer_steal(NULL, &got), -EINVAL);
	assert_null(got);
	assert_int_equal(skua_deque_stealer_steal(stealer, NULL), -EINVAL);
	assert_int_equal(skua_deque_stealer_steal(NULL, NULL), -EINVAL);
	assert_int_equal(skua_deque_length(deque), 1);
	skua_deque_stealer_drop(stealer);
	skua_deque_destroy(deque);
}

TEST(stealer_steal__either_order__oldest_first)
{
	for (size_t o = 0; o < COUNT_OF(orders); o++) {
		struct skua_deque *deque = deque_new(orders[o], 2);
		struct skua_deque_stealer *stealer =
			skua_deque_stealer_create(deque);

		push_items(deque, 0, 5);
		expect_stolen(stealer, 0);
		expect_stolen(stealer, 1);
		assert_ptr_equal(skua_deque_pop(deque),
				 item(orders[o] == SKUA_DEQUE_LIFO ? 4 : 2));
		expect_stolen(stealer, orders[o] == SKUA_DEQUE_LIFO ? 2 : 3);
		assert_int_equal(skua_deque_length(deque), 1);
		skua_deque_stealer_drop(stealer);
		skua_deque_destroy(deque);
	}
}

TEST(stealer__deque_destroyed__goes_on_taking)
{
	struct skua_deque *deque = deque_new(SKUA_DEQUE_LIFO, 2);
	struct skua_deque_stealer *first = skua_deque_stealer_create(deque);
	struct skua_deque_stealer *second = skua_deque_stealer_clone(first);

	push_items(deque, 0, 3);
	skua_deque_destroy(deque);
	expect_stolen(first, 0);
	skua_deque_stealer_drop(first);
	expect_stolen(second, 1);
	second = skua_deque_stealer_clone(second);
	skua_deque_stealer_drop(second); /* there are two of it now */
	expect_stolen(second, 2);
	expect_nothing(second);
	skua_deque_stealer_drop(second);
}

TEST(deque__handles_of_both_kinds__freed_with_the_last)
{
	struct skua_deque *deque;
	struct skua_deque_stealer *stealer;
	struct skua_deque_stealer *clone;

	if (!CAN_FAIL_ALLOCATIONS) {
		skip_aloud("allocations are not counted under a sanitizer");
		return;
	}
	allocations_begin(0);
	deque = deque_new(SKUA_DEQUE_LIFO, 2);
	stealer = skua_deque_stealer_create(deque);
	clone = skua_deque_stealer_clone(stealer);
	push_items(deque, 0, 5);
	skua_deque_stealer_drop(stealer);
	skua_deque_destroy(deque);
	assert_int_equal(allocations_end(), 4); /* 2, 4 and 8 slots */
	allocations_begin(0);
	skua_deque_stealer_drop(clone);
	assert_int_equal(allocations_end(), -4);
}

static int steal(void *from, void **got)
{
	return skua_deque_stealer_steal(from, got);
}

static void race_in(enum skua_deque_order order)
{
	struct skua_deque *deque = deque_new(order, 2);
	struct skua_deque_stealer *stealer = skua_deque_stealer_create(deque);
	struct race *race = race_new(steal, stealer, true);
	uintptr_t last = 0;

	for (uint64_t n = 0; n < RACE_ITEMS; n++) {
		uintptr_t got = 0;

		push_items(deque, n, 1);
		if (n % 3 == 0)
			got = (uintptr_t)skua_deque_pop(deque);
		race_popped(race, (void *)got);
		if (got && order == SKUA_DEQUE_LIFO)
			assert_ptr_equal(got, item(n));
		if (got && order == SKUA_DEQUE_FIFO)
			assert_true(got > last);
		last = got ? got : last;
		/* So that the two do run beside each other. */
		while (n % 64 == 0 && skua_deque_length(deque) > 40)
			sched_yield();
	}
	skua_deque_destroy(deque); /* the stealer takes the rest */
	race_end(race);
	skua_deque_stealer_drop(stealer);
}

TEST(stealer__beside_a_lifo_owner__each_item_once)
{
	race_in(SKUA_DEQUE_LIFO);
}

TEST(stealer__beside_a_fifo_owner__each_item_once)
{
	race_in(SKUA_DEQUE_FIFO);
}
