/* SPDX-License-Identifier: MIT */
/**
 * parallel.h - loops over ranges, with the help of idle workers
 *
 * A range is the set of numbers [begin, end); usually they are the indices of an
 * array. A loop cuts its range into sub-ranges, and calls a callback of the program
 * for each of them. The loop over single items is in the callback, where the compiler
 * can optimise it. To add up an array:
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
 * How a range is cut. The calling thread works through the range from its begin. When
 * other threads ask for work (skua_wanted()), it forks the upper half of the rest,
 * and the thread that takes that half does the same. While no thread asks, the loop
 * forks nothing (except skua_reduce() with a grain); it reads one word before each
 * sub-range.
 *
 * Grain. @grain is the number of items of a sub-range. With 0, a sub-range has as
 * many items as take some microseconds: the first sub-ranges are small, and the loop
 * reads the clock between them. Any other grain is exact: whichever threads help,
 * each sub-range begins at @begin plus a multiple of @grain and has @grain items,
 * except the last. A range of @grain items or fewer is one sub-range.
 *
 * Results of callbacks. 0 means that the loop continues. Any other value ends the
 * loop, and the function returns it. Negative values of <errno.h> are usual; positive
 * values are allowed unless a function says otherwise. The library itself returns
 * -EINVAL, either before it calls a callback, or because a callback broke the rules
 * of its function. A loop ends as it would on one thread: all sub-ranges before the
 * one that returned the value are done and returned 0. So the value does not depend
 * on which thread is faster. Sub-ranges after it may be done, done in part, or not
 * begun; no more of them begin.
 *
 * Callbacks run on any worker, several at once. Each receives a context to fork with
 * (see skua/fork.h), which it may ignore. A callback must return: no exception,
 * longjmp() or pthread_exit() may leave it (see SKUA_NOEXCEPT). It must join the jobs
 * that it forks.
 *
 * skua_for() describes the parameters that the other entries do not describe. Each
 * function takes the context of the calling function. When it returns, none of its
 * callbacks runs any more. Callbacks see all writes before the call, and the caller
 * sees all writes of the callbacks after it.
 */
#ifndef SKUA_PARALLEL_H
#define SKUA_PARALLEL_H

#include <skua/fork.h>

SKUA_BEGIN_DECLS

/* The maximum size of a value of a reduction or a scan, in bytes. */
#define SKUA_MAX_VALUE 1024u

/**
 * skua_for - call a function for all parts of a range
 * @ctx: context of the calling function
 * @begin: first number of the range
 * @end: number after the last one of the range; an empty range makes no call
 * @grain: number of items of a sub-range; 0 = adaptive
 * @body: called once for each sub-range, with a context of the thread that runs it,
 *        the sub-range, and @arg
 * @arg: passed to @body; may be NULL
 *
 * Threads: the thread of @ctx. Blocks: until the parts that other threads took are
 * done. Allocates: nothing.
 * Return: 0; the value of @body that ended the loop; -EINVAL (a pointer except @arg
 * is NULL, a field of @ctx is NULL, or @begin is above @end).
 */
SKUA_API int skua_for(struct skua_ctx ctx, size_t begin, size_t end,
		      size_t grain,
		      int (*body)(struct skua_ctx ctx, size_t begin, size_t end,
				  void *arg) SKUA_NOEXCEPT,
		      void *arg);

/**
 * skua_map - compute an array from another array
 * @in: @count items of @in_size bytes, borrowed
 * @out: space for @count items of @out_size bytes; may be @in if the sizes are equal,
 *       and must not overlap it otherwise
 * @count: number of items; if it is 0, @in and @out may be NULL
 * @map: called for parts of the arrays: computes @count items at its @out from those
 *       at its @in
 *
 * Threads: the thread of @ctx. Blocks: until the parts that other threads took are
 * done. Allocates: nothing.
 * Return: 0; the value of @map that ended the loop; -EINVAL (as skua_for(), or a size
 * is 0, or an array would be larger than the address space).
 */
SKUA_API int skua_map(struct skua_ctx ctx, const void *in, size_t in_size,
		      void *out, size_t out_size, size_t count, size_t grain,
		      int (*map)(struct skua_ctx ctx, const void *in, void *out,
				 size_t count, void *arg) SKUA_NOEXCEPT,
		      void *arg);

/**
 * skua_collect - collect the items that a range yields, in order
 * @out: space for @end - @begin items of @size bytes
 * @size: size of an item, in bytes
 * @count: receives the number of items at @out
 * @collect: writes up to @end - @begin items of its sub-range to its @out, and their
 *           number to its @count. The library may move the items later, as bytes
 *
 * The items keep the order of the range, as in a filter of an array. If @collect ends
 * the loop, @count is 0 and the content of @out is unspecified.
 *
 * Threads: the thread of @ctx. Blocks: until the parts that other threads took are
 * done. Allocates: nothing.
 * Return: 0; the value of @collect that ended the loop; -EINVAL (as skua_for(), or
 * @size is 0, or @out would be larger than the address space; or @collect reported
 * more items than its sub-range has, and so overwrote memory after its space).
 */
SKUA_API int skua_collect(struct skua_ctx ctx, size_t begin, size_t end,
			  size_t grain, void *out, size_t size, size_t *count,
			  int (*collect)(struct skua_ctx ctx, size_t begin,
					 size_t end, void *out, size_t *count,
					 void *arg) SKUA_NOEXCEPT,
			  void *arg);

