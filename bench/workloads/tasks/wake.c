/* SPDX-License-Identifier: MIT */
/*
 * wake.c - an external thread wakes a waiting task
 *
 * The latency is the time from just before the wake to the first instruction of the poll.
 * In turn with the task, the waking thread also wakes a thread that sleeps on a futex.
 * That is the reference: the time that a bare wake-up takes on the same machine.
 *
 * The sleeping thread is pinned to the first CPU, like the worker that is woken first, and
 * the waking thread to the last CPU. The waking thread never sleeps: between two wakes it
 * spins for longer than the workers take to go to sleep. (Use --alone with a shorter
 * --gap, which wakes workers that still search. Otherwise the sleeping thread would have
 * to wait for its CPU, and the worker would fall asleep meanwhile.)
 *
 * The CPU time that the workers use in this part of a round is the cost of being idle.
 * Each round ends with wakes after a gap so short that they find a worker awake.
 */
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdalign.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bpf/cli/args.h"
#include "bench/harness/clock.h"
#include "bench/harness/latencies.h"
#include "bench/harness/pin.h"
#include "bench/workloads/workloads.h"

/* Distance in bytes between fields that different threads write. Two cache
 * lines, because the processor may fetch lines in pairs. */
#define CACHE_PAIR 128

/* The waking thread waits for a landing by spinning for this long; after
 * that it calls sched_yield() in the loop. */
#define SPIN_NS UINT64_C(200000)
/* The gap before a wake that should find a worker awake. */
#define AWAKE_GAP_NS UINT64_C(1000)
/* A wake that takes longer than this counts as lost. */
#define LOST_NS UINT64_C(10000000000)

struct wake_options {
	uint64_t wakes;
	uint64_t gap_us;
	bool alone; /* wake the task only, no thread in turn */
};

/* Where a woken task or thread reports that it is awake. */
struct landing {
	alignas(CACHE_PAIR) uint64_t ns; /* time; guarded by @count */
	uint32_t count; /* writer: task or thread; reader: the waking thread */
};

struct wake_round {
	struct histogram task;
	struct histogram thread;
	struct histogram awake; /* the task, after short gaps */
	uint64_t wall_ns;       /* time of the wakes after long gaps */
	uint64_t cpu_ns;        /* CPU time of the workers meanwhile */
};

/* Sums over all timed rounds. */
struct wake_figures {
	struct latencies task;
	struct latencies thread;
	struct latencies awake;
	uint64_t wall_ns;
	uint64_t cpu_ns;
};

struct wake {
	struct skua_task task; /* first: it is cast back */
	struct skua_waker waker;
	struct wake_options options;
	uint32_t wakes; /* number of wakes of the task so far */
	struct landing of_task;
	struct landing of_thread;

	pthread_t thread;
	/* The futex on which the thread sleeps. Writer: the waking thread,
	 * which adds one for each wake. Reader: run_thread(). */
	alignas(CACHE_PAIR) uint32_t word;
	uint32_t stop; /* writer: teardown, to 1 */

	struct pin pin;            /* pins the waking thread */
	bool has_task, has_thread; /* setup started them */

	struct wake_round round;
	struct wake_figures all;
};

/* ---- the sleeping task and thread ---------------------------------------- */

static void land(struct landing *landing, uint64_t ns)
{
	landing->ns = ns;
	/* Release: publishes the time. Pairs with the acquire in wait_for(). */
	__atomic_store_n(&landing->count, landing->count + 1, __ATOMIC_RELEASE);
}

static bool stopped(const struct wake *w)
{
	/* Relaxed: the wake that follows the store orders it. */
	return __atomic_load_n(&w->stop, __ATOMIC_RELAXED) != 0;
}

static enum skua_poll poll_sleeper(struct skua_task *self)
{
	uint64_t now = clock_ns();
	struct wake *w = (struct wake *)self;

	if (stopped(w))
		return SKUA_DONE;
	if (w->waker.opaque == 0)
		w->waker = skua_task_waker(self);
	land(&w->of_task, now);
	return SKUA_PENDING;
}

