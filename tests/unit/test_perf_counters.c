/* SPDX-License-Identifier: MIT */
/*
 * test_perf_counters.c - groups of hardware counters, on a machine made up here
 *
 * The program is linked with --wrap for the calls by which the kernel counts. The
 * one here gives descriptors from FIRST_FD on, and refuses what it is told to.
 */
#include <linux/perf_event.h>
#include <sys/syscall.h>

#include "probes/perf_event.h"
#include "probes/perf_group.h"
#include "probes/perf_proc.h"
#include "tests/unit/page_faults.h"

#define FIRST_FD   5000
#define MAX_EVENTS 32
#define TID        4242

#define TWO_EVENTS "cycles", "instructions"
#define SIX_EVENTS                                                    \
	"cycles", "instructions", "cache-references", "cache-misses", \
		"branches", "branch-misses"

/* ---- the machine ------------------------------------------------------------ */

struct made {
	struct perf_event_attr attr;
	pid_t tid;
	int leader; /* of its group: itself, for one */
	bool on;
};

static struct machine {
	unsigned at_once; /* events that a group can have */
	uint64_t lacks;   /* a generic event: its number + 1; 0: none */
	int refusal;      /* of all; 0: none */
	const char *paranoid;
	/* Since the start, of each group: the n-th event of all has counted
	 * n * @ticks. */
	uint64_t ticks, enabled_ns;
	uint64_t running_ns[MAX_EVENTS]; /* by leader */
	bool cut;                        /* reads are short */
	unsigned count;
	struct made event[MAX_EVENTS];
} machine;

static void machine_begin(void)
{
	machine = (struct machine){ .at_once = MAX_EVENTS,
				    .paranoid = "2",
				    .ticks = 100,
				    .enabled_ns = 80 };
	for (unsigned i = 0; i < MAX_EVENTS; i++)
		machine.running_ns[i] = 80;
}

static unsigned members(int leader)
{
	unsigned n = 0;

	for (unsigned i = 0; i < machine.count; i++)
		n += machine.event[i].leader == leader;
	return n;
}

static long make_event(const struct perf_event_attr *attr, pid_t tid, int fd)
{
	int own = (int)machine.count;
	int leader = fd < 0 ? own : fd - FIRST_FD;

	if (machine.refusal != 0)
		return -machine.refusal;
	if (attr->type == PERF_TYPE_HARDWARE &&
	    attr->config + 1 == machine.lacks)
		return -ENOENT;
	if (members(leader) >= machine.at_once)
		return -EINVAL;
	machine.event[machine.count++] =
		(struct made){ *attr, tid, leader, false };
	return FIRST_FD + own;
}

long __real_syscall(long number, long a, long b, long c, long d, long e,
		    long f);
long __wrap_syscall(long number, long a, long b, long c, long d, long e,
		    long f);
long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f)
{
	long result;

	if (number != SYS_perf_event_open)
		return __real_syscall(number, a, b, c, d, e, f);
	assert_int_equal((int)c, -1);
	result =
		make_event((const struct perf_event_attr *)a, (pid_t)b, (int)d);
	if (result >= 0)
		return result;
	errno = (int)-result;
	return -1;
}

int __real_ioctl(int fd, unsigned long request, long arg);
int __wrap_ioctl(int fd, unsigned long request, long arg);
int __wrap_ioctl(int fd, unsigned long request, long arg)
{
	if (fd < FIRST_FD)
		return __real_ioctl(fd, request, arg);
	assert_int_equal(machine.event[fd - FIRST_FD].leader, fd - FIRST_FD);
	machine.event[fd - FIRST_FD].on = request == PERF_EVENT_IOC_ENABLE;
	return 0;
}

static uint64_t count_of(unsigned event)
{
	return (event + 1) * machine.ticks;
}

