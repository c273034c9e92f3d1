/* SPDX-License-Identifier: MIT */
/**
 * team.h - the threads that run jobs, and the sleepers that could run some
 *
 * Each worker has a place for the jobs that it forks (fork_join.h). More places
 * are for external threads: threads outside the runtime that call skua_run().
 * An external thread works in place of a worker: one worker less takes jobs
 * meanwhile, so that never more threads run jobs than there are workers.
 *
 * A thread that waits in a join for a stolen job sleeps in its place in the
 * team, not as an idle worker: it takes no tasks, so a thread that spawns one
 * must not rely on it. IDLE.md, F1 to F4, says how such sleepers and idle
 * workers are woken for jobs.
 */
#ifndef SKUA_CORE_FORK_JOIN_TEAM_H
#define SKUA_CORE_FORK_JOIN_TEAM_H

#include <stdalign.h>
#include <stdbool.h>

#include "core/base/atomic.h"
#include "core/base/tuning.h"
#include "core/idle/idle.h"
#include "core/queue/inject_group.h"
#include "core/queue/work_map.h"
#include "skua/fork.h"

/* How many threads may call skua_run() of one runtime at once and share their
 * jobs; the others run their jobs alone. A guess. */
#define TEAM_EXTERNALS ((unsigned)SKUA_MAX_EXTERNAL_THREADS)
/* The words of a summary of all groups, and of the external threads. */
#define TEAM_WORDS SUMMARY_WORDS(IDLE_MAX_WORKERS + 1)

struct fork_join;
struct telemetry;

struct team {
	/* Constant while the workers run: one for each worker, then one for
	 * each external thread's place. */
	struct fork_join **members;
	const struct llc_groups *groups; /* of the workers */
	struct idle *idle;               /* of the workers */
	const struct tuning *tuning;
	/* The queues with tasks that wait for any worker, by group. */
	const struct inject_group *inject;
	/* The threads that may have jobs, and those that sleep in a join: one
	 * line for each group, and one more for the external threads. */
	struct work_map *map;
	struct telemetry *telemetry; /* NULL: nothing is reported */
	unsigned workers;
	bool pinned; /* each worker has a CPU of its own */

	/* 1: a thread that has thieves has forked at least once. Writers: such
	 * threads, from 0 to 1. Readers: threads that search for jobs. */
	alignas(CACHE_PAIR) atomic_u32 forking;
	/* External threads that have a place. Writers: external threads.
	 * Readers: threads that search for jobs, or have made some public. At
	 * most TEAM_EXTERNALS. */
	atomic_u32 externals;

	/* Helpers: workers that had nothing else to do and run a job, or are
	 * taking one; only those are counted that began while an external
	 * thread had a place. Writers: the helpers. Readers: while an external
	 * thread has a place, threads that search for jobs, or have made some
	 * public. */
	alignas(CACHE_PAIR) atomic_u32 helpers;

	/*
	 * Bit l of word l / 64: threads of line l of the map may sleep in a
	 * join, and would take other jobs. The bit may be set although none
	 * does. Writers: such a thread sets it, a waker that finds none clears
	 * it. Readers: threads that have made jobs public.
	 */
	alignas(CACHE_PAIR) atomic_u64 sleepy[TEAM_WORDS];
};

/**
 * team_init - initialise; no thread has forked yet
 * @members: one for each worker of @idle, and TEAM_EXTERNALS more for external
 *           threads; or NULL
 * @map: one line for each group of @idle, and one more
 * @pinned: each worker has a CPU of its own
 *
 * The caller sets the member tasks.
 */
void team_init(struct team *team, struct fork_join **members, struct idle *idle,
	       struct work_map *map, const struct tuning *tuning, bool pinned);

/* team_begin_forking - prepare for jobs; called before a thread's first fork */
void team_begin_forking(struct team *team);

/* team_enter - take a place for an external thread that is near @group; NULL if
 * all are taken */
struct fork_join *team_enter(struct team *team, unsigned group);

/* team_leave - give the place back, without any job. The caller then checks for
 * jobs once more, as after team_sign_off(). */
void team_leave(struct team *team, struct fork_join *external);

/* team_forking - may there be any jobs? A hint. */
static inline bool team_forking(const struct team *team)
{
	/* Relaxed: set before the first job is public. */
	return atomic_load_relaxed(&team->forking) != 0;
}

/* team_member_of - return the index in members for a bit of the map */
static inline unsigned team_member_of(const struct team *team, unsigned line,
				      unsigned bit)
{
	return line < team->groups->count
		       ? team->groups->groups[line].workers[bit]
		       : team->workers + bit;
}

/**
 * team_sign_on - make the calling worker a helper
 * @counted: receives whether it took one of the places for helpers, which are
 *           limited only while an external thread has a place
 *
 * A worker that has seen a job calls this before it takes one, so that a thread
 * that publishes more jobs wakes no second worker for them.
 * Return: false if there are enough helpers.
 */
bool team_sign_on(struct team *team, bool *counted);

/**
 * team_sign_off - end being a helper, after a job or a search that found none
 * @counted: as team_sign_on() left it; receives false
 *
 * Return: true if it gave a place back. The caller then checks for jobs once
 * more, because refused workers left them to the helpers.
 */
bool team_sign_off(struct team *team, bool *counted);

/* team_sleep_begin - announce that the thread of place @i is going to sleep in
 * a join. The caller then checks for jobs once more (F2). */
void team_sleep_begin(struct team *team, unsigned i);

/* team_sleep_end - end that sleep. Return: was the thread woken for jobs? */
bool team_sleep_end(struct team *team, unsigned i);

/* team_asleep - false once the thread of place @i was woken for jobs */
bool team_asleep(const struct team *team, unsigned i);

/* team_visible - is any job public? It checks those of @group first. The caller
 * has fenced; without a fence, the result is a hint. */
bool team_visible(const struct team *team, unsigned group);

/**
 * team_wake - wake a thread for jobs: one that sleeps in a join, or else an
 * idle worker, unless a worker searches
 *
 * @group: the caller's, as for idle_wake(); its threads come first
 *
 * The caller has fenced. A thread in a join comes first: it has warm caches and
 * a CPU. If each worker has a CPU of its own, no idle worker is woken when all
 * parked ones would wake up on the caller's CPU, which is busy with jobs
 * already.
 */
void team_wake(struct team *team, unsigned group);

/* team_pass_on - wake another thread if there are jobs, because the thread that
 * should or could take one has something else to do (F4). Called after
 * team_sleep_end(), team_sign_off() or team_leave(), which order the check. */
static inline void team_pass_on(struct team *team, unsigned group)
{
	if (team_visible(team, group))
		team_wake(team, group);
}

/* team_notify - wake a thread for jobs that the caller has just made public
 * (F1) */
static inline void team_notify(struct team *team, unsigned group)
{
	/* Orders the public jobs before the loads of the sleepers in
	 * team_wake(). Pairs with the fences in team_sleep_begin() and
	 * idle_park_begin(). */
	atomic_fence_seq_cst();
	team_wake(team, group);
}

#endif
