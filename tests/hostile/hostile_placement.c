/* SPDX-License-Identifier: MIT */
/**
 * hostile_placement.c - how many workers there are by default, and where
 *
 * A runtime is created in child processes: with an affinity mask of one CPU, as
 * by taskset; in a control group with one CPU; and in one with less CPU time than
 * there are CPUs. In each, the threads of the workers are asked where they may
 * run.
 */
#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "skua/skua.h"
#include "tests/hostile/cgroups.h"
#include "tests/stress/stress.h"

/* What a child is under; and what it has to find. */
struct condition {
	const char *name;
	bool mask;        /* of the last CPU */
	bool set;         /* likewise, by a control group */
	unsigned percent; /* of a CPU's time; 0: all */
	unsigned workers;
	bool pinned; /* each to a CPU of its own */
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

/* Is the thread a worker? Its name says it. */
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

/* Add where each worker may run, how many there are, and on one CPU alone. */
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

/* Workers name themselves as they begin: all have, once they are parked. */
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

static void run_child(const struct condition *of)
{
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
	fflush(NULL);
	_exit(0);
}

/* ---- the parent ------------------------------------------------------------ */

static void check(const struct condition *of)
{
	char cpus[16];
	int status;
	pid_t child;

	snprintf(cpus, sizeof(cpus), "%u", last_cpu());
	if (of->set)
		cgroups_set(&own, cpus);
	cgroups_quota(&own, of->percent);
	fflush(NULL);
	child = fork();
	if (child == 0)
		run_child(of);
	if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
		stress_fail("%s: it failed", of->name);
}

static void clean_up(void)
{
	cgroups_remove(&own);
}

int main(void)
{
	unsigned cpus, half;
	bool groups;

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
	clean_up();
	if (!groups) {
		printf("no control group can be made here\n");
		return 77;
	}
	return 0;
}
