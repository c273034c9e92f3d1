/* SPDX-License-Identifier: MIT */
/* test_overflow.c - a fiber that overflows its stack is named; each case in a child */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "skua/fiber.h"
#include "tests/unit/tasks.h"

static const struct skua_task_type type = SKUA_TASK_TYPE("deep");

/* ---- what children do -------------------------------------------------------- */

static __attribute__((noinline)) unsigned recurse(volatile unsigned *depth)
{
	volatile char frame[256];

	frame[0] = (char)*depth;
	*depth += 1;
	/* It never is 0; not a tail call. */
	return *depth ? recurse(depth) + (unsigned)frame[0] : 0;
}

static void overflow(void *arg)
{
	volatile unsigned depth = 0;

	(void)arg;
	recurse(&depth);
}

static void overflow_own(struct skua_fiber *self)
{
	overflow(self);
}

static void read_nothing(void *arg)
{
	*(volatile char *)arg;
}

static struct skua_runtime *start(void)
{
	return RUNTIME(.workers = 2, .flags = SKUA_NO_ENV);
}

static void run_library_fiber(void)
{
	struct skua_runtime *rt = start();

	skua_fiber_spawn(rt, &type, overflow, NULL);
	skua_runtime_drain(rt);
}

static void run_own_fiber(void)
{
	static struct skua_fiber fiber;
	struct skua_runtime *rt = start();

	skua_fiber_init(&fiber, overflow_own, 16384);
	skua_task_set_type(&fiber.task, &type);
	skua_task_spawn(rt, &fiber.task);
	skua_runtime_drain(rt);
}

static void run_other_fault(void)
{
	skua_fiber_spawn(start(), &type, read_nothing, NULL);
	pause();
}

static void run_fault_of_thread(void)
{
	start();
	read_nothing(NULL);
}

static void exit_7(int signal)
{
	(void)signal;
	_exit(7);
}

static void run_with_older_handler(void)
{
	/* Installed before by main(): see in_child(). */
	run_library_fiber();
}

/* ---- children ---------------------------------------------------------------- */

/* Run a case in a child. Return: its status; @said receives what it wrote to stderr. */
static int in_child(void (*run)(void), void (*older)(int), char *said,
		    size_t bytes)
{
	size_t count = 0;
	int ends[2], status;
	ssize_t got;
	pid_t child;

	assert_int_equal(pipe(ends), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		dup2(ends[1], STDERR_FILENO);
		/* cmocka has handlers of its own. */
		sigaction(SIGSEGV,
			  &(struct sigaction){ .sa_handler = older ? older
								   : SIG_DFL },
			  NULL);
		if (skua_fiber_report_overflow() != 0 ||
		    skua_fiber_report_overflow() != -EALREADY)
			_exit(9);
		run();
		_exit(8);
	}
	close(ends[1]);
	while ((got = read(ends[0], said + count, bytes - 1 - count)) > 0)
		count += (size_t)got;
	said[count] = 0;
	close(ends[0]);
	assert_int_equal(waitpid(child, &status, 0), child);
	return status;
}

/* @least: bytes of the stack; it has up to a page more. */
static void names_it(void (*run)(void), unsigned long least)
{
	unsigned long bytes = 0;
	const char *size;
	char said[1000];
	int status = in_child(run, NULL, said, sizeof(said));

	if (SANITIZED)
		skip_aloud("a sanitizer has a handler of its own");
	print_message("%s", said);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGSEGV);
	assert_non_null(strstr(said, "stack overflow in a fiber of type deep"));
	size = strstr(said, "its stack has ");
	assert_non_null(size);
	assert_int_equal(sscanf(size, "its stack has %lu bytes", &bytes), 1);
	assert_true(bytes >= least && bytes <= least + 4096);
	assert_non_null(strstr(said, "fiber_stack"));
}

TEST(overflow__fiber_of_the_library__named)
{
	names_it(run_library_fiber, 65536);
}

TEST(overflow__fiber_of_the_program__named)
{
	names_it(run_own_fiber, SKUA_MIN_STACK);
}

TEST(overflow__older_handler__has_the_signal_afterwards)
{
	char said[1000];
	int status =
		in_child(run_with_older_handler, exit_7, said, sizeof(said));

	if (SANITIZED)
		skip_aloud("a sanitizer has a handler of its own");
	assert_non_null(strstr(said, "stack overflow in a fiber of type deep"));
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 7);
}

static void run_sent(void)
{
	raise(SIGSEGV);
}

TEST(overflow__signal_that_was_sent__ends_the_process)
{
	char said[1000];
	int status;

	if (SANITIZED)
		skip_aloud("a sanitizer has a handler of its own");
	status = in_child(run_sent, NULL, said, sizeof(said));
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGSEGV);
	/* One that was ignored is ignored: the child goes on. */
	status = in_child(run_sent, SIG_IGN, said, sizeof(said));
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 8);
}

TEST(overflow__other_faults__are_not_called_that)
{
	static void (*const runs[])(void) = { run_other_fault,
					      run_fault_of_thread };
	char said[1000];

	if (SANITIZED)
		skip_aloud("a sanitizer has a handler of its own");
	for (unsigned i = 0; i < COUNT_OF(runs); i++) {
		int status = in_child(runs[i], NULL, said, sizeof(said));

		assert_true(WIFSIGNALED(status));
		assert_int_equal(WTERMSIG(status), SIGSEGV);
		assert_null(strstr(said, "overflow"));
	}
}
