/* SPDX-License-Identifier: MIT */
/**
 * fork_join.h - how a thread keeps its jobs, takes those of others, and waits
 *
 * Each worker and each external thread (team.h) has one struct fork_join. While
 * a thread waits in a join for a stolen job, it runs other jobs. It tries the
 * thief of that job first (Wagner and Calder, "Leapfrogging", PPoPP 1993): the
 * jobs of the thief are parts of the awaited job, or of a job that the thief
 * runs in a join of the awaited job, and so ends before it. The thief has no
 * older jobs left: thieves take the oldest one first. Then the thread tries all
 * threads, unless tasks wait, which it can poll only after the join.
 */
#ifndef SKUA_CORE_FORK_JOIN_FORK_JOIN_H
#define SKUA_CORE_FORK_JOIN_FORK_JOIN_H

#include "core/fork_join/team.h"
#include "core/fork_join/job_slots.h"
#include "core/queue/split_deque.h"
#include "core/idle/parker.h"
#include "core/base/rng.h"
#include "core/idle/victims.h"
#include "probes/area.h"

struct fork_join {
	/* The first member: struct skua_ctx points to it. */
	struct split_deque deque;

	/* 1: an external thread has this place. Writers: external threads. */
	alignas(CACHE_PAIR) atomic_u32 taken;
	/* When that thread took it. Writers: external threads. Readers:
	 * searchers. */
	atomic_u64 taken_ns;
	/* The call of that thread, for other processes. */
	struct area_call call;
	/* Where the owner sleeps in a join. Writers: the owner; wakers. */
	struct parker parker;

	/* The owner's own fields. */
	alignas(CACHE_PAIR) struct team *team;
	uint64_t *jobs_stolen; /* counter of the jobs it took */
	unsigned index;        /* of its place in the team */
	/* Its LLC group; for an external thread, the nearest one. */
	unsigned group;
	struct work_flag flag; /* its bit in the team's map */
	/* Number of nested jobs: jobs that run while a join on the same stack
	 * waits for another job, of which they are no part. */
	unsigned nested;
	/* The computation is on the stack of a fiber, which may be too small for
	 * other jobs than its own ones. */
	bool on_fiber;
	/* Identifies the thread that has this place; NULL: none. */
	const void *thread;
	struct rng rng;
	/* One for each slot; NULL: nothing was forked with checks yet. */
	struct job_check *checks;
	bool guarded; /* the place has its guard page */
};

/* A job that was stolen and did not run yet. */
struct stolen_job {
	struct skua_job *job; /* NULL: none */
	atomic_ptr *slot;
	struct fork_join *victim;
	bool more; /* the victim has more public jobs */
};

/**
 * fork_join_init - initialise a place in zeroed memory
 * @index: of the place in the team
 * @slots: @count of them, zeroed
 * @thieves: whether other threads may steal from it
 * @jobs_stolen: counter of the jobs that it takes; NULL if there are no @thieves
 */
void fork_join_init(struct fork_join *fj, struct team *team, unsigned index,
		    atomic_ptr *slots, size_t count, bool thieves,
		    uint64_t *jobs_stolen);

/* fork_join_destroy - free the memory of the place */
void fork_join_destroy(struct fork_join *fj);

/* fork_join_have_checks_owner - allocate the memory for checks, unless it is
 * there; false if there is no memory */
bool fork_join_have_checks_owner(struct fork_join *fj);

/* fork_join_have_guard_owner - make the guard page of the place, unless it is
 * there (job_slots.h); false if there is no memory: then nothing may be forked */
bool fork_join_have_guard_owner(struct fork_join *fj);

/* fork_join_ctx_owner - return a context to begin with; the caller has forked
 * nothing */
struct skua_ctx fork_join_ctx_owner(struct fork_join *fj);

/* fork_join_check_end_owner - abort unless each job that was forked with checks
 * from @head on is joined */
void fork_join_check_end_owner(const struct fork_join *fj, void *const *head);

/* fork_join_check_thread_owner - abort if @ctx is a context of another
 * thread */
void fork_join_check_thread_owner(struct skua_ctx ctx);

/* fork_join_check_ctx_owner - abort if @ctx is a context of another thread, or
 * if checked code has forked since it was the current context */
void fork_join_check_ctx_owner(struct skua_ctx ctx);

/* fork_join_abort - print @what, a mistake of the program, and abort */
_Noreturn void fork_join_abort(const char *what);

/* A region in which a thread computes as an external thread of @team. Regions can be nested. */
struct fork_region {
	const struct team *team;
	const struct fork_region *outer;
	/* The worker whose poll has called; it may be of another runtime. NULL: the thread is
	 * no worker. */
	const void *worker;
};

/* The innermost region of the calling thread; NULL: none. Initial-exec, like
 * current_worker: no memory is allocated when a thread first computes. */
extern _Thread_local const struct fork_region *fork_region_current
	__attribute__((tls_model("initial-exec")));

/* fork_region_begin - begin a region of the calling thread; @region is on its
 * stack */
void fork_region_begin(struct fork_region *region, const struct team *team,
		       const void *worker);

void fork_region_end(const struct fork_region *region);

/* fork_region_here - does the calling thread compute in @team? */
bool fork_region_here(const struct team *team);

/* fork_region_within - does the innermost region of the calling thread belong to a poll of
 * @worker? */
static inline bool fork_region_within(const void *worker)
{
	return fork_region_current && fork_region_current->worker == worker;
}

/* fork_join_of - return the place that a context belongs to */
static inline struct fork_join *fork_join_of(struct skua_ctx ctx)
{
	return (struct fork_join *)ctx.forks;
}

/* fork_join_steal_owner - steal a job from any other thread within @reach;
 * false if there is none */
bool fork_join_steal_owner(struct fork_join *fj, enum victims_reach reach,
			   struct stolen_job *stolen);

/**
 * fork_join_help_owner - the same for a worker that has nothing else to do
 * @counted: false; receives whether it took a place among the helpers
 *           (team_sign_on()). The worker gives it back when it has run the job
 */
bool fork_join_help_owner(struct fork_join *fj, enum victims_reach reach,
			  bool *counted, struct stolen_job *stolen);

/* fork_join_publish_owner - finish a fork that found a thief's request for
 * jobs: publish some, and wake a thread for them. @head is past the new job */
void fork_join_publish_owner(struct fork_join *fj, void **head);

/* fork_join_lower_flag_owner - make thieves pass this thread by; it has no
 * jobs */
static inline void fork_join_lower_flag_owner(struct fork_join *fj)
{
	work_flag_lower_owner(&fj->flag, WORK_JOBS);
}

/* fork_join_run_owner - run a stolen job, with a context that begins at
 * @head */
void fork_join_run_owner(struct fork_join *fj, void **head,
			 const struct stolen_job *stolen);

/* fork_join_wait_owner - wait until the stolen job of @slot is done; runs other
 * jobs meanwhile */
void fork_join_wait_owner(struct fork_join *fj, atomic_ptr *slot);

/* fork_join_unpark - end a sleep in a join. Threads: any */
static inline void fork_join_unpark(struct fork_join *fj)
{
	parker_unpark(&fj->parker);
}

#endif
