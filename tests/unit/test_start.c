/* SPDX-License-Identifier: MIT */
/**
 * test_start.c - what it takes to create a runtime and to destroy it
 *
 * Bytes and system calls are counted, which are the same on each machine and at each
 * time. The limits are twice what was measured or more: only a mistake exceeds them.
 */
#include <pthread.h>
#include <semaphore.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include "core/io/table.h"
#include "core/runtime/runtime.h"
#include "tests/unit/process.h"
#include "tests/unit/support.h"

/* ---- memory ---------------------------------------------------------------- */

/* Asked of the allocator; 2,924 were measured. */
#define BYTES_A_WORKER 6144u

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

/* ---- pages ------------------------------------------------------------------ */

/* Private memory of an idle worker, beyond that of a thread which does nothing. The C library
 * gives a thread two pages for its stack and its thread-local variables. */
#define PRIVATE_A_WORKER 4096

/* The private memory of this process in bytes; 0: unknown. */
static long private_bytes(void)
{
	FILE *file = fopen("/proc/self/smaps_rollup", "r");
	char line[256];
	long sum = 0, kb;

	while (file && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "Private_Clean: %ld", &kb) == 1 ||
		    sscanf(line, "Private_Dirty: %ld", &kb) == 1)
			sum += kb * 1024;
	}
	if (file)
		fclose(file);
	return sum;
}

static sem_t begun;

static void *do_nothing(void *arg)
{
	sem_post(&begun);
	for (;;)
		pause();
	return arg;
}

static void begin_bare(unsigned count)
{
	pthread_t thread;

	sem_init(&begun, 0, 0);
	for (unsigned i = 0; i < count; i++)
		if (pthread_create(&thread, NULL, do_nothing, NULL) != 0)
			_exit(1);
	for (unsigned i = 0; i < count; i++)
		while (sem_wait(&begun) != 0)
			;
}

static void begin_workers(unsigned count)
{
	struct skua_runtime *rt =
		RUNTIME(.workers = count, .flags = SKUA_NO_ENV);

	while (!idle_all_parked(&rt->pool.idle))
		sched_yield();
}

/* The private memory that @begin adds to a process, in bytes; 0: unknown. */
static long added_by(void (*begin)(unsigned count), unsigned count)
{
	long *added = mmap(NULL, sizeof(*added), PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t child;
	long bytes;

	assert_ptr_not_equal(added, MAP_FAILED);
	child = fork();
	if (child == 0) {
		long before = private_bytes();

		begin(count);
		*added = before ? private_bytes() - before : 0;
		_exit(0);
	}
	assert_int_equal(status_of(child), 0);
	bytes = *added;
	munmap(added, sizeof(*added));
	return bytes;
}

/* The difference leaves out what the runtime as a whole needs. */
TEST(start__idle_worker__private_memory_is_bounded)
{
	long workers, bare;

	if (SANITIZED) {
		skip_aloud("a sanitizer needs memory, too");
		return;
	}
	workers = added_by(begin_workers, 192) - added_by(begin_workers, 64);
	bare = added_by(begin_bare, 192) - added_by(begin_bare, 64);
	if (workers == 0) {
		skip_aloud("no /proc/self/smaps_rollup");
		return;
	}
	print_message("%ld private bytes a worker; %ld a bare thread\n",
		      workers / 128, bare / 128);
	assert_true(workers - bare <= 128 * PRIVATE_A_WORKER);
}

/* Count the pages of the table of descriptors that are in memory, except the first and the last
 * one, which other variables share. @drop: give them back before. */
static unsigned table_pages(bool drop)
{
	const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	const uintptr_t first = ((uintptr_t)table_chunks / page + 1) * page;
	const uintptr_t end =
		(uintptr_t)(table_chunks + TABLE_CHUNKS) / page * page;
	unsigned count = 0;

	if (drop)
		madvise((void *)first, end - first, MADV_DONTNEED);
	for (uintptr_t at = first; at < end; at += page) {
		unsigned char resident = 0;

		assert_int_equal(mincore((void *)at, 1, &resident), 0);
		count += resident & 1;
	}
	return count;
}

/* No thread of this process has attached a descriptor. */
TEST(start__no_descriptor__end_reads_no_table)
{
	assert_int_equal(table_pages(true), 0);
	assert_int_equal(skua_runtime_destroy(RUNTIME(.workers = 1)), 0);
	assert_int_equal(table_pages(false), 0);
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
