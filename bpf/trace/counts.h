/* SPDX-License-Identifier: MIT */
/**
 * counts.h - what was counted of the threads of processes
 *
 * The values are those of the maps of bpf/programs (count.h); where programs could not
 * be attached, the debug area and /proc stand in with what they know.
 *
 * Return, where nothing else is said: 0; -ENOMEM; -errno of bpf().
 */
#ifndef SKUA_BPF_COUNTS_H
#define SKUA_BPF_COUNTS_H

#include <stdbool.h>

#include "bpf/trace/attach.h"
#include "bpf/programs/count.h"
#include "bpf/target/target.h"

/**
 * struct counts_table - keys and values of a map, by key
 * @plain: bytes of a value that are no counters, at its beginning
 * @room: rows of the map
 */
struct counts_table {
	char *rows;
	unsigned count;
	size_t key_bytes, value_bytes, plain;
	unsigned room;
};

enum counts_kind {
	COUNTS_WORKERS,
	COUNTS_MATRIX,
	COUNTS_TIMES,
	COUNTS_SWITCHES,
	COUNTS_DELAYS,
	COUNTS_TABLES
};

/**
 * struct counts - all of them at some moment, or between two; zero it before use
 * @at_ns: CLOCK_MONOTONIC; between two: how long that was
 * @lost: events for which there was no room in a map
 */
struct counts {
	uint64_t at_ns;
	uint64_t lost;
	struct counts_table tables[COUNTS_TABLES];
};

/* counts_read - from maps. @target: whose debug area, and threads in /proc, tell what
 * no map does; NULL: there is none, and such tables are empty */
int counts_read(const int *maps, struct target *target, struct counts *out);

/* counts_can_read - can counts_read() read all of these maps, except those of context
 * switches if there are none? */
bool counts_can_read(const int *maps);

/* counts_since - what came to @now since @before */
void counts_since(struct counts *now, const struct counts *before);

/* counts_forget - what is in tables that come from @maps, which were empty before */
void counts_forget(struct counts *counts, const int *maps);

int counts_copy(struct counts *to, const struct counts *from);
void counts_free(struct counts *counts);

/* counts_row - the value; NULL if there are not so many; counts_key - its key */
const void *counts_row(const struct counts *counts, enum counts_kind kind,
		       unsigned index);
const void *counts_key(const struct counts *counts, enum counts_kind kind,
		       unsigned index);

/* counts_find - the value of a key, or NULL */
const void *counts_find(const struct counts *counts, enum counts_kind kind,
			const void *key);

/* For those who fill a table: append a row, and sort them in the end. */
int counts_add(struct counts *counts, enum counts_kind kind, const void *key,
	       const void *value);
void counts_sort(struct counts *counts, enum counts_kind kind);

/* counts_area - the tables of workers and times from the debug area */
int counts_area(struct target *target, struct counts *out);

/* counts_proc - the table of switches from /proc/PID/task: numbers of switches, and in
 * wake_ns all time that threads waited for a CPU */
int counts_proc(struct target *target, struct counts *out);

#endif
