/* SPDX-License-Identifier: MIT */
/**
 * parallel_reduce.c - reduce a range to one value
 *
 * Without a grain, each part of the range is folded into one value, and the values of
 * parts that other threads have taken are joined. With a grain, each sub-range is a leaf
 * of a binary tree, and each inner node joins two values. The tree is the same, whichever
 * threads do its nodes.
 */
#include "core/parallel/parallel_reduce.h"

#include <errno.h>

#include "core/base/boundary.h"
#include "core/parallel/parallel_loop.h"

struct reduce_loop {
	struct parallel_loop loop; /* first: reduce_step() etc. cast back */
	const struct skua_reduction *how;
	void *arg;
};

/* ---- adaptive -------------------------------------------------------------- */

static void reduce_init(struct parallel_loop *loop, void *value, size_t begin)
{
	(void)begin;
	reduction_init(((struct reduce_loop *)loop)->how, value);
}

static int reduce_step(struct parallel_loop *loop, struct skua_ctx ctx,
		       size_t begin, size_t end, void *value)
{
	struct reduce_loop *it = (struct reduce_loop *)loop;
	int code = it->how->fold(ctx, begin, end, value, it->arg);

	BOUNDARY(loop);
	return code;
}

static int reduce_join(struct parallel_loop *loop, void *left, void *right)
{
	struct reduce_loop *it = (struct reduce_loop *)loop;
	int code = it->how->join(left, right, it->arg);

	BOUNDARY(loop);
	return code;
}

static void reduce_drop(struct parallel_loop *loop, void *value)
{
	struct reduce_loop *it = (struct reduce_loop *)loop;

	if (it->how->drop)
		it->how->drop(value, it->arg);
	BOUNDARY(loop);
}

/* ---- with a grain ---------------------------------------------------------- */

struct tree_node {
	struct skua_job job; /* first: run() casts back */
	struct reduce_loop *it;
	size_t begin, end;
	void *value;
	int code;
};

static int reduce_tree(struct reduce_loop *it, struct skua_ctx ctx,
		       size_t begin, size_t end, void *value);

static void tree_node_run(struct skua_ctx ctx, struct skua_job *job)
{
	struct tree_node *node = (struct tree_node *)job;

	node->code =
		reduce_tree(node->it, ctx, node->begin, node->end, node->value);
}

static int reduce_leaf(struct reduce_loop *it, struct skua_ctx ctx,
		       size_t begin, size_t end, void *value)
{
	int code = 0;

	if (!parallel_loop_stopped(&it->loop, begin))
		code = it->how->fold(ctx, begin, end, value, it->arg);
	BOUNDARY(loop);
	if (code)
		parallel_loop_stop(&it->loop, begin);
	return code;
}

/* reduce_halves - do both halves; a sub-range begins at @middle */
static int reduce_halves(struct reduce_loop *it, struct skua_ctx ctx,
			 size_t begin, size_t middle, size_t end, void *value)
{
	PARALLEL_VALUE(right, it->how->size);
	struct tree_node upper = {
		{ tree_node_run }, it, middle, end, right, 0
	};
	struct skua_ctx inner;
	int code;

	reduction_init(it->how, right);
	inner = skua_fork(ctx, &upper.job);
	code = reduce_tree(it, inner, begin, middle, value);
	if (skua_reclaim(inner, &upper.job))
		upper.code = reduce_tree(it, ctx, middle, end, right);
	if (code == 0 && upper.code == 0) {
		code = it->how->join(value, right, it->arg);
		BOUNDARY(loop);
		if (code)
			parallel_loop_stop(&it->loop, middle);
		return code;
	}
	reduce_drop(&it->loop, right);
	return code ? code : upper.code;
}

static int reduce_tree(struct reduce_loop *it, struct skua_ctx ctx,
		       size_t begin, size_t end, void *value)
{
	size_t grain = it->loop.grain, count = (end - begin - 1) / grain + 1;

	if (count == 1)
		return reduce_leaf(it, ctx, begin, end, value);
	/* No leaf of this node is needed. */
	if (parallel_loop_stopped(&it->loop, begin))
		return 0;
	return reduce_halves(it, ctx, begin,
			     begin + (count - count / 2) * grain, end, value);
}

/* ---------------------------------------------------------------------------- */

int skua_reduce(struct skua_ctx ctx, size_t begin, size_t end, size_t grain,
		const struct skua_reduction *how, void *value, void *arg)
{
	struct parallel_ops ops = { .init = reduce_init,
				    .step = reduce_step,
				    .join = reduce_join,
				    .drop = reduce_drop };
	struct reduce_loop it = { PARALLEL_LOOP(&ops, grain), how, arg };
	int code;

	if (!reduction_valid(how) || !value || parallel_valid(ctx, begin, end))
		return -EINVAL;
	ops.size = how->size;
	reduction_init(how, value);
	if (begin == end)
		return 0;
	if (grain)
		code = reduce_tree(&it, ctx, begin, end, value);
	else
		code = parallel_loop_run(&it.loop, ctx, begin, end, value);
	if (code)
		reduce_drop(&it.loop, value);
	return code;
}
