/* SPDX-License-Identifier: MIT */
/**
 * parallel_loop.h - a loop that splits on request
 *
 * All loops of skua/parallel.h use it. The owner of a part of the range calls step() for
 * one sub-range after another. When other threads ask for work, it forks the upper half of
 * the rest: the lazy binary splitting of Tzannes, Caragea, Barua and Vishkin (PPoPP 2010).
 * If no thread has taken the upper half when the lower half is done, the owner goes on with
 * it, as if it had never been forked. So the number of parts is one more than the number
 * of steals.
 *
 * Each part has a value. step() adds a sub-range to it, and join() joins the values of two
 * neighbouring parts, in order.
 */
#ifndef SKUA_CORE_PARALLEL_PARALLEL_LOOP_H
#define SKUA_CORE_PARALLEL_PARALLEL_LOOP_H

#include "core/base/atomic.h"
#include "skua/fork.h"

struct parallel_loop;

/**
 * struct parallel_ops - one kind of loop
 * @size: of a part's value, in bytes; if 0, init() is not called
 * @init: initialises the value of a part that begins at @begin
 * @step: adds a sub-range to the value; returns 0 to go on
 * @join: adds the value @right to the value @left, whose part is before it; returns 0 to
 *        go on. The loop does not use @right afterwards. NULL: values need no joining
 * @drop: releases a value that the loop does not use any more; NULL: nothing to release
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
	bool any; /* any non-zero result may end it, not only the first one */
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

/* The pace of a part: it adapts the size of the sub-ranges. */
struct parallel_pace {
	size_t grain;      /* 0: adaptive */
	size_t items;      /* of the next sub-range */
	uint64_t since_ns; /* begin of the last sub-range, if adaptive */
};

/* parallel_pace_begin - begin with sub-ranges of @grain items or, if @grain is 0, of @items
 * items; 0 items mean that the pace is unknown */
struct parallel_pace parallel_pace_begin(size_t grain, size_t items);

/* parallel_pace_next - adapt the pace after a sub-range */
void parallel_pace_next(struct parallel_pace *pace);

/* parallel_loop_stopped - tell whether the loop needs no sub-range from @begin on */
static inline bool parallel_loop_stopped(struct parallel_loop *loop,
					 size_t begin)
{
	/* Relaxed: a hint. The joins hand over the values. */
	return atomic_load_relaxed(&loop->stop) <= begin;
}

/* parallel_loop_stop - end the loop at @begin: later sub-ranges need not be done; if any is
 * set, none need be */
void parallel_loop_stop(struct parallel_loop *loop, size_t begin);

/**
 * parallel_loop_run - run the loop over a range, and add the range to @value
 * @value: initialised by init()
 *
 * Return: 0, or the non-zero result of step() or join() for the first sub-range that has
 * one; with @any, of any such sub-range.
 */
int parallel_loop_run(struct parallel_loop *loop, struct skua_ctx ctx,
		      size_t begin, size_t end, void *value);

/* parallel_valid - check the arguments that all loops have. Return: 0 or -EINVAL */
int parallel_valid(struct skua_ctx ctx, size_t begin, size_t end);

/* parallel_array_valid - check the arguments for an array. Return: 0 or -EINVAL */
int parallel_array_valid(const void *base, size_t count, size_t size);

/* Declare memory on the stack for a value of @bytes bytes. */
#define PARALLEL_VALUE(name, bytes) \
	max_align_t name[(bytes) / sizeof(max_align_t) + 1]

#endif
