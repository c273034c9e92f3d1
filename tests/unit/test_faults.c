/* SPDX-License-Identifier: MIT */
/**
 * test_faults.c - each call into the system fails in turn
 *
 * The program is linked with --wrap for the calls below, each of which asks
 * here first. While a runtime is made the n-th one fails, for each n; while it
 * runs, futex calls return early, as the kernel may have them do.
 */
#include <linux/futex.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>

#include "core/os/process_generation.h"
#include "tests/unit/process.h"
#include "tests/unit/tasks.h"

/* ---- failing ---------------------------------------------------------------- */

/* Of the thread that tests: the number of the call that fails, and of calls so far. */
static _Thread_local unsigned fail_at; /* 0: none */
static _Thread_local unsigned calls;
static _Thread_local const char *failed; /* its name */

/* May only this thread protect memory? How often others were refused. */
static atomic_u32 only_here, refused;
static _Thread_local bool here;

static bool is_refused(void)
{
	if (here || !atomic_load_relaxed(&only_here))
		return false;
	atomic_fetch_add_relaxed(&refused, 1);
	return true;
}

static bool fails(const char *name)
{
	if (fail_at == 0 || ++calls != fail_at)
		return false;
	failed = name;
	return true;
}

#define WRAP(type, name, code, failure, parameters, arguments) \
	type __real_##name parameters;                         \
	type __wrap_##name parameters;                         \
	type __wrap_##name parameters                          \
	{                                                      \
		if (!fails(#name))                             \
			return __real_##name arguments;        \
		errno = (code);                                \
		return (failure);                              \
	}

WRAP(void *, mmap, ENOMEM, MAP_FAILED,
     (void *at, size_t size, int prot, int flags, int fd, off_t offset),
     (at, size, prot, flags, fd, offset))
int __real_mprotect(void *at, size_t size, int prot);
int __wrap_mprotect(void *at, size_t size, int prot);
int __wrap_mprotect(void *at, size_t size, int prot)
{
	if (!is_refused() && !fails("mprotect"))
		return __real_mprotect(at, size, prot);
	errno = ENOMEM;
	return -1;
}

WRAP(void *, aligned_alloc, ENOMEM, NULL, (size_t align, size_t size),
     (align, size))
WRAP(int, epoll_create1, EMFILE, -1, (int flags), (flags))
WRAP(int, eventfd, EMFILE, -1, (unsigned count, int flags), (count, flags))
WRAP(int, timerfd_create, ENFILE, -1, (int clock, int flags), (clock, flags))
WRAP(int, epoll_ctl, ENOMEM, -1,
     (int epoll_fd, int op, int fd, struct epoll_event *event),
     (epoll_fd, op, fd, event))
WRAP(int, sched_getaffinity, EPERM, -1,
     (pid_t pid, size_t size, cpu_set_t *set), (pid, size, set))
/* These return the error. */
WRAP(int, pthread_attr_init, 0, ENOMEM, (pthread_attr_t * attr), (attr))
WRAP(int, pthread_attr_setaffinity_np, 0, ENOMEM,
     (pthread_attr_t * attr, size_t size, const cpu_set_t *set),
     (attr, size, set))
WRAP(int, pthread_create, 0, EAGAIN,
     (pthread_t * id, const pthread_attr_t *attr, void *(*main)(void *),
      void *arg),
     (id, attr, main, arg))

/* ---- create ----------------------------------------------------------------- */

static int create(struct skua_runtime **rt, unsigned flags,
		  struct skua_error *err)
{
	const struct skua_config cfg = { .size = sizeof(cfg),
					 .workers = flags ? 0 : 3,
					 .flags = flags };

	return skua_runtime_create(rt, &cfg, err);
}

/* The kernel refuses guards, as before Linux 6.13: then mprotect() makes them, and may fail
 * as any other call. It has no large pages: advice on them is refused, and no failure. */
#define GUARD_INSTALL 102

int __real_madvise(void *at, size_t size, int advice);
int __wrap_madvise(void *at, size_t size, int advice);
int __wrap_madvise(void *at, size_t size, int advice)
{
	if (advice != GUARD_INSTALL && advice != MADV_NOHUGEPAGE &&
	    !fails("madvise"))
		return __real_madvise(at, size, advice);
	errno = EINVAL;
	return -1;
}

/* In a process that has had no runtime: else there is a page already. */
static int fail_each_in_turn(unsigned flags)
{
	struct belongings before = belongings();
	unsigned seen = 0;

	for (unsigned n = 1;; n++) {
		struct skua_runtime *rt = (struct skua_runtime *)&seen;
		struct skua_error err = { 0, "" };
		int code;

		atomic_store_relaxed(&process_generation_page, NULL);
		calls = 0;
		failed = NULL;
		fail_at = n;
		errno = 123;
		code = create(&rt, flags, &err);
		fail_at = 0;
		assert_int_equal(errno, 123);
		if (!failed) {
			assert_int_equal(code, 0);
			assert_int_equal(skua_runtime_destroy(rt), 0);
			break;
		}
		seen++;
		if (code >= 0 || rt || err.code != code || err.text[0] == '\0')
			fail_msg("%s, call %u: %d, %d \"%s\"", failed, n, code,
				 err.code, err.text);
		expect_belongings(before);
	}
	expect_belongings(before);
	return (int)seen;
}

ALL_TESTS(process_settle, NULL);

TEST(create__each_system_call_fails__error_and_nothing_left)
{
	if (SANITIZED) {
		skip_aloud("a sanitizer makes these calls, too");
		return;
	}
	/* A page, memory, CPUs, three threads with their attributes. */
	assert_true(fail_each_in_turn(0) >= 10);
}

TEST(create__driven_and_each_fails__error_and_nothing_left)
{
	if (SANITIZED) {
		skip_aloud("a sanitizer makes these calls, too");
		return;
	}
	/* A page, memory, CPUs, three descriptors, two of them watched. */
	assert_true(fail_each_in_turn(SKUA_CALLER_DRIVEN) >= 10);
}

/* ---- a worker's first fork --------------------------------------------------- */

struct forking {
	struct skua_task task; /* first: it is cast back */
	struct skua_ctx refused, made;
};

static enum skua_poll poll_forking(struct skua_task *self)
{
	struct forking *it = (struct forking *)self;

	calls = 0;
	fail_at = 1;
	it->refused = skua_task_ctx(self);
	fail_at = 0;
	it->made = skua_task_ctx(self);
	return SKUA_DONE;
}

TEST(task_ctx__no_memory_for_the_guard__null)
{
	struct skua_runtime *rt = runtime_new(1, 0);
	struct forking it;

	skua_task_init(&it.task, poll_forking);
	spawn(rt, &it.task);
	join(&it.task);
	assert_null(it.refused.forks);
	assert_null(it.refused.head);
	assert_non_null(it.made.forks);
	destroy(rt);
}

static void do_nothing(struct skua_ctx ctx, struct skua_job *job)
{
	(void)ctx;
	(void)job;
}

/* Return: does another thread take a job that is forked now? */
static bool fork_is_taken(struct skua_ctx ctx)
{
	struct skua_job job = { do_nothing };
	struct skua_ctx inner = skua_fork(ctx, &job);

	for (unsigned i = 0; i < 100; i++)
		sched_yield();
	return !skua_reclaim(inner, &job);
}

static void fork_beside_refusals(struct skua_ctx ctx, void *arg)
{
	(void)arg;
	while (atomic_load_relaxed(&refused) < 3)
		assert_false(fork_is_taken(ctx));
	assert_false(fork_is_taken(ctx));
	atomic_store_relaxed(&only_here, 0);
	while (!fork_is_taken(ctx))
		;
}

/* A thief may fork in the job that it takes. */
TEST(steal__no_memory_for_the_guard__job_stays_until_there_is)
{
	struct skua_runtime *rt = runtime_new(2, 0);

	here = true;
	atomic_store_relaxed(&refused, 0);
	atomic_store_relaxed(&only_here, 1);
	assert_int_equal(skua_run(rt, fork_beside_refusals, NULL), 0);
	destroy(rt);
}

static void count_call(struct skua_ctx ctx, void *arg)
{
	(void)ctx;
	++*(unsigned *)arg;
}

/* The first refusal concerns the place among the workers. */
TEST(run__no_memory_for_guards__alone_or_enomem)
{
	struct skua_runtime *rt = runtime_new(2, 0);
	unsigned count = 0;

	calls = 0;
	fail_at = 1;
	assert_int_equal(skua_run(rt, count_call, &count), 0);
	fail_at = 0;
	assert_string_equal(failed, "mprotect");
	assert_int_equal(count, 1);
	here = false;
	atomic_store_relaxed(&only_here, 1);
	assert_int_equal(skua_run(rt, count_call, &count), -ENOMEM);
	assert_int_equal(count, 1);
	atomic_store_relaxed(&only_here, 0);
	assert_int_equal(skua_run(rt, count_call, &count), 0);
	assert_int_equal(count, 2);
	destroy(rt);
}

/* ---- futexes ---------------------------------------------------------------- */

static atomic_u32 futex_waits;
static atomic_u32 hasty; /* 1: two waits of three return at once */

long __real_syscall(long number, long a, long b, long c, long d, long e,
		    long f);
long __wrap_syscall(long number, long a, long b, long c, long d, long e,
		    long f);

/* As the C library's, all arguments are passed on. */
long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f)
{
	const int op = (int)b & FUTEX_CMD_MASK;

	if (number != SYS_futex || !atomic_load_relaxed(&hasty) ||
	    (op != FUTEX_WAIT && op != FUTEX_WAIT_BITSET) ||
	    atomic_fetch_add_relaxed(&futex_waits, 1) % 3 == 0)
		return __real_syscall(number, a, b, c, d, e, f);
	errno = EINTR;
	return -1;
}

TEST(futex__waits_return_early__nothing_is_lost)
{
	struct skua_runtime *rt = runtime_new(3, 4);
	struct counter counters[20];

	atomic_store_relaxed(&hasty, 1);
	for (unsigned n = 1; n <= 300; n++) {
		for (size_t i = 0; i < COUNT_OF(counters); i++) {
			if (n == 1)
				counters[i] = (struct counter)COUNTER_INIT;
			spawn(rt, &counters[i].task);
		}
		for (size_t i = 0; i < COUNT_OF(counters); i++) {
			join(&counters[i].task);
			assert_int_equal(counters[i].polls, n);
		}
	}
	assert_int_equal(skua_runtime_drain(rt), 0);
	assert_true(atomic_load_relaxed(&futex_waits) > 0);
	atomic_store_relaxed(&hasty, 0);
	destroy(rt);
}
