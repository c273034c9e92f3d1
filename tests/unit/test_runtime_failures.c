/* SPDX-License-Identifier: MIT */
/* test_runtime_failures.c - memory or threads that cannot be had */
#define SUPPORT_FAIL_ALLOCATIONS
#include "topology/machine_cache.h"
#include "tests/unit/process.h"

#include <dlfcn.h>
#include <pthread.h>

#include "topology/cpu_list.h"

/* ---- threads that cannot be created ------------------------------------- */

#if SANITIZED
#define CAN_FAIL_THREADS 0
#else
#define CAN_FAIL_THREADS 1
/* How many more pthread_create() succeed; below zero: all do. */
static int threads_until_failure = -1;
/* As the kernel does if none of the CPUs may be used any more. */
static bool refuse_placed;

/* Are the thread's CPUs given? Else glibc says all. */
static bool is_placed(const pthread_attr_t *attr)
{
	cpu_set_t set;

	return attr &&
	       pthread_attr_getaffinity_np(attr, sizeof(set), &set) == 0 &&
	       CPU_COUNT(&set) < CPU_SETSIZE;
}

/* Takes the place of the C library's, and forwards to it. */
int pthread_create(pthread_t *thread, const pthread_attr_t *attr,
		   void *(*start)(void *), void *arg)
{
	static int (*next)(pthread_t *, const pthread_attr_t *,
			   void *(*)(void *), void *);

	if (!next) {
		void *symbol = dlsym(RTLD_NEXT, "pthread_create");

		memcpy(&next, &symbol, sizeof(next));
	}
	if (threads_until_failure == 0)
		return EAGAIN;
	if (refuse_placed && is_placed(attr))
		return EINVAL;
	if (threads_until_failure > 0)
		threads_until_failure--;
	return next(thread, attr, start, arg);
}
#endif

/* ---- failures ------------------------------------------------------------ */

static void expect_mask(const sigset_t *expected)
{
	sigset_t mask;

	assert_int_equal(pthread_sigmask(SIG_SETMASK, NULL, &mask), 0);
	for (int signal = 1; signal <= 64; signal++)
		assert_int_equal(sigismember(&mask, signal),
				 sigismember(expected, signal));
}

ALL_TESTS(process_settle, NULL);

/* Also when it fails, with the threads or before them. */
TEST(runtime_create__any__caller_keeps_affinity_and_mask)
{
	struct skua_config cfg = { .size = sizeof(cfg), .workers = 3 };
	struct skua_runtime *rt;
	sigset_t before;
	sigset_t mask;
	struct cpu_list cpus;
	struct cpu_list cpus_after;

	sigemptyset(&mask);
	sigaddset(&mask, SIGUSR2);
	sigaddset(&mask, SIGRTMIN + 3);
	assert_int_equal(pthread_sigmask(SIG_SETMASK, &mask, &before), 0);
	assert_int_equal(cpu_list_allowed(&cpus), 0);

	assert_int_equal(skua_runtime_create(&rt, &cfg, NULL), 0);
	expect_mask(&mask);
	assert_int_equal(skua_runtime_destroy(rt), 0);
	expect_mask(&mask);
	cfg.workers = SKUA_MAX_WORKERS + 1;
	assert_int_equal(skua_runtime_create(&rt, &cfg, NULL), -EINVAL);
	expect_mask(&mask);
#if CAN_FAIL_THREADS
	cfg.workers = 3;
	threads_until_failure = 2;
	assert_int_equal(skua_runtime_create(&rt, &cfg, NULL), -EAGAIN);
	threads_until_failure = -1;
	expect_mask(&mask);
#endif

	assert_int_equal(cpu_list_allowed(&cpus_after), 0);
	assert_int_equal(cpus.count, cpus_after.count);
	assert_memory_equal(cpus.cpus, cpus_after.cpus,
			    cpus.count * sizeof(*cpus.cpus));
	cpu_list_free(&cpus);
	cpu_list_free(&cpus_after);
	assert_int_equal(pthread_sigmask(SIG_SETMASK, &before, NULL), 0);
}

