/* SPDX-License-Identifier: MIT */
/*
 * timers.c - add and cancel very many timers, and measure how late timers fire
 *
 * One task adds far timers, batch by batch, and cancels them at the end. An operation
 * adds and cancels one timer. While all far timers are pending and each worker is
 * busy, other tasks (sleepers) sleep until near times. The latency is how much later
 * than its due time a sleeper runs.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bpf/cli/args.h"
#include "bench/harness/clock.h"
#include "bench/kernels/compute.h"
#include "bench/harness/latencies.h"
#include "bench/workloads/background_load.h"
#include "bench/workloads/workloads.h"

/* Number of timers added or cancelled in one poll. */
#define BATCH 1000u
/* Far timers are due between one and two hours from now, so that none fires. */
#define FAR_NS UINT64_C(3600000000000)
/* A sleeper sleeps for NEAR_NS plus a random time below WITHIN_NS. */
#define NEAR_NS   UINT64_C(1000000)
#define WITHIN_NS UINT64_C(50000000)
/* A sleeper that has not run after this time counts as lost. */
#define LOST_NS UINT64_C(10000000000)

struct timers_options {
	uint64_t timers;
	uint64_t sleepers;
};

struct sleeper {
	struct skua_task task; /* first: it is cast back */
	struct timers *all;
	struct skua_timer timer;
	uint64_t sleep_ns;
	uint64_t due_ns; /* when the sleep ends; 0: it has not begun */
	uint64_t ran_ns; /* when it ran after the sleep; 0: not yet */
};

struct busy {
	struct skua_task task; /* first: it is cast back */
	struct timers *all;
};

enum phase { ADDING, ADDED, CANCELLING };

struct timers {
	struct skua_task task; /* first: it is cast back */
	struct skua_runtime *rt;
	struct timers_options options;
	struct skua_timer *far;
	struct sleeper *sleepers;
	struct busy *busy; /* two for each worker */
	unsigned workers;

	/* Used by the task alone while it runs. */
	uint64_t next;
	uint64_t add_ns;
	uint64_t cancel_ns;
	uint64_t wrong; /* timers not added, or gone when they were cancelled */
	struct skua_waker waker;

	uint32_t phase; /* writers: poll_far(), to ADDED; the calling thread */
	uint32_t stop;  /* ends the busy tasks; writer: the calling thread */
	uint64_t awake; /* sleepers that have ended; writers: sleepers */

	struct histogram round; /* lateness of this round's sleepers */

	/* Sums over all timed rounds. */
	uint64_t rounds;
	uint64_t sum_add_ns;
	uint64_t sum_cancel_ns;
	struct latencies late;
};

/* ---- the far timers ------------------------------------------------------- */

static uint64_t batch_end(const struct timers *t)
{
	uint64_t end = t->next + BATCH;

	return end < t->options.timers ? end : t->options.timers;
}

static void add_batch(struct timers *t)
{
	uint64_t end = batch_end(t);
	uint64_t start = clock_ns();

	for (; t->next < end; t->next++)
		t->wrong +=
			skua_timer_add(&t->task, &t->far[t->next],
				       start + FAR_NS +
					       scatter(t->next) % FAR_NS) != 0;
	t->add_ns += clock_ns() - start;
}

static void cancel_batch(struct timers *t)
{
	uint64_t end = batch_end(t);
	uint64_t start = clock_ns();

	for (; t->next < end; t->next++)
		t->wrong += !skua_timer_cancel(&t->far[t->next]);
	t->cancel_ns += clock_ns() - start;
}

static enum skua_poll poll_far(struct skua_task *self)
{
	struct timers *t = (struct timers *)self;
	/* Acquire: sees @next reset. Pairs with the release in cancel_far(). */
	uint32_t phase = __atomic_load_n(&t->phase, __ATOMIC_ACQUIRE);

	if (phase == ADDED)
		return SKUA_PENDING;
	if (phase == ADDING)
		add_batch(t);
	else
		cancel_batch(t);
	if (t->next < t->options.timers)
		return SKUA_YIELD;
	if (phase == CANCELLING)
		return SKUA_DONE;
	t->waker = skua_task_waker(self);
	/* Release: publishes the waker. Pairs with the acquire in add_far(). */
	__atomic_store_n(&t->phase, ADDED, __ATOMIC_RELEASE);
	return SKUA_PENDING;
}

