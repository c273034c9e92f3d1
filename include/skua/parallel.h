/* SPDX-License-Identifier: MIT */
/**
 * parallel.h - loops over ranges that idle workers help with
 *
 * A range is [begin, end) of numbers, which mean what the caller likes: indices
 * of an array, most often. It is cut into sub-ranges, and a callback of the
 * caller's is called for each, so that the loop over single items is one that
 * the compiler sees. To add up an array:
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
 * How a range is cut. The thread that calls goes through the range from its
 * begin, and when others ask for work (skua_wanted()), it forks the upper half
 * of what is left, which is done likewise. While nobody asks, nothing is forked
 * (but by skua_reduce() with a grain): it reads a word before each sub-range.
 *
 * Grain. What is called @grain is how many items a sub-range has. 0 is for as
 * many as take some microseconds: the first sub-ranges are small, and the
 * clock is read between them. Any other is exact: whoever helps, the sub-ranges
 * are those that begin at @begin plus a multiple of @grain, and have @grain
 * items, but for the last. A range of @grain items or fewer is one sub-range.
 *
 * Results of callbacks. 0 means: go on. Any other value ends the loop, and is
 * what the function returns; negative values of <errno.h> are usual, positive
 * ones as good, unless it says otherwise. The library itself returns -EINVAL,
 * before it calls anything, or when a callback breaks the rules said there. What
 * ends a loop does so as in a loop on one thread: all sub-ranges before the one
 * that returned the value have been done, and returned 0; so whichever thread is
 * faster, the value is the same. Those behind it have been done, in part, or
 * not; they are not begun any more.
 *
 * Callbacks run on any worker, several at once, each with a context to fork with
 * (ctx of skua/fork.h, which it may ignore). They return: they must not be left
 * by exceptions, longjmp() or pthread_exit() (see SKUA_NOEXCEPT). Jobs that they
 * fork they join.
 *
 * Parameters that are not described with a function are those of skua_for(). All
 * functions here are called with the context of the calling function, and have
 * ended altogether when they return. What was written before the call is
 * visible to callbacks, and what these write is visible after it.
 */
#ifndef SKUA_PARALLEL_H
#define SKUA_PARALLEL_H

#include <skua/fork.h>

SKUA_BEGIN_DECLS

/* Size of a value of a reduction or a scan, in bytes, at most. */
#define SKUA_MAX_VALUE 1024u

/**
 * skua_for - call a function for all of a range
 * @ctx: of the calling function
 * @begin: first of the range
 * @end: behind its last; an empty range has no call
 * @grain: items of a sub-range; 0 = adaptive
 * @body: called for each sub-range once, with the context of its thread, the
 *        sub-range, and @arg
 * @arg: @body's
 *
 * Threads: that of @ctx. Blocks: for what others have taken.
 * Allocates: nothing.
 * Return: 0; what @body returned; -EINVAL (a pointer but @arg is NULL, a context
 * of NULLs, or @begin is beyond @end).
 */
SKUA_API int skua_for(struct skua_ctx ctx, size_t begin, size_t end,
		      size_t grain,
		      int (*body)(struct skua_ctx ctx, size_t begin, size_t end,
				  void *arg) SKUA_NOEXCEPT,
		      void *arg);

/**
 * skua_map - make an array of another
 * @in: items of @in_size bytes
 * @out: room for as many of @out_size bytes; may be @in if the sizes are equal,
 *       and overlaps it in no other way
 * @count: how many items; with 0, @in and @out may be NULL
 * @map: makes @count items at @out of those at @in; called for parts of the
 *       arrays
 *
 * Threads: that of @ctx. Blocks: for what others have taken.
 * Allocates: nothing.
 * Return: 0; what @map returned; -EINVAL (as skua_for(), or a size is 0, or an
 * array would be larger than the address space).
 */
SKUA_API int skua_map(struct skua_ctx ctx, const void *in, size_t in_size,
		      void *out, size_t out_size, size_t count, size_t grain,
		      int (*map)(struct skua_ctx ctx, const void *in, void *out,
				 size_t count, void *arg) SKUA_NOEXCEPT,
		      void *arg);