/* As the kernel gives it. */
static unsigned make_reading(int event, uint64_t *words)
{
	unsigned n = 0;

	if (!(machine.event[event].attr.read_format & PERF_FORMAT_GROUP))
		words[n++] = count_of((unsigned)event);
	else
		words[n++] = members(event);
	words[n++] = machine.enabled_ns;
	words[n++] = machine.running_ns[machine.event[event].leader];
	if (!(machine.event[event].attr.read_format & PERF_FORMAT_GROUP))
		return n;
	for (unsigned i = 0; i < machine.count; i++)
		if (machine.event[i].leader == event)
			words[n++] = count_of(i);
	return n;
}

ssize_t __real_read(int fd, void *to, size_t size);
ssize_t __wrap_read(int fd, void *to, size_t size);
ssize_t __wrap_read(int fd, void *to, size_t size)
{
	uint64_t words[3 + MAX_EVENTS];
	size_t bytes;

	if (fd < FIRST_FD)
		return __real_read(fd, to, size);
	bytes = make_reading(fd - FIRST_FD, words) * sizeof(words[0]);
	if (size < bytes) {
		errno = ENOSPC;
		return -1;
	}
	memcpy(to, words, bytes);
	return machine.cut ? 8 : (ssize_t)bytes;
}

int __real_close(int fd);
int __wrap_close(int fd);
int __wrap_close(int fd)
{
	return fd < FIRST_FD ? __real_close(fd) : 0;
}

FILE *__real_fopen(const char *path, const char *mode);
FILE *__wrap_fopen(const char *path, const char *mode);
FILE *__wrap_fopen(const char *path, const char *mode)
{
	if (strstr(path, "perf_event_paranoid") == NULL)
		return __real_fopen(path, mode);
	return fmemopen((char *)machine.paranoid, strlen(machine.paranoid),
			"r");
}

/* ---- the tests -------------------------------------------------------------- */

static char reason[1000];

static struct perf_group *open_group(pid_t tid, const char *const *names,
				     unsigned count)
{
	struct perf_group *group;

	assert_int_equal(perf_group_open(&group, tid, names, count, reason,
					 sizeof(reason)),
			 0);
	return group;
}

static struct perf_group_values read_group(const struct perf_group *group)
{
	struct perf_group_values values;

	assert_int_equal(perf_group_read(group, &values), 0);
	return values;
}

static void expect_hint(const struct perf_event_attr *attr, int err,
			const char *paranoid, const char *text)
{
	char why[128];

	machine.paranoid = paranoid;
	perf_event_explain(attr, err, why, sizeof(why));
	if (strstr(why, text) == NULL)
		fail_msg("'%s' is not in '%s'", text, why);
}

TEST(perf_group_open__thread__is_one_kernel_group)
{
	const char *const names[] = { SIX_EVENTS };
	struct perf_group *group;
	struct perf_group_values values;

	machine_begin();
	group = open_group(TID, names, 6);
	assert_string_equal(reason, "");
	assert_int_equal(machine.count, 6);
	for (unsigned i = 0; i < 6; i++) {
		const struct made *event = &machine.event[i];

		assert_int_equal(event->tid, TID);
		assert_int_equal(event->leader, 0);
		assert_int_equal(event->attr.disabled, i == 0);
		assert_int_equal(event->attr.inherit, 0);
		assert_int_equal(event->attr.exclude_kernel, 1);
		assert_int_equal(event->attr.read_format,
				 PERF_FORMAT_GROUP |
					 PERF_FORMAT_TOTAL_TIME_ENABLED |
					 PERF_FORMAT_TOTAL_TIME_RUNNING);
	}
	assert_int_equal(perf_group_start(group), 0);
	assert_true(machine.event[0].on);
	assert_int_equal(perf_group_stop(group), 0);
	assert_false(machine.event[0].on);
	values = read_group(group);
	assert_true(values.run_ratio == 1.0);
	for (unsigned i = 0; i < 6; i++) {
		assert_true(values.event[i].counted);
		assert_string_equal(values.event[i].name, names[i]);
		assert_int_equal(values.event[i].value, 100 * (i + 1));
		assert_int_equal(values.event[i].together, 0);
	}
	perf_group_close(group);
}

