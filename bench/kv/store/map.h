/* SPDX-License-Identifier: MIT */
/**
 * map.h - a hash of Redis: fields and their values
 *
 * A field is an entry whose key is the name of the field. Up to MAP_SMALL fields are in an
 * array, in the order in which they were added; clients see them in this order, too. A map
 * that has grown larger is a table from then on, even if it becomes small again.
 */
#ifndef SKUA_BENCH_KV_MAP_H
#define SKUA_BENCH_KV_MAP_H

#include "bench/kv/store/table.h"

/* As hash-max-listpack-entries of Redis. */
#define MAP_SMALL 128u

/* A field of a small map, and a part of its hash. */
struct map_place {
	struct entry *field;
	uint64_t tag;
};

/**
 * struct map - fields and their values
 * @places, @count, @room: those of a small map; NULL: the fields are in @table
 * @memory: bytes of all
 */
struct map {
	struct map_place *places;
	uint32_t count, room;
	struct table table;
	size_t memory;
};

/* map_create - make an empty map. Return: NULL: no memory */
struct map *map_create(void);

/* map_free - free a map and its fields */
void map_free(struct map *map);

/* map_free_some - free some of the fields. Return: whether there are more; if there are
 * not, the map is freed, too */
bool map_free_some(struct map *map);

/* map_count - return the number of fields */
static inline size_t map_count(const struct map *map)
{
	return map->places ? map->count : table_count(&map->table);
}

static inline size_t map_memory(const struct map *map)
{
	return map->memory;
}

/* map_find - return a field; NULL: there is none */
struct entry *map_find(const struct map *map, const struct hash_secret *secret,
		       struct bytes name);

/* map_set - set the value of a field, and add the field if there is none
 *
 * Return: 1: it was added; 0: it was there; -1: no memory, and nothing was done. */
int map_set(struct map *map, const struct hash_secret *secret,
	    struct bytes name, struct bytes value);

/* map_set_number - set the value of a field to a number. As map_set() */
int map_set_number(struct map *map, const struct hash_secret *secret,
		   struct bytes name, int64_t number);

/* map_remove - remove a field. Return: whether it was there */
bool map_remove(struct map *map, const struct hash_secret *secret,
		struct bytes name);

/* map_scan - visit some of the fields; all of a small map. As table_scan() */
uint64_t map_scan(const struct map *map, uint64_t cursor,
		  void (*visit)(void *ctx, struct entry *field), void *ctx);

/* map_visit - visit all fields */
static inline void map_visit(const struct map *map,
			     void (*visit)(void *ctx, struct entry *field),
			     void *ctx)
{
	uint64_t cursor = 0;

	do {
		cursor = map_scan(map, cursor, visit, ctx);
	} while (cursor);
}

#endif
