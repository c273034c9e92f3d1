/* SPDX-License-Identifier: MIT */
/**
 * support.h - what several unit tests need
 *
 * Nothing here waits by the clock. A wait is a loop around a condition that
 * the code under test has to bring about; if it does not, the test hangs, and
 * the time limit of the test runner ends it.
 *
 * A test that defines SUPPORT_FAIL_ALLOCATIONS before it includes this can
 * make the n-th allocation of the calling thread fail; see the end.
 */
#ifndef SKUA_TESTS_UNIT_SUPPORT_H
#define SKUA_TESTS_UNIT_SUPPORT_H

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/atomic.h"
#include "skua/skua.h"
#include "tests/sanitized.h"
#include "tests/unit/unit.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

/* skip_aloud - end the running test as skipped, and say why */
#define skip_aloud(reason)                                                \
	do {                                                              \
		fprintf(stderr, "skipped: %s: %s\n", __func__, (reason)); \
		skip();                                                   \
	} while (0)

#define NO_ASSERTS "the asserts are compiled out (NDEBUG)"

/* exit_of - what @act returns, in a child process */
static inline int exit_of(int (*act)(void))
{
	int status = 0;
	pid_t child;

	fflush(NULL);
	child = fork();
	assert_true(child >= 0);
	if (child == 0)
		_exit(act());
	assert_int_equal(waitpid(child, &status, 0), child);
	if (!WIFEXITED(status))
		fail_msg("the child ended by signal %d", WTERMSIG(status));
	return WEXITSTATUS(status);
}

/* without_core - fork; the child leaves no core dump. Return: as fork() */
static inline pid_t without_core(void)
{
	const struct rlimit no_core = { 0, 0 };
	pid_t child;

	fflush(NULL);
	child = fork();
	assert_true(child >= 0);
	if (child == 0)
		setrlimit(RLIMIT_CORE, &no_core);
	return child;
}

/* status_of - of a child process that has ended */
static inline int status_of(pid_t child)
{
	int status = 0;

	assert_int_equal(waitpid(child, &status, 0), child);
	return status;
}

/* aborts_saying - does @act end the process by SIGABRT, as a failed assert does,
 * with that text on stderr? */
static inline bool aborts_saying(void (*act)(void), const char *text)
{
	char said[1000] = "";
	size_t length = 0;
	int ends[2], status;
	ssize_t got;
	pid_t child;

	assert_int_equal(pipe(ends), 0);
	child = without_core();
	if (child == 0) {
		dup2(ends[1], STDERR_FILENO);
		close(ends[0]);
		close(ends[1]);
		signal(SIGABRT, SIG_DFL); /* not the test runner's */
		act();
		_exit(0);
	}
	close(ends[1]);
	while (length < sizeof(said) - 1 &&
	       (got = read(ends[0], said + length, sizeof(said) - 1 - length)) >
		       0)
		length += (size_t)got;
	close(ends[0]);
	status = status_of(child);
	return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT &&
	       strstr(said, text) != NULL;
}

/* aborts - the same, whatever it says */
static inline bool aborts(void (*act)(void))
{
	return aborts_saying(act, "");
}

/* ---- gates -------------------------------------------------------------- */

/* Closed while zero. Opened once, by anyone; anyone waits. */
struct gate {
	atomic_u32 open;
};

static inline void gate_open(struct gate *gate)
{
	/* Release: what the opener did. Pairs with gate_wait(). */
	atomic_store_release(&gate->open, 1);
}

static inline bool gate_is_open(struct gate *gate)
{
	/* Acquire: pairs with gate_open(). */
	return atomic_load_acquire(&gate->open) != 0;
}

static inline void gate_wait(struct gate *gate)
{
	while (!gate_is_open(gate))
		sched_yield();
}

/* A task that says when it runs, and then holds its worker until told. */
struct holder {
	struct skua_task task; /* first: a task is its holder */
	struct gate running;
	struct gate go_on;
};

static inline enum skua_poll holder_poll(struct skua_task *self)
{
	struct holder *holder = (struct holder *)self;

	gate_open(&holder->running);
	gate_wait(&holder->go_on);
	return SKUA_DONE;
}

#define HOLDER_INIT                                 \
	{                                           \
		.task = SKUA_TASK_INIT(holder_poll) \
	}

/* holder_hold - occupy a worker of @rt; returns when it is occupied */
static inline void holder_hold(struct skua_runtime *rt, struct holder *holder)
{
	assert_int_equal(skua_task_spawn(rt, &holder->task), 0);
	gate_wait(&holder->running);
}

