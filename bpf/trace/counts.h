/* SPDX-License-Identifier: MIT */
/**
 * counts.h - counts of the threads of processes
 *
 * The values are those of the maps of bpf/programs (count.h). If programs could
 * not be attached, the debug area and /proc replace them as far as they can.
 *
 * Return, unless stated otherwise: 0; -ENOMEM; -errno of bpf().
 */
#ifndef SKUA_BPF_COUNTS_H
#define SKUA_BPF_COUNTS_H

#include <stdbool.h>

#include "bpf/trace/attach.h"
#include "bpf/programs/count.h"
#include "bpf/target/target.h"

/**
 * struct counts_table - keys and values of a map, sorted by key
 * @rows: @count pairs of key and value
 * @plain: bytes at the start of a value that are no counters
 * @room: largest number of rows in the map
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
 * struct counts - all counts at one moment, or between two; zero it before use
 * @at_ns: CLOCK_MONOTONIC; after counts_since(): the time between
 * @lost: events for which a map had no room
 */
struct counts {
	uint64_t at_ns;
	uint64_t lost;
	struct counts_table tables[COUNTS_TABLES];
};

/* counts_read - read the maps. @target: its debug area and threads in /proc
 * replace missing maps; NULL: the tables of missing maps stay empty */
int counts_read(const int *maps, struct target *target, struct counts *out);

/* counts_can_read - return whether counts_read() can read all of these maps;
 * those of context switches may be missing */
bool counts_can_read(const int *maps);

/* counts_since - subtract @before from @now */
void counts_since(struct counts *now, const struct counts *before);

/* counts_forget - empty the tables that come from @maps */
void counts_forget(struct counts *counts, const int *maps);

int counts_copy(struct counts *to, const struct counts *from);
void counts_free(struct counts *counts);

/* counts_row - return the value of a row, NULL if there is no such row;
 * counts_key - return its key */
const void *counts_row(const struct counts *counts, enum counts_kind kind,
		       unsigned index);
const void *counts_key(const struct counts *counts, enum counts_kind kind,
		       unsigned index);

/* counts_find - return the value of a key, or NULL */
const void *counts_find(const struct counts *counts, enum counts_kind kind,
			const void *key);

/* counts_add - append a row; counts_sort - sort the table after the last one
 * was added */
int counts_add(struct counts *counts, enum counts_kind kind, const void *key,
	       const void *value);
void counts_sort(struct counts *counts, enum counts_kind kind);

/* counts_area - fill the tables of workers and times from the debug area */
int counts_area(struct target *target, struct counts *out);

/* counts_proc - fill the table of switches from /proc/PID/task: numbers of
 * switches, and in wake_ns all the time that threads waited for a CPU */
int counts_proc(struct target *target, struct counts *out);

#endif
