/* SPDX-License-Identifier: MIT */
/**
 * store.h - the keys and values of all clients, in stripes
 *
 * The hash of a key chooses one of STORE_STRIPES stripes, each with a mutex and a table.
 * A command runs where its bytes arrive: it locks the stripes of its keys in ascending
 * order, does its work, and unlocks them. The alternative, that each worker owns a part
 * of the keys, makes most commands visit another worker: two wake-ups for each, which
 * cost more than a lock that is mostly free.
 *
 * Except where an entry says otherwise, the caller holds the lock of the stripe.
 *
 * Memory: each stripe adds up its changes, and passes them on to the total in steps of
 * STORE_STEP bytes. The total may therefore differ by STORE_STEP for each stripe.
 */
#ifndef SKUA_BENCH_KV_STORE_H
#define SKUA_BENCH_KV_STORE_H

#include <skua/sync.h>

#include "bench/kv/store/table.h"
#include "bench/kv/store/watches.h"

#define STORE_STRIPES 1024u
#define STORE_STEP    4096

/**
 * struct stripe - a part of the keys
 * @lock: protects the other fields
 * @table: the entries
 * @expiring: number of entries that expire; others may read it without the lock
 * @changes: number of changes; store_flush() is one of each stripe that has had keys
 * @memory: bytes of the entries
 * @unsaid: the part of @memory that is not yet in the total
 * @watches: watched keys; NULL: none
 * @cursor: where the next sweep goes on
 */
struct stripe {
	struct skua_mutex lock;
	struct table table;
	uint64_t expiring;
	uint64_t changes;
	int64_t memory, unsaid;
	struct watches *watches;
	uint64_t cursor;
} __attribute__((aligned(128)));

struct store_clock;

/**
 * struct store - all keys
 * @memory: bytes of all entries; changed atomically
 * @expired: number of keys that have expired; changed atomically
 * @on_expired: called before a key is removed because it has expired; NULL: not
 * @owner: for @on_expired
 */
struct store {
	struct hash_secret secret;
	uint64_t memory;
	uint64_t expired;
	void (*on_expired)(struct store *store, struct store_clock *clock,
			   const struct key *key);
	void *owner;
	struct stripe stripes[STORE_STRIPES];
};

/* struct garbage - memory that is freed after the locks; zeroed at first */
struct garbage {
	struct entry *entries;
	struct flushed *flushed;
};

/**
 * struct store_clock - for the commands that run together
 * @now_ms: the time; 0: not read yet
 * @garbage: receives large values of keys that have expired or are replaced, which take long
 *           to free; NULL: they are freed at once
 * @batch: collects records for the log, also of keys that have expired; NULL: they are added at
 *         once
 */
struct store_clock {
	int64_t now_ms;
	struct garbage *garbage;
	struct record_batch *batch;
};

/* store_create, store_destroy - make an empty store, NULL: no memory; free all */
struct store *store_create(void);
void store_destroy(struct store *store);

/* store_now_ms - return the time, which is read once for each clock. No lock. */
int64_t store_now_ms(struct store_clock *clock);

/* store_key - return a key with its hash. No lock. */
static inline struct key store_key(const struct store *store,
				   struct bytes bytes)
{
	return (struct key){ bytes, hash_bytes(&store->secret, bytes.data,
					       bytes.size) };
}

static inline struct stripe *store_stripe(struct store *store, uint64_t hash)
{
	return &store->stripes[hash % STORE_STRIPES];
}

/* store_prefetch_stripe, store_prefetch - ask the CPU for the stripe of a hash, and then for
 * its bucket. No lock. */
static inline void store_prefetch_stripe(struct store *store, uint64_t hash)
{
	__builtin_prefetch(store_stripe(store, hash), 1);
}

static inline void store_prefetch(struct store *store, uint64_t hash)
{
	table_prefetch(&store_stripe(store, hash)->table, hash);
}

/* store_prefetch_entry - ask the CPU for the entry of a hash, after store_prefetch(). The
 * stripe must not be locked by the caller. */
static inline void store_prefetch_entry(struct store *store, uint64_t hash)
{
	struct stripe *stripe = store_stripe(store, hash);

	if (skua_mutex_lock_try(&stripe->lock))
		return;
	table_prefetch_entry(&stripe->table, hash);
	skua_mutex_unlock(&stripe->lock);
}

/* store_lock, store_unlock - lock and unlock a stripe
 *
 * A fiber must mask cancels meanwhile (skua_cancel_mask()): a lock cannot fail. */
void store_lock(struct stripe *stripe);
void store_unlock(struct stripe *stripe);

