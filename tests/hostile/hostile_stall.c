/* SPDX-License-Identifier: MIT */
/**
 * hostile_stall.c - a poll that waits for a CPU must not be reported as a stall
 *
 * The polls need little CPU time and sleep little, but last for many times the limit,
 * because the kernel keeps their thread waiting: for a real-time thread on its CPU; for
 * five other threads there; for the next period of a control group's quota; or for a
 * SIGCONT. None of these polls may be reported. Meanwhile, or afterwards, a poll that
 * computes for long and a poll that sleeps for long must be reported, once each.
 *
 * Each part is a process of its own. A part that the machine does not allow is left out,
 * and the output names it.
 */
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/hostile/cgroups.h"
#include "tests/hostile/hostile.h"

#define LIMIT_NS UINT64_C(40000000)
/* The limit of the part in which the parent stops the process. It is longer,
 * because the parent needs time to do so. */
#define STOP_LIMIT_NS (10 * LIMIT_NS)
#define SLICE_NS      (10 * LIMIT_NS)
#define CPU_NS        (LIMIT_NS / 8)     /* CPU time of a short poll */
#define NAP_NS        (LIMIT_NS * 5 / 8) /* sleep of a short poll */
#define PERCENT       10u
#define BUSY          5u

static const struct skua_task_type computes = SKUA_TASK_TYPE("computes");
static const struct skua_task_type sleeps = SKUA_TASK_TYPE("sleeps");

/* ---- reports -------------------------------------------------------------- */

static struct {
	struct skua_stall stall;
	int wake[2]; /* a pipe, into which the report of a sleeper is written */
	atomic_u32 count;
	atomic_u32 read;
} reports;

static void on_stall(void *ctx, const struct skua_stall *stall)
{
	(void)ctx;
	/* Acquire: the last report has been read. Pairs with the release in
	 * stall_on(). */
	(void)atomic_load_acquire(&reports.read);
	reports.stall = *stall;
	/* Release: publishes the report. Pairs with the acquires of @count. */
	atomic_fetch_add_release(&reports.count, 1);
	if (stall->type == &sleeps && write(reports.wake[1], "x", 1) != 1)
		stress_fail("the pipe is closed");
}

static struct skua_runtime *open_runtime(int signal, uint64_t limit_ns)
{
	static const struct skua_hooks hooks = { .stall = on_stall };
	struct skua_config config = SKUA_CONFIG_INIT;
	struct skua_runtime *rt;
	struct skua_error err;

	config.workers = 2;
	config.stall_signal = signal;
	config.hooks = &hooks;
	config.stall_limit_ns = limit_ns;
	if (pipe(reports.wake) != 0)
		stress_fail("pipe: %s", strerror(errno));
	if (skua_runtime_create(&rt, &config, &err) != 0)
		stress_fail("create: %s", err.text);
	return rt;
}

static void run_on(struct skua_runtime *rt, unsigned worker,
		   struct skua_task *task)
{
	hostile_check(skua_task_spawn_on(rt, worker, task), "spawn");
	hostile_check(skua_task_join(task), "join");
}

static void expect_reports(uint32_t count, const char *when)
{
	if (atomic_load_acquire(&reports.count) != count)
		stress_fail(
			"%s: %u reports, not %u; the last one after %.1f ms, "
			"%.1f of them on a CPU, %.1f waiting",
			when, atomic_load_acquire(&reports.count), count,
			(double)reports.stall.duration_ns / 1e6,
			(double)reports.stall.cpu_ns / 1e6,
			(double)reports.stall.waited_ns / 1e6);
}

/* ---- polls that stall ------------------------------------------------------ */

#define KNOWN __attribute__((noinline, section("stalls_here")))
extern const char __start_stalls_here[], __stop_stalls_here[];

KNOWN static enum skua_poll compute(struct skua_task *task)
{
	uint32_t count = atomic_load_acquire(&reports.count);

	(void)task;
	while (atomic_load_acquire(&reports.count) == count) {
		if (HOSTILE_SANITIZED)
			usleep(1); /* ThreadSanitizer runs handlers only at calls */
	}
	return SKUA_DONE;
}

KNOWN static enum skua_poll sleep_long(struct skua_task *task)
{
	struct pollfd in = { .fd = reports.wake[0], .events = POLLIN };
	char byte;

	(void)task;
	while (HOSTILE_SANITIZED && poll(&in, 1, -1) != 1)
		; /* calls, so that handlers run */
	if (read(reports.wake[0], &byte, 1) != 1)
		stress_fail("read: %s", strerror(errno));
	return SKUA_DONE;
}

