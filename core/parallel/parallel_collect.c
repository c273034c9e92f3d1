/* SPDX-License-Identifier: MIT */
/**
 * parallel_collect.c - collect the results of a range, in order
 *
 * A part of the range owns as much room in the array as it may need, and fills it from the
 * front. When two neighbouring parts are done, the items of the right part move next to
 * those of the left part. So there is one move for each part that a thief has taken.
 */
#include <errno.h>
#include <string.h>

#include "core/base/boundary.h"
#include "core/parallel/parallel_loop.h"
#include "skua/parallel.h"

struct collect_loop {
	struct parallel_loop loop; /* first: collect_init() etc. cast back */
	char *out;
	size_t first, size;
	int (*collect)(struct skua_ctx ctx, size_t begin, size_t end, void *out,
		       size_t *count, void *arg);
	void *arg;
};

/* The room of a part: its first index in the array, and how many items are filled. */
struct filled {
	size_t at, count;
};

static void collect_init(struct parallel_loop *loop, void *value, size_t begin)
{
	struct collect_loop *it = (struct collect_loop *)loop;
	struct filled *filled = value;

	filled->at = begin - it->first;
	filled->count = 0;
}

static int collect_step(struct parallel_loop *loop, struct skua_ctx ctx,
			size_t begin, size_t end, void *value)
{
	struct collect_loop *it = (struct collect_loop *)loop;
	struct filled *filled = value;
	size_t next = filled->at + filled->count, count = 0;
	int code = it->collect(ctx, begin, end, it->out + next * it->size,
			       &count, it->arg);

	BOUNDARY(loop);
	if (code == 0 && count > end - begin)
		return -EINVAL;
	filled->count += code == 0 ? count : 0;
	return code;
}

static int collect_join(struct parallel_loop *loop, void *left, void *right)
{
	struct collect_loop *it = (struct collect_loop *)loop;
	struct filled *filled = left, *other = right;
	size_t next = filled->at + filled->count;

	if (next != other->at)
		memmove(it->out + next * it->size,
			it->out + other->at * it->size,
			other->count * it->size);
	filled->count += other->count;
	return 0;
}

static const struct parallel_ops collect_ops = { .size = sizeof(struct filled),
						 .init = collect_init,
						 .step = collect_step,
						 .join = collect_join };

int skua_collect(struct skua_ctx ctx, size_t begin, size_t end, size_t grain,
		 void *out, size_t size, size_t *count,
		 int (*collect)(struct skua_ctx ctx, size_t begin, size_t end,
				void *out, size_t *count, void *arg),
		 void *arg)
{
	struct collect_loop it = { PARALLEL_LOOP(&collect_ops, grain),
				   out,
				   begin,
				   size,
				   collect,
				   arg };
	struct filled filled = { 0, 0 };
	int code;

	if (!collect || !count || parallel_valid(ctx, begin, end) ||
	    parallel_array_valid(out, end - begin, size))
		return -EINVAL;
	code = parallel_loop_run(&it.loop, ctx, begin, end, &filled);
	*count = code ? 0 : filled.count;
	return code;
}