TEST(runtime_create__nth_thread_fails__eagain_nothing_left)
{
#if CAN_FAIL_THREADS
	const struct skua_config cfg = { .size = sizeof(cfg), .workers = 5 };
	const struct belongings before = belongings();

	for (int created = 0; created < 5; created++) {
		struct skua_runtime *rt = (struct skua_runtime *)&cfg;
		struct skua_error err = { 0, "" };
		char expected[64];
		int code;

		threads_until_failure = created;
		code = skua_runtime_create(&rt, &cfg, &err);
		threads_until_failure = -1;
		assert_int_equal(code, -EAGAIN);
		assert_int_equal(err.code, -EAGAIN);
		snprintf(expected, sizeof(expected), "workers: thread %d of 5",
			 created + 1);
		assert_non_null(strstr(err.text, expected));
		assert_null(rt);
		expect_belongings(before);

		threads_until_failure = created;
		code = skua_runtime_create(&rt, &cfg, NULL);
		threads_until_failure = -1;
		assert_int_equal(code, -EAGAIN);
		expect_belongings(before);
	}
#else
	skip_aloud("threads cannot be made to fail under a sanitizer");
#endif
}

#if CAN_FAIL_THREADS
struct affinity_check {
	struct skua_task task;
	cpu_set_t found;
	const cpu_set_t *awaited; /* NULL: any will do */
};

static enum skua_poll check_affinity(struct skua_task *task)
{
	struct affinity_check *it =
		SKUA_CONTAINER_OF(task, struct affinity_check, task);

	sched_getaffinity(0, sizeof(it->found), &it->found);
	return !it->awaited || CPU_EQUAL(&it->found, it->awaited) ? SKUA_DONE
								  : SKUA_YIELD;
}

/* The affinity of a worker, at the end if one is awaited. */
static cpu_set_t affinity_of_worker(const cpu_set_t *awaited)
{
	struct affinity_check it = { .awaited = awaited };
	struct skua_runtime *rt = runtime_new(1, 0);

	skua_task_init(&it.task, check_affinity);
	assert_int_equal(skua_runtime_block_on(rt, &it.task), 0);
	assert_int_equal(skua_runtime_destroy(rt), 0);
	return it.found;
}
#endif

/* It looks at its affinity within a second; the time limit of the program is that of
 * a worker which never does. */
TEST(runtime_create__cpu_went_away__worker_starts_and_moves)
{
#if CAN_FAIL_THREADS
	cpu_set_t home = affinity_of_worker(NULL);

	refuse_placed = true;
	affinity_of_worker(&home);
	refuse_placed = false;
#else
	skip_aloud("threads cannot be made to fail under a sanitizer");
#endif
}

TEST(runtime_create__nth_allocation_fails__nothing_left)
{
	const struct belongings before = belongings();
	const struct skua_config cfg = { .size = sizeof(cfg), .workers = 3 };
	unsigned enomem = 0;
	unsigned nth = 0;
	long left;

	if (!CAN_FAIL_ALLOCATIONS) {
		skip_aloud(NO_FAILURES);
		return;
	}
	/* The C library keeps the stacks of ended threads for the next ones:
	 * let it have them before anything is counted. */
	end(runtime_new(3, 0), before);
	for (;;) {
		struct skua_runtime *rt = (struct skua_runtime *)&cfg;
		struct skua_error err = { 0, "" };
		int code;

		machine_here_forget(); /* or it is not read */
		allocations_begin(++nth);
		code = skua_runtime_create(&rt, &cfg, &err);
		if (code == 0)
			skua_runtime_destroy(rt);
		machine_here_forget(); /* the process keeps it otherwise */
		left = allocations_end();
		assert_int_equal(left, 0);
		if (!allocations_failed()) {
			assert_int_equal(code, 0);
			break;
		}
		assert_true(code == -ENOMEM || code == -EAGAIN);
		assert_int_equal(err.code, code);
		assert_true(strlen(err.text) > 0);
		assert_null(rt);
		expect_belongings(before);
		enomem += code == -ENOMEM;
	}
	/* At least: itself, its CPUs, three arrays and three queues. */
	assert_true(enomem >= 8);
	expect_belongings(before);
}
