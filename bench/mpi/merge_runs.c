/* SPDX-License-Identifier: MIT */
/*
 * merge_runs.c - see merge_runs.h
 *
 * Neighbours are merged in pairs, until one run is left. A worker merges a piece of the
 * result: it finds the parts of the two runs that belong there by a binary search, as in
 * Cormen et al. It merges the two halves of the piece by turns, because each step of one
 * merge waits for the step before.
 */
#include "bench/mpi/merge_runs.h"

#include <stdbool.h>
#include <string.h>

/* Numbers of a piece: enough that its binary searches do not count. A guess. */
#define PIECE 65536u

struct pair {
	const uint64_t *left, *right;
	size_t lefts, rights;
	uint64_t *out;
};

/* A part of a merge. */
struct part {
	const uint64_t *left, *left_end, *right, *right_end;
	uint64_t *out;
};

static size_t smaller(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* How many of the first @count numbers of the result come from the left run. */
static size_t lefts_of(const struct pair *pair, size_t count)
{
	size_t low = count > pair->rights ? count - pair->rights : 0;
	size_t high = smaller(count, pair->lefts);

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (pair->right[count - middle - 1] < pair->left[middle])
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

static struct part part_of(const struct pair *pair, size_t begin, size_t end)
{
	const size_t first = lefts_of(pair, begin), last = lefts_of(pair, end);

	return (struct part){ .left = pair->left + first,
			      .left_end = pair->left + last,
			      .right = pair->right + (begin - first),
			      .right_end = pair->right + (end - last),
			      .out = pair->out + begin };
}

/* How many steps need no check for the end of a run. */
static size_t steps_of(const struct part *part)
{
	return smaller((size_t)(part->left_end - part->left),
		       (size_t)(part->right_end - part->right));
}

static inline void take_smaller(struct part *part)
{
	const bool right = *part->right < *part->left;

	*part->out++ = right ? *part->right : *part->left;
	part->right += right;
	part->left += !right;
}

static void merge_rest(struct part part)
{
	size_t steps, lefts;

	while ((steps = steps_of(&part)) > 0)
		while (steps-- > 0)
			take_smaller(&part);
	lefts = (size_t)(part.left_end - part.left);
	memcpy(part.out, part.left, lefts * sizeof(uint64_t));
	memcpy(part.out + lefts, part.right,
	       (size_t)(part.right_end - part.right) * sizeof(uint64_t));
}

static int merge_piece(struct skua_ctx ctx, size_t begin, size_t end, void *arg)
{
	const struct pair *pair = arg;
	const size_t middle = begin + (end - begin) / 2;
	struct part one = part_of(pair, begin, middle);
	struct part two = part_of(pair, middle, end);
	size_t steps;

	(void)ctx;
	while ((steps = smaller(steps_of(&one), steps_of(&two))) > 0)
		while (steps-- > 0) {
			take_smaller(&one);
			take_smaller(&two);
		}
	merge_rest(one);
	merge_rest(two);
	return 0;
}

uint64_t *merge_runs(struct skua_ctx ctx, uint64_t *numbers, uint64_t *spare,
		     size_t *ends, size_t runs)
{
	while (runs > 1) {
		uint64_t *const from = numbers;
		size_t begin = 0, merged = 0;

		for (size_t i = 0; i < runs; i += 2) {
			const size_t middle = ends[i];
			const size_t end = ends[i + 1 < runs ? i + 1 : i];
			struct pair pair = { from + begin, from + middle,
					     middle - begin, end - middle,
					     spare + begin };

			skua_for(ctx, 0, end - begin, PIECE, merge_piece,
				 &pair);
			begin = ends[merged++] = end;
		}
		runs = merged;
		numbers = spare;
		spare = from;
	}
	return numbers;
}
