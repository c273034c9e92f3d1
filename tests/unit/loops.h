/* SPDX-License-Identifier: MIT */
/**
 * loops.h - what the tests of skua/parallel.h have in common
 *
 * Each case runs on runtimes of one, two and four workers, by each_team().
 * Callbacks call ask(), as a thief does that finds nothing to take, so that loops
 * are split however fast they are; what nobody takes then is taken back.
 */
#ifndef SKUA_TESTS_UNIT_LOOPS_H
#define SKUA_TESTS_UNIT_LOOPS_H

#include "tests/unit/support.h"

/* Sizes of ranges, about the powers of two where things change. */
static const size_t loop_sizes[] = { 0,   1,   2,   3,    5,    7,
				     8,   9,   31,  32,   33,   64,
				     100, 255, 257, 1000, 4099, 20000 };
static const size_t loop_grains[] = { 0, 1, 3, 64, 5000, SIZE_MAX };

static inline void ask(struct skua_ctx ctx)
{
	if (ctx.forks->split) /* else there are no thieves */
		__atomic_store_n(&ctx.forks->wanted, 1, __ATOMIC_RELAXED);
}

struct region {
	int (*act)(struct skua_ctx ctx, void *arg);
	void *arg;
	int result;
};

static inline void region_root(struct skua_ctx ctx, void *arg)
{
	struct region *region = arg;

	region->result = region->act(ctx, region->arg);
}

/* in_region - what @act returns, called with a context of @rt */
static inline int in_region(struct skua_runtime *rt,
			    int (*act)(struct skua_ctx ctx, void *arg),
			    void *arg)
{
	struct region region = { act, arg, 0 };

	assert_int_equal(skua_run(rt, region_root, &region), 0);
	return region.result;
}

/* each_team - call @act on runtimes of several sizes; it returns 0 */
static inline void each_team(int (*act)(struct skua_ctx ctx, void *arg),
			     void *arg)
{
	static const unsigned workers[] = { 1, 2, 4 };

	for (size_t i = 0; i < COUNT_OF(workers); i++) {
		struct skua_runtime *rt = runtime_new(workers[i], 0);

		assert_int_equal(in_region(rt, act, arg), 0);
		assert_int_equal(skua_runtime_destroy(rt), 0);
	}
}

/* each_loop - call @act for each of the sizes and grains, on each team */
struct loop_case {
	void (*act)(struct skua_ctx ctx, size_t count, size_t grain);
};

static inline int loop_cases(struct skua_ctx ctx, void *arg)
{
	const struct loop_case *it = arg;

	for (size_t i = 0; i < COUNT_OF(loop_sizes); i++)
		for (size_t j = 0; j < COUNT_OF(loop_grains); j++)
			it->act(ctx, loop_sizes[i], loop_grains[j]);
	return 0;
}

static inline void each_loop(void (*act)(struct skua_ctx ctx, size_t count,
					 size_t grain))
{
	struct loop_case it = { act };

	each_team(loop_cases, &it);
}

#endif
