/* SPDX-License-Identifier: MIT */
/* test_quota.c - the CPU time of a control group and of those above it */
#include <pthread.h>

#include "tests/unit/support.h"

#include <fcntl.h>
#include <inttypes.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "topology/quota.h"

#define GROUP "proc/self/cgroup\t"
#define MOUNT "proc/self/mountinfo\t"
#define V2    "sys/fs/cgroup/"
#define V1    "sys/fs/cgroup/cpu/"

#define MOUNT_V2 \
	MOUNT "30 23 0:26 / /sys/fs/cgroup rw shared:4 - cgroup2 cgroup2 rw\n"
#define MOUNT_V1                                                          \
	MOUNT                                                             \
	"32 31 0:29 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset" \
	"\\n33 31 0:30 / /sys/fs/cgroup/cpu rw - cgroup cgroup "          \
	"rw,cpu,cpuacct\n"

struct quota_case {
	const char *text; /* a snapshot */
	struct quota quota;
	unsigned cpus;
};

static void check(const struct quota_case *of)
{
	struct quota quota;
	char name[64];
	int file = memfd_create("quota", MFD_CLOEXEC);
	size_t length = strlen(of->text);

	assert_int_equal(write(file, of->text, length), length);
	snprintf(name, sizeof(name), "/proc/self/fd/%d", file);
	assert_int_equal(quota_read(&quota, name, NULL), 0);
	if (quota.runtime_us != of->quota.runtime_us ||
	    quota.period_us != of->quota.period_us ||
	    quota_cpus(&quota) != of->cpus)
		fail_msg("%" PRIu64 " of %" PRIu64 " us, %u CPUs, for\n%s",
			 quota.runtime_us, quota.period_us, quota_cpus(&quota),
			 of->text);
	close(file);
}

static void check_all(const struct quota_case *cases, size_t count)
{
	for (size_t i = 0; i < count; i++)
		check(&cases[i]);
}

TEST(quota_read__version_2__lowest_of_all_above)
{
	static const struct quota_case cases[] = {
		{ GROUP "0::/\n" MOUNT_V2, { 0, 0 }, 0 },
		{ GROUP "0::/a\n" MOUNT_V2 V2 "a/cpu.max\tmax 100000\n",
		  { 0, 0 },
		  0 },
		{ GROUP "0::/a\n" MOUNT_V2 V2 "a/cpu.max\t150000 100000\n",
		  { 150000, 100000 },
		  2 },
		{ GROUP "0::/a/b/c\n" MOUNT_V2 V2
			"a/b/c/cpu.max\t400000 100000\n" V2
			"a/cpu.max\t250000 100000\n",
		  { 250000, 100000 },
		  3 },
		/* By what they come to, not by their numbers. */
		{ GROUP "0::/a/b\n" MOUNT_V2 V2 "a/b/cpu.max\t30000 10000\n" V2
			"a/cpu.max\t100000 100000\n",
		  { 100000, 100000 },
		  1 },
		{ GROUP "0::/a\n" MOUNT_V2 V2 "a/cpu.max\t1000 1000000\n",
		  { 1000, 1000000 },
		  1 },
		/* Of a group beside it. */
		{ GROUP "0::/a\n" MOUNT_V2 V2 "ab/cpu.max\t100000 100000\n",
		  { 0, 0 },
		  0 },
	};

	check_all(cases, COUNT_OF(cases));
}

TEST(quota_read__version_1__lowest_of_all_above)
{
	static const struct quota_case cases[] = {
		{ GROUP "4:cpu,cpuacct:/a\\n0::/b\n" MOUNT_V1 V1
			"a/cpu.cfs_quota_us\t-1\n" V1
			"a/cpu.cfs_period_us\t100000\n",
		  { 0, 0 },
		  0 },
		{ GROUP "0::/b\\n4:cpu,cpuacct:/a/x\n" MOUNT_V1 V1
			"a/x/cpu.cfs_quota_us\t800000\n" V1
			"a/x/cpu.cfs_period_us\t100000\n" V1
			"a/cpu.cfs_quota_us\t50000\n" V1
			"a/cpu.cfs_period_us\t100000\n",
		  { 50000, 100000 },
		  1 },
		/* cpuset has no quota, though its name begins alike. */
		{ GROUP "3:cpuset:/a\n" MOUNT_V1 V1
			"a/cpu.cfs_quota_us\t50000\n" V1
			"a/cpu.cfs_period_us\t100000\n",
		  { 0, 0 },
		  0 },
	};

	check_all(cases, COUNT_OF(cases));
}

/* In a container the mount may be of a group in the middle, and the path is that
 * of the host, or leads out of what can be seen. */
TEST(quota_read__container__by_what_is_mounted)
{
#define IN_POD \
	MOUNT "9 8 0:26 /pod/c\\\\0401 /sys/fs/cgroup rw - cgroup2 cgroup rw\n"
	static const struct quota_case cases[] = {
		{ GROUP "0::/pod/c 1\n" IN_POD V2 "cpu.max\t200000 100000\n",
		  { 200000, 100000 },
		  2 },
		{ GROUP "0::/pod/c 1/in\n" IN_POD V2
			"in/cpu.max\t100000 100000\n" V2
			"cpu.max\t200000 100000\n",
		  { 100000, 100000 },
		  1 },
		{ GROUP "0::/pod/c 12\n" IN_POD V2 "cpu.max\t200000 100000\n",
		  { 200000, 100000 },
		  2 },
		{ GROUP "0::/../x\n" MOUNT_V2 V2 "cpu.max\t200000 100000\n",
		  { 200000, 100000 },
		  2 },
	};

	check_all(cases, COUNT_OF(cases));
#undef IN_POD
}