static void nap(void)
{
	const struct timespec ms = { 0, 1000000 };

	nanosleep(&ms, NULL);
}

static int add_far(struct timers *t)
{
	int err = skua_task_spawn(t->rt, &t->task);

	/* Acquire: sees the waker. Pairs with the release in poll_far(). */
	while (err == 0 &&
	       __atomic_load_n(&t->phase, __ATOMIC_ACQUIRE) == ADDING)
		nap();
	return err;
}

static int cancel_far(struct timers *t)
{
	t->next = 0;
	/* Release: publishes @next. Pairs with the acquire in poll_far(). */
	__atomic_store_n(&t->phase, CANCELLING, __ATOMIC_RELEASE);
	skua_waker_wake(t->waker);
	return skua_task_join(&t->task);
}

/* ---- sleepers and busy tasks ---------------------------------------------- */

static enum skua_poll poll_sleeper(struct skua_task *self)
{
	uint64_t now = clock_ns();
	struct sleeper *s = (struct sleeper *)self;

	if (s->due_ns == 0) {
		s->due_ns = now + s->sleep_ns;
		return skua_timer_add(self, &s->timer, s->due_ns) == 0
			       ? SKUA_PENDING
			       : SKUA_DONE; /* counted as lost */
	}
	if (skua_task_cancelled(self)) /* the sleeper is lost */
		skua_timer_cancel(&s->timer);
	else if (skua_timer_pending(&s->timer))
		return SKUA_PENDING;
	else
		s->ran_ns = now;
	/* Relaxed: a count that publishes no other data. */
	__atomic_fetch_add(&s->all->awake, 1, __ATOMIC_RELAXED);
	return SKUA_DONE;
}

static enum skua_poll poll_busy(struct skua_task *self)
{
	const struct busy *busy = (const struct busy *)self;
	uint64_t end = clock_ns() + BACKGROUND_LOAD_POLL_NS;

	while (clock_ns() < end)
		clock_relax();
	/* Relaxed: a flag that publishes no other data. */
	return __atomic_load_n(&busy->all->stop, __ATOMIC_RELAXED) ? SKUA_DONE
								   : SKUA_YIELD;
}

static int start_busy(struct timers *t, struct skua_group *group)
{
	int err = skua_group_init(group, t->rt);

	t->stop = 0;
	/* With two busy tasks for each worker, and stealing, no worker runs
	 * out of work. */
	for (unsigned i = 0; err == 0 && i < 2 * t->workers; i++) {
		t->busy[i].all = t;
		skua_task_init(&t->busy[i].task, poll_busy);
		err = skua_group_spawn(group, &t->busy[i].task);
	}
	return err;
}

static int start_sleepers(struct timers *t, struct skua_group *group)
{
	int err = skua_group_init(group, t->rt);

	t->awake = 0;
	for (uint64_t i = 0; err == 0 && i < t->options.sleepers; i++) {
		struct sleeper *s = &t->sleepers[i];

		memset(s, 0, sizeof(*s));
		s->all = t;
		s->sleep_ns = NEAR_NS + scatter(i) % WITHIN_NS;
		skua_task_init(&s->task, poll_sleeper);
		err = skua_group_spawn(group, &s->task);
	}
	return err;
}

/* Wait until all sleepers have run, but at most LOST_NS; then cancel the rest. */
static void await_sleepers(struct timers *t, struct skua_group *group)
{
	uint64_t end = clock_ns() + LOST_NS;

	while (__atomic_load_n(&t->awake, __ATOMIC_RELAXED) <
		       t->options.sleepers &&
	       clock_ns() < end)
		nap();
	skua_group_cancel(group);
	skua_group_wait(group);
}

static int sleep_beside_load(struct timers *t)
{
	struct skua_group busy;
	struct skua_group sleepers;
	int err = start_busy(t, &busy);
	int sleepers_err = start_sleepers(t, &sleepers);

	await_sleepers(t, &sleepers);
	__atomic_store_n(&t->stop, 1, __ATOMIC_RELAXED);
	skua_group_wait(&busy);
	return err != 0 ? err : sleepers_err;
}

/* ---- the workload --------------------------------------------------------- */