TEST(perf_group_open__own__is_inherited_and_read_alone)
{
	const char *const names[] = { TWO_EVENTS };
	struct perf_group *group;

	machine_begin();
	group = open_group(PERF_GROUP_OWN, names, 2);
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(machine.event[i].tid, 0);
		assert_int_equal(machine.event[i].leader, 0);
		assert_int_equal(machine.event[i].attr.inherit, 1);
		assert_int_equal(machine.event[i].attr.read_format,
				 PERF_FORMAT_TOTAL_TIME_ENABLED |
					 PERF_FORMAT_TOTAL_TIME_RUNNING);
	}
	assert_int_equal(read_group(group).event[1].value, 200);
	perf_group_close(group);
}

TEST(perf_group_open__eight_events__two_groups)
{
	const char *const names[] = { SIX_EVENTS, "stalled-cycles-frontend",
				      "stalled-cycles-backend" };
	struct perf_group *group;
	struct perf_group_values values;

	machine_begin();
	machine.running_ns[6] = 20; /* a quarter of the time */
	group = open_group(TID, names, 8);
	assert_int_equal(machine.event[5].leader, 0);
	assert_int_equal(machine.event[6].leader, 6);
	assert_int_equal(machine.event[7].leader, 6);
	perf_group_start(group);
	assert_true(machine.event[0].on && machine.event[6].on);
	values = read_group(group);
	assert_int_equal(values.event[5].together, 0);
	assert_int_equal(values.event[7].together, 6);
	assert_true(values.event[5].run_ratio == 1.0);
	assert_true(values.event[7].run_ratio == 0.25);
	assert_true(values.run_ratio == 0.25);
	assert_int_equal(values.event[5].value, 600);
	assert_int_equal(values.event[7].value, 4 * 800);
	perf_group_close(group);
}

TEST(perf_group_open__does_not_fit__begins_next_group)
{
	const char *const names[] = { SIX_EVENTS };
	struct perf_group *group;
	struct perf_group_values values;

	machine_begin();
	machine.at_once = 4;
	group = open_group(TID, names, 6);
	values = read_group(group);
	assert_int_equal(values.event[3].together, 0);
	assert_int_equal(values.event[4].together, 4);
	assert_int_equal(values.event[5].together, 4);
	assert_int_equal(values.event[5].value, 600);
	perf_group_close(group);
}

TEST(perf_group_open__one_missing__others_keep_their_counts)
{
	const char *const names[] = { SIX_EVENTS };
	struct perf_group *group;
	struct perf_group_values values;

	machine_begin();
	machine.lacks = PERF_COUNT_HW_CACHE_REFERENCES + 1;
	group = open_group(TID, names, 6);
	assert_string_equal(reason, "missing: cache-references: this machine "
				    "does not count it");
	values = read_group(group);
	assert_false(values.event[2].counted);
	assert_string_equal(values.event[2].why,
			    "this machine does not count it");
	assert_int_equal(values.event[1].value, 200);
	assert_int_equal(values.event[3].value, 300); /* made as the third */
	assert_int_equal(values.event[5].value, 500);
	perf_group_close(group);
}

TEST(perf_group_open__first_missing__second_leads)
{
	const char *const names[] = { TWO_EVENTS };
	struct perf_group *group;

	machine_begin();
	machine.lacks = PERF_COUNT_HW_CPU_CYCLES + 1;
	group = open_group(TID, names, 2);
	assert_int_equal(machine.event[0].attr.disabled, 1);
	perf_group_start(group);
	assert_true(machine.event[0].on);
	assert_int_equal(read_group(group).event[1].value, 100);
	perf_group_close(group);
}

