/* SPDX-License-Identifier: MIT */
/**
 * explore.h - drive a few threads through every interleaving
 *
 * Core code is compiled unchanged with `-include tests/model/explore.h`. The
 * header replaces the *_explicit operations that core/base/atomic.h is made of, the
 * futex, the mutexes, the clock and cpu_relax() by calls into an explorer, which
 * runs the threads of a case one step at a time, on one kernel thread, and
 * repeats the case until every order of steps within its bounds has been seen.
 *
 * Explored are:
 *  - interleavings, up to a number of preemptions (switches away from a thread
 *    that could have gone on; switching when a thread blocks is free);
 *  - stale loads: a load may return any store of its location that is not
 *    older than what the thread has seen by coherence and happens-before, up to
 *    a number of stale loads an execution (explore_memory.c has the model);
 *  - early stores, charged as a stale load: a store may enter its location's
 *    order before stores that were executed earlier, as if those had waited in
 *    a store buffer, but behind what the thread has seen; a read-modify-write
 *    may read any store that no other one has read;
 *  - futex sleeps that end without cause, charged as a stale load;
 *  - deadlines that come before others go on, charged as a preemption.
 *
 * Time stands still, except during sleeps until a deadline: it is then that time.
 * While nobody else can run, the earliest deadline comes, so that "all asleep"
 * is no lost wake-up as long as somebody sleeps with a deadline. A pthread
 * mutex is a word and a futex. A thread-local pointer is one for each thread
 * if setup says so with explore_thread_local().
 *
 * Not explored are: a load never returns a store that is executed later (no load
 * buffering). Sequentially consistent accesses other than the fence are
 * refused.
 *
 * Reported are, with a trace and the command that replays it:
 *  - a failed explore_assert(), or assert() in core;
 *  - a race between plain accesses that are marked, explore_read() and
 *    explore_write(), or watched, explore_watch();
 *  - nobody can run and somebody is not done (a lost wake-up);
 *  - an execution that does not end (livelock).
 *
 * Environment, each overriding the case:
 *  EXPLORE_PREEMPTIONS=n   preemptions an execution (3)
 *  EXPLORE_STALE=n         stale loads and causeless wake-ups an execution (2)
 *  EXPLORE_MAX=n           executions a case (20 million)
 *  EXPLORE_RANDOM=seed,n   n random executions a case instead of all
 *  EXPLORE_SHARE=n         an n-th of a case's random executions, if it must pass
 *  EXPLORE_FEWER=n         n preemptions fewer, at least one, in a case whose
 *                          interleavings all must pass
 *  EXPLORE_REPLAY=path     one execution, traced; name the case as argument
 *  EXPLORE_TRACE=1         trace the bugs that were expected, too
 *  EXPLORE_SOUND=1         leave out the cases that are expected to fail
 */
#ifndef SKUA_TESTS_MODEL_EXPLORE_H
#define SKUA_TESTS_MODEL_EXPLORE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SKUA_EXPLORE 1

#define EXPLORE_THREADS 7 /* of a case; the fixture runs as one more */

enum explore_expect {
	EXPLORE_PASSES,    /* no execution fails */
	EXPLORE_FINDS_BUG, /* a broken variant: passing it fails the program */
};

/**
 * struct explore_case - a fixture and the threads that meet on it
 * @name: names the case on the command line and in the report
 * @setup: puts *all* state that the case uses back to its start; runs alone,
 *         before the threads, at the head of every execution. Static storage
 *         only: an execution that fails is abandoned half-way
 * @threads: start together, in any order
 * @check: runs alone, after the last thread; may be NULL
 * @bug: EXPLORE_FINDS_BUG: part of the report, or of the expression that
 *       failed, so that a variant is rejected for its own defect
 * @bounded: stopping at EXPLORE_MAX is no failure
 * @random: so many random executions, for a case that has too many
 * @preemptions: bound of this case, 0 for the default
 * @stale: likewise
 *
 * The threads are coroutines: what they do to unmarked plain variables (a
 * tally of the test, say) is neither a step nor a race.
 */
struct explore_case {
	const char *name;
	void (*setup)(void);
	void (*threads[EXPLORE_THREADS])(void);
	void (*check)(void);
	enum explore_expect expect;
	const char *bug;
	bool bounded;
	uint64_t random;
	unsigned preemptions;
	unsigned stale;
};

/* The fields of a case, by what is expected of it: { EXPLORE_PASS(...) } or
 * { EXPLORE_BUG(...), EXPLORE_WITHIN(2, 1) }. */
#define EXPLORE_PASS(NAME, SETUP, CHECK, ...)               \
	.name = (NAME), .setup = (SETUP), .check = (CHECK), \
	.threads = { __VA_ARGS__ }, .expect = EXPLORE_PASSES
#define EXPLORE_BUG(NAME, BUG, SETUP, CHECK, ...)           \
	.name = (NAME), .setup = (SETUP), .check = (CHECK), \
	.threads = { __VA_ARGS__ }, .expect = EXPLORE_FINDS_BUG, .bug = (BUG)
