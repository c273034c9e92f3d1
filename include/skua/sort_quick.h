/* SPDX-License-Identifier: MIT */
/**
 * sort_quick.h - the part of skua/sort_template.h that has the unstable sort
 *
 * Do not include it by itself. The sort is a quicksort whose partition has no branch
 * that depends on a comparison. Heapsort takes over where quicksort makes no
 * progress.
 */
#include <skua/parallel.h>

#ifdef SKUA_SORT_NAME

/* ---- heapsort -------------------------------------------------------------- */

SKUA_SORTER void skua_sorter_sift(skua_sorter_item *base, size_t at,
				  size_t count, void *arg)
{
	while (at < count / 2) {
		size_t child = 2 * at + 1;

		if (child + 1 < count &&
		    skua_sorter_less(base + child, base + child + 1, arg))
			child++;
		if (!skua_sorter_less(base + at, base + child, arg))
			return;
		skua_sorter_swap(base + at, base + child);
		at = child;
	}
}

SKUA_SORTER void skua_sorter_heap(skua_sorter_item *base, size_t count,
				  void *arg)
{
	for (size_t i = count / 2; i > 0; i--)
		skua_sorter_sift(base, i - 1, count, arg);
	for (size_t i = count; i > 1; i--) {
		skua_sorter_swap(base, base + i - 1);
		skua_sorter_sift(base, 0, i - 1, arg);
	}
}

/* ---- the pivot ------------------------------------------------------------- */

SKUA_SORTER skua_sorter_item *skua_sorter_median(skua_sorter_item *a,
						 skua_sorter_item *b,
						 skua_sorter_item *c, void *arg)
{
	const bool ab = skua_sorter_less(a, b, arg);

	if (ab != skua_sorter_less(a, c, arg))
		return a;
	return ab == skua_sorter_less(b, c, arg) ? b : c;
}

/* Return an item near the median of @count items, 8 or more: a median of medians.
 * The samples lie neither at the ends nor symmetrically, because patterns in the
 * items often do. */
SKUA_SORTER skua_sorter_item *skua_sorter_pivot(skua_sorter_item *base,
						size_t count, void *arg)
{
	const size_t step = count / 8;

	if (count < 64)
		return skua_sorter_median(base + step, base + 3 * step,
					  base + 6 * step, arg);
	return skua_sorter_median(skua_sorter_pivot(base + step, step, arg),
				  skua_sorter_pivot(base + 3 * step, step, arg),
				  skua_sorter_pivot(base + 6 * step, step, arg),
				  arg);
}

/* Swap some items at random, to break up a pattern that led to a bad pivot. */
SKUA_SORTER void skua_sorter_break_pattern(skua_sorter_item *base, size_t count)
{
	uint64_t random = count;

	for (size_t i = 0; i < 8 && count >= 64; i++) {
		random = random * 6364136223846793005u + 1442695040888963407u;
		skua_sorter_swap(base + count / 8 * i,
				 base + (random >> 32) % count);
	}
}

/* ---- partition ------------------------------------------------------------- */

/* Tell whether an item belongs to the front: an item before the pivot or, with
 * @equal, an item not after it. */
SKUA_SORTER bool skua_sorter_in_front(const skua_sorter_item *item,
				      const skua_sorter_item *pivot, bool equal,
				      void *arg)
{
	return equal ? !skua_sorter_less(pivot, item, arg)
		     : skua_sorter_less(item, pivot, arg);
}

/*
 * Partition the items by Lomuto's algorithm, around a hole: an item of the front
 * moves to the end of the front, the item there moves to the hole, and the hole moves
 * on. @count is one or more. Return: the number of items in front.
 */
SKUA_SORTER_INLINED size_t skua_sorter_lomuto(skua_sorter_item *base,
					      size_t count,
					      const skua_sorter_item *middle,
					      bool equal, void *arg)
{
	const skua_sorter_item pivot = *middle;
	const skua_sorter_item held = base[0]; /* the hole is at i - 1 */
	size_t front = 0;

	SKUA_SORT_UNROLL
	for (size_t i = 1; i < count; i++) {
		const skua_sorter_item next = base[i];
		const bool low =
			skua_sorter_in_front(&next, &pivot, equal, arg);

		base[i - 1] = base[front];
		base[front] = next;
		front += low;
	}
	base[count - 1] = base[front];
	base[front] = held;
	return front + skua_sorter_in_front(&held, &pivot, equal, arg);
}

SKUA_SORTER size_t skua_sorter_partition_few(skua_sorter_item *base,
					     size_t count,
					     const skua_sorter_item *middle,
					     bool equal, void *arg)
{
	/* Two calls, so that neither loop tests @equal. */
	return equal ? skua_sorter_lomuto(base, count, middle, true, arg)
		     : skua_sorter_lomuto(base, count, middle, false, arg);
}

struct skua_sorter_partition_job {
	struct skua_job job; /* first: functions cast a job back */
	skua_sorter_item *base;
	size_t count;
	const skua_sorter_item *pivot;
	bool equal;
	void *arg;
	size_t front;
};

SKUA_SORTER void skua_sorter_partition_call(struct skua_ctx ctx,
					    struct skua_job *job) SKUA_NOTHROW;

/* Partition as skua_sorter_partition_few(), and share the work with other threads
 * if they ask for it. */
