/* SPDX-License-Identifier: MIT */
/*
 * metrics_text.c - write runtimes as OpenMetrics, or in the older text format
 * 0.0.4
 *
 * All samples of a family must stand together, so each family is one pass over
 * all runtimes. Names follow Prometheus: base units, and _total for counters.
 */
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "bpf/stats/figures.h"
#include "bpf/metrics/metrics.h"

enum kind { COUNTER, GAUGE, HISTOGRAM, INFO };

/* Indexed by enum kind. */
static const char *const kinds[] = { "counter", "gauge", "histogram", "info" };
static const char *const suffixes[] = { "_total", "", "", "_info" };

struct family {
	const char *name; /* without skua_ and the suffix */
	enum kind kind;
	const char *unit; /* or "" */
	const char *help;
};

struct writer {
	FILE *file;
	const struct metrics_list *list;
	enum metrics_format format;
	const struct family *family;
};

/* ---- pieces ---------------------------------------------------------------- */

/* Write the head of a family. The older format names a counter with its suffix,
 * and has no type `info`. */
static void begin(struct writer *w, const struct family *family)
{
	bool old = w->format == METRICS_PROMETHEUS;
	const char *suffix = old ? suffixes[family->kind] : "";
	const char *kind =
		old && family->kind == INFO ? "gauge" : kinds[family->kind];

	w->family = family;
	fprintf(w->file, "# TYPE skua_%s%s %s\n", family->name, suffix, kind);
	if (family->unit[0] != '\0' && !old)
		fprintf(w->file, "# UNIT skua_%s %s\n", family->name,
			family->unit);
	fprintf(w->file, "# HELP skua_%s%s %s\n", family->name, suffix,
		family->help);
}

static void put_escaped(FILE *file, const char *text)
{
	for (; *text != '\0'; text++) {
		if (*text == '\n') {
			fputs("\\n", file);
			continue;
		}
		if (*text == '"' || *text == '\\')
			fputc('\\', file);
		fputc(*text, file);
	}
}

static void put_label(const struct writer *w, const char *name,
		      const char *value)
{
	fprintf(w->file, ",%s=\"", name);
	put_escaped(w->file, value);
	fputc('"', w->file);
}

/* Write a sample up to its first labels. put_value() or put_seconds() ends
 * it. */
static void put_name(const struct writer *w, const struct metrics_runtime *r,
		     const char *suffix)
{
	fprintf(w->file, "skua_%s%s{pid=\"%d\"", w->family->name, suffix,
		r->pid);
	put_label(w, "process", r->comm);
	fprintf(w->file, ",runtime=\"%u\"", r->index);
}

static void put_value(const struct writer *w, uint64_t value)
{
	fprintf(w->file, "} %" PRIu64 "\n", value);
}

static void put_seconds(const struct writer *w, uint64_t ns)
{
	fprintf(w->file, "} %" PRIu64 ".%09" PRIu64 "\n",
		ns / UINT64_C(1000000000), ns % UINT64_C(1000000000));
}

static void put_worker(const struct writer *w, unsigned worker)
{
	fprintf(w->file, ",worker=\"%u\"", worker);
}

/* ---- runtimes -------------------------------------------------------------- */

enum runtime_value {
	WORKERS,
	QUEUED,
	SPAWNED,
	JOBS_OUTSIDE,
	ACCEPTS_DELAYED,
	POLLS_OVER,
	STALL_LIMIT,
	RUNTIME_VALUES
};

static const struct family runtime_families[] = {
	[WORKERS] = { "workers", GAUGE, "", "Workers of the runtime." },
	[QUEUED] = { "injection_queue_depth", GAUGE, "",
		     "Tasks in the queues that all workers share." },
	[SPAWNED] = { "runtime_tasks_spawned", COUNTER, "",
		      "Tasks spawned, by workers and by other threads." },
	[JOBS_OUTSIDE] = { "jobs_stolen_outside", COUNTER, "",
			   "Jobs taken by threads that are no workers." },
	[ACCEPTS_DELAYED] = { "accepts_delayed", COUNTER, "",
			      "Accepts that failed for lack of descriptors or "
			      "memory, and were tried again." },
	[POLLS_OVER] = { "polls_over_limit", COUNTER, "",
			 "Estimate of the polls that exceeded the limit of "
			 "the runtime; skua_stalls counts the reported ones." },
	[STALL_LIMIT] = { "stall_limit_seconds", GAUGE, "seconds",
			  "The limit for polls; 0: none." },
};

static uint64_t runtime_value(const struct metrics_runtime *r,
			      enum runtime_value which)
{
	switch (which) {
	case WORKERS:
		return r->snapshot.worker_count;
	case QUEUED:
		return r->snapshot.injection_depth;
	case SPAWNED:
		return r->snapshot.tasks_spawned;
	case JOBS_OUTSIDE:
		return r->snapshot.jobs_stolen_outside;
	case ACCEPTS_DELAYED:
		return r->snapshot.accepts_delayed;
	case POLLS_OVER:
		return figure_over_limit(&r->snapshot, &r->area);
	default:
		return r->area.stall_limit_ns;
	}
}

