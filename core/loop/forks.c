/* SPDX-License-Identifier: MIT */
/* forks.c - see forks.h */
#include "core/loop/forks.h"

#include <stdio.h>
#include <stdlib.h>

#include "core/base/boundary.h"
#include "core/base/clock.h"
#include "core/loop/pool.h"
#include "core/loop/current.h"
#include "core/loop/worker.h"

/* Jobs of strangers that a thread runs on top of each other, while it waits: each
 * is a stack of calls more. A guess. */
#define NESTED_MAX 8u

/* Where those who look for its jobs find that it may have some. */
static void place(struct forks *forks, struct pool *pool, unsigned index)
{
	const struct llc_groups *groups = pool->groups;
	unsigned workers = groups->worker_count;

	if (index < workers) {
		forks->group = groups->places[index].group;
		work_flag_init(&forks->flag, &pool->map, forks->group,
			       groups->places[index].bit);
	} else {
		work_flag_init(&forks->flag, &pool->map, groups->count,
			       index - workers);
	}
}

void forks_init(struct forks *forks, struct pool *pool, unsigned index,
		atomic_ptr *slots, size_t count, bool thieves)
{
	jobs_init(&forks->jobs, slots, count, thieves);
	atomic_init(&forks->taken, 0);
	parker_init(&forks->parker);
	forks->pool = pool;
	forks->index = index;
	rng_init(&forks->rng, index);
	place(forks, pool, index);
}

static size_t count_slots(const struct forks *forks)
{
	return (size_t)(forks->jobs.inlined.end - (void **)forks->jobs.slots);
}

void forks_destroy(struct forks *forks)
{
	job_slots_unmap_checks(forks->checks, count_slots(forks));
}

bool forks_have_checks_owner(struct forks *forks)
{
	if (!forks->checks)
		forks->checks = job_slots_map_checks(count_slots(forks));
	return forks->checks != NULL;
}

struct skua_ctx forks_ctx_owner(struct forks *forks)
{
	struct skua_ctx ctx = { &forks->jobs.inlined,
				jobs_head_owner(&forks->jobs) };

	/* An address that each thread has for itself. */
	forks->thread = &current_worker;
	return ctx;
}

_Noreturn void forks_abort(const char *what)
{
	fprintf(stderr, "skua: %s\n", what);
	abort();
}

void forks_check_end_owner(const struct forks *forks, void *const *head)
{
	if (forks->jobs.inlined.top != head)
		forks_abort("a function that forks has returned, and not all "
			    "of its jobs are joined");
}

void forks_check_thread_owner(struct skua_ctx ctx)
{
	if (forks_of(ctx)->thread != &current_worker)
		forks_abort("a context is used by another thread than its own, "
			    "or after skua_run() has returned");
}

void forks_check_ctx_owner(struct skua_ctx ctx)
{
	forks_check_thread_owner(ctx);
	if (ctx.head < ctx.forks->top)
		forks_abort("a loop or a sort is given the context from before "
			    "a fork");
}

/* ---- regions -------------------------------------------------------------- */

_Thread_local const struct forks_region *forks_region_current;

void forks_region_begin(struct forks_region *region, const struct pool *pool)
{
	*region = (struct forks_region){ pool, forks_region_current };
	forks_region_current = region;
}

void forks_region_end(const struct forks_region *region)
{
	forks_region_current = region->outer;
}

bool forks_region_here(const struct pool *pool)
{
	const struct forks_region *region = forks_region_current;

	while (region && region->pool != pool)
		region = region->outer;
	return region != NULL;
}

/* ---- taking jobs ---------------------------------------------------------- */

static bool is_guest(const struct forks *forks)
{
	return forks->index >= forks->pool->team.workers;
}

/* Where it counts what it takes. */
static uint64_t *jobs_stolen(const struct forks *forks)
{
	struct pool *pool = forks->pool;

	if (is_guest(forks))
		return &pool->area.guest_jobs_stolen[forks->index -
						     pool->team.workers];
	return &pool->workers[forks->index]->area.counters.jobs_stolen;
}

static bool steal_from(struct forks *forks, struct forks *victim,
		       struct forks_stolen *stolen)
{
	struct jobs_steal got;

	/* A further round means that another thief, or the owner, was faster. */
	do {
		got = jobs_steal(&victim->jobs, forks->index);
	} while (got.outcome == SKUA_STEAL_RETRY);
	if (got.outcome != SKUA_STEAL_SUCCESS)
		return false;
	*stolen = (struct forks_stolen){ got.job, got.slot, victim, got.more };
	counter_add_owner(jobs_stolen(forks), 1);
	return true;
}

static void begin_search(struct forks *forks, enum victims_reach reach,
			 struct victims *v)
{
	const struct pool *pool = forks->pool;

	*v = (struct victims){
		.groups = pool->groups,
		.map = &pool->map,
		.rng = &forks->rng,
		.kind = WORK_JOBS,
		.reach = reach,
		.samples = pool->far_samples,
		.own_line = forks->group,
	};
	if (!is_guest(forks)) {
		v->own_bit = forks->flag.bit;
		v->siblings = pool->groups->places[forks->index].siblings;
	}
	victims_begin(v);
}

