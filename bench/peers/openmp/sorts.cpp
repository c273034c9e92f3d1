/* SPDX-License-Identifier: MIT */
/*
 * sorts.cpp - the sorts of libstdc++'s parallel mode
 *
 * OpenMP has no sorts. These are the sorts that gcc's C++ library builds on OpenMP.
 */
#include <parallel/algorithm>

#include "bench/peers/openmp/arrays.h"

namespace
{

/* A function object, not a function, so that it is inlined. */
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