static void write_runtimes(struct writer *w)
{
	for (unsigned which = 0; which < RUNTIME_VALUES; which++) {
		const struct family *family = &runtime_families[which];

		begin(w, family);
		for (unsigned i = 0; i < w->list->count; i++) {
			const struct metrics_runtime *r = &w->list->runtimes[i];

			put_name(w, r, suffixes[family->kind]);
			if (family->unit[0] != '\0')
				put_seconds(w, runtime_value(r, which));
			else
				put_value(w, runtime_value(r, which));
		}
	}
}

static void write_info(struct writer *w)
{
	static const struct family family = {
		"runtime", INFO, "",
		"Version of the library and of its debug area."
	};

	begin(w, &family);
	for (unsigned i = 0; i < w->list->count; i++) {
		const struct metrics_runtime *r = &w->list->runtimes[i];

		put_name(w, r, "_info");
		put_label(w, "version", r->version);
		fprintf(w->file, ",abi=\"%u\",sample=\"%u\"", r->area.abi,
			r->area.sample);
		put_value(w, 1);
	}
}

/* One sample without labels, as it belongs to no process. */
static void write_left_out(struct writer *w)
{
	static const struct family family = {
		"processes_left_out", GAUGE, "",
		"Processes left out: too expensive to read, or inconsistent."
	};

	if (!w->list->all)
		return;
	begin(w, &family);
	fprintf(w->file, "skua_%s %u\n", family.name, w->list->left_out);
}

/* The time of the figures: a file may be read long after its writer has
 * died. */
static void write_stamp(struct writer *w)
{
	static const struct family family = {
		"collected_timestamp_seconds", GAUGE, "seconds",
		"When these figures were taken, in seconds of Unix time."
	};
	struct timespec now;

	if (!w->list->stamped)
		return;
	clock_gettime(CLOCK_REALTIME, &now);
	begin(w, &family);
	fprintf(w->file, "skua_%s %jd.%03ld\n", family.name,
		(intmax_t)now.tv_sec, now.tv_nsec / 1000000);
}

/* ---- workers --------------------------------------------------------------- */

/* Call @put for each worker of each runtime. */
static void each_worker(struct writer *w, const struct family *family,
			void (*put)(const struct writer *,
				    const struct metrics_runtime *, unsigned,
				    size_t),
			size_t arg)
{
	begin(w, family);
	for (unsigned i = 0; i < w->list->count; i++) {
		const struct metrics_runtime *r = &w->list->runtimes[i];

		for (unsigned k = 0; k < r->snapshot.worker_count; k++) {
			put_name(w, r, suffixes[family->kind]);
			put_worker(w, k);
			put(w, r, k, arg);
		}
	}
}

static void put_counter(const struct writer *w, const struct metrics_runtime *r,
			unsigned worker, size_t index)
{
	const struct area_counters *counters =
		&r->snapshot.workers[worker].area.counters;

	put_value(w, figure_value(counters, &figure_counters[index]));
}

static void put_depth(const struct writer *w, const struct metrics_runtime *r,
		      unsigned worker, size_t unused)
{
	(void)unused;
	put_value(w, r->snapshot.workers[worker].queue_depth);
}

static void put_time(const struct writer *w, const struct metrics_runtime *r,
		     unsigned worker, size_t offset)
{
	struct area_times times = figure_times(
		&r->snapshot.workers[worker].area.times, r->snapshot.at_ns);
	uint64_t ns;

	memcpy(&ns, (const char *)&times + offset, sizeof(ns));
	put_seconds(w, ns);
}

static void write_workers(struct writer *w)
{
	static const struct {
		struct family family;
		size_t offset;
	} times[] = {
		{ { "run_seconds", COUNTER, "seconds",
		    "Time in tasks and jobs, and between them." },
		  offsetof(struct area_times, run_ns) },
		{ { "search_seconds", COUNTER, "seconds",
		    "Time in search of work." },
		  offsetof(struct area_times, search_ns) },
		{ { "park_seconds", COUNTER, "seconds", "Time asleep." },
		  offsetof(struct area_times, park_ns) },
	};
	static const struct family depth = {
		"local_queue_depth", GAUGE, "",
		"Tasks in the queue of the worker."
	};

	for (unsigned i = 0; i < figure_counter_count; i++) {
		const struct family family = { figure_counters[i].name, COUNTER,
					       "", figure_counters[i].help };

		each_worker(w, &family, put_counter, i);
	}
	for (unsigned i = 0; i < sizeof(times) / sizeof(times[0]); i++)
		each_worker(w, &times[i].family, put_time, times[i].offset);
	each_worker(w, &depth, put_depth, 0);
}

/* ---- histograms ------------------------------------------------------------ */

