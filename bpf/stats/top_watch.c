/* SPDX-License-Identifier: MIT */
/* top_watch.c - observe a runtime for an interval: see top.h */
#include <stdlib.h>
#include <string.h>

#include "bpf/cli/sorted.h"
#include "bpf/stats/top.h"
#include "bpf/target/target_text.h"

/* ---- kinds ----------------------------------------------------------------- */

static bool is_kind(const struct top_kind *kind, enum top_what what,
		    uint64_t type, uint64_t poll)
{
	if (kind->what != what || kind->type != type)
		return false;
	return what != TOP_TASKS || type != 0 || kind->poll == poll;
}

/* Find the kind, or add it. When the table is almost full, further tasks count
 * as TOP_OTHERS; the last places are for the other activities. Return: NULL if
 * memory is short. */
static struct top_kind *kind_of(struct top_runtime *runtime, enum top_what what,
				uint64_t type, uint64_t poll)
{
	struct top_kind *kind = runtime->kinds;
	struct top_kind *end = kind + runtime->kind_count;

	while (kind < end && !is_kind(kind, what, type, poll))
		kind++;
	if (kind < end)
		return kind;
	if (runtime->kind_count + 8 > TOP_KINDS && what == TOP_TASKS)
		return kind_of(runtime, TOP_OTHERS, 0, 0);
	*kind = (struct top_kind){
		.what = what,
		.type = type,
		.poll = poll,
		.workers =
			calloc(runtime->worker_count, sizeof(*kind->workers)),
	};
	if (!kind->workers)
		return NULL;
	runtime->kind_count++;
	return kind;
}

static void free_kinds(struct top_runtime *runtime)
{
	while (runtime->kind_count > 0)
		free(runtime->kinds[--runtime->kind_count].workers);
}

void top_free(struct top_runtime *runtime)
{
	free_kinds(runtime);
	free(runtime->polls);
	free(runtime->threads);
	target_free_snapshot(&runtime->before);
	target_free_snapshot(&runtime->after);
}

void top_begin(struct top_runtime *runtime)
{
	struct target_snapshot spare = runtime->before;

	runtime->before = runtime->after;
	runtime->after = spare;
	runtime->looks = runtime->busy_looks = 0;
	free_kinds(runtime);
}

/* ---- looks ----------------------------------------------------------------- */

/* Update the worker's current poll: the same one continues, or another has
 * begun. */
static void follow(struct top_poll *poll, const struct target_now *now)
{
	if (now->task != poll->task || now->tasks_polled != poll->number)
		*poll = (struct top_poll){ .task = now->task,
					   .number = now->tasks_polled,
					   .first_ns = now->at_ns,
					   .begun = poll->last_ns == 0 };
	poll->last_ns = now->at_ns;
	if (now->poll) {
		poll->type = now->type;
		poll->poll = now->poll;
		poll->label = now->label;
		poll->known = true;
	}
}

static bool is_busy(const struct target_now *now)
{
	return now->task || now->state == AREA_RUNNING ||
	       now->state == AREA_JOB;
}

static struct top_kind *kind_now(struct top_runtime *runtime,
				 const struct target_now *now)
{
	if (now->state == AREA_JOB)
		return kind_of(runtime, TOP_JOBS, 0, 0);
	if (!now->task)
		return kind_of(runtime, TOP_BETWEEN, 0, 0);
	if (!now->poll)
		return kind_of(runtime, TOP_SHORT, 0, 0);
	return kind_of(runtime, TOP_TASKS, now->type, now->poll);
}

static void note(struct top_runtime *runtime, unsigned worker,
		 const struct target_now *now)
{
	struct top_poll *poll = &runtime->polls[worker];
	struct top_kind *kind;

	follow(poll, now);
	if (!is_busy(now))
		return;
	runtime->busy_looks++;
	kind = kind_now(runtime, now);
	if (!kind)
		return;
	kind->looks++;
	kind->workers[worker]++;
	if (kind->what == TOP_TASKS &&
	    poll->last_ns - poll->first_ns > kind->longest_ns)
		kind->longest_ns = poll->last_ns - poll->first_ns;
}

int top_look(struct target *target, const struct target_runtime *at,
	     struct top_runtime *runtime)
{
	for (unsigned i = 0; i < runtime->worker_count; i++) {
		struct target_now now;
		int code = target_look(target, at, i, &now);

		if (code)
			return code;
		note(runtime, i, &now);
	}
	runtime->looks++;
	return 0;
}

/* ---- the end of an interval ------------------------------------------------ */

/* Add the increase of a worker's row in the interval to its kind. A row keeps
 * its place in the worker's table as long as it belongs to the same tasks. */
