/* SPDX-License-Identifier: MIT */
/* parallel_for.c - loops without a value: over a range, over two arrays */
#include <errno.h>

#include "core/base/boundary.h"
#include "core/parallel/parallel_loop.h"
#include "skua/parallel.h"

/* ---- a range --------------------------------------------------------------- */

struct for_loop {
	struct parallel_loop loop; /* first: step() casts back */
	int (*body)(struct skua_ctx ctx, size_t begin, size_t end, void *arg);
	void *arg;
};

static int for_step(struct parallel_loop *loop, struct skua_ctx ctx,
		    size_t begin, size_t end, void *value)
{
	struct for_loop *it = (struct for_loop *)loop;
	int code = it->body(ctx, begin, end, it->arg);

	BOUNDARY(loop);
	(void)value;
	return code;
}

static const struct parallel_ops for_ops = { .step = for_step };

int skua_for(struct skua_ctx ctx, size_t begin, size_t end, size_t grain,
	     int (*body)(struct skua_ctx ctx, size_t begin, size_t end,
			 void *arg),
	     void *arg)
{
	struct for_loop it = { PARALLEL_LOOP(&for_ops, grain), body, arg };

	if (!body || parallel_valid(ctx, begin, end))
		return -EINVAL;
	return parallel_loop_run(&it.loop, ctx, begin, end, NULL);
}

/* ---- two arrays ------------------------------------------------------------ */

struct map_loop {
	struct parallel_loop loop; /* first: step() casts back */
	const char *in;
	char *out;
	size_t in_size, out_size;
	int (*map)(struct skua_ctx ctx, const void *in, void *out, size_t count,
		   void *arg);
	void *arg;
};

static int map_step(struct parallel_loop *loop, struct skua_ctx ctx,
		    size_t begin, size_t end, void *value)
{
	struct map_loop *it = (struct map_loop *)loop;
	int code =
		it->map(ctx, it->in + begin * it->in_size,
			it->out + begin * it->out_size, end - begin, it->arg);

	BOUNDARY(loop);
	(void)value;
	return code;
}

static const struct parallel_ops map_ops = { .step = map_step };

int skua_map(struct skua_ctx ctx, const void *in, size_t in_size, void *out,
	     size_t out_size, size_t count, size_t grain,
	     int (*map)(struct skua_ctx ctx, const void *in, void *out,
			size_t count, void *arg),
	     void *arg)
{
	struct map_loop it = { PARALLEL_LOOP(&map_ops, grain),
			       in,
			       out,
			       in_size,
			       out_size,
			       map,
			       arg };

	if (!map || parallel_valid(ctx, 0, count) ||
	    parallel_array_valid(in, count, in_size) ||
	    parallel_array_valid(out, count, out_size))
		return -EINVAL;
	return parallel_loop_run(&it.loop, ctx, 0, count, NULL);
}
