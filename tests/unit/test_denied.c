/* SPDX-License-Identifier: MIT */
/* test_denied.c - where a filter or a limit denies what a runtime needs, it says so */
#include <errno.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "tests/unit/deny.h"
#include "tests/unit/support.h"

/* A child's message: the code of skua_runtime_create(), and its text. */
struct answer {
	int code;
	struct skua_error err;
};

static bool deny_affinity(void)
{
	return deny_call(SYS_sched_setaffinity);
}

static bool deny_madvise(void)
{
	return deny_call(SYS_madvise);
}

/* Less than a thread's own data take. */
static bool limit_stacks(void)
{
	const struct rlimit little = { 4096, 4096 };

	return setrlimit(RLIMIT_STACK, &little) == 0;
}

static bool limit_memory(void)
{
	const struct rlimit little = { 0, 0 };

	return setrlimit(RLIMIT_AS, &little) == 0;
}

/* Create a runtime in a child that has made it hard for itself. */
static bool create_after(bool (*make_hard)(void), struct answer *answer)
{
	int ends[2];
	ssize_t got;
	pid_t child;

	assert_int_equal(pipe(ends), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		struct skua_config config = { .size = sizeof(config),
					      .workers = 2 };
		struct skua_runtime *rt;

		if (!make_hard())
			_exit(1);
		answer->code = skua_runtime_create(&rt, &config, &answer->err);
		if (answer->code == 0)
			skua_runtime_destroy(rt);
		if (write(ends[1], answer, sizeof(*answer)) < 0)
			_exit(1);
		_exit(0);
	}
	close(ends[1]);
	got = read(ends[0], answer, sizeof(*answer));
	close(ends[0]);
	assert_int_equal(waitpid(child, NULL, 0), child);
	return got == (ssize_t)sizeof(*answer);
}

TEST(create__setaffinity_is_denied__says_so)
{
	struct answer it = { 0 };

	if (!create_after(deny_affinity, &it))
		skip_aloud("no filters of system calls");
	assert_int_equal(it.code, -EPERM);
	assert_non_null(strstr(it.err.text, "thread 1 of 2 not created"));
	assert_non_null(strstr(it.err.text, "deny sched_setaffinity()"));
}

TEST(create__madvise_is_denied__says_so)
{
	struct answer it = { 0 };

	if (!create_after(deny_madvise, &it))
		skip_aloud("no filters of system calls");
	assert_int_equal(it.code, -EPERM);
	assert_non_null(strstr(it.err.text, "madvise(MADV_WIPEONFORK)"));
}

/* glibc takes the limit at the start of the program as the size of stacks, and no
 * less than a thread needs: what it makes of that is not ours. */
TEST(create__tiny_stack_limit__works_or_says_so)
{
	struct answer it = { 0 };

	if (!create_after(limit_stacks, &it))
		skip_aloud("the limit of stacks cannot be set");
	if (it.code)
		assert_non_null(strstr(it.err.text, "stack limit"));
}

TEST(create__no_address_space__says_so)
{
	struct answer it = { 0 };

	if (!create_after(limit_memory, &it))
		skip_aloud("no memory is left to tell");
	assert_true(it.code == -ENOMEM || it.code == -EAGAIN);
	assert_true(strstr(it.err.text, "memory") != NULL);
}
