/* SPDX-License-Identifier: MIT */
/* trace_set.c - see trace_set.h */
#include "bpf/recording/trace_set.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The first number for a process whose own is taken: above those of all processes and of
 * the tracks of trace_chrome.c. */
#define FIRST_PID ((UINT32_C(1) << 24) + 1)

static const struct trace_about *about(const struct trace_part *part)
{
	return trace_about(part->trace);
}

static int refuse(struct trace_set *set, const struct trace_part *part,
		  struct skua_error *err, const char *text)
{
	set->bad = part->path;
	snprintf(err->text, sizeof(err->text), "%s", text);
	err->code = -EINVAL;
	return -EINVAL;
}

/* ---- clocks ---------------------------------------------------------------- */

static bool has_first_clock(const struct trace_set *set,
			    const struct trace_part *part)
{
	const char *clock = about(part)->origin.clock;

	return clock[0] &&
	       strcmp(clock, about(&set->parts[0])->origin.clock) == 0;
}

static bool has_wall_clock(const struct trace_part *part)
{
	const struct trace_meta *meta = &about(part)->meta;

	return meta->start.monotonic_ns > 0 &&
	       meta->realtime_ns > meta->start.monotonic_ns;
}

/* The wall-clock time at which CLOCK_MONOTONIC was 0. */
static uint64_t zero_of(const struct trace_part *part)
{
	const struct trace_meta *meta = &about(part)->meta;

	return meta->realtime_ns - meta->start.monotonic_ns;
}

/* Move a part to the clock of the first one. */
static int align(struct trace_set *set, struct trace_part *part,
		 struct skua_error *err)
{
	const struct trace_part *first = &set->parts[0];

	if (set->count > 1 && about(part)->timeless && about(part)->events > 0)
		return refuse(set, part, err,
			      "it has too few times to show it with others; "
			      "allowed: this file alone");
	if (part == first || has_first_clock(set, part))
		return 0;
	if (!has_wall_clock(part) || !has_wall_clock(first))
		return refuse(set, part, err,
			      "it is not from the same machine and boot as the "
			      "others, as far as the files tell, and there is "
			      "no wall-clock time in both; allowed: this file "
			      "alone");
	if (about(part)->meta.realtime_ns < zero_of(first))
		return refuse(set, part, err,
			      "by the wall clock, it was recorded before the "
			      "machine of the first file started; allowed: "
			      "files of the same time");
	part->shift_ns = zero_of(part) - zero_of(first);
	part->moved = true;
	return 0;
}

/* ---- names ----------------------------------------------------------------- */

static bool several_hosts(const struct trace_set *set)
{
	for (size_t i = 1; i < set->count; i++)
		if (strcmp(about(&set->parts[i])->origin.host,
			   about(&set->parts[0])->origin.host) != 0)
			return true;
	return false;
}

static void give_name(struct trace_part *part, bool with_host)
{
	const struct trace_meta *meta = &about(part)->meta;
	const struct trace_origin *origin = &about(part)->origin;
	const char *host = with_host ? origin->host : "";
	const char *on = host[0] ? " on " : "";

	if (origin->rank == TRACE_NO_RANK) {
		snprintf(part->label, sizeof(part->label), "process %" PRIu32,
			 meta->pid);
		snprintf(part->name, sizeof(part->name), "%s (%s%s%s)",
			 part->label, meta->program, on, host);
		return;
	}
	snprintf(part->label, sizeof(part->label), "rank %" PRIu32,
		 origin->rank);
	snprintf(part->name, sizeof(part->name), "%s (%s, pid %" PRIu32 "%s%s)",
		 part->label, meta->program, meta->pid, on, host);
}

/* Processes of several machines or containers may have the same number. */
static void give_pid(const struct trace_set *set, size_t index)
{
	struct trace_part *part = &set->parts[index];

	part->pid = about(part)->meta.pid;
	if (part->pid >= FIRST_PID)
		part->pid = FIRST_PID + (uint32_t)index;
	for (size_t i = 0; i < index; i++)
		if (set->parts[i].pid == part->pid)
			part->pid = FIRST_PID + (uint32_t)index;
}

/* ---- opening --------------------------------------------------------------- */

/* Insert a part by its rank, after those of the same rank. Sets are small enough for an
 * insertion sort. */
static void insert(struct trace_set *set, struct trace_part part)
{
	size_t at = set->count++;

	while (at > 0 && about(&set->parts[at - 1])->origin.rank >
				 about(&part)->origin.rank) {
		set->parts[at] = set->parts[at - 1];
		at--;
	}
	set->parts[at] = part;
}

static void give_names(struct trace_set *set)
{
	bool with_host = several_hosts(set);

	for (size_t i = 0; i < set->count; i++) {
		give_name(&set->parts[i], with_host);
		give_pid(set, i);
	}
}

int trace_set_open(struct trace_set *set, const char *const *paths,
		   size_t count, struct skua_error *err)
{
	*set = (struct trace_set){ .parts =
					   calloc(count, sizeof(*set->parts)) };
	if (!set->parts) {
		snprintf(err->text, sizeof(err->text), "%s", strerror(ENOMEM));
		return err->code = -ENOMEM;
	}
	for (size_t i = 0; i < count; i++) {
		struct trace_part part = { .path = paths[i] };
		int code = trace_open(&part.trace, part.path, err);

		if (code) {
			set->bad = part.path;
			return code;
		}
		insert(set, part);
	}
	give_names(set);
	return 0;
}

int trace_set_align(struct trace_set *set, struct skua_error *err)
{
	int code = 0;

	for (size_t i = 0; i < set->count && code == 0; i++)
		code = align(set, &set->parts[i], err);
	return code;
}

const char *trace_set_name(const struct trace_set *set, size_t index)
{
	const struct trace_part *part = &set->parts[index];

	return set->count > 1 ? part->name : about(part)->meta.program;
}

void trace_set_close(struct trace_set *set)
{
	for (size_t i = 0; i < set->count; i++)
		trace_close(set->parts[i].trace);
	free(set->parts);
	*set = (struct trace_set){ .count = 0 };
}
