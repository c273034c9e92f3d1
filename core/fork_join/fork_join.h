/* SPDX-License-Identifier: MIT */
/**
 * fork_join.h - a thread's jobs, how it takes those of others, and waits
 *
 * One for each worker, and one for each external thread (team.h). A join of a job that was
 * stolen takes jobs meanwhile: those of its thief first, which are parts of what
 * it waits for (Wagner and Calder, "Leapfrogging", PPoPP 1993); then those of
 * anybody, unless tasks wait, which the thread can see to only when it is back.
 */
#ifndef SKUA_CORE_FORK_JOIN_FORK_JOIN_H
#define SKUA_CORE_FORK_JOIN_FORK_JOIN_H

#include "core/fork_join/team.h"
#include "core/fork_join/job_slots.h"
#include "core/queue/split_deque.h"
#include "core/idle/parker.h"
#include "core/base/rng.h"
#include "core/idle/victims.h"

struct fork_join {
	struct split_deque deque; /* first: a context points to it */

	/* Whether an external thread has this place. Writers: external threads. */
	alignas(CACHE_PAIR) atomic_u32 taken;
	/* For sleeps in a join. Writers: the owner; wakers. */
	struct parker parker;

	/* The owner's. */
	alignas(CACHE_PAIR) struct team *team;
	uint64_t *jobs_stolen; /* a counter */
	unsigned index;        /* in the team */
	unsigned group; /* its LLC group; the nearest, of an external thread */
	struct work_flag flag; /* its bit of the team's map */
	unsigned nested; /* joins, below the current one, that run other jobs */
	const void *thread; /* that has this place; NULL: none */
	struct rng rng;
	struct job_check *checks; /* NULL: nothing was forked with checks yet */
};

/* A job that was taken, and not run yet. */
struct stolen_job {
	struct skua_job *job; /* NULL: none */
	atomic_ptr *slot;
	struct fork_join *victim;
	bool more; /* its victim has others */
};

/**
 * fork_join_init - in zeroed memory
 * @slots: @count of them, zeroed
 * @jobs_stolen: counts the jobs that it takes; NULL if there are no @thieves
 */
void fork_join_init(struct fork_join *fj, struct team *team, unsigned index,
		    atomic_ptr *slots, size_t count, bool thieves,
		    uint64_t *jobs_stolen);

/* fork_join_destroy - give back what belongs to it */
void fork_join_destroy(struct fork_join *fj);

/* fork_join_have_checks_owner - make room for checks, if there is none; false: there
 * is no memory */
bool fork_join_have_checks_owner(struct fork_join *fj);

/* fork_join_ctx_owner - to begin with; the caller has forked nothing */
struct skua_ctx fork_join_ctx_owner(struct fork_join *fj);

/* fork_join_check_end_owner - abort unless all is joined that was forked, with
 * checks, from @head on */
void fork_join_check_end_owner(const struct fork_join *fj, void *const *head);

/* fork_join_check_thread_owner - abort if it is another thread's context */
void fork_join_check_thread_owner(struct skua_ctx ctx);

/* fork_join_check_ctx_owner - the same, or if code that is checked has forked since
 * that was the context */
void fork_join_check_ctx_owner(struct skua_ctx ctx);

/* fork_join_abort - end the program of a user that has made a mistake */
_Noreturn void fork_join_abort(const char *what);

/* The regions in which an external thread computes, one within the other. */
struct fork_region {
	const struct team *team;
	const struct fork_region *outer;
};

/* The innermost of the calling thread; NULL: none. Initial-exec, as
 * current_worker: nothing is allocated for it when a thread first computes. */
extern _Thread_local const struct fork_region *fork_region_current
	__attribute__((tls_model("initial-exec")));

/* fork_region_begin - the calling thread begins to; @region is on its stack */
void fork_region_begin(struct fork_region *region, const struct team *team);

void fork_region_end(const struct fork_region *region);

/* fork_region_here - does the calling thread compute in that? */
bool fork_region_here(const struct team *team);

/* fork_join_of - whose context it is */
static inline struct fork_join *fork_join_of(struct skua_ctx ctx)
{
	return (struct fork_join *)ctx.forks;
}

/* fork_join_steal_owner - take a job of somebody else that far; false if there is
 * none */
bool fork_join_steal_owner(struct fork_join *fj, enum victims_reach reach,
			   struct stolen_job *stolen);

/* fork_join_publish_owner - what is left of a fork that was asked for jobs; @head is past
 * the new one */
void fork_join_publish_owner(struct fork_join *fj, void **head);

/* fork_join_lower_flag_owner - nothing is forked: have thieves pass by */
static inline void fork_join_lower_flag_owner(struct fork_join *fj)
{
	work_flag_lower_owner(&fj->flag, WORK_JOBS);
}

/* fork_join_run_owner - run what was taken, with a context that begins at @head */
void fork_join_run_owner(struct fork_join *fj, void **head,
			 const struct stolen_job *stolen);

/* fork_join_wait_owner - wait until the stolen job of @slot is done */
void fork_join_wait_owner(struct fork_join *fj, atomic_ptr *slot);

/* fork_join_unpark - end a sleep in a join; any thread */
static inline void fork_join_unpark(struct fork_join *fj)
{
	parker_unpark(&fj->parker);
}

#endif
