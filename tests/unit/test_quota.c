/* SPDX-License-Identifier: MIT */
/* test_quota.c - the CPU time of a control group and of those above it */
#include <pthread.h>

#include "tests/unit/support.h"

#include <inttypes.h>
#include <sys/mman.h>

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
