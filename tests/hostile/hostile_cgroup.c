/* SPDX-License-Identifier: MIT */
/**
 * hostile_cgroup.c - shrink a control group's CPUs to one and its quota to a tenth of a CPU
 *
 * A child process runs the load in its own control groups. The parent, which is not in
 * these groups, takes CPUs and quota away and gives them back, at random, until the child
 * has ended. It then removes the groups, also if the child fails or a signal ends the
 * program.
 */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/hostile/cgroups.h"
#include "tests/hostile/hostile.h"

/* The longest time that a change lasts. One in a number of changes cuts the quota and
 * lasts longer, so that the quota is used up within a period of 100 ms. */
#define CHANGE_NS   50000000u
#define CUT_NS      100000000u
#define ONE_CUTS_IN 6u

/* ---- the child ----------------------------------------------------------- */

static void run_load(void)
{
	static const unsigned workers[] = { 2, 8 };
	static struct hostile h;
	uint64_t done = 0;

	for (unsigned i = 0; i < 2; i++) {
		hostile_open(&h, workers[i], NULL);
		done += hostile_run(&h, hostile_tasks() / 2, NULL, NULL);
		hostile_close(&h);
	}
	printf("cgroup: %" PRIu64 " tasks, each done once; ", done);
}

static pid_t start_child(const struct cgroups *groups, const sigset_t *mask)
{
	pid_t parent = getpid();
	pid_t pid = fork();

	if (pid < 0)
		stress_fail("fork: %s", strerror(errno));
	if (pid > 0)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	pthread_sigmask(SIG_SETMASK, mask, NULL);
	cgroups_enter(groups, getpid());
	run_load();
	fflush(NULL);
	_exit(0);
}

/* ---- the parent ---------------------------------------------------------- */

static struct cgroups own;
static pid_t child; /* 0: none */
static pid_t main_process;
static uint64_t changes;

/* Runs however the program ends. */
static void clean_up(void)
{
	if (getpid() != main_process)
		return;
	if (child > 0) {
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
	}
	cgroups_remove(&own);
}

/* Get the CPUs on which this process may run, in the format of cpuset.cpus. */
static void all_cpus(char *text, size_t size, char *first, size_t first_size)
{
	cpu_set_t all;
	size_t length = 0;

	if (sched_getaffinity(0, sizeof(all), &all) != 0)
		stress_fail("no affinity");
	for (size_t cpu = 0; cpu < CPU_SETSIZE && length < size; cpu++) {
		if (!CPU_ISSET(cpu, &all))
			continue;
		if (length == 0)
			snprintf(first, first_size, "%zu", cpu);
		length += (size_t)snprintf(text + length, size - length,
					   "%s%zu", length ? "," : "", cpu);
	}
}

/* Make changes until the child has ended, or a signal asks the program to end. */
static void change_until_end(const sigset_t *awaited)
{
	char all[4096];
	char first[16];
	struct rng rng;
	int number = -1;

	rng_init(&rng, 1);
	all_cpus(all, sizeof(all), first, sizeof(first));
	for (bool less = true; number < 0; less = !less, changes++) {
		bool cut = less && rng_below(&rng, ONE_CUTS_IN) == 0;
		struct timespec nap = { 0, rng_below(&rng, CHANGE_NS) };

		if (cut)
			nap.tv_nsec += CUT_NS;
		cgroups_set(&own, less ? first : all);
		cgroups_quota(&own, cut ? 10 : 0);
		number = sigtimedwait(awaited, NULL, &nap);
	}
	if (number != SIGCHLD)
		kill(child, SIGKILL);
}

int main(void)
{
	sigset_t awaited;
	sigset_t before;
	int status;

	if (!cgroups_make(&own))
		hostile_skip("no control group with a quota or a set of CPUs "
			     "can be made here");
	main_process = getpid();
	atexit(clean_up);
	sigemptyset(&awaited);
	sigaddset(&awaited, SIGCHLD);
	sigaddset(&awaited, SIGINT);
	sigaddset(&awaited, SIGTERM);
	sigaddset(&awaited, SIGHUP);
	pthread_sigmask(SIG_BLOCK, &awaited, &before);
	child = start_child(&own, &before);
	change_until_end(&awaited);
	waitpid(child, &status, 0);
	child = 0;
	printf("%" PRIu64 " changes of%s%s, %" PRIu64 " times out of quota\n",
	       changes, *own.cpu ? " the quota," : "",
	       *own.cpuset ? " the CPUs" : "", cgroups_throttled(&own));
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
