/* SPDX-License-Identifier: MIT */
/**
 * probes.h - probes for a tracer to attach to (USDT)
 *
 * Each probe is one nop, out of line, which ELF notes describe to the tracer, and a
 * semaphore: a counter that the tracer raises while it is attached. PROBES.md is the
 * interface for tracers. A probe without a tracer costs a load and a branch that is never
 * taken; with a tracer it costs about a microsecond. So frequent events are counted
 * instead, except polls: workers check now and then whether a tracer is attached to
 * those.
 *
 * Threads: any. Order: none is given.
 */
#ifndef SKUA_PROBES_PROBES_H
#define SKUA_PROBES_PROBES_H

#include <stdbool.h>
#include <stdint.h>

/* Other platforms have no probes. */
#if (defined(__x86_64__) || defined(__aarch64__)) && defined(__LP64__)
#define PROBES_EXIST 1
#else
#define PROBES_EXIST 0
#endif

/* Reasons of probe_park(). */
enum probe_park_reason {
	PROBE_PARK_SEARCHED, /* the worker searched and found nothing */
	PROBE_PARK_CROWDED,  /* it did not search: enough others do */
	PROBE_PARK_DRIVEN,   /* its caller-driven runtime is idle */
};

/* Each probe, with the number of its arguments. */
#define PROBES(PROBE)           \
	PROBE(steal, 4)         \
	PROBE(steal_fail, 2)    \
	PROBE(park, 2)          \
	PROBE(unpark, 3)        \
	PROBE(lifo_flush, 3)    \
	PROBE(overflow, 2)      \
	PROBE(inject, 2)        \
	PROBE(stall, 3)         \
	PROBE(task_begin, 4)    \
	PROBE(task_end, 3)      \
	PROBE(worker_start, 2)  \
	PROBE(worker_stop, 1)   \
	PROBE(io_takeover, 2)   \
	PROBE(blocking_full, 2) \
	PROBE(accept_delayed, 2)

#if PROBES_EXIST

/* The semaphore. Writers: tracers, through the kernel. */
#define PROBE_DECLARE(name, count)                                                 \
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

#define PROBE_DECLARE(name, count)                      \
	static inline bool probe_##name##_enabled(void) \
	{                                               \
		return false;                           \
	}

#endif

PROBES(PROBE_DECLARE)

#undef PROBE_DECLARE

/* The function at which a tracer stops; called only while a tracer is attached. Arguments
 * that a probe does not have are ignored. */
#define PROBE_HIT(name, count)                                   \
	void probe_##name##_hit(uint64_t first, uint64_t second, \
				uint64_t third, uint64_t fourth);
PROBES(PROBE_HIT)
#undef PROBE_HIT

/* probe_steal - report that worker @thief took @n tasks from the queue of @victim,
 * @latency_ns after its search began */
static inline void probe_steal(unsigned thief, unsigned victim, uint64_t n,
			       uint64_t latency_ns)
{
	if (probe_steal_enabled())
		probe_steal_hit(thief, victim, n, latency_ns);
}

/* probe_steal_fail - report that a worker found nothing, after @attempts attempts */
static inline void probe_steal_fail(unsigned thief, uint64_t attempts)
{
	if (probe_steal_fail_enabled())
		probe_steal_fail_hit(thief, attempts, 0, 0);
}

/* probe_park - report that a worker is about to sleep */
static inline void probe_park(unsigned worker, enum probe_park_reason reason)
{
	if (probe_park_enabled())
		probe_park_hit(worker, (uint64_t)reason, 0, 0);
}

/**
 * probe_unpark - report that a worker has slept for @parked_ns
 * @waker: the gettid() of the thread that woke it; 0: it woke by itself
 */
static inline void probe_unpark(unsigned worker, uint64_t parked_ns,
				uint64_t waker)
{
	if (probe_unpark_enabled())
		probe_unpark_hit(worker, parked_ns, waker, 0);
}

/* probe_lifo_flush - report the number of @polls since the last call, and how many of
 * these were @hits: polls of a task from the LIFO slot */
static inline void probe_lifo_flush(unsigned worker, uint64_t hits,
				    uint64_t polls)
{
	if (probe_lifo_flush_enabled())
		probe_lifo_flush_hit(worker, hits, polls, 0);
}

/* probe_overflow - report that @n tasks moved from a full local queue to the injection queue */
static inline void probe_overflow(unsigned worker, uint64_t n)
{
	if (probe_overflow_enabled())
		probe_overflow_hit(worker, n, 0, 0);
}

/* probe_inject - report that a worker took @n tasks from the injection queue */
static inline void probe_inject(unsigned worker, uint64_t n)
{
	if (probe_inject_enabled())
		probe_inject_hit(worker, n, 0, 0);
}

/* probe_accept_delayed - report that an accept is put off for @ns because of @code, a
 * negative errno value */
static inline void probe_accept_delayed(int code, uint64_t ns)
{
	if (probe_accept_delayed_enabled())
		probe_accept_delayed_hit((uint64_t)-code, ns, 0, 0);
}

/* probe_stall - report that a poll of a task of @type is over its limit, after @ns so far */
static inline void probe_stall(unsigned worker, const void *type, uint64_t ns)
{
	if (probe_stall_enabled())
		probe_stall_hit(worker, (uintptr_t)type, ns, 0);
}

/* probe_blocking_full - report that a call has to wait for a place in the queue of the
 * blocking pool: @queued calls are there, and @waiting callers wait for a place */
static inline void probe_blocking_full(uint64_t queued, uint64_t waiting)
{
	if (probe_blocking_full_enabled())
		probe_blocking_full_hit(queued, waiting, 0, 0);
}

/* probe_worker_start - report that the thread of a worker begins; @thread: its gettid() */
static inline void probe_worker_start(unsigned worker, uint64_t thread)
{
	if (probe_worker_start_enabled())
		probe_worker_start_hit(worker, thread, 0, 0);
}

/* probe_worker_stop - report that the thread of a worker ends */
static inline void probe_worker_stop(unsigned worker)
{
	if (probe_worker_stop_enabled())
		probe_worker_stop_hit(worker, 0, 0, 0);
}

/* probe_io_takeover - report that @worker has taken the role of leader from worker @from,
 * which is in a long poll */
static inline void probe_io_takeover(unsigned worker, unsigned from)
{
	if (probe_io_takeover_enabled())
		probe_io_takeover_hit(worker, from, 0, 0);
}

#endif
