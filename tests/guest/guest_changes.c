/* SPDX-License-Identifier: MIT */
/**
 * guest_changes.c - CPUs are taken away while tasks run
 *
 * A thread changes what the workers may run on, while two others run the load of
 * hostile.h. Each change lasts until the workers have done some more: a lost task,
 * or a worker that does not go on, hangs the guest.
 */
#include "tests/guest/guest.h"

#include <sched.h>
#include <string.h>
#include <unistd.h>

#include "tests/hostile/cgroups.h"

/* Tasks of one load; more than one if there are more changes. */
#define LOAD_TASKS 2000u
/* How many polls a change lasts, at least. */
#define CHANGE_POLLS 2000u
#define LOOK_NS      1000000u

static uint64_t changes;

/* ---- the load -------------------------------------------------------------- */

static uint64_t polls(const struct hostile *h)
{
	struct skua_stats stats;

	hostile_check(skua_runtime_stats(h->rt, &stats), "stats");
	return stats.total.tasks_polled;
}

static void let_run(const struct hostile *h)
{
	uint64_t until = polls(h) + CHANGE_POLLS;

	while (polls(h) < until)
		hostile_nap(LOOK_NS);
	changes++;
}

/* Run the load until the changes are over. */
static uint64_t run_beside(struct hostile *h, void *(*change)(void *))
{
	pthread_t thread;
	uint64_t done = 0;

	if (pthread_create(&thread, NULL, change, h) != 0)
		stress_fail("cannot create a thread");
	while (!hostile_over(h))
		done += hostile_run(h, LOAD_TASKS, NULL, NULL);
	pthread_join(thread, NULL);
	return done;
}

static void end_changes(struct hostile *h)
{
	/* Relaxed: as in hostile_over(). */
	atomic_store_relaxed(&h->over, 1);
}

/* ---- where the workers are ------------------------------------------------- */

static cpu_set_t allowed;

static enum skua_poll look_where(struct skua_task *task)
{
	int cpu = sched_getcpu();

	(void)task;
	if (cpu < 0 || !CPU_ISSET((size_t)cpu, &allowed))
		stress_fail("a worker runs on CPU %d, which is not allowed",
			    cpu);
	return SKUA_DONE;
}

static cpu_set_t affinity(const struct hostile *h, unsigned worker)
{
	cpu_set_t set;

	if (sched_getaffinity(h->tids[worker], sizeof(set), &set) != 0)
		stress_fail("worker %u has no affinity", worker);
	return set;
}

/* Each worker may run, and runs, on what is allowed alone. */
static void check_workers(const struct hostile *h)
{
	for (unsigned i = 0; i < h->workers; i++) {
		cpu_set_t set = affinity(h, i);
		struct skua_task task;

		CPU_OR(&set, &set, &allowed);
		if (!CPU_EQUAL(&set, &allowed))
			stress_fail("worker %u may run on CPUs that are not "
				    "allowed",
				    i);
		hostile_check(skua_task_init(&task, look_where), "init");
		hostile_check(skua_task_spawn_on(h->rt, i, &task), "spawn");
		hostile_check(skua_task_join(&task), "join");
	}
}

/* ---- a smaller control group ----------------------------------------------- */

static struct cgroups own;

/* The set of @count CPUs from @first on, and round again. */
static void allow(const struct hostile *h, unsigned first, unsigned count)
{
	char text[GUEST_MAX_CPUS * 4] = "";

	CPU_ZERO(&allowed);
	for (unsigned i = 0; i < count; i++) {
		unsigned cpu = (first + i) % h->workers;
		size_t length = strlen(text);

		CPU_SET(cpu, &allowed);
		snprintf(text + length, sizeof(text) - length, "%s%u",
			 i > 0 ? "," : "", cpu);
	}
	cgroups_set(&own, text);
}

