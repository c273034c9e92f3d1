/* SPDX-License-Identifier: MIT */
/* test_parallel_sort.c - sorts with callbacks, and made of the template */
#define SUPPORT_FAIL_ALLOCATIONS
#include "tests/unit/sorts.h"

#define SKUA_SORT_NAME            sort_pairs
#define SKUA_SORT_TYPE            struct pair
#define SKUA_SORT_LESS(a, b, arg) ((a)->key < (b)->key)
#include <skua/sort_template.h>

/* The same, as large as few types are. */
struct wide {
	uint32_t key, index;
	unsigned char rest[91];
};

#define SKUA_SORT_NAME            sort_wides
#define SKUA_SORT_TYPE            struct wide
#define SKUA_SORT_LESS(a, b, arg) ((a)->key < (b)->key)
#include <skua/sort_template.h>

/* ---- callbacks ------------------------------------------------------------- */

static uint64_t key_of_pair(const void *item, void *arg)
{
	(void)arg;
	return ((const struct pair *)item)->key;
}

#define CALLBACK_SORT(name, bytes)                                        \
	static int name##_##bytes(struct skua_ctx ctx, void *base,        \
				  size_t count)                           \
	{                                                                 \
		return skua_##name(ctx, base, count, bytes, compare_keys, \
				   NULL);                                 \
	}

CALLBACK_SORT(sort, 8)
CALLBACK_SORT(sort, 16)
CALLBACK_SORT(sort, 24)
CALLBACK_SORT(sort_stable, 8)
CALLBACK_SORT(sort_stable, 16)
CALLBACK_SORT(sort_stable, 24)

static int by_key_8(struct skua_ctx ctx, void *base, size_t count)
{
	return skua_sort_by_key(ctx, base, count, 8, key_of_pair, NULL);
}

static int by_key_40(struct skua_ctx ctx, void *base, size_t count)
{
	return skua_sort_by_key(ctx, base, count, 40, key_of_pair, NULL);
}

/* More bits than have room beside an index; and lower ones must tell many apart. */
static uint64_t long_key_of_pair(const void *item, void *arg)
{
	uint64_t key = key_of_pair(item, arg);

	return key < 100 ? key : key | UINT64_C(1) << 63;
}

static int by_long_key_8(struct skua_ctx ctx, void *base, size_t count)
{
	return skua_sort_by_key(ctx, base, count, 8, long_key_of_pair, NULL);
}

TEST(sort__each_size_and_order__sorted)
{
	struct sort sorts[] = { { sort_8, 8, false },
				{ sort_16, 16, false },
				{ sort_24, 24, true } };

	for (size_t i = 0; i < COUNT_OF(sorts); i++)
		each_team(sort_all, &sorts[i]);
}

TEST(sort_stable__each_size_and_order__sorted_stably)
{
	struct sort sorts[] = { { sort_stable_8, 8, true },
				{ sort_stable_16, 16, true },
				{ sort_stable_24, 24, true } };

	for (size_t i = 0; i < COUNT_OF(sorts); i++)
		each_team(sort_all, &sorts[i]);
}

TEST(sort_by_key__each_size_and_order__sorted_stably)
{
	struct sort sorts[] = { { by_key_8, 8, true },
				{ by_key_40, 40, true },
				{ by_long_key_8, 8, true } };

	for (size_t i = 0; i < COUNT_OF(sorts); i++)
		each_team(sort_all, &sorts[i]);
}

static int compare_words(const void *a, const void *b, void *arg)
{
	uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;

	(void)arg;
	/* Copies are aligned as items are. */
	assert_int_equal((uintptr_t)a % 4, 0);
	assert_int_equal((uintptr_t)b % 4, 0);
	return (left > right) - (left < right);
}

static int sort_words(struct skua_ctx ctx, void *arg)
{
	uint32_t words[5000];
	struct rng rng;

	(void)arg;
	for (int stable = 0; stable < 2; stable++) {
		uint32_t sum = 0;

		rng_init(&rng, 7);
		for (size_t i = 0; i < COUNT_OF(words); i++)
			sum += words[i] = rng_next(&rng);
		assert_int_equal((stable ? skua_sort_stable : skua_sort)(
					 ctx, words, COUNT_OF(words), 4,
					 compare_words, NULL),
				 0);
		for (size_t i = 0; i < COUNT_OF(words); i++) {
			sum -= words[i];
			assert_true(i == 0 || words[i - 1] <= words[i]);
		}
		assert_int_equal(sum, 0);
	}
	return 0;
}

TEST(sort__items_of_4_bytes__sorted)
{
	each_team(sort_words, NULL);
}

/* An array that is aligned as its items are, but not to their size. */
struct shifted {
	uint32_t before;
	struct pair pairs[1000];
};

static int compare_in_place(const void *a, const void *b, void *arg)
{
	const struct shifted *shifted = arg;

	assert_true((const struct pair *)a >= shifted->pairs);
	assert_true((const struct pair *)b < shifted->pairs + 1000);
	return compare_keys(a, b, NULL);
}

