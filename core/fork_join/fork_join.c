/* SPDX-License-Identifier: MIT */
/* fork_join.c - see fork_join.h */
#include "core/fork_join/fork_join.h"

#include <stdio.h>
#include <stdlib.h>

#include "core/base/boundary.h"
#include "core/base/clock.h"
#include "core/telemetry/telemetry.h"
#include "probes/counters.h"

/* A thread that waits for a job may run other jobs within each other, up to
 * this number, although they are no part of that job. Each adds its calls to
 * the stack. A guess. */
#define NESTED_MAX 8u

/* Set the bit of the team's map by which thieves find this thread's jobs. */
static void place(struct fork_join *fj, struct team *team, unsigned index)
{
	const struct llc_groups *groups = team->groups;
	unsigned workers = groups->worker_count;

	if (index < workers) {
		fj->group = groups->places[index].group;
		work_flag_init(&fj->flag, team->map, fj->group,
			       groups->places[index].bit);
	} else {
		work_flag_init(&fj->flag, team->map, groups->count,
			       index - workers);
	}
}

void fork_join_init(struct fork_join *fj, struct team *team, unsigned index,
		    atomic_ptr *slots, size_t count, bool thieves,
		    uint64_t *jobs_stolen)
{
	split_deque_init(&fj->deque, slots, count, thieves);
	atomic_init(&fj->taken, 0);
	atomic_init(&fj->taken_ns, 0);
	parker_init(&fj->parker);
	fj->team = team;
	fj->jobs_stolen = jobs_stolen;
	fj->index = index;
	rng_init(&fj->rng, index);
	place(fj, team, index);
}

static size_t count_slots(const struct fork_join *fj)
{
	return (size_t)(fj->deque.inlined.end - (void **)fj->deque.slots);
}

void fork_join_destroy(struct fork_join *fj)
{
	job_slots_unmap_checks(fj->checks, count_slots(fj));
}

bool fork_join_have_checks_owner(struct fork_join *fj)
{
	if (!fj->checks)
		fj->checks = job_slots_map_checks(count_slots(fj));
	return fj->checks != NULL;
}

bool fork_join_have_guard_owner(struct fork_join *fj)
{
	if (!fj->guarded)
		fj->guarded = job_slots_guard(
				      (atomic_ptr *)fj->deque.inlined.end) == 0;
	return fj->guarded;
}

struct skua_ctx fork_join_ctx_owner(struct fork_join *fj)
{
	struct skua_ctx ctx = { &fj->deque.inlined,
				split_deque_head_owner(&fj->deque) };

	/* The address of a thread-local identifies the thread. */
	fj->thread = &fork_region_current;
	return ctx;
}

_Noreturn void fork_join_abort(const char *what)
{
	fprintf(stderr, "skua: %s\n", what);
	abort();
}

void fork_join_check_end_owner(const struct fork_join *fj, void *const *head)
{
	if (fj->deque.inlined.top != head)
		fork_join_abort(
			"a function that forks has returned, and not all "
			"of its jobs are joined");
}

void fork_join_check_thread_owner(struct skua_ctx ctx)
{
	if (fork_join_of(ctx)->thread != &fork_region_current)
		fork_join_abort(
			"a context is used by another thread than its own, "
			"or after skua_run() has returned");
}

void fork_join_check_ctx_owner(struct skua_ctx ctx)
{
	fork_join_check_thread_owner(ctx);
	if (ctx.head < ctx.forks->top)
		fork_join_abort(
			"a function is given the context from before a fork");
}

/* ---- regions -------------------------------------------------------------- */

_Thread_local const struct fork_region *fork_region_current;

void fork_region_begin(struct fork_region *region, const struct team *team,
		       const void *worker)
{
	*region = (struct fork_region){ team, fork_region_current, worker };
	fork_region_current = region;
}

void fork_region_end(const struct fork_region *region)
{
	fork_region_current = region->outer;
}

bool fork_region_here(const struct team *team)
{
	const struct fork_region *region = fork_region_current;

	while (region && region->team != team)
		region = region->outer;
	return region != NULL;
}

/* ---- taking jobs ---------------------------------------------------------- */

static bool is_external(const struct fork_join *fj)
{
	return fj->index >= fj->team->workers;
}

static bool steal_from(struct fork_join *fj, struct fork_join *victim,
		       struct stolen_job *stolen)
{
	struct split_deque_steal got;

