/* SPDX-License-Identifier: MIT */
/**
 * guest_steals.c - what a thief takes first
 *
 * All workers are held in a poll, and all but one have tasks in their queues. The
 * one, the thief, is let go: it runs all of these tasks, and nobody else any. So
 * the order in which they are run is that in which they were stolen: as long as
 * those who share the thief's cache have some, no others; then those on its node;
 * then the rest. Each worker is the thief in turn.
 */
#include "tests/guest/guest.h"

#include <errno.h>
#include <semaphore.h>

/* The newest of them waits in the LIFO slot, where nobody steals it. */
#define TASKS  9u
#define QUEUED (TASKS - 1)
#define ROUNDS 3u

struct item {
	struct skua_task task;
	unsigned of; /* the worker in whose queue it was */
};

/* Holds a worker. */
struct holder {
	struct skua_task task;
	sem_t go;
	struct item items[TASKS];
};

static struct hostile h;
static struct holder holders[GUEST_MAX_CPUS];
static unsigned cpus[GUEST_MAX_CPUS];
static struct skua_topology *topology;
static unsigned thief;
static sem_t arrived, emptied;

/* Whose tasks were run, in this order; the thief's own until it is done. */
static unsigned taken[GUEST_MAX_CPUS * TASKS];
static unsigned taken_count;

/* ---- tasks ----------------------------------------------------------------- */

static void wait_for(sem_t *semaphore)
{
	while (sem_wait(semaphore) != 0 && errno == EINTR)
		;
}

static unsigned expected(void)
{
	return (h.workers - 1) * QUEUED;
}

static enum skua_poll run_item(struct skua_task *task)
{
	const struct item *item = (const struct item *)task;
	unsigned worker = (unsigned)skua_worker_index(h.rt);

	if (taken_count == expected())
		return SKUA_DONE; /* of a LIFO slot: the workers are let go */
	if (worker != thief)
		stress_fail("worker %u runs a task, and is held", worker);
	taken[taken_count++] = item->of;
	if (taken_count == expected())
		sem_post(&emptied);
	return SKUA_DONE;
}

static void fill_queue(struct holder *holder)
{
	for (unsigned i = 0; i < TASKS; i++) {
		struct item *item = &holder->items[i];

		hostile_check(skua_task_init(&item->task, run_item), "init");
		item->of = (unsigned)(holder - holders);
		hostile_check(skua_task_spawn(h.rt, &item->task), "spawn");
	}
}

/* Until it is let go; one that is robbed is let go to fill its queue before. */
static enum skua_poll hold(struct skua_task *task)
{
	struct holder *holder = (struct holder *)task;

	sem_post(&arrived);
	wait_for(&holder->go);
	if (holder != &holders[thief]) {
		fill_queue(holder);
		sem_post(&arrived);
		wait_for(&holder->go);
	}
	return SKUA_DONE;
}

/* ---- a round --------------------------------------------------------------- */

/* 0: as near as can be; workers of one number may be taken from in any order. */
static unsigned farness(unsigned worker)
{
	const struct skua_cpu *from = guest_cpu(topology, cpus[thief]);
	const struct skua_cpu *to = guest_cpu(topology, cpus[worker]);

	if (from->llc == to->llc)
		return 0;
	return from->node == to->node ? 1 : 2;
}

static void check_order(void)
{
	for (unsigned i = 1; i < taken_count; i++) {
		unsigned near = taken[i], far = taken[i - 1];

		if (farness(near) < farness(far))
			stress_fail("worker %u on CPU %u took from CPU %u, and "
				    "then from CPU %u, which is nearer (steal "
				    "%u of %u)",
				    thief, cpus[thief], cpus[far], cpus[near],
				    i, taken_count);
	}
}

static void join_all(void)
{
	for (unsigned i = 0; i < h.workers; i++) {
		struct holder *holder = &holders[i];

		hostile_check(skua_task_join(&holder->task), "join");
		for (unsigned k = 0; i != thief && k < TASKS; k++)
			hostile_check(skua_task_join(&holder->items[k].task),
				      "join");
	}
}

static void let_victims_go(void)
{
	for (unsigned i = 0; i < h.workers; i++) {
		if (i != thief)
			sem_post(&holders[i].go);
	}
}

static void wait_for_arrivals(unsigned count)
{
	while (count-- > 0)
		wait_for(&arrived);
}

static void rob_all(void)
{
	taken_count = 0;
	for (unsigned i = 0; i < h.workers; i++) {
		hostile_check(skua_task_init(&holders[i].task, hold), "init");
		hostile_check(skua_task_spawn_on(h.rt, i, &holders[i].task),
			      "spawn");
	}
	/* Nobody fills a queue while there are others who could steal. */
	wait_for_arrivals(h.workers);
	let_victims_go();
	wait_for_arrivals(h.workers - 1);
	sem_post(&holders[thief].go);
	wait_for(&emptied);
	check_order();
	let_victims_go();
	join_all();
}

void guest_steals(void)
{
	unsigned tasks = 0;

	setenv("SKUA_LIFO_STEAL_DELAY_NS", "private", 1);
	topology = guest_topology();
	hostile_open(&h, 0, NULL);
	guest_cpus(cpus, h.workers);
	sem_init(&arrived, 0, 0);
	sem_init(&emptied, 0, 0);
	for (unsigned i = 0; i < h.workers; i++)
		sem_init(&holders[i].go, 0, 0);
	for (unsigned i = 0; i < ROUNDS * h.workers; i++) {
		thief = i % h.workers;
		rob_all();
		tasks += taken_count;
	}
	hostile_close(&h);
	skua_topology_free(topology);
	printf("steals: %u tasks stolen by %u workers, near ones first\n",
	       tasks, h.workers);
}
