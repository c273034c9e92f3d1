/* SPDX-License-Identifier: MIT */
/* explore_threads.c - coroutines and the schedule that the search chooses */
#include "tests/model/explore_threads.h"
#include "tests/model/explore_context.h"
#include "tests/model/explore_search.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STACK_BYTES (64 * 1024)
#define LOCALS      4

/* Of an execution, far more than any case here needs: what takes longer does
 * not end. */
#define STEPS_MAX 4000

static const char livelock[] = "livelock: the execution does not end";

enum thread_state {
	THREAD_RUNNABLE,
	THREAD_SPINNING, /* until thread_stored() */
	THREAD_SLEEPING, /* until thread_wake() of its word */
	THREAD_WAITING,  /* thread 0: until all others are done */
	THREAD_DONE,
};

struct thread {
	struct context context;
	enum thread_state state;
	const volatile void *word;
	uint64_t deadline_ns; /* of its sleep */
	void *local[LOCALS];  /* its explore_thread_local(), while it is off */
	void (*body)(void);
	/* Just switched to: a preemption before it has done anything equals
	 * having chosen somebody else in the first place. */
	bool fresh;
	bool stored; /* spinning: whether a store ended it */
};

static struct {
	struct thread all[THREADS];
	unsigned count;
	unsigned current;
	unsigned steps;
	uint64_t now_ns;
	void **local[LOCALS];
	unsigned locals;
	struct context driver; /* the caller of thread_run() */
	struct outcome outcome;
} threads;

static _Alignas(64) unsigned char stacks[THREADS][STACK_BYTES];

unsigned thread_current(void)
{
	return threads.current;
}

unsigned thread_count(void)
{
	return threads.count;
}

static struct thread *self(void)
{
	return &threads.all[threads.current];
}

static void leave(void)
{
	struct context abandoned;

	context_switch(&abandoned, &threads.driver);
	abort();
}

void explore_fail(const struct explore_site *site, const char *what)
{
	threads.outcome = (struct outcome){
		.failure = what,
		.site = site,
		.thread = threads.current,
	};
	leave();
	abort();
}

uint64_t explore_now_ns(void)
{
	return threads.now_ns;
}

void thread_pass_time(uint64_t deadline_ns)
{
	if (threads.now_ns < deadline_ns)
		threads.now_ns = deadline_ns;
}

void explore_thread_local(void **pointer)
{
	unsigned i = 0;

	*pointer = NULL;
	while (i < threads.locals && threads.local[i] != pointer)
		i++;
	if (i < threads.locals)
		return;
	if (i == LOCALS) {
		fprintf(stderr, "more thread-local pointers than %d\n", LOCALS);
		exit(1);
	}
	threads.local[threads.locals++] = pointer;
}

static void switch_to(unsigned next)
{
	struct thread *from = self();
	struct thread *to = &threads.all[next];

	if (to->state == THREAD_SLEEPING) {
		thread_pass_time(to->deadline_ns);
		to->state = THREAD_RUNNABLE;
	}
	to->fresh = true;
	if (next == threads.current)
		return;
	threads.current = next;
	for (unsigned i = 0; i < threads.locals; i++) {
		from->local[i] = *threads.local[i];
		*threads.local[i] = to->local[i];
	}
	context_switch(&from->context, &to->context);
}

/* Lists the threads in @state, but not @except. */
static unsigned list(enum thread_state state, unsigned except, unsigned *ids)
{
	unsigned n = 0;

	for (unsigned id = 0; id < threads.count; id++)
		if (id != except && threads.all[id].state == state)
			ids[n++] = id;
	return n;
}

static bool has_deadline(const struct thread *thread)
{
	return thread->state == THREAD_SLEEPING &&
	       thread->deadline_ns < EXPLORE_FAR_NS;
}

/* Lists the sleepers with the earliest deadline. */
static unsigned list_earliest(unsigned *ids)
{
	uint64_t earliest_ns = EXPLORE_NEVER;
	unsigned n = 0;

	for (unsigned id = 0; id < threads.count; id++) {
		const struct thread *thread = &threads.all[id];

		if (!has_deadline(thread) || thread->deadline_ns > earliest_ns)
			continue;
		if (thread->deadline_ns < earliest_ns)
			n = 0;
		earliest_ns = thread->deadline_ns;
		ids[n++] = id;
	}
	return n;
}

