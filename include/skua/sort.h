/* SPDX-License-Identifier: MIT */
/**
 * sort.h - parallel sorts of items of any type, with callbacks
 *
 * Each comparison is a call of a callback. Where that costs too much, make a sort of
 * your own from skua/sort_template.h, which has the same algorithms. The sorts here
 * compare items through their addresses if the size is not 4, 8 or 16 bytes, or if
 * the items are not aligned to their size. For such items, skua_sort_by_key() or a
 * sort of your own is several times faster.
 *
 * @compare returns, as for qsort(), a negative value if the first item belongs before
 * the second, a positive value if it belongs after it, and 0 if they are equal. It is
 * called on several threads at once, and may receive the addresses of copies. No
 * exception or longjmp() may leave it. If its results contradict each other, or are
 * random, the order of the result is unspecified; but the result has each item once,
 * the sort accesses no memory outside the array, and it ends.
 */
#ifndef SKUA_SORT_H
#define SKUA_SORT_H

#include <skua/fork.h>

SKUA_BEGIN_DECLS

/**
 * skua_sort - sort an array; equal items end up in any order
 * @ctx: context of the calling function
 * @base: @count items of @size bytes; may be NULL if @count is 0
 * @count: number of items
 * @size: size of an item, in bytes
 * @compare: compares two items, see above
 * @arg: passed to @compare; may be NULL
 *
 * Threads: the thread of @ctx. Blocks: until the parts that other threads took are
 * done. Allocates: nothing for items of 4, 8 or 16 bytes that are aligned to their
 * size; for other items a copy of the array and a pointer for each item, from libc.
 * Return: 0; -EINVAL (a pointer except @arg is NULL, a field of @ctx is NULL, @size
 * is 0, or the array would be larger than the address space); -ENOMEM (no item was
 * moved).
 */
SKUA_API int skua_sort(struct skua_ctx ctx, void *base, size_t count,
		       size_t size,
		       int (*compare)(const void *a, const void *b, void *arg)
			       SKUA_NOEXCEPT,
		       void *arg);

/**
 * skua_sort_stable - sort an array; equal items keep their order
 *
 * The parameters are those of skua_sort().
 *
 * Threads: the thread of @ctx. Blocks: until the parts that other threads took are
 * done. Allocates: a copy of the array, and a pointer for each item that it compares
 * through its address, from libc.
 * Return: as skua_sort().
 */
SKUA_API int skua_sort_stable(struct skua_ctx ctx, void *base, size_t count,
			      size_t size,
			      int (*compare)(const void *a, const void *b,
					     void *arg) SKUA_NOEXCEPT,
			      void *arg);

/**
 * skua_sort_by_key - sort an array by a number of each item, the lowest first; items
 * with equal numbers keep their order
 * @key: returns the number of an item; for a signed number, add 2^63. It is called
 *       once for each item if there are two or more, on several threads at once. No
 *       exception or longjmp() may leave it
 *
 * The other parameters are those of skua_sort().
 *
 * Threads: the thread of @ctx. Blocks: until the parts that other threads took are
 * done. Allocates: a copy of the array, and 16 bytes for each item, from libc.
 * Return: as skua_sort().
 */
SKUA_API int skua_sort_by_key(struct skua_ctx ctx, void *base, size_t count,
			      size_t size,
			      uint64_t (*key)(const void *item, void *arg)
				      SKUA_NOEXCEPT,
			      void *arg);

SKUA_END_DECLS

#endif
