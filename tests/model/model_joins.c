/* SPDX-License-Identifier: MIT */
/**
 * model_joins.c - joins that wait, in core/fork_join/fork_join.c and core/fork_join/team.c
 *
 * Threads that fork and threads that take one job and are gone, without the loop
 * of a worker: few enough steps for all interleavings of the smallest cases, and
 * for the rare ones at random, with few deviations and with many.
 */
#include "tests/model/fork_join.h"

/* ---- jobs ---------------------------------------------------------------- */

static bool help_wanted;

/* When two sleep in joins, job 2 forks job 3, and waits until somebody else runs
 * it. */
static void run_needy(struct skua_ctx ctx, struct skua_job *job)
{
	struct skua_ctx inner;

	(void)job;
	begin_job(2);
	/* An update, which sees the newest value. */
	while (joins_asleep() < 2)
		cpu_relax();
	inner = fork_job(ctx, 3);
	help_wanted = true;
	while (jobs[3].runs == 0)
		cpu_relax();
	join_job(ctx, inner, 3);
}

/* Two jobs become public at once, which meet, while two sleep in joins. */
static void run_two_at_once(struct skua_ctx ctx, struct skua_job *job)
{
	struct skua_ctx inner[4];

	(void)job;
	begin_job(2);
	inner[0] = fork_job(ctx, 3);
	while (jobs[3].runs == 0)
		cpu_relax();
	while (joins_asleep() < 2)
		cpu_relax();
	__atomic_store_n(&ctx.forks->wanted, 0, __ATOMIC_RELAXED);
	inner[1] = fork_job(inner[0], 4);
	inner[2] = fork_job(inner[1], 5);
	__atomic_store_n(&ctx.forks->wanted, 1, __ATOMIC_RELAXED);
	inner[3] = fork_job(inner[2], 6);
	while (jobs[4].runs == 0 || jobs[5].runs == 0)
		cpu_relax();
	help_wanted = true;
	join_job(inner[2], inner[3], 6);
	join_job(inner[1], inner[2], 5);
	join_job(inner[0], inner[1], 4);
	join_job(ctx, inner[0], 3);
}

static void run_meeting(struct skua_ctx ctx, struct skua_job *job)
{
	(void)ctx;
	begin_job((unsigned)((struct model_job *)job - jobs));
	while (jobs[4].runs == 0 || jobs[5].runs == 0)
		cpu_relax();
}

/* Job 0, which one of them waits for, ends then. */
static void run_until_help_is_wanted(struct skua_ctx ctx, struct skua_job *job)
{
	(void)ctx;
	(void)job;
	begin_job(0);
	while (!help_wanted)
		cpu_relax();
}

/* The same, once it is taken. */
static void fork_parent_away(struct skua_ctx ctx)
{
	struct skua_ctx inner = fork_job(ctx, 0);

	while (jobs[0].runs == 0)
		cpu_relax();
	join_job(ctx, inner, 0);
}

/* ---- threads ------------------------------------------------------------- */

/* Without the loop of a worker: places 0 and 1 take a job, and that is all. */
static void take_one_job(struct fork_join *place)
{
	struct stolen_job stolen;

	while (!fork_join_steal_owner(place, VICTIMS_ALL, &stolen))
		cpu_relax();
	if (stolen.more)
		team_notify(&pool.team, 0);
	fork_join_run_owner(place, split_deque_head_owner(&place->deque),
			    &stolen);
}

static void thief(void)
{
	take_one_job(&places[0]);
}

static void external_alone(void)
{
	run_external();
}

/* From one place only, unless somebody else takes job @i there. */
static void take_from(struct fork_join *place, struct fork_join *victim,
		      unsigned i)
{
	struct split_deque_steal got = { .outcome = SKUA_STEAL_EMPTY };

	while (got.outcome != SKUA_STEAL_SUCCESS) {
		if (jobs[i].runs != 0)
			return;
		got = split_deque_steal(&victim->deque, place->index);
		if (got.outcome != SKUA_STEAL_SUCCESS)
			cpu_relax();
	}
	fork_join_run_owner(
		place, split_deque_head_owner(&place->deque),
		&(struct stolen_job){ got.job, got.slot, victim, got.more });
}

static void takes_the_first(void)
{
	take_from(&places[0], &places[2], 0);
}

static void takes_the_second(void)
{
	take_from(&places[1], &places[3], 2);
}

/* In place 2, job 0; in place 3, job 2, which forks job 3, and waits for it. */
static void fork_away(struct fork_join *place, unsigned i)
{
	struct skua_ctx ctx = fork_join_ctx_owner(place);
	struct skua_ctx inner = fork_job(ctx, i);

	while (jobs[0].runs == 0 || jobs[2].runs == 0)
		cpu_relax();
	join_job(ctx, inner, i);
}

static void waits_first(void)
{
	fork_away(&places[2], 0);
}

static void waits_second(void)
{
	fork_away(&places[3], 2);
}

/* On node 1, job 0, which somebody of node 0 takes. */
static void waits_apart(void)
{
	fork_parent_away(fork_join_ctx_owner(&places[1]));
}

static void takes_apart(void)
{
	take_from(&places[2], &places[1], 0);
}

