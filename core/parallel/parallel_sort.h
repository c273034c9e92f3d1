/* SPDX-License-Identifier: MIT */
/**
 * parallel_sort.h - shared by the sorts with callbacks
 */
#ifndef SKUA_CORE_PARALLEL_PARALLEL_SORT_H
#define SKUA_CORE_PARALLEL_PARALLEL_SORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "skua/fork.h"

/* sort_check - check the arguments of a sort: 0 or -EINVAL */
int sort_check(struct skua_ctx ctx, const void *base, size_t count, size_t size,
	       bool callback);

/* sort_take - allocate memory for @count elements of @size bytes, for free(); NULL: there
 * is none */
void *sort_take(size_t count, size_t size);

typedef const char *sort_address;

/* The items, and the table of their order: the address of the n-th item of the result or,
 * if addresses is NULL, its index, which is in the bits @index of a word. */
struct sort_moves {
	char *base, *scratch;
	size_t size;
	sort_address *addresses;
	const uint64_t *words;
	uint64_t index;
};

/* sort_move_all - move each of @count items once, through scratch */
void sort_move_all(struct skua_ctx ctx, size_t count, struct sort_moves *moves);

#endif
