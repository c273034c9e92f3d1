/* SPDX-License-Identifier: MIT */
/* test_membarrier.c - a process that registers in time, and one that is late */
#include "core/os/membarrier.h"

#include <pthread.h>

#include "tests/unit/support.h"

static bool supported(void)
{
	long commands = syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0);

	return commands > 0 && (commands & MEMBARRIER_CMD_PRIVATE_EXPEDITED);
}

static int register_and_fence(void)
{
	return membarrier_register() && membarrier_register() &&
	       membarrier_fence();
}

static void *sleep_for_ever(void *arg)
{
	for (;;)
		pause();
	return arg;
}

static int register_late(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, sleep_for_ever, NULL) != 0)
		return -1;
	return membarrier_register() || membarrier_fence();
}

TEST(membarrier_register__single_thread__works)
{
	if (!supported())
		skip_aloud("the kernel has no membarrier");
	if (THREAD_SANITIZED)
		skip_aloud("ThreadSanitizer starts a thread in a child");
	assert_int_equal(exit_of(register_and_fence), true);
}

TEST(membarrier_register__other_threads__does_nothing)
{
	assert_int_equal(exit_of(register_late), false);
}

TEST(membarrier_or_fence__not_registered__fences_itself)
{
	assert_true(membarrier_or_fence(false));
}
