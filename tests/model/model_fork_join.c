/* SPDX-License-Identifier: MIT */
/**
 * model_fork_join.c - core/fork_join/fork_join.c and core/fork_join/team.c, in the whole loop of the workers
 *
 * Real workers, and an external thread or a task that forks. An execution takes some hundred
 * steps, too many for all interleavings, so that cases are run at random, with few
 * deviations and with many.
 */
#include "tests/model/fork_join.h"

/* ---- jobs ---------------------------------------------------------------- */

/* Leaves a task to its worker, who runs it next. */
static void run_and_spawn(struct skua_ctx ctx, struct skua_job *job)
{
	(void)ctx;
	(void)job;
	begin_job(0);
	explore_assert(workers_spawn(1) == 0);
}

/* Until job 1 runs. */
static enum skua_poll poll_until_help(struct skua_task *self)
{
	(void)self;
	while (jobs[1].runs == 0)
		cpu_relax();
	return SKUA_DONE;
}

/* Meets nobody. */
static void run_alone(struct skua_ctx ctx, struct skua_job *job)
{
	(void)ctx;
	begin_job((unsigned)((struct model_job *)job - jobs));
}

/* ---- roots --------------------------------------------------------------- */

static void fork_one(struct skua_ctx ctx)
{
	struct skua_ctx inner = fork_job(ctx, 0);

	meet();
	join_job(ctx, inner, 0);
}

/* The same without a meeting of its own. */
static void fork_parent(struct skua_ctx ctx)
{
	join_job(ctx, fork_job(ctx, 0), 0);
}

static void fork_two(struct skua_ctx ctx)
{
	struct skua_ctx inner = fork_job(ctx, 0);
	struct skua_ctx innermost = fork_job(inner, 1);

	meet();
	join_job(inner, innermost, 1);
	join_job(ctx, inner, 0);
}

/* Both are public: as if somebody had asked in between. */
static void fork_two_public(struct skua_ctx ctx)
{
	struct skua_ctx inner = fork_job(ctx, 0);
	struct skua_ctx innermost;

	__atomic_store_n(&ctx.forks->wanted, 1, __ATOMIC_RELAXED);
	innermost = fork_job(inner, 1);
	meet();
	join_job(inner, innermost, 1);
	join_job(ctx, inner, 0);
}

/* The same, and both are taken. */
static void fork_two_public_away(struct skua_ctx ctx)
{
	struct skua_ctx inner = fork_job(ctx, 0);
	struct skua_ctx innermost;

	__atomic_store_n(&ctx.forks->wanted, 1, __ATOMIC_RELAXED);
	innermost = fork_job(inner, 1);
	while (jobs[0].runs == 0 || jobs[1].runs == 0)
		cpu_relax();
	join_job(inner, innermost, 1);
	join_job(ctx, inner, 0);
}

/* Job 1 behind job 0, once that is taken, and more is asked for. */
static void fork_asked(struct skua_ctx ctx)
{
	struct skua_ctx inner = fork_job(ctx, 0);
	struct skua_ctx innermost;

	/* An update, which sees the newest value. */
	while (atomic_fetch_add_relaxed((atomic_u32 *)&ctx.forks->wanted, 0) ==
	       0)
		cpu_relax();
	innermost = fork_job(inner, 1);
	meet();
	join_job(inner, innermost, 1);
	join_job(ctx, inner, 0);
}

/* The second waits for help, whatever became of the first. */
static void fork_twice(struct skua_ctx ctx)
{
	struct skua_ctx inner = fork_job(ctx, 0);

	join_job(ctx, inner, 0);
	inner = fork_job(ctx, 1);
	meet();
	join_job(ctx, inner, 1);
}

/* Another one, with a job of its own, unless it comes too late. */
static void other_external(void)
{
	unsigned group = idle_group_here(&pool.idle);

	if (pool_enter_spawn(&pool, group) == 0) {
		struct fork_join *place = team_enter(&pool.team, 0);
		struct skua_ctx ctx = fork_join_ctx_owner(place);

		team_begin_forking(&pool.team);
		join_job(ctx, fork_job(ctx, 2), 2);
		team_leave(&pool.team, place);
		team_pass_on(&pool.team, 0);
		pool_end_spawn(&pool);
	}
	pool_leave(&pool, group);
}