bool forks_steal_owner(struct forks *forks, enum victims_reach reach,
		       struct forks_stolen *stolen)
{
	struct team *team = &forks->pool->team;
	struct victims v;
	struct victim victim;

	if (!team_forking(team))
		return false;
	begin_search(forks, reach, &v);
	while (victims_next(&v, &victim)) {
		unsigned i = team_place_of(team, victim.line, victim.bit);

		if (i != forks->index &&
		    steal_from(forks, team->forks[i], stolen))
			return true;
	}
	return false;
}

void forks_publish_owner(struct forks *forks, void **head)
{
	jobs_publish_owner(&forks->jobs, head);
	work_flag_raise_owner(&forks->flag, WORK_JOBS);
	team_notify(&forks->pool->team, &forks->pool->idle, forks->group);
}

void forks_run_owner(struct forks *forks, void **head,
		     const struct forks_stolen *stolen)
{
	struct skua_ctx ctx = { &forks->jobs.inlined, head };
	void **top = ctx.forks->top;

	forks->thread = &current_worker;
	ctx.forks->top = head;
	stolen->job->run(ctx, stolen->job);
	BOUNDARY(job);
	forks_check_end_owner(forks, head);
	ctx.forks->top = top;
	if (jobs_done(stolen->slot))
		forks_unpark(stolen->victim);
}

/* ---- waiting for one ------------------------------------------------------ */

/* Is there something that this thread can see to only when it is back? */
static bool tasks_wait(const struct pool *pool)
{
	return inject_queue_visible(&pool->urgent) ||
	       inject_queue_visible(&pool->inject);
}

/* May it run jobs that are no part of what it waits for? */
static bool helps_strangers(const struct forks *forks)
{
	return forks->nested < NESTED_MAX && !tasks_wait(forks->pool);
}

/* Run a job meanwhile, above the one that is waited for; false if there was none
 * to take. */
static bool help(struct forks *forks, atomic_ptr *slot,
		 enum victims_reach reach)
{
	struct pool *pool = forks->pool;
	int thief = jobs_thief_owner(slot);
	struct forks_stolen stolen;
	bool strange = false;

	if (thief < 0 || !steal_from(forks, pool->team.forks[thief], &stolen)) {
		strange = true;
		if (!helps_strangers(forks) ||
		    !forks_steal_owner(forks, reach, &stolen))
			return false;
	}
	if (stolen.more) /* F3 */
		team_notify(&pool->team, &pool->idle, forks->group);
	forks->nested += strange;
	forks_run_owner(forks, (void **)(slot + 1), &stolen);
	forks->nested -= strange;
	return true;
}

static uint64_t spin_limit_ns(const struct pool *pool)
{
	if (pool->spin_ns != POOL_SPIN_MEASURED)
		return pool->spin_ns;
	return pool_squeezed(pool) ? 0 : pool_wake_cost_ns(pool);
}

/* How far to look for jobs, after so long; at the end everywhere, as a sleeper
 * would (F2). */
static enum victims_reach reach_of_wait(const struct pool *pool,
					uint64_t past_ns, uint64_t limit_ns)
{
	if (past_ns >= limit_ns && limit_ns != POOL_SPIN_FOREVER)
		return VICTIMS_ALL;
	return past_ns < pool->far_delay_ns ? VICTIMS_NODE : VICTIMS_SAMPLE;
}

/* Look for jobs for a while; false when that was in vain, true when the job is
 * done. @woken: whether it has been woken for jobs, and not taken any. */
static bool spin(struct forks *forks, atomic_ptr *slot, bool *woken)
{
	uint64_t limit_ns = spin_limit_ns(forks->pool);
	uint64_t start_ns = 0, past_ns = 0;
	enum victims_reach reach = VICTIMS_NODE;

	for (;;) {
		if (jobs_is_done_owner(slot))
			return true;
		if (help(forks, slot, reach)) {
			*woken = false;
			start_ns = 0;
			reach = VICTIMS_NODE;
			continue;
		}
		if (reach == VICTIMS_ALL)
			return false;
		past_ns = clock_now_ns();
		if (start_ns == 0)
			start_ns = past_ns;
		past_ns -= start_ns;
		reach = reach_of_wait(forks->pool, past_ns, limit_ns);
		cpu_relax();
	}
}

/* Sleep until the job is done, or somebody has jobs to give (F2): true then. */
static bool sleep_in_join(struct forks *forks, atomic_ptr *slot)
{
	struct pool *pool = forks->pool;
	struct team *team = &pool->team;

	if (!helps_strangers(forks)) {
		if (jobs_await_owner(slot))
			parker_park(&forks->parker);
		return false;
	}
	team_sleep_begin(team, forks->index);
	if (!team_visible(team)) {
		/* A round more means an old notification. */
		while (jobs_await_owner(slot) &&
		       team_asleep(team, forks->index))
			parker_park(&forks->parker);
	}
	return team_sleep_end(team, forks->index);
}

void forks_join_owner(struct forks *forks, atomic_ptr *slot)
{
	struct pool *pool = forks->pool;
	bool woken = false;
	bool done;

	for (;;) {
		done = spin(forks, slot, &woken);
		if (woken) /* F4 */
			team_pass_on(&pool->team, &pool->idle, forks->group);
		if (done)
			return;
		woken = sleep_in_join(forks, slot);
	}
}
