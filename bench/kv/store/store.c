/* SPDX-License-Identifier: MIT */
/* store.c - the keys and values of all clients, in stripes */
#include "bench/kv/store/store.h"

#include <stdlib.h>
#include <sys/random.h>
#include <time.h>

struct store *store_create(void)
{
	struct store *store = aligned_alloc(128, sizeof(*store));

	if (!store)
		return NULL;
	memset(store, 0, sizeof(*store));
	if (getrandom(&store->secret, sizeof(store->secret), 0) !=
	    sizeof(store->secret))
		store->secret.words[0] = (uint64_t)(uintptr_t)store;
	return store;
}

static void free_entry(void *ctx, struct entry *entry)
{
	(void)ctx;
	entry_free(entry);
}

void store_destroy(struct store *store)
{
	for (unsigned i = 0; i < STORE_STRIPES; i++)
		table_clear(&store->stripes[i].table, free_entry, NULL);
	free(store);
}

int64_t store_now_ms(struct store_clock *clock)
{
	struct timespec now;

	if (!clock->now_ms) {
		clock_gettime(CLOCK_REALTIME, &now);
		clock->now_ms =
			(int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
	}
	return clock->now_ms;
}

/* ---- locks -------------------------------------------------------------------- */

void store_lock(struct stripe *stripe)
{
	/* It fails in a poll, which must have the lock already. */
	if (skua_mutex_lock(&stripe->lock, SKUA_FOREVER_NS))
		abort();
}

void store_unlock(struct stripe *stripe)
{
	skua_mutex_unlock(&stripe->lock);
}

void store_lock_set(struct store *store, const struct store_set *set)
{
	for (STORE_SET_EACH(i, set))
		store_lock(&store->stripes[i]);
}

void store_unlock_set(struct store *store, const struct store_set *set)
{
	for (STORE_SET_EACH(i, set))
		store_unlock(&store->stripes[i]);
}

/* ---- changes ------------------------------------------------------------------ */

static void account(struct store *store, struct stripe *stripe, int64_t change)
{
	stripe->memory += change;
	stripe->unsaid += change;
	if (stripe->unsaid > STORE_STEP || stripe->unsaid < -STORE_STEP) {
		store_account(store, stripe->unsaid);
		stripe->unsaid = 0;
	}
}

static void count_expiring(struct stripe *stripe, int change)
{
	/* Relaxed: others read it without the lock, and may see it late. */
	__atomic_store_n(&stripe->expiring,
			 stripe->expiring + (uint64_t)(int64_t)change,
			 __ATOMIC_RELAXED);
}

/* Tell clients that watch a key. @expired: it is removed because it has expired. */
static void touch(struct stripe *stripe, const struct key *key, bool expired)
{
	struct watch *w = watches_list(stripe->watches, key->hash);

	for (; w; w = w->next) {
		if (w->key.hash != key->hash ||
		    !bytes_equal(w->key.bytes, key->bytes))
			continue;
		if (expired && w->expired)
			continue;
		/* Relaxed: the client that decides by it has the lock. */
		__atomic_store_n(w->touched, true, __ATOMIC_RELAXED);
	}
}

static bool has_expired(const struct entry *entry, struct store_clock *clock)
{
	return entry->expires_ms && entry->expires_ms <= store_now_ms(clock);
}

/* Free an entry now, or after the locks if that takes long. */
static void discard(struct entry *entry, struct garbage *garbage)
{
	if (garbage && entry_is_large(entry)) {
		entry->next = garbage->entries;
		garbage->entries = entry;
	} else {
		entry_free(entry);
	}
}

static bool remove_key(struct store *store, const struct key *key,
		       struct garbage *garbage, bool expired)
{
	struct stripe *stripe = store_stripe(store, key->hash);
	struct entry *entry = table_remove(&stripe->table, &store->secret,
					   key->hash, key->bytes);

	if (!entry)
		return false;
	stripe->changes++;
	account(store, stripe, -(int64_t)entry_memory(entry));
	if (entry->expires_ms)
		count_expiring(stripe, -1);
	touch(stripe, key, expired);
	if (expired)
		/* Relaxed: a count for INFO. */
		__atomic_fetch_add(&store->expired, 1, __ATOMIC_RELAXED);
	discard(entry, garbage);
	return true;
}

bool store_remove(struct store *store, const struct key *key,
		  struct garbage *garbage)
{
	return remove_key(store, key, garbage, false);
}

struct entry **store_find_to_read(struct store *store, const struct key *key,
				  struct store_clock *clock)
{
	struct stripe *stripe = store_stripe(store, key->hash);
	struct entry **entry =
		table_find(&stripe->table, key->hash, key->bytes);

	return entry && !has_expired(*entry, clock) ? entry : NULL;
}

struct entry **store_find(struct store *store, const struct key *key,
			  struct store_clock *clock)
{
	struct stripe *stripe = store_stripe(store, key->hash);
	struct entry **entry =
		table_find(&stripe->table, key->hash, key->bytes);

	if (entry && has_expired(*entry, clock)) {
		if (store->on_expired)
			store->on_expired(store, clock, key);
		remove_key(store, key, clock->garbage, true);
		return NULL;
	}
	return entry;
}

bool store_add(struct store *store, const struct key *key, struct entry *entry)
{
	struct stripe *stripe = store_stripe(store, key->hash);

	if (!table_add(&stripe->table, &store->secret, key->hash, entry))
		return false;
	stripe->changes++;
	account(store, stripe, (int64_t)entry_memory(entry));
	if (entry->expires_ms)
		count_expiring(stripe, 1);
	touch(stripe, key, false);
	return true;
}

void store_changed(struct store *store, const struct key *key,
		   const struct entry *entry, size_t before)
{
	struct stripe *stripe = store_stripe(store, key->hash);
	int64_t change = (int64_t)entry_memory(entry) - (int64_t)before;

	stripe->changes++;
	if (change)
		account(store, stripe, change);
	if (stripe->watches)
		touch(stripe, key, false);
}

void store_expire(struct store *store, const struct key *key,
		  struct entry *entry, int64_t expires_ms)
{
	struct stripe *stripe = store_stripe(store, key->hash);

	stripe->changes++;
	count_expiring(stripe, (expires_ms != 0) - (entry->expires_ms != 0));
	entry->expires_ms = expires_ms;
	touch(stripe, key, false);
}

/* @old: another entry of the key, which is removed; NULL: there is none. */
static bool put_new(struct store *store, const struct key *key,
		    struct bytes value, int64_t expires_ms,
		    const struct entry *old, struct garbage *garbage)
{
	struct entry *entry = entry_create(key->bytes, value.size);

	if (!entry)
		return false;
	entry->expires_ms = expires_ms > 0 ? expires_ms : 0;
	if (!entry_set(&entry, value)) {
		entry_free(entry);
		return false;
	}
	if (old) {
		if (expires_ms < 0)
			entry->expires_ms = old->expires_ms;
		remove_key(store, key, garbage, false);
	}
	/* After a removal there is a place. */
	if (store_add(store, key, entry))
		return true;
	entry_free(entry);
	return false;
}

bool store_put(struct store *store, const struct key *key, struct bytes value,
	       int64_t expires_ms, struct store_clock *clock)
{
	struct entry **entry = store_find(store, key, clock);
	size_t before;

	if (!entry || !entry_is_string(*entry))
		return put_new(store, key, value, expires_ms,
			       entry ? *entry : NULL, clock->garbage);
	before = entry_memory(*entry);
	if (!entry_set(entry, value))
		return false;
	if (expires_ms >= 0 && expires_ms != (*entry)->expires_ms)
		store_expire(store, key, *entry, expires_ms);
	store_changed(store, key, *entry, before);
	return true;
}

/* ---- watches ------------------------------------------------------------------ */

bool store_watch(struct store *store, struct watch *watch,
		 struct store_clock *clock)
{
	struct stripe *stripe = store_stripe(store, watch->key.hash);
	struct entry **entry =
		table_find(&stripe->table, watch->key.hash, watch->key.bytes);

	watch->expired = entry && has_expired(*entry, clock);
	return watches_add(&stripe->watches, watch);
}

void store_unwatch(struct store *store, struct watch *watch)
{
	watches_remove(&store_stripe(store, watch->key.hash)->watches, watch);
}

/* ---- figures ------------------------------------------------------------------ */

uint64_t store_count(const struct store *store)
{
	uint64_t count = 0;

	for (unsigned i = 0; i < STORE_STRIPES; i++)
		count += table_count(&store->stripes[i].table);
	return count;
}

uint64_t store_count_expiring(const struct store *store)
{
	uint64_t count = 0;

	for (unsigned i = 0; i < STORE_STRIPES; i++)
		/* Relaxed: a number that changes. */
		count += __atomic_load_n(&store->stripes[i].expiring,
					 __ATOMIC_RELAXED);
	return count;
}
