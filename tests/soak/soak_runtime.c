/* SPDX-License-Identifier: MIT */
/**
 * soak_runtime.c - nothing grows, for as long as it runs
 *
 * One runtime lives as long as the program, others for a round each. A round
 * spawns tasks that yield, wait for timers and for wakers, are cancelled, spawn
 * others, and are in groups, and calls skua_call(). Then nothing is running, and
 * what the process has is counted: bytes of heap in use, resident memory,
 * threads and descriptors.
 *
 * The largest of each in the last quarter of the time may exceed the largest of
 * the quarter before by what is stated below: for threads and descriptors that
 * is nothing. One block of 32 bytes in 10,000 tasks is seen within minutes.
 * SKUA_SOAK_SECONDS is how long it runs; the default is 600.
 */
#include <dirent.h>
#include <malloc.h>
#include <sched.h>
#include <skua/skua.h>
#include <unistd.h>

#include "core/base/rng.h"
#include "tests/stress/stress.h"

#define DEFAULT_SECONDS 600u
#define QUARTERS        4u
#define NS_PER_S        UINT64_C(1000000000)

/* Four chunks of the slab, of which workers keep some blocks each; and what
 * malloc() keeps by thread. */
#define HEAP_TOLERANCE_BYTES (UINT64_C(32) << 10)
/* Stacks and arenas, as they come and go. */
#define RSS_TOLERANCE_BYTES (UINT64_C(2) << 20)

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

static void check(int code, const char *what)
{
	if (code != 0)
		stress_fail("%s: %d", what, code);
}

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
		check(skua_timer_add(task, &job->timer,
				     skua_now_ns() +
					     rng_below(&job->rng, NEAR_NS)),
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
	check(skua_task_init(&job->task, job_poll), "init");
	check(skua_task_detach(&job->task, release), "detach");
	if (seed % 8 == 0)
		check(skua_task_set_urgent(&job->task, true), "set_urgent");
	check(skua_task_spawn(load->rt, &job->task), "spawn");
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
	check(skua_runtime_drain(load->rt), "drain");
}

static enum skua_poll wait_for_cancel(struct skua_task *task)
{
	return skua_task_cancelled(task) ? SKUA_DONE : SKUA_PENDING;
}

static void run_group(struct load *load)
{
	struct skua_task *members = allocate(MEMBERS * sizeof(*members));
	struct skua_group group;

	check(skua_group_init(&group, load->rt), "group_init");
	for (unsigned i = 0; i < MEMBERS; i++) {
		check(skua_task_init(&members[i], wait_for_cancel), "init");
		check(skua_group_spawn(&group, &members[i]), "group_spawn");
	}
	check(skua_group_cancel(&group), "group_cancel");
	check(skua_group_wait(&group), "group_wait");
	free(members);
}