SKUA_SORTER size_t skua_sorter_partition(struct skua_ctx ctx,
					 skua_sorter_item *base, size_t count,
					 const skua_sorter_item *pivot,
					 bool equal, void *arg)
{
	const size_t half = count / 2;
	struct skua_sorter_partition_job upper = {
		{ skua_sorter_partition_call },
		base + half,
		count - half,
		pivot,
		equal,
		arg,
		0
	};
	struct skua_ctx inner;
	size_t front, moved;

	if (count < 4 * SKUA_SORT_CHUNK || !skua_wanted(ctx))
		return skua_sorter_partition_few(base, count, pivot, equal,
						 arg);
	inner = skua_fork(ctx, &upper.job);
	front = skua_sorter_partition(inner, base, half, pivot, equal, arg);
	if (skua_reclaim(inner, &upper.job))
		skua_sorter_partition_call(ctx, &upper.job);
	/* Swap the items between the two fronts with the end of the upper front. */
	moved = half - front < upper.front ? half - front : upper.front;
	for (size_t i = 0; i < moved; i++)
		skua_sorter_swap(base + front + i,
				 base + half + upper.front - moved + i);
	return front + upper.front;
}

SKUA_SORTER void skua_sorter_partition_call(struct skua_ctx ctx,
					    struct skua_job *job) SKUA_NOTHROW
{
	struct skua_sorter_partition_job *it =
		SKUA_CONTAINER_OF(job, struct skua_sorter_partition_job, job);

	it->front = skua_sorter_partition(ctx, it->base, it->count, it->pivot,
					  it->equal, it->arg);
}

/* ---- quicksort ------------------------------------------------------------- */

struct skua_sorter_quick_job {
	struct skua_job job; /* first: functions cast a job back */
	skua_sorter_item *base;
	size_t count;
	const skua_sorter_item *before;
	unsigned bad;
	void *arg;
};

SKUA_SORTER void skua_sorter_quick_call(struct skua_ctx ctx,
					struct skua_job *job) SKUA_NOTHROW;

/*
 * Sort the items at @base, in any order of equal items.
 * @before: the item before @base, which is not greater than any of the items; or NULL
 * @bad: the number of partitions that may still be lopsided, before heapsort takes
 *       over
 */
SKUA_SORTER void skua_sorter_quick(struct skua_ctx ctx, skua_sorter_item *base,
				   size_t count, const skua_sorter_item *before,
				   unsigned bad, void *arg)
{
	while (count > SKUA_SORT_SMALL) {
		size_t front, behind;

		if (bad == 0) {
			skua_sorter_heap(base, count, arg);
			return;
		}
		skua_sorter_swap(base, skua_sorter_pivot(base, count, arg));
		if (before && !skua_sorter_less(before, base, arg)) {
			/* The pivot is equal to @before, and no item is less. So
			 * the items that are not greater than the pivot are equal
			 * to it, and need no sorting. */
			front = 1 + skua_sorter_partition(ctx, base + 1,
							  count - 1, base, true,
							  arg);
			base += front;
			count -= front;
			before = NULL;
			continue;
		}
		front = skua_sorter_partition(ctx, base + 1, count - 1, base,
					      false, arg);
		skua_sorter_swap(base, base + front);
		behind = count - front - 1;
		if (front < count / 8 || behind < count / 8) {
			bad--;
			skua_sorter_break_pattern(base, front);
			skua_sorter_break_pattern(base + front + 1, behind);
		}
		if (count >= SKUA_SORT_FORKED) {
			struct skua_sorter_quick_job upper = {
				{ skua_sorter_quick_call },
				base + front + 1,
				behind,
				base + front,
				bad,
				arg
			};
			const struct skua_ctx inner =
				skua_fork(ctx, &upper.job);

			skua_sorter_quick(inner, base, front, before, bad, arg);
			if (!skua_reclaim(inner, &upper.job))
				return;
		} else {
			skua_sorter_quick(ctx, base, front, before, bad, arg);
		}
		before = base + front;
		base += front + 1;
		count = behind;
	}
	skua_sorter_small(base, count, base, arg);
}

SKUA_SORTER void skua_sorter_quick_call(struct skua_ctx ctx,
					struct skua_job *job) SKUA_NOTHROW
{
	struct skua_sorter_quick_job *it =
		SKUA_CONTAINER_OF(job, struct skua_sorter_quick_job, job);

	skua_sorter_quick(ctx, it->base, it->count, it->before, it->bad,
			  it->arg);
}

/* Sort an array; equal items end up in any order: see skua/sort_template.h.
 * Threads: the thread of @ctx. Blocks: until the parts that other threads took are
 * done. Allocates: nothing. */
static inline void SKUA_SORT_NAME(struct skua_ctx ctx, SKUA_SORT_TYPE *base,
				  size_t count, void *arg)
{
	const size_t run = skua_sorter_first_run(ctx, base, count, arg);
	const size_t rest = count - run;
	unsigned bad = 1;

	if (rest == 0)
		return;
	if (skua_sorter_first_run(ctx, base + run, rest, arg) == rest) {
		skua_sorter_merge_in_place(ctx, base, run, rest, arg);
		return;
	}
	for (size_t n = count; n > 1; n /= 2)
		bad++;
	skua_sorter_quick(ctx, base, count, NULL, bad, arg);
}

#endif