static bool stack_has_it(void)
{
	for (unsigned i = 0; i < reports.stall.frames; i++) {
		const char *at = reports.stall.frame[i];

		if (at >= __start_stalls_here && at <= __stop_stalls_here)
			return true;
	}
	return false;
}

/* Let a poll stall, and check that it is reported exactly once. */
static void stall_on(struct skua_runtime *rt, unsigned worker,
		     skua_task_fn poll, const struct skua_task_type *type)
{
	uint32_t before = atomic_load_acquire(&reports.count);
	struct skua_task task = SKUA_TASK_INIT(poll);

	hostile_check(skua_task_set_type(&task, type), "type");
	/* Release: the report has been read. Pairs with the acquire in
	 * on_stall(). */
	atomic_fetch_add_release(&reports.read, 1);
	run_on(rt, worker, &task);
	expect_reports(before + 1, type->name);
	if (reports.stall.type != type || reports.stall.worker != worker ||
	    reports.stall.poll != poll)
		stress_fail("%s: the report is of another task", type->name);
	if (!stack_has_it() && !HOSTILE_SANITIZED)
		stress_fail("%s: the stack does not show it", type->name);
}

/* ---- polls that are short --------------------------------------------------- */

static uint64_t thread_cpu_ns(void)
{
	struct timespec cpu;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu);
	return (uint64_t)cpu.tv_sec * 1000000000u + (uint64_t)cpu.tv_nsec;
}

static uint64_t lasted_ns; /* duration of the last poll */

static enum skua_poll compute_shortly(struct skua_task *task)
{
	uint64_t start_ns = skua_now_ns();
	uint64_t end_ns = thread_cpu_ns() + LIMIT_NS / 2;

	(void)task;
	while (thread_cpu_ns() < end_ns)
		cpu_relax();
	lasted_ns = skua_now_ns() - start_ns;
	return SKUA_DONE;
}

/* Run short polls until @late of them have lasted for more than twice the
 * limit. Return: the number of polls. */
static unsigned compute_until_late(struct skua_runtime *rt, unsigned late)
{
	unsigned polls = 0;

	while (late > 0) {
		struct skua_task task = SKUA_TASK_INIT(compute_shortly);

		run_on(rt, 0, &task);
		late -= lasted_ns > 2 * LIMIT_NS;
		polls++;
	}
	expect_reports(0, "short polls");
	return polls;
}

/* ---- parts ------------------------------------------------------------------- */

static unsigned rounds(void)
{
	uint64_t n = hostile_tasks() / 500000;

	return n < 2 ? 2 : n > 200 ? 200 : (unsigned)n;
}

static sem_t ready, begun;
static atomic_u32 go_on, hog_over;
static cpu_set_t worker_cpus;

static enum skua_poll tell_cpus(struct skua_task *task)
{
	(void)task;
	if (sched_getaffinity(0, sizeof(worker_cpus), &worker_cpus) != 0)
		stress_fail("no affinity");
	return SKUA_DONE;
}

/* The real-time thread takes the CPU at once, and sets @go_on before it gives the CPU
 * back. If it does not get there, the poll ends after its CPU time, because the kernel
 * reserves some time for other threads. */
static enum skua_poll be_preempted(struct skua_task *task)
{
	uint64_t start_ns = skua_now_ns();
	uint64_t end_ns = thread_cpu_ns() + CPU_NS;

	(void)task;
	sem_post(&begun);
	while (!atomic_load_acquire(&go_on) && thread_cpu_ns() < end_ns)
		cpu_relax();
	/* Sleep, so that the stall check sees the thread asleep after it has
	 * waited. */
	hostile_nap(NAP_NS);
	lasted_ns = skua_now_ns() - start_ns;
	return SKUA_DONE;
}

static void *hog(void *arg)
{
	const struct sched_param param = { .sched_priority = 1 };
	uint64_t start_ns;

	(void)arg;
	if (sched_setaffinity(0, sizeof(worker_cpus), &worker_cpus) != 0 ||
	    pthread_setschedparam(pthread_self(), SCHED_FIFO, &param) != 0)
		stress_fail("no real-time thread: %s", strerror(errno));
	sem_post(&ready);
	for (;;) {
		while (sem_wait(&begun) != 0)
			;
		if (atomic_load_acquire(&hog_over))
			return NULL;
		start_ns = skua_now_ns();
		while (skua_now_ns() < start_ns + SLICE_NS)
			cpu_relax();
		atomic_store_release(&go_on, 1);
	}
}

