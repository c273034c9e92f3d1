/* SPDX-License-Identifier: MIT */
/**
 * fork_join.h - jobs and threads that fork them, for model tests
 *
 * The tests check that each job runs once, and that each join sees what its job wrote.
 * Some jobs wait for each other, on which a program must not rely; these check that no
 * thread sleeps while there is a public job that it could take. No thread spins: each
 * search is a single scan, so that threads sleep and wake often.
 */
#ifndef SKUA_TESTS_MODEL_FORK_JOIN_H
#define SKUA_TESTS_MODEL_FORK_JOIN_H

#define SKUA_FORK_CHECKS 0
#define WORKERS          3
#define JOB_SLOTS        4
#include "tests/model/workers.h"

#define JOBS 7

struct model_job {
	struct skua_job job; /* first: it is cast back */
	unsigned argument;
	unsigned result;
	unsigned runs;
};

static struct model_job jobs[JOBS];
static unsigned companions; /* a job waits until this many started */
static unsigned started;

static inline void meet(void)
{
	started++;
	while (started < companions)
		cpu_relax();
}

static inline void begin_job(unsigned i)
{
	explore_assert(jobs[i].runs++ == 0);
	explore_write(jobs[i].result, explore_read(jobs[i].argument) + 1);
}

static inline struct skua_ctx fork_job(struct skua_ctx ctx, unsigned i)
{
	explore_write(jobs[i].argument, i);
	return skua_fork(ctx, &jobs[i].job);
}

/* Join job @i; @ctx is the context with which it was forked. */
static inline void join_job(struct skua_ctx ctx, struct skua_ctx inner,
			    unsigned i)
{
	if (skua_reclaim(inner, &jobs[i].job))
		jobs[i].job.run(ctx, &jobs[i].job);
	explore_assert(explore_read(jobs[i].result) == i + 1);
}

static inline void run_leaf(struct skua_ctx ctx, struct skua_job *job)
{
	(void)ctx;
	begin_job((unsigned)((struct model_job *)job - jobs));
	meet();
}

/* Job 0: fork job 1, and wait until it has started. */
static inline void run_parent(struct skua_ctx ctx, struct skua_job *job)
{
	struct skua_ctx inner;

	(void)job;
	begin_job(0);
	inner = fork_job(ctx, 1);
	meet();
	join_job(ctx, inner, 1);
}

static void (*root)(struct skua_ctx ctx);

/* Run root() from an external thread, like skua_run(). */
static inline void run_external(void)
{
	struct fork_join *external;
	unsigned group = idle_group_here(&pool.idle);

	explore_assert(pool_enter_spawn(&pool, group) == 0);
	external = team_enter(&pool.team, 0);
	explore_assert(external != NULL);
	team_begin_forking(&pool.team);
	root(fork_join_ctx_owner(external));
	team_leave(&pool.team, external);
	team_pass_on(&pool.team, 0);
	pool_end_spawn(&pool);
	pool_leave(&pool, group);
}

static inline enum skua_poll poll_root(struct skua_task *self)
{
	root(skua_task_ctx(self));
	return SKUA_DONE;
}

static inline enum skua_poll poll_nothing(struct skua_task *self)
{
	(void)self;
	return SKUA_DONE;
}

static inline void reset_apart(unsigned count, unsigned nodes,
			       void (*fork)(struct skua_ctx),
			       unsigned meet_count)
{
	workers_reset(poll_root, poll_nothing, LIFO_DELAY_NS);
	workers_place(count, nodes);
	root = fork;
	companions = meet_count;
	started = 0;
	memset(jobs, 0, sizeof(jobs));
	for (unsigned i = 0; i < JOBS; i++)
		jobs[i].job.run = run_leaf;
}

static inline void reset(unsigned count, void (*fork)(struct skua_ctx),
			 unsigned meet_count)
{
	reset_apart(count, 1, fork, meet_count);
}

/* The number of threads that sleep in a join. By updates, which see the newest
 * values. */
static inline unsigned joins_asleep(void)
{
	unsigned count = 0;

	for (unsigned line = 0; line < pool.map.count; line++)
		count += (unsigned)__builtin_popcountll(
			atomic_fetch_or_relaxed(&lines[line].asleep, 0));
	return count;
}

static inline void check(void)
{
	for (unsigned i = 0; i < JOBS; i++)
		explore_assert(jobs[i].runs <= 1);
	explore_assert(!team_visible(&pool.team, 0));
	/* Relaxed, all: no other thread runs. */
	explore_assert(atomic_load_relaxed(&pool.team.externals) == 0);
	explore_assert(atomic_load_relaxed(&pool.team.helpers) == 0);
	explore_assert(joins_asleep() == 0);
}

#define FEW(N)  EXPLORE_WITHIN(3, 2), .random = (N)
#define MANY(N) EXPLORE_WITHIN(12, 6), .random = (N)

#endif