TEST(perf_group_open__modes__as_the_event_needs)
{
	const char *const names[] = { "page-faults", "context-switches",
				      "cpu-migrations", "cycles:k" };
	struct perf_group *group;

	machine_begin();
	group = open_group(TID, names, 4);
	assert_int_equal(machine.event[0].attr.exclude_kernel, 1);
	assert_int_equal(machine.event[1].attr.exclude_kernel, 0);
	assert_int_equal(machine.event[2].attr.exclude_kernel, 0);
	assert_int_equal(machine.event[3].attr.exclude_kernel, 0);
	assert_int_equal(machine.event[3].attr.exclude_user, 1);
	perf_group_close(group);
}

TEST(perf_group_read__never_had_a_counter__not_counted)
{
	const char *const names[] = { "cycles" };
	struct perf_group *group;
	struct perf_group_values values;

	machine_begin();
	machine.running_ns[0] = 0;
	group = open_group(TID, names, 1);
	values = read_group(group);
	assert_false(values.event[0].counted);
	assert_true(values.run_ratio == 1.0);
	perf_group_close(group);
}

TEST(perf_group_read__short__eio)
{
	const char *const names[] = { TWO_EVENTS };
	struct perf_group *group;
	struct perf_group_values values;

	machine_begin();
	group = open_group(TID, names, 2);
	machine.cut = true;
	assert_int_equal(perf_group_read(group, &values), -EIO);
	perf_group_close(group);
}

TEST(perf_group_between__two_readings__their_difference)
{
	const char *const names[] = { TWO_EVENTS };
	struct perf_group *group;
	struct perf_group_values first, second;

	machine_begin();
	group = open_group(TID, names, 2);
	first = read_group(group);
	machine.ticks = 150;
	machine.enabled_ns = 120; /* 40 more, and counting for 10 of them */
	machine.running_ns[0] = 90;
	second = read_group(group);
	perf_group_between(&first, &second, &second);
	assert_int_equal(second.event[0].value, 4 * 50);
	assert_int_equal(second.event[1].value, 4 * 100);
	assert_true(second.run_ratio == 0.25);
	first = read_group(group);
	perf_group_between(&first, &first, &second); /* it slept */
	assert_true(second.event[0].counted && second.run_ratio == 1.0);
	assert_int_equal(second.event[0].value, 0);
	second = first;
	second.event[0].enabled_ns++; /* it ran, without a counter */
	perf_group_between(&first, &second, &second);
	assert_false(second.event[0].counted);
	perf_group_close(group);
}

TEST(perf_group_open__refused__proc_tells)
{
	const char *const names[] = { "cycles", "page-faults", "task-clock",
				      "context-switches" };
	struct perf_group *group;
	struct perf_group_values values;

	if (SANITIZED)
		skip_aloud("a sanitizer causes page faults of its own");
	machine_begin();
	machine.refusal = EACCES;
	machine.paranoid = "4";
	group = open_group(gettid(), names, 4);
	assert_string_equal(reason, "missing: cycles: not allowed, as "
				    "kernel.perf_event_paranoid is 4: needs "
				    "CAP_PERFMON, or a level of 2");
	assert_false(read_group(group).event[1].counted);
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(perf_group_start(group), 0);
		touch_pages(500);
		if (i == 1) /* not stopped yet */
			break;
		assert_int_equal(perf_group_stop(group), 0);
		touch_pages(2000);
	}
	values = read_group(group);
	assert_false(values.event[0].counted);
	assert_true(values.event[1].counted && values.event[1].from_proc);
	assert_in_range(values.event[1].value, 1000, 2999);
	assert_true(values.event[1].run_ratio == 1.0);
	assert_true(values.event[2].counted);
	assert_true(values.event[3].counted);
	perf_group_close(group);
}

/* The kernel brings it up to date when the thread is switched, or at a tick. */
TEST(perf_group_read__time_in_proc__goes_on)
{
	const char *const names[] = { "task-clock" };
	struct perf_group *group;

	machine_begin();
	machine.refusal = EACCES;
	group = open_group(gettid(), names, 1);
	perf_group_start(group);
	while (read_group(group).event[0].value == 0)
		;
	perf_group_close(group);
}

