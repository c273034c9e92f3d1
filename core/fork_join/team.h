/* SPDX-License-Identifier: MIT */
/**
 * team.h - the threads that work on jobs, and those that sleep and could
 *
 * Each worker has a place for the jobs that it forks (fork_join.h), and there are
 * some more for threads from outside that call skua_run(), the external threads. An external thread
 * works in place of a worker: one worker less takes jobs meanwhile, so that there
 * are never more threads at work than there are workers.
 *
 * A thread that waits for a stolen job of its own sleeps in its place, not as an idle
 * worker does: it takes no tasks, and a thread that spawns one must not count on it.
 * How such a sleeper and an idle worker learn of jobs: IDLE.md, F1 to F4.
 */
#ifndef SKUA_CORE_FORK_JOIN_TEAM_H
#define SKUA_CORE_FORK_JOIN_TEAM_H

#include <stdalign.h>
#include <stdbool.h>

#include "core/base/atomic.h"
#include "core/base/tuning.h"
#include "core/idle/idle.h"
#include "core/queue/inject_queue.h"
#include "core/queue/work_map.h"
#include "skua/fork.h"

/* A guess at how many threads call skua_run() of one runtime at once; the
 * others get no help. */
#define TEAM_EXTERNALS ((unsigned)SKUA_MAX_EXTERNAL_THREADS)
#define TEAM_WORDS     ((IDLE_MAX_WORKERS + TEAM_EXTERNALS) / 64 + 1)

struct fork_join;

struct team {
	/* Constant while the workers run: one a worker, then the external threads'. */
	struct fork_join **members;
	const struct llc_groups *groups; /* of the workers */
	struct idle *idle;               /* of the workers */
	const struct tuning *tuning;
	const struct inject_queue *tasks[2]; /* that wait for a worker */
	/* Threads that may have jobs: a line a group, and one for the external
	 * threads. */
	struct work_map *map;
	unsigned workers;
	bool pinned; /* each worker has a CPU of its own */

	/* Whether any thread that has thieves has ever forked. Writers: such threads, 0
	 * to 1. Readers: threads that look for jobs. */
	alignas(CACHE_PAIR) atomic_u32 forking;
	/* Writers: external threads. Readers: threads that look for jobs, or have made
	 * some public. Bounded by TEAM_EXTERNALS. */
	atomic_u32 externals;

	/* Workers that run a job which they took while they had nothing else to
	 * do, or are taking one. Writers: they. Readers: as of external threads. */
	alignas(CACHE_PAIR) atomic_u32 helpers;

	/*
	 * Threads that sleep for a job of their own and would take others meanwhile:
	 * how many, and a bit each. Writers: they; a waker clears a bit, and the value
	 * before tells which waker did. Readers: threads that have made jobs public.
	 */
	alignas(CACHE_PAIR) atomic_u32 sleeping;
	atomic_u64 asleep[TEAM_WORDS];
};

/**
 * team_init - nobody forks yet
 * @members: of the workers of @idle and TEAM_EXTERNALS external threads; or NULL
 * @map: a line for each group of @idle, and one more
 * @pinned: each worker has a CPU of its own
 *
 * The caller fills in tasks.
 */
void team_init(struct team *team, struct fork_join **members, struct idle *idle,
	       struct work_map *map, const struct tuning *tuning, bool pinned);

/* team_begin_forking - before the first fork of all */
void team_begin_forking(struct team *team);

/* team_enter - a place for an external thread, which is near the group @group; NULL if all are
 * taken */
struct fork_join *team_enter(struct team *team, unsigned group);

/* team_leave - give it back, without any job; the caller then looks once more, as after
 * team_sign_off() */
void team_leave(struct team *team, struct fork_join *external);

/* team_forking - may there be any jobs? A hint. */
static inline bool team_forking(const struct team *team)
{
	/* Relaxed: set before the first job is public. */
	return atomic_load_relaxed(&team->forking) != 0;
}

/* team_member_of - the index in @forks of what a bit of the map stands for */
static inline unsigned team_member_of(const struct team *team, unsigned line,
				      unsigned bit)
{
	return line < team->groups->count
		       ? team->groups->groups[line].workers[bit]
		       : team->workers + bit;
}

/* team_sign_on - become a helper; false if there are enough. Before it takes a
 * job, so that a thread that publishes more wakes nobody in its place. */
bool team_sign_on(struct team *team);

/* team_sign_off - it has run its job, or found none; it then looks once more, for those
 * that left jobs to it */
void team_sign_off(struct team *team);

/* team_sleep_begin - place @i is going to sleep: its caller then looks for jobs
 * once more (F2) */
void team_sleep_begin(struct team *team, unsigned i);

/* team_sleep_end - place @i is awake. Return: has it been woken for jobs? */
bool team_sleep_end(struct team *team, unsigned i);

/* team_asleep - may place @i sleep on, or has it been woken for jobs? */
bool team_asleep(const struct team *team, unsigned i);

/* team_visible - is any job public? After a fence, or as a hint. */
bool team_visible(const struct team *team);

/**
 * team_wake - wake somebody for jobs, unless an idle worker searches
 *
 * @group: of the caller, as of idle_wake()
 *
 * After a fence. First a thread that waits for a job of its own: it has caches and a
 * CPU. No worker on the caller's CPU, which is busy with jobs already: it would take
 * its place.
 */
void team_wake(struct team *team, unsigned group);

/* team_pass_on - the same if there are jobs: the thread that should or could take one
 * has something else to do (F4). After team_sleep_end(), team_sign_off() or
 * team_leave(), which order the look. */
static inline void team_pass_on(struct team *team, unsigned group)
{
	if (team_visible(team))
		team_wake(team, group);
}

/* team_notify - what is called after jobs were made public (F1) */
static inline void team_notify(struct team *team, unsigned group)
{
	/* Orders the public jobs before team_wake()'s look at the sleepers. Pairs
	 * with the fences in team_sleep_begin() and idle_park_begin(). */
	atomic_fence_seq_cst();
	team_wake(team, group);
}

#endif
