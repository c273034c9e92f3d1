/* SPDX-License-Identifier: MIT */
/**
 * parallel.h - loops over ranges that idle workers help with
 *
 * A range is the numbers [begin, end). Mostly they are the indices of an array. A
 * loop cuts its range into sub-ranges and calls a callback of the program for each
 * of them. The loop over single items is in the callback, where the compiler sees it.
 * To add up an array:
 *
 *	static int add(struct skua_ctx ctx, size_t begin, size_t end,
 *		       void *value, void *arg)
 *	{
 *		const long *items = arg;
 *		long *sum = value;
 *
 *		for (size_t i = begin; i < end; i++)
 *			*sum += items[i];
 *		return 0;
 *	}
 *
 *	static int join(void *left, void *right, void *arg)
 *	{
 *		*(long *)left += *(long *)right;
 *		return 0;
 *	}
 *
 *	const struct skua_reduction sum =
 *		SKUA_REDUCTION_INIT(sizeof(long), add, join);
 *
 *	err = skua_reduce(ctx, 0, count, 0, &sum, &total, items);
 *
 * How a range is cut. The calling thread works through the range from its begin.
 * When other threads ask for work (skua_wanted()), it forks the upper half of the
 * rest, and the thread that takes that half does the same. While no thread asks, the
 * loop forks nothing (except skua_reduce() with a grain); it reads one word before
 * each sub-range.
 *
 * Grain. @grain is the number of items of a sub-range. With 0, a sub-range has as
 * many items as take some microseconds: the first sub-ranges are small, and the loop
 * reads the clock between them. Any other grain is exact. Whichever threads help,
 * each sub-range begins at @begin plus a multiple of @grain and has @grain items,
 * except the last. A range of @grain items or fewer is one sub-range.
 *
 * Results of callbacks. 0 means: go on. Any other value ends the loop, and the
 * function returns it. Negative values of <errno.h> are usual; positive values are
 * allowed unless a function says otherwise. The library itself returns -EINVAL before
 * it calls anything, or when a callback breaks the rules of its function. A loop ends
 * as it would on one thread: all sub-ranges before the one that returned the value
 * are done and returned 0. So the value does not depend on which thread is faster.
 * Sub-ranges after it may be done, done in part, or not begun; no more of them begin.
 *
 * Callbacks run on any worker, several at once, each with a context to fork with
 * (ctx of skua/fork.h, which it may ignore). A callback must return: it must not be
 * left by an exception, longjmp() or pthread_exit() (see SKUA_NOEXCEPT). It must join
 * the jobs that it forks.
 *
 * A parameter without a description has that of skua_for(). Each function takes the
 * context of the calling function. When it returns, no callback runs any more.
 * Callbacks see all writes before the call, and the caller sees theirs after it.
 */
#ifndef SKUA_PARALLEL_H
#define SKUA_PARALLEL_H

#include <skua/fork.h>

SKUA_BEGIN_DECLS

/* The largest size of a value of a reduction or a scan, in bytes. */
#define SKUA_MAX_VALUE 1024u

/**
 * skua_for - call a function for all of a range
 * @ctx: of the calling function
 * @begin: the first number of the range
 * @end: the number after its last; an empty range makes no call
 * @grain: items of a sub-range; 0 = adaptive
 * @body: called once for each sub-range, with the context of its thread, the
 *        sub-range, and @arg
 * @arg: passed to @body
 *
 * Threads: that of @ctx. Blocks: for parts that other threads have taken.
 * Allocates: nothing.
 * Return: 0; the value of @body that ended the loop; -EINVAL (a pointer except @arg
 * is NULL, @ctx has NULLs, or @begin is above @end).
 */
SKUA_API int skua_for(struct skua_ctx ctx, size_t begin, size_t end,
		      size_t grain,
		      int (*body)(struct skua_ctx ctx, size_t begin, size_t end,
				  void *arg) SKUA_NOEXCEPT,
		      void *arg);

/**
 * skua_map - compute an array from another
 * @in: @count items of @in_size bytes
 * @out: room for @count items of @out_size bytes; may be @in if the sizes are equal,
 *       and must not overlap it otherwise
 * @count: the number of items; with 0, @in and @out may be NULL
 * @map: computes @count items at @out from those at @in; called for parts of the
 *       arrays
 *
 * Threads: that of @ctx. Blocks: for parts that other threads have taken.
 * Allocates: nothing.
 * Return: 0; the value of @map that ended the loop; -EINVAL (as skua_for(), or a size
 * is 0, or an array would be larger than the address space).
 */
