/* SPDX-License-Identifier: MIT */
/**
 * parallel_sort_key.c - sort items by an integer key
 *
 * The sort orders words. The word of an item has its index, and as many upper bits of its
 * key as there is room for: usually all bits in which the keys differ. Then each item moves
 * once.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "core/base/boundary.h"
#include "core/parallel/parallel_sort.h"
#include "skua/parallel.h"
#include "skua/sort.h"

/* ---- instances ------------------------------------------------------------- */

#define SKUA_SORT_NAME            sort_words
#define SKUA_SORT_TYPE            uint64_t
#define SKUA_SORT_LESS(a, b, arg) (*(a) < *(b))
#include <skua/sort_template.h>

/* Whole keys, to compare words whose upper bits are equal. */
struct keys {
	uint64_t *keys;
	uint64_t index; /* mask of the bits of a word that hold the index */
};

static inline bool key_less(const uint64_t *a, const uint64_t *b,
			    const struct keys *of)
{
	uint64_t left = of->keys[*a & of->index];
	uint64_t right = of->keys[*b & of->index];

	return left < right || (left == right && *a < *b);
}

#define SKUA_SORT_NAME            sort_alike
#define SKUA_SORT_TYPE            uint64_t
#define SKUA_SORT_LESS(a, b, arg) key_less(a, b, arg)
#include <skua/sort_template.h>

/* ---- words ----------------------------------------------------------------- */

struct key_table {
	struct keys of; /* first: sort_alike() takes this */
	const char *base;
	size_t size;
	uint64_t *words;
	uint64_t (*key)(const void *item, void *arg);
	void *arg;
	uint64_t min;     /* subtracted from each key */
	unsigned dropped; /* number of lower bits of a key that do not fit into
			   * a word */
	unsigned index_bits;
};

/* The lowest and the highest key so far. */
struct bounds {
	uint64_t min, max;
};

static int fill_keys(struct skua_ctx ctx, size_t begin, size_t end, void *value,
		     void *arg)
{
	const struct key_table *it = arg;
	struct bounds *bounds = value;
	struct bounds here = *bounds;

	(void)ctx;
	for (size_t i = begin; i < end; i++) {
		uint64_t key = it->key(it->base + i * it->size, it->arg);

		BOUNDARY(loop);
		it->of.keys[i] = key;
		here.min = key < here.min ? key : here.min;
		here.max = key > here.max ? key : here.max;
	}
	*bounds = here;
	return 0;
}

static int join_bounds(void *left, void *right, void *arg)
{
	struct bounds *to = left;
	const struct bounds *from = right;

	(void)arg;
	if (from->min < to->min)
		to->min = from->min;
	if (from->max > to->max)
		to->max = from->max;
	return 0;
}

static int fill_words(struct skua_ctx ctx, size_t begin, size_t end, void *arg)
{
	const struct key_table it = *(struct key_table *)arg;

	(void)ctx;
	for (size_t i = begin; i < end; i++)
		it.words[i] = (it.of.keys[i] - it.min) >>
				      it.dropped << it.index_bits |
			      i;
	return 0;
}

/* bits_of - return the number of bits of a number without its leading zeros */
static unsigned bits_of(uint64_t number)
{
	return number ? 64 - (unsigned)__builtin_clzll(number) : 0;
}

/* sort_all_alike - sort by their whole keys the words that have equal upper bits */
static void sort_all_alike(struct skua_ctx ctx, struct key_table *it,
			   size_t count)
{
	size_t end;

	for (size_t begin = 0; begin < count; begin = end) {
		uint64_t upper = it->words[begin] >> it->index_bits;

		for (end = begin + 1;
		     end < count && it->words[end] >> it->index_bits == upper;
		     end++)
			;
		if (end - begin > 1)
			sort_alike(ctx, it->words + begin, end - begin,
				   &it->of);
	}
}

static void sort_table(struct skua_ctx ctx, struct key_table *it, size_t count)
{
	static const struct bounds none = { UINT64_MAX, 0 };
	const struct skua_reduction how = { .size = sizeof(none),
					    .identity = &none,
					    .fold = fill_keys,
					    .join = join_bounds };
	struct bounds bounds;
	unsigned key_bits;

	(void)skua_reduce(ctx, 0, count, 0, &how, &bounds, it);
	key_bits = bits_of(bounds.max - bounds.min);
	it->min = bounds.min;
	it->index_bits = bits_of(count - 1);
	it->dropped = key_bits + it->index_bits > 64
			      ? key_bits + it->index_bits - 64
			      : 0;
	it->of.index = (UINT64_C(1) << it->index_bits) - 1;
	(void)skua_for(ctx, 0, count, 0, fill_words, it);
	sort_words(ctx, it->words, count, NULL);
	if (it->dropped > 0)
		sort_all_alike(ctx, it, count);
}

int skua_sort_by_key(struct skua_ctx ctx, void *base, size_t count, size_t size,
		     uint64_t (*key)(const void *item, void *arg), void *arg)
{
	struct key_table table = {
		.base = base, .size = size, .key = key, .arg = arg
	};
	struct sort_moves moves = { .base = base, .size = size };
	bool enough;

	if (sort_check(ctx, base, count, size, key != NULL))
		return -EINVAL;
	if (count < 2)
		return 0;
	table.of.keys = sort_take(count, sizeof(uint64_t));
	moves.words = table.words = sort_take(count, sizeof(uint64_t));
	moves.scratch = sort_take(count, size);
	enough = table.of.keys && table.words && moves.scratch;
	if (enough) {
		sort_table(ctx, &table, count);
		moves.index = table.of.index;
		sort_move_all(ctx, count, &moves);
	}
	free(table.of.keys);
	free(table.words);
	free(moves.scratch);
	return enough ? 0 : -ENOMEM;
}
