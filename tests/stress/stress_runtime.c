/* SPDX-License-Identifier: MIT */
/**
 * stress_runtime.c - W1 and W2 for whole runtimes, from 1 to 200 workers
 *
 * The tasks of a round form a binary tree: task i spawns 2i and 2i + 1. Several
 * foreign threads spawn the roots of its subtrees, and each waits in a drain.
 * Some tasks yield a few times. Each task ends once. Small local queues, so
 * that they overflow all the time. There is no timeout: a task that is lost
 * hangs the program.
 */
#include <skua/skua.h>

#include "core/base/rng.h"
#include "tests/stress/stress.h"

#define SPAWNERS 3u
/* The spawners share the tasks [SPLIT, 2 * SPLIT); what is above those in the
 * tree they spawn as single tasks. */
#define SPLIT 1024u

struct node {
	struct skua_task task;
	struct skua_runtime *rt;
	uint32_t number;
	uint32_t yields;
};

static struct stress_ledger ledger;
static struct node nodes[STRESS_ROUND + 1];
static uint32_t bonus; /* yields of a task, now and then */
static atomic_u64 released;

static void release(struct skua_task *task)
{
	(void)task;
	/* Relaxed: a count; the drain orders it. */
	atomic_fetch_add_relaxed(&released, 1);
}

static void check(int code, const char *what)
{
	if (code != 0)
		stress_fail("%s: %d", what, code);
}

static enum skua_poll run(struct skua_task *task);

static void spawn(struct skua_runtime *rt, uint32_t number)
{
	struct node *node = &nodes[number];

	node->rt = rt;
	node->number = number;
	node->yields = number % 7 == 0 ? bonus : 0;
	check(skua_task_init(&node->task, run), "init");
	check(skua_task_detach(&node->task, release), "detach");
	check(skua_task_spawn(rt, &node->task), "spawn");
}

static enum skua_poll run(struct skua_task *task)
{
	struct node *node = (struct node *)task;

	if (node->yields > 0) {
		node->yields--;
		return SKUA_YIELD;
	}
	if (node->number >= SPLIT) {
		for (uint32_t child = 2 * node->number;
		     child <= 2 * node->number + 1 && child <= STRESS_ROUND;
		     child++)
			spawn(node->rt, child);
	}
	stress_take(&ledger, node->number);
	return SKUA_DONE;
}

struct spawner {
	unsigned index;
	struct skua_runtime *rt;
};

static void *spawner_body(void *arg)
{
	struct spawner *spawner = arg;

	for (uint32_t i = 1 + spawner->index; i < 2 * SPLIT; i += SPAWNERS)
		spawn(spawner->rt, i);
	check(skua_runtime_drain(spawner->rt), "drain");
	return NULL;
}

static void round_of_tasks(struct skua_runtime *rt)
{
	struct spawner spawners[SPAWNERS];

	atomic_store_relaxed(&released, 0);
	for (unsigned i = 0; i < SPAWNERS; i++)
		spawners[i] = (struct spawner){ .index = i, .rt = rt };
	stress_threads(SPAWNERS, spawner_body, spawners, sizeof(spawners[0]));
	/* Another spawner may have added tasks after a drain; the last drain
	 * was after the last spawn. */
	stress_ledger_close(&ledger);
	if (atomic_load_relaxed(&released) != STRESS_ROUND)
		stress_fail("%" PRIu64 " of %u released",
			    atomic_load_relaxed(&released), STRESS_ROUND);
}

int main(void)
{
	static const unsigned workers[] = { 1, 2, 3, 64, 65, 200 };
	static const uint32_t capacities[] = { 4, 256, 32 };
	uint64_t ops = stress_ops();
	/* A short run goes through all of these, too. */
	unsigned repeats = ops < STRESS_DEFAULT_OPS ? 1 : 8;
	uint64_t done = 0;
	uint64_t stolen = 0;
	uint64_t overflows = 0;

	/* An operation is a poll. */
	for (unsigned round = 0; done < ops || round < 6; round++) {
		struct skua_config config = {
			.size = sizeof(config),
			.workers = workers[round % 6],
			.queue_capacity = capacities[round % 3],
		};
		struct skua_error err;
		struct skua_runtime *rt;
		struct skua_stats stats;

		bonus = round % 4;
		if (skua_runtime_create(&rt, &config, &err) != 0)
			stress_fail("create: %s", err.text);
		for (unsigned i = 0; i < repeats; i++)
			round_of_tasks(rt);
		check(skua_runtime_stats(rt, &stats), "stats");
		if (stats.tasks_spawned != repeats * UINT64_C(1) * STRESS_ROUND)
			stress_fail("%" PRIu64 " spawned", stats.tasks_spawned);
		done += stats.total.tasks_polled;
		stolen += stats.total.tasks_stolen;
		overflows += stats.total.overflows;
		check(skua_runtime_destroy(rt), "destroy");
	}
	if (overflows == 0)
		stress_fail("no overflow: not all was tested");
	printf("runtime: %" PRIu64 " polls, %" PRIu64 " stolen, %" PRIu64
	       " overflows, each task done once\n",
	       done, stolen, overflows);
	return 0;
}