SKUA_API int skua_map(struct skua_ctx ctx, const void *in, size_t in_size,
		      void *out, size_t out_size, size_t count, size_t grain,
		      int (*map)(struct skua_ctx ctx, const void *in, void *out,
				 size_t count, void *arg) SKUA_NOEXCEPT,
		      void *arg);

/**
 * skua_collect - gather the items that a range yields, in order
 * @out: room for @end - @begin items of @size bytes
 * @count: receives the number of items at @out
 * @collect: writes up to @end - @begin items to its @out, and their number to its
 *           @count. The library may move the items later, as bytes
 *
 * The items keep the order of the range, as in a filter of an array. If @collect ends
 * the loop, @count is 0 and the content of @out is unspecified.
 *
 * Threads: that of @ctx. Blocks: for parts that other threads have taken.
 * Allocates: nothing.
 * Return: 0; the value of @collect that ended the loop; -EINVAL (as skua_for(), or
 * @size is 0, or @out would be larger than the address space; or @collect reported
 * more items than its sub-range has, which has overwritten memory after its room).
 */
SKUA_API int skua_collect(struct skua_ctx ctx, size_t begin, size_t end,
			  size_t grain, void *out, size_t size, size_t *count,
			  int (*collect)(struct skua_ctx ctx, size_t begin,
					 size_t end, void *out, size_t *count,
					 void *arg) SKUA_NOEXCEPT,
			  void *arg);

/**
 * struct skua_reduction - how to reduce many items to one value
 * @size: of a value, in bytes: 1 to SKUA_MAX_VALUE. Values are aligned as by
 *        malloc()
 * @identity: the value of no items: joined with another value, on either side, it
 *            leaves that value. It is copied as bytes. NULL: all bytes are zero
 * @fold: adds a sub-range to a value, on its right
 * @join: adds the value @right to @left, which is before it in the range. The
 *        callback owns @right then, whatever it returns
 * @drop: frees a value that owns something and is not joined, because the loop ended
 *        or because it has no items. NULL: nothing to free
 *
 * Values are joined in the order of the range, so @join need only be associative: it
 * may concatenate strings, or multiply matrices. Which values are joined first
 * depends on which threads help, and when. The addition of floating-point numbers is
 * not associative, so the result differs in its last digits from call to call. With a
 * @grain other than 0 it does not: each sub-range is folded on its own, from
 * @identity, and the values are joined in a binary tree whose shape depends only on
 * the range and @grain.
 */
struct skua_reduction {
	size_t size;
	const void *identity;
	int (*fold)(struct skua_ctx ctx, size_t begin, size_t end, void *value,
		    void *arg) SKUA_NOEXCEPT;
	int (*join)(void *left, void *right, void *arg) SKUA_NOEXCEPT;
	void (*drop)(void *value, void *arg) SKUA_NOEXCEPT;
};

/* Initialiser for a reduction whose values have @size bytes and begin as zeros. */
/* clang-format off */
#define SKUA_REDUCTION_INIT(size, fold, join) \
	{ (size), NULL, (fold), (join), NULL }
/* clang-format on */

/**
 * skua_reduce - reduce a range to one value
 * @how: borrowed until the function returns
 * @value: room for a value, aligned as its type needs; receives the result, which is
 *         the identity for an empty range. If a callback ended the loop, the value
 *         was dropped
 *
 * Threads: that of @ctx. Blocks: for parts that other threads have taken.
 * Allocates: nothing.
 * Return: 0; the value of @fold or @join that ended the loop; -EINVAL (as skua_for(),
 * or a function of @how is NULL, or its size is out of range).
 */
SKUA_API int skua_reduce(struct skua_ctx ctx, size_t begin, size_t end,
			 size_t grain, const struct skua_reduction *how,
			 void *value, void *arg);

/**
 * skua_scan - compute all prefixes of a reduction
 * @how: borrowed until the function returns; its fold and @scan must compute the
 *       same. Values are copied as bytes, so its drop must be NULL
 * @scan: continues from @carry, the value of all items before @begin. It writes its
 *        results for each item, and leaves in @carry the value of all items before
 *        @end
 * @value: receives the value of the whole range, which is the identity if the range
 *         is empty; unchanged if a callback ended the loop; may be NULL
 *
 * A running sum of an array that includes each item is
 *
 *	for (size_t i = begin; i < end; i++)
 *		out[i] = *carry += in[i];
 *
 * and one that excludes it
 *
 *	for (size_t i = begin; i < end; i++) {
 *		const long next = *carry + in[i];
 *
 *		out[i] = *carry; // may be in[]
 *		*carry = next;
 *	}
 *
 * @scan is called once for each sub-range. Other threads that help call @fold for
 * sub-ranges ahead, until their prefixes are known. On p threads, a scan takes at
 * best 2 / (p + 1) of its time on one thread. With a @grain other than 0, @fold is
 * called for each sub-range, and the prefixes are the joins of these values from left
 * to right, whichever threads help. The result of a @fold ahead does not end the
 * loop; the result of @scan or, with a @grain, of @fold at the same place does.
 *
 * Threads: that of @ctx. Blocks: for parts that other threads have taken.
 * Allocates: if other threads help, a value and a byte for each sub-range (with
 * @grain 0: for 1024), from libc. Without that memory, no thread helps.
 * Return: 0; the value of a callback that ended the loop; -EINVAL (as skua_reduce(),
 * or drop is not NULL).
 */
