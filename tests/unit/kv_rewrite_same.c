/* SPDX-License-Identifier: MIT */
/* kv_rewrite_same.c - compares the keys of two servers; see kv_rewrite.h */
#include "tests/unit/kv_rewrite.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "bench/kv/store/map.h"

static struct store *other;
/* The first difference; a test fails only after it has stopped the servers. */
static char difference[200];

static void differs(struct bytes key, const char *how)
{
	if (!difference[0])
		snprintf(difference, sizeof(difference), "%.*s %s",
			 (int)key.size, key.data, how);
}

static bool same_string(const struct entry *a, const struct entry *b)
{
	char one[NUMBER_ROOM], two[NUMBER_ROOM];

	return entry_is_string(b) &&
	       bytes_equal(entry_string(a, one), entry_string(b, two));
}

static bool same_list(const struct list *a, const struct list *b)
{
	struct list_place one = list_seek(a, 0), two = list_seek(b, 0);

	if (a->count != b->count)
		return false;
	for (size_t i = 0; i < a->count; i++) {
		const struct list_item *x = list_next(&one);
		const struct list_item *y = list_next(&two);

		if (x->size != y->size || memcmp(x->data, y->data, x->size))
			return false;
	}
	return true;
}

static const struct map *other_map;

static void compare_field(void *ctx, struct entry *field)
{
	struct entry *found =
		map_find(other_map, &other->secret, entry_key(field));

	if (!found || !same_string(field, found))
		*(bool *)ctx = false;
}

static bool same_map(const struct map *a, const struct map *b)
{
	bool same = map_count(a) == map_count(b);

	other_map = b;
	map_visit(a, compare_field, &same);
	return same;
}

static bool same_value(const struct entry *a, const struct entry *b)
{
	if (strcmp(entry_type(a), entry_type(b)))
		return false;
	if (a->kind == ENTRY_LIST)
		return same_list(a->list, b->list);
	return a->kind == ENTRY_MAP ? same_map(a->map, b->map)
				    : same_string(a, b);
}

static void compare(void *ctx, struct entry *entry)
{
	struct key key = store_key(other, entry_key(entry));
	struct stripe *stripe = store_stripe(other, key.hash);
	struct entry **found = table_find(&stripe->table, key.hash, key.bytes);

	(void)ctx;
	if (!found)
		differs(key.bytes, "is missing");
	else if ((*found)->expires_ms != entry->expires_ms)
		differs(key.bytes, "has another time");
	else if (!same_value(entry, *found))
		differs(key.bytes, "has another value");
}

void expect_same_after_start(void)
{
	static struct kv again;
	struct log log;
	uint64_t cursor;

	assert_int_equal(log_stop(&server_log), 0);
	assert_int_equal(access(new_path, F_OK), -1);
	assert_int_equal(try_start(&again, &log, LOG_EVERYSEC), 0);
	other = again.server.store;
	difference[0] = '\0';
	if (store_count(kv.server.store) != store_count(other))
		snprintf(difference, sizeof(difference),
			 "there is another number of keys");
	for (unsigned i = 0; i < STORE_STRIPES; i++) {
		cursor = 0;
		do {
			cursor = table_scan(&kv.server.store->stripes[i].table,
					    cursor, compare, NULL);
		} while (cursor);
	}
	stop(&again, &log);
	client_end(&kv.session);
	store_destroy(kv.server.store);
	free(kv.server.logged);
	assert_string_equal(difference, "");
}