static void add_row(struct top_runtime *runtime, const struct area_type *now,
		    const struct area_type *before)
{
	static const struct area_type nothing;
	struct top_kind *kind;

	if (!figure_is_row(now))
		return;
	kind = kind_of(runtime, figure_is_rest(now) ? TOP_OTHERS : TOP_TASKS,
		       now->type, now->poll);
	if (!kind)
		return;
	if (now->type != before->type || now->poll != before->poll)
		before = &nothing;
	kind->rows.polls += figure_difference(now->polls, before->polls);
	kind->rows.run_ns += figure_difference(now->run_ns, before->run_ns);
	kind->rows.waits += figure_difference(now->waits, before->waits);
	kind->rows.wait_ns += figure_difference(now->wait_ns, before->wait_ns);
	if (now->longest_ns > kind->rows.longest_ns)
		kind->rows.longest_ns = now->longest_ns;
	if (now->longest_wait_ns > kind->rows.longest_wait_ns)
		kind->rows.longest_wait_ns = now->longest_wait_ns;
}

static void add_rows(struct top_runtime *runtime)
{
	for (unsigned i = 0; i < runtime->worker_count; i++)
		for (unsigned k = 0; k < AREA_TYPES; k++)
			add_row(runtime,
				&runtime->after.workers[i].samples.types[k],
				&runtime->before.workers[i].samples.types[k]);
}

/* Share out the scans that hit polls too short to read: tasks receive them in
 * proportion to the time that their timed polls took. */
static void share_out(struct top_runtime *runtime)
{
	struct top_kind *unknown = kind_of(runtime, TOP_SHORT, 0, 0);
	double all = 0;

	for (unsigned i = 0; i < runtime->kind_count; i++)
		all += (double)runtime->kinds[i].rows.run_ns;
	if (!unknown || all <= 0)
		return;
	for (unsigned i = 0; i < runtime->kind_count; i++) {
		struct top_kind *kind = &runtime->kinds[i];

		if (kind != unknown)
			kind->looks += unknown->looks *
				       (double)kind->rows.run_ns / all;
	}
	unknown->looks = 0;
}

static bool is_in(const struct target_worker *worker,
		  const struct top_poll *poll)
{
	return worker->area.task == poll->task &&
	       worker->area.counters.tasks_polled == poll->number;
}

/* Extend polls by the snapshots, as if these were scans. On a busy machine
 * there may be no other scans. */
static void follow_snapshots(struct top_runtime *runtime)
{
	for (unsigned i = 0; i < runtime->worker_count; i++) {
		struct top_poll *poll = &runtime->polls[i];
		uint64_t began = runtime->before.at_ns;

		if (!poll->task)
			continue;
		if (is_in(&runtime->before.workers[i], poll) &&
		    began < poll->first_ns)
			poll->first_ns = began;
		if (is_in(&runtime->after.workers[i], poll))
			poll->last_ns = runtime->after.at_ns;
	}
}

/* Find the workers that have been in one poll for at least half of the
 * interval. */
static void find_long(struct top_runtime *runtime)
{
	uint64_t interval = runtime->after.at_ns - runtime->before.at_ns;

	for (unsigned i = 0; i < runtime->worker_count; i++) {
		const struct top_poll *poll = &runtime->polls[i];
		uint64_t in = poll->last_ns - poll->first_ns;
		struct top_kind *kind;

		if (!poll->task || !poll->known || in < interval / 2)
			continue;
		kind = kind_of(runtime, TOP_TASKS, poll->type, poll->poll);
		if (kind && in > kind->in_ns) {
			kind->in_ns = in;
			kind->in_worker = i;
			kind->in_longer = poll->begun;
		}
		if (kind && in > kind->longest_ns)
			kind->longest_ns = in;
	}
}

static int by_looks(const void *a, const void *b)
{
	const struct top_kind *left = a, *right = b;

	if (left->looks != right->looks)
		return left->looks < right->looks ? 1 : -1;
	return compare_numbers(right->rows.run_ns, left->rows.run_ns);
}

void top_end(struct top_runtime *runtime)
{
	add_rows(runtime);
	share_out(runtime);
	follow_snapshots(runtime);
	find_long(runtime);
	qsort(runtime->kinds, runtime->kind_count, sizeof(*runtime->kinds),
	      by_looks);
}

/* ---- figures --------------------------------------------------------------- */

static double by_second(uint64_t now, uint64_t before, double seconds)
{
	return (double)figure_difference(now, before) / seconds;
}

