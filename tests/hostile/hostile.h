/* SPDX-License-Identifier: MIT */
/**
 * hostile.h - common code of the hostile programs
 *
 * A hostile program runs a load while the machine works against its workers: signals,
 * frozen threads, real-time threads, changed affinities, smaller control groups.
 * Otherwise it is a stress program (stress.h). The load consists of families: a task
 * spawns children, which yield, pass a token round by waking one another, and are joined.
 * Each task is accounted for. No timeout repairs a loss: a lost task or wake-up hangs the
 * program.
 */
#ifndef SKUA_TESTS_HOSTILE_H
#define SKUA_TESTS_HOSTILE_H

#include <skua/skua.h>

#include "core/base/atomic.h"
#include "core/base/rng.h"
#include "tests/stress/stress.h"

#define HOSTILE_MAX_WORKERS 16u

/* With a sanitizer, a program is too slow to measure speed. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HOSTILE_SANITIZED true
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define HOSTILE_SANITIZED true
#endif
#endif
#if !defined(HOSTILE_SANITIZED)
#define HOSTILE_SANITIZED false
#endif

/* A runtime and the threads of its workers. */
struct hostile {
	struct skua_runtime *rt;
	unsigned workers;
	struct skua_hooks hooks;
	void (*worker_begins)(unsigned worker); /* on its thread; or NULL */
	pthread_t threads[HOSTILE_MAX_WORKERS];
	pid_t tids[HOSTILE_MAX_WORKERS];
	atomic_u32 started;
	atomic_u32 over; /* tells the antagonist to end */
};

/**
 * hostile_open - create a runtime, and wait until its workers have begun
 * @workers: number of workers; 0: the default
 * @worker_begins: called by each worker on its own thread; may be NULL
 */
void hostile_open(struct hostile *h, unsigned workers,
		  void (*worker_begins)(unsigned worker));

/* hostile_close - destroy the runtime */
void hostile_close(struct hostile *h);

/* hostile_over - return whether the antagonist must end */
static inline bool hostile_over(struct hostile *h)
{
	/* Relaxed: the flag publishes no other data. */
	return atomic_load_relaxed(&h->over) != 0;
}

/**
 * hostile_run - run the load, spawned by two outside threads
 * @tasks: least number of tasks to run
 * @begins, @ends: called by each of these threads first and last; may be NULL
 *
 * Return: the number of tasks that were run.
 */
uint64_t hostile_run(struct hostile *h, uint64_t tasks, void (*begins)(void),
		     void (*ends)(void));

/**
 * hostile_run_against - run the load beside an antagonist
 * @antagonist: thread function, called with @h; must end soon after hostile_over() is true
 *
 * Return: the number of tasks that were run.
 */
uint64_t hostile_run_against(struct hostile *h, uint64_t tasks,
			     void *(*antagonist)(void *));

/* hostile_tasks - return the number of tasks that a program runs, over all its parts */
static inline uint64_t hostile_tasks(void)
{
	return stress_ops() / 20;
}

/* hostile_check - fail the program if @code, the result of a call, is an error */
void hostile_check(int code, const char *what);

/* hostile_skip - print why the program cannot run here, and end it with exit code 77 */
__attribute__((noreturn)) void hostile_skip(const char *reason);

/* hostile_nap - sleep for @ns */
void hostile_nap(uint64_t ns);

/* hostile_nap_until - sleep until @when_ns, a time of skua_now_ns() */
void hostile_nap_until(uint64_t when_ns);

#endif
