/* SPDX-License-Identifier: MIT */
/**
 * soak_runtime.c - nothing grows, for as long as it runs
 *
 * One runtime lives as long as the program, others for a round each. A round
 * spawns tasks that yield, wait for timers and for wakers, are cancelled, spawn
 * others, and are in groups, and calls skua_call(). Then nothing is running, and
 * the memory, threads, descriptors and mappings of the process are counted
 * (soak.h).
 */
#include <sched.h>
#include <skua/skua.h>

#include "core/base/rng.h"
#include "tests/soak/soak.h"

#define JOBS     8192u /* of a round, and children */
#define CALLS    2048u
#define MEMBERS  64u
#define SLEEPERS 32u
#define BOXES    8u
#define NEAR_NS  50000u

/* ---- load ----------------------------------------------------------------- */

/* A runtime and its load. */
struct load {
	struct skua_runtime *rt;
	struct rng rng;
	uint64_t tasks; /* that have ended, of all rounds; not jobs of jobs */
	/* Jobs that have not ended, and calls. Writers: all. */
	atomic_u64 alive;
	/* Of jobs, ever. Writers: all. */
	atomic_u64 serial;
	atomic_u64 boxes[BOXES]; /* wakers of jobs */
};

/* On the heap, for the time of its life. */
struct job {
	struct skua_task task; /* first: a task is its job */
	struct skua_timer timer;
	struct load *load;
	struct rng rng;
	bool waits; /* for a waker that a box has, or had */
};

static void *allocate(size_t size)
{
	void *memory = calloc(1, size);

	if (!memory)
		stress_fail("no memory");
	return memory;
}

static void spawn_job(struct load *load, uint32_t seed);

static void release(struct skua_task *task)
{
	struct load *load = ((struct job *)task)->load;

	free(task);
	/* Release: the end. Pairs with the acquire in finish(). */
	atomic_fetch_sub_release(&load->alive, 1);
}

/* Wake or cancel what was in a box; put another waker there, or 0. */
static void exchange(struct load *load, uint64_t waker, struct rng *rng)
{
	uint64_t taken = atomic_exchange_acq_rel(
		&load->boxes[rng_below(rng, BOXES)], waker);
	struct skua_waker old = { (uintptr_t)taken };

	if (!taken)
		return;
	if (rng_below(rng, 4) == 0) {
		skua_task_cancel((struct skua_task *)old.opaque);
		skua_waker_drop(old);
	} else {
		skua_waker_wake(old);
	}
}

static enum skua_poll job_poll(struct skua_task *task)
{
	struct job *job = (struct job *)task;

	if (job->waits || skua_task_cancelled(task))
		return SKUA_DONE;
	switch (rng_below(&job->rng, 8)) {
	case 0:
		job->waits = true;
		exchange(job->load, skua_task_waker(task).opaque, &job->rng);
		return SKUA_PENDING;
	case 1:
		stress_check(skua_timer_add(task, &job->timer,
					    skua_now_ns() + rng_below(&job->rng,
								      NEAR_NS)),
			     "timer_add");
		job->waits = true;
		return SKUA_PENDING;
	case 2:
		spawn_job(job->load, rng_next(&job->rng));
		return SKUA_DONE;
	case 3 ... 4:
		return SKUA_YIELD;
	default:
		return SKUA_DONE;
	}
}

static void spawn_job(struct load *load, uint32_t seed)
{
	struct job *job = allocate(sizeof(*job));

	job->load = load;
	/* By the seed alone, a job could be its own ancestor, for ever.
	 * Relaxed: a number. */
	rng_init(&job->rng,
		 atomic_fetch_add_relaxed(&load->serial, 1) << 32 | seed);
	/* Relaxed: the spawn publishes it. */
	atomic_fetch_add_relaxed(&load->alive, 1);
	stress_check(skua_task_init(&job->task, job_poll), "init");
	stress_check(skua_task_detach(&job->task, release), "detach");
	if (seed % 8 == 0)
		stress_check(skua_task_set_urgent(&job->task, true),
			     "set_urgent");
	stress_check(skua_task_spawn(load->rt, &job->task), "spawn");
}

static void called(void *arg)
{
	/* Release: as in release(). */
	atomic_fetch_sub_release(&((struct load *)arg)->alive, 1);
}

/* Until nothing is left but what waits in no box. */
static void finish(struct load *load)
{
	/* Acquire: pairs with the releases of those that end. */
	while (atomic_load_acquire(&load->alive) > 0) {
		exchange(load, 0, &load->rng);
		sched_yield();
	}
	stress_check(skua_runtime_drain(load->rt), "drain");
}

