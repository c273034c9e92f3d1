/* SPDX-License-Identifier: MIT */
/**
 * explore_threads.h - the threads of an execution, and which of them runs
 *
 * All run on the caller's kernel thread, one at a time. Thread 0 is the
 * fixture: it sets up, starts the others, waits for them and checks. Nobody
 * preempts it, since it is alone whenever it runs.
 */
#ifndef SKUA_TESTS_MODEL_EXPLORE_THREADS_H
#define SKUA_TESTS_MODEL_EXPLORE_THREADS_H

#include <stdbool.h>

#include "tests/model/explore.h"

#define THREADS (EXPLORE_THREADS + 1)

/* How an execution ended. */
struct outcome {
	const char *failure; /* NULL: all is well */
	const struct explore_site *site;
	unsigned thread;
};

/* thread_run - one execution: @fixture as thread 0, until it returns */
struct outcome thread_run(void (*fixture)(void));

/* thread_start - another thread, runnable from now; returns its number */
unsigned thread_start(void (*body)(void));

/* thread_wait_all - thread 0 waits until all others are done */
void thread_wait_all(void);

/* thread_current - the number of the running thread */
unsigned thread_current(void);

/* thread_step - before each step: here another thread may come first */
void thread_step(const struct explore_site *site);

/* thread_spin - give way until thread_stored(); true: until nobody else could
 * run, and there was no store */
bool thread_spin(void);

/* thread_stored - somebody has stored something: the spinners look again */
void thread_stored(void);

/* thread_sleep - give way until thread_wake() of @word, or the deadline */
void thread_sleep(const volatile void *word, uint64_t deadline_ns);

/* thread_pass_time - the deadline has come */
void thread_pass_time(uint64_t deadline_ns);

/* thread_wake - wake one sleeper on @word, any; false if there is none */
bool thread_wake(const volatile void *word);

#endif