/* Bounds of buckets are powers of 2 ns, which are also bounds of the probes'
 * histograms: from 256 ns to more than a minute. */
#define FIRST_BOUND_LOG 8u
#define LAST_BOUND_LOG  36u

static void put_bucket(const struct writer *w, const struct metrics_runtime *r,
		       const char *bound, uint64_t count)
{
	put_name(w, r, "_bucket");
	put_label(w, "le", bound);
	put_value(w, count);
}

/* Add; a sum that would overflow stays at the maximum, since a process may
 * report any number. */
static void add(uint64_t *sum, uint64_t count)
{
	if (__builtin_add_overflow(*sum, count, sum))
		*sum = UINT64_MAX;
}

static void put_histogram(const struct writer *w,
			  const struct metrics_runtime *r,
			  const struct probes_histogram *h)
{
	uint64_t count = 0;
	unsigned bucket = 0;

	for (unsigned log = FIRST_BOUND_LOG; log <= LAST_BOUND_LOG; log++) {
		uint64_t bound_ns = UINT64_C(1) << log;
		char bound[32];

		for (; bucket < PROBES_BUCKETS - 1 &&
		       probes_bucket_ns(bucket) < bound_ns;
		     bucket++)
			add(&count, h->count[bucket]);
		snprintf(bound, sizeof(bound), "%.12g", (double)bound_ns / 1e9);
		put_bucket(w, r, bound, count);
	}
	for (; bucket < PROBES_BUCKETS; bucket++)
		add(&count, h->count[bucket]);
	put_bucket(w, r, "+Inf", count);
	put_name(w, r, "_sum");
	put_seconds(w, h->sum_ns);
	put_name(w, r, "_count");
	put_value(w, count);
}

static void write_histograms(struct writer *w)
{
	static const struct family families[FIGURE_HISTOGRAMS] = {
		[FIGURE_WAIT] = { "queue_delay_seconds", HISTOGRAM, "seconds",
				  "Time from spawn or wake to the poll." },
		[FIGURE_POLL] = { "poll_seconds", HISTOGRAM, "seconds",
				  "How long polls took." },
		[FIGURE_PARK] = { "sleep_seconds", HISTOGRAM, "seconds",
				  "How long workers slept." },
		[FIGURE_STEAL] = { "steal_latency_seconds", HISTOGRAM,
				   "seconds",
				   "How long thieves searched before a steal." },
	};

	for (unsigned which = 0; which < FIGURE_HISTOGRAMS; which++) {
		begin(w, &families[which]);
		for (unsigned i = 0; i < w->list->count; i++) {
			struct probes_histogram sum;

			figure_sum(&w->list->runtimes[i].snapshot, which, &sum);
			put_histogram(w, &w->list->runtimes[i], &sum);
		}
	}
}

/* ---- types ----------------------------------------------------------------- */

static const struct {
	struct family family;
	size_t offset;
} type_families[] = {
	{ { "type_polls", COUNTER, "", "Polls of tasks of the type." },
	  offsetof(struct area_type, polls) },
	{ { "type_run_seconds", COUNTER, "seconds",
	    "Estimated time of those polls." },
	  offsetof(struct area_type, run_ns) },
	{ { "type_waits", COUNTER, "",
	    "Waits of tasks of the type in queues." },
	  offsetof(struct area_type, waits) },
	{ { "type_wait_seconds", COUNTER, "seconds",
	    "Estimated time of those waits." },
	  offsetof(struct area_type, wait_ns) },
	{ { "type_longest_poll_seconds", GAUGE, "seconds",
	    "The longest poll that was seen." },
	  offsetof(struct area_type, longest_ns) },
};

static void put_type(const struct writer *w, const struct metrics_runtime *r,
		     const struct metrics_type *type, size_t offset)
{
	uint64_t value;

	memcpy(&value, (const char *)&type->seen + offset, sizeof(value));
	put_name(w, r, suffixes[w->family->kind]);
	put_label(w, "type", type->name);
	if (w->family->unit[0] != '\0')
		put_seconds(w, value);
	else
		put_value(w, value);
}

static void write_types(struct writer *w)
{
	for (unsigned f = 0; f < sizeof(type_families) / sizeof(*type_families);
	     f++) {
		begin(w, &type_families[f].family);
		for (unsigned i = 0; i < w->list->count; i++) {
			const struct metrics_runtime *r = &w->list->runtimes[i];

			for (unsigned k = 0; k < r->type_count; k++)
				put_type(w, r, &r->types[k],
					 type_families[f].offset);
		}
	}
}

void metrics_write(FILE *file, const struct metrics_list *list,
		   enum metrics_format format)
{
	struct writer w = { .file = file, .list = list, .format = format };

	write_info(&w);
	write_left_out(&w);
	write_stamp(&w);
	write_runtimes(&w);
	write_workers(&w);
	write_histograms(&w);
	write_types(&w);
	if (format == METRICS_OPENMETRICS)
		fputs("# EOF\n", file);
}
