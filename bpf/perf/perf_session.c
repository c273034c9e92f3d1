/* SPDX-License-Identifier: MIT */
/* perf_session.c - see perf.h */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bpf/cli/descriptors.h"
#include "bpf/stats/figures.h"
#include "bpf/cli/clock.h"
#include "bpf/perf/perf.h"

/* ---- tasks ----------------------------------------------------------------- */

/* Take a snapshot of the worker's runtime. Return: false if it is gone. */
static bool take_snapshot(struct perf_session *session,
			  const struct perf_worker *worker,
			  struct target_snapshot *snapshot)
{
	const struct target_runtime *runtime = target_find_runtime(
		session->target, worker->address, worker->started_ns);

	return runtime != NULL &&
	       target_take_snapshot(session->target, runtime, snapshot) == 0;
}

/* Workers of a runtime follow each other, so one snapshot serves all of
 * them. */
static void read_polls(struct perf_session *session)
{
	struct target_snapshot snapshot = { .at_ns = 0 };
	bool taken = false;

	target_refresh(session->target);
	for (unsigned i = 0; i < session->worker_count; i++) {
		struct perf_worker *worker = &session->workers[i];
		uint64_t now;

		if (worker->index == 0)
			taken = take_snapshot(session, worker, &snapshot);
		worker->gone |=
			!taken || worker->index >= snapshot.worker_count;
		worker->polled = 0;
		if (worker->gone)
			continue;
		now = snapshot.workers[worker->index]
			      .area.counters.tasks_polled;
		worker->polled = figure_difference(now, worker->polled_last);
		worker->polled_last = now;
	}
	target_free_snapshot(&snapshot);
}

/* ---- open ------------------------------------------------------------------ */

static int add_workers(struct perf_session *session,
		       const struct target_runtime *runtime,
		       struct target_snapshot *snapshot)
{
	int err = target_take_snapshot(session->target, runtime, snapshot);
	unsigned sum = session->worker_count + snapshot->worker_count;
	struct perf_worker *workers;

	if (err != 0)
		return err;
	workers = reallocarray(session->workers, sum + 1, sizeof(*workers));
	if (workers == NULL)
		return -ENOMEM;
	session->workers = workers;
	for (unsigned i = 0; i < snapshot->worker_count; i++) {
		uint64_t tid = snapshot->workers[i].area.tid;

		workers[session->worker_count++] = (struct perf_worker){
			.runtime = session->runtimes,
			.index = i,
			.address = runtime->address,
			.started_ns = runtime->area.started_ns,
			.tid = tid != 0 && tid <= UINT32_MAX
				       ? target_thread(session->target,
						       (uint32_t)tid)
				       : 0,
		};
	}
	session->runtimes++;
	return 0;
}

static int find_workers(struct perf_session *session)
{
	struct target_snapshot snapshot = { .at_ns = 0 };
	int err = 0;

	for (unsigned i = 0; err == 0 && i < target_runtimes(session->target);
	     i++)
		err = add_workers(session, target_runtime(session->target, i),
				  &snapshot);
	target_free_snapshot(&snapshot);
	if (err != 0)
		snprintf(session->reason, sizeof(session->reason), "%s",
			 target_reason(session->target));
	return err;
}

/* Open the counters of each worker. Threads that have ended are skipped; any
 * other error stops the loop, as it would hit each thread. */
static int open_groups(struct perf_session *session)
{
	unsigned opened = 0;
	int err = -ESRCH;

	snprintf(session->reason, sizeof(session->reason),
		 "process %d has no worker with a thread now",
		 target_pid(session->target));
	for (unsigned i = 0; i < session->worker_count; i++) {
		struct perf_worker *worker = &session->workers[i];

		if (worker->tid == 0)
			continue;
		err = perf_group_open(&worker->group, worker->tid,
				      session->names, session->count,
				      session->reason, sizeof(session->reason));
		if (err == -ESRCH)
			continue;
		if (err != 0)
			return err;
		opened++;
	}
	return opened > 0 ? 0 : err;
}

int perf_open(struct perf_session *session, struct target *target,
	      const char *const *names, unsigned count)
{
	int err;

	*session = (struct perf_session){ .target = target,
					  .names = names,
					  .count = count };
	target_comm(target, session->comm);
	descriptors_raise(); /* each event of each worker takes one */
	err = find_workers(session);
	if (err == 0)
		err = open_groups(session);
	if (err != 0)
		return err;
	read_polls(session);
	for (unsigned i = 0; i < session->worker_count; i++) {
		struct perf_worker *worker = &session->workers[i];

		if (worker->group == NULL)
			continue;
		perf_group_start(worker->group);
		perf_group_read(worker->group, &worker->last);
	}
	session->last_ns = now_ns();
	return 0;
}

/* ---- spans ----------------------------------------------------------------- */

static void add_values(struct perf_group_values *sum,
		       const struct perf_group_values *span)
{
	if (sum->count == 0) {
		*sum = *span;
		return;
	}
	for (unsigned i = 0; i < sum->count; i++) {
		struct perf_group_event *to = &sum->event[i];
		const struct perf_group_event *event = &span->event[i];

		if (event->counted &&
		    (!to->counted || event->run_ratio < to->run_ratio))
			to->run_ratio = event->run_ratio;
		to->value += event->counted ? event->value : 0;
		to->counted |= event->counted;
	}
	if (span->run_ratio < sum->run_ratio)
		sum->run_ratio = span->run_ratio;
}

/* Compute the span of one worker. Return: false if its counters are closed, now
 * or earlier. */
static bool end_span(struct perf_worker *worker)
{
	struct perf_group_values now;

	worker->span = (struct perf_group_values){ .count = 0 };
	if (worker->group == NULL)
		return false;
	if (perf_group_read(worker->group, &now) != 0) {
		perf_group_close(worker->group);
		worker->group = NULL;
		return false;
	}
	perf_group_between(&worker->last, &now, &worker->span);
	worker->last = now;
	return true;
}

int perf_next(struct perf_session *session)
{
	uint64_t now = now_ns();
	bool read = false;

	session->total = (struct perf_group_values){ .count = 0 };
	session->polled = 0;
	session->has_polled = true;
	read_polls(session);
	for (unsigned i = 0; i < session->worker_count; i++) {
		struct perf_worker *worker = &session->workers[i];

		session->polled += worker->polled;
		session->has_polled &= !worker->gone;
		if (!end_span(worker))
			continue;
		read = true;
		add_values(&session->total, &worker->span);
	}
	session->seconds = (double)(now - session->last_ns) / 1e9;
	session->last_ns = now;
	return read ? 0 : -ESRCH;
}

static const struct perf_group_event *
find_event(const struct perf_group_values *values, const char *name)
{
	for (unsigned i = 0; i < values->count; i++)
		if (values->event[i].counted &&
		    strcmp(values->event[i].name, name) == 0)
			return &values->event[i];
	return NULL;
}

double perf_per_cycle(const struct perf_group_values *values)
{
	const struct perf_group_event *cycles = find_event(values, "cycles");
	const struct perf_group_event *instructions =
		find_event(values, "instructions");

	if (cycles == NULL || instructions == NULL || cycles->value == 0 ||
	    cycles->together != instructions->together)
		return -1;
	return (double)instructions->value / (double)cycles->value;
}

void perf_close(struct perf_session *session)
{
	for (unsigned i = 0; i < session->worker_count; i++)
		perf_group_close(session->workers[i].group);
	free(session->workers);
}
