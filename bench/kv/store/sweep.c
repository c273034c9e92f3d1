/* SPDX-License-Identifier: MIT */
/* sweep.c - removes many keys: those that have expired, and all of them */
#include <stdlib.h>

#include "bench/kv/store/store.h"

/* Buckets that a sweep reads, and keys that it removes, while it has the lock: some
 * microseconds. */
#define SWEEP_BUCKETS 16
#define SWEEP_KEYS    32

/* ---- expired keys ------------------------------------------------------------- */

struct found {
	struct store_clock clock;
	struct entry *entries[SWEEP_KEYS];
	unsigned count;
};

static void find_expired(void *ctx, struct entry *entry)
{
	struct found *found = ctx;

	if (entry->expires_ms && found->count < SWEEP_KEYS &&
	    entry->expires_ms <= store_now_ms(&found->clock))
		found->entries[found->count++] = entry;
}

bool store_sweep(struct store *store, struct stripe *stripe,
		 struct garbage *garbage)
{
	struct found found = { .clock.garbage = garbage };
	unsigned buckets = 0;

	/* Relaxed: the next sweep sees a key that is missed here. */
	if (!__atomic_load_n(&stripe->expiring, __ATOMIC_RELAXED))
		return false;
	store_lock(stripe);
	do {
		stripe->cursor = table_scan(&stripe->table, stripe->cursor,
					    find_expired, &found);
		buckets++;
	} while (stripe->cursor && buckets < SWEEP_BUCKETS &&
		 found.count < SWEEP_KEYS / 2);
	for (unsigned i = 0; i < found.count; i++) {
		struct key key = store_key(store, entry_key(found.entries[i]));

		/* Removes the key, whose bytes are the entry's own. */
		store_find(store, &key, &found.clock);
	}
	store_unlock(stripe);
	return found.count * 4 > buckets * BUCKET_ENTRIES;
}

/* ---- all keys ----------------------------------------------------------------- */

/* The tables of a store that was flushed. */
struct flushed {
	struct flushed *next;
	unsigned done;
	struct table tables[STORE_STRIPES];
};

static void free_entry(void *ctx, struct entry *entry)
{
	(void)ctx;
	entry_free(entry);
}

/* Tell a client that watches a key that exists. */
static void touch_existing(void *of, struct watch *watch)
{
	const struct stripe *stripe = of;

	if (table_find(&stripe->table, watch->key.hash, watch->key.bytes))
		/* Relaxed: as in touch() of store.c. */
		__atomic_store_n(watch->touched, true, __ATOMIC_RELAXED);
}

void store_flush(struct store *store, struct garbage *garbage)
{
	struct flushed *flushed = calloc(1, sizeof(*flushed));

	for (unsigned i = 0; i < STORE_STRIPES; i++) {
		struct stripe *stripe = &store->stripes[i];

		if (!stripe->table.buckets[0])
			continue;
		stripe->changes++;
		watches_each(stripe->watches, touch_existing, stripe);
		/* Its bytes that are in the total. */
		store_account(store, stripe->unsaid - stripe->memory);
		stripe->memory = stripe->unsaid = 0;
		/* Relaxed: as in count_expiring() of store.c. */
		__atomic_store_n(&stripe->expiring, 0, __ATOMIC_RELAXED);
		stripe->cursor = 0;
		if (flushed)
			flushed->tables[i] = stripe->table;
		else
			table_clear(&stripe->table, free_entry, NULL);
		table_forget(&stripe->table);
	}
	if (flushed) {
		flushed->next = garbage->flushed;
		garbage->flushed = flushed;
	}
}

bool garbage_free(struct garbage *garbage)
{
	struct entry *entry = garbage->entries;
	struct flushed *flushed = garbage->flushed;

	if (entry) {
		struct entry *next = entry->next;

		if (!entry_free_some(entry))
			garbage->entries = next;
		return true;
	}
	if (!flushed)
		return false;
	if (flushed->done < STORE_STRIPES) {
		table_clear(&flushed->tables[flushed->done++], free_entry,
			    NULL);
		return true;
	}
	garbage->flushed = flushed->next;
	free(flushed);
	return garbage->flushed != NULL;
}