/**
 * skua_collect - gather what a range yields, in order
 * @out: room for @end - @begin items of @size bytes
 * @count: receives how many there are at @out
 * @collect: writes up to @end - @begin items to @out, and how many to @count.
 *           The place is scratch: @out is no more than that, and items are moved
 *           bytewise later
 *
 * The order is that of the range: to filter an array means to keep its order.
 * If @collect ends the loop, @count is 0, and what is at @out is unspecified.
 *
 * Threads: that of @ctx. Blocks: for what others have taken.
 * Allocates: nothing.
 * Return: 0; what @collect returned; -EINVAL (as skua_for(), or @size is 0, or
 * @out would be larger than the address space; or @collect told of more items
 * than its sub-range has: what was behind @out is overwritten then).
 */
SKUA_API int skua_collect(struct skua_ctx ctx, size_t begin, size_t end,
			  size_t grain, void *out, size_t size, size_t *count,
			  int (*collect)(struct skua_ctx ctx, size_t begin,
					 size_t end, void *out, size_t *count,
					 void *arg) SKUA_NOEXCEPT,
			  void *arg);

/**
 * struct skua_reduction - how to make one value of many items
 * @size: of a value, in bytes: 1 to SKUA_MAX_VALUE. Values are aligned as
 *        malloc() does it
 * @identity: what a value is before anything is added to it: joined with another
 *            value, on either side, it leaves that. Copied bytewise. NULL: all
 *            bytes are zero
 * @fold: adds a sub-range to a value, on its right
 * @join: adds @right to @left, which lies before it. @right is the callback's
 *        then, whatever it returns
 * @drop: for values that own something: called for those that are not joined,
 *        as something ended the loop or nothing was added to them. NULL: nothing
 *        to do
 *
 * Values are joined in the order of the range, so that @join need only be
 * associative: strings may be concatenated, and matrices multiplied. Which of
 * them are joined first depends on who helps, and when. With floating-point
 * numbers, whose addition is not associative, the result therefore differs in
 * its last digits from call to call. With a @grain other than 0 it does not:
 * each sub-range is folded on its own, from @identity, and these are joined as a
 * binary tree whose shape depends on the range and @grain alone.
 */
struct skua_reduction {
	size_t size;
	const void *identity;
	int (*fold)(struct skua_ctx ctx, size_t begin, size_t end, void *value,
		    void *arg) SKUA_NOEXCEPT;
	int (*join)(void *left, void *right, void *arg) SKUA_NOEXCEPT;
	void (*drop)(void *value, void *arg) SKUA_NOEXCEPT;
};

/* Initialiser for a reduction of values of @size bytes that begin as zeros. */
/* clang-format off */
#define SKUA_REDUCTION_INIT(size, fold, join) \
	{ (size), NULL, (fold), (join), NULL }
/* clang-format on */

/**
 * skua_reduce - one value of a range
 * @how: lent
 * @value: room for a value, aligned as its type needs; receives the result,
 *         which is the identity for an empty range. If the loop was ended, it
 *         holds nothing (it was dropped)
 *
 * Threads: that of @ctx. Blocks: for what others have taken.
 * Allocates: nothing.
 * Return: 0; what @fold or @join returned; -EINVAL (as skua_for(), or @how has no
 * functions, or a size that no value has).
 */
SKUA_API int skua_reduce(struct skua_ctx ctx, size_t begin, size_t end,
			 size_t grain, const struct skua_reduction *how,
			 void *value, void *arg);

