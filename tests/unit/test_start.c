/* SPDX-License-Identifier: MIT */
/**
 * test_start.c - what it takes to create a runtime and to destroy it
 *
 * Bytes and system calls are counted, which are the same on each machine and at each
 * time. The limits are twice what was measured or more: only a mistake exceeds them.
 */
#include <sys/ptrace.h>
#include <sys/wait.h>

#include "tests/unit/process.h"
#include "tests/unit/support.h"

/* ---- memory ---------------------------------------------------------------- */

/* Asked of the allocator; 5,228 were measured. */
#define BYTES_A_WORKER 12288u

static size_t asked;

static void *give(void *ctx, size_t align, size_t size)
{
	(void)ctx;
	asked += size;
	return aligned_alloc(align, size);
}

static void take(void *ctx, void *memory, size_t size)
{
	(void)ctx;
	(void)size;
	free(memory);
}

/* The bytes that a runtime asks for. */
static size_t bytes_of(unsigned workers)
{
	const struct skua_allocator allocator = { give, take, NULL };
	const struct skua_config cfg = { .size = sizeof(cfg),
					 .workers = workers,
					 .flags = SKUA_NO_ENV,
					 .allocator = &allocator };
	struct skua_runtime *rt;

	asked = 0;
	assert_int_equal(skua_runtime_create(&rt, &cfg, NULL), 0);
	assert_int_equal(skua_runtime_destroy(rt), 0);
	return asked;
}

TEST(start__default_sizes__memory_of_a_worker_is_bounded)
{
	size_t few = bytes_of(4), many = bytes_of(36);

	print_message("%zu bytes a worker\n", (many - few) / 32);
	assert_in_range((many - few) / 32, 1024, BYTES_A_WORKER);
}

/* ---- system calls ----------------------------------------------------------- */

#if SANITIZED
#define CAN_COUNT 0
#else
#define CAN_COUNT 1
#endif

/* Of a runtime after the first one of the process; of the calling thread alone. */
#define CALLS          60u
#define CALLS_A_WORKER 16u

static void child_main(unsigned workers)
{
	struct skua_config cfg = { .size = sizeof(cfg), .workers = workers };
	struct skua_runtime *rt;

	if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0)
		_exit(77);
	for (int i = 0; i < 2; i++) {
		raise(SIGSTOP);
		if (skua_runtime_create(&rt, &cfg, NULL) != 0)
			_exit(1);
		raise(SIGSTOP);
		if (skua_runtime_destroy(rt) != 0)
			_exit(1);
	}
	_exit(0);
}

/* The system calls of @child until it stops itself; 0: it did not stop. */
static unsigned calls_until_stop(pid_t child)
{
	unsigned stops = 0;
	int status;

	for (;;) {
		if (ptrace(PTRACE_SYSCALL, child, NULL, NULL) != 0 ||
		    waitpid(child, &status, 0) != child || !WIFSTOPPED(status))
			return 0;
		if (WSTOPSIG(status) == SIGSTOP)
			return stops / 2; /* one before, one after each call */
		stops += WSTOPSIG(status) == (SIGTRAP | 0x80);
	}
}

/* The system calls of the second creation in a process; 0: they cannot be counted. */
static unsigned calls_of(unsigned workers)
{
	pid_t child = fork();
	unsigned calls = 0;
	int status;

	if (child == 0)
		child_main(workers);
	assert_int_equal(waitpid(child, &status, 0), child);
	if (!WIFSTOPPED(status))
		return 0;
	if (ptrace(PTRACE_SETOPTIONS, child, NULL,
		   PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL) == 0) {
		/* Create, destroy; and the second one. */
		calls_until_stop(child);
		calls_until_stop(child);
		calls = calls_until_stop(child);
	}
	kill(child, SIGKILL);
	waitpid(child, &status, 0);
	return calls;
}

TEST(start__second_runtime__few_system_calls)
{
	unsigned one, many;

	if (!CAN_COUNT) {
		skip_aloud("a sanitizer makes system calls, too");
		return;
	}
	one = calls_of(1);
	many = calls_of(33);
	if (one == 0 || many == 0) {
		skip_aloud("no process may be traced");
		return;
	}
	print_message("%u system calls; %u with 33 workers\n", one, many);
	assert_in_range(one, 1, CALLS + CALLS_A_WORKER);
	assert_in_range(many, one, CALLS + 33 * CALLS_A_WORKER);
}
