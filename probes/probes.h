/* SPDX-License-Identifier: MIT */
/**
 * probes.h - probes for a tracer to attach to, on rare events (USDT)
 *
 * Each probe is one nop, out of line, that ELF notes tell the tracer of, and a
 * semaphore: a counter that the tracer raises while it is attached. PROBES.md
 * is what tracers rely on. To the program a probe that nobody is attached to
 * costs a load and a branch that is never taken; one that somebody is, about a
 * microsecond. So only what is rare has one, and all else is counted.
 *
 * Threads: any. Order: none is given.
 */
#ifndef SKUA_PROBES_PROBES_H
#define SKUA_PROBES_PROBES_H

#include <stdbool.h>
#include <stdint.h>

/* Elsewhere there are no probes. */
#if (defined(__x86_64__) || defined(__aarch64__)) && defined(__LP64__)
#define PROBES_EXIST 1
#else
#define PROBES_EXIST 0
#endif

/* Reasons of probe_park(). */
enum probe_park_reason {
	PROBE_PARK_SEARCHED, /* it searched, and found nothing */
	PROBE_PARK_CROWDED,  /* enough others search: it did not */
	PROBE_PARK_DRIVEN,   /* its caller-driven runtime is idle */
};

#if PROBES_EXIST

/* The semaphore. Writers: tracers, through the kernel. */
#define PROBE_DECLARE(name)                                                        \
	extern uint16_t skua_##name##_semaphore                                    \
		__attribute__((visibility("hidden")));                             \
	static inline bool probe_##name##_enabled(void)                            \
	{                                                                          \
		/* Relaxed: an event at the moment of the change may be missed. */ \
		return __builtin_expect(                                           \
			__atomic_load_n(&skua_##name##_semaphore,                  \
					__ATOMIC_RELAXED) != 0,                    \
			0);                                                        \
	}

#else

#define PROBE_DECLARE(name)                             \
	static inline bool probe_##name##_enabled(void) \
	{                                               \
		return false;                           \
	}

#endif

PROBE_DECLARE(steal)
PROBE_DECLARE(park)
PROBE_DECLARE(unpark)
PROBE_DECLARE(overflow)

#undef PROBE_DECLARE

/* What the tracer stops at; called while somebody is attached. */
void probe_steal_hit(uint64_t thief, uint64_t victim, uint64_t n);
void probe_park_hit(uint64_t worker, uint64_t reason);
void probe_unpark_hit(uint64_t worker, uint64_t parked_ns, uint64_t waker);
void probe_overflow_hit(uint64_t worker, uint64_t n);

/* probe_steal - worker @thief took @n tasks from the queue of @victim */
static inline void probe_steal(unsigned thief, unsigned victim, uint64_t n)
{
	if (probe_steal_enabled())
		probe_steal_hit(thief, victim, n);
}

/* probe_park - a worker is about to sleep */
static inline void probe_park(unsigned worker, enum probe_park_reason reason)
{
	if (probe_park_enabled())
		probe_park_hit(worker, (uint64_t)reason);
}

/**
 * probe_unpark - a worker has slept
 * @parked_ns: how long; 0 = not known
 * @waker: the thread that woke it, as of gettid(); 0 = it woke by itself
 */
static inline void probe_unpark(unsigned worker, uint64_t parked_ns,
				uint64_t waker)
{
	if (probe_unpark_enabled())
		probe_unpark_hit(worker, parked_ns, waker);
}

/* probe_overflow - @n tasks went from a full queue to the injection queue */
static inline void probe_overflow(unsigned worker, uint64_t n)
{
	if (probe_overflow_enabled())
		probe_overflow_hit(worker, n);
}

#endif
