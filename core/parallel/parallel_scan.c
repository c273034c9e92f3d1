/* SPDX-License-Identifier: MIT */
/**
 * parallel_scan.c - compute all prefixes of a reduction
 *
 * The caller is the leader. It works through the range from the begin, and always knows
 * the prefix of its place. Threads that ask for work go ahead in the far part of the range:
 * they fold its blocks, one by one, until the leader arrives at their first block. From the
 * values of the folded blocks, the leader computes their prefixes. It forks the scan of
 * these blocks, and goes on after them. With two threads, and a fold that costs as much as
 * a scan, each thread works alone on a third of the range, and the last third is folded by
 * one thread and then scanned by either: this takes two thirds of the sequential time. It
 * is the on-line prefix computation of Roch, Traore and Bernard (Euro-Par 2006), based on
 * lazy binary splitting.
 *
 * Rejected: to fold all blocks in parallel, and then to scan all blocks in parallel. On two
 * threads that takes as long as on one.
 */
#include <errno.h>
#include <stdalign.h>
#include <stdlib.h>

#include "core/base/boundary.h"
#include "core/base/memory.h"
#include "core/parallel/parallel_loop.h"
#include "core/parallel/parallel_reduce.h"

/* The most blocks of an adaptive scan. */
#define BLOCKS 1024u

struct scan {
	/* The loop over the blocks behind the leader, whose prefixes are known. If it
	 * ends early, the leader ends as well. It is the first member, because
	 * behind_step() casts back. */
	struct parallel_loop behind;
	const struct skua_reduction *how;
	int (*scan)(struct skua_ctx ctx, size_t begin, size_t end, void *carry,
		    void *arg);
	void *arg;
	size_t begin, end;
	size_t block;  /* items of each block, except the last */
	size_t blocks; /* the number of blocks */
	size_t stride; /* from value to value, so that each is aligned */
	bool fixed;    /* each block is folded and scanned on its own */
	/*
	 * The leader allocates both arrays before its first fork. The thread that folds
	 * a block writes its value; then the leader replaces the value by the prefix.
	 * The forks and joins in between order these accesses.
	 */
	char *values;         /* NULL: no thread has helped yet */
	unsigned char *known; /* for each block: 1 if it has a value */
	bool alone;           /* there was no memory for the arrays */
};

static size_t block_begin(const struct scan *it, size_t block)
{
	return block == it->blocks ? it->end : it->begin + block * it->block;
}

static void *block_value(const struct scan *it, size_t block)
{
	return it->values + block * it->stride;
}

static bool may_split(struct scan *it)
{
	if (it->values || it->alone)
		return !it->alone;
	if (it->blocks <= PTRDIFF_MAX / (it->stride + 1)) {
		int saved = errno;

		it->values = malloc(it->blocks * it->stride);
		it->known = calloc(it->blocks, 1);
		errno_restore(saved);
	}
	it->alone = !it->values || !it->known;
	return !it->alone;
}

/* ---- going ahead ----------------------------------------------------------- */

struct ahead {
	struct parallel_loop loop; /* first: step() casts back */
	struct scan *it;
};

static int ahead_step(struct parallel_loop *loop, struct skua_ctx ctx,
		      size_t begin, size_t end, void *value)
{
	struct scan *it = ((struct ahead *)loop)->it;

	(void)value;
	for (size_t i = begin; i < end; i++) {
		int code;

		if (parallel_loop_stopped(loop, i))
			return 0;
		if (it->known[i])
			continue;
		reduction_init(it->how, block_value(it, i));
		code = it->how->fold(ctx, block_begin(it, i),
				     block_begin(it, i + 1), block_value(it, i),
				     it->arg);
		BOUNDARY(loop);
		/* On an error, end here: the leader comes to this block later and gets
		 * the error itself. To go on would cost a frame of the leader's stack
		 * for each such block. */
		if (code)
			return code;
		it->known[i] = 1;
	}
	return 0;
}

static const struct parallel_ops ahead_ops = { .step = ahead_step };

struct ahead_job {
	struct skua_job job; /* first: run() casts back */
	struct ahead ahead;
	size_t begin, end;
};

static void ahead_run(struct skua_ctx ctx, struct skua_job *job)
{
	struct ahead_job *ahead = (struct ahead_job *)job;

	parallel_loop_run(&ahead->ahead.loop, ctx, ahead->begin, ahead->end,
			  NULL);
}

/* ---- the blocks whose prefixes are known ----------------------------------- */

static int behind_step(struct parallel_loop *loop, struct skua_ctx ctx,
		       size_t begin, size_t end, void *value)
{
	struct scan *it = (struct scan *)loop;
	int code = 0;

	(void)value;
	for (size_t i = begin; i < end && code == 0; i++)
		code = it->scan(ctx, block_begin(it, i), block_begin(it, i + 1),
				block_value(it, i), it->arg);
	BOUNDARY(loop);
	return code;
}

static const struct parallel_ops behind_ops = { .step = behind_step };

struct behind_job {
	struct skua_job job; /* first: run() casts back */
	struct scan *it;
	size_t begin, end;
	int code;
};

static void behind_run(struct skua_ctx ctx, struct skua_job *job)
{
	struct behind_job *behind = (struct behind_job *)job;

	behind->code = parallel_loop_run(&behind->it->behind, ctx,
					 behind->begin, behind->end, NULL);
}

/* ---- the leader ------------------------------------------------------------ */

static int lead(struct scan *it, struct skua_ctx ctx, size_t begin, size_t end,
		void *carry);

/* make_prefix - replace the value of a block by its prefix, and @carry by the prefix of the
 * next block */
