/* SPDX-License-Identifier: MIT */
/**
 * sort_merge.h - the part of skua/sort_template.h that merges
 *
 * Do not include it by itself. A merge is cut into chunks, at ranks. Between two
 * chunks, the thread checks whether other threads ask for work, and forks half of the
 * rest for them.
 */
#include <skua/parallel.h>

#ifdef SKUA_SORT_NAME

/* ---- merge ----------------------------------------------------------------- */

/* Two ordered arrays, and the space for the merged items. If items are equal,
 * those of the left array come first. */
struct skua_sorter_merge {
	const skua_sorter_item *left, *right;
	size_t lefts, rights;
	skua_sorter_item *out;
	void *arg;
};

SKUA_SORTER struct skua_sorter_ends
skua_sorter_ends_of(const struct skua_sorter_merge *merge)
{
	const struct skua_sorter_ends ends = {
		merge->left,  merge->left + merge->lefts,
		merge->right, merge->right + merge->rights,
		merge->out,   merge->out + merge->lefts + merge->rights
	};

	return ends;
}

/* Return the number of steps that are safe, whatever the comparisons say: the
 * steps at each end may take half of the smaller array. */
SKUA_SORTER size_t skua_sorter_steps(const struct skua_sorter_ends *ends)
{
	const size_t lefts =
		SKUA_STATIC_CAST(size_t, ends->left_end - ends->left);
	const size_t rights =
		SKUA_STATIC_CAST(size_t, ends->right_end - ends->right);

	return (lefts < rights ? lefts : rights) / 2;
}

SKUA_SORTER void skua_sorter_merge_rest(struct skua_sorter_ends ends, void *arg)
{
	size_t steps;

	while ((steps = skua_sorter_steps(&ends)) > 0)
		while (steps-- > 0) {
			skua_sorter_step_front(&ends, arg);
			skua_sorter_step_back(&ends, arg);
		}
	while (ends.left < ends.left_end && ends.right < ends.right_end)
		skua_sorter_step_front(&ends, arg);
	while (ends.left < ends.left_end)
		*ends.front++ = *ends.left++;
	while (ends.right < ends.right_end)
		*ends.front++ = *ends.right++;
}

/* Do two merges at once, so that four comparisons overlap. */
SKUA_SORTER void skua_sorter_merge_both(const struct skua_sorter_merge *one,
					const struct skua_sorter_merge *two)
{
	struct skua_sorter_ends a = skua_sorter_ends_of(one);
	struct skua_sorter_ends b = skua_sorter_ends_of(two);
	void *const arg = one->arg;

	for (;;) {
		const size_t of_a = skua_sorter_steps(&a);
		const size_t of_b = skua_sorter_steps(&b);
		size_t steps = of_a < of_b ? of_a : of_b;

		if (steps == 0)
			break;
		while (steps-- > 0) {
			skua_sorter_step_front(&a, arg);
			skua_sorter_step_back(&a, arg);
			skua_sorter_step_front(&b, arg);
			skua_sorter_step_back(&b, arg);
		}
	}
	skua_sorter_merge_rest(a, arg);
	skua_sorter_merge_rest(b, arg);
}

/* Return how many of the first @count merged items are from the left array. */
SKUA_SORTER size_t skua_sorter_merge_rank(const struct skua_sorter_merge *merge,
					  size_t count)
{
	size_t low = count > merge->rights ? count - merge->rights : 0;
	size_t high = count < merge->lefts ? count : merge->lefts;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (skua_sorter_less(merge->right + count - middle - 1,
				     merge->left + middle, merge->arg))
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

/* Cut the first @count items off a merge. Return the merge that makes these items. */
SKUA_SORTER struct skua_sorter_merge
skua_sorter_merge_cut(struct skua_sorter_merge *merge, size_t count)
{
	const size_t lefts = skua_sorter_merge_rank(merge, count);
	const size_t rights = count - lefts;
	const struct skua_sorter_merge first = { merge->left, merge->right,
						 lefts,       rights,
						 merge->out,  merge->arg };

	merge->left += lefts;
	merge->right += rights;
	merge->lefts -= lefts;
	merge->rights -= rights;
	merge->out += count;
	return first;
}

/* Do the whole merge on this thread. */
SKUA_SORTER void skua_sorter_merge_here(struct skua_sorter_merge merge)
{
	const size_t count = merge.lefts + merge.rights;
	struct skua_sorter_merge first;

	if (count < 4 * SKUA_SORT_SMALL) {
		skua_sorter_merge_rest(skua_sorter_ends_of(&merge), merge.arg);
		return;
	}
	first = skua_sorter_merge_cut(&merge, count / 2);
	skua_sorter_merge_both(&first, &merge);
}

struct skua_sorter_merge_job {
	struct skua_job job; /* first: functions cast a job back */
	struct skua_sorter_merge merge;
};

SKUA_SORTER void skua_sorter_merge_call(struct skua_ctx ctx,
					struct skua_job *job) SKUA_NOTHROW;

SKUA_SORTER void skua_sorter_merge_all(struct skua_ctx ctx,
				       struct skua_sorter_merge merge)
{
	for (;;) {
		const size_t count = merge.lefts + merge.rights;
		struct skua_sorter_merge first;
		struct skua_sorter_merge_job upper;
		struct skua_ctx inner;

		if (count < 2 * SKUA_SORT_CHUNK)
			break;
		if (!skua_wanted(ctx)) {
			first = skua_sorter_merge_cut(&merge, SKUA_SORT_CHUNK);
			skua_sorter_merge_here(first);
			continue;
		}
		first = skua_sorter_merge_cut(&merge, count / 2);
		upper.job.run = skua_sorter_merge_call;
		upper.merge = merge;
		inner = skua_fork(ctx, &upper.job);
		skua_sorter_merge_all(inner, first);
		if (!skua_reclaim(inner, &upper.job))
			return;
	}
	skua_sorter_merge_here(merge);
}

SKUA_SORTER void skua_sorter_merge_call(struct skua_ctx ctx,
					struct skua_job *job) SKUA_NOTHROW
{
	struct skua_sorter_merge_job *it =
		SKUA_CONTAINER_OF(job, struct skua_sorter_merge_job, job);

	skua_sorter_merge_all(ctx, it->merge);
}

#endif
