/* SPDX-License-Identifier: MIT */
/* worker_threads.c - see worker_threads.h */
#include "core/runtime/worker_threads.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>

#include "core/base/atomic.h"
#include "core/base/clock.h"
#include "core/base/memory.h"
#include "core/fiber/overflow.h"
#include "core/loop/loop.h"
#include "core/loop/worker.h"
#include "core/os/pi_lock.h"
#include "core/os/realtime.h"
#include "core/stall/stall.h"

/* How long worker_threads_join() stays awake for threads on other CPUs. A guess: more than
 * two workers need to end; the workload start retunes it. */
#define JOIN_AWAKE_NS UINT64_C(50000)

static void *thread_main(void *arg)
{
	struct worker *worker = arg;
	char name[16];

	snprintf(name, sizeof(name), "skua-%u", worker->index);
	pthread_setname_np(pthread_self(), name);
	/* Let the sentinel wake at its deadline: by default the kernel may delay
	 * timeouts by 50 us. */
	prctl(PR_SET_TIMERSLACK, 1ul);
	/* Here, because a busy worker makes no system call. */
	pi_lock_read_thread();
	overflow_prepare_thread(worker);
	stall_enter(worker);
	loop_run(worker);
	return NULL;
}

/* place - set the affinity in @attr to the CPUs of worker @i */
static int place(const struct config *config, unsigned i, pthread_attr_t *attr)
{
	const struct placement *placement = &config->placement;
	struct placement_range range =
		placement_range(placement, i, config->limited);
	const struct cpu_list *cpus = &config->cpus;
	unsigned limit = cpus->cpus[cpus->count - 1] + 1;
	size_t size = CPU_ALLOC_SIZE(limit);
	cpu_set_t *set = CPU_ALLOC(limit);
	int code;

	if (!set)
		return -ENOMEM;
	CPU_ZERO_S(size, set);
	for (unsigned n = 0; n < range.count; n++)
		CPU_SET_S(placement->cpus[range.first + n], size, set);
	code = -pthread_attr_setaffinity_np(attr, size, set);
	CPU_FREE(set);
	return code;
}

/* create_thread - create the thread of worker @i, on its CPUs if @placed, else on those of
 * the calling thread */
static int create_thread(struct worker_threads *threads, struct pool *pool,
			 const struct config *config, unsigned i, bool placed)
{
	pthread_attr_t attr;
	int code = -pthread_attr_init(&attr);

	if (code)
		return code;
	if (placed)
		code = place(config, i, &attr);
	if (!code && config->realtime)
		code = realtime_ask(&attr);
	if (!code)
		code = -pthread_create(&threads->ids[threads->count], &attr,
				       thread_main, pool->workers[i]);
	pthread_attr_destroy(&attr);
	return code;
}

/* If the CPUs of a worker went away after they had been read, it starts on those of the
 * caller. It checks its affinity one AFFINITY_PERIOD_NS later, as a worker does that
 * loses its CPUs at run time (affinity.h). */
static int start_thread(struct worker_threads *threads, struct pool *pool,
			const struct config *config, unsigned i)
{
	int code = create_thread(threads, pool, config, i, true);

	return code == -EINVAL ? create_thread(threads, pool, config, i, false)
			       : code;
}

/* thread_advice - return what to check when the kernel refuses a thread, or "" */
static const char *thread_advice(int code)
{
	if (code == -EPERM)
		return "; a filter of system calls may deny "
		       "sched_setaffinity(), which workers need: allow it";
	if (code == -EINVAL)
		return "; the stack limit (ulimit -s) may be too small "
		       "for a thread";
	if (code == -EAGAIN)
		return "; a limit on threads (ulimit -u, pids.max of the "
		       "control group) or on memory is reached";
	return "";
}

int worker_threads_allocate(struct worker_threads *threads,
			    const struct config *config)
{
	threads->ids = memory_alloc(config->allocator, CACHE_PAIR,
				    config->workers, sizeof(*threads->ids));
	return threads->ids ? 0 : -ENOMEM;
}

void worker_threads_free(struct worker_threads *threads,
			 const struct config *config)
{
	memory_free(config->allocator, threads->ids, CACHE_PAIR,
		    config->workers, sizeof(*threads->ids));
}

/* first_to_start - choose the worker whose thread is created first: the one after the
 * worker of this CPU, which comes last
 *
 * The kernel puts a new thread on an idle CPU. That of this CPU's worker would have to come
 * back from there: with two workers, all have begun 10 us later if it is the first one.
 * Rejected: threads that go to their CPUs themselves, and choose the worker of the CPU on
 * which they have begun. The call that creates 8 of them is 10 % shorter, but they begin later,
 * as two often begin on one CPU, and then one must move while it runs. */
static unsigned first_to_start(const struct config *config)
{
	int here = sched_getcpu();

	for (unsigned i = 0; i < config->workers; i++) {
		if ((int)config->placement.workers[i].cpu == here)
			return (i + 1) % config->workers;
	}
	return 0;
}

/* Return the worker of thread @k. */
static unsigned worker_of(const struct worker_threads *threads, unsigned k,
			  const struct config *config)
{
	return (threads->first + k) % config->workers;
}

int worker_threads_start(struct worker_threads *threads, struct pool *pool,
			 const struct config *config, struct skua_error *err)
{
	int code = 0;

	threads->first = first_to_start(config);
	while (!code && threads->count < config->workers) {
		code = start_thread(threads, pool, config,
				    worker_of(threads, threads->count, config));
		if (code == -EPERM && config->realtime)
			realtime_refused(err);
		else if (code)
			error_set(err, code,
				  "workers: thread %u of %u not created: %s%s",
				  threads->count + 1, config->workers,
				  strerror(-code), thread_advice(code));
		else
			threads->count++;
	}
	return code;
}

/* Wait until thread @id has ended; do not sleep before @until_ns. */
static void join_awake(pthread_t id, uint64_t until_ns)
{
	/* The loop repeats while the thread runs on its CPU. */
	while (pthread_tryjoin_np(id, NULL) == EBUSY) {
		if (clock_now_ns() >= until_ns) {
			pthread_join(id, NULL);
			return;
		}
		cpu_relax();
	}
}

/* Is thread @k bound to another CPU than @here? */
static bool on_other_cpu(const struct worker_threads *threads, unsigned k,
			 const struct config *config, int here)
{
	const struct placement *placement = &config->placement;
	unsigned i = worker_of(threads, k, config);

	return placement->binding == SKUA_BOUND_CPU &&
	       (int)placement->workers[i].cpu != here;
}

/* The threads of this CPU end while this thread sleeps. For the others it stays awake: if its
 * CPU fell asleep, the last thread would have to wake it, and the unmapping that follows would
 * have to wake the CPU of that thread, which would have fallen asleep meanwhile. Each wake-up of
 * a CPU takes 10 us in a virtual machine. Rejected: to yield until all threads have ended. Beside
 * busy programs, this thread then waits for their time slices, which takes milliseconds. */
void worker_threads_join(struct worker_threads *threads,
			 const struct config *config)
{
	int here = sched_getcpu();
	uint64_t until_ns;

	for (unsigned k = threads->count; k-- > 0;) {
		if (!on_other_cpu(threads, k, config, here))
			pthread_join(threads->ids[k], NULL);
	}
	until_ns = clock_now_ns() + JOIN_AWAKE_NS;
	for (unsigned k = threads->count; k-- > 0;) {
		if (on_other_cpu(threads, k, config, here))
			join_awake(threads->ids[k], until_ns);
	}
}
