/* SPDX-License-Identifier: MIT */
/*
 * test_abandon.c - a process that ends beside the workers of a runtime that it gave up
 *
 * Apart from the other tests of shutdowns: what the process leaves behind is what a
 * checker of leaks reports.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/runtime/runtime.h"
#include "tests/unit/tasks.h"

#define SOON_NS UINT64_C(1000000)

/* In a process of its own, which then ends beside the workers. */
static int abandon(void)
{
	static struct waiter waits = WAITER_INIT;
	static struct counter runs = { .task = SKUA_TASK_INIT(
					       yield_until_cancelled) };
	struct skua_runtime *rt = runtime_new(2, 0);

	waiter_start(rt, &waits);
	spawn(rt, &runs.task);
	exit(skua_runtime_destroy_until(rt, skua_now_ns() + SOON_NS,
					SKUA_SHUTDOWN_RUN, NULL) == -ETIMEDOUT
		     ? 0
		     : 1);
}

TEST(destroy_until__abandoned__process_ends)
{
	assert_int_equal(exit_of(abandon), 0);
}
