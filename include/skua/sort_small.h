/* SPDX-License-Identifier: MIT */
/**
 * sort_small.h - a part of skua/sort_template.h: few items
 *
 * Not to be included by itself. No branch depends on a comparison, but in the
 * insertion of the last few: random orders cost no mispredictions.
 */
#include <skua/parallel.h>

#ifdef SKUA_SORT_NAME

/* Four items, stably, in five comparisons. */
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
	/* What is neither lowest nor highest, in the order that it had. */
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
 * Merge the halves of @in to @out, from both ends at once. Each side takes n / 2
 * items, and so cannot leave the two halves, whatever the comparisons say; if
 * they contradict each other, the sides do not meet, and @in is copied as it is.
 */
SKUA_SORTER void skua_sorter_merge_halves(const skua_sorter_item *in, size_t n,
					  skua_sorter_item *out, void *arg)
{
	const size_t half = n / 2;
	const skua_sorter_item *left = in, *right = in + half;
	const skua_sorter_item *left_end = right, *right_end = in + n;
	skua_sorter_item *front = out, *back = out + n;

	for (size_t i = 0; i < half; i++) {
		const bool low = skua_sorter_less(right, left, arg);
		const bool high =
			skua_sorter_less(right_end - 1, left_end - 1, arg);

		*front++ = *skua_sorter_pick(low, left, right);
		right += low;
		left += !low;
		*--back = *skua_sorter_pick(high, right_end - 1, left_end - 1);
		left_end -= high;
		right_end -= !high;
	}
	if (n % 2) {
		const bool from_left = left < left_end;

		*front = *(from_left ? left : right);
		left += from_left;
		right += !from_left;
	}
	if (left != left_end || right != right_end)
		for (size_t i = 0; i < n; i++)
			out[i] = in[i];
}

/* Eight items, stably. */
SKUA_SORTER void skua_sorter_eight(const skua_sorter_item *in,
				   skua_sorter_item *out, void *arg)
{
	skua_sorter_item fours[8];

	skua_sorter_four(in, fours, arg);
	skua_sorter_four(in + 4, fours + 4, arg);
	skua_sorter_merge_halves(fours, 8, out, arg);
}

/* @in to @out, sorted; up to half of SKUA_SORT_SMALL. */
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

/* @in to @out, which may be the same, sorted stably; up to SKUA_SORT_SMALL. */
SKUA_SORTER void skua_sorter_small(const skua_sorter_item *in, size_t n,
				   skua_sorter_item *out, void *arg)
{
	skua_sorter_item halves[SKUA_SORT_SMALL];

	skua_sorter_few(in, n / 2, halves, arg);
	skua_sorter_few(in + n / 2, n - n / 2, halves + n / 2, arg);
	skua_sorter_merge_halves(halves, n, out, arg);
}

#endif
