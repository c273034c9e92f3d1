/* SPDX-License-Identifier: MIT */
/*
 * test_doctor.c - what is said of machines that lack something
 *
 * A machine is a folder with a few files, or this one, where the calls that try
 * something are refused: the program is linked with --wrap for them.
 */
#include <fcntl.h>
#include <ftw.h>
#include <linux/bpf.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "bpf/doctor/doctor.h"
#include "tests/unit/support.h"

/* ---- what is tried ---------------------------------------------------------- */

static struct {
	int perf, load, link, memory, uring; /* errors; 0: as it is */
} refusal;

long __real_syscall(long number, long a, long b, long c, long d, long e,
		    long f);
long __wrap_syscall(long number, long a, long b, long c, long d, long e,
		    long f);
long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f)
{
	int err = 0;

	if (number == SYS_perf_event_open)
		err = refusal.perf;
	else if (number == SYS_io_uring_setup)
		err = refusal.uring;
	else if (number == SYS_bpf)
		err = a == BPF_PROG_LOAD ? refusal.load : refusal.link;
	if (err == 0)
		return __real_syscall(number, a, b, c, d, e, f);
	errno = err;
	return -1;
}

ssize_t __real_process_vm_readv(pid_t pid, const struct iovec *to,
				unsigned long n, const struct iovec *from,
				unsigned long m, unsigned long flags);
ssize_t __wrap_process_vm_readv(pid_t pid, const struct iovec *to,
				unsigned long n, const struct iovec *from,
				unsigned long m, unsigned long flags);
ssize_t __wrap_process_vm_readv(pid_t pid, const struct iovec *to,
				unsigned long n, const struct iovec *from,
				unsigned long m, unsigned long flags)
{
	if (refusal.memory == 0)
		return __real_process_vm_readv(pid, to, n, from, m, flags);
	errno = refusal.memory;
	return -1;
}

/* ---- made machines ---------------------------------------------------------- */

static char root[64];

