/* SPDX-License-Identifier: MIT */
/**
 * hostile_placement.c - check the default number of workers, and their places
 *
 * Child processes create a runtime under different conditions: with an affinity mask of
 * one CPU, as set by taskset; in a control group with one CPU; and in a group with less CPU
 * time than there are CPUs. Each checks on which CPUs its workers may run. After that,
 * each condition is imposed on a busy runtime, and removed again. The test waits until the
 * workers have reached their new places, and accounts for each task.
 */
#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "skua/skua.h"
#include "tests/hostile/cgroups.h"
#include "tests/hostile/hostile.h"

/* The limits of a child, and the expected result. */
struct condition {
	const char *name;
	bool mask;        /* allow the last CPU alone, by an affinity mask */
	bool set;         /* the same, by a control group */
	unsigned percent; /* quota in percent of a CPU; 0: none */
	unsigned workers;
	bool pinned; /* each worker is on a CPU of its own */
};

static struct cgroups own;
static cpu_set_t allowed;

static unsigned last_cpu(void)
{
	unsigned cpu = CPU_SETSIZE - 1;

	while (!CPU_ISSET(cpu, &allowed))
		cpu--;
	return cpu;
}

/* ---- the child ------------------------------------------------------------- */

/* Return whether the thread is a worker, by its name. */
static bool is_worker(pid_t thread)
{
	char path[64], name[16] = "";
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/task/%d/comm", (int)thread);
	file = fopen(path, "r");
	if (file) {
		if (!fgets(name, sizeof(name), file))
			*name = '\0';
		fclose(file);
	}
	return strncmp(name, "skua-", 5) == 0;
}

/* Add up the CPUs on which workers may run, the number of workers, and the
 * number of those that may run on one CPU alone. */
static void look_at_workers(cpu_set_t *all, unsigned *count, unsigned *alone)
{
	DIR *folder = opendir("/proc/self/task");
	struct dirent *entry;

	while ((entry = readdir(folder)) != NULL) {
		pid_t thread = atoi(entry->d_name);
		cpu_set_t set;

		if (thread == 0 || !is_worker(thread) ||
		    sched_getaffinity(thread, sizeof(set), &set) != 0)
			continue;
		++*count;
		*alone += CPU_COUNT(&set) == 1;
		CPU_OR(all, all, &set);
	}
	closedir(folder);
}

static enum skua_poll nothing(struct skua_task *self)
{
	(void)self;
	return SKUA_DONE;
}

/* Wait until all workers are parked. Then all have started, and set their
 * thread names. */
static void wait_until_all_run(struct skua_runtime *rt, unsigned workers)
{
	cpu_set_t all;
	unsigned count = 0, alone;

	while (count < workers) {
		struct skua_task task;

		skua_task_init(&task, nothing);
		if (skua_runtime_block_on(rt, &task) != 0)
			stress_fail("a task was refused");
		count = 0;
		look_at_workers(&all, &count, &alone);
	}
}

static void check_workers(const struct condition *of)
{
	struct skua_runtime *rt;
	struct skua_error err;
	cpu_set_t all, expected = allowed;
	unsigned count = 0, alone = 0;

	CPU_ZERO(&all);
	if (skua_runtime_create(&rt, NULL, &err) != 0)
		stress_fail("%s: %s", of->name, err.text);
	if (skua_runtime_workers(rt) != of->workers)
		stress_fail("%s: %u workers, not %u", of->name,
			    skua_runtime_workers(rt), of->workers);
	wait_until_all_run(rt, of->workers);
	look_at_workers(&all, &count, &alone);
	if (alone != (of->pinned ? of->workers : 0))
		stress_fail("%s: %u of %u workers are on one CPU", of->name,
			    alone, count);
	if (of->mask || of->set) {
		CPU_ZERO(&expected);
		CPU_SET(last_cpu(), &expected);
	}
	if (!CPU_EQUAL(&all, &expected))
		stress_fail("%s: the workers run on other CPUs", of->name);
	if (skua_runtime_destroy(rt) != 0)
		stress_fail("%s: not destroyed", of->name);
}

static void run_child(const void *ctx)
{
	const struct condition *of = ctx;

	if (of->mask) {
		cpu_set_t set;

		CPU_ZERO(&set);
		CPU_SET(last_cpu(), &set);
		if (sched_setaffinity(0, sizeof(set), &set) != 0)
			stress_fail("affinity: %s", strerror(errno));
	}
	if (of->set || of->percent > 0)
		cgroups_enter(&own, getpid());
	check_workers(of);
	printf("%s: %u workers\n", of->name, of->workers);
}

/* ---- changes to a busy runtime --------------------------------------------- */

/* How often each change is made and undone. */
#define ROUNDS 2u
/* Time between two checks of the workers' places. */
#define LOOK_NS UINT64_C(20000000)

static struct hostile busy;
static atomic_u32 changes_over;

/* Return whether the workers are on @cpus: each on one CPU of its own if
 * @one_each, otherwise each on several. */
static bool are_on(const cpu_set_t *cpus, bool one_each)
{
	cpu_set_t all;
	unsigned alone = 0;

	CPU_ZERO(&all);
	for (unsigned i = 0; i < busy.workers; i++) {
		cpu_set_t set;

		if (sched_getaffinity(busy.tids[i], sizeof(set), &set) != 0)
			stress_fail("worker %u: %s", i, strerror(errno));
		alone += CPU_COUNT(&set) == 1;
		CPU_OR(&all, &all, &set);
	}
	return CPU_EQUAL(&all, cpus) && alone == (one_each ? busy.workers : 0);
}

