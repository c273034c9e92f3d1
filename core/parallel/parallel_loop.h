/* SPDX-License-Identifier: MIT */
/**
 * parallel_loop.h - a loop that splits on request
 *
 * The loops of skua/parallel.h share it. The owner of a part of the range calls step()
 * for one sub-range after the other, and forks the upper half of the rest when other
 * threads ask for work: the lazy binary splitting of Tzannes, Caragea, Barua and Vishkin
 * (PPoPP 2010). If no thread has taken the upper half when the lower half is done, the
 * owner goes on with it, as if it had never been forked. So the number of parts is one
 * more than the number of thefts.
 *
 * A part has a value. step() adds a sub-range to it, and join() joins the values of two
 * neighbours, in order.
 */
#ifndef SKUA_CORE_PARALLEL_PARALLEL_LOOP_H
#define SKUA_CORE_PARALLEL_PARALLEL_LOOP_H

#include "core/base/atomic.h"
#include "skua/fork.h"

struct parallel_loop;

/**
 * struct parallel_ops - one kind of loop
 * @size: of a part's value, in bytes; if 0, init() is not called
 * @init: makes the value of a part that begins at @begin
 * @step: adds a sub-range to the value; returns 0 to go on
 * @join: adds the value @right to @left, which is before it; returns 0 to go on. The
 *        loop does not use @right afterwards. NULL: there is nothing to add
 * @drop: the loop does not use a value any more; NULL: nothing to do
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
	bool any; /* any result may end it, not only the first in the range */
	/*
	 * Sub-ranges that begin here or later need not be done. Writers: threads
	 * whose sub-range ends the loop; it only falls. Readers: all, before each
	 * sub-range.
	 */
	atomic_u64 stop;
};

#define PARALLEL_LOOP(its_ops, its_grain)                                 \
	{                                                                 \
		.ops = (its_ops), .grain = (its_grain), .stop = SIZE_MAX, \
	}

/* The number of items of the next sub-range. */
struct parallel_pace {
	size_t grain; /* 0: adaptive */
	size_t items;
	uint64_t since_ns;
};

/* parallel_pace_begin - begin with sub-ranges of @grain items or, if it is 0, of @items,
 * where 0 stands for an unknown pace */
struct parallel_pace parallel_pace_begin(size_t grain, size_t items);

/* parallel_pace_next - adapt the pace after a sub-range */
void parallel_pace_next(struct parallel_pace *pace);

/* parallel_loop_stopped - tell whether the sub-range at @begin need not be done */
static inline bool parallel_loop_stopped(struct parallel_loop *loop,
					 size_t begin)
{
	/* Relaxed: a hint. The joins hand over the values. */
	return atomic_load_relaxed(&loop->stop) <= begin;
}

/* parallel_loop_stop - end the loop at the sub-range at @begin */
void parallel_loop_stop(struct parallel_loop *loop, size_t begin);

/**
 * parallel_loop_run - do a range, and add it to @value
 * @value: made by init()
 *
 * Return: 0, or the result of step() or join() that is not 0, for the first sub-range
 * (with @any: for any sub-range) that has one.
 */
int parallel_loop_run(struct parallel_loop *loop, struct skua_ctx ctx,
		      size_t begin, size_t end, void *value);

/* parallel_valid - check the arguments that all loops have: 0 or -EINVAL */
int parallel_valid(struct skua_ctx ctx, size_t begin, size_t end);

/* parallel_array_valid - check an array: 0 or -EINVAL */
int parallel_array_valid(const void *base, size_t count, size_t size);

/* Memory for a value of @size bytes, on the stack. */
#define PARALLEL_VALUE(name, bytes) \
	max_align_t name[(bytes) / sizeof(max_align_t) + 1]

#endif
