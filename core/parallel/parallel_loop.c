/* SPDX-License-Identifier: MIT */
/* parallel_loop.c - a loop that splits on request */
#include "core/parallel/parallel_loop.h"

#include <errno.h>

#include "core/base/clock.h"

/*
 * The time that a sub-range should take: long enough to make the reads of the clock and
 * of skua_wanted() cheap beside it, and short enough that a thread that asks for work gets
 * it soon. A guess.
 */
#define PACE_SHORT_NS 2000u
#define PACE_LONG_NS  8000u

/* ---- pace ------------------------------------------------------------------ */

struct parallel_pace parallel_pace_begin(size_t grain, size_t items)
{
	struct parallel_pace pace = { grain, grain ? grain : items, 0 };

	if (pace.items == 0)
		pace.items = 1;
	if (grain == 0)
		pace.since_ns = clock_now_ns();
	return pace;
}

void parallel_pace_next(struct parallel_pace *pace)
{
	uint64_t now_ns, took_ns;

	if (pace->grain)
		return;
	now_ns = clock_now_ns();
	took_ns = now_ns - pace->since_ns;
	pace->since_ns = now_ns;
	if (took_ns < PACE_SHORT_NS / 4 && pace->items <= SIZE_MAX / 4)
		pace->items *= 4;
	else if (took_ns < PACE_SHORT_NS && pace->items <= SIZE_MAX / 2)
		pace->items *= 2;
	else if (took_ns > PACE_LONG_NS && pace->items > 1)
		pace->items /= 2;
}

/* ---- the end of a loop ----------------------------------------------------- */

void parallel_loop_stop(struct parallel_loop *loop, size_t begin)
{
	const uint64_t stop = loop->any ? 0 : begin;
	uint64_t seen = atomic_load_relaxed(&loop->stop);

	/* Relaxed: see parallel_loop_stopped(). If the exchange fails, another thread
	 * has lowered the word. */
	while (stop < seen && !atomic_cas_relaxed(&loop->stop, &seen, stop))
		;
}

/* ---- parts ----------------------------------------------------------------- */

struct part {
	struct skua_job job; /* first: run() casts back */
	struct parallel_loop *loop;
	size_t begin, end, items;
	void *value;
	int code;
};

static int run_part(struct parallel_loop *loop, struct skua_ctx ctx,
		    size_t begin, size_t end, size_t items, void *value);

static void part_run(struct skua_ctx ctx, struct skua_job *job)
{
	struct part *part = (struct part *)job;

	part->code = run_part(part->loop, ctx, part->begin, part->end,
			      part->items, part->value);
}

/* join_parts - join a right part with the left part before it, which ended with @code and
 * the value @left */
static int join_parts(struct parallel_loop *loop, int code, void *left,
		      struct part *right)
{
	const struct parallel_ops *ops = loop->ops;

	if (code == 0 && right->code == 0 && ops->join) {
		code = ops->join(loop, left, right->value);
		if (code)
			parallel_loop_stop(loop, right->begin);
		return code;
	}
	if (ops->drop)
		ops->drop(loop, right->value);
	return code ? code : right->code;
}

/*
 * split_part - fork the part from @middle on, and do the part before it
 *
 * If no thread has taken the fork, *@begin becomes @middle: the caller goes on from there.
 * Otherwise *@begin becomes @end: all is done.
 */
static int split_part(struct parallel_loop *loop, struct skua_ctx ctx,
		      size_t *begin, size_t middle, size_t end, size_t items,
		      void *value)
{
	PARALLEL_VALUE(right, loop->ops->size);
	struct part upper = {
		{ part_run }, loop, middle, end, items, right, 0
	};
	struct skua_ctx inner;
	int code;

	if (loop->ops->size)
		loop->ops->init(loop, right, middle);
	inner = skua_fork(ctx, &upper.job);
	code = run_part(loop, inner, *begin, middle, items, value);
	if (!skua_reclaim(inner, &upper.job)) {
		*begin = end;
		return join_parts(loop, code, value, &upper);
	}
	if (loop->ops->drop)
		loop->ops->drop(loop, right);
	*begin = middle;
	return code;
}

/* middle_of - return the middle of the range, at a multiple of the grain */
static size_t middle_of(const struct parallel_loop *loop, size_t begin,
			size_t end)
{
	size_t half = (end - begin) / 2;

	if (loop->grain)
		half = half < loop->grain ? loop->grain
					  : half - half % loop->grain;
	return begin + half;
}

static int run_part(struct parallel_loop *loop, struct skua_ctx ctx,
		    size_t begin, size_t end, size_t items, void *value)
{
	struct parallel_pace pace = parallel_pace_begin(loop->grain, items);

	while (begin < end && !parallel_loop_stopped(loop, begin)) {
		size_t rest = end - begin;
		int code;

		if (rest > pace.items && skua_wanted(ctx)) {
			code = split_part(loop, ctx, &begin,
					  middle_of(loop, begin, end), end,
					  pace.items, value);
			if (code)
				return code;
			pace = parallel_pace_begin(loop->grain, pace.items);
			continue;
		}
		if (rest > pace.items)
			rest = pace.items;
		code = loop->ops->step(loop, ctx, begin, begin + rest, value);
		if (code) {
			parallel_loop_stop(loop, begin);
			return code;
		}
		begin += rest;
		parallel_pace_next(&pace);
	}
	return 0;
}

int parallel_loop_run(struct parallel_loop *loop, struct skua_ctx ctx,
		      size_t begin, size_t end, void *value)
{
	return run_part(loop, ctx, begin, end, 0, value);
}

/* ---- arguments ------------------------------------------------------------- */

int parallel_valid(struct skua_ctx ctx, size_t begin, size_t end)
{
	return begin > end ? -EINVAL : skua_ctx_check(ctx);
}

int parallel_array_valid(const void *base, size_t count, size_t size)
{
	if (size == 0 || count > PTRDIFF_MAX / size)
		return -EINVAL;
	return base || count == 0 ? 0 : -EINVAL;
}