/* Run the part with the real-time thread. @signal is the signal by which the
 * check samples a stack; 0: none. No poll may be reported in either case. */
static void preempt(int signal)
{
	struct skua_runtime *rt = open_runtime(signal, LIMIT_NS);
	struct skua_task task = SKUA_TASK_INIT(tell_cpus);
	pthread_t thread;

	run_on(rt, 0, &task);
	sem_init(&ready, 0, 0);
	sem_init(&begun, 0, 0);
	atomic_store_release(&hog_over, 0);
	if (pthread_create(&thread, NULL, hog, NULL) != 0)
		stress_fail("cannot create a thread");
	while (sem_wait(&ready) != 0)
		;
	for (unsigned n = rounds(); n > 0; n -= lasted_ns > 2 * LIMIT_NS) {
		hostile_check(skua_task_init(&task, be_preempted), "init");
		atomic_store_release(&go_on, 0);
		run_on(rt, 0, &task);
		expect_reports(0, "preempted by a real-time thread");
	}
	atomic_store_release(&hog_over, 1);
	sem_post(&begun);
	pthread_join(thread, NULL);
	hostile_check(skua_runtime_destroy(rt), "destroy");
}

static void part_preempted(void)
{
	struct skua_runtime *rt;

	preempt(SKUA_STALL_NO_SIGNAL);
	preempt(0);
	rt = open_runtime(0, LIMIT_NS);
	stall_on(rt, 0, compute, &computes);
	stall_on(rt, 1, sleep_long, &sleeps);
	hostile_check(skua_runtime_destroy(rt), "destroy");
}

static atomic_u32 crowd_over;

static void *be_busy(void *arg)
{
	(void)arg;
	while (!atomic_load_relaxed(&crowd_over))
		cpu_relax();
	return NULL;
}

/* Run all threads on one CPU, also the thread that checks for stalls. */
static void part_crowded(void)
{
	pthread_t busy[BUSY];
	struct skua_runtime *rt;
	cpu_set_t all, one;
	size_t cpu = 0;

	if (sched_getaffinity(0, sizeof(all), &all) != 0)
		stress_fail("no affinity");
	while (!CPU_ISSET(cpu, &all))
		cpu++;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	if (sched_setaffinity(0, sizeof(one), &one) != 0)
		stress_fail("cannot be on one CPU");
	for (unsigned i = 0; i < BUSY; i++) {
		if (pthread_create(&busy[i], NULL, be_busy, NULL) != 0)
			stress_fail("cannot create a thread");
	}
	rt = open_runtime(0, LIMIT_NS);
	compute_until_late(rt, rounds());
	stall_on(rt, 0, compute, &computes);
	stall_on(rt, 1, sleep_long, &sleeps);
	hostile_check(skua_runtime_destroy(rt), "destroy");
	atomic_store_relaxed(&crowd_over, 1);
	for (unsigned i = 0; i < BUSY; i++)
		pthread_join(busy[i], NULL);
}

static void part_throttled(void)
{
	struct skua_runtime *rt = open_runtime(0, LIMIT_NS);

	compute_until_late(rt, rounds());
	stall_on(rt, 0, compute, &computes);
	stall_on(rt, 1, sleep_long, &sleeps);
	hostile_check(skua_runtime_destroy(rt), "destroy");
}

/* ---- stopped, by the parent ---------------------------------------------------- */

static int to_parent[2], from_parent[2];

static enum skua_poll be_stopped(struct skua_task *task)
{
	uint64_t now_ns;
	char byte;

	(void)task;
	/* Sleep for long enough to be measured before the process is
	 * stopped, and to be seen asleep afterwards. */
	hostile_nap(STOP_LIMIT_NS * 11 / 20);
	now_ns = skua_now_ns();
	if (write(to_parent[1], &now_ns, sizeof(now_ns)) != sizeof(now_ns) ||
	    read(from_parent[0], &byte, 1) != 1)
		stress_fail("the parent is gone");
	hostile_nap(STOP_LIMIT_NS * 6 / 20);
	return SKUA_DONE;
}