/* ---- threads ------------------------------------------------------------- */

static void external(void)
{
	run_external();
	workers_shut_down();
}

static void task(void)
{
	explore_assert(workers_spawn(0) == 0);
	workers_join(0);
	workers_shut_down();
}

/* Other work comes and goes beside it. */
static void external_and_tasks(void)
{
	explore_assert(workers_spawn(1) == 0);
	run_external();
	workers_join(1);
	workers_shut_down();
}

/* ---- fixtures ------------------------------------------------------------ */

static void setup_one(void)
{
	reset(2, fork_one, 0);
}

static void setup_one_meets(void)
{
	reset(2, fork_one, 2);
}

/* While the other external thread is there, no worker may take job 0. */
static void setup_beside_meets(void)
{
	setup_one_meets();
	jobs[2].job.run = run_alone;
}

/* Time stands still, so that the external thread is young for ever. */
static void setup_young_meets(void)
{
	setup_one_meets();
	pool.tuning.young_ns = 1;
}

static void setup_twice_meets(void)
{
	reset(2, fork_twice, 2);
	jobs[0].job.run = run_alone;
}

static void setup_two(void)
{
	reset(2, fork_two, 0);
}

/* Each of the three forks at most one job, which is public at once. */
static void setup_three_meet(void)
{
	reset(3, fork_one, 3);
	jobs[0].job.run = run_parent;
}

static void setup_two_public_meet(void)
{
	reset(3, fork_two_public, 3);
}

/* The one worker that may take jobs turns to a task. */
static void setup_turns_to_task(void)
{
	reset(2, fork_two_public_away, 0);
	jobs[0].job.run = run_and_spawn;
	tasks[1].poll = poll_until_help;
}

/* The external thread waits for job 0, and nobody else may take job 1. */
static void setup_parent_meets(void)
{
	reset(2, fork_parent, 2);
	jobs[0].job.run = run_parent;
}

/* Once it was taken. */
static void setup_asks_again(void)
{
	reset(3, fork_asked, 2);
	jobs[0].job.run = run_alone;
}

static void setup_young_parent_meets(void)
{
	setup_parent_meets();
	pool.tuning.young_ns = 1;
}

/* One more worker than that. */
static void setup_parent_meets_three(void)
{
	setup_parent_meets();
	reset(3, fork_parent, 2);
	jobs[0].job.run = run_parent;
}

/* ---- cases --------------------------------------------------------------- */