static void run_load(struct load *load)
{
	for (unsigned i = 0; i < JOBS; i++)
		spawn_job(load, rng_next(&load->rng));
	for (unsigned i = 0; i < CALLS; i++) {
		atomic_fetch_add_relaxed(&load->alive, 1);
		check(skua_call(load->rt, called, load), "call");
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

	check(skua_runtime_create(&load->rt, &config, NULL), "create");
}

static enum skua_poll sleep_poll(struct skua_task *task)
{
	struct job *job = (struct job *)task;

	if (skua_task_cancelled(task))
		return SKUA_DONE;
	check(skua_timer_add(task, &job->timer, UINT64_MAX), "timer_add");
	return SKUA_PENDING;
}

/* With tasks that sleep for ever when the shutdown cancels them. */
static void end_by_shutdown(struct load *load)
{
	struct job *sleepers = allocate(SLEEPERS * sizeof(*sleepers));

	for (unsigned i = 0; i < SLEEPERS; i++) {
		check(skua_task_init(&sleepers[i].task, sleep_poll), "init");
		check(skua_task_spawn(load->rt, &sleepers[i].task), "spawn");
	}
	check(skua_runtime_shutdown(load->rt, SKUA_FOREVER_NS,
				    SKUA_SHUTDOWN_CANCEL),
	      "shutdown");
	load->tasks += SLEEPERS;
	check(skua_runtime_destroy(load->rt), "destroy");
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

/* ---- what the process has ------------------------------------------------- */

enum kind { HEAP, RSS, THREADS, FILES, KINDS };

static const char *const kind_names[] = { "bytes of heap", "resident bytes",
					  "threads", "descriptors" };
static const uint64_t tolerances[] = { HEAP_TOLERANCE_BYTES,
				       RSS_TOLERANCE_BYTES, 0, 0 };

static uint64_t entries(const char *path)
{
	DIR *dir = opendir(path);
	uint64_t count = 0;

	if (!dir)
		stress_fail("cannot read %s", path);
	while (readdir(dir))
		count++;
	closedir(dir);
	return count;
}

/* A thread that was joined may be listed for a moment longer. */
static uint64_t threads(uint64_t expected)
{
	uint64_t count = entries("/proc/self/task");

	for (unsigned i = 0; i < 10000 && count > expected; i++) {
		sched_yield();
		count = entries("/proc/self/task");
	}
	return count;
}

static uint64_t resident_bytes(void)
{
	FILE *file = fopen("/proc/self/statm", "r");
	uint64_t pages = 0;

	if (!file || fscanf(file, "%*u %" SCNu64, &pages) != 1)
		stress_fail("cannot read /proc/self/statm");
	fclose(file);
	return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* The largest of each quarter of the time. */
static uint64_t largest[QUARTERS][KINDS];

static void sample(unsigned quarter, uint64_t threads_expected)
{
	struct mallinfo2 heap = mallinfo2();
	const uint64_t now[KINDS] = { heap.uordblks + heap.hblkhd,
				      resident_bytes(),
				      threads(threads_expected),
				      entries("/proc/self/fd") };

	for (unsigned i = 0; i < KINDS; i++)
		if (now[i] > largest[quarter][i])
			largest[quarter][i] = now[i];
}

static void check_growth(void)
{
	const uint64_t *before = largest[QUARTERS - 2];
	const uint64_t *last = largest[QUARTERS - 1];

	for (unsigned i = 0; i < KINDS; i++) {
		if (before[i] == 0 || last[i] == 0)
			stress_fail("too short: a quarter has no sample");
		if (last[i] > before[i] + tolerances[i])
			stress_fail("%s: %" PRIu64 ", and %" PRIu64
				    " a quarter of the time later; %" PRIu64
				    " more are allowed",
				    kind_names[i], before[i], last[i],
				    tolerances[i]);
	}
}

static uint64_t soak_ns(void)
{
	const char *text = getenv("SKUA_SOAK_SECONDS");
	char *end;
	unsigned long seconds;

	if (!text || !*text)
		return DEFAULT_SECONDS * NS_PER_S;
	seconds = strtoul(text, &end, 10);
	if (*end || seconds < 4 || seconds > 1000000)
		stress_fail("SKUA_SOAK_SECONDS: \"%s\", allowed is 4 to "
			    "1000000",
			    text);
	return seconds * NS_PER_S;
}

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
	threads_expected = entries("/proc/self/task");
	for (; now - start < duration; now = skua_now_ns()) {
		unsigned quarter =
			(unsigned)((now - start) * QUARTERS / duration);

		stress_threads(2, run_part, parts, sizeof(parts[0]));
		sample(quarter, threads_expected);
	}
	check(skua_runtime_destroy(parts[0].load.rt), "destroy");
	check_growth();
	printf("soak: %" PRIu64 " tasks in %" PRIu64
	       " s, %u runtimes; at most %" PRIu64
	       " bytes of heap, then %" PRIu64 "; %" PRIu64
	       " resident, then %" PRIu64 "; %" PRIu64 " threads, %" PRIu64
	       " descriptors throughout\n",
	       parts[0].load.tasks + parts[1].load.tasks, duration / NS_PER_S,
	       parts[1].rounds + 1, largest[2][HEAP], largest[3][HEAP],
	       largest[2][RSS], largest[3][RSS], threads_expected - 2,
	       largest[3][FILES] - 3);
	return 0;
}
