/* SPDX-License-Identifier: MIT */
/* driven_model.c - see driven.h */
#include "tests/fuzz/driven.h"

#define POISON 0xa5

struct job jobs[JOBS];
struct model_runtime runtimes[RUNTIMES];
struct model_job model_jobs[JOBS];
struct model_group groups[GROUPS];
struct model_poller pollers[POLLERS];
struct model_call calls[CALLS];
unsigned wakers[WAKERS];

static struct job *job_of(const struct model_job *m)
{
	return &jobs[m - model_jobs];
}

void model_reset(void)
{
	memset(runtimes, 0, sizeof(runtimes));
	memset(model_jobs, 0, sizeof(model_jobs));
	memset(groups, 0, sizeof(groups));
	memset(pollers, 0, sizeof(pollers));
	memset(calls, 0, sizeof(calls));
	memset(wakers, 0, sizeof(wakers));
	for (unsigned i = 0; i < JOBS; i++)
		model_gone(&model_jobs[i]);
}

/* ---- memory --------------------------------------------------------------- */

static void *memory_give(void *ctx, size_t align, size_t size)
{
	struct model_memory *memory = ctx;
	unsigned i = 0;

	fuzz_check(align > 0 && (align & (align - 1)) == 0 &&
			   size % align == 0 && size > 0,
		   "%zu bytes aligned to %zu", size, align);
	if (memory->fail_after > 0 && --memory->fail_after == 0) {
		memory->failed = true;
		return NULL;
	}
	while (i < BLOCKS && memory->blocks[i].memory)
		i++;
	fuzz_check(i < BLOCKS, "too many blocks");
	memory->blocks[i].memory = aligned_alloc(align, size);
	memory->blocks[i].size = size;
	memory->count++;
	/* The library has to clear what it wants cleared. */
	return memset(memory->blocks[i].memory, POISON, size);
}

static void memory_take(void *ctx, void *address, size_t size)
{
	struct model_memory *memory = ctx;

	for (unsigned i = 0; i < BLOCKS; i++) {
		if (!address || memory->blocks[i].memory != address)
			continue;
		fuzz_check(memory->blocks[i].size == size,
			   "%zu bytes given back of %zu", size,
			   memory->blocks[i].size);
		memory->blocks[i].memory = NULL;
		memory->count--;
		free(address);
		return;
	}
	fuzz_check(false, "what is given back is none of the blocks");
}

void model_memory_init(struct model_memory *memory)
{
	*memory = (struct model_memory){
		.allocator = { .alloc = memory_give,
			       .free = memory_take,
			       .ctx = memory },
	};
}

/* Nobody may have written to what is nobody's. */
static void check_gone(const struct model_job *m)
{
	static unsigned char poison[sizeof(struct job)];

	if (poison[0] != POISON)
		memset(poison, POISON, sizeof(poison));
	fuzz_check(memcmp(job_of(m), poison, sizeof(poison)) == 0,
		   "job %td was written to after its end", m - model_jobs);
}

void model_gone(struct model_job *m)
{
	*m = (struct model_job){ .phase = GONE };
	memset(job_of(m), POISON, sizeof(struct job));
}

/* ---- transitions ---------------------------------------------------------- */

bool model_ended(const struct model_job *m)
{
	return m->phase == COMPLETE && m->references == 0;
}

void model_wake(struct model_job *m)
{
	if (m->phase == LIVE)
		m->queued = true;
}

static void leave_group(struct model_group *g)
{
	g->members--;
	if (g->members > 0 || !g->claimed)
		return;
	model_wake(&model_jobs[g->waiter]);
	model_drop(&model_jobs[g->waiter]);
}

/* Act for its end, if that has come. */
static void act_for_end(struct model_job *m)
{
	if (!model_ended(m))
		return;
	if (m->claim == DETACHED) {
		m->release_owed = m->has_release;
	} else if (m->claim == OF_JOB) {
		model_wake(&model_jobs[m->claimant]);
		model_drop(&model_jobs[m->claimant]);
	} else if (m->claim == OF_GROUP) {
		leave_group(&groups[m->claimant]);
	}
}

