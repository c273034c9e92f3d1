/* SPDX-License-Identifier: MIT */
/* test_cycles.c - runtimes that come and go leave nothing behind */
#include "tests/unit/process.h"
#include "tests/unit/tasks.h"

#if defined(__GLIBC__)
#include <malloc.h>
#endif

#define CYCLES (SANITIZED ? 1000u : 10000u)

/* Bytes that the C library has given out; 0 where nobody can say. */
static size_t bytes_in_use(void)
{
#if defined(__GLIBC__)
	return SANITIZED ? 0 : mallinfo2().uordblks;
#else
	return 0;
#endif
}

/* Ends after a wait for a timer. */
static void count_call(void *arg)
{
	atomic_fetch_add_relaxed((atomic_u32 *)arg, 1);
}

/* One of each kind; the end of the runtime is the end of all. */
struct work {
	struct counter counter;
	struct counter bound;
	struct counter urgent;
	struct counter member;
	struct nap sleeper;
	struct skua_group group;
	atomic_u32 calls;
};

static void work_begin(struct work *it, struct skua_runtime *rt)
{
	*it = (struct work){ .counter = COUNTER_INIT,
			     .bound = COUNTER_INIT,
			     .urgent = COUNTER_INIT,
			     .member = COUNTER_INIT,
			     .sleeper = NAP_INIT(1000) };
	skua_task_set_urgent(&it->urgent.task, true);
	skua_group_init(&it->group, rt);
	spawn(rt, &it->counter.task);
	spawn(rt, &it->urgent.task);
	spawn(rt, &it->sleeper.task);
	assert_int_equal(skua_task_spawn_on(rt, 0, &it->bound.task), 0);
	assert_int_equal(skua_group_spawn(&it->group, &it->member.task), 0);
	assert_int_equal(skua_call(rt, count_call, &it->calls), 0);
}

static void work_check(struct work *it)
{
	join(&it->counter.task);
	join(&it->bound.task);
	join(&it->urgent.task);
	join(&it->sleeper.task);
	assert_int_equal(it->counter.polls, 1);
	assert_int_equal(it->bound.polls, 1);
	assert_int_equal(it->urgent.polls, 1);
	assert_int_equal(it->member.polls, 1);
	assert_int_equal(atomic_load_relaxed(&it->calls), 1);
}

static struct skua_runtime *create(unsigned n)
{
	return RUNTIME(.workers = n % 4 == 3 ? 1 : 1 + n % 4,
		       .queue_capacity = 4,
		       .flags = n % 4 == 3 ? SKUA_CALLER_DRIVEN : 0);
}

/* In each way that a runtime may end. */
static void end_in_turn(struct skua_runtime *rt, unsigned n)
{
	if (n % 3 == 0)
		assert_int_equal(skua_runtime_drain(rt), 0);
	if (n % 3 == 1)
		assert_int_equal(skua_runtime_shutdown(rt, SKUA_FOREVER_NS,
						       SKUA_SHUTDOWN_CANCEL),
				 0);
	destroy(rt);
}

ALL_TESTS(process_settle, NULL);

TEST(runtime__10000_cycles__nothing_grows)
{
	struct belongings before = belongings();
	struct work work;
	size_t bytes = 0;

	for (unsigned n = 0; n < CYCLES; n++) {
		struct skua_runtime *rt = create(n);

		work_begin(&work, rt);
		end_in_turn(rt, n);
		work_check(&work);
		/* The C library keeps some stacks, and what they hold. */
		if (n == 100)
			bytes = bytes_in_use();
		/* Those that were joined are on their way out at most. */
		if (n % 100 == 0 && n > 100)
			expect_belongings(before);
	}
	/* One block a cycle would be a megabyte. */
	if (bytes > 0)
		assert_in_range(bytes_in_use(), 0, bytes + 65536);
}
