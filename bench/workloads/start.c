/* SPDX-License-Identifier: MIT */
/*
 * start.c - time the start and the end of a runtime
 *
 * An operation is a runtime that is created and destroyed, with as many workers as the
 * one of the measurement, which sleeps meanwhile. Between the two, each worker polls one
 * task: skua_runtime_create() may return before the threads have begun. The reference is
 * bare threads: as many threads, which tell when they have begun, sleep until they are
 * woken, and end.
 */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/cli/args.h"
#include "bench/harness/clock.h"
#include "bench/harness/latencies.h"
#include "bench/workloads/workloads.h"

struct start_options {
	uint64_t repeat;
};

/*
 * The times of an operation: until the call that creates has returned; until all threads
 * have begun, from the same moment; and to destroy.
 */
enum { CREATE, BEGIN, DESTROY, BARE_CREATE, BARE_BEGIN, BARE_DESTROY, TIMES };

static const char *const names[TIMES] = {
	"create_latency_ns",     "begin_latency_ns",
	"destroy_latency_ns",    "bare_create_latency_ns",
	"bare_begin_latency_ns", "bare_destroy_latency_ns",
};

struct start {
	uint64_t repeat;
	unsigned workers;
	unsigned wrong; /* workers that did not poll their task once */
	uint64_t ns;    /* in this round, for all runtimes */
	struct first *firsts;
	pthread_t *threads;
	sem_t begun, end;
	struct histogram round[TIMES];
	struct latencies all[TIMES];
};

static void record(struct start *start, unsigned first, const uint64_t ns[4])
{
	histogram_record(&start->round[first], ns[1] - ns[0]);
	histogram_record(&start->round[first + 1], ns[2] - ns[0]);
	histogram_record(&start->round[first + 2], ns[3] - ns[2]);
}

/* ---- a runtime ------------------------------------------------------------- */

/* The first task of a worker. */
struct first {
	struct skua_task task; /* first: it is cast back */
	unsigned polls;
};

static enum skua_poll poll_first(struct skua_task *self)
{
	((struct first *)self)->polls++;
	return SKUA_DONE;
}

/* Have each worker poll a task. */
static int begin_workers(struct start *start, struct skua_runtime *rt)
{
	unsigned spawned = 0;
	int err = 0;

	while (err == 0 && spawned < start->workers) {
		struct first *first = &start->firsts[spawned];

		*first = (struct first){ .polls = 0 };
		skua_task_init(&first->task, poll_first);
		err = skua_task_spawn_on(rt, spawned, &first->task);
		spawned += err == 0;
	}
	for (unsigned i = 0; i < spawned; i++) {
		skua_task_join(&start->firsts[i].task);
		start->wrong += start->firsts[i].polls != 1;
	}
	return err;
}

static int time_runtime(struct start *start)
{
	const struct skua_config config = { .size = sizeof(config),
					    .workers = start->workers };
	uint64_t ns[4] = { clock_ns() };
	struct skua_runtime *rt;
	int err = skua_runtime_create(&rt, &config, NULL);

	if (err != 0)
		return err;
	ns[1] = clock_ns();
	err = begin_workers(start, rt);
	ns[2] = clock_ns();
	skua_runtime_destroy(rt);
	ns[3] = clock_ns();
	record(start, CREATE, ns);
	start->ns += ns[3] - ns[0];
	return err;
}

/* ---- bare threads ---------------------------------------------------------- */

static void await(sem_t *semaphore)
{
	while (sem_wait(semaphore) != 0)
		;
}

static void *sleep_and_end(void *arg)
{
	struct start *start = arg;

	sem_post(&start->begun);
	await(&start->end);
	return NULL;
}

static int time_threads(struct start *start)
{
	uint64_t ns[4] = { clock_ns() };
	unsigned count = 0;
	int err = 0;

	while (err == 0 && count < start->workers) {
		err = -pthread_create(&start->threads[count], NULL,
				      sleep_and_end, start);
		count += err == 0;
	}
	ns[1] = clock_ns();
	for (unsigned i = 0; i < count; i++)
		await(&start->begun);
	ns[2] = clock_ns();
	for (unsigned i = 0; i < count; i++)
		sem_post(&start->end);
	for (unsigned i = 0; i < count; i++)
		pthread_join(start->threads[i], NULL);
	ns[3] = clock_ns();
	record(start, BARE_CREATE, ns);
	return err;
}

/* ---- the workload ---------------------------------------------------------- */

static int start_setup(struct workload_run *run)
{
	const struct start_options *options = run->options;
	struct start *start = run->state;

	run->ops = options->repeat;
	start->repeat = options->repeat;
	start->workers = run->workers;
	sem_init(&start->begun, 0, 0);
	sem_init(&start->end, 0, 0);
	start->threads = calloc(run->workers, sizeof(*start->threads));
	start->firsts = calloc(run->workers, sizeof(*start->firsts));
	return start->threads == NULL || start->firsts == NULL ? -ENOMEM : 0;
}

static void start_teardown(struct workload_run *run)
{
	struct start *start = run->state;

	for (unsigned i = 0; i < TIMES; i++)
		latencies_free(&start->all[i]);
	sem_destroy(&start->begun);
	sem_destroy(&start->end);
	free(start->threads);
	free(start->firsts);
}

static void start_prepare(struct workload_run *run)
{
	struct start *start = run->state;

	memset(start->round, 0, sizeof(start->round));
	start->ns = 0;
	start->wrong = 0;
}

/* A runtime and bare threads in turn, so that a disturbance affects both. */
static int start_round(struct workload_run *run)
{
	struct start *start = run->state;
	int err = 0;

	for (uint64_t i = 0; err == 0 && i < start->repeat; i++) {
		err = time_runtime(start);
		if (err == 0)
			err = time_threads(start);
	}
	return err;
}

static bool start_check(struct workload_run *run)
{
	const struct start *start = run->state;

	if (start->wrong == 0)
		return true;
	fprintf(stderr, "start: %u workers did not poll their task once\n",
		start->wrong);
	return false;
}

/* Return the mean of the runtimes alone, because the round's time includes the bare
 * threads. */
static double start_sample(struct workload_run *run, uint64_t round_ns)
{
	struct start *start = run->state;

	(void)round_ns;
	for (unsigned i = 0; i < TIMES; i++)
		latencies_add(&start->all[i], &start->round[i], 1);
	return (double)start->ns / (double)start->repeat;
}

static json_t *start_figures(struct workload_run *run)
{
	const struct start *start = run->state;
	json_t *figures = json_object();

	for (unsigned i = 0; figures != NULL && i < TIMES; i++)
		json_object_set_new(figures, names[i],
				    latencies_json(&start->all[i]));
	return figures;
}

/* ---- options --------------------------------------------------------------- */

static json_t *start_params(const void *arg)
{
	const struct start_options *options = arg;

	return json_pack("{s:I}", "repeat", (json_int_t)options->repeat);
}

static const struct start_options report = { .repeat = 50 };

WORKLOAD(start, "Create a runtime and destroy it",
	 ARGS_OPTIONS(ARGS_NUMBER_OF(struct start_options, "repeat", repeat, 1,
				     1000000, "N",
				     "Runtimes in a round (default 50)")),
	 .options_size = sizeof(struct start_options), .defaults = &report,
	 .report = &report, .report_count = 1, .params = start_params,
	 .sample = start_sample, .figures = start_figures,
	 WORKLOAD_CALLS(start, struct start));