TEST(perf_group_open__own_refused__fails)
{
	const char *const names[] = { "page-faults", "cycles" };
	struct perf_group *group;

	machine_begin();
	machine.refusal = EPERM;
	assert_int_equal(perf_group_open(&group, PERF_GROUP_OWN, names, 2,
					 reason, sizeof(reason)),
			 -EPERM);
	assert_null(group);
	assert_string_equal(
		reason, "nothing can be counted: page-faults: not allowed "
			"(kernel.perf_event_paranoid is 2): a container may "
			"forbid perf_event_open()");
}

TEST(perf_group_read__thread_has_ended__esrch)
{
	const char *const names[] = { "page-faults" };
	struct perf_group_values values;
	struct perf_group *group;
	int go_on[2];
	pid_t child;

	machine_begin();
	machine.refusal = EACCES;
	assert_int_equal(pipe(go_on), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		char byte;

		close(go_on[1]);
		_exit(__real_read(go_on[0], &byte, 1) == 0 ? 0 : 1);
	}
	group = open_group(child, names, 1);
	assert_int_equal(perf_group_start(group), 0);
	close(go_on[0]);
	close(go_on[1]);
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_int_equal(perf_group_read(group, &values), -ESRCH);
	perf_group_close(group);
}

TEST(perf_proc_read__own_thread__as_getrusage)
{
	const struct {
		uint64_t config;
		size_t member;
	} counts[] = {
		{ PERF_COUNT_SW_PAGE_FAULTS_MIN,
		  offsetof(struct rusage, ru_minflt) },
		{ PERF_COUNT_SW_PAGE_FAULTS_MAJ,
		  offsetof(struct rusage, ru_majflt) },
	};

	for (unsigned i = 0; i < COUNT_OF(counts); i++) {
		struct rusage before, after;
		uint64_t value;

		getrusage(RUSAGE_THREAD, &before);
		assert_int_equal(
			perf_proc_read(gettid(), counts[i].config, &value), 0);
		getrusage(RUSAGE_THREAD, &after);
		assert_in_range(value,
				*(long *)((char *)&before + counts[i].member),
				*(long *)((char *)&after + counts[i].member));
	}
}

TEST(perf_proc_read__switches__as_getrusage)
{
	struct rusage before, after;
	uint64_t value;

	getrusage(RUSAGE_THREAD, &before);
	assert_int_equal(perf_proc_read(gettid(),
					PERF_COUNT_SW_CONTEXT_SWITCHES, &value),
			 0);
	getrusage(RUSAGE_THREAD, &after);
	assert_in_range(value, before.ru_nvcsw + before.ru_nivcsw,
			after.ru_nvcsw + after.ru_nivcsw);
}

TEST(perf_proc_read__other__enoent)
{
	uint64_t value;

	assert_int_equal(
		perf_proc_read(gettid(), PERF_COUNT_SW_BPF_OUTPUT, &value),
		-ENOENT);
}

TEST(perf_event_explain__refusals__what_is_allowed)
{
	const struct perf_event_attr user = { .exclude_kernel = 1 };
	const struct perf_event_attr kernel = { 0 };

	machine_begin();
	expect_hint(&user, -EACCES, "3", "needs CAP_PERFMON, or a level of 2");
	expect_hint(&kernel, -EACCES, "2",
		    "needs CAP_PERFMON, or a level of 1");
	expect_hint(&user, -EACCES, "2", "another user's thread");
	expect_hint(&user, -EPERM, "1", "a container may forbid");
	expect_hint(&user, -EMFILE, "1", "ulimit -n");
	expect_hint(&user, -ESRCH, "1", "no such thread");
	expect_hint(&user, -ENOSYS, "1", "not implemented");
}