static int make_prefix(struct scan *it, size_t block, void *carry)
{
	PARALLEL_VALUE(prefix, it->how->size);
	int code;

	memcpy(prefix, carry, it->how->size);
	code = it->how->join(carry, block_value(it, block), it->arg);
	BOUNDARY(loop);
	memcpy(block_value(it, block), prefix, it->how->size);
	return code;
}

/*
 * lead_behind - fork the scan of the blocks from @begin on whose values are known, and lead
 * from the end of these blocks to @end
 *
 * This takes a frame of the leader's stack for each run of such blocks. Two runs are
 * separate because a thread has not yet come to the blocks between them, or because the
 * leader has split the range, which makes it shorter by a third. So the number of runs is
 * a small multiple of the number of threads.
 */
static int lead_behind(struct scan *it, struct skua_ctx ctx, size_t begin,
		       size_t end, void *carry)
{
	struct behind_job job = {
		.job = { behind_run }, .it = it, .begin = begin, .end = begin
	};
	struct skua_ctx inner;
	int code = 0;

	while (code == 0 && job.end < end && it->known[job.end])
		code = make_prefix(it, job.end++, carry);
	inner = skua_fork(ctx, &job.job);
	if (code == 0)
		code = lead(it, inner, job.end, end, carry);
	if (skua_reclaim(inner, &job.job))
		behind_run(ctx, &job.job);
	return job.code ? job.code : code;
}

/* lead_ahead - fork a part for threads that go ahead, and lead up to its begin */
static int lead_ahead(struct scan *it, struct skua_ctx ctx, size_t *begin,
		      size_t end, void *carry)
{
	/* Lead the first third. When the leader arrives at its end, the other threads
	 * have folded as many blocks, or all, and share the scan of these blocks. */
	size_t middle = *begin + (end - *begin + 2) / 3;
	struct ahead_job job = { .job = { ahead_run },
				 .ahead = { PARALLEL_LOOP(&ahead_ops, 0), it },
				 .begin = middle,
				 .end = end };
	struct skua_ctx inner = skua_fork(ctx, &job.job);
	int code = lead(it, inner, *begin, middle, carry);
	bool untaken;

	*begin = middle;
	parallel_loop_stop(&job.ahead.loop, 0);
	/* The result does not matter: the leader goes on from there in both cases. */
	untaken = skua_reclaim(inner, &job.job);
	(void)untaken;
	return code;
}

/* lead_blocks - scan blocks that no thread has folded, by one call */
static int lead_blocks(struct scan *it, struct skua_ctx ctx, size_t begin,
		       size_t end, void *carry)
{
	size_t first = block_begin(it, begin), last = block_begin(it, end);
	PARALLEL_VALUE(value, it->how->size);
	PARALLEL_VALUE(prefix, it->how->size);
	int code;

	if (it->fixed) {
		reduction_init(it->how, value);
		code = it->how->fold(ctx, first, last, value, it->arg);
		BOUNDARY(loop);
		if (code)
			return code;
		memcpy(prefix, carry, it->how->size);
		code = it->scan(ctx, first, last, prefix, it->arg);
		if (code == 0)
			code = it->how->join(carry, value, it->arg);
	} else {
		code = it->scan(ctx, first, last, carry, it->arg);
	}
	BOUNDARY(loop);
	return code;
}

static int lead(struct scan *it, struct skua_ctx ctx, size_t begin, size_t end,
		void *carry)
{
	struct parallel_pace pace = parallel_pace_begin(it->fixed, 0);
	int code = 0;

	while (begin < end && code == 0 &&
	       !parallel_loop_stopped(&it->behind, begin)) {
		size_t next = begin;

		if (it->known && it->known[begin])
			return lead_behind(it, ctx, begin, end, carry);
		if (end - begin > pace.items && skua_wanted(ctx) &&
		    may_split(it)) {
			code = lead_ahead(it, ctx, &begin, end, carry);
			pace = parallel_pace_begin(it->fixed, pace.items);
			continue;
		}
		while (next < end && next - begin < pace.items &&
		       !(it->known && it->known[next]))
			next++;
		code = lead_blocks(it, ctx, begin, next, carry);
		begin = next;
		parallel_pace_next(&pace);
	}
	return code;
}

/* ---- the public function ----------------------------------------------------- */

static void divide(struct scan *it, size_t grain)
{
	size_t count = it->end - it->begin;

	it->fixed = grain != 0;
	it->block = grain ? grain : (count - 1) / BLOCKS + 1;
	it->blocks = (count - 1) / it->block + 1;
	it->stride = (it->how->size + alignof(max_align_t) - 1) /
		     alignof(max_align_t) * alignof(max_align_t);
}

int skua_scan(struct skua_ctx ctx, size_t begin, size_t end, size_t grain,
	      const struct skua_reduction *how,
	      int (*scan)(struct skua_ctx ctx, size_t begin, size_t end,
			  void *carry, void *arg),
	      void *value, void *arg)
{
	struct scan it = { .behind = PARALLEL_LOOP(&behind_ops, 0),
			   .how = how,
			   .scan = scan,
			   .arg = arg,
			   .begin = begin,
			   .end = end };
	int code = 0;

	if (!reduction_valid(how) || how->drop || !scan ||
	    parallel_valid(ctx, begin, end))
		return -EINVAL;

	PARALLEL_VALUE(carry, how->size);
	reduction_init(how, carry);
	if (begin < end) {
		divide(&it, grain);
		code = lead(&it, ctx, 0, it.blocks, carry);
		free(it.values);
		free(it.known);
	}
	if (value && code == 0)
		memcpy(value, carry, how->size);
	return code;
}