static int timers_setup(struct workload_run *run)
{
	const struct timers_options *options = run->options;
	struct timers *t = run->state;

	run->ops = options->timers;
	t->options = *options;
	t->rt = run->rt;
	t->workers = run->workers;
	t->far = calloc(options->timers, sizeof(*t->far));
	t->sleepers = calloc(options->sleepers, sizeof(*t->sleepers));
	t->busy = calloc(2 * (size_t)run->workers, sizeof(*t->busy));
	if (t->far == NULL || t->sleepers == NULL || t->busy == NULL)
		return -ENOMEM;
	return 0;
}

static void timers_teardown(struct workload_run *run)
{
	struct timers *t = run->state;

	latencies_free(&t->late);
	free(t->far);
	free(t->sleepers);
	free(t->busy);
}

static void timers_prepare(struct workload_run *run)
{
	struct timers *t = run->state;

	t->next = 0;
	t->add_ns = 0;
	t->cancel_ns = 0;
	t->wrong = 0;
	t->phase = ADDING;
	skua_task_init(&t->task, poll_far);
	/* Touch the memory, so that the measured time includes no page faults. */
	memset(t->far, 0, t->options.timers * sizeof(*t->far));
}

static int timers_round(struct workload_run *run)
{
	struct timers *t = run->state;
	int err = add_far(t);
	int cancel_err;

	if (err != 0)
		return err;
	err = sleep_beside_load(t);
	cancel_err = cancel_far(t);
	return err != 0 ? err : cancel_err;
}

/* Check that each far timer was still pending when it was cancelled, and that each
 * sleeper ran, and not early. */
static bool timers_check(struct workload_run *run)
{
	const struct timers *t = run->state;
	uint64_t early = 0;
	uint64_t lost = 0;

	for (uint64_t i = 0; i < t->options.sleepers; i++) {
		const struct sleeper *s = &t->sleepers[i];

		lost += s->ran_ns == 0;
		early += s->ran_ns != 0 && s->ran_ns < s->due_ns;
	}
	if (t->wrong == 0 && early == 0 && lost == 0)
		return true;
	fprintf(stderr,
		"timers: %ju far timers were missing, %ju near timers "
		"early, %ju lost\n",
		(uintmax_t)t->wrong, (uintmax_t)early, (uintmax_t)lost);
	return false;
}

static double timers_sample(struct workload_run *run, uint64_t round_ns)
{
	struct timers *t = run->state;

	(void)round_ns;
	t->rounds++;
	t->sum_add_ns += t->add_ns;
	t->sum_cancel_ns += t->cancel_ns;
	memset(&t->round, 0, sizeof(t->round));
	for (uint64_t i = 0; i < t->options.sleepers; i++)
		if (t->sleepers[i].ran_ns >= t->sleepers[i].due_ns)
			histogram_record(&t->round,
					 t->sleepers[i].ran_ns -
						 t->sleepers[i].due_ns);
	latencies_add(&t->late, &t->round, 1);
	return (double)(t->add_ns + t->cancel_ns) / (double)run->ops;
}

static json_t *timers_figures(struct workload_run *run)
{
	const struct timers *t = run->state;
	double timers = (double)t->rounds * (double)t->options.timers;

	return json_pack("{s:f, s:f, s:o}", "add_ns",
			 (double)t->sum_add_ns / timers, "cancel_ns",
			 (double)t->sum_cancel_ns / timers, "latency_ns",
			 latencies_json(&t->late));
}

/* ---- options -------------------------------------------------------------- */

static json_t *timers_params(const void *arg)
{
	const struct timers_options *options = arg;

	return json_pack("{s:I, s:I}", "timers", (json_int_t)options->timers,
			 "sleepers", (json_int_t)options->sleepers);
}

static const struct timers_options defaults = {
	.timers = 1000000,
	.sleepers = 1000,
};

WORKLOAD(timers, "Add and cancel 10^6 timers; lateness of timers under load",
	 .defaults = &defaults, .report = &defaults, .report_count = 1,
	 ARGS_OPTIONS(
		 ARGS_NUMBER_OF(
			 struct timers_options, "timers", timers, 1, 10000000,
			 "N",
			 "Timers that are pending at once (default 1000000)"),
		 ARGS_NUMBER_OF(struct timers_options, "sleepers", sleepers, 1,
				1000000, "N",
				"Tasks that sleep meanwhile (default 1000)")),
	 .options_size = sizeof(struct timers_options), .params = timers_params,
	 .sample = timers_sample, .figures = timers_figures,
	 WORKLOAD_CALLS(timers, struct timers));