	/* The loop repeats when another thief or the owner was faster. */
	do {
		got = split_deque_steal(&victim->deque, fj->index);
	} while (got.outcome == SKUA_STEAL_RETRY);
	if (got.outcome != SKUA_STEAL_SUCCESS)
		return false;
	*stolen = (struct stolen_job){ got.job, got.slot, victim, got.more };
	counter_add_owner(fj->jobs_stolen, 1);
	return true;
}

static void begin_search(struct fork_join *fj, enum victims_reach reach,
			 struct victims *v)
{
	const struct team *team = fj->team;

	*v = (struct victims){
		.groups = team->groups,
		.map = team->map,
		.rng = &fj->rng,
		.kind = WORK_JOBS,
		.reach = reach,
		.samples = team->tuning->far_samples,
		.own_line = fj->group,
	};
	if (!is_external(fj)) {
		v->own_bit = fj->flag.bit;
		v->siblings = team->groups->places[fj->index].siblings;
	}
	victims_begin(v);
}

/*
 * Has an external thread begun to compute so recently that a thief leaves its
 * jobs to it? Short calls of skua_run() are then as fast as with one worker: a
 * stolen job takes longer to move between two CPUs than to run. The thief is
 * awake, and tries again: a search before a sleep goes everywhere, and does not
 * ask this.
 */
static bool is_young(const struct fork_join *fj)
{
	/* Relaxed: a hint. */
	return is_external(fj) &&
	       clock_now_ns() - atomic_load_relaxed(&fj->taken_ns) <
		       fj->team->tuning->young_ns;
}

/* Steal a job. @counted: NULL: for a thread in a join, which is no helper; else
 * as team_sign_on(). */
static bool steal(struct fork_join *fj, enum victims_reach reach, bool *counted,
		  struct stolen_job *stolen)
{
	struct team *team = fj->team;
	bool helps = counted == NULL;
	struct victims v;
	struct victim victim;

	/* The job may fork. */
	if (!team_forking(team) || !fork_join_have_guard_owner(fj))
		return false;
	begin_search(fj, reach, &v);
	while (victims_next(&v, &victim)) {
		unsigned i = team_member_of(team, victim.line, victim.bit);
		struct fork_join *other = team->members[i];

		if (i == fj->index || (reach != VICTIMS_ALL && is_young(other)))
			continue;
		/* A place among the helpers is taken only for a job, and after
		 * the job was seen: then an external thread that made it public
		 * is seen, too. */
		if (!helps) {
			if (!split_deque_visible(&other->deque))
				continue;
			if (!team_sign_on(team, counted))
				return false;
			helps = true;
		}
		if (steal_from(fj, other, stolen))
			return true;
	}
	return false;
}

bool fork_join_steal_owner(struct fork_join *fj, enum victims_reach reach,
			   struct stolen_job *stolen)
{
	return steal(fj, reach, NULL, stolen);
}

bool fork_join_help_owner(struct fork_join *fj, enum victims_reach reach,
			  bool *counted, struct stolen_job *stolen)
{
	/* The loop repeats when this worker took a place, and other thieves were
	 * faster: it must scan the jobs once more (F3). */
	do {
		if (steal(fj, reach, counted, stolen))
			return true;
	} while (team_sign_off(fj->team, counted));
	return false;
}

void fork_join_publish_owner(struct fork_join *fj, void **head)
{
	split_deque_publish_owner(&fj->deque, head);
	/* In a short call from outside, a wake-up costs far more than the call.
	 * It is not put off until the call is older: a thread that forks once,
	 * and then computes for long, calls nothing here before its join, and
	 * would get no help. */
	work_flag_raise_owner(&fj->flag, WORK_JOBS);
	team_notify(fj->team, fj->group);
}

void fork_join_run_owner(struct fork_join *fj, void **head,
			 const struct stolen_job *stolen)
{
	struct skua_ctx ctx = { &fj->deque.inlined, head };
	void **top = ctx.forks->top;

	fj->thread = &fork_region_current;
	ctx.forks->top = head;
	stolen->job->run(ctx, stolen->job);
	BOUNDARY(job);
	fork_join_check_end_owner(fj, head);
	ctx.forks->top = top;
	if (split_deque_done(stolen->slot))
		fork_join_unpark(stolen->victim);
}

/* ---- waiting for a stolen job --------------------------------------------- */

/* Do tasks wait at the group of this thread? It can poll them only after its
 * join. */