/**
 * struct skua_reduction - how to reduce many items to one value
 * @size: size of a value in bytes, 1 to SKUA_MAX_VALUE. Values are aligned as by
 *        malloc()
 * @identity: the value of no items. Joined with another value, on either side, it
 *            leaves that value unchanged. It is copied as bytes. NULL: all bytes are
 *            zero
 * @fold: adds the items of a sub-range to a value, on its right
 * @join: adds the value @right to the value @left, which precedes it in the range.
 *        The callback then owns @right, whatever it returns
 * @drop: frees the resources that a value owns, if the value is not joined because
 *        the loop ended or because it has no items. NULL: values own nothing
 *
 * Values are joined in the order of the range, so @join need only be associative: it
 * may concatenate strings, or multiply matrices. Which values are joined first
 * depends on which threads help, and when. The addition of floating-point numbers is
 * not associative, so their result differs in its last digits from call to call. With
 * a @grain other than 0 it does not: each sub-range is folded separately, from
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

/* Initialiser for a reduction whose values have @size bytes and start as zeros. */
/* clang-format off */
#define SKUA_REDUCTION_INIT(size, fold, join) \
	{ (size), NULL, (fold), (join), NULL }
/* clang-format on */

/**
 * skua_reduce - reduce a range to one value
 * @how: the reduction, borrowed until the function returns
 * @value: space for a value, aligned as its type needs; receives the result, which is
 *         the identity for an empty range. If a callback ended the loop, the value
 *         was dropped
 *
 * Threads: the thread of @ctx. Blocks: until the parts that other threads took are
 * done. Allocates: nothing.
 * Return: 0; the value of fold or join that ended the loop; -EINVAL (as skua_for(),
 * or fold or join is NULL, or the size is out of range).
 */
SKUA_API int skua_reduce(struct skua_ctx ctx, size_t begin, size_t end,
			 size_t grain, const struct skua_reduction *how,
			 void *value, void *arg);

/**
 * skua_scan - compute all prefixes of a reduction
 * @how: the reduction, borrowed until the function returns; its fold must compute the
 *       same as @scan. Values are copied as bytes, so its drop must be NULL
 * @scan: continues from @carry, the value of all items before its @begin. It writes
 *        its results for each item, and leaves in @carry the value of all items
 *        before its @end
 * @value: receives the value of the whole range, which is the identity if the range
 *         is empty; unchanged if a callback ended the loop; may be NULL
 *
 * A running sum of an array that includes each item is
 *
 *	for (size_t i = begin; i < end; i++)
 *		out[i] = *carry += in[i];
 *
 * and one that excludes it is
 *
 *	for (size_t i = begin; i < end; i++) {
 *		const long next = *carry + in[i];
 *
 *		out[i] = *carry; // may be in[]
 *		*carry = next;
 *	}
 *
 * @scan is called once for each sub-range. Other threads that help call fold for
 * later sub-ranges, until the prefixes of these are known. On p threads, a scan takes
 * at best 2 / (p + 1) of its time on one thread. With a @grain other than 0, fold is
 * called for each sub-range, and the prefixes are the joins of these values from left
 * to right, whichever threads help. The result of a fold for a later sub-range does
 * not end the loop; the result of @scan or, with a @grain, of fold at the same place
 * does.
 *
 * Threads: the thread of @ctx. Blocks: until the parts that other threads took are
 * done. Allocates: if other threads help, a value and a byte for each sub-range (with
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
 * @find: searches a sub-range for its first match; returns 1 and writes its number to
 *        its @found, or returns 0 if there is no match, or a negative value to end
 *        the loop
 * @found: receives the number of the first match of the whole range; may be NULL
 *
 * Threads: the thread of @ctx. Blocks: until the parts that other threads took are
 * done. Allocates: nothing.
 * Return: 1 if there is a match; 0 if there is none; a negative value of @find before
 * the first match; -EINVAL (as skua_for(), or @find returned more than 1).
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
 * As skua_find_first(), except that all threads end as soon as there is a match or a negative
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
 * @test: returns 1 if its sub-range has a match, 0 if not, or a negative value to end
 *        the loop
 *
 * All threads end as soon as the result is known.
 *
 * Threads: the thread of @ctx. Blocks: until the parts that other threads took are
 * done. Allocates: nothing.
 * Return: 1 if there is a match; 0 if there is none; a negative value as
 * skua_find_any().
 */
SKUA_API int skua_any(struct skua_ctx ctx, size_t begin, size_t end,
		      size_t grain,
		      int (*test)(struct skua_ctx ctx, size_t begin, size_t end,
				  void *arg) SKUA_NOEXCEPT,
		      void *arg);

/**
 * skua_all - tell whether all items of a range match
 * @test: returns 1 if all items of its sub-range match, 0 if not, or a negative value
 *        to end the loop
 *
 * As skua_any() in all other respects.
 * Return: 1 if all items match, also for an empty range; 0 if not; a negative value
 * as skua_find_any().
 */
SKUA_API int skua_all(struct skua_ctx ctx, size_t begin, size_t end,
		      size_t grain,
		      int (*test)(struct skua_ctx ctx, size_t begin, size_t end,
				  void *arg) SKUA_NOEXCEPT,
		      void *arg);

/**
 * skua_partition - move the items that pass a test before all other items, in place
 * @base: @count items of @size bytes; may be NULL if there are none
 * @test: called for parts of the array: for each of @count items at its @items, it
 *        writes to its @yes 1 if the item belongs to the front, else 0. It tests each
 *        item once
 * @split: receives the number of items in front; the other items follow them
 *
 * The order within either part is unspecified; skua_collect() keeps the order. If
 * @test ends the loop, all items are in the array, in an unspecified order.
 *
 * Threads: the thread of @ctx. Blocks: until the parts that other threads took are
 * done. Allocates: nothing.
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
