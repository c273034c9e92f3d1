/* SPDX-License-Identifier: MIT */
/* sorts.h - what tests of sorts share: what they sort, in which order it comes,
 * and what has to come of it */
#ifndef TESTS_UNIT_SORTS_H
#define TESTS_UNIT_SORTS_H

#include "core/base/rng.h"
#include "tests/unit/loops.h"

/* A key, and where the item was. */
struct pair {
	uint32_t key, index;
};

enum order {
	RANDOM,
	SORTED,
	REVERSED,
	EQUAL,
	ORGAN_PIPE,
	TWO_SORTED,
	APPENDED,
	VALLEY,
	FEW_KEYS,
	SAW,
	NEARLY,
	ORDERS
};

static inline uint32_t key_of(enum order order, size_t i, size_t count,
			      struct rng *rng)
{
	switch (order) {
	case SORTED:
		return (uint32_t)i;
	case REVERSED:
		return (uint32_t)(count - i);
	case EQUAL:
		return 5;
	case ORGAN_PIPE:
		return (uint32_t)(i < count / 2 ? i : count - i);
	case TWO_SORTED:
		return (uint32_t)(i % (count - count / 3));
	case APPENDED:
		return (uint32_t)(i < count - count / 50 ? 2 * i : i);
	case VALLEY:
		return (uint32_t)(i < count / 3 ? count - i : i / 2);
	case FEW_KEYS:
		return rng_next(rng) % 7;
	case SAW:
		return (uint32_t)(i % 100);
	case NEARLY:
		return (uint32_t)(rng_next(rng) % 50 == 0 ? 0 : i);
	default:
		return rng_next(rng);
	}
}

/* Sizes about those where the algorithm changes, and one that is cut often. */
static const size_t sizes[] = { 0,  1,   2,   3,    4,    5,    7,    8,
				15, 16,  17,  31,   32,   33,   34,   63,
				65, 127, 500, 1023, 1024, 1025, 5000, 40001 };
/* The largest is most of the time. */
#define SIZES (COUNT_OF(sizes) - SANITIZED)

/* One sort, of pairs or of what begins with one. */
struct sort {
	int (*sort)(struct skua_ctx ctx, void *base, size_t count);
	size_t size; /* of an item, in bytes */
	bool stable;
};

static inline struct pair *pair_at(const struct sort *sort, char *base,
				   size_t i)
{
	return (struct pair *)(base + i * sort->size);
}

/* Each item is there once; that they are in order, if @ordered. */
static inline void check_sorted(const struct sort *sort, char *base,
				size_t count, const uint32_t *keys,
				bool ordered)
{
	unsigned char *seen = calloc(count + 1, 1);

	for (size_t i = 0; i < count; i++) {
		struct pair *pair = pair_at(sort, base, i), *last;

		assert_true(pair->index < count);
		assert_int_equal(seen[pair->index]++, 0);
		assert_int_equal(pair->key, keys[pair->index]);
		if (i == 0 || !ordered)
			continue;
		last = pair_at(sort, base, i - 1);
		assert_true(last->key <= pair->key);
		if (sort->stable && last->key == pair->key)
			assert_true(last->index < pair->index);
	}
	free(seen);
}

static inline void sort_one(struct skua_ctx ctx, const struct sort *sort,
			    enum order order, size_t count, bool ordered)
{
	uint32_t *keys = calloc(count + 1, sizeof(*keys));
	/* The memory around it is watched by the sanitizer, and here. */
	char *memory = malloc((count + 2) * sort->size);
	char *base = memory + sort->size;
	struct rng rng;

	rng_init(&rng, count + order);
	memset(memory, 0x5a, (count + 2) * sort->size);
	for (size_t i = 0; i < count; i++) {
		keys[i] = key_of(order, i, count, &rng);
		*pair_at(sort, base, i) = (struct pair){ keys[i], (uint32_t)i };
	}
	ask(ctx);
	assert_int_equal(sort->sort(ctx, base, count), 0);
	check_sorted(sort, base, count, keys, ordered);
	for (size_t i = 0; i < sort->size; i++) {
		assert_int_equal(memory[i], 0x5a);
		assert_int_equal(base[count * sort->size + i], 0x5a);
	}
	free(memory);
	free(keys);
}

static inline int sort_all(struct skua_ctx ctx, void *arg)
{
	const struct sort *sort = arg;

	for (int order = 0; order < ORDERS; order++)
		for (size_t i = 0; i < SIZES; i++)
			sort_one(ctx, sort, (enum order)order, sizes[i], true);
	return 0;
}

static inline int compare_keys(const void *a, const void *b, void *arg)
{
	uint32_t left = ((const struct pair *)a)->key;
	uint32_t right = ((const struct pair *)b)->key;

	(void)arg;
	return (left > right) - (left < right);
}

/* TEMPLATE_SORTS - functions of a struct sort for the two that the template made for
 * TYPE under the name SORT: NAME() and NAME_stable() */
#define TEMPLATE_SORTS(NAME, SORT, TYPE)                               \
	static int NAME(struct skua_ctx ctx, void *base, size_t count) \
	{                                                              \
		SORT(ctx, base, count, NULL);                          \
		return 0;                                              \
	}                                                              \
	static int NAME##_stable(struct skua_ctx ctx, void *base,      \
				 size_t count)                         \
	{                                                              \
		TYPE *buffer = malloc((count + 1) * sizeof(*buffer));  \
                                                                       \
		SORT##_stable(ctx, base, count, buffer, NULL);         \
		free(buffer);                                          \
		return 0;                                              \
	}

#endif