static void part_stopped(void)
{
	struct skua_runtime *rt = open_runtime(0, STOP_LIMIT_NS);
	char more = 'x';

	/* The parent tells whether there is another round, and whether this one
	 * counted: the parent may itself have been late. */
	while (read(from_parent[0], &more, 1) == 1 && more != 'e') {
		struct skua_task task = SKUA_TASK_INIT(be_stopped);

		run_on(rt, 0, &task);
		if (read(from_parent[0], &more, 1) != 1)
			stress_fail("the parent is gone");
		if (more == 'x')
			expect_reports(0, "stopped");
		else
			atomic_store_release(&reports.count, 0);
	}
	stall_on(rt, 1, sleep_long, &sleeps);
	hostile_check(skua_runtime_destroy(rt), "destroy");
}

static void tell(const char *byte)
{
	if (write(from_parent[1], byte, 1) != 1)
		stress_fail("the child is gone");
}

/* Stop the child while its poll sleeps, and continue it after the end of
 * that sleep. */
static bool stop_once(pid_t child)
{
	uint64_t start_ns, slept_ns;
	int status;

	tell("x");
	if (read(to_parent[0], &start_ns, sizeof(start_ns)) != sizeof(start_ns))
		stress_fail("the child is gone");
	kill(child, SIGSTOP);
	if (waitpid(child, &status, WUNTRACED) != child || !WIFSTOPPED(status))
		stress_fail("the child does not stop");
	slept_ns = skua_now_ns() - start_ns;
	hostile_nap(2 * STOP_LIMIT_NS);
	tell("x");
	kill(child, SIGCONT);
	tell(slept_ns < STOP_LIMIT_NS / 20 ? "x" : "l");
	return slept_ns < STOP_LIMIT_NS / 20;
}

static void stop_and_go(pid_t child)
{
	for (unsigned n = rounds(); n > 0;)
		n -= stop_once(child);
	tell("e");
}

/* ---- all of them ------------------------------------------------------------------ */

static struct cgroups own;
static pid_t main_process;

static void clean_up(void)
{
	if (getpid() == main_process)
		cgroups_remove(&own);
}

static bool throttles(void)
{
	if (!cgroups_make(&own))
		return false;
	atexit(clean_up);
	if (!*own.cpu)
		return false;
	cgroups_quota(&own, PERCENT);
	return true;
}

static void run_part(const char *name, void (*part)(void),
		     const struct cgroups *groups, void (*beside)(pid_t child))
{
	pid_t parent = getpid();
	pid_t child;
	int status;

	fflush(NULL);
	if (pipe(to_parent) != 0 || pipe(from_parent) != 0)
		stress_fail("pipe: %s", strerror(errno));
	child = fork();
	if (child < 0)
		stress_fail("fork: %s", strerror(errno));
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(1);
		close(to_parent[0]);
		close(from_parent[1]);
		part();
		exit(0);
	}
	/* Close these ends, so that each process notices the end of the other. */
	close(to_parent[1]);
	close(from_parent[0]);
	if (groups)
		cgroups_enter(groups, child);
	if (beside)
		beside(child);
	close(to_parent[0]);
	close(from_parent[1]);
	if (waitpid(child, &status, 0) != child || status != 0)
		stress_fail("%s: failed", name);
}

static const char *no_realtime(void)
{
	struct sched_param realtime = { .sched_priority = 1 };
	struct sched_param usual = { .sched_priority = 0 };
	cpu_set_t all;

	if (sched_getaffinity(0, sizeof(all), &all) != 0 || CPU_COUNT(&all) < 2)
		return "; one CPU, so none had a real-time thread";
	if (pthread_setschedparam(pthread_self(), SCHED_FIFO, &realtime) != 0)
		return "; without SCHED_FIFO, none had a real-time thread";
	pthread_setschedparam(pthread_self(), SCHED_OTHER, &usual);
	return "";
}

int main(void)
{
	const char *without_realtime = no_realtime();
	bool quota;
	unsigned parts = 2;

	main_process = getpid();
	quota = throttles();
	if (!*without_realtime) {
		run_part("preempted", part_preempted, NULL, NULL);
		parts++;
	}
	run_part("crowded", part_crowded, NULL, NULL);
	run_part("stopped", part_stopped, NULL, stop_and_go);
	if (quota) {
		run_part("throttled", part_throttled, &own, NULL);
		parts++;
	}
	printf("stall: %u polls that waited, none was reported; those beside "
	       "them that stalled were, once%s%s\n",
	       parts * rounds(), without_realtime,
	       quota ? "" : "; no quota of a control group can be set here");
	return 0;
}