/* A file of the machine, and the folders that it is in. */
static void put(const char *path, const char *text)
{
	char place[256];
	FILE *file;

	snprintf(place, sizeof(place), "%s%s", root, path);
	for (char *slash = strchr(place + strlen(root) + 1, '/'); slash != NULL;
	     slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(place, 0700);
		*slash = '/';
	}
	file = fopen(place, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static int remove_one(const char *path, const struct stat *info, int type,
		      struct FTW *walk)
{
	(void)info;
	(void)type;
	(void)walk;
	return remove(path);
}

static int make_root(void **state)
{
	(void)state;
	memset(&refusal, 0, sizeof(refusal));
	strcpy(root, "/tmp/test_doctor.XXXXXX");
	return mkdtemp(root) != NULL ? 0 : 1;
}

static int remove_root(void **state)
{
	(void)state;
	return nftw(root, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

EACH_TEST(make_root, remove_root);

static struct doctor_report reports[DOCTOR_CHECKS];

static const struct doctor_report *report_of(const char *name)
{
	for (unsigned i = 0; i < DOCTOR_CHECKS; i++)
		if (strcmp(reports[i].name, name) == 0)
			return &reports[i];
	fail_msg("no check '%s'", name);
	return NULL;
}

/* That one of the last examination said so. */
static void expect(const char *name, enum doctor_state state, const char *found,
		   const char *why)
{
	const struct doctor_report *r = report_of(name);

	if (r->state != state || strstr(r->found, found) == NULL ||
	    strstr(r->why, why) == NULL)
		fail_msg("%s: %u, '%s', '%s'", name, r->state, r->found,
			 r->why);
	assert_int_equal(r->why[0] == '\0', state == DOCTOR_OK);
	assert_int_equal(r->advice[0] == '\0', state == DOCTOR_OK);
}

static void examine(void)
{
	const struct doctor doctor = { .root = root };

	doctor_examine(&doctor, reports);
}

static void examine_here(pid_t pid)
{
	const struct doctor doctor = { .pid = pid };

	doctor_examine(&doctor, reports);
}

#define NO_CAPABILITIES  "Name:\tx\nCapEff:\t0000000000000000\nSeccomp:\t0\n"
#define ALL_CAPABILITIES "Name:\tx\nCapEff:\t000001ffffffffff\n"

/* A machine that has it all. */
static void put_rich(void)
{
	put("/proc/sys/kernel/osrelease", "6.8.0-41-generic\n");
	put("/proc/sys/kernel/perf_event_paranoid", "-1\n");
	put("/proc/sys/kernel/unprivileged_bpf_disabled", "2\n");
	put("/proc/sys/kernel/yama/ptrace_scope", "0\n");
	put("/proc/self/status", ALL_CAPABILITIES);
	put("/proc/self/schedstat", "1 2 3\n");
	put("/proc/self/environ", "HOME=/");
	put("/proc/self/cgroup", "0::/a/b\n");
	put("/proc/self/limits",
	    "Limit                     Soft Limit           Hard Limit\n"
	    "Max locked memory         unlimited            unlimited    bytes\n"
	    "Max open files            4096                 4096         files\n"
	    "Max realtime priority     99                   99\n");
	put("/proc/sys/kernel/io_uring_disabled", "0\n");
	put("/proc/sys/fs/epoll/max_user_watches", "1000000\n");
	put("/proc/sys/vm/max_map_count", "65530\n");
	put("/proc/self/mounts", "sysfs /sys sysfs rw 0 0\n"
				 "tracefs /sys/kernel/tracing tracefs rw 0 0\n"
				 "bpf /sys/fs/bpf bpf rw 0 0\n");
	put("/proc/cpuinfo",
	    "processor\t: 0\nflags\t\t: fpu constant_tsc nonstop_tsc avx\n");
	put("/proc/stat", "cpu  100 0 100 500 0 0 0 0 0 0\ncpu0 1 2 3\n");
	put("/sys/bus/event_source/devices/cpu/type", "4\n");
	put("/sys/bus/event_source/devices/uprobe/type", "9\n");
	put("/sys/bus/event_source/devices/uprobe/format/ref_ctr_offset",
	    "config:32-63\n");
	put("/sys/kernel/btf/vmlinux", "\x9f\xeb\x01");
	put("/sys/devices/system/node/online", "0-3\n");
	put("/sys/devices/system/clocksource/clocksource0/current_clocksource",
	    "tsc\n");
	put("/sys/kernel/mm/transparent_hugepage/enabled",
	    "always [madvise] never\n");
	put("/sys/devices/system/cpu/isolated", "4-7\n");
	put("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor",
	    "performance\n");
	put("/sys/devices/system/cpu/intel_pstate/no_turbo", "1\n");
	put("/sys/devices/system/cpu/smt/active", "1\n");
	put("/sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
}

/* ---- the tests -------------------------------------------------------------- */

TEST(examine__rich_machine__all_ok)
{
	put_rich();
	examine();
	for (unsigned i = 0; i < DOCTOR_CHECKS; i++)
		if (reports[i].state != DOCTOR_OK)
			fail_msg("%s: %s", reports[i].name, reports[i].why);
	expect("kernel", DOCTOR_OK, "6.8.0-41-generic", "");
	expect("numa", DOCTOR_OK, "nodes 0-3", "");
	expect("isolated_cpus", DOCTOR_OK, "CPUs 4-7", "");
	expect("smt", DOCTOR_OK, "on", "");
	expect("cpu_turbo", DOCTOR_OK, "off", "");
	expect("transparent_hugepages", DOCTOR_OK, "madvise", "");
	expect("tracefs", DOCTOR_OK, "/sys/kernel/tracing", "");
	expect("uprobes", DOCTOR_OK, "semaphores", "");
	expect("io_uring", DOCTOR_OK, "io_uring_disabled is 0", "");
	expect("open_files", DOCTOR_OK, "up to 4096", "");
	expect("epoll_watches", DOCTOR_OK, "up to 1000000", "");
	expect("memory_maps", DOCTOR_OK, "up to 65530", "");
	expect("environment", DOCTOR_OK, "no misspelt variable", "");
}

static void put_environment(const char *text, size_t bytes)
{
	char place[128];
	FILE *file;

	put("/proc/self/environ", "");
	snprintf(place, sizeof(place), "%s/proc/self/environ", root);
	file = fopen(place, "w");
	assert_non_null(file);
	assert_int_equal(fwrite(text, 1, bytes, file), bytes);
	fclose(file);
}

TEST(environment__misspelt_variable__named)
{
	static const char text[] = "HOME=/\0SKUA_JOBS=1\0SKUA_WORKRES=2\0";

	put_environment(text, sizeof(text) - 1);
	examine();
	expect("environment", DOCTOR_PARTLY, "SKUA_WORKRES",
	       "SKUA_WORKERS was probably meant");
}

/* Wherever the text that is read ends, a part of a name is no misspelt name. */
TEST(environment__large__ends_of_names_not_cut)
{
	static const char name[] = "SKUA_WORKERS=2";
	static char text[(1 << 18) + 16];

	for (size_t left = 6; left < sizeof(name); left++) {
		size_t begin = (1 << 18) - 1 - left;

		memset(text, 'x', begin);
		text[begin - 1] = '\0';
		memcpy(text + begin, name, sizeof(name));
		put_environment(text, begin + sizeof(name));
		examine();
		expect("environment", DOCTOR_OK, "no misspelt variable", "");
	}
}

TEST(examine__bpffs_that_all_may_write__says_chmod)
{
	char path[128];

	put_rich();
	put("/sys/fs/bpf/x", "");
	snprintf(path, sizeof(path), "%s/sys/fs/bpf", root);
	assert_int_equal(chmod(path, 01777), 0);
	examine();
	expect("bpffs", DOCTOR_PARTLY, "/sys/fs/bpf", "its mode is 01777");
	assert_int_equal(chmod(path, 0700), 0);
	examine();
	expect("bpffs", DOCTOR_OK, "/sys/fs/bpf", "");
}

TEST(examine__empty_machine__each_says_why)
{
	examine();
	expect("kernel", DOCTOR_PARTLY, "unknown", "5.15");
	expect("perf_event_paranoid", DOCTOR_MISSING, "not there", "counts");
	expect("hardware_counters", DOCTOR_MISSING, "none", "no driver");
	expect("bpf", DOCTOR_MISSING, "", "has no bpf()");
	expect("btf", DOCTOR_MISSING, "none", "is missing");
	expect("uprobes", DOCTOR_MISSING, "none", "is not there");
	expect("uprobe_multi", DOCTOR_MISSING, "none", "older than 6.6");
	expect("tracefs", DOCTOR_MISSING, "not mounted", "tracepoints");
	expect("bpffs", DOCTOR_MISSING, "not mounted", "pinned");
	expect("schedstat", DOCTOR_MISSING, "none", "wait");
	expect("cgroup_quota", DOCTOR_OK, "no control groups", "");
	expect("realtime", DOCTOR_MISSING, "none", "is 0");
	expect("locked_memory", DOCTOR_PARTLY, "0 KiB", "beyond");
	expect("numa", DOCTOR_MISSING, "none", "no nodes");
	expect("transparent_hugepages", DOCTOR_MISSING, "none", "has no");
	expect("cpu_governor", DOCTOR_PARTLY, "not reported", "virtual");
	expect("steal_time", DOCTOR_OK, "0.0 %", "");
	expect("io_uring", DOCTOR_OK, "no kernel.io_uring_disabled", "");
	expect("open_files", DOCTOR_OK, "not reported", "");
	expect("epoll_watches", DOCTOR_OK, "not reported", "");
	expect("memory_maps", DOCTOR_OK, "not reported", "");
	expect("environment", DOCTOR_OK, "not reported", "");
}

TEST(examine__io_uring_switched_off__says_for_which_processes)
{
	put_rich();
	put("/proc/sys/kernel/io_uring_disabled", "2\n");
	examine();
	expect("io_uring", DOCTOR_MISSING, "is 2", "no process");
	put("/proc/sys/kernel/io_uring_disabled", "1\n");
	examine();
	expect("io_uring", DOCTOR_OK, "is 1", "");
	put("/proc/self/status", NO_CAPABILITIES);
	examine();
	expect("io_uring", DOCTOR_PARTLY, "is 1", "kernel.io_uring_group");
	put("/proc/sys/kernel/io_uring_disabled", "0\n");
	put("/proc/self/status", "CapEff:\t0\nSeccomp:\t2\n");
	examine();
	expect("io_uring", DOCTOR_PARTLY, "is 0", "seccomp");
}

TEST(examine__io_uring_refused_here__says_why)
{
	static const struct {
		int err;
		const char *why;
	} cases[] = {
		{ ENOSYS, "has no io_uring" },
		{ ENOMEM, "locked memory" },
		{ EPERM, "filter of system calls forbids" },
	};
	const struct doctor_report *r;

	for (unsigned i = 0; i < COUNT_OF(cases); i++) {
		refusal.uring = cases[i].err;
		examine_here(0);
		r = report_of("io_uring");
		if (strstr(r->found, "io_uring_disabled is") == NULL)
			expect("io_uring", DOCTOR_MISSING, "refused",
			       cases[i].why);
	}
}

/* Of as many as may be open, nearly all are. */
TEST(examine__open_files_near_the_limit__says_so)
{
	struct rlimit before, limit;
	int fd[60];

	examine_here(0);
	expect("open_files", DOCTOR_OK, "in use", "");
	expect("memory_maps", DOCTOR_OK, "in use", "");
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	for (unsigned i = 0; i < COUNT_OF(fd); i++) {
		fd[i] = open("/dev/null", O_RDONLY);
		assert_true(fd[i] >= 0);
	}
	limit = before;
	limit.rlim_cur = (rlim_t)fd[COUNT_OF(fd) - 1] + 4;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	examine_here(0);
	expect("open_files", DOCTOR_PARTLY, "in use", "descriptor");
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	for (unsigned i = 0; i < COUNT_OF(fd); i++)
		close(fd[i]);
}

TEST(examine__paranoid_levels__as_the_kernel_does)
{
	put_rich();
	put("/proc/self/status", NO_CAPABILITIES);
	put("/proc/sys/kernel/perf_event_paranoid", "4\n");
	examine();
	expect("perf_event_paranoid", DOCTOR_MISSING, "4", "forbids");
	expect("software_counters", DOCTOR_MISSING, "not tried", "forbids");
	put("/proc/sys/kernel/perf_event_paranoid", "2\n");
	examine();
	expect("perf_event_paranoid", DOCTOR_PARTLY, "2", "user mode");
	put("/proc/sys/kernel/perf_event_paranoid", "1\n");
	examine();
	expect("perf_event_paranoid", DOCTOR_OK, "1", "");
	put("/proc/sys/kernel/perf_event_paranoid", "4\n");
	put("/proc/self/status", "CapEff:\t0000004000000000\n"); /* PERFMON */
	examine();
	expect("perf_event_paranoid", DOCTOR_OK, "CAP_PERFMON", "");
	expect("bpf", DOCTOR_MISSING, "", "CAP_BPF");
}

TEST(examine__no_privileges__are_named)
{
	put_rich();
	put("/proc/self/status", NO_CAPABILITIES);
	put("/proc/self/limits",
	    "Max locked memory         8388608              8388608      bytes\n"
	    "Max realtime priority     0                    0\n");
	for (unsigned scope = 1; scope <= 3; scope++) {
		char text[8];

		snprintf(text, sizeof(text), "%u\n", scope);
		put("/proc/sys/kernel/yama/ptrace_scope", text);
		examine();
		expect("process_memory",
		       scope < 3 ? DOCTOR_PARTLY : DOCTOR_MISSING,
		       "ptrace_scope is",
		       scope == 1   ? "only child processes"
		       : scope == 2 ? "CAP_SYS_PTRACE"
				    : "no process");
	}
	expect("bpf", DOCTOR_MISSING, "", "unprivileged_bpf_disabled is 2");
	expect("locked_memory", DOCTOR_PARTLY, "8192 KiB", "locked");
	expect("realtime", DOCTOR_MISSING, "none", "is 0");
}

TEST(examine__quotas__the_least_counts)
{
	put_rich();
	put("/sys/fs/cgroup/a/cpu.max", "150000 100000\n");
	put("/sys/fs/cgroup/cpu.max", "800000 100000\n");
	examine();
	expect("cgroup_quota", DOCTOR_PARTLY, "1.50 CPUs", "next period");
	put("/sys/fs/cgroup/a/cpu.max", "150000 0\n");
	examine();
	expect("cgroup_quota", DOCTOR_PARTLY, "8.00 CPUs", "next period");
	put("/proc/self/cgroup", "5:memory:/m\n3:cpu,cpuacct:/x\n0::/y\n");
	put("/sys/fs/cgroup/cpu/x/cpu.cfs_quota_us", "50000\n");
	put("/sys/fs/cgroup/cpu/x/cpu.cfs_period_us", "100000\n");
	examine();
	expect("cgroup_quota", DOCTOR_PARTLY, "0.50 CPUs", "next period");
	put("/sys/fs/cgroup/cpu.max", "max 100000\n");
	put("/sys/fs/cgroup/cpu/x/cpu.cfs_quota_us", "-1\n");
	examine();
	expect("cgroup_quota", DOCTOR_OK, "none", "");
}

TEST(examine__virtual_machine__says_what_the_host_does)
{
	put_rich();
	remove_root(NULL);
	mkdir(root, 0700);
	put("/proc/cpuinfo", "flags\t\t: fpu hypervisor avx\n");
	put("/proc/stat", "cpu  400 0 500 9000 0 0 0 100 0 0\n");
	put("/sys/devices/system/cpu/cpufreq/boost", "1\n");
	put("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor",
	    "powersave\n");
	put("/sys/kernel/mm/transparent_hugepage/enabled",
	    "always madvise [never]\n");
	put("/sys/bus/event_source/devices/uprobe/type", "9\n");
	examine();
	expect("hardware_counters", DOCTOR_MISSING, "none", "virtual machine");
	expect("steal_time", DOCTOR_PARTLY, "10.0 %", "host");
	expect("cpu_turbo", DOCTOR_PARTLY, "on", "frequency");
	expect("cpu_governor", DOCTOR_PARTLY, "powersave", "load");
	expect("transparent_hugepages", DOCTOR_PARTLY, "never", "off");
	expect("invariant_tsc", DOCTOR_PARTLY, "not reported", "constant");
	expect("uprobes", DOCTOR_PARTLY, "uprobes", "semaphores");
}

TEST(examine__no_flags__constant_only_where_it_is_known)
{
	examine(); /* nothing is there */
	expect("invariant_tsc", DOCTOR_PARTLY, "not reported", "constant");
	put("/proc/cpuinfo", "processor\t: 0\nFeatures\t: fp asimd\n"
			     "CPU architecture: 8\n");
	put("/sys/devices/system/clocksource/clocksource0/current_clocksource",
	    "arch_sys_counter\n");
	examine();
	expect("invariant_tsc", DOCTOR_OK,
	       "constant on Arm; the clock is arch_sys_counter", "");
	put("/proc/cpuinfo", "processor\t: 0\nhart\t\t: 0\n");
	put("/sys/devices/system/clocksource/clocksource0/current_clocksource",
	    "riscv_clocksource\n");
	examine();
	expect("invariant_tsc", DOCTOR_PARTLY,
	       "not reported; the clock is riscv_clocksource", "constant");
}

TEST(examine__hostile_files__are_bounded)
{
	char *long_text = malloc(100000);

	memset(long_text, '9', 99999);
	long_text[99999] = '\0';
	for (unsigned i = 0; i < 300; i++)
		long_text[i * 300] = " \n/:\x01"[i % 5];
	put("/proc/sys/kernel/osrelease", long_text);
	put("/proc/sys/kernel/perf_event_paranoid", long_text);
	put("/proc/self/status", long_text);
	put("/proc/self/limits", long_text);
	put("/proc/self/mounts", long_text);
	put("/proc/self/cgroup", "0::////\n");
	put("/proc/cpuinfo", long_text);
	put("/proc/stat", "cpu ");
	put("/sys/fs/cgroup/cpu.max", long_text);
	put("/sys/devices/system/node/online", long_text);
	put("/sys/kernel/mm/transparent_hugepage/enabled", "]always[");
	put("/sys/devices/system/cpu/isolated", "\n");
	mkdir(strcat(strcpy(long_text, root), "/proc/self/schedstat"), 0700);
	examine();
	expect("transparent_hugepages", DOCTOR_OK, "unknown", "");
	expect("isolated_cpus", DOCTOR_OK, "none", "");
	expect("schedstat", DOCTOR_MISSING, "none", "");
	free(long_text);
}

TEST(examine_here__refused__says_why)
{
	refusal.perf = EACCES;
	refusal.load = EPERM;
	refusal.memory = ENOSYS;
	examine_here(0);
	expect("hardware_counters", DOCTOR_MISSING, "none",
	       "cycles: not allowed");
	expect("software_counters", DOCTOR_MISSING, "none", "not allowed");
	expect("bpf", DOCTOR_MISSING, "no program", "Operation not permitted");
	expect("uprobe_multi", DOCTOR_MISSING, "none", "");
	expect("process_memory", DOCTOR_MISSING, "cannot be read",
	       "process_vm_readv()");
	refusal.memory = EPERM;
	examine_here(getpid());
	expect("process_memory", DOCTOR_MISSING, "cannot be read", "");
}

TEST(examine_here__no_counter__is_told_apart_from_refusal)
{
	refusal.perf = ENOENT;
	examine_here(0);
	expect("hardware_counters", DOCTOR_MISSING, "none", "");
	assert_null(strstr(report_of("hardware_counters")->why, "allowed"));
}

TEST(examine_here__process_without_skua__can_be_read)
{
	char text[64];

	examine_here(getpid());
	snprintf(text, sizeof(text), "process %d can be read", getpid());
	expect("process_memory", DOCTOR_PARTLY, text, "not a skua process");
}
