/* SPDX-License-Identifier: MIT */
/* counts.c - the tables of counts.h, and the differences between two moments */
#include "bpf/trace/counts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/stats/figures.h"

/* The value follows the key, aligned to 8 bytes. */
static size_t value_at(const struct counts_table *table)
{
	return (table->key_bytes + 7) / 8 * 8;
}

static size_t row_bytes(const struct counts_table *table)
{
	return value_at(table) + table->value_bytes;
}

static char *row_at(const struct counts_table *table, unsigned index)
{
	return table->rows + index * row_bytes(table);
}

const void *counts_key(const struct counts *counts, enum counts_kind kind,
		       unsigned index)
{
	return row_at(&counts->tables[kind], index);
}

const void *counts_row(const struct counts *counts, enum counts_kind kind,
		       unsigned index)
{
	const struct counts_table *table = &counts->tables[kind];

	return index < table->count ? row_at(table, index) + value_at(table)
				    : NULL;
}

static int by_thread(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(uint32_t));
}

static int by_pair(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct count_pair));
}

static int (*order(const struct counts_table *table))(const void *,
						      const void *)
{
	return table->key_bytes == sizeof(uint32_t) ? by_thread : by_pair;
}

const void *counts_find(const struct counts *counts, enum counts_kind kind,
			const void *key)
{
	const struct counts_table *table = &counts->tables[kind];
	const char *row = table->count == 0
				  ? NULL
				  : bsearch(key, table->rows, table->count,
					    row_bytes(table), order(table));

	return row ? row + value_at(table) : NULL;
}

int counts_add(struct counts *counts, enum counts_kind kind, const void *key,
	       const void *value)
{
	struct counts_table *table = &counts->tables[kind];
	char *row;

	/* Double the room when it is used up. */
	if ((table->count & (table->count - 1)) == 0) {
		size_t room = table->count ? 2 * (size_t)table->count : 1;
		char *more = reallocarray(table->rows, room, row_bytes(table));

		if (!more)
			return -ENOMEM;
		table->rows = more;
	}
	row = row_at(table, table->count++);
	memcpy(row, key, table->key_bytes);
	memcpy(row + value_at(table), value, table->value_bytes);
	return 0;
}

void counts_sort(struct counts *counts, enum counts_kind kind)
{
	struct counts_table *table = &counts->tables[kind];

	if (table->count > 0)
		qsort(table->rows, table->count, row_bytes(table),
		      order(table));
}

void counts_free(struct counts *counts)
{
	for (unsigned i = 0; i < COUNTS_TABLES; i++)
		free(counts->tables[i].rows);
	*counts = (struct counts){ .at_ns = 0 };
}

int counts_copy(struct counts *to, const struct counts *from)
{
	struct counts copy = *from;

	for (unsigned i = 0; i < COUNTS_TABLES; i++)
		copy.tables[i].rows = NULL;
	for (unsigned i = 0; i < COUNTS_TABLES; i++) {
		const struct counts_table *table = &from->tables[i];

		copy.tables[i].count = 0;
		for (unsigned k = 0; k < table->count; k++) {
			if (counts_add(&copy, i, counts_key(from, i, k),
				       counts_row(from, i, k)) == 0)
				continue;
			counts_free(&copy);
			return -ENOMEM;
		}
	}
	*to = copy;
	return 0;
}

/* Subtract the counters in @past from those in @row. */
static void subtract(const struct counts_table *table, char *row,
		     const char *past)
{
	for (size_t at = table->plain; at < table->value_bytes;
	     at += sizeof(uint64_t)) {
		uint64_t value, less;

		memcpy(&value, row + at, sizeof(value));
		memcpy(&less, past + at, sizeof(less));
		value = figure_difference(value, less);
		memcpy(row + at, &value, sizeof(value));
	}
}

static bool of_others(const struct counts *counts, enum counts_kind kind,
		      const uint32_t *thread)
{
	return (kind == COUNTS_SWITCHES || kind == COUNTS_DELAYS) &&
	       !counts_find(counts, COUNTS_WORKERS, thread);
}

/* Subtract the counts of @before from one table of @now. A row that is new
 * stays as it is. A row that has disappeared is now part of the sum of ended
 * threads, and is subtracted there. */
static void since(struct counts *now, const struct counts *before,
		  enum counts_kind kind)
{
	struct counts_table *table = &now->tables[kind];
	const char *past;

	for (unsigned i = 0; i < table->count; i++) {
		past = counts_find(before, kind, counts_key(now, kind, i));
		if (past)
			subtract(table, row_at(table, i) + value_at(table),
				 past);
	}
	for (unsigned i = 0; (past = counts_row(before, kind, i)); i++) {
		struct count_pair key = { 0 };
		const void *sum;

		memcpy(&key, counts_key(before, kind, i), table->key_bytes);
		if (counts_find(now, kind, &key))
			continue;
		/* The thread is the first word of each key. */
		key.thread =
			of_others(before, kind, &key.thread) ? COUNT_OTHERS : 0;
		sum = counts_find(now, kind, &key);
		if (sum)
			subtract(table, (char *)(uintptr_t)sum, past);
	}
}

void counts_since(struct counts *now, const struct counts *before)
{
	for (unsigned i = 0; i < COUNTS_TABLES; i++)
		since(now, before, i);
	now->at_ns -= before->at_ns;
	now->lost = figure_difference(now->lost, before->lost);
}