/**
 * struct store_set - some of the stripes; zeroed: none
 * @words: a bit for each stripe
 * @used: a bit for each word with stripes; further bits mean nothing
 */
struct store_set {
	uint64_t words[STORE_STRIPES / 64];
	uint64_t used;
};

static inline void store_set_add(struct store_set *set, uint64_t hash)
{
	uint64_t stripe = hash % STORE_STRIPES;

	set->words[stripe / 64] |= UINT64_C(1) << stripe % 64;
	set->used |= UINT64_C(1) << stripe / 64;
}

/* store_set_next - return the first stripe of a set from number @i on; STORE_STRIPES: there is
 * none */
static inline unsigned store_set_next(const struct store_set *set, unsigned i)
{
	while (i < STORE_STRIPES) {
		unsigned word = i / 64;
		uint64_t bits = set->words[word] >> i % 64;
		uint64_t later = set->used >> word >> 1;

		if (bits)
			return i + (unsigned)__builtin_ctzll(bits);
		if (!later)
			break;
		i = (word + 1 + (unsigned)__builtin_ctzll(later)) * 64;
	}
	return STORE_STRIPES;
}

/* STORE_SET_EACH - visit the stripes of a set in ascending order: for (STORE_SET_EACH(i, set)) */
#define STORE_SET_EACH(i, set)               \
	unsigned i = store_set_next(set, 0); \
	i < STORE_STRIPES;                   \
	i = store_set_next(set, i + 1)

/* store_lock_set, store_unlock_set - lock stripes in ascending order, unlock them */
void store_lock_set(struct store *store, const struct store_set *set);
void store_unlock_set(struct store *store, const struct store_set *set);

/* store_find - return the place of an entry that exists; NULL: there is none. An entry
 * that has expired is removed. */
struct entry **store_find(struct store *store, const struct key *key,
			  struct store_clock *clock);

/* store_find_to_read - the same, without changing anything */
struct entry **store_find_to_read(struct store *store, const struct key *key,
				  struct store_clock *clock);

/**
 * store_put - make a string the value of a key, whatever it was before
 * @expires_ms: see struct entry; -1: the time of the entry stays
 *
 * Return: false: no memory, and nothing was done.
 */
bool store_put(struct store *store, const struct key *key, struct bytes value,
	       int64_t expires_ms, struct store_clock *clock);

/* store_add - add an entry, whose key does not exist. Return: false: no memory */
bool store_add(struct store *store, const struct key *key, struct entry *entry);

/* store_changed - account for the change of a value, and tell clients that watch the key.
 * @before: entry_memory() before the change */
void store_changed(struct store *store, const struct key *key,
		   const struct entry *entry, size_t before);

/* store_expire - set the time from which on an entry does not exist; 0: never */
void store_expire(struct store *store, const struct key *key,
		  struct entry *entry, int64_t expires_ms);

/* store_remove - remove a key. @garbage: receives what takes long to free. Return: whether
 * it was there */
bool store_remove(struct store *store, const struct key *key,
		  struct garbage *garbage);

/* store_flush - remove all keys. All stripes are locked. */
void store_flush(struct store *store, struct garbage *garbage);

/* store_count - return the number of keys, expired ones included. No lock. */
uint64_t store_count(const struct store *store);

/* store_count_expiring - return the number of keys that expire. No lock. */
uint64_t store_count_expiring(const struct store *store);

/* store_memory - return the bytes of all entries, and of the values that others still have after
 * they were removed. No lock. */
static inline uint64_t store_memory(const struct store *store)
{
	/* Relaxed: the number bounds nothing exactly. */
	uint64_t memory = __atomic_load_n(&store->memory, __ATOMIC_RELAXED);

	return ((int64_t)memory < 0 ? 0 : memory) + blob_left();
}

/* store_account - add to the memory of all, or take away. No lock. */
static inline void store_account(struct store *store, int64_t change)
{
	/* Relaxed: as in store_memory(). */
	__atomic_fetch_add(&store->memory, (uint64_t)change, __ATOMIC_RELAXED);
}

/* store_watch - begin to watch a key. Return: false: no memory */
bool store_watch(struct store *store, struct watch *watch,
		 struct store_clock *clock);

/* store_unwatch - end to watch a key */
void store_unwatch(struct store *store, struct watch *watch);

/* store_sweep - remove some keys that have expired from a stripe. The stripe is not
 * locked. @garbage: receives large values, which take long to free. Return: whether there may be more */
bool store_sweep(struct store *store, struct stripe *stripe,
		 struct garbage *garbage);

/* garbage_free - free a part of the garbage, about as long as a poll may take. No lock.
 * Return: whether there is more */
bool garbage_free(struct garbage *garbage);

#endif