static struct top_rates rates(const struct area_counters *now,
			      const struct area_counters *before,
			      double seconds)
{
	double polled = (double)figure_difference(now->tasks_polled,
						  before->tasks_polled);
	double hits =
		(double)figure_difference(now->lifo_hits, before->lifo_hits);

	/* A hit is counted before its poll. */
	if (hits > polled)
		hits = polled;
	return (struct top_rates){
		.seconds = seconds,
		.polls = polled / seconds,
		.spawns = by_second(now->tasks_spawned, before->tasks_spawned,
				    seconds),
		.steals = by_second(now->tasks_stolen, before->tasks_stolen,
				    seconds),
		.parks = by_second(now->times_parked, before->times_parked,
				   seconds),
		.lifo = polled > 0 ? hits / polled : -1,
	};
}

static double seconds_of(const struct top_runtime *runtime)
{
	uint64_t ns =
		figure_difference(runtime->after.at_ns, runtime->before.at_ns);

	return ns ? (double)ns / 1e9 : 1e-9;
}

static double busy(const struct top_runtime *runtime, unsigned index)
{
	struct area_times now =
		figure_times(&runtime->after.workers[index].area.times,
			     runtime->after.at_ns);
	struct area_times before =
		figure_times(&runtime->before.workers[index].area.times,
			     runtime->before.at_ns);
	double part = (double)figure_difference(now.run_ns, before.run_ns) /
		      (seconds_of(runtime) * 1e9);

	return part < 1 ? part : 1;
}

static double on_cpu(const struct top_runtime *runtime, unsigned index)
{
	return thread_on_cpu(
		&runtime->threads[index],
		figure_difference(runtime->after.at_ns, runtime->before.at_ns));
}

struct top_rates top_rates(const struct top_runtime *runtime, unsigned index)
{
	struct top_rates result =
		rates(&runtime->after.workers[index].area.counters,
		      &runtime->before.workers[index].area.counters,
		      seconds_of(runtime));

	result.busy = busy(runtime, index);
	result.on_cpu = on_cpu(runtime, index);
	return result;
}

struct top_rates top_rates_all(const struct top_runtime *runtime)
{
	struct top_rates result =
		rates(&runtime->after.total, &runtime->before.total,
		      seconds_of(runtime));

	for (unsigned i = 0; i < runtime->worker_count; i++) {
		double part = on_cpu(runtime, i);

		result.busy += busy(runtime, i) / runtime->worker_count;
		result.on_cpu =
			part < 0 || result.on_cpu < 0
				? -1
				: result.on_cpu + part / runtime->worker_count;
	}
	result.spawns =
		by_second(runtime->after.tasks_spawned,
			  runtime->before.tasks_spawned, result.seconds);
	return result;
}

double top_share(const struct top_runtime *runtime, const struct top_kind *kind)
{
	return runtime->busy_looks ? kind->looks / (double)runtime->busy_looks
				   : 0;
}

unsigned top_busiest(const struct top_runtime *runtime,
		     const struct top_kind *kind, double *part)
{
	unsigned most = 0;

	for (unsigned i = 1; i < runtime->worker_count; i++)
		if (kind->workers[i] > kind->workers[most])
			most = i;
	*part = runtime->looks
			? (double)kind->workers[most] / (double)runtime->looks
			: 0;
	return most;
}

uint64_t top_over(const struct target_runtime *at,
		  const struct top_runtime *runtime)
{
	return figure_difference(
		figure_over_limit(&runtime->after, &at->area),
		figure_over_limit(&runtime->before, &at->area));
}

double top_kind_polls(const struct top_runtime *runtime,
		      const struct top_kind *kind)
{
	if (kind->what != TOP_TASKS && kind->what != TOP_OTHERS)
		return -1;
	return (double)kind->rows.polls / seconds_of(runtime);
}

void top_kind_name(struct target *target, const struct top_kind *kind,
		   char *name)
{
	static const char *const others[] = {
		[TOP_SHORT] = "(short polls)",
		[TOP_OTHERS] = "(other tasks)",
		[TOP_JOBS] = "(fork-join jobs)",
		[TOP_BETWEEN] = "(the scheduler)",
	};

	if (kind->what == TOP_TASKS)
		target_name(target, kind->type, kind->poll, name);
	else
		snprintf(name, TARGET_NAME, "%s", others[kind->what]);
}

void top_poll_name(struct target *target, const struct top_poll *poll,
		   char *text)
{
	char name[TARGET_NAME], label[TARGET_NAME];

	target_name(target, poll->type, poll->poll, name);
	target_text(target, poll->label, label);
	snprintf(text, TOP_POLL_NAME, "%s%s%s%s", name, label[0] ? " (" : "",
		 label, label[0] ? ")" : "");
}
