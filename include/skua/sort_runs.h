/* SPDX-License-Identifier: MIT */
/**
 * sort_runs.h - a part of skua/sort_template.h: what is in order already
 *
 * Not to be included by itself. A run is in order, or falls strictly: each of its
 * items belongs before the one before it. Two of them are merged in place: items that belong to the
 * other's side change places; then each side is two runs again.
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

/* The first of @begin to @end that does not go on as the run does. */
SKUA_SORTER int skua_sorter_run_find(struct skua_ctx ctx, size_t begin,
				     size_t end, size_t *found, void *arg)
{
	const struct skua_sorter_run run = *(const struct skua_sorter_run *)arg;
	size_t i = begin;

	(void)ctx;
	/* A branch for many, so that they are compared at once. */
	for (; end - i >= SKUA_SORT_AT_ONCE; i += SKUA_SORT_AT_ONCE) {
		unsigned broken = 0;

		for (size_t k = 0; k < SKUA_SORT_AT_ONCE; k++)
			broken |= (unsigned)skua_sorter_run_breaks(&run, i + k);
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

/* Change places, of @begin to @end, with their opposites. */
SKUA_SORTER int skua_sorter_run_reverse(struct skua_ctx ctx, size_t begin,
					size_t end, void *arg)
{
	const struct skua_sorter_run *run = (const struct skua_sorter_run *)arg;

	(void)ctx;
	for (size_t i = begin; i < end; i++)
		skua_sorter_swap(run->base + i, run->base + run->count - 1 - i);
	return 0;
}

/* Put the run in order with which the array begins; how long it is. */
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

/* Up to so many items are merged by way of the stack. */
enum {
	skua_sorter_in_place_most =
		sizeof(skua_sorter_item) < SKUA_SORT_IN_PLACE / 64
			? SKUA_SORT_IN_PLACE / sizeof(skua_sorter_item)
			: 64
};

/* How many of the last of @lefts items belong behind as many of the first of
 * @rights that follow them. */
SKUA_SORTER size_t skua_sorter_misplaced(const skua_sorter_item *base,
					 size_t lefts, size_t rights, void *arg)
{
	const skua_sorter_item *middle = base + lefts;
	size_t low = 0, high = lefts < rights ? lefts : rights;

	while (low < high) {
		const size_t k = low + (high - low) / 2;

		if (skua_sorter_less(middle + k, middle - k - 1, arg))
			low = k + 1;
		else
			high = k;
	}
	return low;
}

/* Two runs that follow each other, @count items, by way of the stack. */
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
	struct skua_job job; /* first: it is cast back */
	skua_sorter_item *base;
	size_t lefts, rights;
	void *arg;
};

SKUA_SORTER void skua_sorter_in_place_call(struct skua_ctx ctx,
					   struct skua_job *job);

/* Merge two runs that follow each other, in place. */
SKUA_SORTER void skua_sorter_merge_in_place(struct skua_ctx ctx,
					    skua_sorter_item *base,
					    size_t lefts, size_t rights,
					    void *arg)
{
	while (lefts + rights > skua_sorter_in_place_most) {
		const size_t moved =
			skua_sorter_misplaced(base, lefts, rights, arg);
		/* The longer one is offered to others, and not gone into, so
		 * that the stack is bounded. */
		const bool right_first = rights < lefts;
		const struct skua_sorter_in_place_job left = {
			{ skua_sorter_in_place_call },
			base,
			lefts - moved,
			moved,
			arg
		};
		const struct skua_sorter_in_place_job right = {
			{ skua_sorter_in_place_call },
			base + lefts,
			moved,
			rights - moved,
			arg
		};
		struct skua_sorter_in_place_job longer =
			right_first ? left : right;
		const struct skua_sorter_in_place_job *shorter =
			right_first ? &right : &left;
		struct skua_ctx inner;

		if (moved == 0)
			return;
		for (size_t i = 0; i < moved; i++)
			skua_sorter_swap(base + lefts - moved + i,
					 base + lefts + i);
		inner = skua_fork(ctx, &longer.job);
		skua_sorter_merge_in_place(inner, shorter->base, shorter->lefts,
					   shorter->rights, arg);
		if (!skua_reclaim(inner, &longer.job))
			return;
		base = longer.base;
		lefts = longer.lefts;
		rights = longer.rights;
	}
	skua_sorter_in_place_few(base, lefts, lefts + rights, arg);
}

SKUA_SORTER void skua_sorter_in_place_call(struct skua_ctx ctx,
					   struct skua_job *job)
{
	struct skua_sorter_in_place_job *it =
		(struct skua_sorter_in_place_job *)job;

	skua_sorter_merge_in_place(ctx, it->base, it->lefts, it->rights,
				   it->arg);
}

#endif