/**
 * skua_scan - all prefixes of a reduction
 * @how: lent; @fold and @scan compute the same. Values are copied bytewise:
 *       @drop is NULL
 * @scan: goes on from @carry, the value of all that is before @begin: writes
 *        what it likes for each item, and leaves in @carry the value of all that
 *        is before @end
 * @value: receives the value of the whole range, which is the identity if that is
 *         empty, and nothing if the loop was ended; or NULL
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
 * @scan is called for each sub-range once; @fold too, if another thread
 * helps: it goes ahead with that until the prefixes are known. On p threads a
 * scan takes 2 / (p + 1) of its time on one, at best. With a @grain other than 0
 * @fold is called for each, and the prefixes are the joins of these values, from
 * left to right, whoever helps. What @fold returns as it goes ahead does not end
 * the loop; what @scan or, with a @grain, @fold then returns there does.
 *
 * Threads: that of @ctx. Blocks: for what others have taken.
 * Allocates: if others help, a value and a byte for each sub-range (with @grain
 * 0: 1024 of them), from libc. If there is no memory, nobody helps.
 * Return: 0; what a callback returned; -EINVAL (as skua_reduce(), or there is a
 * @drop).
 */
SKUA_API int skua_scan(struct skua_ctx ctx, size_t begin, size_t end,
		       size_t grain, const struct skua_reduction *how,
		       int (*scan)(struct skua_ctx ctx, size_t begin,
				   size_t end, void *carry, void *arg)
			       SKUA_NOEXCEPT,
		       void *value, void *arg);

/**
 * skua_find_first - the first of a range
 * @find: looks for the first in a sub-range: returns 1 and writes it to @found;
 *        or 0 if there is none; or a negative value to end the loop
 * @found: receives the first of the whole range; or NULL
 *
 * Threads: that of @ctx. Blocks: for what others have taken.
 * Allocates: nothing.
 * Return: 1: there is one. 0: there is none, and all was looked at. Negative:
 * what @find returned, before any was found; -EINVAL (as skua_for(), or @find
 * returned more than 1).
 */
SKUA_API int skua_find_first(struct skua_ctx ctx, size_t begin, size_t end,
			     size_t grain,
			     int (*find)(struct skua_ctx ctx, size_t begin,
					 size_t end, size_t *found, void *arg)
				     SKUA_NOEXCEPT,
			     size_t *found, void *arg);

/**
 * skua_find_any - one of a range, whichever is found first
 *
 * As skua_find_first(), but all end as soon as one has been found, or @find has
 * returned a negative value; if both, the one that is first in the range counts.
 */
SKUA_API int skua_find_any(struct skua_ctx ctx, size_t begin, size_t end,
			   size_t grain,
			   int (*find)(struct skua_ctx ctx, size_t begin,
				       size_t end, size_t *found, void *arg)
				   SKUA_NOEXCEPT,
			   size_t *found, void *arg);

/**
 * skua_any - is there one in a range?
 * @test: 1 if there is one in the sub-range, 0 if not, negative to end the loop
 *
 * All end as soon as it is known.
 *
 * Threads: that of @ctx. Blocks: for what others have taken.
 * Allocates: nothing.
 * Return: 1, 0, or negative, as skua_find_any().
 */
SKUA_API int skua_any(struct skua_ctx ctx, size_t begin, size_t end,
		      size_t grain,
		      int (*test)(struct skua_ctx ctx, size_t begin, size_t end,
				  void *arg) SKUA_NOEXCEPT,
		      void *arg);

/**
 * skua_all - is it so for all of a range?
 * @test: 1 if for all of the sub-range, 0 if not, negative to end the loop
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
 * @test: writes 1 to @yes for each of @count items at @items that belongs to the
 *        front, and 0 for the others. It is asked for each item once
 * @split: receives how many belong there: the others begin behind them
 *
 * The order within either part is unspecified; skua_collect() keeps it. If @test
 * ends the loop, the items are all there, in an unspecified order.
 *
 * Threads: that of @ctx. Blocks: for what others have taken.
 * Allocates: nothing.
 * Return: 0; what @test returned; -EINVAL (as skua_map(), or @split is NULL).
 */
SKUA_API int skua_partition(struct skua_ctx ctx, void *base, size_t count,
			    size_t size, size_t grain,
			    int (*test)(struct skua_ctx ctx, const void *items,
					size_t count, unsigned char *yes,
					void *arg) SKUA_NOEXCEPT,
			    size_t *split, void *arg);

SKUA_END_DECLS

#endif