static void *run_thread(void *arg)
{
	struct wake *w = arg;

	for (uint32_t seen = 0;; seen++) {
		/* Acquire: sees @stop. Pairs with the release in
		 * wake_thread(). */
		while (__atomic_load_n(&w->word, __ATOMIC_ACQUIRE) == seen)
			syscall(SYS_futex, &w->word, FUTEX_WAIT_PRIVATE, seen,
				NULL, NULL, 0);
		if (stopped(w))
			return NULL;
		land(&w->of_thread, clock_ns());
	}
}

/* ---- the waking thread ---------------------------------------------------- */

static void wake_task(struct wake *w)
{
	skua_waker_wake_by_ref(w->waker);
}

static void wake_thread(struct wake *w)
{
	/* Release: publishes @stop. Pairs with the acquire in run_thread(). */
	__atomic_store_n(&w->word, w->word + 1, __ATOMIC_RELEASE);
	syscall(SYS_futex, &w->word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void spin(uint64_t ns)
{
	uint64_t end = clock_ns() + ns;

	while (clock_ns() < end)
		clock_relax();
}

/* Wait until @landing has counted to @count. Return: 0; -ETIMEDOUT. */
static int wait_for(const struct landing *landing, uint32_t count)
{
	uint64_t start = clock_ns();

	/* Acquire: reads the time. Pairs with the release in land(). */
	while (__atomic_load_n(&landing->count, __ATOMIC_ACQUIRE) != count) {
		uint64_t waited = clock_ns() - start;

		if (waited > LOST_NS)
			return -ETIMEDOUT;
		if (waited > SPIN_NS)
			sched_yield();
		else
			clock_relax();
	}
	return 0;
}

static int measure_wake(struct wake *w, uint64_t gap_ns,
			void (*wake)(struct wake *),
			const struct landing *landing, struct histogram *h)
{
	uint32_t count = landing->count + 1;
	uint64_t start;
	int err;

	spin(gap_ns);
	start = clock_ns();
	wake(w);
	err = wait_for(landing, count);
	if (err == 0)
		histogram_record(h, landing->ns - start);
	return err;
}

static uint64_t cpu_of(clockid_t clock)
{
	struct timespec t = { 0 };

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* Return the CPU time of the workers: that of the process minus that of the
 * waking and the sleeping thread. */
static uint64_t workers_cpu_ns(const struct wake *w)
{
	clockid_t thread;

	if (pthread_getcpuclockid(w->thread, &thread) != 0)
		return 0;
	return cpu_of(CLOCK_PROCESS_CPUTIME_ID) - cpu_of(thread) -
	       cpu_of(CLOCK_THREAD_CPUTIME_ID);
}

static int wake_asleep(struct wake *w)
{
	uint64_t gap_ns = w->options.gap_us * 1000;
	int err = 0;

	for (uint64_t i = 0; err == 0 && i < w->options.wakes; i++) {
		err = measure_wake(w, gap_ns, wake_task, &w->of_task,
				   &w->round.task);
		w->wakes++;
		if (err == 0 && !w->options.alone)
			err = measure_wake(w, gap_ns, wake_thread,
					   &w->of_thread, &w->round.thread);
	}
	return err;
}

static int wake_awake(struct wake *w)
{
	int err = 0;

	for (uint64_t i = 0; err == 0 && i < w->options.wakes; i++) {
		err = measure_wake(w, AWAKE_GAP_NS, wake_task, &w->of_task,
				   &w->round.awake);
		w->wakes++;
	}
	return err;
}

static int wake_round(struct workload_run *run)
{
	struct wake *w = run->state;
	uint64_t cpu_ns = workers_cpu_ns(w);
	uint64_t start_ns = clock_ns();
	int err = wake_asleep(w);

	w->round.wall_ns = clock_ns() - start_ns;
	w->round.cpu_ns = workers_cpu_ns(w) - cpu_ns;
	return err == 0 ? wake_awake(w) : err;
}

/* ---- set-up -------------------------------------------------------------- */

static int start_thread(struct wake *w)
{
	int err = -pthread_create(&w->thread, NULL, run_thread, w);

	if (err != 0)
		return err;
	w->has_thread = true;
	pin_caller(&w->pin);
	pin_to_worker(&w->pin, w->thread, 0);
	return 0;
}

static void end_thread(struct wake *w)
{
	wake_thread(w);
	pthread_join(w->thread, NULL);
	pin_restore(&w->pin);
}

/* Spawn the task, and wait until it has made its waker. */
static int start_task(struct wake *w, struct skua_runtime *rt)
{
	int err;

	skua_task_init(&w->task, poll_sleeper);
	err = skua_task_spawn(rt, &w->task);
	if (err == 0)
		err = wait_for(&w->of_task, 1);
	w->has_task = err == 0;
	return err;
}

static int wake_setup(struct workload_run *run)
{
	const struct wake_options *options = run->options;
	struct wake *w = run->state;
	int err;

	run->ops = options->wakes;
	w->options = *options;
	err = start_thread(w);
	return err == 0 ? start_task(w, run->rt) : err;
}

static void wake_teardown(struct workload_run *run)
{
	struct wake *w = run->state;

	__atomic_store_n(&w->stop, 1, __ATOMIC_RELAXED);
	if (w->has_task) {
		skua_waker_wake(w->waker);
		skua_task_join(&w->task);
	}
	if (w->has_thread)
		end_thread(w);
	latencies_free(&w->all.task);
	latencies_free(&w->all.thread);
	latencies_free(&w->all.awake);
}

static void wake_prepare(struct workload_run *run)
{
	struct wake *w = run->state;

	memset(&w->round, 0, sizeof(w->round));
}

/* ---- results ------------------------------------------------------------- */

/* Check that each wake led to one poll, and that the task had no other polls. */
static bool wake_check(struct workload_run *run)
{
	const struct wake *w = run->state;
	/* The task was polled once before the first wake. */
	uint32_t expected = w->wakes + 1;
	uint32_t polls = __atomic_load_n(&w->of_task.count, __ATOMIC_ACQUIRE);

	if (polls == expected && w->round.task.total == run->ops)
		return true;
	fprintf(stderr, "wake: %u polls so far, not %u\n", polls, expected);
	return false;
}

/* Return the median latency, because the round's time is mostly gaps. */
static double wake_sample(struct workload_run *run, uint64_t round_ns)
{
	struct wake *w = run->state;

	(void)round_ns;
	latencies_add(&w->all.task, &w->round.task, 1);
	latencies_add(&w->all.thread, &w->round.thread, 1);
	latencies_add(&w->all.awake, &w->round.awake, 1);
	w->all.wall_ns += w->round.wall_ns;
	w->all.cpu_ns += w->round.cpu_ns;
	return (double)histogram_percentile(&w->round.task, 50);
}

static json_t *wake_figures(struct workload_run *run)
{
	const struct wake *w = run->state;
	const struct wake_figures *all = &w->all;
	json_t *figures =
		json_pack("{s:o, s:o, s:f}", "latency_ns",
			  latencies_json(&all->task), "awake_latency_ns",
			  latencies_json(&all->awake), "idle_cpu_percent",
			  all->wall_ns ? 100.0 * (double)all->cpu_ns /
						 (double)all->wall_ns
				       : 0);

	if (figures != NULL && !w->options.alone)
		json_object_set_new(figures, "futex_latency_ns",
				    latencies_json(&all->thread));
	return figures;
}

/* ---- options ------------------------------------------------------------- */

static json_t *wake_params(const void *arg)
{
	const struct wake_options *options = arg;
	json_t *params =
		json_pack("{s:I, s:I}", "wakes", (json_int_t)options->wakes,
			  "gap", (json_int_t)options->gap_us);

	if (params != NULL && options->alone)
		json_object_set_new(params, "alone", json_true());
	return params;
}

static const struct wake_options defaults = { .wakes = 1000, .gap_us = 60 };

WORKLOAD(wake, "Latency of a task woken by a thread that is no worker",
	 .defaults = &defaults, .report = &defaults, .report_count = 1,
	 ARGS_OPTIONS(
		 ARGS_NUMBER_OF(
			 struct wake_options, "wakes", wakes, 1, 10000000, "N",
			 "Wakes of the task, and of the thread (default 1000)"),
		 ARGS_NUMBER_OF(struct wake_options, "gap", gap_us, 0, 1000000,
				"N",
				"Microseconds before each wake (default 60)"),
		 ARGS_FLAG_OF(struct wake_options, "alone", alone,
			      "Wake no thread in turn with the task")),
	 .options_size = sizeof(struct wake_options), .params = wake_params,
	 .latency = true, .sample = wake_sample, .figures = wake_figures,
	 WORKLOAD_CALLS(wake, struct wake));
