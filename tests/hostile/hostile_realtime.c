/* SPDX-License-Identifier: MIT */
/**
 * hostile_realtime.c - a real-time thread takes a worker's CPU away
 *
 * First the thread takes nine milliseconds of every ten, whatever happens. Then it waits
 * each time until a task on that worker has filled the worker's queue, and takes the CPU
 * until other workers have run these tasks, or for nine milliseconds, so that the machine
 * stays usable. Sometimes the other workers have no CPU either, but at least one time in
 * four they must be done within the nine milliseconds. This is not required if there are
 * more workers than CPUs, because the kernel may then leave the woken worker on the taken
 * CPU.
 */
#include <errno.h>
#include <sched.h>
#include <semaphore.h>

#include "tests/hostile/hostile.h"

#define PERIOD_NS UINT64_C(10000000)
#define SLICE_NS  UINT64_C(9000000)

/* The worker whose CPU is taken. */
#define STARVED 0u

/* Move the calling thread to the CPU of worker STARVED, as a real-time
 * thread. Return: 0 or -errno. */
static int become_hog(const struct hostile *h)
{
	struct sched_param param = { .sched_priority = 1 };
	cpu_set_t cpus;

	if (sched_getaffinity(h->tids[STARVED], sizeof(cpus), &cpus) != 0 ||
	    sched_setaffinity(0, sizeof(cpus), &cpus) != 0)
		return errno;
	return pthread_setschedparam(pthread_self(), SCHED_FIFO, &param);
}

/* ---- most of the time ---------------------------------------------------- */

static uint64_t slices;

static void *hog_most(void *arg)
{
	struct hostile *h = arg;
	uint64_t start_ns = skua_now_ns();

	hostile_check(become_hog(h), "SCHED_FIFO");
	for (; !hostile_over(h); slices++) {
		while (skua_now_ns() < start_ns + SLICE_NS)
			cpu_relax();
		start_ns += PERIOD_NS;
		hostile_nap_until(start_ns);
	}
	return NULL;
}

/* ---- while the worker's queue is full ------------------------------------ */

#define CHILDREN 64u

struct child {
	struct skua_task task;
	atomic_u32 ended;
};

static struct child children[CHILDREN];
static atomic_u32 children_ended;
static sem_t queue_full;
static atomic_u32 feeding_over;
static uint64_t left_to_others;

static enum skua_poll child_poll(struct skua_task *task)
{
	/* Relaxed: a count. Release: the task has ended. Pairs with the acquires
	 * in hog_slices(). */
	atomic_fetch_add_relaxed(&((struct child *)task)->ended, 1);
	atomic_fetch_add_release(&children_ended, 1);
	return SKUA_DONE;
}

struct feeder {
	struct skua_task task;
	struct skua_runtime *rt;
};

/* Fill the queue of the starved worker. The real-time thread takes the CPU
 * before this returns. */
static enum skua_poll feed(struct skua_task *task)
{
	for (unsigned i = 0; i < CHILDREN; i++)
		hostile_check(skua_task_spawn(((struct feeder *)task)->rt,
					      &children[i].task),
			      "spawn");
	sem_post(&queue_full);
	return SKUA_DONE;
}

static void *hog_slices(void *arg)
{
	uint64_t start_ns;

	hostile_check(become_hog(arg), "SCHED_FIFO");
	for (;;) {
		while (sem_wait(&queue_full) != 0)
			;
		/* Relaxed: the semaphore orders it. */
		if (atomic_load_relaxed(&feeding_over))
			return NULL;
		start_ns = skua_now_ns();
		while (atomic_load_acquire(&children_ended) < CHILDREN &&
		       skua_now_ns() < start_ns + SLICE_NS)
			cpu_relax();
		left_to_others +=
			atomic_load_acquire(&children_ended) == CHILDREN;
	}
}

static void feed_once(struct hostile *h)
{
	struct feeder feeder = { .task = SKUA_TASK_INIT(feed), .rt = h->rt };

	atomic_store_relaxed(&children_ended, 0);
	for (unsigned i = 0; i < CHILDREN; i++) {
		hostile_check(skua_task_init(&children[i].task, child_poll),
			      "init");
		atomic_init(&children[i].ended, 0);
	}
	hostile_check(skua_task_spawn_on(h->rt, STARVED, &feeder.task),
		      "spawn");
	hostile_check(skua_task_join(&feeder.task), "join");
	hostile_check(skua_runtime_drain(h->rt), "drain");
	for (unsigned i = 0; i < CHILDREN; i++) {
		if (atomic_load_relaxed(&children[i].ended) != 1)
			stress_fail("a task ended %" PRIu32 " times",
				    atomic_load_relaxed(&children[i].ended));
	}
}

static unsigned cpus(void)
{
	cpu_set_t all;

	if (sched_getaffinity(0, sizeof(all), &all) != 0)
		stress_fail("no affinity");
	return (unsigned)CPU_COUNT(&all);
}

static uint64_t feed_and_starve(struct hostile *h, uint64_t rounds)
{
	pthread_t hog;

	left_to_others = 0;
	atomic_store_relaxed(&feeding_over, 0);
	if (pthread_create(&hog, NULL, hog_slices, h) != 0)
		stress_fail("cannot create a thread");
	for (uint64_t i = 0; i < rounds; i++) {
		feed_once(h);
		/* Leave the CPU to the rest of the machine. */
		hostile_nap(PERIOD_NS - SLICE_NS);
	}
	atomic_store_relaxed(&feeding_over, 1);
	sem_post(&queue_full);
	pthread_join(hog, NULL);
	if (h->workers <= cpus() && 4 * left_to_others < rounds)
		stress_fail("%u workers: tasks of the one without CPU were "
			    "left where they are %" PRIu64 " times of %" PRIu64,
			    h->workers, rounds - left_to_others, rounds);
	return left_to_others;
}

/* ---- both ---------------------------------------------------------------- */

/* Return why this test cannot run here, or NULL. */
static const char *obstacle(void)
{
	struct sched_param realtime = { .sched_priority = 1 };
	struct sched_param usual = { .sched_priority = 0 };
	cpu_set_t all;

	if (sched_getaffinity(0, sizeof(all), &all) != 0 || CPU_COUNT(&all) < 2)
		return "one CPU: a real-time thread would take the only one";
	if (pthread_setschedparam(pthread_self(), SCHED_FIFO, &realtime) != 0)
		return "no SCHED_FIFO: CAP_SYS_NICE is missing";
	pthread_setschedparam(pthread_self(), SCHED_OTHER, &usual);
	return NULL;
}

int main(void)
{
	static const unsigned workers[] = { 2, 8 };
	static struct hostile h;
	const char *reason = obstacle();
	uint64_t rounds = 20 + hostile_tasks() / 20000;
	uint64_t done = 0;
	uint64_t taken = 0;

	if (reason)
		hostile_skip(reason);
	sem_init(&queue_full, 0, 0);
	for (unsigned i = 0; i < 2; i++) {
		hostile_open(&h, workers[i], NULL);
		done += hostile_run_against(&h, hostile_tasks() / 2, hog_most);
		taken += feed_and_starve(&h, rounds);
		done += rounds * (CHILDREN + UINT64_C(1));
		hostile_close(&h);
	}
	printf("realtime: %" PRIu64 " tasks, each done once; %" PRIu64
	       " slices of the CPU taken, and %" PRIu64 " times of %" PRIu64
	       " others ran what the starved worker had\n",
	       done, slices, taken, 2 * rounds);
	return 0;
}
