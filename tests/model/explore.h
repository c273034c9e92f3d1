/* SPDX-License-Identifier: MIT */
/**
 * explore.h - run a few threads through every interleaving
 *
 * Core code is compiled unchanged with `-include tests/model/explore.h`. The header
 * replaces the *_explicit operations of which core/base/atomic.h is made, the futex, the
 * mutexes, the clock and cpu_relax() by calls of an explorer. The explorer runs the
 * threads of a case one step at a time, on one kernel thread, and repeats the case until
 * it has tried every order of steps within the bounds.
 *
 * It explores:
 *  - interleavings, up to a number of preemptions (switches away from a thread
 *    that could have gone on; a switch when a thread blocks is free);
 *  - stale loads, up to a number in each execution: a load may return any store of its
 *    location that is not older than what the thread has seen by coherence and
 *    happens-before (explore_memory.c has the model);
 *  - early stores, each counted as a stale load: a store may enter its location's order
 *    before stores that were executed earlier, as if those had waited in a store buffer,
 *    but after the stores that the thread has seen; a read-modify-write may read any store
 *    that no other read-modify-write has read;
 *  - futex sleeps that end without cause, each counted as a stale load;
 *  - deadlines that come before other threads go on, each counted as a preemption.
 *
 * Time stands still, except that it advances to a deadline when a sleep until that
 * deadline ends. If no thread can run, the earliest deadline comes: as long as a thread
 * sleeps with a deadline, "all asleep" is no lost wake-up. A pthread mutex is a word and a
 * futex. A thread-local pointer is one for each thread if setup declares it with
 * explore_thread_local().
 *
 * It does not explore load buffering: a load never returns a store that is executed later.
 * It refuses sequentially consistent accesses other than the fence, and than the fence of
 * every thread that membarrier_fence() makes.
 *
 * It reports, with a trace and the command that replays it:
 *  - a failed explore_assert(), or assert() in core;
 *  - a race between plain accesses that are marked (explore_read(), explore_write()) or
 *    watched (explore_watch());
 *  - an access to memory that was freed (explore_free());
 *  - a state in which no thread can run and one is not done (a lost wake-up);
 *  - an execution that does not end (livelock).
 *
 * Environment variables, which override the fields of a case:
 *  EXPLORE_PREEMPTIONS=n   preemptions in an execution (default 3)
 *  EXPLORE_STALE=n         stale loads and causeless wake-ups in an execution (2)
 *  EXPLORE_MAX=n           executions of a case (20 million)
 *  EXPLORE_RANDOM=seed,n   n random executions of each case instead of all
 *  EXPLORE_SHARE=n         1/n of a case's random executions, if it must pass
 *  EXPLORE_FEWER=n         n preemptions fewer, but at least one, or else n stale loads
 *                          fewer, in a case that must pass and whose interleavings are
 *                          all explored; and 1/(n+1) of a case's random executions
 *  EXPLORE_REPLAY=path     one execution, traced; name the case as argument
 *  EXPLORE_TRACE=1         also trace the bugs that were expected
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

#define EXPLORE_THREADS 7 /* of a case; the fixture is one more */

enum explore_expect {
	EXPLORE_PASSES,    /* no execution fails */
	EXPLORE_FINDS_BUG, /* a broken variant: an execution must fail */
};

/**
 * struct explore_case - a fixture and the threads that use it
 * @name: name of the case on the command line and in the report
 * @setup: resets *all* state that the case uses; runs alone, before the threads, at the
 *         beginning of every execution. Use static storage only: an execution that fails
 *         is abandoned half-way
 * @threads: functions of the threads, which start together, in any order
 * @check: runs alone, after the last thread; may be NULL
 * @bug: for EXPLORE_FINDS_BUG: part of the report, or of the failed expression, so that a
 *       variant is rejected for its own defect only
 * @bounded: it is no failure to stop at EXPLORE_MAX
 * @random: number of random executions, for a case with too many executions; 0: try all
 * @preemptions: bound of this case; 0: the default
 * @stale: bound of this case; 0: the default
 *
 * The threads are coroutines: an access of an unmarked plain variable (such as a count of
 * the test) is neither a step nor a race.
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

/* The fields of a case that must pass, or must fail: { EXPLORE_PASS(...) } or
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
 * explore_main - run the cases that the arguments name; or all except those that they name
 *                after --but; or all
 *
 * Return: 0 if each case ended as expected; 1 if not; 77 if none can run here.
 */
