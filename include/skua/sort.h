/* SPDX-License-Identifier: MIT */
/**
 * sort.h - parallel sorts of any items, with callbacks
 *
 * A comparison through a callback is a call; where that counts, make a sort of
 * your own of skua/sort_template.h, which has the same algorithms. Items of
 * other sizes than 4, 8 and 16 bytes, and those that are not aligned to their
 * size, are compared where they lie, through their addresses: there a key, or a
 * sort of your own, is several times faster.
 *
 * @compare says of two items, as for qsort(): negative, if the first belongs
 * before the second; positive, if behind it; 0, if they are equal. It is called
 * on several threads at once, may be given the addresses of copies, and returns:
 * it must not be left by an exception or longjmp(). If it is
 * no order (contradicts itself, is random), the order of the result is
 * unspecified, but each item is there once, nothing outside the array is
 * touched, and the call ends.
 */
#ifndef SKUA_SORT_H
#define SKUA_SORT_H

#include <skua/fork.h>

SKUA_BEGIN_DECLS

/**
 * skua_sort - sort an array; equal items end in any order
 * @ctx: of the calling function
 * @base: @count items of @size bytes; may be NULL if there are none
 * @arg: @compare's
 *
 * Threads: that of @ctx. Blocks: for what others have taken.
 * Allocates: nothing for items of 4, 8 or 16 bytes that are aligned to their
 * size; for others the array once more, and a pointer for each item, from libc.
 * Return: 0; -EINVAL (a pointer but @arg is NULL, a context of NULLs, @size is 0,
 * or the array would be larger than the address space); -ENOMEM (nothing was
 * moved).
 */
SKUA_API int skua_sort(struct skua_ctx ctx, void *base, size_t count,
		       size_t size,
		       int (*compare)(const void *a, const void *b, void *arg)
			       SKUA_NOEXCEPT,
		       void *arg);

/**
 * skua_sort_stable - sort an array; equal items stay in their order
 *
 * Threads: that of @ctx. Blocks: for what others have taken.
 * Allocates: the array once more, and for items that skua_sort() compares where
 * they lie a pointer each, from libc.
 * Return: as skua_sort().
 */
SKUA_API int skua_sort_stable(struct skua_ctx ctx, void *base, size_t count,
			      size_t size,
			      int (*compare)(const void *a, const void *b,
					     void *arg) SKUA_NOEXCEPT,
			      void *arg);

/**
 * skua_sort_by_key - sort an array by a number that each item has, the least
 * first; items with equal numbers stay in their order
 * @key: the number; called once for each item, if there are two or more, on
 *       several threads at once; returns, as @compare does. Of a signed number,
 *       2^63 more
 *
 * Threads: that of @ctx. Blocks: for what others have taken.
 * Allocates: the array once more, and 16 bytes for each item, from libc.
 * Return: as skua_sort().
 */
SKUA_API int skua_sort_by_key(struct skua_ctx ctx, void *base, size_t count,
			      size_t size,
			      uint64_t (*key)(const void *item, void *arg)
				      SKUA_NOEXCEPT,
			      void *arg);

SKUA_END_DECLS

#endif
