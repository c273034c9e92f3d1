/* SPDX-License-Identifier: MIT */
/* test_slab.c - blocks, and where they go back to; node_alloc */
#include "core/os/node_alloc.h"
#include "core/task/slab.h"
#include "tests/unit/support.h"

/* Two nodes, as far as the library is concerned: the kernel need not have them. */
struct side {
	struct node_alloc alloc;
	struct slab slab;
	struct slab_cache cache;
};

static void side_init(struct side *side, int node)
{
	memset(side, 0, sizeof(*side));
	node_alloc_init(&side->alloc, NULL, node, false);
	slab_init(&side->slab, &side->alloc);
	side->cache.slab = &side->slab;
}

static void side_end(struct side *side)
{
	slab_destroy(&side->slab);
	node_alloc_destroy(&side->alloc);
}

#define BLOCKS 1000u

static void take(struct side *side, void **blocks, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		blocks[i] = slab_take(&side->slab, &side->cache);
		assert_non_null(blocks[i]);
		memset(blocks[i], (int)(i % 256), SLAB_BLOCK_BYTES);
	}
}

static bool is_among(void *const *blocks, const void *block)
{
	for (unsigned i = 0; i < BLOCKS; i++) {
		if (blocks[i] == block)
			return true;
	}
	return false;
}

TEST(slab__given_by_another_node__goes_home)
{
	static void *first[BLOCKS], *own[BLOCKS], *again[BLOCKS];
	struct side here, there;
	unsigned back = 0;

	side_init(&here, 0);
	side_init(&there, 0);
	take(&here, first, BLOCKS);
	for (unsigned i = 0; i < BLOCKS; i++)
		slab_give(&here.slab, &there.cache, first[i]);
	/* None is taken there. */
	take(&there, own, BLOCKS);
	for (unsigned i = 0; i < BLOCKS; i++)
		assert_false(is_among(first, own[i]));
	/* All are taken here again, but those that are on their way. */
	take(&here, again, BLOCKS);
	for (unsigned i = 0; i < BLOCKS; i++)
		back += is_among(first, again[i]);
	assert_true(back >= BLOCKS - 32);
	side_end(&here);
	side_end(&there);
}

/* Of two others in turn: each goes to its own. */
TEST(slab__given_of_two_others__each_goes_home)
{
	static void *first[BLOCKS], *second[BLOCKS], *again[BLOCKS];
	struct side one, other, here;

	side_init(&one, 0);
	side_init(&other, 0);
	side_init(&here, 0);
	take(&one, first, BLOCKS);
	take(&other, second, BLOCKS);
	for (unsigned i = 0; i < BLOCKS; i++) {
		slab_give(&one.slab, &here.cache, first[i]);
		slab_give(&other.slab, &here.cache, second[i]);
	}
	take(&one, again, BLOCKS);
	for (unsigned i = 0; i < BLOCKS; i++)
		assert_false(is_among(second, again[i]));
	take(&other, again, BLOCKS);
	for (unsigned i = 0; i < BLOCKS; i++)
		assert_false(is_among(first, again[i]));
	side_end(&one);
	side_end(&other);
	side_end(&here);
}

TEST(slab__given_from_outside__taken_again)
{
	struct side here;
	void *block;

	side_init(&here, NODE_MEMORY_ANY);
	block = slab_take(&here.slab, NULL);
	assert_non_null(block);
	slab_give(&here.slab, NULL, block);
	assert_ptr_equal(slab_take(&here.slab, NULL), block);
	side_end(&here);
}

/* ---- node_alloc ------------------------------------------------------------- */

TEST(node_alloc__pieces_of_any_size__zeroed_aligned_and_apart)
{
	static const size_t sizes[] = { 1,     127,   128,    129,     4096,
					65535, 65536, 300000, 3000000, 1 };
	struct node_alloc alloc;
	unsigned char *pieces[COUNT_OF(sizes)];

	node_alloc_init(&alloc, NULL, 0, false);
	for (size_t i = 0; i < COUNT_OF(sizes); i++) {
		pieces[i] = node_alloc_bytes(&alloc, sizes[i]);
		assert_non_null(pieces[i]);
		assert_int_equal((uintptr_t)pieces[i] % CACHE_PAIR, 0);
		for (size_t n = 0; n < sizes[i]; n++)
			assert_int_equal(pieces[i][n], 0);
		memset(pieces[i], (int)i + 1, sizes[i]);
	}
	for (size_t i = 0; i < COUNT_OF(sizes); i++) {
		for (size_t n = 0; n < sizes[i]; n++)
			assert_int_equal(pieces[i][n], i + 1);
		node_alloc_free(&alloc, pieces[i], sizes[i]);
	}
	node_alloc_destroy(&alloc);
	/* Nothing is left to be given back twice. */
	node_alloc_destroy(&alloc);
}

static unsigned given, taken;

static void *give(void *ctx, size_t align, size_t size)
{
	(void)ctx;
	given++;
	return aligned_alloc(align, size);
}

static void take_back(void *ctx, void *memory, size_t size)
{
	(void)ctx;
	(void)size;
	taken++;
	free(memory);
}

TEST(node_alloc__allocator_given__all_is_its_own)
{
	const struct skua_allocator allocator = { give, take_back, NULL };
	struct node_alloc alloc;
	void *memory;

	given = taken = 0;
	node_alloc_init(&alloc, &allocator, 0, true);
	memory = node_alloc_bytes(&alloc, 1000);
	assert_non_null(memory);
	assert_int_equal(given, 1);
	assert_null(alloc.extents);
	node_alloc_free(&alloc, memory, 1000);
	assert_int_equal(taken, 1);
	node_alloc_destroy(&alloc);
}

TEST(node_alloc__no_memory__null_and_goes_on)
{
	struct node_alloc alloc;

	node_alloc_init(&alloc, NULL, 0, false);
	assert_null(node_alloc_bytes(&alloc, SIZE_MAX / 4));
	assert_non_null(node_alloc_bytes(&alloc, 1));
	node_alloc_destroy(&alloc);
}
