/* SPDX-License-Identifier: MIT */
/* test_kv_store.c - the store of skua-kv: sets of stripes, expiry, memory, watches */
#include <stdio.h>

#include "bench/kv/store/store.h"
#include "tests/unit/unit.h"

#define KEYS 3000

static struct store *store;
static struct store_clock now;
static struct garbage garbage;

static int begin(void **state)
{
	(void)state;
	store = store_create();
	now.now_ms = 1000;
	return store == NULL;
}

static void lock_all(bool lock)
{
	struct store_set all;

	memset(&all, 0xff, sizeof(all));
	if (lock)
		store_lock_set(store, &all);
	else
		store_unlock_set(store, &all);
}

/* After each test, all memory is given back. */
static int end(void **state)
{
	(void)state;
	lock_all(true);
	store_flush(store, &garbage);
	lock_all(false);
	while (garbage_free(&garbage))
		;
	assert_int_equal(store_memory(store), 0);
	assert_int_equal(store_count(store), 0);
	assert_int_equal(store_count_expiring(store), 0);
	store_destroy(store);
	return 0;
}

EACH_TEST(begin, end);

static struct bytes text(const char *text)
{
	return (struct bytes){ text, strlen(text) };
}

static struct key key_of(const char *name)
{
	return store_key(store, text(name));
}

static void put(const char *name, const char *value, int64_t expires_ms)
{
	struct key key = key_of(name);

	assert_true(store_put(store, &key, text(value), expires_ms, &now));
}

/* The value of a key; "": there is none. */
static const char *get(const char *name)
{
	static char value[100];
	char scratch[NUMBER_ROOM];
	struct key key = key_of(name);
	struct entry **entry = store_find(store, &key, &now);
	struct bytes bytes = { "", 0 };

	if (entry)
		bytes = entry_string(*entry, scratch);
	snprintf(value, sizeof(value), "%.*s", (int)bytes.size, bytes.data);
	return value;
}

/* ---- sets of stripes ------------------------------------------------------------- */

/* A set of two stripes has these and no others, also if they share a word. */
TEST(store_set__pairs__visited_in_order)
{
	for (unsigned a = 0; a < STORE_STRIPES; a += 7) {
		for (unsigned b = a; b < STORE_STRIPES; b += 13) {
			struct store_set set = { .used = 0 };

			store_set_add(&set, b + STORE_STRIPES);
			store_set_add(&set, a);
			assert_int_equal(store_set_next(&set, 0), a);
			assert_int_equal(store_set_next(&set, a), a);
			assert_int_equal(store_set_next(&set, a + 1),
					 a == b ? STORE_STRIPES : b);
			assert_int_equal(store_set_next(&set, b + 1),
					 STORE_STRIPES);
		}
	}
}

TEST(store_set__none_or_all__none_or_each)
{
	struct store_set none = { .used = 0 }, all;
	unsigned count = 0;

	memset(&all, 0xff, sizeof(all));
	assert_int_equal(store_set_next(&none, 0), STORE_STRIPES);
	for (STORE_SET_EACH(i, &all))
		assert_int_equal(i, count++);
	assert_int_equal(count, STORE_STRIPES);
}

/* ---- the store ------------------------------------------------------------------- */

TEST(store_put__again__replaced)
{
	lock_all(true);
	put("a", "1", 0);
	put("a", "a longer value than the one before", 0);
	put("b", "2", 0);
	assert_string_equal(get("a"), "a longer value than the one before");
	assert_string_equal(get("b"), "2");
	assert_string_equal(get("c"), "");
	assert_int_equal(store_count(store), 2);
	lock_all(false);
}

TEST(store__time_has_passed__expired)
{
	lock_all(true);
	put("a", "1", 1001);
	put("b", "1", 2000);
	put("b", "2", -1); /* the time stays */
	put("c", "1", 2000);
	put("c", "2", 0); /* no time any more */
	assert_int_equal(store_count_expiring(store), 2);
	assert_string_equal(get("a"), "1");
	now.now_ms = 1001;
	assert_string_equal(get("a"), "");
	assert_string_equal(get("b"), "2");
	now.now_ms = 2000;
	assert_string_equal(get("b"), "");
	assert_string_equal(get("c"), "2");
	assert_int_equal(store_count(store), 1);
	assert_int_equal(store->expired, 2);
	lock_all(false);
}

TEST(store_sweep__expired_keys__removed)
{
	lock_all(true);
	for (int i = 0; i < KEYS; i++) {
		char name[20];

		snprintf(name, sizeof(name), "%d", i);
		put(name, "x", i % 2 ? 1 : INT64_MAX);
	}
	lock_all(false);
	for (unsigned round = 0; round < 100; round++)
		for (unsigned i = 0; i < STORE_STRIPES; i++)
			while (store_sweep(store, &store->stripes[i], &garbage))
				;
	assert_int_equal(store_count(store), KEYS / 2);
	assert_int_equal(store_count_expiring(store), KEYS / 2);
}

