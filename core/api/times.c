/* SPDX-License-Identifier: MIT */
/* times.c - durations of polls, waits, steals and parks, and statistics by task
 * type */
#include <errno.h>
#include <limits.h>

#include "core/runtime/runtime.h"
#include "probes/histogram.h"
#include "skua/stats.h"

_Static_assert(SKUA_TIMES_BUCKETS == PROBES_BUCKETS, "the same buckets");

static const struct area_samples *samples_of(const struct skua_runtime *rt,
					     unsigned worker)
{
	uint64_t address = rt->pool.workers[worker]->area.samples;

	return (const struct area_samples *)(uintptr_t)address;
}

/* ---- histograms ------------------------------------------------------------ */

static const struct probes_histogram *
histogram_of(const struct area_samples *samples, enum skua_times_of of)
{
	switch (of) {
	case SKUA_TIMES_POLL:
		return &samples->poll;
	case SKUA_TIMES_WAIT:
		return &samples->wait;
	case SKUA_TIMES_STEAL:
		return &samples->steal;
	default:
		return &samples->park;
	}
}

static void add_histogram(struct skua_times *sum,
			  const struct probes_histogram *h)
{
	uint64_t longest_ns = counter_read(&h->longest_ns);

	sum->sum_ns += counter_read(&h->sum_ns);
	if (longest_ns > sum->longest_ns)
		sum->longest_ns = longest_ns;
	for (unsigned i = 0; i < SKUA_TIMES_BUCKETS; i++) {
		uint64_t count = counter_read(&h->count[i]);

		sum->bucket[i] += count;
		sum->count += count;
	}
}

int skua_runtime_times(const struct skua_runtime *rt, enum skua_times_of of,
		       struct skua_times *out)
{
	if (!rt || !out || (unsigned)of > SKUA_TIMES_PARK)
		return -EINVAL;
	if (!runtime_alive(rt))
		return -EOWNERDEAD;
	*out = (struct skua_times){ .count = 0 };
	for (unsigned i = 0; i < rt->pool.worker_count; i++) {
		const struct area_samples *samples = samples_of(rt, i);

		if (samples)
			add_histogram(out, histogram_of(samples, of));
	}
	return 0;
}

uint64_t skua_times_bucket_ns(unsigned bucket)
{
	return bucket < SKUA_TIMES_BUCKETS ? probes_bucket_ns(bucket)
					   : UINT64_MAX;
}

uint64_t skua_times_quantile(const struct skua_times *times, double part)
{
	uint64_t count = 0, seen = 0;
	unsigned last = 0;

	if (!times || !(part >= 0 && part <= 1))
		return 0;
	/* The counts are summed here because the times may be a difference of
	 * two snapshots, whose count was not computed. */
	for (unsigned i = 0; i < SKUA_TIMES_BUCKETS; i++)
		count += times->bucket[i];
	for (unsigned i = 0; i < SKUA_TIMES_BUCKETS; i++) {
		if (times->bucket[i] == 0)
			continue;
		last = i;
		seen += times->bucket[i];
		if ((double)seen >= part * (double)count)
			break;
	}
	return probes_bucket_ns(last);
}

/* ---- types ----------------------------------------------------------------- */

/* Value of `poll` in the row of all other types: see telemetry_poll.c. */
#define OTHERS 1u

struct types {
	struct skua_type_stats *rows;
	unsigned count, room;
};

static struct skua_type_stats *find_row(const struct types *types,
					const struct skua_task_type *type,
					skua_task_fn poll)
{
	for (unsigned i = 0; i < types->count; i++) {
		struct skua_type_stats *row = &types->rows[i];

		if (row->type == type && (type || row->poll == poll))
			return row;
	}
	return NULL;
}

static void add_row(struct skua_type_stats *to,
		    const struct skua_type_stats *from)
{
	to->polls += from->polls;
	to->run_ns += from->run_ns;
	to->waits += from->waits;
	to->wait_ns += from->wait_ns;
	if (from->longest_ns > to->longest_ns)
		to->longest_ns = from->longest_ns;
	if (from->longest_wait_ns > to->longest_wait_ns)
		to->longest_wait_ns = from->longest_wait_ns;
}

/* Return the row of a type, adding it if there is room. Without room, the last
 * row becomes that of all other types. */
static struct skua_type_stats *row_for(struct types *types,
				       const struct skua_task_type *type,
				       skua_task_fn poll)
{
	struct skua_type_stats *row = find_row(types, type, poll);

	if (row)
		return row;
	if (types->count < types->room) {
		row = &types->rows[types->count++];
		*row = (struct skua_type_stats){ .type = type, .poll = poll };
		return row;
	}
	row = &types->rows[types->room - 1];
	row->type = NULL;
	row->poll = NULL;
	return row;
}

/* Read the waits first: telemetry keeps waits <= polls, and this order keeps it
 * so in the result. */
static void read_row(const struct area_type *row, struct skua_type_stats *out)
{
	*out = (struct skua_type_stats){
		.waits = counter_read(&row->waits),
		.wait_ns = counter_read(&row->wait_ns),
		.longest_wait_ns = counter_read(&row->longest_wait_ns),
		.polls = counter_read(&row->polls),
		.run_ns = counter_read(&row->run_ns),
		.longest_ns = counter_read(&row->longest_ns),
	};
}

static void add_types(struct types *types, const struct area_samples *samples)
{
	for (unsigned i = 0; i < AREA_TYPES; i++) {
		const struct area_type *row = &samples->types[i];
		uint64_t poll = counter_read(&row->poll);
		uint64_t type = counter_read(&row->type);
		struct skua_type_stats read;

		if (!poll)
			continue;
		if (poll == OTHERS && !type)
			poll = 0;
		read_row(row, &read);
		add_row(row_for(types,
				(const struct skua_task_type *)(uintptr_t)type,
				(skua_task_fn)(uintptr_t)poll),
			&read);
	}
}

int skua_runtime_type_stats(const struct skua_runtime *rt,
			    struct skua_type_stats *out, unsigned room)
{
	struct types types = { out, 0, room };

	if (!rt || !out || room == 0)
		return -EINVAL;
	if (!runtime_alive(rt))
		return -EOWNERDEAD;
	if (types.room > INT_MAX)
		types.room = INT_MAX;
	for (unsigned i = 0; i < rt->pool.worker_count; i++) {
		const struct area_samples *samples = samples_of(rt, i);

		if (samples)
			add_types(&types, samples);
	}
	return (int)types.count;
}
