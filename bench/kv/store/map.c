/* SPDX-License-Identifier: MIT */
/* map.c - a hash of Redis: fields and their values */
#include "bench/kv/store/map.h"

#include <stdlib.h>

#define FIRST_ROOM 4u
/* Bytes of the buckets of a table for each field, about. */
#define SHARE 16u
/* Fields that are freed at a time: tens of microseconds. */
#define FREED 512u

struct map *map_create(void)
{
	struct map *map = calloc(1, sizeof(*map));

	if (!map)
		return NULL;
	map->places = malloc(FIRST_ROOM * sizeof(*map->places));
	if (!map->places) {
		free(map);
		return NULL;
	}
	map->room = FIRST_ROOM;
	map->memory =
		sizeof(*map) + 16 + FIRST_ROOM * sizeof(*map->places) + 16;
	return map;
}

static void free_field(void *ctx, struct entry *field)
{
	(void)ctx;
	entry_free(field);
}

void map_free(struct map *map)
{
	for (uint32_t i = 0; i < map->count; i++)
		entry_free(map->places[i].field);
	free(map->places);
	table_clear(&map->table, free_field, NULL);
	free(map);
}

bool map_free_some(struct map *map)
{
	if (!map->places &&
	    table_free_some(&map->table, FREED, free_field, NULL))
		return true;
	map_free(map);
	return false;
}

/* ---- search ------------------------------------------------------------------- */

/* Return the place of a field in a small map; its number of fields: there is none. */
static uint32_t place_of(const struct map *map, uint64_t tag, struct bytes name)
{
	uint32_t i = 0;

	while (i < map->count &&
	       (map->places[i].tag != tag ||
		!bytes_equal(entry_key(map->places[i].field), name)))
		i++;
	return i;
}

static struct entry **find(const struct map *map, uint64_t hash,
			   struct bytes name)
{
	uint32_t i;

	if (!map->places)
		return table_find(&map->table, hash, name);
	i = place_of(map, hash, name);
	return i < map->count ? &map->places[i].field : NULL;
}

struct entry *map_find(const struct map *map, const struct hash_secret *secret,
		       struct bytes name)
{
	struct entry **field =
		find(map, hash_bytes(secret, name.data, name.size), name);

	return field ? *field : NULL;
}

/* ---- changes ------------------------------------------------------------------ */

static void forget(void *ctx, struct entry *field)
{
	(void)ctx;
	(void)field;
}

/* Move the fields to a table. */
static bool enlarge(struct map *map, const struct hash_secret *secret)
{
	for (uint32_t i = 0; i < map->count; i++) {
		if (table_add(&map->table, secret, map->places[i].tag,
			      map->places[i].field))
			continue;
		table_clear(&map->table, forget, NULL);
		return false;
	}
	free(map->places);
	map->memory += map->count * (size_t)SHARE;
	map->memory -= map->room * sizeof(*map->places) + 16;
	map->places = NULL;
	map->count = map->room = 0;
	return true;
}

static bool make_room(struct map *map)
{
	struct map_place *places;

	if (map->count < map->room)
		return true;
	places = realloc(map->places, map->room * 2 * sizeof(*places));
	if (!places)
		return false;
	map->memory += map->room * sizeof(*places);
	map->places = places;
	map->room *= 2;
	return true;
}

static bool add(struct map *map, const struct hash_secret *secret,
		uint64_t hash, struct entry *field)
{
	if (map->places && map->count == MAP_SMALL && !enlarge(map, secret))
		return false;
	if (!map->places) {
		if (!table_add(&map->table, secret, hash, field))
			return false;
		map->memory += SHARE;
	} else {
		if (!make_room(map))
			return false;
		map->places[map->count++] = (struct map_place){ field, hash };
	}
	map->memory += entry_memory(field);
	return true;
}

int map_set(struct map *map, const struct hash_secret *secret,
	    struct bytes name, struct bytes value)
{
	uint64_t hash = hash_bytes(secret, name.data, name.size);
	struct entry **place = find(map, hash, name), *field;
	size_t before;

	if (place) {
		before = entry_memory(*place);
		if (!entry_set(place, value))
			return -1;
		map->memory += entry_memory(*place) - before;
		return 0;
	}
	field = entry_create(name, value.size);
	if (field && entry_set(&field, value) && add(map, secret, hash, field))
		return 1;
	if (field)
		entry_free(field);
	return -1;
}

int map_set_number(struct map *map, const struct hash_secret *secret,
		   struct bytes name, int64_t number)
{
	uint64_t hash = hash_bytes(secret, name.data, name.size);
	struct entry **place = find(map, hash, name), *field;
	size_t before;

	if (place) {
		before = entry_memory(*place);
		entry_set_number(*place, number);
		map->memory += entry_memory(*place) - before;
		return 0;
	}
	field = entry_create(name, 0);
	if (!field)
		return -1;
	entry_set_number(field, number);
	if (add(map, secret, hash, field))
		return 1;
	entry_free(field);
	return -1;
}

bool map_remove(struct map *map, const struct hash_secret *secret,
		struct bytes name)
{
	uint64_t hash = hash_bytes(secret, name.data, name.size);
	struct entry *field;
	uint32_t i;

	if (map->places) {
		i = place_of(map, hash, name);
		if (i == map->count)
			return false;
		field = map->places[i].field;
		map->count--;
		memmove(map->places + i, map->places + i + 1,
			(map->count - i) * sizeof(*map->places));
	} else {
		field = table_remove(&map->table, secret, hash, name);
		if (!field)
			return false;
		map->memory -= SHARE;
	}
	map->memory -= entry_memory(field);
	entry_free(field);
	return true;
}

uint64_t map_scan(const struct map *map, uint64_t cursor,
		  void (*visit)(void *ctx, struct entry *field), void *ctx)
{
	if (!map->places)
		return table_scan(&map->table, cursor, visit, ctx);
	for (uint32_t i = 0; i < map->count; i++)
		visit(ctx, map->places[i].field);
	return 0;
}