/* From each CPU on: a half of all, one, and all again. */
static void *shrink(void *arg)
{
	struct hostile *h = arg;

	for (unsigned first = 0; first < h->workers; first++) {
		allow(h, first, h->workers / 2);
		check_workers(h);
		let_run(h);
		allow(h, first, 1);
		check_workers(h);
		let_run(h);
		allow(h, 0, h->workers);
		let_run(h);
	}
	allow(h, h->workers / 4, h->workers / 2);
	end_changes(h);
	return NULL;
}

static void enter_group(void)
{
	if (!cgroups_make(&own) || !*own.cpuset)
		stress_fail("no control group with a set of CPUs");
	cgroups_enter(&own, getpid());
}

static void leave_group(void)
{
	guest_put("/cgroup/cgroup.procs", "0");
	cgroups_remove(&own);
}

void guest_shrink(void)
{
	static struct hostile h;
	uint64_t done;

	enter_group();
	hostile_open(&h, 0, NULL);
	done = run_beside(&h, shrink);
	check_workers(&h);
	hostile_close(&h);
	printf("shrink: %" PRIu64 " tasks, each done once; %" PRIu64
	       " times the CPUs were others\n",
	       done, changes);
	leave_group();
}

/* ---- CPUs that are offline ------------------------------------------------- */

static void set_online(unsigned cpu, bool online)
{
	char path[64];

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%u/online",
		 cpu);
	guest_put(path, online ? "1" : "0");
	if (online)
		CPU_SET(cpu, &allowed);
	else
		CPU_CLR(cpu, &allowed);
}

/* Each but the first, which cannot be; and all of these at once. */
static void *take_offline(void *arg)
{
	struct hostile *h = arg;

	for (unsigned cpu = 1; cpu < h->workers; cpu++) {
		set_online(cpu, false);
		check_workers(h);
		let_run(h);
		set_online(cpu, true);
		let_run(h);
	}
	for (unsigned cpu = 1; cpu < h->workers; cpu++)
		set_online(cpu, false);
	check_workers(h);
	let_run(h);
	for (unsigned cpu = 1; cpu < h->workers; cpu++)
		set_online(cpu, true);
	let_run(h);
	end_changes(h);
	return NULL;
}

void guest_offline(void)
{
	static struct hostile h;
	uint64_t done;

	sched_getaffinity(0, sizeof(allowed), &allowed);
	hostile_open(&h, 0, NULL);
	done = run_beside(&h, take_offline);
	hostile_close(&h);
	printf("offline: %" PRIu64 " tasks, each done once; %" PRIu64
	       " times CPUs went or came\n",
	       done, changes);
}

/* ---- the way back ---------------------------------------------------------- */

static unsigned home[GUEST_MAX_CPUS];

static bool all_home(const struct hostile *h)
{
	for (unsigned i = 0; i < h->workers; i++) {
		cpu_set_t set = affinity(h, i);

		if (CPU_COUNT(&set) != 1 || !CPU_ISSET(home[i], &set))
			return false;
	}
	return true;
}

/* All may run where they ran at first. Each has work to do, so that it gets to
 * look where it may run. */
static void let_come_home(const struct hostile *h)
{
	while (!all_home(h)) {
		check_workers(h);
		hostile_nap(LOOK_NS);
	}
	changes++;
}

static void *send_away(void *arg)
{
	struct hostile *h = arg;

	for (unsigned first = 0; first < h->workers; first += h->workers / 2) {
		allow(h, first, h->workers / 2);
		let_run(h);
		allow(h, 0, h->workers);
		let_come_home(h);
		set_online(h->workers - 1 - first, false);
		let_run(h);
		set_online(h->workers - 1 - first, true);
		let_come_home(h);
	}
	end_changes(h);
	return NULL;
}

void guest_home(void)
{
	static struct hostile h;
	uint64_t done;

	enter_group();
	hostile_open(&h, 0, NULL);
	guest_cpus(home, h.workers);
	done = run_beside(&h, send_away);
	hostile_close(&h);
	printf("home: %" PRIu64 " tasks, each done once; %" PRIu64
	       " times all workers were on their CPUs again\n",
	       done, changes / 2);
	leave_group();
}