static enum skua_poll wait_for_cancel(struct skua_task *task)
{
	return skua_task_cancelled(task) ? SKUA_DONE : SKUA_PENDING;
}

static void run_group(struct load *load)
{
	struct skua_task *members = allocate(MEMBERS * sizeof(*members));
	struct skua_group group;

	stress_check(skua_group_init(&group, load->rt), "group_init");
	for (unsigned i = 0; i < MEMBERS; i++) {
		stress_check(skua_task_init(&members[i], wait_for_cancel),
			     "init");
		stress_check(skua_group_spawn(&group, &members[i]),
			     "group_spawn");
	}
	stress_check(skua_group_cancel(&group), "group_cancel");
	stress_check(skua_group_wait(&group), "group_wait");
	free(members);
}

static void run_load(struct load *load)
{
	for (unsigned i = 0; i < JOBS; i++)
		spawn_job(load, rng_next(&load->rng));
	for (unsigned i = 0; i < CALLS; i++) {
		atomic_fetch_add_relaxed(&load->alive, 1);
		stress_check(skua_call(load->rt, called, load), "call");
	}
	run_group(load);
	finish(load);
	load->tasks += JOBS + CALLS + MEMBERS;
}

/* ---- runtimes ------------------------------------------------------------- */

static void create(struct load *load, unsigned workers)
{
	struct skua_config config = { .size = sizeof(config),
				      .workers = workers };

	stress_check(skua_runtime_create(&load->rt, &config, NULL), "create");
}

static enum skua_poll sleep_poll(struct skua_task *task)
{
	struct job *job = (struct job *)task;

	if (skua_task_cancelled(task))
		return SKUA_DONE;
	stress_check(skua_timer_add(task, &job->timer, UINT64_MAX),
		     "timer_add");
	return SKUA_PENDING;
}

/* With tasks that sleep for ever when the shutdown cancels them. */
static void end_by_shutdown(struct load *load)
{
	struct job *sleepers = allocate(SLEEPERS * sizeof(*sleepers));

	for (unsigned i = 0; i < SLEEPERS; i++) {
		stress_check(skua_task_init(&sleepers[i].task, sleep_poll),
			     "init");
		stress_check(skua_task_spawn(load->rt, &sleepers[i].task),
			     "spawn");
	}
	stress_check(skua_runtime_shutdown(load->rt, SKUA_FOREVER_NS,
					   SKUA_SHUTDOWN_CANCEL),
		     "shutdown");
	load->tasks += SLEEPERS;
	stress_check(skua_runtime_destroy(load->rt), "destroy");
	free(sleepers);
}

struct part {
	struct load load;
	bool lasts; /* its runtime, for all rounds */
	unsigned rounds;
};

static void *run_part(void *arg)
{
	struct part *part = arg;

	part->rounds++;
	if (!part->lasts)
		create(&part->load, 1 + part->rounds % 4);
	run_load(&part->load);
	if (!part->lasts)
		end_by_shutdown(&part->load);
	return NULL;
}

/* ---- all of it ------------------------------------------------------------ */

int main(void)
{
	static struct part parts[2] = { { .lasts = true }, { .lasts = false } };
	uint64_t duration = soak_ns();
	uint64_t start = skua_now_ns();
	uint64_t now = start;
	uint64_t threads_expected;

	rng_init(&parts[0].load.rng, 0);
	rng_init(&parts[1].load.rng, 1);
	create(&parts[0].load, 2);
	threads_expected = soak_entries("/proc/self/task");
	for (; now - start < duration; now = skua_now_ns()) {
		stress_threads(2, run_part, parts, sizeof(parts[0]));
		soak_sample((now - start) * SOAK_QUARTERS / duration,
			    threads_expected);
	}
	stress_check(skua_runtime_destroy(parts[0].load.rt), "destroy");
	soak_check_growth();
	printf("soak: %" PRIu64 " tasks in %" PRIu64
	       " s, %u runtimes; at most %" PRIu64
	       " bytes of heap, then %" PRIu64 "; %" PRIu64
	       " resident, then %" PRIu64 "; %" PRIu64 " threads, %" PRIu64
	       " descriptors throughout\n",
	       parts[0].load.tasks + parts[1].load.tasks,
	       duration / SOAK_NS_PER_S, parts[1].rounds + 1,
	       soak_largest[2][SOAK_HEAP], soak_largest[3][SOAK_HEAP],
	       soak_largest[2][SOAK_RSS], soak_largest[3][SOAK_RSS],
	       threads_expected - 2, soak_largest[3][SOAK_FILES] - 3);
	return 0;
}
