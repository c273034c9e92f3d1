/* SPDX-License-Identifier: MIT */
/**
 * driven.h - caller-driven runtimes, and the model of them
 *
 * The input is a program of calls. It starts outside; while a runtime is
 * driven, the polls, calls, pollers and release functions read on where the
 * program is, and make calls from inside. The model (driven_model.c) knows of
 * each job in which state its task has to be: its worker, whether it is due, the
 * number of its references, and the owner of its end. driven.c makes the
 * calls, and holds each result to what the headers say.
 *
 * A call for which several errors apply may return any of them; one for which
 * none does returns 0.
 */
#ifndef SKUA_TESTS_FUZZ_DRIVEN_H
#define SKUA_TESTS_FUZZ_DRIVEN_H

#include <errno.h>
#include <string.h>

#include "skua/skua.h"
#include "tests/fuzz/clock.h"
#include "tests/fuzz/fuzz.h"

#define RUNTIMES 2u
#define JOBS     12u
#define TIMERS   2u /* of each job */
#define WAKERS   12u
#define GROUPS   2u
#define POLLERS  3u
#define CALLS    16u
#define BLOCKS   32u /* of memory, of one runtime */

/* ---- what the library sees ------------------------------------------------ */

struct job {
	struct skua_task task; /* first: a task is its job */
	struct skua_timer timers[TIMERS];
};

/* ---- what the model knows ------------------------------------------------- */

/* An allocator that knows what it gave, and can be told to fail. */
struct model_memory {
	struct skua_allocator allocator;
	struct {
		void *memory;
		size_t size;
	} blocks[BLOCKS];
	unsigned count;
	unsigned fail_after; /* 0: never; 1: the next one */
	bool failed;
};

struct model_runtime {
	struct skua_runtime *rt; /* NULL: there is none */
	struct model_memory memory;
	uint32_t max_queued; /* 0: no bound */
	bool closing;        /* a shutdown began */
	bool cancelling;
	bool stopped; /* a shutdown succeeded */
	bool more;    /* the last poll left something to do */
	uint64_t spawned;
	uint64_t polled;
};

/* GONE: the memory is nobody's, and is looked after. */
enum phase { GONE, FRESH, LIVE, COMPLETE };

/* Whose a task's end is. BY_CALL: of a join by a job, whose call is under way. */
enum claim { NOBODYS, DETACHED, OF_JOB, OF_GROUP, BY_CALL };

struct model_timer {
	bool pending;
	uint64_t deadline_ns;
	struct model_runtime *runtime; /* on which it was added last */
};

struct model_job {
	enum phase phase;
	bool queued; /* it will be polled, or polled again */
	bool running;
	bool cancelled;
	bool has_release;
	bool release_owed; /* ended: its release function has to be called */
	bool covered;      /* a drain or the like came after its end */
	bool urgent;
	bool has_waited; /* since its spawn into a group */
	bool lost;       /* holds a timer of a runtime that is no more */
	unsigned references;
	enum claim claim;
	unsigned claimant; /* job or group */
	struct model_runtime *runtime;
	struct model_timer timers[TIMERS];
};

struct model_group {
	struct skua_group group;
	struct model_runtime *runtime; /* NULL: not initialised */
	unsigned members;
	bool cancelled;
	bool claimed; /* @waiter waits */
	unsigned waiter;
};

struct model_poller {
	struct skua_poller poller;     /* first: a poller is its model */
	struct model_runtime *runtime; /* NULL: not registered */
	bool running;
	unsigned calls;
};

struct model_call {
	struct model_runtime *runtime; /* NULL: none under way */
};

extern struct job jobs[JOBS];
extern struct model_runtime runtimes[RUNTIMES];
extern struct model_job model_jobs[JOBS];
extern struct model_group groups[GROUPS];
extern struct model_poller pollers[POLLERS];
extern struct model_call calls[CALLS];
/* Jobs whose wakers are held here + 1; 0: none. */
extern unsigned wakers[WAKERS];

/* model_reset - no runtime, and no job */
void model_reset(void);

/* ---- transitions ---------------------------------------------------------- */

bool model_ended(const struct model_job *m);

/* model_wake - as by a waker */
void model_wake(struct model_job *m);

/* model_drop - one reference less; what follows if that ends the task */
void model_drop(struct model_job *m);

/* model_complete - its poll said that it is done */
void model_complete(struct model_job *m);

/* model_gone - the memory is the program's again; see that it stays as it is */
void model_gone(struct model_job *m);

/* model_timers - take note of those that have fired */
void model_timers(void);

/* model_cover - a drain of @r has returned: take note of what has ended */
void model_cover(struct model_runtime *r);

/* model_destroyed - @r is no more */
void model_destroyed(struct model_runtime *r);

/* ---- questions ------------------------------------------------------------ */

static inline bool model_due(const struct model_job *m)
{
	return m->phase == LIVE && (m->queued || m->running);
}

/* model_left - is a task of @r left that is not done? */
bool model_left(const struct model_runtime *r);

/* model_check_idle - nothing of @r may be due, when it says that it is idle */
void model_check_idle(const struct model_runtime *r);

/* model_check_quiet - no callback may be owed, between calls from outside */
void model_check_quiet(void);

/* model_memory_init - an allocator for a runtime */
void model_memory_init(struct model_memory *memory);

/* driven_run - run the program that is the input */
void driven_run(struct fuzz_input *input);

/* threaded_run - the same, of runtimes with threads; see threaded.c */
void threaded_run(struct fuzz_input *input);

#endif
