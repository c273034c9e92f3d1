/* SPDX-License-Identifier: MIT */
/**
 * sort_small.h - the part of skua/sort_template.h for few items
 *
 * Do not include it by itself. No branch depends on a comparison, except where the
 * last few items are inserted. So randomly ordered items cost no branch
 * mispredictions.
 */
#include <skua/parallel.h>

#ifdef SKUA_SORT_NAME

SKUA_SORTER void skua_sorter_copy(skua_sorter_item *to,
				  const skua_sorter_item *from, size_t count)
{
	for (size_t i = 0; i < count; i++)
		to[i] = from[i];
}

/*
 * A merge in progress, at both ends at once. The comparisons at the two ends do not
 * wait for each other, unlike two comparisons at one end.
 */
struct skua_sorter_ends {
	const skua_sorter_item *left, *left_end, *right, *right_end;
	skua_sorter_item *front, *back;
};

SKUA_SORTER void skua_sorter_step_front(struct skua_sorter_ends *ends,
					void *arg)
{
	const bool low = skua_sorter_less(ends->right, ends->left, arg);

	*ends->front++ = *skua_sorter_pick(low, ends->left, ends->right);
	ends->right += low;
	ends->left += !low;
}

SKUA_SORTER void skua_sorter_step_back(struct skua_sorter_ends *ends, void *arg)
{
	const bool high =
		skua_sorter_less(ends->right_end - 1, ends->left_end - 1, arg);

	*--ends->back = *skua_sorter_pick(high, ends->right_end - 1,
					  ends->left_end - 1);
	ends->left_end -= high;
	ends->right_end -= !high;
}

/* Sort four items stably, with five comparisons. */
SKUA_SORTER void skua_sorter_four(const skua_sorter_item *in,
				  skua_sorter_item *out, void *arg)
{
	const bool swap01 = skua_sorter_less(in + 1, in, arg);
	const bool swap23 = skua_sorter_less(in + 3, in + 2, arg);
	const skua_sorter_item *low01 = in + swap01;
	const skua_sorter_item *high01 = in + !swap01;
	const skua_sorter_item *low23 = in + 2 + swap23;
	const skua_sorter_item *high23 = in + 2 + !swap23;
	const bool low = skua_sorter_less(low23, low01, arg);
	const bool high = skua_sorter_less(high23, high01, arg);
	/* The two middle items; if they are equal, in their original order. */
	const skua_sorter_item *a = skua_sorter_pick(
		low, skua_sorter_pick(high, high01, low23), low01);
	const skua_sorter_item *b = skua_sorter_pick(
		high, skua_sorter_pick(low, low23, high01), high23);
	const bool swap = skua_sorter_less(b, a, arg);

	out[0] = *skua_sorter_pick(low, low01, low23);
	out[1] = *skua_sorter_pick(swap, a, b);
	out[2] = *skua_sorter_pick(swap, b, a);
	out[3] = *skua_sorter_pick(high, high23, high01);
}

/*
 * Merge the two ordered halves of @in to @out, from both ends at once. The steps at
 * each end take n / 2 items, and so cannot leave the two halves, whatever the
 * comparisons say. If the comparisons contradict each other, the ends do not meet,
 * and @in is copied as it is.
 */
SKUA_SORTER void skua_sorter_merge_halves(const skua_sorter_item *in, size_t n,
					  skua_sorter_item *out, void *arg)
{
	const size_t half = n / 2;
	struct skua_sorter_ends ends = { in,     in + half, in + half,
					 in + n, out,       out + n };

	for (size_t i = 0; i < half; i++) {
		skua_sorter_step_front(&ends, arg);
		skua_sorter_step_back(&ends, arg);
	}
	if (n % 2) {
		const bool from_left = ends.left < ends.left_end;

		*ends.front = *(from_left ? ends.left : ends.right);
		ends.left += from_left;
		ends.right += !from_left;
	}
	if (ends.left != ends.left_end || ends.right != ends.right_end)
		skua_sorter_copy(out, in, n);
}

/* Sort eight items stably. */
SKUA_SORTER void skua_sorter_eight(const skua_sorter_item *in,
				   skua_sorter_item *out, void *arg)
{
	skua_sorter_item fours[8];

	skua_sorter_four(in, fours, arg);
	skua_sorter_four(in + 4, fours + 4, arg);
	skua_sorter_merge_halves(fours, 8, out, arg);
}

/* Sort @in to @out stably; up to half of SKUA_SORT_SMALL items. */
SKUA_SORTER void skua_sorter_few(const skua_sorter_item *in, size_t n,
				 skua_sorter_item *out, void *arg)
{
	skua_sorter_item eights[16];
	size_t sorted = 1;

	if (n >= 16) {
		skua_sorter_eight(in, eights, arg);
		skua_sorter_eight(in + 8, eights + 8, arg);
		skua_sorter_merge_halves(eights, 16, out, arg);
		sorted = 16;
	} else if (n >= 8) {
		skua_sorter_eight(in, out, arg);
		sorted = 8;
	} else if (n >= 4) {
		skua_sorter_four(in, out, arg);
		sorted = 4;
	} else if (n > 0) {
		out[0] = in[0];
	}
	for (size_t i = sorted; i < n; i++) {
		size_t at = i;

		for (; at > 0 && skua_sorter_less(in + i, out + at - 1, arg);
		     at--)
			out[at] = out[at - 1];
		out[at] = in[i];
	}
}

/* Sort @in to @out stably; up to SKUA_SORT_SMALL items. @in may be @out. */
SKUA_SORTER void skua_sorter_small(const skua_sorter_item *in, size_t n,
				   skua_sorter_item *out, void *arg)
{
	skua_sorter_item halves[SKUA_SORT_SMALL];

	skua_sorter_few(in, n / 2, halves, arg);
	skua_sorter_few(in + n / 2, n - n / 2, halves + n / 2, arg);
	skua_sorter_merge_halves(halves, n, out, arg);
}

#endif
