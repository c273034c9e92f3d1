/* SPDX-License-Identifier: MIT */
/*
 * sync.c - fibers that lock, wait and signal
 *
 *   mutex            one fiber locks and unlocks a mutex
 *   mutex_contended  the same by several fibers, with the same mutex
 *   rwlock           one fiber reads under a lock
 *   semaphore        one fiber takes a permit, and releases it
 *   notify           fibers in a ring: each waits, and notifies the next one
 *   barrier          fibers meet at a barrier; an operation is an arrival
 *   once             one fiber asks for something that is initialised
 *
 * The reference of `mutex` is a compare-exchange and an exchange of the caller's own
 * memory, in place of the lock and the unlock.
 */
#include <errno.h>
#include <math.h>
#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/harness/clock.h"
#include "bench/workloads/workloads.h"
#include "bpf/cli/args.h"

struct sync_options {
	uint64_t tasks;
	uint64_t times; /* operations of each fiber */
};

struct sync_fiber {
	alignas(128) struct skua_fiber fiber; /* first: it is cast back */
	struct sync *shared;
	uint64_t index;
	uint64_t counted; /* what the fiber has counted */
	uint64_t wrong;
	uint64_t arrived; /* read by other fibers; atomic */
	/* On which the fiber waits. */
	alignas(128) struct skua_notify notify;
};

struct sync {
	struct sync_options options;
	struct skua_runtime *rt;
	struct sync_fiber *fibers;
	double pair_ns;    /* the shortest of all rounds */
	double pair_ratio; /* the smallest of all rounds */

	alignas(128) union {
		struct skua_mutex mutex;
		struct skua_rwlock rwlock;
		struct skua_semaphore semaphore;
		struct skua_barrier barrier;
		struct skua_once once;
	};
	uint64_t count; /* guarded by the object */
};

static uint64_t ops_of(const struct sync_options *options)
{
	return options->tasks * options->times;
}

/* Run a fiber for each task, and wait for all. */
static int run_fibers(struct sync *s, skua_fiber_fn fn)
{
	int err = 0;
	int drain_err;

	for (uint64_t i = 0; err == 0 && i < s->options.tasks; i++) {
		struct skua_fiber *fiber = &s->fibers[i].fiber;

		err = skua_fiber_init(fiber, fn, 0);
		if (err == 0)
			err = skua_task_spawn(s->rt, &fiber->task);
	}
	drain_err = skua_runtime_drain(s->rt);
	return err != 0 ? err : drain_err;
}

static struct sync_fiber *next_of(const struct sync_fiber *f)
{
	return &f->shared->fibers[(f->index + 1) % f->shared->options.tasks];
}

/* ---- mutex, mutex_contended ---------------------------------------------- */

static void count_with_mutex(struct skua_fiber *self)
{
	struct sync_fiber *f = (struct sync_fiber *)self;
	struct sync *s = f->shared;
	uint64_t wrong = 0;

	for (uint64_t i = 0; i < s->options.times; i++) {
		wrong += skua_mutex_lock(&s->mutex, SKUA_FOREVER_NS) != 0;
		s->count++;
		wrong += skua_mutex_unlock(&s->mutex) != 0;
	}
	f->wrong = wrong;
}

static int mutex_round(struct workload_run *run)
{
	return run_fibers(run->state, count_with_mutex);
}

