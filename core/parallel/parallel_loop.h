/* SPDX-License-Identifier: MIT */
/**
 * parallel_loop.h - a loop that is cut on request
 *
 * What the loops of skua/parallel.h have in common. The owner of a part of the
 * range calls step() for one sub-range after the other, and forks the upper half
 * of the rest when others ask: the lazy binary splitting of Tzannes, Caragea,
 * Barua and Vishkin (PPoPP 2010). If nobody has taken the upper half by the time the
 * lower one is done, its owner goes on with it, as if it had never been forked. So
 * there are as many parts as there were thefts, and one more.
 *
 * A part has a value, which step() adds to, and join() adds the values of two
 * neighbours, in order.
 */
#ifndef SKUA_CORE_PARALLEL_PARALLEL_LOOP_H
#define SKUA_CORE_PARALLEL_PARALLEL_LOOP_H

#include "core/base/atomic.h"
#include "skua/fork.h"

struct parallel_loop;

/**
 * struct parallel_ops - one kind of loop
 * @size: of a part's value, in bytes; may be 0, then init() is not called
 * @init: makes the value of a part that begins at @begin
 * @step: adds a sub-range to it; 0 to go on
 * @join: adds a value to that of the part before it; 0 to go on. NULL: there is
 *        nothing to add. @right is not used any more
 * @drop: a value is not used any more; NULL: nothing to do
 *
 * An operation that calls the program marks its own frame (boundary.h).
 */
struct parallel_ops {
	size_t size;
	void (*init)(struct parallel_loop *loop, void *value, size_t begin);
	int (*step)(struct parallel_loop *loop, struct skua_ctx ctx,
		    size_t begin, size_t end, void *value);
	int (*join)(struct parallel_loop *loop, void *left, void *right);
	void (*drop)(struct parallel_loop *loop, void *value);
};

struct parallel_loop {
	const struct parallel_ops *ops;
	size_t grain; /* items of a sub-range; 0: adaptive */
	bool any;     /* what ends it need not be the first in the range */
	/*
	 * Sub-ranges that begin here or behind it need not be done. Writers: threads
	 * that end the loop; it only falls. Readers: all, before each sub-range.
	 */
	atomic_u64 stop;
};

#define PARALLEL_LOOP(its_ops, its_grain)                                 \
	{                                                                 \
		.ops = (its_ops), .grain = (its_grain), .stop = SIZE_MAX, \
	}

/* How many items the next sub-range has. */
struct parallel_pace {
	size_t grain; /* 0: adaptive */
	size_t items;
	uint64_t since_ns;
};

/* parallel_pace_begin - of a loop with @grain that does not know its pace yet,
 * or, @items not being 0, does */
struct parallel_pace parallel_pace_begin(size_t grain, size_t items);

/* parallel_pace_next - after a sub-range has been done */
void parallel_pace_next(struct parallel_pace *pace);

/* parallel_loop_stopped - is there no need to do what begins at @begin? */
static inline bool parallel_loop_stopped(struct parallel_loop *loop,
					 size_t begin)
{
	/* Relaxed: a hint. The joins hand over the values. */
	return atomic_load_relaxed(&loop->stop) <= begin;
}

/* parallel_loop_stop - the sub-range at @begin has ended the loop */
void parallel_loop_stop(struct parallel_loop *loop, size_t begin);

/**
 * parallel_loop_run - do a range, and add it to @value
 * @value: made by init()
 *
 * Return: 0, or what step() or join() returned, of the first sub-range (or, if
 * @any is set, of any) for which they did not return 0.
 */
int parallel_loop_run(struct parallel_loop *loop, struct skua_ctx ctx,
		      size_t begin, size_t end, void *value);

/* parallel_valid - of the arguments that all loops have: 0 or -EINVAL */
int parallel_valid(struct skua_ctx ctx, size_t begin, size_t end);

/* parallel_array_valid - of an array: 0 or -EINVAL */
int parallel_array_valid(const void *base, size_t count, size_t size);

/* Memory for a value of @size bytes, on the stack. */
#define PARALLEL_VALUE(name, bytes) \
	max_align_t name[(bytes) / sizeof(max_align_t) + 1]

#endif