SKUA_API int skua_scan(struct skua_ctx ctx, size_t begin, size_t end,
		       size_t grain, const struct skua_reduction *how,
		       int (*scan)(struct skua_ctx ctx, size_t begin,
				   size_t end, void *carry, void *arg)
			       SKUA_NOEXCEPT,
		       void *value, void *arg);

/**
 * skua_find_first - find the first match in a range
 * @find: looks for the first match in a sub-range; returns 1 and writes its number to
 *        @found, or 0 if there is no match, or a negative value to end the loop
 * @found: receives the first match of the whole range; may be NULL
 *
 * Threads: that of @ctx. Blocks: for parts that other threads have taken.
 * Allocates: nothing.
 * Return: 1: there is a match; 0: there is none; a negative value of @find before the
 * first match; -EINVAL (as skua_for(), or @find returned more than 1).
 */
SKUA_API int skua_find_first(struct skua_ctx ctx, size_t begin, size_t end,
			     size_t grain,
			     int (*find)(struct skua_ctx ctx, size_t begin,
					 size_t end, size_t *found, void *arg)
				     SKUA_NOEXCEPT,
			     size_t *found, void *arg);

/**
 * skua_find_any - find any match in a range
 *
 * As skua_find_first(), but all threads end as soon as there is a match or a negative
 * value of @find. If there are both, the first one in the range counts.
 */
SKUA_API int skua_find_any(struct skua_ctx ctx, size_t begin, size_t end,
			   size_t grain,
			   int (*find)(struct skua_ctx ctx, size_t begin,
				       size_t end, size_t *found, void *arg)
				   SKUA_NOEXCEPT,
			   size_t *found, void *arg);

/**
 * skua_any - tell whether a range has a match
 * @test: returns 1 if the sub-range has a match, 0 if not, negative to end the loop
 *
 * All threads end as soon as the result is known.
 *
 * Threads: that of @ctx. Blocks: for parts that other threads have taken.
 * Allocates: nothing.
 * Return: 1, 0, or negative, as skua_find_any().
 */
SKUA_API int skua_any(struct skua_ctx ctx, size_t begin, size_t end,
		      size_t grain,
		      int (*test)(struct skua_ctx ctx, size_t begin, size_t end,
				  void *arg) SKUA_NOEXCEPT,
		      void *arg);

/**
 * skua_all - tell whether all items of a range match
 * @test: returns 1 if all items of the sub-range match, 0 if not, negative to end the
 *        loop
 *
 * As skua_any(). Return: 1 for an empty range.
 */
SKUA_API int skua_all(struct skua_ctx ctx, size_t begin, size_t end,
		      size_t grain,
		      int (*test)(struct skua_ctx ctx, size_t begin, size_t end,
				  void *arg) SKUA_NOEXCEPT,
		      void *arg);

/**
 * skua_partition - move some items before all others, in place
 * @base: @count items of @size bytes; may be NULL if there are none
 * @test: writes to @yes, for each of @count items at @items, 1 if the item belongs to
 *        the front, else 0. It is called once for each item
 * @split: receives the number of items in front; the others follow them
 *
 * The order within either part is unspecified; skua_collect() keeps the order. If
 * @test ends the loop, all items are in the array, in an unspecified order.
 *
 * Threads: that of @ctx. Blocks: for parts that other threads have taken.
 * Allocates: nothing.
 * Return: 0; the value of @test that ended the loop; -EINVAL (as skua_map(), or
 * @split is NULL).
 */
SKUA_API int skua_partition(struct skua_ctx ctx, void *base, size_t count,
			    size_t size, size_t grain,
			    int (*test)(struct skua_ctx ctx, const void *items,
					size_t count, unsigned char *yes,
					void *arg) SKUA_NOEXCEPT,
			    size_t *split, void *arg);

SKUA_END_DECLS

#endif
