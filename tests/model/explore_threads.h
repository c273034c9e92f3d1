/* SPDX-License-Identifier: MIT */
/**
 * explore_threads.h - run the threads of an execution, one at a time
 *
 * All threads run on the caller's kernel thread. Thread 0 is the fixture: it sets up,
 * starts the other threads, waits for them and checks. It is never preempted, because no
 * other thread can run while it does.
 */
#ifndef SKUA_TESTS_MODEL_EXPLORE_THREADS_H
#define SKUA_TESTS_MODEL_EXPLORE_THREADS_H

#include <stdbool.h>

#include "tests/model/explore.h"

#define THREADS (EXPLORE_THREADS + 1)

/* The end of an execution. */
struct outcome {
	const char *failure; /* NULL: none */
	const struct explore_site *site;
	unsigned thread;
};

/* thread_run - make one execution: run @fixture as thread 0 until it returns */
struct outcome thread_run(void (*fixture)(void));

/* thread_start - add a runnable thread. Return: its number. */
unsigned thread_start(void (*body)(void));

/* thread_wait_all - let thread 0 wait until all other threads are done */
void thread_wait_all(void);

/* thread_current - return the number of the running thread */
unsigned thread_current(void);

/* thread_count - return the number of threads that have started, including thread 0 */
unsigned thread_count(void);

/* thread_step - called before each step: another thread may run first */
void thread_step(const struct explore_site *site);

/* thread_spin - let other threads run until thread_stored() is called
 *
 * Return: true if no other thread could run and there was no store. */
bool thread_spin(void);

/* thread_stored - make spinning threads runnable, because a thread has stored something */
void thread_stored(void);

/* thread_sleep - let other threads run until thread_wake() of @word, or the deadline */
void thread_sleep(const volatile void *word, uint64_t deadline_ns);

/* thread_pass_time - end the sleeps whose deadline has come */
void thread_pass_time(uint64_t deadline_ns);

/* thread_wake - wake any one sleeper on @word. Return: false if there is none. */
bool thread_wake(const volatile void *word);

#endif