/* Return the time of the two atomic operations of a lock. */
static double time_of_pair(const struct sync *s)
{
	alignas(128) uint64_t pair[2] = { 0, 0 };
	uint64_t start = clock_ns();

	for (uint64_t i = 0; i < ops_of(&s->options); i++) {
		uint64_t expected = 0;

		__atomic_compare_exchange_n(&pair[0], &expected, 1, false,
					    __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
		pair[1]++;
		__atomic_exchange_n(&pair[0], 0, __ATOMIC_RELEASE);
	}
	return (double)(clock_ns() - start) / (double)ops_of(&s->options);
}

static double mutex_sample(struct workload_run *run, uint64_t round_ns)
{
	struct sync *s = run->state;
	double op_ns = (double)round_ns / (double)run->ops;
	double pair_ns = time_of_pair(s);

	s->pair_ns = fmin(s->pair_ns, pair_ns);
	s->pair_ratio = fmin(s->pair_ratio, op_ns / pair_ns);
	return op_ns;
}

static json_t *mutex_figures(struct workload_run *run)
{
	const struct sync *s = run->state;

	return json_pack("{s:f, s:f}", "pair_ns", s->pair_ns, "pair_ratio",
			 s->pair_ratio);
}

/* ---- rwlock -------------------------------------------------------------- */

static void read_with_rwlock(struct skua_fiber *self)
{
	struct sync_fiber *f = (struct sync_fiber *)self;
	struct sync *s = f->shared;
	uint64_t wrong = 0;

	for (uint64_t i = 0; i < s->options.times; i++) {
		wrong += skua_rwlock_read(&s->rwlock, SKUA_FOREVER_NS) != 0;
		f->counted += s->count;
		wrong += skua_rwlock_read_unlock(&s->rwlock) != 0;
	}
	f->wrong = wrong;
}

static int rwlock_round(struct workload_run *run)
{
	return run_fibers(run->state, read_with_rwlock);
}

/* ---- semaphore ----------------------------------------------------------- */

static void count_with_semaphore(struct skua_fiber *self)
{
	struct sync_fiber *f = (struct sync_fiber *)self;
	struct sync *s = f->shared;
	uint64_t wrong = 0;

	for (uint64_t i = 0; i < s->options.times; i++) {
		wrong += skua_semaphore_acquire(&s->semaphore, 1,
						SKUA_FOREVER_NS) != 0;
		s->count++;
		wrong += skua_semaphore_release(&s->semaphore, 1) != 0;
	}
	f->wrong = wrong;
}

static int semaphore_round(struct workload_run *run)
{
	return run_fibers(run->state, count_with_semaphore);
}

/* ---- notify -------------------------------------------------------------- */

static void pass_on(struct skua_fiber *self)
{
	struct sync_fiber *f = (struct sync_fiber *)self;
	uint64_t wrong = 0;

	for (uint64_t i = 0; i < f->shared->options.times; i++) {
		wrong += skua_notify_wait(&f->notify, SKUA_FOREVER_NS) != 0;
		f->shared->count++;
		wrong += skua_notify_one(&next_of(f)->notify) != 0;
	}
	f->wrong = wrong;
}

static int notify_round(struct workload_run *run)
{
	struct sync *s = run->state;

	skua_notify_one(&s->fibers[0].notify);
	return run_fibers(s, pass_on);
}

/* ---- barrier ------------------------------------------------------------- */

static void meet(struct skua_fiber *self)
{
	struct sync_fiber *f = (struct sync_fiber *)self;
	struct sync *s = f->shared;
	uint64_t wrong = 0;

	for (uint64_t i = 1; i <= s->options.times; i++) {
		int code;

		__atomic_store_n(&f->arrived, i, __ATOMIC_RELAXED);
		code = skua_barrier_wait(&s->barrier, SKUA_FOREVER_NS);
		wrong += code < 0;
		f->counted += code == 1;
		wrong += __atomic_load_n(&next_of(f)->arrived,
					 __ATOMIC_RELAXED) < i;
	}
	f->wrong = wrong;
}

static int barrier_round(struct workload_run *run)
{
	return run_fibers(run->state, meet);
}

/* ---- once ---------------------------------------------------------------- */

static void ask_once(struct skua_fiber *self)
{
	struct sync_fiber *f = (struct sync_fiber *)self;
	struct sync *s = f->shared;
	uint64_t wrong = 0;

	for (uint64_t i = 0; i < s->options.times; i++) {
		int code = skua_once_begin(&s->once, SKUA_FOREVER_NS);

		if (code == 1) {
			s->count++;
			code = skua_once_end(&s->once, true);
		}
		wrong += code != 0;
		f->counted += s->count;
	}
	f->wrong = wrong;
}

static int once_round(struct workload_run *run)
{
	return run_fibers(run->state, ask_once);
}

/* ---- for all ------------------------------------------------------------- */

static int sync_setup(struct workload_run *run)
{
	const struct sync_options *options = run->options;
	struct sync *s = run->state;

	run->ops = ops_of(options);
	s->options = *options;
	s->rt = run->rt;
	s->pair_ns = INFINITY;
	s->pair_ratio = INFINITY;
	s->fibers = aligned_alloc(alignof(struct sync_fiber),
				  options->tasks * sizeof(*s->fibers));
	return s->fibers == NULL ? -ENOMEM : 0;
}

static void sync_teardown(struct workload_run *run)
{
	struct sync *s = run->state;

	free(s->fibers);
}

static void reset(struct sync *s, uint64_t count)
{
	s->count = count;
	for (uint64_t i = 0; i < s->options.tasks; i++) {
		memset(&s->fibers[i], 0, sizeof(s->fibers[i]));
		s->fibers[i].shared = s;
		s->fibers[i].index = i;
	}
}

static void sync_prepare(struct workload_run *run)
{
	reset(run->state, 0);
}

static void rwlock_prepare(struct workload_run *run)
{
	reset(run->state, 1);
}

static void semaphore_prepare(struct workload_run *run)
{
	struct sync *s = run->state;

	reset(s, 0);
	skua_semaphore_init(&s->semaphore, 1);
}

static void barrier_prepare(struct workload_run *run)
{
	struct sync *s = run->state;

	reset(s, 0);
	skua_barrier_init(&s->barrier, (uint32_t)s->options.tasks);
}

static void once_prepare(struct workload_run *run)
{
	struct sync *s = run->state;

	reset(s, 0);
	s->once = (struct skua_once)SKUA_ONCE_INIT;
}

/* Have the fibers counted to @count, and found nothing wrong? */
static bool check(const struct sync *s, uint64_t counted, uint64_t count)
{
	uint64_t sum = 0, wrong = 0;

	for (uint64_t i = 0; i < s->options.tasks; i++) {
		sum += s->fibers[i].counted;
		wrong += s->fibers[i].wrong;
	}
	if (sum == counted && s->count == count && wrong == 0)
		return true;
	fprintf(stderr,
		"sync: counted %ju and %ju, not %ju and %ju; %ju wrong results\n",
		(uintmax_t)sum, (uintmax_t)s->count, (uintmax_t)counted,
		(uintmax_t)count, (uintmax_t)wrong);
	return false;
}

static bool check_count(struct workload_run *run)
{
	return check(run->state, 0, run->ops);
}

static bool check_counted(struct workload_run *run)
{
	return check(run->state, run->ops, 1);
}

/* One of the fibers that meet is told so. */
static bool check_barrier(struct workload_run *run)
{
	const struct sync *s = run->state;

	return check(s, s->options.times, 0);
}

/* ---- options ------------------------------------------------------------- */

static json_t *sync_params(const void *arg)
{
	const struct sync_options *options = arg;

	return json_pack("{s:I, s:I}", "tasks", (json_int_t)options->tasks,
			 "times", (json_int_t)options->times);
}

#define SYNC_OPTIONS                                                        \
	ARGS_OPTIONS(ARGS_NUMBER_OF(struct sync_options, "tasks", tasks, 1, \
				    10000, "N", "Number of fibers"),        \
		     ARGS_NUMBER_OF(struct sync_options, "times", times, 1, \
				    1000000000, "N",                        \
				    "Operations of each fiber")),           \
		.options_size = sizeof(struct sync_options),                \
		.params = sync_params, .report_count = 1,                   \
		.state_bytes = sizeof(struct sync), .setup = sync_setup,    \
		.teardown = sync_teardown

static const struct sync_options alone = { .tasks = 1, .times = 1000000 };
static const struct sync_options eight = { .tasks = 8, .times = 50000 };
static const struct sync_options pair = { .tasks = 2, .times = 100000 };
static const struct sync_options meeting = { .tasks = 8, .times = 10000 };

WORKLOAD(mutex, "A fiber locks and unlocks a mutex that is free", SYNC_OPTIONS,
	 .defaults = &alone, .report = &alone, .prepare = sync_prepare,
	 .round = mutex_round, .check = check_count, .sample = mutex_sample,
	 .figures = mutex_figures);

WORKLOAD(mutex_contended, "Eight fibers lock and unlock one mutex",
	 SYNC_OPTIONS, .defaults = &eight, .report = &eight,
	 .prepare = sync_prepare, .round = mutex_round, .check = check_count);

WORKLOAD(rwlock, "A fiber locks a lock as a reader, and unlocks it",
	 SYNC_OPTIONS, .defaults = &alone, .report = &alone,
	 .prepare = rwlock_prepare, .round = rwlock_round,
	 .check = check_counted);

WORKLOAD(semaphore, "A fiber takes a permit, and releases it", SYNC_OPTIONS,
	 .defaults = &alone, .report = &alone, .prepare = semaphore_prepare,
	 .round = semaphore_round, .check = check_count);

WORKLOAD(notify, "Two fibers notify each other in turn", SYNC_OPTIONS,
	 .defaults = &pair, .report = &pair, .prepare = sync_prepare,
	 .round = notify_round, .check = check_count);

WORKLOAD(barrier, "Eight fibers meet at a barrier again and again",
	 SYNC_OPTIONS, .defaults = &meeting, .report = &meeting,
	 .prepare = barrier_prepare, .round = barrier_round,
	 .check = check_barrier);

WORKLOAD(once, "A fiber asks for something that is initialised", SYNC_OPTIONS,
	 .defaults = &alone, .report = &alone, .prepare = once_prepare,
	 .round = once_round, .check = check_counted);
