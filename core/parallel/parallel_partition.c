/* SPDX-License-Identifier: MIT */
/**
 * parallel_partition.c - move the items that pass a test before all others, in place
 *
 * In each part of the array, the items that passed ("yes") come before the others ("no").
 * The next sub-range, or a neighbouring part, is put in order on its own. To join the two,
 * the first no's of the left one swap places with the last yes's of the right one, as many
 * as both have.
 */
#include <errno.h>
#include <string.h>

#include "core/base/boundary.h"
#include "core/parallel/parallel_loop.h"
#include "skua/parallel.h"

/* The number of items that one call of the test gets. */
#define BATCH 256

struct partition_loop {
	struct parallel_loop loop; /* first: partition_step() etc. cast back */
	char *base;
	size_t size;
	int (*test)(struct skua_ctx ctx, const void *items, size_t count,
		    unsigned char *yes, void *arg);
	void *arg;
};

/* A part that is in order: its yes's end, and its no's begin, at @split; in items. */
struct halves {
	size_t begin, split, end;
};

static void swap_bytes(char *a, char *b, size_t bytes)
{
	char held[512];

	while (bytes > 0) {
		size_t some = bytes < sizeof(held) ? bytes : sizeof(held);

		memcpy(held, a, some);
		memcpy(a, b, some);
		memcpy(b, held, some);
		a += some;
		b += some;
		bytes -= some;
	}
}

/* join_halves - join @left and the adjacent @right */
static void join_halves(struct partition_loop *it, struct halves *left,
			const struct halves *right)
{
	size_t no = left->end - left->split, yes = right->split - right->begin;
	size_t moved = no < yes ? no : yes;

	/* The first @moved no's and the last @moved yes's, which do not overlap. */
	swap_bytes(it->base + left->split * it->size,
		   it->base + (right->split - moved) * it->size,
		   moved * it->size);
	left->split += yes;
	left->end = right->end;
}

/* partition_batch - put a batch in order; @yes has the test results of its items */
static struct halves partition_batch(struct partition_loop *it, size_t begin,
				     size_t end, const unsigned char *yes)
{
	char *base = it->base + begin * it->size;
	size_t low = 0, high = end - begin;

	for (;;) {
		while (low < high && yes[low])
			low++;
		while (low < high && !yes[high - 1])
			high--;
		if (low == high)
			return (struct halves){ begin, begin + low, end };
		/* There are at least two items, one of each kind. */
		swap_bytes(base + low++ * it->size, base + --high * it->size,
			   it->size);
	}
}

static void partition_init(struct parallel_loop *loop, void *value,
			   size_t begin)
{
	(void)loop;
	*(struct halves *)value = (struct halves){ begin, begin, begin };
}

static int partition_step(struct parallel_loop *loop, struct skua_ctx ctx,
			  size_t begin, size_t end, void *value)
{
	struct partition_loop *it = (struct partition_loop *)loop;
	unsigned char yes[BATCH];

	while (begin < end) {
		size_t count = end - begin < BATCH ? end - begin : BATCH;
		struct halves next;
		int code = it->test(ctx, it->base + begin * it->size, count,
				    yes, it->arg);

		BOUNDARY(loop);
		if (code)
			return code;
		next = partition_batch(it, begin, begin + count, yes);
		join_halves(it, value, &next);
		begin += count;
	}
	return 0;
}

static int partition_join(struct parallel_loop *loop, void *left, void *right)
{
	join_halves((struct partition_loop *)loop, left, right);
	return 0;
}

static const struct parallel_ops partition_ops = { .size = sizeof(
							   struct halves),
						   .init = partition_init,
						   .step = partition_step,
						   .join = partition_join };

int skua_partition(struct skua_ctx ctx, void *base, size_t count, size_t size,
		   size_t grain,
		   int (*test)(struct skua_ctx ctx, const void *items,
			       size_t count, unsigned char *yes, void *arg),
		   size_t *split, void *arg)
{
	struct partition_loop it = { PARALLEL_LOOP(&partition_ops, grain), base,
				     size, test, arg };
	struct halves whole = { 0, 0, 0 };
	int code;

	if (!test || !split || parallel_valid(ctx, 0, count) ||
	    parallel_array_valid(base, count, size))
		return -EINVAL;
	code = parallel_loop_run(&it.loop, ctx, 0, count, &whole);
	*split = code ? 0 : whole.split;
	return code;
}
