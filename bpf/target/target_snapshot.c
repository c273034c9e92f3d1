/* SPDX-License-Identifier: MIT */
/* target_snapshot.c - copy all counts of a runtime: see target_area.h */
#include <stdlib.h>

#include "bpf/target/target_area.h"

/* Upper limit of a queue's depth. A larger value means that the queue has moved
 * between the reads of its head and tail. */
#define MAX_QUEUED    UINT64_C(32768)
#define POSITIONS     (UINT64_C(1) << 48)
#define SPAWNED_SHIFT 16
#define MAX_ATTEMPTS  8

struct reader {
	const struct target_memory *memory;
	const struct target_runtime *runtime;
	int code; /* the first failure; then nothing more is read */
};

static void copy(struct reader *reader, uint64_t address, void *to,
		 size_t bytes)
{
	if (reader->code == 0)
		reader->code = target_copy(reader->memory, address, to, bytes);
}

/* Read the word at @address; 0 if @address is 0. */
static uint64_t word(struct reader *reader, uint64_t address)
{
	uint64_t value = 0;

	if (address)
		copy(reader, address, &value, sizeof(value));
	return value;
}

static bool same_times(const struct area_times *a, const struct area_times *b)
{
	return memcmp(a, b, sizeof(*a)) == 0;
}

/* Read the times until two readings agree. If the worker is too fast for that,
 * keep the last reading. */
static void read_times(struct reader *reader, uint64_t address,
		       struct area_times *times)
{
	struct area_times again;

	address += offsetof(struct area_worker, times);
	for (unsigned i = 0; i < MAX_ATTEMPTS && reader->code == 0; i++) {
		copy(reader, address, &again, sizeof(again));
		if (reader->code || same_times(times, &again))
			return;
		*times = again;
	}
}

static void read_worker(struct reader *reader, uint64_t address,
			struct target_worker *out)
{
	uint64_t head, tail, queued;

	copy(reader, address, &out->area, sizeof(out->area));
	read_times(reader, address, &out->area.times);
	memset(&out->samples, 0, sizeof(out->samples));
	if (out->area.samples)
		copy(reader, out->area.samples, &out->samples,
		     sizeof(out->samples));
	/* The head is read before the tail, so the depth can only be too
	 * large. */
	head = word(reader, out->area.queue_head);
	tail = word(reader, out->area.queue_tail);
	queued = (tail - head / (UINT64_C(1) << 16)) % POSITIONS;
	out->queue_depth = queued < MAX_QUEUED ? queued : MAX_QUEUED;
}

/* Add all counters, including those without a name here: the struct consists of
 * words. */
static void add(struct area_counters *sum, const struct area_counters *one)
{
	uint64_t values[sizeof(*sum) / sizeof(uint64_t)];
	uint64_t more[sizeof(*sum) / sizeof(uint64_t)];

	memcpy(values, sum, sizeof(values));
	memcpy(more, one, sizeof(more));
	for (unsigned i = 0; i < sizeof(values) / sizeof(*values); i++)
		values[i] += more[i];
	memcpy(sum, values, sizeof(values));
}

static uint64_t depth(struct reader *reader, uint64_t pushed_at,
		      uint64_t taken_at)
{
	uint64_t taken = word(reader, taken_at);
	uint64_t pushed = word(reader, pushed_at);

	return pushed - taken <= INT64_MAX ? pushed - taken : 0;
}

/* Read the words of all groups of workers (area_runtime.group_count). Return: the
 * number of tasks that threads which are no workers have spawned. */
static uint64_t read_groups(struct reader *reader, struct target_snapshot *out)
{
	const struct area_runtime *area = &reader->runtime->area;
	uint64_t spawned = 0;

	for (uint32_t g = 0; g < target_groups(area); g++) {
		uint64_t at = (uint64_t)g * area->group_bytes;

		spawned += word(reader, area->outside + at) >> SPAWNED_SHIFT;
		out->injection_depth += depth(reader, area->inject_pushed + at,
					      area->inject_taken + at);
		out->urgent_depth += depth(reader, area->urgent_pushed + at,
					   area->urgent_taken + at);
	}
	return spawned;
}

static void read_workers(struct reader *reader, struct target_snapshot *out)
{
	for (unsigned i = 0; i < out->worker_count; i++) {
		struct target_worker *worker = &out->workers[i];

		read_worker(reader, reader->runtime->workers[i], worker);
		add(&out->total, &worker->area.counters);
		out->queue_depth += worker->queue_depth;
	}
}

/* Read everything. Refused tasks are read first: each was spawned before, so
 * that the number of spawned tasks does not become negative. */
static void read_all(struct reader *reader, struct target_snapshot *out)
{
	const struct area_runtime *area = &reader->runtime->area;
	uint64_t externals[AREA_EXTERNALS] = { 0 };
	uint64_t refused = word(reader, area->refused);

	out->accepts_delayed = word(reader, area->accepts_delayed);
	read_workers(reader, out);
	out->tasks_spawned =
		out->total.tasks_spawned + read_groups(reader, out) - refused;
	copy(reader,
	     reader->runtime->address +
		     offsetof(struct area_runtime, external_jobs_stolen),
	     externals, sizeof(externals));
	for (unsigned i = 0; i < AREA_EXTERNALS; i++)
		out->jobs_stolen_outside += externals[i];
}

static bool make_room(struct target_snapshot *out, uint32_t count)
{
	struct target_worker *more;

	if (out->worker_count == count)
		return true;
	more = realloc(out->workers, count * sizeof(*more));
	if (!more)
		return false;
	out->workers = more;
	out->worker_count = count;
	return true;
}

int target_area_snapshot(const struct target_memory *memory,
			 const struct target_runtime *runtime,
			 uint64_t (*now_ns)(void), struct target_snapshot *out,
			 struct target_complaint *complaint)
{
	struct reader reader = { .memory = memory, .runtime = runtime };
	uint64_t changes = 0;
	int code;

	if (!make_room(out, runtime->area.worker_count))
		return target_fail(complaint, -ENOMEM, "no memory");
	*out = (struct target_snapshot){ .at_ns = now_ns(),
					 .workers = out->workers,
					 .worker_count = out->worker_count };
	read_all(&reader, out);
	if (target_is_over(reader.code))
		return reader.code;
	code = target_copy(memory,
			   runtime->root + offsetof(struct area_root, changes),
			   &changes, sizeof(changes));
	if (code)
		return code;
	if (changes != runtime->changes)
		return target_fail(complaint, -EAGAIN,
				   "runtimes came or went meanwhile");
	if (reader.code)
		return target_fail(complaint, reader.code,
				   "a runtime has a pointer to an address "
				   "without memory");
	return 0;
}

void target_free_snapshot(struct target_snapshot *snapshot)
{
	free(snapshot->workers);
	*snapshot = (struct target_snapshot){ .workers = NULL };
}
