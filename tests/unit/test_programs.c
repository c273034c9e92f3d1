/* SPDX-License-Identifier: MIT */
/* test_programs.c - BPF programs find a process, also from within a container */
#include <sched.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bpf/programs/programs.h"
#include "tests/unit/support.h"

/* Of the first namespace, for ever: PROC_PID_INIT_INO. */
#define FIRST_NAMESPACE 0xeffffffcu

/* The kernel's number of @pid, or -errno. */
static int64_t find(pid_t pid)
{
	uint32_t tgid = 0;
	int err;

	programs_begin();
	err = programs_find(pid, &tgid);
	return err ? err : (int64_t)tgid;
}

/* For a test that cannot be made here. */
static void need_programs(void)
{
	int64_t found = find(getpid());

	if (found == -EPERM || found == -EACCES) {
		skip_aloud(programs_reason((int)found));
	}
	if (programs_namespace() != FIRST_NAMESPACE) {
		skip_aloud("in a namespace of processes");
	}
}

TEST(find__outside_of_containers__is_its_number)
{
	need_programs();
	assert_int_equal(find(getpid()), getpid());
	assert_int_equal(find(getppid()), getppid());
}

TEST(find__in_a_container__is_the_number_outside)
{
	int64_t found = 0;
	int ends[2], status;
	pid_t child;

	need_programs();
	assert_int_equal(pipe(ends), 0);
	/* A child that makes the namespace: it is for children. */
	child = fork();
	if (child == 0) {
		pid_t inside = unshare(CLONE_NEWPID) == 0 ? fork() : -1;

		if (inside == 0) {
			found = getpid() == 1 ? find(1) : 0;
			_exit(write(ends[1], &found, sizeof(found)) !=
			      sizeof(found));
		}
		found = inside;
		_exit(inside < 0 || waitpid(inside, &status, 0) != inside ||
		      status != 0 ||
		      write(ends[1], &found, sizeof(found)) != sizeof(found));
	}
	assert_true(child > 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	{
		int64_t inside = 0;

		assert_int_equal(read(ends[0], &inside, sizeof(inside)),
				 sizeof(inside));
		assert_int_equal(read(ends[0], &found, sizeof(found)),
				 sizeof(found));
		assert_int_equal(inside, found);
	}
	close(ends[0]);
	close(ends[1]);
}

TEST(find__nobody__says_so)
{
	need_programs();
	/* Above any: PID_MAX_LIMIT. */
	assert_int_equal(find(1 << 22), -ESRCH);
}