static const struct explore_case cases[] = {
	{ EXPLORE_PASS("worker_turns_to_task__few", setup_turns_to_task, check,
		       workers_run_0, workers_run_1, external),
	  FEW(10000) },
	{ EXPLORE_PASS("worker_turns_to_task__many", setup_turns_to_task, check,
		       workers_run_0, workers_run_1, external),
	  MANY(10000) },
	{ EXPLORE_PASS("asks_again__few", setup_asks_again, check,
		       workers_run_0, workers_run_1, workers_run_2, external),
	  FEW(10000) },
	{ EXPLORE_PASS("external_forks_one__few", setup_one, check,
		       workers_run_0, workers_run_1, external),
	  FEW(10000) },
	{ EXPLORE_PASS("external_forks_one__many", setup_one, check,
		       workers_run_0, workers_run_1, external),
	  MANY(10000) },
	{ EXPLORE_PASS("external_forks_one__meets__few", setup_one_meets, check,
		       workers_run_0, workers_run_1, external),
	  FEW(10000) },
	{ EXPLORE_PASS("external_forks_one__meets__many", setup_one_meets,
		       check, workers_run_0, workers_run_1, external),
	  MANY(10000) },
	{ EXPLORE_PASS("external_forks_one__meets__tasks__few", setup_one_meets,
		       check, workers_run_0, workers_run_1, external_and_tasks),
	  FEW(10000) },
	{ EXPLORE_PASS("external_forks_one__meets__tasks__many",
		       setup_one_meets, check, workers_run_0, workers_run_1,
		       external_and_tasks),
	  MANY(10000) },
	{ EXPLORE_PASS("young_external_forks_one__meets__few",
		       setup_young_meets, check, workers_run_0, workers_run_1,
		       external),
	  FEW(10000) },
	{ EXPLORE_PASS("young_external_forks_one__meets__tasks__many",
		       setup_young_meets, check, workers_run_0, workers_run_1,
		       external_and_tasks),
	  MANY(10000) },
	{ EXPLORE_PASS("young_job_forks__meets__few", setup_young_parent_meets,
		       check, workers_run_0, workers_run_1, external),
	  FEW(10000) },
	{ EXPLORE_PASS("young_job_forks__meets__many", setup_young_parent_meets,
		       check, workers_run_0, workers_run_1, external),
	  MANY(10000) },
	{ EXPLORE_PASS("external_forks_twice__meets__few", setup_twice_meets,
		       check, workers_run_0, workers_run_1, external),
	  FEW(10000) },
	{ EXPLORE_PASS("external_forks_twice__meets__many", setup_twice_meets,
		       check, workers_run_0, workers_run_1, external),
	  MANY(10000) },
	{ EXPLORE_PASS("external_forks_two__few", setup_two, check,
		       workers_run_0, workers_run_1, external),
	  FEW(10000) },
	{ EXPLORE_PASS("external_forks_two__many", setup_two, check,
		       workers_run_0, workers_run_1, external),
	  MANY(10000) },
	{ EXPLORE_PASS("external_beside_external__few", setup_one, check,
		       workers_run_0, other_external, workers_run_1, external),
	  FEW(10000) },
	{ EXPLORE_PASS("external_beside_external__many", setup_one, check,
		       workers_run_0, other_external, workers_run_1, external),
	  MANY(10000) },
	{ EXPLORE_PASS("external_beside_external__meets__few",
		       setup_beside_meets, check, workers_run_0, other_external,
		       workers_run_1, external),
	  FEW(10000) },
	{ EXPLORE_PASS("external_beside_external__meets__many",
		       setup_beside_meets, check, workers_run_0, other_external,
		       workers_run_1, external),
	  MANY(10000) },
	{ EXPLORE_PASS("external_and_two_jobs__meet__few", setup_three_meet,
		       check, workers_run_0, workers_run_1, workers_run_2,
		       external),
	  FEW(10000) },
	{ EXPLORE_PASS("external_and_two_jobs__meet__many", setup_three_meet,
		       check, workers_run_0, workers_run_1, workers_run_2,
		       external),
	  MANY(10000) },
	{ EXPLORE_PASS("external_and_two_public_jobs__meet__few",
		       setup_two_public_meet, check, workers_run_0,
		       workers_run_1, workers_run_2, external),
	  FEW(10000) },
	{ EXPLORE_PASS("external_and_two_public_jobs__meet__many",
		       setup_two_public_meet, check, workers_run_0,
		       workers_run_1, workers_run_2, external),
	  MANY(10000) },
	{ EXPLORE_PASS("external_takes_part_of_what_it_waits_for__few",
		       setup_parent_meets, check, workers_run_0, workers_run_1,
		       external),
	  FEW(10000) },
	{ EXPLORE_PASS("external_takes_part_of_what_it_waits_for__many",
		       setup_parent_meets, check, workers_run_0, workers_run_1,
		       external),
	  MANY(10000) },
	{ EXPLORE_PASS("part_is_taken_by_external_or_worker__few",
		       setup_parent_meets_three, check, workers_run_0,
		       workers_run_1, workers_run_2, external),
	  FEW(10000) },
	{ EXPLORE_PASS("part_is_taken_by_external_or_worker__many",
		       setup_parent_meets_three, check, workers_run_0,
		       workers_run_1, workers_run_2, external),
	  MANY(10000) },
	{ EXPLORE_PASS("task_forks_one__meets__few", setup_one_meets, check,
		       workers_run_0, workers_run_1, task),
	  FEW(10000) },
	{ EXPLORE_PASS("task_forks_one__meets__many", setup_one_meets, check,
		       workers_run_0, workers_run_1, task),
	  MANY(10000) },
	{ EXPLORE_PASS("task_and_two_jobs__meet__few", setup_three_meet, check,
		       workers_run_0, workers_run_1, workers_run_2, task),
	  FEW(10000) },
	{ EXPLORE_PASS("task_and_two_jobs__meet__many", setup_three_meet, check,
		       workers_run_0, workers_run_1, workers_run_2, task),
	  MANY(10000) },
};

EXPLORE_MAIN(cases)
