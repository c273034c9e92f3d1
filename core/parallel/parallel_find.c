/* SPDX-License-Identifier: MIT */
/* parallel_find.c - loops that end at a match */
#include <errno.h>

#include "core/base/boundary.h"
#include "core/parallel/parallel_loop.h"
#include "skua/parallel.h"

struct find_loop {
	struct parallel_loop loop; /* first: step() casts back */
	int (*find)(struct skua_ctx ctx, size_t begin, size_t end,
		    size_t *found, void *arg);
	int (*test)(struct skua_ctx ctx, size_t begin, size_t end, void *arg);
	void *arg;
	/*
	 * The lowest match; SIZE_MAX: none. Writers: threads that find a match; it
	 * only falls. Reader: the caller, after the loop.
	 */
	atomic_u64 found;
};

/* ---- find ------------------------------------------------------------------ */

static int find_step(struct parallel_loop *loop, struct skua_ctx ctx,
		     size_t begin, size_t end, void *value)
{
	struct find_loop *it = (struct find_loop *)loop;
	size_t found = begin;
	uint64_t seen;
	int code = it->find(ctx, begin, end, &found, it->arg);

	BOUNDARY(loop);
	(void)value;
	if (code != 1)
		return code > 1 ? -EINVAL : code;
	/* Relaxed, both: only the value counts, and the caller reads it after the joins.
	 * If the exchange fails, another thread has stored a lower match. */
	seen = atomic_load_relaxed(&it->found);
	while (found < seen && !atomic_cas_relaxed(&it->found, &seen, found))
		;
	return code;
}

static const struct parallel_ops find_ops = { .step = find_step };

static int find(struct find_loop *it, struct skua_ctx ctx, size_t begin,
		size_t end, size_t *found)
{
	int code;

	if (!it->find || parallel_valid(ctx, begin, end))
		return -EINVAL;
	code = parallel_loop_run(&it->loop, ctx, begin, end, NULL);
	/* Relaxed: all possible writers are joined. */
	if (code == 1 && found)
		*found = atomic_load_relaxed(&it->found);
	return code;
}

int skua_find_first(struct skua_ctx ctx, size_t begin, size_t end, size_t grain,
		    int (*callback)(struct skua_ctx ctx, size_t begin,
				    size_t end, size_t *found, void *arg),
		    size_t *found, void *arg)
{
	struct find_loop it = { .loop = PARALLEL_LOOP(&find_ops, grain),
				.find = callback,
				.arg = arg,
				.found = SIZE_MAX };

	return find(&it, ctx, begin, end, found);
}

int skua_find_any(struct skua_ctx ctx, size_t begin, size_t end, size_t grain,
		  int (*callback)(struct skua_ctx ctx, size_t begin, size_t end,
				  size_t *found, void *arg),
		  size_t *found, void *arg)
{
	struct find_loop it = { .loop = PARALLEL_LOOP(&find_ops, grain),
				.find = callback,
				.arg = arg,
				.found = SIZE_MAX };

	it.loop.any = true;
	return find(&it, ctx, begin, end, found);
}

/* ---- any and all ----------------------------------------------------------- */

static int any_step(struct parallel_loop *loop, struct skua_ctx ctx,
		    size_t begin, size_t end, void *value)
{
	struct find_loop *it = (struct find_loop *)loop;
	int code = it->test(ctx, begin, end, it->arg);

	BOUNDARY(loop);
	(void)value;
	return code > 1 ? -EINVAL : code;
}

/* The loop searches for a sub-range that has an item without a match. */
static int all_step(struct parallel_loop *loop, struct skua_ctx ctx,
		    size_t begin, size_t end, void *value)
{
	int code = any_step(loop, ctx, begin, end, value);

	return code < 0 ? code : !code;
}

static const struct parallel_ops any_ops = { .step = any_step };
static const struct parallel_ops all_ops = { .step = all_step };

static int test(struct find_loop *it, struct skua_ctx ctx, size_t begin,
		size_t end)
{
	it->loop.any = true;
	if (!it->test || parallel_valid(ctx, begin, end))
		return -EINVAL;
	return parallel_loop_run(&it->loop, ctx, begin, end, NULL);
}

int skua_any(struct skua_ctx ctx, size_t begin, size_t end, size_t grain,
	     int (*callback)(struct skua_ctx ctx, size_t begin, size_t end,
			     void *arg),
	     void *arg)
{
	struct find_loop it = { .loop = PARALLEL_LOOP(&any_ops, grain),
				.test = callback,
				.arg = arg };

	return test(&it, ctx, begin, end);
}

int skua_all(struct skua_ctx ctx, size_t begin, size_t end, size_t grain,
	     int (*callback)(struct skua_ctx ctx, size_t begin, size_t end,
			     void *arg),
	     void *arg)
{
	struct find_loop it = { .loop = PARALLEL_LOOP(&all_ops, grain),
				.test = callback,
				.arg = arg };
	int code = test(&it, ctx, begin, end);

	return code < 0 ? code : !code;
}