void model_drop(struct model_job *m)
{
	fuzz_check(m->references > 0, "the model is wrong: no reference");
	m->references--;
	act_for_end(m);
}

void model_complete(struct model_job *m)
{
	m->phase = COMPLETE;
	m->queued = false;
	act_for_end(m);
}

static void model_timer_fired(struct model_job *m, struct model_timer *t)
{
	/* Early only at the end: see skua/timer.h and skua/runtime.h. */
	fuzz_check(t->deadline_ns <= skua_now_ns() || t->runtime->cancelling ||
			   (t->runtime->closing && m->phase == COMPLETE),
		   "job %td: a timer fired early", m - model_jobs);
	t->pending = false;
	model_wake(m);
	model_drop(m);
}

void model_timers(void)
{
	for (unsigned i = 0; i < JOBS; i++) {
		for (unsigned n = 0; n < TIMERS; n++) {
			struct model_timer *t = &model_jobs[i].timers[n];

			if (t->pending &&
			    !skua_timer_pending(&jobs[i].timers[n]))
				model_timer_fired(&model_jobs[i], t);
		}
	}
}

void model_cover(struct model_runtime *r)
{
	for (unsigned i = 0; i < JOBS; i++) {
		struct model_job *m = &model_jobs[i];

		if (m->runtime == r && model_ended(m))
			m->covered = true;
	}
}

/* No call on the timers of the runtime is allowed any more. */
static void forget_timers(const struct model_runtime *r, struct model_job *m)
{
	for (unsigned n = 0; n < TIMERS; n++) {
		struct model_timer *t = &m->timers[n];

		if (t->runtime != r)
			continue;
		m->lost |= t->pending;
		if (!t->pending && m->phase != GONE)
			job_of(m)->timers[n] =
				(struct skua_timer)SKUA_TIMER_INIT;
		*t = (struct model_timer){ .pending = false };
	}
}

void model_destroyed(struct model_runtime *r)
{
	for (unsigned i = 0; i < JOBS; i++) {
		struct model_job *m = &model_jobs[i];

		forget_timers(r, m);
		if (m->runtime != r)
			continue;
		m->runtime = NULL;
		if (model_ended(m))
			model_gone(m);
	}
	for (unsigned i = 0; i < GROUPS; i++) {
		if (groups[i].runtime == r)
			groups[i].runtime = NULL;
	}
	r->rt = NULL;
}

/* ---- questions ------------------------------------------------------------ */

bool model_left(const struct model_runtime *r)
{
	for (unsigned i = 0; i < CALLS; i++) {
		if (calls[i].runtime == r)
			return true;
	}
	for (unsigned i = 0; i < JOBS; i++) {
		if (model_jobs[i].runtime == r && model_jobs[i].phase == LIVE)
			return true;
	}
	return false;
}

/* It is less than 256 ns late: see skua/timer.h. */
static bool timer_may_wait(const struct model_timer *t)
{
	return t->deadline_ns > skua_now_ns() - 256;
}

void model_check_idle(const struct model_runtime *r)
{
	for (unsigned i = 0; i < CALLS; i++)
		fuzz_check(calls[i].runtime != r, "call %u was not made", i);
	for (unsigned i = 0; i < JOBS; i++) {
		const struct model_job *m = &model_jobs[i];

		fuzz_check(m->runtime != r || !model_due(m),
			   "job %u is due, but was not polled", i);
		for (unsigned n = 0; n < TIMERS; n++)
			fuzz_check(!m->timers[n].pending ||
					   m->timers[n].runtime != r ||
					   timer_may_wait(&m->timers[n]),
				   "job %u: a timer is due, but did not fire",
				   i);
	}
	for (unsigned i = 0; i < POLLERS; i++)
		fuzz_check(pollers[i].runtime != r || pollers[i].calls > 0,
			   "poller %u was not called", i);
}

void model_check_quiet(void)
{
	for (unsigned i = 0; i < JOBS; i++) {
		const struct model_job *m = &model_jobs[i];

		fuzz_check(!m->release_owed, "job %u was not released", i);
		fuzz_check(!m->running, "job %u: a poll is under way", i);
		if (m->phase == GONE)
			check_gone(m);
	}
}