TEST(store_remove__large_list__freed_later)
{
	struct key key = key_of("l");
	struct entry *entry;

	lock_all(true);
	entry = entry_create_list(key.bytes);
	for (int i = 0; i < 1000; i++)
		list_push(entry->list, true, text("x"));
	assert_true(store_add(store, &key, entry));
	assert_true(store_remove(store, &key, &garbage));
	assert_false(store_remove(store, &key, &garbage));
	lock_all(false);
	assert_ptr_equal(garbage.entries, entry);
}

/* A blob that a reply shares counts as memory until the reply has been sent. */
TEST(blob_leave__shared__counts_until_dropped)
{
	static char bytes[4 * STORE_STEP];
	struct bytes value = { bytes, sizeof(bytes) };
	struct key key = key_of("key");
	uint64_t one, left;
	struct blob *blob;

	assert_true(store_put(store, &key, value, 0, &now));
	one = store_memory(store);
	blob = (*store_find(store, &key, &now))->blob;
	blob_take(blob);
	assert_int_equal(store_memory(store), one);
	assert_true(store_put(store, &key, value, 0, &now));
	left = store_memory(store) - one;
	assert_in_range(left, sizeof(bytes), sizeof(bytes) + 64);
	assert_true(store_remove(store, &key, &garbage));
	assert_int_equal(store_memory(store), left);
	blob_drop(blob);
	assert_int_equal(store_memory(store), 0);
}

static bool touched;
static struct watch watch;

static void begin_watch(const char *name)
{
	touched = false;
	watch = (struct watch){ .touched = &touched, .key = key_of(name) };
	assert_true(store_watch(store, &watch, &now));
}

static bool end_watch(void)
{
	store_unwatch(store, &watch);
	return touched;
}

TEST(store_watch__change_of_the_key__touched)
{
	struct key a = key_of("a");

	lock_all(true);
	begin_watch("a");
	put("b", "1", 0);
	assert_false(end_watch());
	begin_watch("a");
	put("a", "1", 0);
	assert_true(end_watch());
	begin_watch("a");
	get("a");
	assert_false(end_watch());
	begin_watch("a");
	store_expire(store, &a, *store_find(store, &a, &now), 1500);
	assert_true(end_watch());
	begin_watch("a");
	now.now_ms = 1500;
	get("a"); /* expires */
	assert_true(end_watch());
	put("a", "1", 1600);
	now.now_ms = 1600;
	begin_watch("a"); /* has expired before */
	get("a");
	assert_false(end_watch());
	put("a", "1", 0);
	begin_watch("a");
	store_remove(store, &a, NULL);
	assert_true(end_watch());
	begin_watch("a"); /* is not there */
	store_flush(store, &garbage);
	assert_false(end_watch());
	put("a", "1", 0);
	begin_watch("a");
	store_flush(store, &garbage);
	assert_true(end_watch());
	lock_all(false);
}

#define WATCHES 5000

static unsigned list_length(const struct watches *watches, uint64_t hash)
{
	const struct watch *w = watches_list(watches, hash);
	unsigned length = 0;

	for (; w; w = w->next)
		length++;
	return length;
}

static void count_watch(void *ctx, struct watch *watch)
{
	(void)watch;
	++*(unsigned *)ctx;
}

/* A change of a key does not look at the watches of most other keys. */
TEST(watches__many_keys__short_lists)
{
	static struct watch many[WATCHES];
	struct watches *watches = NULL;
	unsigned count = 0;

	for (unsigned i = 0; i < WATCHES; i++) {
		many[i].key = store_key(
			store, (struct bytes){ (char *)&i, sizeof(i) });
		assert_true(watches_add(&watches, &many[i]));
	}
	for (unsigned i = 0; i < WATCHES; i++)
		assert_in_range(list_length(watches, many[i].key.hash), 1, 30);
	for (unsigned i = 0; i < WATCHES; i += 2)
		watches_remove(&watches, &many[i]);
	watches_each(watches, count_watch, &count);
	assert_int_equal(count, WATCHES / 2);
	for (unsigned i = 1; i < WATCHES; i += 2)
		watches_remove(&watches, &many[i]);
	assert_null(watches);
	assert_null(watches_list(watches, 0));
}

TEST(flush__of_keys__is_a_change_of_their_stripe)
{
	struct key a = key_of("a");
	struct stripe *stripe = store_stripe(store, a.hash);
	uint64_t before;

	lock_all(true);
	before = stripe->changes;
	store_flush(store, &garbage);
	assert_int_equal(stripe->changes, before);
	put("a", "1", 0);
	before = stripe->changes;
	store_flush(store, &garbage);
	assert_true(stripe->changes > before);
	lock_all(false);
}
