/* SPDX-License-Identifier: MIT */
/* figures.c - see figures.h */
#include "bpf/stats/figures.h"

#include <inttypes.h>
#include <stdio.h>

const struct figure_counter figure_counters[] = {
#define COUNTER(name, place, kind, column, title, help) \
	[place] = { #name, help, offsetof(struct area_counters, name) },
	COUNTER_LIST(COUNTER)
#undef COUNTER
};

const unsigned figure_counter_count =
	sizeof(figure_counters) / sizeof(*figure_counters);

const char *const figure_histogram_names[FIGURE_HISTOGRAMS] = { "poll", "wait",
								"steal",
								"park" };

static const struct probes_histogram *
histogram_of(const struct area_samples *samples, enum figure_histogram which)
{
	switch (which) {
	case FIGURE_POLL:
		return &samples->poll;
	case FIGURE_WAIT:
		return &samples->wait;
	case FIGURE_STEAL:
		return &samples->steal;
	default:
		return &samples->park;
	}
}

void figure_sum(const struct target_snapshot *snapshot,
		enum figure_histogram which, struct probes_histogram *sum)
{
	*sum = (struct probes_histogram){ 0 };
	for (unsigned i = 0; i < snapshot->worker_count; i++) {
		const struct probes_histogram *one =
			histogram_of(&snapshot->workers[i].samples, which);

		sum->sum_ns += one->sum_ns;
		if (one->longest_ns > sum->longest_ns)
			sum->longest_ns = one->longest_ns;
		for (unsigned k = 0; k < PROBES_BUCKETS; k++)
			sum->count[k] += one->count[k];
	}
}

void figure_since(struct probes_histogram *histogram,
		  const struct probes_histogram *before)
{
	for (unsigned k = 0; k < PROBES_BUCKETS; k++)
		histogram->count[k] = figure_difference(histogram->count[k],
							before->count[k]);
	histogram->sum_ns =
		figure_difference(histogram->sum_ns, before->sum_ns);
}

uint64_t figure_total(const struct probes_histogram *histogram)
{
	uint64_t total = 0;

	for (unsigned k = 0; k < PROBES_BUCKETS; k++)
		total += histogram->count[k];
	return total;
}

uint64_t figure_quantile(const struct probes_histogram *histogram, double part)
{
	double wanted = part * (double)figure_total(histogram), seen = 0;
	unsigned last = 0;

	for (unsigned k = 0; k < PROBES_BUCKETS; k++) {
		if (histogram->count[k] == 0)
			continue;
		last = k;
		seen += (double)histogram->count[k];
		if (seen >= wanted)
			break;
	}
	return probes_bucket_ns(last);
}

uint64_t figure_over(const struct probes_histogram *histogram,
		     uint64_t limit_ns)
{
	uint64_t over = 0;

	for (unsigned k = 0; k < PROBES_BUCKETS; k++)
		if (probes_bucket_ns(k) > limit_ns)
			over += histogram->count[k];
	return over;
}

uint64_t figure_over_limit(const struct target_snapshot *snapshot,
			   const struct area_runtime *area)
{
	struct probes_histogram sum;

	if (area->stall_limit_ns == 0)
		return 0;
	figure_sum(snapshot, FIGURE_POLL, &sum);
	return figure_over(&sum, area->stall_limit_ns);
}

struct area_times figure_times(const struct area_times *times, uint64_t at_ns)
{
	struct area_times sum = *times;
	uint64_t more = at_ns > times->since_ns ? at_ns - times->since_ns : 0;

	switch (times->state) {
	case AREA_RUNNING:
	case AREA_JOB:
		sum.run_ns += more;
		break;
	case AREA_SEARCHING:
		sum.search_ns += more;
		break;
	case AREA_PARKED:
		sum.park_ns += more;
		break;
	default:
		break;
	}
	return sum;
}

const char *figure_state(uint64_t state)
{
	static const char *const names[] = {
		[AREA_STARTING] = "starting",
		[AREA_RUNNING] = "running",
		[AREA_SEARCHING] = "searching",
		[AREA_PARKED] = "parked",
		[AREA_JOB] = "job",
	};

	return state < sizeof(names) / sizeof(*names) ? names[state] : "?";
}

const char *figure_runtime(const struct target *target,
			   const struct target_runtime *runtime, char *text)
{
	text[0] = '\0';
	if (target_runtimes(target) > 1)
		snprintf(text, FIGURE_RUNTIME, ", runtime 0x%" PRIx64 " of %u",
			 runtime->address, target_runtimes(target));
	return text;
}
