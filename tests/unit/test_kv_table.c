/* SPDX-License-Identifier: MIT */
/* test_kv_table.c - the tables of skua-kv, while they grow, shrink and are scanned */
#include <stdio.h>
#include <stdlib.h>

#include "bench/kv/store/table.h"
#include "tests/unit/unit.h"

#define KEYS 3000

static struct bytes text(const char *text)
{
	return (struct bytes){ text, strlen(text) };
}

static struct table table;
static struct hash_secret secret = { { 1, 2 } };

static struct entry *made(unsigned number)
{
	char name[20];

	snprintf(name, sizeof(name), "key%u", number);
	return entry_create(text(name), 0);
}

static struct entry *find(unsigned number)
{
	char name[20];
	struct entry **entry;
	struct bytes key;

	snprintf(name, sizeof(name), "key%u", number);
	key = text(name);
	entry = table_find(&table, hash_bytes(&secret, key.data, key.size),
			   key);
	return entry ? *entry : NULL;
}

static void add(unsigned number)
{
	struct entry *entry = made(number);
	struct bytes key = entry_key(entry);

	assert_true(table_add(&table, &secret,
			      hash_bytes(&secret, key.data, key.size), entry));
}

static void drop(unsigned number)
{
	struct entry *entry = find(number);
	struct bytes key = entry_key(entry);

	assert_ptr_equal(table_remove(&table, &secret,
				      hash_bytes(&secret, key.data, key.size),
				      key),
			 entry);
	entry_free(entry);
}

static void free_one(void *ctx, struct entry *entry)
{
	(void)ctx;
	entry_free(entry);
}

/* Each entry is found while the table grows and shrinks, and no other. */
TEST(table__grows_and_shrinks__entries_stay)
{
	uint64_t most = 0;

	for (unsigned i = 0; i < KEYS; i++) {
		add(i);
		assert_non_null(find(i));
		assert_non_null(find(i / 2));
		assert_null(find(i + 1));
	}
	assert_int_equal(table_count(&table), KEYS);
	most = table.masks[0];
	for (unsigned i = 0; i < KEYS - 10; i++) {
		drop(i);
		assert_null(find(i));
		assert_non_null(find(i + 1));
		assert_non_null(find(KEYS - 1));
	}
	assert_int_equal(table_count(&table), 10);
	assert_true(most >= KEYS / 8);
	assert_true(table.masks[0] < most);
	table_clear(&table, free_one, NULL);
	assert_null(table.buckets[0]);
}

static unsigned char seen[KEYS];

static void see(void *ctx, struct entry *entry)
{
	char name[20];
	unsigned number;

	snprintf(name, sizeof(name), "%.*s", (int)entry->key_size,
		 entry->bytes);
	number = (unsigned)atoi(name + 3);
	(void)ctx;
	if (number < KEYS)
		seen[number] = 1;
}

/* A scan during which the table is made larger, or smaller, @by entries a step. */
static void scan_during(int by)
{
	unsigned extra = by < 0 ? KEYS : 0;
	uint64_t cursor = 0;

	memset(seen, 0, sizeof(seen));
	for (unsigned i = 0; i < 100 + extra; i++)
		add(i < 100 ? i : KEYS + i);
	do {
		cursor = table_scan(&table, cursor, see, NULL);
		for (int i = 0; i < abs(by); i++) {
			if (by > 0 && extra < KEYS)
				add(KEYS + 100 + extra++);
			else if (by < 0 && extra > 0)
				drop(KEYS + 100 + --extra);
		}
	} while (cursor);
	for (unsigned i = 0; i < 100; i++)
		assert_int_equal(seen[i], 1);
	table_clear(&table, free_one, NULL);
}

TEST(table_scan__size_changes__all_that_stay_are_visited)
{
	for (int by = 0; by < 100; by += 7) {
		scan_during(by);
		scan_during(-by);
	}
}

/* Without a change, each is visited once. */
static unsigned visits;

static void count(void *ctx, struct entry *entry)
{
	(void)ctx;
	(void)entry;
	visits++;
}

TEST(table_scan__while_it_moves__each_once)
{
	for (unsigned size = 1; size < 200; size++) {
		uint64_t cursor = 0;

		add(size);
		visits = 0;
		do {
			cursor = table_scan(&table, cursor, count, NULL);
		} while (cursor);
		assert_int_equal(visits, size);
	}
	table_clear(&table, free_one, NULL);
}