static void set_all_runnable(enum thread_state state)
{
	for (unsigned id = 0; id < threads.count; id++)
		if (threads.all[id].state == state)
			threads.all[id].state = THREAD_RUNNABLE;
}

static bool only_fixture_left(void)
{
	for (unsigned id = 1; id < threads.count; id++)
		if (threads.all[id].state != THREAD_DONE)
			return false;
	return true;
}

/* The running thread cannot go on: somebody else does, which is free. */
static void give_way(void)
{
	unsigned ids[THREADS];
	unsigned n = list(THREAD_RUNNABLE, THREADS, ids);

	if (n == 0 && only_fixture_left()) {
		set_all_runnable(THREAD_WAITING);
		n = list(THREAD_RUNNABLE, THREADS, ids);
	}
	if (n == 0)
		n = list_earliest(ids);
	if (n == 0) {
		/* Spins may be counted by the spinner, and then end. */
		set_all_runnable(THREAD_SPINNING);
		n = list(THREAD_RUNNABLE, THREADS, ids);
	}
	if (n == 0)
		explore_fail(EXPLORE_SITE("all asleep"),
			     "lost wake-up: nobody can run");
	switch_to(ids[search_choose(n)]);
}

void thread_step(const struct explore_site *site)
{
	unsigned others[THREADS];
	unsigned n;
	unsigned taken;

	if (threads.current == 0)
		return;
	if (++threads.steps > STEPS_MAX)
		explore_fail(site, livelock);
	if (self()->fresh) {
		self()->fresh = false;
		return;
	}
	if (!search_can_spend(BUDGET_PREEMPTIONS))
		return;
	n = list(THREAD_RUNNABLE, threads.current, others);
	for (unsigned id = 0; id < threads.count; id++)
		if (has_deadline(&threads.all[id]))
			others[n++] = id;
	taken = search_spend(BUDGET_PREEMPTIONS, n + 1);
	if (taken) {
		switch_to(others[taken - 1]);
		self()->fresh = false;
	}
}

bool thread_spin(void)
{
	if (++threads.steps > STEPS_MAX)
		explore_fail(EXPLORE_SITE("spinning"), livelock);
	self()->state = THREAD_SPINNING;
	self()->stored = false;
	give_way();
	return !self()->stored;
}

void thread_stored(void)
{
	for (unsigned id = 0; id < threads.count; id++) {
		if (threads.all[id].state != THREAD_SPINNING)
			continue;
		threads.all[id].stored = true;
		threads.all[id].state = THREAD_RUNNABLE;
	}
}

void thread_sleep(const volatile void *word, uint64_t deadline_ns)
{
	self()->state = THREAD_SLEEPING;
	self()->word = word;
	self()->deadline_ns = deadline_ns;
	give_way();
}

bool thread_wake(const volatile void *word)
{
	unsigned ids[THREADS];
	unsigned sleepers = list(THREAD_SLEEPING, THREADS, ids);
	unsigned n = 0;

	for (unsigned i = 0; i < sleepers; i++)
		if (threads.all[ids[i]].word == word)
			ids[n++] = ids[i];
	if (n == 0)
		return false;
	threads.all[ids[search_choose(n)]].state = THREAD_RUNNABLE;
	return true;
}

static void entry(void)
{
	context_arrive(&self()->context, NULL);
	self()->body();
	if (threads.current == 0)
		leave();
	self()->state = THREAD_DONE;
	give_way();
	abort();
}

unsigned thread_start(void (*body)(void))
{
	unsigned id = threads.count++;
	struct thread *thread = &threads.all[id];

	thread->state = THREAD_RUNNABLE;
	thread->body = body;
	memset(thread->local, 0, sizeof(thread->local));
	thread->fresh = true;
	context_make(&thread->context, stacks[id], STACK_BYTES, entry);
	return id;
}

void thread_wait_all(void)
{
	self()->state = THREAD_WAITING;
	give_way();
}

struct outcome thread_run(void (*fixture)(void))
{
	threads.count = 0;
	threads.steps = 0;
	threads.now_ns = EXPLORE_START_NS;
	threads.locals = 0;
	threads.outcome = (struct outcome){ .failure = NULL };
	threads.current = thread_start(fixture);
	context_switch(&threads.driver, &self()->context);
	return threads.outcome;
}
