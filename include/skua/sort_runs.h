/* SPDX-License-Identifier: MIT */
/**
 * sort_runs.h - the part of skua/sort_template.h for items that are already in order
 *
 * Do not include it by itself. A run is a sequence of items that is in order, or
 * falls strictly: each item belongs before the previous one. Two runs are merged in
 * place: each is cut in about half, and the two middle parts change places.
 */
#include <skua/parallel.h>

#ifdef SKUA_SORT_NAME

struct skua_sorter_run {
	skua_sorter_item *base;
	size_t count;
	void *arg;
	bool falls;
};

SKUA_SORTER bool skua_sorter_run_breaks(const struct skua_sorter_run *run,
					size_t i)
{
	return skua_sorter_less(run->base + i, run->base + i - 1, run->arg) !=
	       run->falls;
}

/* Find the first item of @begin to @end that breaks the run. */
SKUA_SORTER int skua_sorter_run_find(struct skua_ctx ctx, size_t begin,
				     size_t end, size_t *found,
				     void *arg) SKUA_NOTHROW
{
	const struct skua_sorter_run run =
		*SKUA_STATIC_CAST(const struct skua_sorter_run *, arg);
	size_t i = begin;

	(void)ctx;
	/* Branch once for many comparisons, so that these overlap. */
	for (; end - i >= SKUA_SORT_AT_ONCE; i += SKUA_SORT_AT_ONCE) {
		unsigned broken = 0;

		for (size_t k = 0; k < SKUA_SORT_AT_ONCE; k++)
			broken |= SKUA_STATIC_CAST(
				unsigned, skua_sorter_run_breaks(&run, i + k));
		if (broken)
			break;
	}
	for (; i < end; i++)
		if (skua_sorter_run_breaks(&run, i)) {
			*found = i;
			return 1;
		}
	return 0;
}

/* Swap each item of @begin to @end with its opposite in the run. */
SKUA_SORTER int skua_sorter_run_reverse(struct skua_ctx ctx, size_t begin,
					size_t end, void *arg) SKUA_NOTHROW
{
	const struct skua_sorter_run *run =
		SKUA_STATIC_CAST(const struct skua_sorter_run *, arg);

	(void)ctx;
	for (size_t i = begin; i < end; i++)
		skua_sorter_swap(run->base + i, run->base + run->count - 1 - i);
	return 0;
}

/* Find the run at the begin of the array, and reverse it if it falls. Return: its
 * length. */
SKUA_SORTER size_t skua_sorter_first_run(struct skua_ctx ctx,
					 skua_sorter_item *base, size_t count,
					 void *arg)
{
	struct skua_sorter_run run = { base, count, arg, false };
	const size_t first =
		count < SKUA_SORT_CHECKED ? count : SKUA_SORT_CHECKED;

	if (count < 2)
		return count;
	run.falls = skua_sorter_less(base + 1, base, arg);
	if (!skua_sorter_run_find(ctx, 2, first, &run.count, &run) &&
	    first < count)
		(void)skua_find_first(ctx, first, count, 0,
				      skua_sorter_run_find, &run.count, &run);
	if (run.falls)
		(void)skua_for(ctx, 0, run.count / 2, 0,
			       skua_sorter_run_reverse, &run);
	return run.count;
}

/* ---- two runs -------------------------------------------------------------- */

/* Two runs of up to this many items together are merged through the stack. */
enum {
	skua_sorter_in_place_most =
		sizeof(skua_sorter_item) < SKUA_SORT_IN_PLACE / 64
			? SKUA_SORT_IN_PLACE / sizeof(skua_sorter_item)
			: 64
};

/* Exchange @lefts items with the @rights items that follow them; both keep their
 * order. Blocks of the smaller length are swapped to their places until nothing is
 * left (Gries and Mills 1981). */
SKUA_SORTER void skua_sorter_rotate(skua_sorter_item *base, size_t lefts,
				    size_t rights)
{
	while (lefts > 0 && rights > 0) {
		const bool at_end = lefts <= rights;
		const size_t moved = at_end ? lefts : rights;
		skua_sorter_item *other = base + (at_end ? rights : lefts);

		for (size_t i = 0; i < moved; i++)
			skua_sorter_swap(base + i, other + i);
		if (at_end) {
			rights -= moved;
		} else {
			lefts -= moved;
			base += moved;
		}
	}
}

/* Return how many of @count ordered items belong before @item; with @equal, items
 * that equal it count, too. */
SKUA_SORTER size_t skua_sorter_before(const skua_sorter_item *base,
				      size_t count,
				      const skua_sorter_item *item, bool equal,
				      void *arg)
{
	size_t low = 0, high = count;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (equal ? !skua_sorter_less(item, base + middle, arg)
			  : skua_sorter_less(base + middle, item, arg))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Merge two adjacent runs of @count items together through the stack. */
SKUA_SORTER_APART void skua_sorter_in_place_few(skua_sorter_item *base,
						size_t lefts, size_t count,
						void *arg)
{
	skua_sorter_item held[skua_sorter_in_place_most];
	const struct skua_sorter_merge merge = { held,  held + lefts,
						 lefts, count - lefts,
						 base,  arg };

	skua_sorter_copy(held, base, count);
	skua_sorter_merge_here(merge);
}

struct skua_sorter_in_place_job {
	struct skua_job job; /* first: functions cast a job back */
	skua_sorter_item *base;
	size_t lefts, rights;
	void *arg;
};

SKUA_SORTER void skua_sorter_in_place_call(struct skua_ctx ctx,
					   struct skua_job *job) SKUA_NOTHROW;

/*
 * Merge two adjacent runs in place. The longer run is halved, so that each of the two
 * resulting merges has at most three quarters of the items, whatever the comparisons
 * say. This bounds the stack, also when threads take parts from each other.
 */
SKUA_SORTER void skua_sorter_merge_in_place(struct skua_ctx ctx,
					    skua_sorter_item *base,
					    size_t lefts, size_t rights,
					    void *arg)
{
	while (lefts + rights > skua_sorter_in_place_most) {
		skua_sorter_item *middle = base + lefts;
		struct skua_sorter_in_place_job upper = {
			{ skua_sorter_in_place_call }, NULL, 0, 0, arg
		};
		struct skua_ctx inner;
		/* Number of items of the left and the right run that belong to the
		 * lower part. */
		size_t left, right;

		if (lefts == 0 || rights == 0 ||
		    !skua_sorter_less(middle, middle - 1, arg))
			return;
		if (lefts >= rights) {
			left = lefts / 2;
			right = skua_sorter_before(middle, rights, base + left,
						   false, arg);
		} else {
			right = rights / 2;
			left = skua_sorter_before(base, lefts, middle + right,
						  true, arg);
		}
		skua_sorter_rotate(base + left, lefts - left, right);
		upper.base = base + left + right;
		upper.lefts = lefts - left;
		upper.rights = rights - right;
		inner = skua_fork(ctx, &upper.job);
		skua_sorter_merge_in_place(inner, base, left, right, arg);
		if (!skua_reclaim(inner, &upper.job))
			return;
		base = upper.base;
		lefts = upper.lefts;
		rights = upper.rights;
	}
	skua_sorter_in_place_few(base, lefts, lefts + rights, arg);
}

SKUA_SORTER void skua_sorter_in_place_call(struct skua_ctx ctx,
					   struct skua_job *job) SKUA_NOTHROW
{
	struct skua_sorter_in_place_job *it =
		SKUA_CONTAINER_OF(job, struct skua_sorter_in_place_job, job);

	skua_sorter_merge_in_place(ctx, it->base, it->lefts, it->rights,
				   it->arg);
}

#endif
