/* SPDX-License-Identifier: MIT */
/**
 * parallel_sort.h - what the sorts with callbacks have in common
 */
#ifndef SKUA_CORE_PARALLEL_PARALLEL_SORT_H
#define SKUA_CORE_PARALLEL_PARALLEL_SORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "skua/fork.h"

/* sort_check - 0, or -EINVAL for arguments that no sort takes */
int sort_check(struct skua_ctx ctx, const void *base, size_t count, size_t size,
	       bool callback);

/* sort_take - memory for @count elements of @size bytes, for free(); NULL: there
 * is none */
void *sort_take(size_t count, size_t size);

typedef const char *sort_address;

/* Where the items are, and the table that says which of them is the n-th of the
 * result: by its address; or, if there are no addresses, by its index, in those
 * bits of a word. */
struct sort_moves {
	char *base, *scratch;
	size_t size;
	sort_address *addresses;
	const uint64_t *words;
	uint64_t index;
};

/* sort_move_all - move each of @count items once, by way of scratch */
void sort_move_all(struct skua_ctx ctx, size_t count, struct sort_moves *moves);

#endif