/* Wait until the workers are there. Hangs if they never are. */
static void wait_until_on(const cpu_set_t *cpus, bool one_each)
{
	while (!are_on(cpus, one_each))
		hostile_nap(LOOK_NS);
}

/* Return whether a last-level cache has two CPUs or more, on average.
 * Otherwise workers that share CPUs cannot be distinguished. */
static bool caches_are_shared(void)
{
	const struct skua_config cfg = { .size = sizeof(cfg),
					 .placement = SKUA_PLACE_CACHES };
	int caches = skua_runtime_plan(&cfg, NULL, 0, NULL, NULL);

	return caches > 0 && 2 * caches <= CPU_COUNT(&allowed);
}

/* Set the affinity of all threads, like taskset -a. */
static void move_workers(const cpu_set_t *cpus)
{
	for (unsigned i = 0; i < busy.workers; i++) {
		if (sched_setaffinity(busy.tids[i], sizeof(*cpus), cpus) != 0)
			stress_fail("a worker cannot be moved");
	}
}

static void as_text(const cpu_set_t *cpus, char *text)
{
	for (unsigned cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (CPU_ISSET(cpu, cpus))
			text += sprintf(text, "%u,", cpu);
	}
	text[-1] = '\0';
}

static void *change_things(void *arg)
{
	char last_text[16], all_text[CPU_SETSIZE * 5];
	cpu_set_t last;

	(void)arg;
	CPU_ZERO(&last);
	CPU_SET(last_cpu(), &last);
	as_text(&last, last_text);
	as_text(&allowed, all_text);
	for (unsigned round = 0; round < ROUNDS; round++) {
		move_workers(&last);
		wait_until_on(&last, true);
		move_workers(&allowed);
		wait_until_on(&allowed, true);
		if (*own.cpuset) {
			cgroups_set(&own, last_text);
			wait_until_on(&last, true);
			cgroups_set(&own, all_text);
			wait_until_on(&allowed, true);
		}
		if (*own.cpu && caches_are_shared()) {
			cgroups_quota(&own, busy.workers * 50);
			wait_until_on(&allowed, false);
			cgroups_quota(&own, 0);
			wait_until_on(&allowed, true);
		}
	}
	/* Relaxed: the flag publishes no other data. */
	atomic_store_relaxed(&changes_over, 1);
	return NULL;
}

static void work_and_change(const void *workers)
{
	pthread_t thread;
	uint64_t done = 0;

	cgroups_enter(&own, getpid());
	hostile_open(&busy, *(const unsigned *)workers, NULL);
	if (pthread_create(&thread, NULL, change_things, NULL) != 0)
		stress_fail("cannot create a thread");
	/* Relaxed: as the store. */
	while (!atomic_load_relaxed(&changes_over))
		done += hostile_run(&busy, 20000, NULL, NULL);
	pthread_join(thread, NULL);
	hostile_close(&busy);
	printf("placement: %" PRIu64 " tasks, each done once; %u times each "
	       "moved, %s and limited\n",
	       done, ROUNDS, *own.cpuset ? "enclosed" : "not enclosed");
}

/* ---- the parent ------------------------------------------------------------ */

static pid_t main_process;

/* Runs however the program ends. */
static void clean_up(void)
{
	if (getpid() == main_process)
		cgroups_remove(&own);
}

static void run_in_child(const char *name, void (*body)(const void *ctx),
			 const void *ctx)
{
	int status;
	pid_t child;

	fflush(NULL);
	child = fork();
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != main_process)
			_exit(1);
		body(ctx);
		fflush(NULL);
		_exit(0);
	}
	if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
		stress_fail("%s: it failed", name);
}

static void check(const struct condition *of)
{
	char cpus[16];

	snprintf(cpus, sizeof(cpus), "%u", last_cpu());
	if (of->set)
		cgroups_set(&own, cpus);
	cgroups_quota(&own, of->percent);
	run_in_child(of->name, run_child, of);
}

static void check_changes(unsigned cpus)
{
	char all[CPU_SETSIZE * 5];

	if (cpus < 2 || cpus > HOSTILE_MAX_WORKERS) {
		printf("not at work: %u CPUs, needed are 2 to %u\n", cpus,
		       HOSTILE_MAX_WORKERS);
		return;
	}
	as_text(&allowed, all);
	cgroups_set(&own, all);
	cgroups_quota(&own, 0);
	run_in_child("changes while it works", work_and_change, &cpus);
}

int main(void)
{
	unsigned cpus, half;
	bool groups;

	main_process = getpid();
	atexit(clean_up);
	unsetenv("SKUA_WORKERS");
	sched_getaffinity(0, sizeof(allowed), &allowed);
	cpus = (unsigned)CPU_COUNT(&allowed);
	half = (cpus + 1) / 2;
	check(&(struct condition){
		.name = "as it is", .workers = cpus, .pinned = true });
	check(&(struct condition){ .name = "a mask of one CPU",
				   .mask = true,
				   .workers = 1,
				   .pinned = true });
	groups = cgroups_make(&own);
	if (groups && *own.cpu) {
		check(&(struct condition){ .name = "half the time of all CPUs",
					   .percent = cpus * 50,
					   .workers = half });
		check(&(struct condition){ .name = "a tenth of a CPU less",
					   .percent = cpus * 100 - 10,
					   .workers = cpus });
		check(&(struct condition){ .name = "more time than CPUs",
					   .percent = cpus * 100 + 50,
					   .workers = cpus,
					   .pinned = true });
	}
	if (groups && *own.cpuset)
		check(&(struct condition){ .name = "a group of one CPU",
					   .set = true,
					   .workers = 1,
					   .pinned = true });
	check_changes(cpus);
	if (!groups) {
		printf("no control group can be made here\n");
		return 77;
	}
	return 0;
}
