/* SPDX-License-Identifier: MIT */
/**
 * made.h - a pool of real workers without threads, on a made machine
 *
 * Groups of a size that the test chooses, in nodes of at most 128 workers. The
 * calling thread acts as any of the workers, or as a thread outside.
 */
#ifndef SKUA_TESTS_LINES_MADE_H
#define SKUA_TESTS_LINES_MADE_H

#include "core/loop/worker.h"
#include "tests/lines/lines.h"

enum { MADE_OUTSIDE = -1 };

struct made {
	struct pool *pool;
	unsigned workers;
	unsigned groups;
	unsigned actor;     /* the worker that operations are about */
	unsigned near;      /* another worker of its group */
	unsigned far;       /* a worker of the last group */
	struct lines slept; /* counted when the actor slept */
};

extern struct made made;

/* made_begin - make a machine of this many workers, in groups of @size */
void made_begin(unsigned workers, unsigned size);
void made_end(void);

/* made_reset - put all back to the start: all workers are awake and busy */
void made_reset(void);

/* made_act - act as worker @i; MADE_OUTSIDE: as a thread outside */
void made_act(int i);

/* made_park - worker @i sleeps */
void made_park(unsigned i);

/* made_park_others - all workers but the actor sleep; worker @near is the
 * sentinel */
void made_park_others(void);

/* made_run - let the actor run until it sleeps; its first task is @task */
void made_run(struct skua_task *task);

/* made_count - end an operation, and count for the one who acted */
struct lines made_count(void);

#endif