#define EXPLORE_WITHIN(PREEMPTIONS, STALE) \
	.preemptions = (PREEMPTIONS), .stale = (STALE)

/**
 * explore_main - run the cases that the arguments name, all but those that they
 * name behind --but, or all
 *
 * Return: 0 if each did as expected; 1 if not; 77 if none can run here.
 */
int explore_main(int argc, char **argv, const struct explore_case *cases,
		 size_t count);

#define EXPLORE_MAIN(cases)                                            \
	int main(int argc, char **argv)                                \
	{                                                              \
		return explore_main(argc, argv, (cases),               \
				    sizeof(cases) / sizeof(*(cases))); \
	}

/* Where in the source a step is taken, for the trace. */
struct explore_site {
	const char *file;
	int line;
	const char *text;
};

#define EXPLORE_SITE(text)                                                  \
	({                                                                  \
		static const struct explore_site explore_site = { __FILE__, \
								  __LINE__, \
								  (text) }; \
		&explore_site;                                              \
	})

/* explore_fail - the execution shows a bug: abandon it; @what is kept */
_Noreturn void explore_fail(const struct explore_site *site, const char *what);

#define explore_assert(condition)                              \
	do {                                                   \
		if (!(condition))                              \
			explore_fail(EXPLORE_SITE(#condition), \
				     "assertion failed");      \
	} while (0)

/*
 * Plain accesses, checked for races: two of them to one variable, by two
 * threads, one a write, and neither happening before the other.
 */
void explore_race_read(const volatile void *address,
		       const struct explore_site *site);
void explore_race_write(const volatile void *address,
			const struct explore_site *site);

/* A read that counts only once it is known that it was no mere attempt: the
 * mark is taken before it. */
uint16_t explore_race_mark(void);
void explore_race_read_at(const volatile void *address, uint16_t mark,
			  const struct explore_site *site);

/*
 * For judging a history of operations. explore_moment - now, of this
 * thread; explore_happened - did that happen before what this thread does now?
 * explore_sequential - was no load of this execution stale, and no store early?
 */
struct explore_moment {
	unsigned thread;
	uint16_t epoch;
};

struct explore_moment explore_moment(void);
bool explore_happened(struct explore_moment moment);
bool explore_sequential(void);

/*
 * explore_watch - in setup: all plain accesses of so many bytes are checked
 *
 * By a program that names this function: it is compiled with
 * -fsanitize=thread, which puts a call before each plain access.
 */
void explore_watch(const volatile void *address, size_t size);

#define explore_read(x) (explore_race_read(&(x), EXPLORE_SITE(#x)), (x))
#define explore_write(x, value) \
	(explore_race_write(&(x), EXPLORE_SITE(#x)), (void)((x) = (value)))

/* cpu_relax(): the thread goes on once somebody has stored something. */
void explore_spin(const struct explore_site *site);

/* futex.h: sleep while *word is expected, not beyond deadline_ns; wake up to
 * count sleepers. */
void explore_sleep(const volatile void *word, uint32_t expected,
		   uint64_t deadline_ns, const struct explore_site *site);
void explore_wake(const volatile void *word, int count,
		  const struct explore_site *site);

#define explore_relax() explore_spin(EXPLORE_SITE("cpu_relax"))
#define explore_futex_wait(word, expected) \
	explore_sleep((word), (expected), EXPLORE_NEVER, EXPLORE_SITE(#word))
#define explore_futex_wait_until(word, expected, deadline_ns) \
	explore_sleep((word), (expected), (deadline_ns), EXPLORE_SITE(#word))
#define explore_futex_wake(word, count) \
	explore_wake((word), (count), EXPLORE_SITE(#word))

#define sched_yield()                                      \
	({                                                 \
		explore_spin(EXPLORE_SITE("sched_yield")); \
		0;                                         \
	})

/* clock.h: begins at EXPLORE_START_NS; only deadlines advance it, and those
 * from EXPLORE_FAR_NS on never come. */
#define EXPLORE_NEVER    UINT64_MAX
#define EXPLORE_START_NS UINT64_C(1000000000)
#define EXPLORE_FAR_NS   UINT64_C(3600000000000)
uint64_t explore_now_ns(void);

/* explore_thread_local - in setup: *pointer is one for each thread, NULL at its
 * start; one such pointer a case */
void explore_thread_local(void **pointer);

/* Mutexes: the first word is 0 (free) or 1. */
int explore_mutex_init(pthread_mutex_t *mutex);
void explore_mutex_lock(pthread_mutex_t *mutex,
			const struct explore_site *site);
int explore_mutex_trylock(pthread_mutex_t *mutex,
			  const struct explore_site *site);
void explore_mutex_unlock(pthread_mutex_t *mutex,
			  const struct explore_site *site);

#define pthread_mutex_init(mutex, attributes) explore_mutex_init(mutex)
#define pthread_mutex_destroy(mutex)          ((void)(mutex))
#define pthread_mutex_lock(mutex) \
	explore_mutex_lock((mutex), EXPLORE_SITE(#mutex))
#define pthread_mutex_trylock(mutex) \
	explore_mutex_trylock((mutex), EXPLORE_SITE(#mutex))
#define pthread_mutex_unlock(mutex) \
	explore_mutex_unlock((mutex), EXPLORE_SITE(#mutex))

/* The atomic operations. Values travel as 64 bits, whatever their type. */
enum explore_update_op {
	EXPLORE_EXCHANGE,
	EXPLORE_ADD,
	EXPLORE_SUB,
	EXPLORE_OR,
	EXPLORE_AND,
	EXPLORE_XOR,
};

void explore_init(volatile void *address, size_t size, uint64_t value);
uint64_t explore_load(const volatile void *address, size_t size,
		      memory_order order, const struct explore_site *site);
void explore_store(volatile void *address, size_t size, uint64_t value,
		   memory_order order, const struct explore_site *site);
uint64_t explore_update(enum explore_update_op op, volatile void *address,
			size_t size, uint64_t operand, memory_order order,
			const struct explore_site *site);
bool explore_compare_exchange(volatile void *address, size_t size,
			      void *expected, uint64_t desired, bool weak,
			      memory_order success, memory_order failure,
			      const struct explore_site *site);
void explore_fence(memory_order order, const struct explore_site *site);

/* clang-format off */
#undef atomic_init
#undef atomic_load_explicit
#undef atomic_store_explicit
#undef atomic_exchange_explicit
#undef atomic_fetch_add_explicit
#undef atomic_fetch_sub_explicit
#undef atomic_fetch_or_explicit
#undef atomic_fetch_and_explicit
#undef atomic_fetch_xor_explicit
#undef atomic_compare_exchange_strong_explicit
#undef atomic_compare_exchange_weak_explicit
#undef atomic_thread_fence

/* The value type of an atomic: the comma drops the qualifiers. */
#define EXPLORE_TYPE(p) __typeof__((void)0, *(p))
#define EXPLORE_BITS(p, v) ((uint64_t)(uintptr_t)(EXPLORE_TYPE(p))(v))
/* A statement expression, so that the value may go unused. */
#define EXPLORE_VALUE(p, bits)                                                \
	({                                                                    \
		EXPLORE_TYPE(p) explore_value =                               \
			(EXPLORE_TYPE(p))(uintptr_t)(bits);                   \
		explore_value;                                                \
	})
#define EXPLORE_UPDATE(op, p, v, order)                                       \
	EXPLORE_VALUE(p, explore_update((op), (p), sizeof(*(p)),              \
					EXPLORE_BITS(p, v), (order),          \
					EXPLORE_SITE(#p)))
#define EXPLORE_CAS(p, expected, desired, weak, success, failure)             \
	({                                                                    \
		bool explore_done = explore_compare_exchange(                 \
			(p), sizeof(*(p)), (EXPLORE_TYPE(p) *){ (expected) }, \
			EXPLORE_BITS(p, desired), (weak), (success),          \
			(failure), EXPLORE_SITE(#p));                         \
		explore_done;                                                 \
	})

#define atomic_init(p, v) \
	explore_init((p), sizeof(*(p)), EXPLORE_BITS(p, v))
#define atomic_load_explicit(p, order)                                        \
	EXPLORE_VALUE(p, explore_load((p), sizeof(*(p)), (order),             \
				      EXPLORE_SITE(#p)))
#define atomic_store_explicit(p, v, order)                                    \
	explore_store((p), sizeof(*(p)), EXPLORE_BITS(p, v), (order),         \
		      EXPLORE_SITE(#p))
#define atomic_exchange_explicit(p, v, order) \
	EXPLORE_UPDATE(EXPLORE_EXCHANGE, p, v, order)
#define atomic_fetch_add_explicit(p, v, order) \
	EXPLORE_UPDATE(EXPLORE_ADD, p, v, order)
#define atomic_fetch_sub_explicit(p, v, order) \
	EXPLORE_UPDATE(EXPLORE_SUB, p, v, order)
#define atomic_fetch_or_explicit(p, v, order) \
	EXPLORE_UPDATE(EXPLORE_OR, p, v, order)
#define atomic_fetch_and_explicit(p, v, order) \
	EXPLORE_UPDATE(EXPLORE_AND, p, v, order)
#define atomic_fetch_xor_explicit(p, v, order) \
	EXPLORE_UPDATE(EXPLORE_XOR, p, v, order)
#define atomic_compare_exchange_strong_explicit(p, e, d, success, failure) \
	EXPLORE_CAS(p, e, d, false, success, failure)
#define atomic_compare_exchange_weak_explicit(p, e, d, success, failure) \
	EXPLORE_CAS(p, e, d, true, success, failure)
#define atomic_thread_fence(order) \
	explore_fence((order), EXPLORE_SITE("fence"))

/* The builtins, as public inline functions and counters use them. */
#define __atomic_load_n(p, order)     atomic_load_explicit(p, order)
#define __atomic_store_n(p, v, order) atomic_store_explicit(p, v, order)
/* clang-format on */

#endif
