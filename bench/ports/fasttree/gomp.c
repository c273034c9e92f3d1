/* SPDX-License-Identifier: MIT */
/**
 * gomp.c - the entry points of libgomp that FastTree calls, on a runtime of skua
 *
 * gcc turns a pragma of OpenMP into calls of libgomp. FastTree is compiled as usual
 * and linked with this file instead of libgomp, so that its source stays as it is.
 *
 * A parallel region is a fork: its function is the job, and the members of its team
 * are the threads that run it. The first member is the calling thread. A worker that
 * has nothing else to do becomes a member. While no worker comes, the calling thread
 * does all the work, and nothing waits. A region in a region has one member, as it
 * has by default in OpenMP.
 *
 * This file lacks barriers in a region, several loops or sections constructs in a region,
 * reductions and tasks. FastTree needs none of them.
 */
#include <pthread.h>
#include <sched.h>
#include <skua/skua.h>
#include <stdbool.h>
#include <stdio.h>

#define MAX_MEMBERS 64

struct team {
	void (*run)(void *arg);
	void *arg;
	unsigned sections;
	long taken; /* items or sections that members have taken; by fetch-and-add */
};

struct member_job {
	struct skua_job job; /* first: run_member() casts back */
	struct team *team;
};

/* A thread that runs a region: its place among the forks, its team, and its loop. */
struct member {
	struct skua_ctx ctx;
	struct team *team;
	long begin, end, step, chunk;
};

struct program {
	int argc, result;
	char **argv;
};

static struct skua_runtime *rt;
static pthread_mutex_t critical = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local struct member self;

int program_main(int argc, char **argv); /* main() of FastTree, renamed */

static void be_member(struct skua_ctx ctx, struct team *team)
{
	const struct member before = self;

	self = (struct member){ .ctx = ctx, .team = team };
	team->run(team->arg);
	self = before;
}

static void run_member(struct skua_ctx ctx, struct skua_job *job)
{
	be_member(ctx, ((struct member_job *)job)->team);
}

/* Run a region. A job that no worker took is dropped: what it would do is done. */
static void run_team(struct team *team)
{
	struct member_job jobs[MAX_MEMBERS];
	struct skua_ctx ctx[MAX_MEMBERS];
	const unsigned workers = skua_runtime_workers(rt);
	unsigned helpers = 0;

	ctx[0] = self.ctx;
	if (!self.team)
		helpers = (workers < MAX_MEMBERS ? workers : MAX_MEMBERS) - 1;
	for (unsigned i = 0; i < helpers; i++) {
		jobs[i].job.run = run_member;
		jobs[i].team = team;
		ctx[i + 1] = skua_fork(ctx[i], &jobs[i].job);
	}
	be_member(ctx[helpers], team);
	for (unsigned i = helpers; i > 0; i--)
		(void)!skua_reclaim(ctx[i], &jobs[i - 1].job);
}

void GOMP_parallel(void (*run)(void *), void *arg, unsigned threads,
		   unsigned flags)
{
	struct team team = { .run = run, .arg = arg };

	(void)threads;
	(void)flags;
	run_team(&team);
}

bool GOMP_loop_nonmonotonic_dynamic_next(long *begin, long *end)
{
	const long step = self.step;
	/* Relaxed: the number alone matters. The fork publishes what the region
	 * reads, and the join what it wrote. */
	const long first =
		self.begin + step * __atomic_fetch_add(&self.team->taken,
						       self.chunk,
						       __ATOMIC_RELAXED);
	const long last = first + step * self.chunk;

	if (step > 0 ? first >= self.end : first <= self.end)
		return false;
	*begin = first;
	*end = (step > 0 ? last > self.end : last < self.end) ? self.end : last;
	return true;
}

bool GOMP_loop_nonmonotonic_dynamic_start(long from, long to, long step,
					  long chunk, long *begin, long *end)
{
	self.begin = from;
	self.end = to;
	self.step = step;
	self.chunk = chunk;
	return GOMP_loop_nonmonotonic_dynamic_next(begin, end);
}

void GOMP_loop_end_nowait(void)
{
}

unsigned GOMP_sections_next(void)
{
	/* Relaxed: as in GOMP_loop_nonmonotonic_dynamic_next(). */
	const long taken =
		__atomic_fetch_add(&self.team->taken, 1, __ATOMIC_RELAXED);

	return taken < self.team->sections ? (unsigned)taken + 1 : 0;
}

void GOMP_parallel_sections(void (*run)(void *), void *arg, unsigned threads,
			    unsigned count, unsigned flags)
{
	struct team team = { .run = run, .arg = arg, .sections = count };

	(void)threads;
	(void)flags;
	run_team(&team);
}

/* The sections are the end of their region, whose join waits for all members. */
void GOMP_sections_end(void)
{
}

void GOMP_critical_start(void)
{
	pthread_mutex_lock(&critical);
}

void GOMP_critical_end(void)
{
	pthread_mutex_unlock(&critical);
}

/* A lock has four bytes. FastTree holds one while it writes some words. */
void omp_init_lock(int *lock)
{
	*lock = 0;
}

void omp_destroy_lock(int *lock)
{
	(void)lock;
}

void omp_set_lock(int *lock)
{
	/* Acquire: pairs with the release in omp_unset_lock(). Another member made
	 * progress when this fails. */
	while (__atomic_exchange_n(lock, 1, __ATOMIC_ACQUIRE))
		sched_yield();
}

void omp_unset_lock(int *lock)
{
	/* Release: pairs with the exchange in omp_set_lock(). */
	__atomic_store_n(lock, 0, __ATOMIC_RELEASE);
}

int omp_get_max_threads(void)
{
	return (int)skua_runtime_workers(rt);
}

static void root(struct skua_ctx ctx, void *arg)
{
	struct program *program = arg;

	self.ctx = ctx;
	program->result = program_main(program->argc, program->argv);
}

int main(int argc, char **argv)
{
	struct program program = { .argc = argc, .argv = argv };
	struct skua_error err;

	if (skua_runtime_create(&rt, NULL, &err) < 0) {
		fprintf(stderr, "fasttree: %s\n", err.text);
		return 1;
	}
	skua_run(rt, root, &program);
	skua_runtime_destroy(rt);
	return program.result;
}
