/* SPDX-License-Identifier: MIT */
/**
 * sort_stable.h - the part of skua/sort_template.h that has the stable sort
 *
 * Do not include it by itself. The sort is a mergesort between the array and a buffer
 * of the same size.
 */
#include <skua/parallel.h>

#ifdef SKUA_SORT_NAME

struct skua_sorter_stable_job {
	struct skua_job job; /* first: functions cast a job back */
	skua_sorter_item *base, *buffer;
	size_t count;
	bool away;
	void *arg;
};

SKUA_SORTER void skua_sorter_stable_call(struct skua_ctx ctx,
					 struct skua_job *job) SKUA_NOTHROW;

/* Sort the items at @base stably. The result is at @base or, with @away, in
 * @buffer. */
SKUA_SORTER void skua_sorter_merge_sort(struct skua_ctx ctx,
					skua_sorter_item *base,
					skua_sorter_item *buffer, size_t count,
					bool away, void *arg)
{
	/* A multiple of SKUA_SORT_SMALL, so that all blocks except the last have
	 * the best size. */
	const size_t half = (count / 2 + SKUA_SORT_SMALL - 1) /
			    SKUA_SORT_SMALL * SKUA_SORT_SMALL;
	skua_sorter_item *from = away ? base : buffer;
	skua_sorter_item *to = away ? buffer : base;
	struct skua_sorter_merge merge = { from,         from + half, half,
					   count - half, to,          arg };

	if (count <= SKUA_SORT_SMALL) {
		skua_sorter_small(base, count, to, arg);
		return;
	}
	if (count >= SKUA_SORT_FORKED) {
		struct skua_sorter_stable_job upper = {
			{ skua_sorter_stable_call },
			base + half,
			buffer + half,
			count - half,
			!away,
			arg
		};
		struct skua_ctx inner;

		if (skua_sorter_first_run(ctx, base, count, arg) == count) {
			if (away)
				skua_sorter_copy(buffer, base, count);
			return;
		}
		inner = skua_fork(ctx, &upper.job);
		skua_sorter_merge_sort(inner, base, buffer, half, !away, arg);
		if (skua_reclaim(inner, &upper.job))
			skua_sorter_stable_call(ctx, &upper.job);
	} else {
		skua_sorter_merge_sort(ctx, base, buffer, half, !away, arg);
		skua_sorter_merge_sort(ctx, base + half, buffer + half,
				       count - half, !away, arg);
	}
	skua_sorter_merge_all(ctx, merge);
}

SKUA_SORTER void skua_sorter_stable_call(struct skua_ctx ctx,
					 struct skua_job *job) SKUA_NOTHROW
{
	struct skua_sorter_stable_job *it =
		SKUA_CONTAINER_OF(job, struct skua_sorter_stable_job, job);

	skua_sorter_merge_sort(ctx, it->base, it->buffer, it->count, it->away,
			       it->arg);
}

/* Sort an array; equal items keep their order: see skua/sort_template.h. Threads:
 * the thread of @ctx. Blocks: until the parts that other threads took are done.
 * Allocates: nothing. */
static inline void SKUA_SORT_(stable)(struct skua_ctx ctx, SKUA_SORT_TYPE *base,
				      size_t count, SKUA_SORT_TYPE *buffer,
				      void *arg)
{
	if (count >= 2)
		skua_sorter_merge_sort(ctx, base, buffer, count, false, arg);
}

#endif