/* holder_end - let the worker go on, and wait for the task */
static inline void holder_end(struct holder *holder)
{
	gate_open(&holder->go_on);
	assert_int_equal(skua_task_join(&holder->task), 0);
}

/* runtime_of_task - the runtime that a task was spawned on last */
static inline struct skua_runtime *runtime_of_task(const struct skua_task *task)
{
	/* The pool is its first member. */
	return (struct skua_runtime *)task->pool;
}

/* RUNTIME(.workers = 2) - a runtime with those fields of its configuration */
#define RUNTIME(...)                         \
	runtime_create((struct skua_config){ \
		.size = sizeof(struct skua_config), __VA_ARGS__ })

static inline struct skua_runtime *runtime_create(struct skua_config config)
{
	struct skua_runtime *rt = NULL;
	struct skua_error err = { 0, "" };
	int code = skua_runtime_create(&rt, &config, &err);

	if (code)
		fail_msg("skua_runtime_create: %d: %s", code, err.text);
	assert_non_null(rt);
	return rt;
}

/* runtime_new - @workers of them, queues of @capacity; zeros are defaults */
static inline struct skua_runtime *runtime_new(unsigned workers,
					       uint32_t capacity)
{
	return RUNTIME(.workers = workers, .queue_capacity = capacity);
}

/* ---- allocations that fail ---------------------------------------------- */

#define NO_FAILURES "allocations cannot be made to fail under a sanitizer"

#if defined(SUPPORT_FAIL_ALLOCATIONS) && defined(__GLIBC__) && !SANITIZED
#define CAN_FAIL_ALLOCATIONS 1

/*
 * These definitions take the place of the C library's, also for its own calls,
 * and forward to it by the names that it keeps for that. Only the
 * calling thread's allocations are counted, between allocations_begin() and _end().
 */
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *memory, size_t size);
extern void *__libc_memalign(size_t align, size_t size);
extern void __libc_free(void *memory);

static _Thread_local bool allocations_counted;
static _Thread_local unsigned allocations_until_failure;
static _Thread_local long allocations_live;

/* allocations_begin - let the @nth allocation from here fail; 0: none */
static inline void allocations_begin(unsigned nth)
{
	allocations_live = 0;
	allocations_until_failure = nth;
	allocations_counted = true;
}

/* allocations_end - all succeed again; returns how many were not freed */
static inline long allocations_end(void)
{
	allocations_counted = false;
	return allocations_live;
}

/* allocations_failed - was the n-th reached? */
static inline bool allocations_failed(void)
{
	return allocations_until_failure == 0;
}

static inline bool allocation_fails(void)
{
	if (!allocations_counted || allocations_until_failure == 0 ||
	    --allocations_until_failure > 0)
		return false;
	errno = ENOMEM; /* the C library passes it on */
	return true;
}

static inline void *allocation_note(void *memory)
{
	if (allocations_counted && memory)
		allocations_live++;
	return memory;
}

void *malloc(size_t size)
{
	return allocation_fails() ? NULL : allocation_note(__libc_malloc(size));
}

void *calloc(size_t count, size_t size)
{
	return allocation_fails() ? NULL
				  : allocation_note(__libc_calloc(count, size));
}

void *realloc(void *memory, size_t size)
{
	if (allocation_fails())
		return NULL;
	return memory ? __libc_realloc(memory, size)
		      : allocation_note(__libc_malloc(size));
}

void *aligned_alloc(size_t align, size_t size)
{
	return allocation_fails()
		       ? NULL
		       : allocation_note(__libc_memalign(align, size));
}

void free(void *memory)
{
	if (allocations_counted && memory)
		allocations_live--;
	__libc_free(memory);
}

#else
#define CAN_FAIL_ALLOCATIONS 0

static inline void allocations_begin(unsigned nth)
{
	(void)nth;
}

static inline long allocations_end(void)
{
	return 0;
}

static inline bool allocations_failed(void)
{
	return false;
}
#endif

/* EXPECT_ENOMEM - of CALL, whose first allocation fails; errno stays as it is */
#define EXPECT_ENOMEM(CALL)                             \
	do {                                            \
		int code;                               \
                                                        \
		errno = 0;                              \
		allocations_begin(1);                   \
		code = (CALL);                          \
		assert_int_equal(allocations_end(), 0); \
		assert_int_equal(errno, 0);             \
		assert_int_equal(code, -ENOMEM);        \
	} while (0)

#endif
