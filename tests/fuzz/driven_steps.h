/* SPDX-License-Identifier: MIT */
/* driven_steps.h - what the files that make the calls of driven.h share */
#ifndef SKUA_TESTS_FUZZ_DRIVEN_STEPS_H
#define SKUA_TESTS_FUZZ_DRIVEN_STEPS_H

#include "tests/fuzz/driven.h"

#define MS UINT64_C(1000000)

/* Where the program is. */
struct driven_place {
	struct fuzz_input *in;
	struct model_runtime *driven; /* by this thread; NULL: outside */
	struct model_job *self;       /* that is being polled */
	struct model_job *joined;     /* by a call of @self that is under way */
	unsigned depth;
	bool in_poller;
	bool in_release;
	bool finishing; /* a poll is not pending, so that all comes to an end */
	bool no_timers; /* are added */
	/* The first CPU that is allowed. */
	char cpu[16];
};

extern struct driven_place at;

/* driven_act - some calls from where a callback is */
void driven_act(void);

/* driven_cancel - cancel a task, as a step or so that it comes to its end */
void driven_cancel(struct model_job *m);

/* driven_drop_waker - if there is one at this place */
void driven_drop_waker(unsigned i);

/* One step each; what it is about is read from the input. */
void driven_step_of_job(void);
void driven_step_of_waker(void);
void driven_step_of_group(void);
void driven_step_of_timer(void);
void driven_step_of_join(void);
void driven_step_of_runtime(void);

/* driven_create, driven_poll, driven_finish - at the begin of a program, in
 * between, and at its end */
void driven_create(struct model_runtime *r);
void driven_poll(struct model_runtime *r);
void driven_finish(struct model_runtime *r);

/* ---- results -------------------------------------------------------------- */

/* The errors of which a call may return one. */
struct errors {
	int codes[8];
	unsigned count;
};

static inline void error_if(struct errors *errors, bool applies, int code)
{
	if (applies)
		errors->codes[errors->count++] = code;
}

/* Returns whether the call succeeded, as it may only if no error applies. */
static inline bool result(const struct errors *errors, int code,
			  const char *call)
{
	bool expected = errors->count == 0 && code == 0;

	for (unsigned i = 0; i < errors->count; i++)
		expected |= errors->codes[i] == code;
	fuzz_check(expected, "%s returned %d, expected was %d", call, code,
		   errors->count ? errors->codes[0] : 0);
	return code == 0;
}

/* ---- choosing ------------------------------------------------------------- */

static inline bool inside(void)
{
	return at.driven != NULL;
}

static inline unsigned below(unsigned limit)
{
	return fuzz_below(at.in, limit);
}

static inline unsigned index_of(const struct model_job *m)
{
	return (unsigned)(m - model_jobs);
}

static inline struct skua_task *task_of(const struct model_job *m)
{
	return &jobs[index_of(m)].task;
}

/* The job that is polled, more often than not where there is one. */
static inline struct model_job *choose_self(void)
{
	unsigned choice = below(JOBS * 4);

	return at.self && choice >= JOBS ? at.self : &model_jobs[choice % JOBS];
}

static inline struct model_job *choose_job(void)
{
	return &model_jobs[below(JOBS)];
}

static inline struct model_runtime *choose_runtime(void)
{
	return &runtimes[below(8) == 0 ? 1 : 0];
}

#endif
