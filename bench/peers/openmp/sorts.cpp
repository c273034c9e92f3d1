/* SPDX-License-Identifier: MIT */
/*
 * sorts.cpp - the sorts of libstdc++'s parallel mode
 *
 * OpenMP has none of its own; these are what gcc's library makes of it.
 */
#include <parallel/algorithm>

#include "bench/peers/openmp/arrays.h"

namespace
{

/* An object, and no function, so that it is inlined. */
constexpr auto less = [](const sort_item &a, const sort_item &b) {
	return a.key < b.key;
};

} // namespace

void arrays_sort_unstable(harness *h)
{
	__gnu_parallel::sort(h->items, h->items + h->n, less);
}

void arrays_sort_stable(harness *h)
{
	__gnu_parallel::stable_sort(h->items, h->items + h->n, less);
}