static bool tasks_wait(const struct fork_join *fj)
{
	return inject_group_visible(&fj->team->inject[fj->group]);
}

/* May this thread run jobs that are no part of the job it waits for? */
static bool helps_strangers(const struct fork_join *fj)
{
	return !fj->on_fiber && fj->nested < NESTED_MAX && !tasks_wait(fj);
}

/* Run another job while this thread waits for the job of @slot; the forks of
 * that job use the slots above @slot. Return: false if there was no job to
 * take. */
static bool help(struct fork_join *fj, atomic_ptr *slot,
		 enum victims_reach reach)
{
	struct team *team = fj->team;
	int thief = split_deque_thief_owner(slot);
	struct stolen_job stolen;
	bool strange = false;

	if (thief < 0 || !steal_from(fj, team->members[thief], &stolen)) {
		strange = true;
		if (!helps_strangers(fj) ||
		    !fork_join_steal_owner(fj, reach, &stolen))
			return false;
	}
	if (stolen.more) /* F3 */
		team_notify(team, fj->group);
	fj->nested += strange;
	telemetry_fork(team->telemetry, EVENT_HELP_BEGIN,
		       (uintptr_t)stolen.job->run, stolen.victim->index);
	fork_join_run_owner(fj, (void **)(slot + 1), &stolen);
	telemetry_fork(team->telemetry, EVENT_HELP_END, 0,
		       stolen.victim->index);
	fj->nested -= strange;
	return true;
}

static uint64_t spin_limit_ns(const struct fork_join *fj)
{
	const struct team *team = fj->team;

	if (team->tuning->spin_ns != TUNING_SPIN_MEASURED)
		return team->tuning->spin_ns;
	return idle_oversubscribed(team->idle)
		       ? 0
		       : idle_wake_cost_ns(team->idle, fj->group);
}

/* Return how far to search for jobs after @past_ns of waiting. The last search
 * goes everywhere, like the search before a sleep (F2). */
static enum victims_reach reach_of_wait(const struct team *team,
					uint64_t past_ns, uint64_t limit_ns)
{
	if (past_ns >= limit_ns && limit_ns != TUNING_SPIN_FOREVER)
		return VICTIMS_ALL;
	return past_ns < team->tuning->far_delay_ns ? VICTIMS_NODE
						    : VICTIMS_SAMPLE;
}

/* Take and run jobs for a while. Return: true when the job of @slot is done;
 * false when no more jobs were found. @woken: whether this thread was woken for
 * jobs and has not taken any; cleared when it takes one. */
static bool spin(struct fork_join *fj, atomic_ptr *slot, bool *woken)
{
	uint64_t limit_ns = spin_limit_ns(fj);
	uint64_t start_ns = 0, past_ns = 0;
	enum victims_reach reach = VICTIMS_NODE;

	for (;;) {
		if (split_deque_is_done_owner(slot))
			return true;
		if (help(fj, slot, reach)) {
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
		reach = reach_of_wait(fj->team, past_ns, limit_ns);
		cpu_relax();
	}
}

/* Sleep until the job of @slot is done, or until a publisher wakes this thread
 * for other jobs (F2). Return: true if it was woken for other jobs. */
static bool sleep_in_join(struct fork_join *fj, atomic_ptr *slot)
{
	struct team *team = fj->team;

	if (!helps_strangers(fj)) {
		if (split_deque_await_owner(slot))
			parker_park(&fj->parker);
		return false;
	}
	team_sleep_begin(team, fj->index);
	if (!team_visible(team, fj->group)) {
		/* The loop repeats when an old notification ended the park. */
		while (split_deque_await_owner(slot) &&
		       team_asleep(team, fj->index))
			parker_park(&fj->parker);
	}
	return team_sleep_end(team, fj->index);
}

static void await_job(struct fork_join *fj, atomic_ptr *slot)
{
	bool woken = false;
	bool done;

	for (;;) {
		done = spin(fj, slot, &woken);
		if (woken) /* F4 */
			team_pass_on(fj->team, fj->group);
		if (done)
			return;
		woken = sleep_in_join(fj, slot);
	}
}

void fork_join_wait_owner(struct fork_join *fj, atomic_ptr *slot)
{
	struct telemetry *telemetry = fj->team->telemetry;

	telemetry_fork(telemetry, EVENT_JOIN_BEGIN, 0, fj->index);
	await_job(fj, slot);
	telemetry_fork(telemetry, EVENT_JOIN_END, 0, fj->index);
}
