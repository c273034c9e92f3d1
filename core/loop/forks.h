/* SPDX-License-Identifier: MIT */
/**
 * forks.h - a thread's jobs, how it takes those of others, and waits
 *
 * One for each worker, and one for each guest (team.h). A join of a job that was
 * stolen takes jobs meanwhile: those of its thief first, which are parts of what
 * it waits for (Wagner and Calder, "Leapfrogging", PPoPP 1993); then those of
 * anybody, unless tasks wait, which the thread can see to only when it is back.
 */
#ifndef SKUA_CORE_LOOP_FORKS_H
#define SKUA_CORE_LOOP_FORKS_H

#include "core/loop/team.h"
#include "core/os/job_slots.h"
#include "core/queue/jobs.h"
#include "core/idle/parker.h"
#include "core/base/rng.h"
#include "core/idle/victims.h"

struct pool;

struct forks {
	struct jobs jobs; /* first: a context points to it */

	/* Whether a guest has this place. Writers: guests. */
	alignas(CACHE_PAIR) atomic_u32 taken;
	/* For sleeps in a join. Writers: the owner; wakers. */
	struct parker parker;

	/* The owner's. */
	alignas(CACHE_PAIR) struct pool *pool;
	unsigned index;        /* in the team */
	unsigned group;        /* its LLC group; the nearest, of a guest */
	struct work_flag flag; /* its bit of the team's map */
	unsigned nested; /* joins, below the current one, that run other jobs */
	const void *thread; /* that has this place; NULL: none */
	struct rng rng;
	struct job_check *checks; /* NULL: nothing was forked with checks yet */
};

/* A job that was taken, and not run yet. */
struct forks_stolen {
	struct skua_job *job; /* NULL: none */
	atomic_ptr *slot;
	struct forks *victim;
	bool more; /* its victim has others */
};

/* forks_init - in zeroed memory; @slots: @count of them, zeroed */
void forks_init(struct forks *forks, struct pool *pool, unsigned index,
		atomic_ptr *slots, size_t count, bool thieves);

/* forks_destroy - give back what belongs to it */
void forks_destroy(struct forks *forks);

/* forks_have_checks_owner - make room for checks, if there is none; false: there
 * is no memory */
bool forks_have_checks_owner(struct forks *forks);

/* forks_ctx_owner - to begin with; the caller has forked nothing */
struct skua_ctx forks_ctx_owner(struct forks *forks);

/* forks_check_end_owner - abort unless all is joined that was forked, with
 * checks, from @head on */
void forks_check_end_owner(const struct forks *forks, void *const *head);

/* forks_check_thread_owner - abort if it is another thread's context */
void forks_check_thread_owner(struct skua_ctx ctx);

/* forks_check_ctx_owner - the same, or if code that is checked has forked since
 * that was the context */
void forks_check_ctx_owner(struct skua_ctx ctx);

/* forks_abort - end the program of a user that has made a mistake */
_Noreturn void forks_abort(const char *what);

/* What a thread outside computes in a runtime, one within the other. */
struct forks_region {
	const struct pool *pool;
	const struct forks_region *outer;
};

/* The innermost of the calling thread; NULL: none. Initial-exec, as
 * current_worker: nothing is allocated for it when a thread first computes. */
extern _Thread_local const struct forks_region *forks_region_current
	__attribute__((tls_model("initial-exec")));

/* forks_region_begin - the calling thread begins to; @region is on its stack */
void forks_region_begin(struct forks_region *region, const struct pool *pool);

void forks_region_end(const struct forks_region *region);

/* forks_region_here - does the calling thread compute in that? */
bool forks_region_here(const struct pool *pool);

/* forks_of - whose context it is */
static inline struct forks *forks_of(struct skua_ctx ctx)
{
	return (struct forks *)ctx.forks;
}

/* forks_steal_owner - take a job of somebody else that far; false if there is
 * none */
bool forks_steal_owner(struct forks *forks, enum victims_reach reach,
		       struct forks_stolen *stolen);

/* forks_publish_owner - what is left of a fork that was asked for jobs; @head is past
 * the new one */
void forks_publish_owner(struct forks *forks, void **head);

/* forks_lower_flag_owner - nothing is forked: have thieves pass by */
static inline void forks_lower_flag_owner(struct forks *forks)
{
	work_flag_lower_owner(&forks->flag, WORK_JOBS);
}

/* forks_run_owner - run what was taken, with a context that begins at @head */
void forks_run_owner(struct forks *forks, void **head,
		     const struct forks_stolen *stolen);

/* forks_join_owner - wait until the stolen job of @slot is done */
void forks_join_owner(struct forks *forks, atomic_ptr *slot);

/* forks_unpark - end a sleep in a join; any thread */
static inline void forks_unpark(struct forks *forks)
{
	parker_unpark(&forks->parker);
}

#endif
