/* SPDX-License-Identifier: MIT */
/* sorted.h - compares numbers, and searches arrays that are sorted by a number */
#ifndef SKUA_BPF_CLI_SORTED_H
#define SKUA_BPF_CLI_SORTED_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* compare_numbers - compare two keys for qsort(); the smaller one comes first */
static inline int compare_numbers(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

/**
 * sorted_up_to - return how many items of an array have a key of at most @key
 * @array: @count items of @item bytes each, in ascending order of their keys
 * @key_at: offset of the key, a uint64_t, in an item
 *
 * Return: 0 to @count. The last item with such a key is just before that index; the
 * first item with a greater key is at it.
 */
static inline size_t sorted_up_to(const void *array, size_t count, size_t item,
				  size_t key_at, uint64_t key)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		uint64_t found;

		memcpy(&found, (const char *)array + middle * item + key_at,
		       sizeof(found));
		if (found <= key)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* SORTED_UP_TO - call sorted_up_to() with the name of the member that is the
 * key */
#define SORTED_UP_TO(array, count, member, key)      \
	sorted_up_to(array, count, sizeof(*(array)), \
		     offsetof(__typeof__(*(array)), member), key)

#endif
