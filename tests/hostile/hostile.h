/* SPDX-License-Identifier: MIT */
/**
 * hostile.h - what the hostile programs share
 *
 * A hostile program runs a load while the machine works against its workers:
 * signals, frozen threads, real-time threads, other affinities, smaller
 * cgroups. It is a stress program (stress.h) in all else. The load is made of
 * families: a task spawns children, which yield, pass a token round by waking one
 * another, and are joined. Each task is accounted for. No timeout repairs
 * anything: what is lost hangs the program.
 */
#ifndef SKUA_TESTS_HOSTILE_H
#define SKUA_TESTS_HOSTILE_H

#include <skua/skua.h>

#include "core/base/atomic.h"
#include "core/base/rng.h"
#include "tests/stress/stress.h"

#define HOSTILE_MAX_WORKERS 16u

/* Slowed down like this, a program says nothing about speed. */
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

/* A runtime, and the threads that its workers are. */
struct hostile {
	struct skua_runtime *rt;
	unsigned workers;
	struct skua_hooks hooks;
	void (*worker_begins)(unsigned worker); /* on its thread; or NULL */
	pthread_t threads[HOSTILE_MAX_WORKERS];
	pid_t tids[HOSTILE_MAX_WORKERS];
	atomic_u32 started;
	atomic_u32 over; /* tells an antagonist to end */
};

/**
 * hostile_open - create a runtime, and wait until its workers have begun
 * @workers: how many; 0: as many as by default
 * @worker_begins: called by each on its own thread; may be NULL
 */
void hostile_open(struct hostile *h, unsigned workers,
		  void (*worker_begins)(unsigned worker));

/* hostile_close - destroy the runtime */
void hostile_close(struct hostile *h);

/* hostile_over - is the antagonist to end? */
static inline bool hostile_over(struct hostile *h)
{
	/* Relaxed: asks for no order. */
	return atomic_load_relaxed(&h->over) != 0;
}

/**
 * hostile_run - run the load, from two outside threads
 * @tasks: how many to run at least
 * @begins, @ends: called by each of these threads on itself; or NULL
 *
 * Return: how many tasks were run.
 */
uint64_t hostile_run(struct hostile *h, uint64_t tasks, void (*begins)(void),
		     void (*ends)(void));

/**
 * hostile_run_against - run the load beside an antagonist
 * @antagonist: a thread's body, called with @h; ends soon after hostile_over()
 */
uint64_t hostile_run_against(struct hostile *h, uint64_t tasks,
			     void *(*antagonist)(void *));

/* hostile_tasks - how many tasks each program runs, over all its parts */
static inline uint64_t hostile_tasks(void)
{
	return stress_ops() / 20;
}

/* hostile_check - fail if a call returned an error */
void hostile_check(int code, const char *what);

/* hostile_skip - say why this cannot run here, and end the program */
__attribute__((noreturn)) void hostile_skip(const char *reason);

/* hostile_nap - sleep for a while: the antagonists' pace */
void hostile_nap(uint64_t ns);

/* hostile_nap_until - the same, until a time of skua_now_ns() */
void hostile_nap_until(uint64_t when_ns);

#endif
