/* SPDX-License-Identifier: MIT */
/*
 * arrays.cpp - loops over arrays, and a sort, with oneTBB's algorithms
 *
 * Ranges and partitioners are the default ones. There is no find_early, because oneTBB has
 * no algorithm that finds the first match, and it has no stable sort.
 */
#include <functional>
#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>
#include <tbb/parallel_reduce.h>
#include <tbb/parallel_scan.h>
#include <tbb/parallel_sort.h>

#include "bench/peers/tbb/arrays.h"

using range = tbb::blocked_range<std::size_t>;

void arrays_for(harness *h)
{
	double *a = h->a;
	const double *b = h->b, *c = h->c;

	tbb::parallel_for(range(0, h->n), [=](const range &r) {
		for (std::size_t i = r.begin(); i != r.end(); i++)
			a[i] = for_item(b[i], c[i]);
	});
}

void arrays_reduce(harness *h)
{
	h->answer = tbb::parallel_reduce(
		range(0, h->n), std::uint64_t{ 0 },
		[](const range &r, std::uint64_t sum) {
			for (std::size_t i = r.begin(); i != r.end(); i++)
				sum += reduce_item(i);
			return sum;
		},
		std::plus<>());
}

void arrays_scan(harness *h)
{
	const std::uint64_t *in = h->in;
	std::uint64_t *out = h->out;

	tbb::parallel_scan(
		range(0, h->n), std::uint64_t{ 0 },
		[=](const range &r, std::uint64_t sum, bool is_final) {
			for (std::size_t i = r.begin(); i != r.end(); i++) {
				sum += in[i];
				if (is_final)
					out[i] = sum;
			}
			return sum;
		},
		std::plus<>());
}

void arrays_sort_unstable(harness *h)
{
	tbb::parallel_sort(h->items, h->items + h->n,
			   [](const sort_item &a, const sort_item &b) {
				   return a.key < b.key;
			   });
}