/* On node 0, job 3, which nobody runs except the waiter for job 0. */
static void needs_help_apart(void)
{
	struct skua_ctx ctx = fork_join_ctx_owner(&places[0]);
	struct skua_ctx inner;

	while (joins_asleep() == 0)
		cpu_relax();
	inner = fork_job(ctx, 3);
	while (jobs[3].runs == 0)
		cpu_relax();
	help_wanted = true;
	join_job(ctx, inner, 3);
}

/* ---- a summary that is cleared (I8) --------------------------------------- */

/*
 * The summary still says that a thread sleeps in group 0, whose threads 0 and 1
 * are about to sleep. A waker has no job for them any more, and clears it, while
 * another thread makes a job public.
 */
static atomic_u32 job_public; /* relaxed: the fences of F1 and F2 order it */

static bool has_job(void)
{
	return atomic_load_relaxed(&job_public) != 0;
}

/* As sleep_in_join(). Return: whether it was woken for jobs. */
static bool sleep_as(unsigned i)
{
	team_sleep_begin(&pool.team, i);
	if (!has_job()) {
		while (team_asleep(&pool.team, i))
			parker_park(&places[i].parker);
	}
	return team_sleep_end(&pool.team, i);
}

static void sleeps_until_work(void)
{
	while (!has_job())
		sleep_as(1);
}

/* The job that it waits for is done then (F4). */
static void sleeps_once(void)
{
	if (sleep_as(0) && has_job())
		team_wake(&pool.team, 0);
}

static void wakes_somebody(void)
{
	team_notify(&pool.team, 0);
}

static void publishes(void)
{
	atomic_store_relaxed(&job_public, 1);
	team_notify(&pool.team, 0);
}

/* ---- fixtures ------------------------------------------------------------ */

/* The same, with certainty. */
static void setup_parent_away(void)
{
	reset(2, fork_parent_away, 2);
	jobs[0].job.run = run_parent;
}

static void setup_leaf_away(void)
{
	reset(2, fork_parent_away, 0);
}

/* Two wait; one is done when the other's thief wants help. */
static void setup_needy(void)
{
	setup_leaf_away();
	help_wanted = false;
	jobs[0].job.run = run_until_help_is_wanted;
	jobs[2].job.run = run_needy;
	team_begin_forking(&pool.team);
	atomic_init(&pool.team.externals, 2);
}

static void setup_two_at_once(void)
{
	setup_needy();
	jobs[2].job.run = run_two_at_once;
	jobs[4].job.run = run_meeting;
	jobs[5].job.run = run_meeting;
}

static void setup_apart(void)
{
	reset_apart(3, 2, fork_parent_away, 0);
	help_wanted = false;
	jobs[0].job.run = run_until_help_is_wanted;
	team_begin_forking(&pool.team);
}

static void setup_stale(void)
{
	setup_leaf_away();
	atomic_init(&job_public, 0);
	team_begin_forking(&pool.team);
	summary_raise(pool.team.sleepy, 0);
}

static void check_places(void)
{
	explore_assert(!team_visible(&pool.team, 0));
	explore_assert(joins_asleep() == 0);
}

static const struct explore_case cases[] = {
	{ EXPLORE_PASS("waits_for_a_thief", setup_leaf_away, check, thief,
		       external_alone),
	  EXPLORE_WITHIN(2, 2) },
	{ EXPLORE_PASS("takes_part_of_what_it_waits_for", setup_parent_away,
		       check, thief, external_alone),
	  EXPLORE_WITHIN(2, 1) },
	{ EXPLORE_PASS("who_is_woken_and_done__few", setup_needy, check_places,
		       takes_the_first, takes_the_second, waits_first,
		       waits_second),
	  FEW(30000) },
	{ EXPLORE_PASS("who_is_woken_and_done__many", setup_needy, check_places,
		       takes_the_first, takes_the_second, waits_first,
		       waits_second),
	  MANY(30000) },
	{ EXPLORE_PASS("two_at_once__few", setup_two_at_once, check_places,
		       takes_the_first, takes_the_second, waits_first,
		       waits_second),
	  FEW(20000) },
	{ EXPLORE_PASS("two_at_once__many", setup_two_at_once, check_places,
		       takes_the_first, takes_the_second, waits_first,
		       waits_second),
	  MANY(20000) },
	{ EXPLORE_PASS("woken_from_another_node__few", setup_apart,
		       check_places, waits_apart, takes_apart,
		       needs_help_apart),
	  FEW(10000) },
	{ EXPLORE_PASS("woken_from_another_node__many", setup_apart,
		       check_places, waits_apart, takes_apart,
		       needs_help_apart),
	  MANY(10000) },
	{ EXPLORE_PASS("stale_summary__publisher", setup_stale, check_places,
		       sleeps_until_work, wakes_somebody, publishes),
	  EXPLORE_WITHIN(4, 2), .random = 100000 },
	{ EXPLORE_PASS("stale_summary__two_sleepers", setup_stale, check_places,
		       sleeps_once, sleeps_until_work, wakes_somebody,
		       publishes),
	  EXPLORE_WITHIN(6, 3), .random = 100000 },
	{ EXPLORE_PASS("takes_part_of_what_it_waits_for__few",
		       setup_parent_away, check, thief, external_alone),
	  FEW(40000) },
	{ EXPLORE_PASS("takes_part_of_what_it_waits_for__many",
		       setup_parent_away, check, thief, external_alone),
	  MANY(40000) },
};

EXPLORE_MAIN(cases)
