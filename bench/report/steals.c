/* SPDX-License-Identifier: MIT */
/*
 * steals.c - see steals.h
 *
 * This process records itself in the way that `skua record` records another process: a
 * thread copies the events of the workers to a file in memory, which is read after the
 * round.
 */
#include "bench/report/steals.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bpf/cli/args.h"
#include "bench/harness/measure.h"
#include "bpf/recording/rings.h"
#include "bpf/target/target.h"
#include "bpf/recording/trace_file.h"

/* Pause between two reads of the event rings. A ring holds some milliseconds
 * of events even where they are densest. */
#define READ_US 500

/* Largest size of the file in memory. A guess. */
#define MAX_BYTES (UINT64_C(128) << 20)

struct recording {
	struct measure_watch watch; /* first: it is cast back */
	struct skua_runtime *rt;
	struct target *target;
	struct trace_writer writer;
	struct rings *rings;
	pthread_t thread;
	bool started;
	/* Ends the copying thread. Writer: the measuring thread, to true.
	 * Reader: the copying thread. */
	bool over;
	bool cut;
	int err;
};

struct pair {
	uint64_t steals;
	uint64_t tasks;
	uint64_t jobs;
};

/* ---- recording ------------------------------------------------------------- */

static bool is_over(const struct recording *r)
{
	/* Relaxed: it publishes no other data. */
	return __atomic_load_n(&r->over, __ATOMIC_RELAXED);
}

static void *copy(void *arg)
{
	struct recording *r = arg;
	double fullest;

	while (r->err == 0 && !r->cut && !is_over(r)) {
		r->err = rings_copy(r->rings, false, &fullest);
		r->cut = r->writer.bytes > MAX_BYTES;
		usleep(READ_US);
	}
	if (r->cut)
		skua_record_stop(r->rt);
	return NULL;
}

static int open_rings(struct recording *r)
{
	struct trace_meta meta = { .pid = (uint32_t)getpid(),
				   .counter = trace_counter_here(),
				   .start = trace_now(),
				   .area_abi = AREA_ABI };
	int err;

	err = trace_write_start(&r->writer, r->writer.fd, &meta);
	if (err == 0)
		err = target_open(&r->target, getpid());
	if (err == 0)
		err = rings_open(&r->rings, r->target, &r->writer, UINT64_MAX,
				 NULL);
	return err;
}

static void begin(struct measure_watch *watch, struct skua_runtime *rt)
{
	struct recording *r = (struct recording *)watch;

	r->rt = rt;
	r->err = open_rings(r);
	if (r->err == 0)
		r->err = skua_record_start(rt);
	if (r->err == 0)
		r->err = -pthread_create(&r->thread, NULL, copy, r);
	r->started = r->err == 0;
}

static void end(struct measure_watch *watch)
{
	struct recording *r = (struct recording *)watch;
	double fullest;

	if (!r->started)
		return;
	/* Relaxed: as the load in is_over(). */
	__atomic_store_n(&r->over, true, __ATOMIC_RELAXED);
	pthread_join(r->thread, NULL);
	skua_record_stop(r->rt);
	if (r->err == 0)
		r->err = rings_copy(r->rings, true, &fullest);
	if (r->err == 0)
		r->err = trace_write_end(&r->writer, TRACE_FINISHED);
}

/* ---- counting -------------------------------------------------------------- */

/* Count a steal. External threads that fork have indices after those of the
 * workers: as victims they share one column, as thieves they are left out. */
static void count(struct pair *pairs, unsigned workers,
		  const struct trace *trace, const struct trace_event *event)
{
	const struct event *e = &event->event;
	unsigned thief = trace_source(trace, event->source)->stream.index;
	unsigned victim = e->other < workers ? e->other : workers;
	struct pair *pair;

	if (thief >= workers)
		return;
	pair = &pairs[(size_t)thief * (workers + 1) + victim];
	if (e->kind == EVENT_STEAL) {
		pair->steals++;
		pair->tasks += e->detail;
	} else if (e->kind == EVENT_JOB_BEGIN) {
		pair->steals++;
		pair->jobs++;
	}
}

static json_t *pairs_json(const struct pair *pairs, unsigned workers)
{
	json_t *rows = json_array();

	for (unsigned thief = 0; thief < workers; thief++)
		for (unsigned victim = 0; victim <= workers; victim++) {
			const struct pair *p = pairs++;

			if (p->steals == 0)
				continue;
			json_array_append_new(
				rows, json_pack("[i, o, I, I, I]", thief,
						victim < workers
							? json_integer(victim)
							: json_null(),
						(json_int_t)p->steals,
						(json_int_t)p->tasks,
						(json_int_t)p->jobs));
		}
	return rows;
}

static json_t *trace_json(struct trace *trace, const struct recording *r,
			  const struct measurement *m)
{
	struct pair *pairs =
		calloc((size_t)m->workers * (m->workers + 1), sizeof(*pairs));
	const struct trace_about *about = trace_about(trace);
	struct trace_event event;
	json_t *object;

	if (pairs == NULL)
		return NULL;
	while (trace_next(trace, &event))
		count(pairs, m->workers, trace, &event);
	object = json_pack(
		"{s:s, s:O, s:i, s:I, s:I, s:b, s:o, s:I}", "workload",
		m->workload->name, "params", m->params, "workers",
		(int)m->workers, "events", (json_int_t)about->events, "lost",
		(json_int_t)about->lost, "cut", (int)r->cut, "steals",
		pairs_json(pairs, m->workers), "jobs_stolen_outside",
		(json_int_t)m->stats.jobs_stolen_outside);
	free(pairs);
	return object;
}

/* ---- all ------------------------------------------------------------------- */

static json_t *unknown(const struct workload *workload, const void *options,
		       unsigned workers, const char *why)
{
	return json_pack("{s:s, s:o, s:i, s:s}", "workload", workload->name,
			 "params", workload->params(options), "workers",
			 (int)workers, "reason", why);
}

static json_t *read_back(const struct recording *r, const struct measurement *m,
			 struct skua_error *error)
{
	struct trace *trace;
	json_t *object;
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", r->writer.fd);
	if (trace_open(&trace, path, error) != 0)
		return NULL;
	object = trace_json(trace, r, m);
	trace_close(trace);
	return object;
}

static json_t *record(struct recording *r, const struct workload *workload,
		      const void *options, unsigned workers,
		      struct skua_error *error)
{
	struct measurement m;
	json_t *object = NULL;
	int err = measure(workload, options, workers, 1, &r->watch, &m);

	snprintf(error->text, sizeof(error->text), "%s",
		 r->err != 0 ? strerror(-r->err) : "no memory");
	if (err != 0) {
		snprintf(error->text, sizeof(error->text), "it did not run");
		return NULL;
	}
	if (r->err == 0)
		object = read_back(r, &m, error);
	measurement_free(&m);
	return object;
}

json_t *steals_record(const struct workload *workload, const void *options,
		      unsigned workers)
{
	struct recording r = {
		.watch = { begin, end },
		.writer.fd = memfd_create("steals", MFD_CLOEXEC),
	};
	struct skua_error error;
	json_t *object;

	if (r.writer.fd < 0)
		return unknown(workload, options, workers, strerror(errno));
	object = record(&r, workload, options, workers, &error);
	if (object == NULL)
		object = unknown(workload, options, workers, error.text);
	rings_close(r.rings);
	target_close(r.target);
	close(r.writer.fd);
	return object;
}
