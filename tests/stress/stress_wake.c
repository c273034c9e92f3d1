/* SPDX-License-Identifier: MIT */
/**
 * stress_wake.c - no wake-up is lost, and none after the end
 *
 * Foreign threads spawn one task and join it, again and again, with pauses
 * around the time that a worker takes to fall asleep: nearly every spawn meets
 * a worker on its way into a park. A lost wake-up hangs the program, because
 * there is no timeout anywhere. Then runtimes are destroyed while foreign
 * threads still spawn: each spawn either ran or was refused.
 */
#include <errno.h>
#include <skua/skua.h>

#include "core/base/rng.h"
#include "tests/stress/stress.h"

#define SPAWNERS 2u

/* Spawns by one thread in one round. */
#define ROUND 20000u

/* After so many refusals a spawner of a closing runtime ends. */
#define REFUSALS 100u

struct spawner {
	struct skua_runtime *rt;
	struct rng rng;
	uint64_t ran;     /* polls of its tasks */
	uint64_t refused; /* spawns that were refused */
};

struct ping {
	struct skua_task task;
	uint64_t *ran;
};

static enum skua_poll ping(struct skua_task *task)
{
	(*((struct ping *)task)->ran)++;
	return SKUA_DONE;
}

static void pause_for(uint32_t rounds)
{
	while (rounds-- > 0)
		cpu_relax();
}

static void *wake_body(void *arg)
{
	struct spawner *s = arg;
	struct ping p = { .task = SKUA_TASK_INIT(ping), .ran = &s->ran };

	for (unsigned i = 0; i < ROUND; i++) {
		if (skua_task_spawn(s->rt, &p.task) != 0 ||
		    skua_task_join(&p.task) != 0)
			stress_fail("spawn or join refused");
		pause_for(rng_below(&s->rng, 200));
	}
	return NULL;
}

static void *shutdown_body(void *arg)
{
	struct spawner *s = arg;
	struct ping p = { .task = SKUA_TASK_INIT(ping), .ran = &s->ran };

	while (s->refused < REFUSALS) {
		int code = skua_task_spawn(s->rt, &p.task);

		if (code == -ESHUTDOWN) {
			s->refused++;
			continue;
		}
		if (code != 0 || skua_task_join(&p.task) != 0)
			stress_fail("spawn or join refused");
	}
	return NULL;
}

static struct skua_runtime *create(unsigned workers)
{
	struct skua_config config = { .size = sizeof(config),
				      .workers = workers };
	struct skua_error err;
	struct skua_runtime *rt;

	if (skua_runtime_create(&rt, &config, &err) != 0)
		stress_fail("create: %s", err.text);
	return rt;
}

static uint64_t wake_round(unsigned workers, unsigned seed)
{
	struct skua_runtime *rt = create(workers);
	struct spawner spawners[SPAWNERS] = { 0 };
	uint64_t ran = 0;

	for (unsigned i = 0; i < SPAWNERS; i++) {
		spawners[i].rt = rt;
		rng_init(&spawners[i].rng, seed * SPAWNERS + i);
	}
	stress_threads(SPAWNERS, wake_body, spawners, sizeof(spawners[0]));
	for (unsigned i = 0; i < SPAWNERS; i++)
		ran += spawners[i].ran;
	if (ran != SPAWNERS * ROUND)
		stress_fail("%" PRIu64 " tasks ran of %u", ran,
			    SPAWNERS * ROUND);
	skua_runtime_destroy(rt);
	return ran;
}

/* A task that waits for the spawners to end, so that they can still call the
 * runtime while destroy is waiting for it. */
struct keeper {
	struct skua_task task;
	atomic_u32 spawners_ended;
};

static enum skua_poll keep(struct skua_task *task)
{
	struct keeper *keeper = (struct keeper *)task;

	/* Acquire: orders the spawners' last calls before the end. */
	return atomic_load_acquire(&keeper->spawners_ended) ? SKUA_DONE
							    : SKUA_YIELD;
}

static void *destroy_body(void *arg)
{
	if (skua_runtime_destroy(arg) != 0)
		stress_fail("destroy refused");
	return NULL;
}

static uint64_t shutdown_round(unsigned workers)
{
	struct skua_runtime *rt = create(workers);
	struct spawner spawners[SPAWNERS] = { 0 };
	struct keeper keeper = { .task = SKUA_TASK_INIT(keep) };
	pthread_t threads[SPAWNERS];
	pthread_t destroyer;
	uint64_t refused = 0;

	atomic_init(&keeper.spawners_ended, 0);
	if (skua_task_spawn(rt, &keeper.task) != 0)
		stress_fail("spawn refused");
	for (unsigned i = 0; i < SPAWNERS; i++) {
		spawners[i].rt = rt;
		pthread_create(&threads[i], NULL, shutdown_body, &spawners[i]);
	}
	pthread_create(&destroyer, NULL, destroy_body, rt);
	for (unsigned i = 0; i < SPAWNERS; i++) {
		pthread_join(threads[i], NULL);
		refused += spawners[i].refused;
	}
	atomic_store_release(&keeper.spawners_ended, 1);
	pthread_join(destroyer, NULL);
	return refused;
}

int main(void)
{
	static const unsigned workers[] = { 1, 2, 3, 8 };
	/* A wake-up costs microseconds: a hundredth of the usual number. */
	uint64_t ops = stress_ops() / 100;
	uint64_t ran = 0;
	uint64_t refused = 0;

	for (unsigned round = 0; ran < ops || round < 4; round++)
		ran += wake_round(workers[round % 4], round);
	for (unsigned round = 0; round < 200; round++)
		refused += shutdown_round(workers[round % 4]);
	printf("wake: %" PRIu64 " tasks spawned and joined one by one, %" PRIu64
	       " refused\n",
	       ran, refused);
	return 0;
}