static int sort_shifted(struct skua_ctx ctx, void *arg)
{
	struct shifted *shifted = aligned_alloc(16, 8016);

	(void)arg;
	for (int stable = 0; stable < 2; stable++) {
		for (uint32_t i = 0; i < 1000; i++)
			shifted->pairs[i] = (struct pair){ i * 7919 % 1000, i };
		assert_int_equal((stable ? skua_sort_stable : skua_sort)(
					 ctx, shifted->pairs, 1000, 8,
					 compare_in_place, shifted),
				 0);
		for (uint32_t i = 0; i < 1000; i++)
			assert_int_equal(shifted->pairs[i].key, i);
	}
	free(shifted);
	return 0;
}

TEST(sort__items_not_aligned_to_their_size__no_copies)
{
	each_team(sort_shifted, NULL);
}

/* ---- the template ---------------------------------------------------------- */

TEMPLATE_SORTS(template_pairs, sort_pairs, struct pair)
TEMPLATE_SORTS(template_wides, sort_wides, struct wide)

TEST(template__each_size_and_order__sorted)
{
	struct sort sorts[] = {
		{ template_pairs, sizeof(struct pair), false },
		{ template_pairs_stable, sizeof(struct pair), true },
		{ template_wides, sizeof(struct wide), false },
		{ template_wides_stable, sizeof(struct wide), true }
	};

	for (size_t i = 0; i < COUNT_OF(sorts); i++)
		each_team(sort_all, &sorts[i]);
}

static int sort_nothing(struct skua_ctx ctx, void *arg)
{
	(void)arg;
	sort_pairs(ctx, NULL, 0, NULL);
	sort_pairs_stable(ctx, NULL, 0, NULL, NULL);
	assert_int_equal(skua_sort(ctx, NULL, 0, 8, compare_keys, NULL), 0);
	assert_int_equal(skua_sort_stable(ctx, NULL, 0, 8, compare_keys, NULL),
			 0);
	assert_int_equal(skua_sort_by_key(ctx, NULL, 0, 8, key_of_pair, NULL),
			 0);
	return 0;
}

TEST(sort__null_array_of_0__nothing)
{
	each_team(sort_nothing, NULL);
}

/* ---- arguments and memory -------------------------------------------------- */

static int bad_arguments(struct skua_ctx ctx, void *arg)
{
	const struct skua_ctx none = { NULL, NULL };
	struct pair a[2] = { { 2, 0 }, { 1, 1 } };

	(void)arg;
	assert_int_equal(skua_sort(ctx, a, 2, 8, NULL, NULL), -EINVAL);
	assert_int_equal(skua_sort(ctx, NULL, 2, 8, compare_keys, NULL),
			 -EINVAL);
	assert_int_equal(skua_sort(ctx, a, 2, 0, compare_keys, NULL), -EINVAL);
	assert_int_equal(skua_sort(ctx, a, SIZE_MAX / 4, 8, compare_keys, NULL),
			 -EINVAL);
	assert_int_equal(skua_sort(none, a, 2, 8, compare_keys, NULL), -EINVAL);
	assert_int_equal(skua_sort_stable(ctx, a, 2, 8, NULL, NULL), -EINVAL);
	assert_int_equal(skua_sort_stable(ctx, a, 2, 0, compare_keys, NULL),
			 -EINVAL);
	assert_int_equal(skua_sort_by_key(ctx, a, 2, 8, NULL, NULL), -EINVAL);
	assert_int_equal(skua_sort_by_key(ctx, NULL, 2, 8, key_of_pair, NULL),
			 -EINVAL);
	assert_int_equal(a[0].key, 2);
	return 0;
}

TEST(sort__bad_arguments__einval)
{
	each_team(bad_arguments, NULL);
}

static int without_memory(struct skua_ctx ctx, void *arg)
{
	int (*const sorts[])(struct skua_ctx, void *,
			     size_t) = { sort_24, sort_stable_24, by_key_40,
					 sort_stable_8 };
	const size_t bytes[] = { 24, 24, 40, 8 };

	(void)arg;
	for (size_t i = 0; i < COUNT_OF(sorts); i++)
		for (unsigned nth = 1; nth <= (i == 3 ? 1 : 2); nth++) {
			struct sort sort = { sorts[i], bytes[i], true };
			char base[10 * 40] = { 0 };
			long live;

			for (uint32_t j = 0; j < 10; j++)
				pair_at(&sort, base, j)->key = 10 - j;
			errno = 0;
			allocations_begin(nth);
			assert_int_equal(sort.sort(ctx, base, 10), -ENOMEM);
			assert_int_equal(errno, 0);
			live = allocations_end();
			assert_int_equal(live, 0);
			for (uint32_t j = 0; j < 10; j++)
				assert_int_equal(pair_at(&sort, base, j)->key,
						 10 - j);
		}
	return 0;
}

TEST(sort__no_memory__enomem_and_nothing_moved)
{
	if (!CAN_FAIL_ALLOCATIONS)
		skip_aloud(NO_FAILURES);
	each_team(without_memory, NULL);
}
