/* SPDX-License-Identifier: MIT */
/* parallel_sort_items.c - see parallel_sort.h */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/memory.h"
#include "core/parallel/parallel_loop.h"
#include "core/parallel/parallel_sort.h"
#include "skua/parallel.h"

int sort_check(struct skua_ctx ctx, const void *base, size_t count, size_t size,
	       bool callback)
{
	if (!callback || parallel_valid(ctx, 0, count))
		return -EINVAL;
	return parallel_array_valid(base, count, size);
}

void *sort_take(size_t count, size_t size)
{
	int saved = errno;
	void *memory =
		count <= PTRDIFF_MAX / size ? malloc(count * size) : NULL;

	errno_restore(saved);
	return memory;
}

static inline void copy_item(char *to, const char *from, size_t size)
{
	/* The compiler inlines copies of a constant size. */
	if (size == 8)
		memcpy(to, from, 8);
	else if (size == 16)
		memcpy(to, from, 16);
	else
		memcpy(to, from, size);
}

static int gather_addresses(struct skua_ctx ctx, size_t begin, size_t end,
			    void *arg)
{
	const struct sort_moves it = *(struct sort_moves *)arg;

	(void)ctx;
	for (size_t i = begin; i < end; i++)
		copy_item(it.scratch + i * it.size, it.addresses[i], it.size);
	return 0;
}

static int gather_indices(struct skua_ctx ctx, size_t begin, size_t end,
			  void *arg)
{
	const struct sort_moves it = *(struct sort_moves *)arg;

	(void)ctx;
	for (size_t i = begin; i < end; i++)
		copy_item(it.scratch + i * it.size,
			  it.base + (it.words[i] & it.index) * it.size,
			  it.size);
	return 0;
}

static int put_back(struct skua_ctx ctx, size_t begin, size_t end, void *arg)
{
	const struct sort_moves *it = arg;

	(void)ctx;
	memcpy(it->base + begin * it->size, it->scratch + begin * it->size,
	       (end - begin) * it->size);
	return 0;
}

void sort_move_all(struct skua_ctx ctx, size_t count, struct sort_moves *moves)
{
	(void)skua_for(ctx, 0, count, 0,
		       moves->addresses ? gather_addresses : gather_indices,
		       moves);
	(void)skua_for(ctx, 0, count, 0, put_back, moves);
}