TEST(quota_read__nonsense__no_limit)
{
	static const struct quota_case cases[] = {
		{ "", { 0, 0 }, 0 },
		{ GROUP "\n" MOUNT "\n", { 0, 0 }, 0 },
		{ GROUP "0\\n0:\\n:\\n::\\n\n" MOUNT " - \\n - cgroup2 a b\n",
		  { 0, 0 },
		  0 },
		{ GROUP "0::/a\n" MOUNT_V2 V2 "a/cpu.max\t100000\n",
		  { 0, 0 },
		  0 },
		{ GROUP "0::/a\n" MOUNT_V2 V2 "a/cpu.max\t100000 0\n",
		  { 0, 0 },
		  0 },
		{ GROUP "0::/a\n" MOUNT_V2 V2 "a/cpu.max\t0 100000\n",
		  { 0, 0 },
		  0 },
		{ GROUP "0::/a\n" MOUNT "1 2 3 /\n", { 0, 0 }, 0 },
	};

	check_all(cases, COUNT_OF(cases));
}

TEST(quota_read__no_such_root__its_error)
{
	struct skua_error err = { 0, "" };
	struct quota quota;

	assert_int_equal(quota_read(&quota, "/nowhere", &err), -ENOENT);
	assert_string_equal(err.text, "/nowhere: No such file or directory");
	assert_int_equal(quota_read(&quota, "/", NULL), 0);
}

/* The process keeps the place of its groups (quota.c); all reads agree nevertheless. */
static void *read_here(void *arg)
{
	const struct quota *expected = arg;

	for (int i = 0; i < 200; i++) {
		struct quota quota;

		if (quota_read(&quota, "/", NULL) != 0 ||
		    quota.runtime_us != expected->runtime_us ||
		    quota.period_us != expected->period_us)
			return arg;
	}
	return NULL;
}

TEST(quota_read__here_again_and_beside__the_same)
{
	struct quota expected;
	pthread_t threads[3];

	assert_int_equal(quota_read(&expected, "/", NULL), 0);
	for (size_t i = 0; i < COUNT_OF(threads); i++)
		assert_int_equal(
			pthread_create(&threads[i], NULL, read_here, &expected),
			0);
	for (size_t i = 0; i < COUNT_OF(threads); i++) {
		void *wrong;

		assert_int_equal(pthread_join(threads[i], &wrong), 0);
		assert_null(wrong);
	}
}

/* ---- another namespace of control groups ------------------------------------- */

/* A limit that no other group has. */
#define LIMIT_US 51234

/* A group at the top with that limit; a group beside it, and in that one a group with the
 * name of the first and no limit. */
struct live_groups {
	char limited[64], outer[64], inner[128];
};

static bool write_in(const char *group, const char *name, const char *text)
{
	char path[256];
	ssize_t length = (ssize_t)strlen(text);
	int file;
	bool done;

	snprintf(path, sizeof(path), "%s/%s", group, name);
	file = open(path, O_WRONLY | O_CLOEXEC);
	done = file >= 0 && write(file, text, (size_t)length) == length;
	if (file >= 0)
		close(file);
	return done;
}

/* Make the groups where a hierarchy is usually mounted. */
static bool groups_make(struct live_groups *groups)
{
	const char *top = "/sys/fs/cgroup/cpu";
	char text[32];

	if (access(top, F_OK) != 0)
		top = "/sys/fs/cgroup";
	snprintf(groups->limited, sizeof(groups->limited), "%s/skua-%d", top,
		 (int)getpid());
	snprintf(groups->outer, sizeof(groups->outer), "%s/skua-%d-ns", top,
		 (int)getpid());
	snprintf(groups->inner, sizeof(groups->inner), "%s/skua-%d",
		 groups->outer, (int)getpid());
	snprintf(text, sizeof(text), "%d", LIMIT_US);
	return mkdir(groups->limited, 0755) == 0 &&
	       mkdir(groups->outer, 0755) == 0 &&
	       mkdir(groups->inner, 0755) == 0 &&
	       (write_in(groups->limited, "cpu.cfs_quota_us", text) ||
		write_in(groups->limited, "cpu.max", text));
}

static void groups_remove(const struct live_groups *groups)
{
	rmdir(groups->inner);
	rmdir(groups->outer);
	rmdir(groups->limited);
}

/* In a child: read the quota; enter a namespace, whose top is the outer group; enter the
 * inner group, which has the name of the limited one there. Return: 0; 77: not allowed. */
static int read_in_namespace(const struct live_groups *groups)
{
	struct quota before, after;

	if (!write_in(groups->outer, "cgroup.procs", "0"))
		return 77;
	if (quota_read(&before, "/", NULL) != 0)
		return 1;
	if (unshare(CLONE_NEWCGROUP) != 0 ||
	    !write_in(groups->inner, "cgroup.procs", "0"))
		return 77;
	if (quota_read(&after, "/", NULL) != 0)
		return 1;
	return after.runtime_us == LIMIT_US ? 2 : 0;
}

TEST(quota_read__another_namespace_of_groups__not_by_the_names_of_the_first)
{
	struct live_groups groups;
	int status = 0;
	pid_t child;

	if (!groups_make(&groups)) {
		groups_remove(&groups);
		skip_aloud("no control groups may be made here");
		return;
	}
	child = fork();
	if (child == 0)
		_exit(read_in_namespace(&groups));
	waitpid(child, &status, 0);
	groups_remove(&groups);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 77) {
		skip_aloud("no control group may be entered here");
		return;
	}
	assert_int_equal(WEXITSTATUS(status), 0);
}