int explore_main(int argc, char **argv, const struct explore_case *cases,
		 size_t count);

#define EXPLORE_MAIN(cases)                                            \
	int main(int argc, char **argv)                                \
	{                                                              \
		return explore_main(argc, argv, (cases),               \
				    sizeof(cases) / sizeof(*(cases))); \
	}

/* The place of a step in the source, for the trace. */
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

/* explore_fail - report that the execution shows a bug, and abandon it; @what must stay
 * valid */
_Noreturn void explore_fail(const struct explore_site *site, const char *what);

#define explore_assert(condition)                              \
	do {                                                   \
		if (!(condition))                              \
			explore_fail(EXPLORE_SITE(#condition), \
				     "assertion failed");      \
	} while (0)

/*
 * Plain accesses, which are checked for races. A race is two accesses of one variable by
 * two threads, at least one of them a write, neither of which happens before the other.
 */
void explore_race_read(const volatile void *address,
		       const struct explore_site *site);
void explore_race_write(const volatile void *address,
			const struct explore_site *site);

/* A read that counts only if a later step succeeds. Take the mark before the read, and
 * report the read with the mark afterwards. */
uint16_t explore_race_mark(void);
void explore_race_read_at(const volatile void *address, uint16_t mark,
			  const struct explore_site *site);

/*
 * For judging a history of operations:
 * explore_moment - return the current moment of this thread
 * explore_happened - return whether a moment happened before what this thread does now
 * explore_sequential - return whether no load was stale and no store early so far
 */
struct explore_moment {
	unsigned thread;
	uint16_t epoch;
};

struct explore_moment explore_moment(void);
bool explore_happened(struct explore_moment moment);
bool explore_sequential(void);

/*
 * explore_watch - in setup: check all plain accesses of @size bytes for races
 *
 * A program whose own file calls this function is compiled with -fsanitize=thread, which adds
 * a call before each plain access. A call in a header that it includes is not enough.
 */
void explore_watch(const volatile void *address, size_t size);

/*
 * explore_free - from now on, no thread may access this memory
 *
 * Plain accesses are noticed in programs that use explore_watch(). A futex_wake() needs
 * only the address, and is allowed.
 */
void explore_free(const volatile void *address, size_t size);

#define explore_read(x) (explore_race_read(&(x), EXPLORE_SITE(#x)), (x))
#define explore_write(x, value) \
	(explore_race_write(&(x), EXPLORE_SITE(#x)), (void)((x) = (value)))

/* Replaces cpu_relax(): the thread goes on when another thread has stored
 * something. */
void explore_spin(const struct explore_site *site);

/* Replace futex.h: sleep while *word is expected, at most until deadline_ns; wake up to
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

/* Replaces clock.h. The time begins at EXPLORE_START_NS. Only deadlines advance it, and
 * deadlines from EXPLORE_FAR_NS on never come. */
#define EXPLORE_NEVER    UINT64_MAX
#define EXPLORE_START_NS UINT64_C(1000000000)
#define EXPLORE_FAR_NS   UINT64_C(3600000000000)
uint64_t explore_now_ns(void);

/* explore_thread_local - in setup: let each thread have its own *pointer, NULL at its start
 *
 * A case can have only one such pointer. */
void explore_thread_local(void **pointer);

/* Replace mutexes: the first word is 0 (free) or 1. */
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

/* membarrier.h: a fence of every thread. Succeeds. */
bool explore_fence_all(const struct explore_site *site);

#define explore_membarrier() explore_fence_all(EXPLORE_SITE("membarrier"))

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

/* Replace the builtins, which public inline functions and counters use. */
#define __atomic_load_n(p, order)     atomic_load_explicit(p, order)
#define __atomic_store_n(p, v, order) atomic_store_explicit(p, v, order)
/* clang-format on */

#endif
