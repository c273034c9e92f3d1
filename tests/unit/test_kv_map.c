/* SPDX-License-Identifier: MIT */
/* test_kv_map.c - the hashes of skua-kv: fields, their order, memory, and how they end */
#include <stdio.h>
#include <stdlib.h>

#include "bench/kv/store/map.h"
#include "bench/kv/store/store.h"
#include "tests/unit/unit.h"

#define FIELDS 2000u

static const struct hash_secret secret = { { 3, 4 } };
static struct map *map;
static size_t empty;

static int begin(void **state)
{
	(void)state;
	map = map_create();
	empty = map ? map_memory(map) : 0;
	return map == NULL;
}

static int end(void **state)
{
	(void)state;
	map_free(map);
	return 0;
}

EACH_TEST(begin, end);

static struct bytes text(const char *text)
{
	return (struct bytes){ text, strlen(text) };
}

static struct bytes name_of(unsigned i)
{
	static char name[20];

	snprintf(name, sizeof(name), "field%u", i);
	return text(name);
}

static int set(unsigned i, const char *value)
{
	return map_set(map, &secret, name_of(i), text(value));
}

/* The value of a field; "": there is none. */
static const char *get(unsigned i)
{
	static char value[100];
	char scratch[NUMBER_ROOM];
	struct entry *field = map_find(map, &secret, name_of(i));
	struct bytes bytes = { "", 0 };

	if (field)
		bytes = entry_string(field, scratch);
	snprintf(value, sizeof(value), "%.*s", (int)bytes.size, bytes.data);
	return value;
}

static unsigned seen[FIELDS], visits;

static void see(void *ctx, struct entry *field)
{
	char name[20];

	(void)ctx;
	snprintf(name, sizeof(name), "%.*s", (int)field->key_size,
		 field->bytes);
	seen[atoi(name + 5)] = ++visits;
}

static void visit_all(void)
{
	memset(seen, 0, sizeof(seen));
	visits = 0;
	map_visit(map, see, NULL);
}

/* Each field is there, whether the map is an array or a table, and when it shrinks. */
TEST(map__grows_and_shrinks__fields_stay)
{
	for (unsigned i = 0; i < FIELDS; i++) {
		assert_int_equal(set(i, "a"), 1);
		assert_int_equal(set(i / 2, "bb"), 0);
		assert_int_equal(map_count(map), i + 1);
		assert_string_equal(get(i / 2), "bb");
		assert_string_equal(get(i + 1), "");
	}
	visit_all();
	assert_int_equal(visits, FIELDS);
	for (unsigned i = 0; i < FIELDS; i++) {
		assert_true(map_remove(map, &secret, name_of(i)));
		assert_false(map_remove(map, &secret, name_of(i)));
		assert_int_equal(map_count(map), FIELDS - 1 - i);
		assert_string_equal(get(i), "");
		if (i + 1 < FIELDS)
			assert_string_not_equal(get(FIELDS - 1), "");
	}
}

/* A small map shows its fields in the order in which they were added. */
TEST(map_visit__small__in_order)
{
	for (unsigned i = 0; i < MAP_SMALL; i++)
		set(i, "x");
	set(5, "another value, which is longer than the one before");
	map_remove(map, &secret, name_of(7));
	set(7, "x");
	visit_all();
	assert_int_equal(visits, MAP_SMALL);
	assert_int_equal(seen[0], 1);
	assert_int_equal(seen[5], 6);
	assert_int_equal(seen[8], 8);
	assert_int_equal(seen[7], MAP_SMALL);
}

/* Fields that are there all the time are found by a scan during which the map grows. */
TEST(map_scan__becomes_large__all_that_stay_are_visited)
{
	uint64_t cursor = 0;
	unsigned next = 200;

	for (unsigned i = 0; i < 200; i++)
		set(i, "x");
	memset(seen, 0, sizeof(seen));
	do {
		cursor = map_scan(map, cursor, see, NULL);
		for (unsigned i = 0; i < 20 && next < FIELDS; i++)
			set(next++, "x");
	} while (cursor);
	for (unsigned i = 0; i < 200; i++)
		assert_true(seen[i]);
}

/* The memory of a map follows its fields, and returns to about what it was. */
TEST(map_memory__fields_come_and_go__follows)
{
	static char large[100000];
	struct bytes value = { large, sizeof(large) };

	assert_int_equal(map_set(map, &secret, name_of(0), value), 1);
	assert_true(map_memory(map) - empty >= sizeof(large));
	set(0, "small");
	assert_true(map_memory(map) - empty < 200);
	map_set_number(map, &secret, name_of(1), -12);
	assert_string_equal(get(1), "-12");
	for (unsigned i = 0; i < FIELDS; i++)
		set(i, "value");
	assert_true(map_memory(map) - empty >= FIELDS * 48);
	for (unsigned i = 0; i < FIELDS; i++)
		map_remove(map, &secret, name_of(i));
	assert_true(map_memory(map) <= empty);
}

/* ---- what takes long to free ------------------------------------------------------ */

static struct store *store;
static struct garbage garbage;
static struct store_clock now = { 1000, &garbage, NULL };

static void add_map(const struct key *key, int64_t expires_ms)
{
	struct entry *entry = entry_create_map(key->bytes);

	assert_non_null(entry);
	for (unsigned i = 0; i < FIELDS; i++)
		map_set(entry->map, &store->secret, name_of(i), text("x"));
	entry->expires_ms = expires_ms;
	assert_true(store_add(store, key, entry));
}

static void add_list(const struct key *key, int64_t expires_ms)
{
	struct entry *entry = entry_create_list(key->bytes);

	assert_non_null(entry);
	for (unsigned i = 0; i < FIELDS; i++)
		list_push(entry->list, false, text("x"));
	entry->expires_ms = expires_ms;
	assert_true(store_add(store, key, entry));
}

/* The calls of garbage_free() until there is none. */
static unsigned steps(void)
{
	unsigned count = 0;

	while (garbage_free(&garbage))
		count++;
	return count;
}

/* A large value that goes is freed after the lock, in steps. */
TEST(garbage__large_value_expired_or_replaced__freed_later)
{
	struct stripe *stripe;
	struct key key;

	store = store_create();
	assert_non_null(store);
	key = store_key(store, text("key"));
	stripe = store_stripe(store, key.hash);
	for (int list = 0; list < 2; list++) {
		void (*add)(const struct key *, int64_t) =
			list ? add_list : add_map;

		store_lock(stripe);
		add(&key, 1000);
		assert_null(store_find(store, &key, &now));
		assert_non_null(garbage.entries);
		add(&key, 2000);
		store_unlock(stripe);
		assert_true(steps() > 2);
		store_lock(stripe);
		/* The time stays. */
		assert_true(store_put(store, &key, text("v"), -1, &now));
		assert_int_equal((*store_find(store, &key, &now))->expires_ms,
				 2000);
		assert_non_null(garbage.entries);
		assert_true(store_remove(store, &key, &garbage));
		add(&key, 1);
		store_unlock(stripe);
		assert_true(steps() > 2);
		while (store_sweep(store, stripe, &garbage))
			;
		assert_non_null(garbage.entries);
		assert_true(steps() > 2);
	}
	assert_int_equal(store_count(store), 0);
	assert_int_equal(store_memory(store), 0);
	store_destroy(store);
}
