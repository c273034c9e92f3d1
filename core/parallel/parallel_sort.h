/* SPDX-License-Identifier: MIT */
/**
 * parallel_sort.h - functions that the sorts with callbacks share
 */
#ifndef SKUA_CORE_PARALLEL_PARALLEL_SORT_H
#define SKUA_CORE_PARALLEL_PARALLEL_SORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "skua/fork.h"

/* sort_check - check the arguments of a sort. Return: 0 or -EINVAL */
int sort_check(struct skua_ctx ctx, const void *base, size_t count, size_t size,
	       bool callback);

/* sort_take - allocate memory for @count elements of @size bytes; the caller releases it
 * with free(). Return: NULL if there is none */
void *sort_take(size_t count, size_t size);

typedef const char *sort_address;

/* The items, and a table of their order. For the n-th item of the result, the table has its
 * address in addresses or, if addresses is NULL, its index in the bits @index of words. */
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
