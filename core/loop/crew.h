/* SPDX-License-Identifier: MIT */
/**
 * crew.h - who works on jobs, and who sleeps that could
 *
 * Each worker has a place for the jobs that it forks (forks.h), and there are
 * some more for threads from outside that call skua_run(), the guests. A guest
 * works in place of a worker: one worker less takes jobs meanwhile, so that there
 * are never more threads at work than there are workers.
 *
 * Whoever waits for a stolen job of its own sleeps in its place, not as an idle
 * worker does: what tasks there are is nothing to it, and who spawns one must not
 * count on it. How such a sleeper and an idle worker learn of jobs: IDLE.md, F1
 * to F4.
 */
#ifndef SKUA_CORE_LOOP_CREW_H
#define SKUA_CORE_LOOP_CREW_H

#include <stdalign.h>
#include <stdbool.h>

#include "core/base/atomic.h"
#include "core/idle/idle.h"
#include "core/queue/work_map.h"
#include "skua/fork.h"

/* A guess at how many threads call skua_run() of one runtime at once; the
 * others get no help. */
#define CREW_GUESTS ((unsigned)SKUA_MAX_GUESTS)
#define CREW_WORDS  ((IDLE_MAX_WORKERS + CREW_GUESTS) / 64 + 1)

struct forks;

struct crew {
	/* Constant while the workers run: one a worker, then the guests'. */
	struct forks **forks;
	const struct llc_groups *groups; /* of the workers */
	struct work_map *map; /* who may have jobs: a line a group, and one for
			       * the guests */
	unsigned workers;
	bool pinned; /* each worker has a CPU of its own */

	/* Whether anybody has ever forked who has thieves. Writers: who does, 0
	 * to 1. Readers: who looks for jobs. */
	alignas(CACHE_PAIR) atomic_u32 forking;
	/* Writers: guests. Readers: who looks for jobs, or has made some public.
	 * Bounded by CREW_GUESTS. */
	atomic_u32 guests;

	/* Workers that run a job which they took while they had nothing else to
	 * do, or are taking one. Writers: they. Readers: as of guests. */
	alignas(CACHE_PAIR) atomic_u32 helpers;

	/*
	 * Who sleeps for a job of its own and would take others meanwhile, how
	 * many and in a bit each. Writers: they; a waker clears a bit, and the
	 * value before tells who did. Readers: who has made jobs public.
	 */
	alignas(CACHE_PAIR) atomic_u32 sleeping;
	atomic_u64 asleep[CREW_WORDS];
};

/* crew_init - @forks: of the workers of @groups and CREW_GUESTS guests; or NULL */
void crew_init(struct crew *crew, struct forks **forks,
	       const struct llc_groups *groups, struct work_map *map,
	       bool pinned);

/* crew_begin_forking - before the first fork of all */
void crew_begin_forking(struct crew *crew);

/* crew_enter - a place for a guest, which is near the group @group; NULL if all are
 * taken */
struct forks *crew_enter(struct crew *crew, unsigned group);

/* crew_leave - give it back, without any job; the caller is to look once more, as
 * after crew_sign_off() */
void crew_leave(struct crew *crew, struct forks *guest);

/* crew_forking - may there be any jobs? A hint. */
static inline bool crew_forking(const struct crew *crew)
{
	/* Relaxed: set before the first job is public. */
	return atomic_load_relaxed(&crew->forking) != 0;
}

/* crew_place_of - the index in @forks of what a bit of the map stands for */
static inline unsigned crew_place_of(const struct crew *crew, unsigned line,
				     unsigned bit)
{
	return line < crew->groups->count
		       ? crew->groups->groups[line].workers[bit]
		       : crew->workers + bit;
}

/* crew_sign_on - become a helper; false if there are enough. Before it takes a
 * job, so that whoever publishes more wakes nobody in its place. */
bool crew_sign_on(struct crew *crew);

/* crew_sign_off - it has run its job, or found none; it is to look once more,
 * for those that left jobs to it */
void crew_sign_off(struct crew *crew);

/* crew_sleep_begin - place @i is going to sleep: its caller then looks for jobs
 * once more (F2) */
void crew_sleep_begin(struct crew *crew, unsigned i);

/* crew_sleep_end - place @i is awake. Return: has it been woken for jobs? */
bool crew_sleep_end(struct crew *crew, unsigned i);

/* crew_asleep - may place @i sleep on, or has it been woken for jobs? */
bool crew_asleep(const struct crew *crew, unsigned i);

/* crew_visible - is any job public? After a fence, or as a hint. */
bool crew_visible(const struct crew *crew);

/**
 * crew_wake - wake somebody for jobs, unless an idle worker searches
 *
 * @group: of the caller, as of idle_wake()
 *
 * After a fence. First who waits for a job of its own: it has caches and a CPU. No
 * worker on the caller's CPU, which is busy with jobs already: it would take its
 * place.
 */
void crew_wake(struct crew *crew, struct idle *idle, unsigned group);

/* crew_pass_on - the same if there are jobs: who was to take one, or could, has
 * something else to do (F4). After crew_sleep_end(), crew_sign_off() or crew_leave(),
 * which order the look. */
static inline void crew_pass_on(struct crew *crew, struct idle *idle,
				unsigned group)
{
	if (crew_visible(crew))
		crew_wake(crew, idle, group);
}

/* crew_notify - what is called after jobs were made public (F1) */
static inline void crew_notify(struct crew *crew, struct idle *idle,
			       unsigned group)
{
	/* Orders what is public before crew_wake()'s look at who sleeps. Pairs
	 * with the fences in crew_sleep_begin() and idle_park_begin(). */
	atomic_fence_seq_cst();
	crew_wake(crew, idle, group);
}

#endif
