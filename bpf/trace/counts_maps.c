/* SPDX-License-Identifier: MIT */
/* counts_maps.c - read counts from the maps, or from what replaces a missing map: see counts.h */
#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/cli/clock.h"
#include "bpf/trace/counts.h"

#define TABLE(key, value, before, most)                                 \
	{                                                               \
		.key_bytes = sizeof(key), .value_bytes = sizeof(value), \
		.plain = (before), .room = (most)                       \
	}

static const struct counts_table empty[COUNTS_TABLES] = {
	[COUNTS_WORKERS] =
		TABLE(uint32_t, struct count_worker,
		      offsetof(struct count_worker, steals), COUNT_THREADS),
	[COUNTS_MATRIX] =
		TABLE(struct count_pair, struct count_steals, 0, COUNT_PAIRS),
	[COUNTS_TIMES] = TABLE(uint32_t, struct count_times, 0, COUNT_THREADS),
	[COUNTS_SWITCHES] = TABLE(uint32_t, struct count_switches,
				  offsetof(struct count_switches, voluntary),
				  COUNT_THREADS),
	[COUNTS_DELAYS] =
		TABLE(uint32_t, struct count_delays, 0, COUNT_THREADS),
};

static const enum attach_map map_of[COUNTS_TABLES] = {
	[COUNTS_WORKERS] = ATTACH_WORKERS, [COUNTS_MATRIX] = ATTACH_MATRIX,
	[COUNTS_TIMES] = ATTACH_TIMES,     [COUNTS_SWITCHES] = ATTACH_SWITCHES,
	[COUNTS_DELAYS] = ATTACH_DELAYS,
};

static bool is_map(int map, enum bpf_map_type type, size_t key_bytes,
		   size_t value_bytes, unsigned room)
{
	struct bpf_map_info info = { .type = 0 };
	uint32_t bytes = sizeof(info);

	return bpf_obj_get_info_by_fd(map, &info, &bytes) == 0 &&
	       info.type == type && info.key_size == key_bytes &&
	       info.value_size == value_bytes && info.max_entries == room;
}

bool counts_can_read(const int *maps)
{
	bool all = is_map(maps[ATTACH_LOST], BPF_MAP_TYPE_ARRAY, 4, 8, 1);

	if (maps[ATTACH_SWITCHES] >= 0)
		all &= is_map(maps[ATTACH_LOST_SWITCHES], BPF_MAP_TYPE_ARRAY, 4,
			      8, 1);
	for (unsigned i = 0; i < COUNTS_TABLES; i++) {
		const struct counts_table *table = &empty[i];

		if (i < COUNTS_SWITCHES || maps[ATTACH_SWITCHES] >= 0)
			all &= is_map(maps[map_of[i]], BPF_MAP_TYPE_HASH,
				      table->key_bytes, table->value_bytes,
				      table->room);
	}
	return all;
}

/* Read a whole map in one call, because keys come and go meanwhile. */
static int read_map(int map, struct counts *out, enum counts_kind kind)
{
	const struct counts_table *table = &out->tables[kind];
	size_t key_bytes = table->key_bytes, value_bytes = table->value_bytes;
	char *keys = calloc(table->room, key_bytes);
	char *values = calloc(table->room, value_bytes);
	uint32_t next, count = table->room;
	int err = -ENOMEM;

	if (keys && values)
		err = bpf_map_lookup_batch(map, NULL, &next, keys, values,
					   &count, NULL);
	if (err == -ENOENT) /* the end of the map */
		err = 0;
	for (uint32_t i = 0; !err && i < count; i++)
		err = counts_add(out, kind, keys + i * key_bytes,
				 values + i * value_bytes);
	free(keys);
	free(values);
	counts_sort(out, kind);
	return err;
}

/* Read the counter of lost events, the only word of the program's data. */
static uint64_t read_lost(int map)
{
	uint32_t zero = 0;
	uint64_t lost = 0;

	if (map < 0 || bpf_map_lookup_elem(map, &zero, &lost) != 0)
		return 0;
	return lost;
}

int counts_read(const int *maps, struct target *target, struct counts *out)
{
	int err = 0;

	*out = (struct counts){ .at_ns = now_ns() };
	memcpy(out->tables, empty, sizeof(empty));
	for (unsigned i = 0; !err && i < COUNTS_TABLES; i++)
		if (maps[map_of[i]] >= 0)
			err = read_map(maps[map_of[i]], out, i);
	out->lost = read_lost(maps[ATTACH_LOST]) +
		    read_lost(maps[ATTACH_LOST_SWITCHES]);
	if (!err && target && maps[ATTACH_WORKERS] < 0)
		err = counts_area(target, out);
	if (!err && target && maps[ATTACH_SWITCHES] < 0)
		err = counts_proc(target, out);
	if (err)
		counts_free(out);
	return err;
}

void counts_forget(struct counts *counts, const int *maps)
{
	for (unsigned i = 0; i < COUNTS_TABLES; i++) {
		if (maps[map_of[i]] < 0)
			continue;
		free(counts->tables[i].rows);
		counts->tables[i].rows = NULL;
		counts->tables[i].count = 0;
	}
	counts->lost = 0;
}
