/* SPDX-License-Identifier: MIT */
/**
 * table.h - a hash table of entries
 *
 * A bucket is one cache line: seven entries, and a byte of the hash of each, so that a
 * lookup reads one line of the table and mostly one entry. A bucket that is full gets
 * another one behind it. A table that grows or shrinks has two arrays for a time, and
 * each insertion and removal moves at most four buckets from the first to the second.
 *
 * The caller holds the lock of the table, and frees the entries.
 */
#ifndef SKUA_BENCH_KV_TABLE_H
#define SKUA_BENCH_KV_TABLE_H

#include "bench/kv/store/entry.h"
#include "bench/kv/store/hash.h"

#define BUCKET_ENTRIES 7

/**
 * struct bucket - entries of the same place
 * @tags: the highest byte of each hash
 * @bits: a bit for each entry that is there; BUCKET_CHAINED: the last place holds the
 *        next bucket instead of an entry
 */
#define BUCKET_CHAINED 0x80
struct bucket {
	uint8_t tags[BUCKET_ENTRIES];
	uint8_t bits;
	union {
		struct entry *entries[BUCKET_ENTRIES];
		struct {
			void *others[BUCKET_ENTRIES - 1];
			struct bucket *next;
		};
	};
};

/**
 * struct table - zeroed at first
 * @buckets: the arrays; the second one is NULL unless entries are moved to it
 * @masks: their sizes, less one
 * @moved: buckets of the first one that were moved
 * @used: number of entries; changed under the lock, by stores that table_count() may
 *        see in any order
 */
struct table {
	struct bucket *buckets[2];
	uint64_t masks[2];
	uint64_t moved;
	uint64_t used;
};

/* table_find - return the place of the entry with a key; NULL: there is none */
struct entry **table_find(const struct table *table, uint64_t hash,
			  struct bytes key);

/* table_add - add an entry, whose key is not in the table. Return: false: no memory */
bool table_add(struct table *table, const struct hash_secret *secret,
	       uint64_t hash, struct entry *entry);

/* table_remove - remove the entry of a key, and return it; NULL: there is none */
struct entry *table_remove(struct table *table,
			   const struct hash_secret *secret, uint64_t hash,
			   struct bytes key);

/**
 * table_scan - visit the entries of the next bucket
 * @cursor: 0 at first, then the result of the call before
 *
 * The visits do not change the table. An entry that is there all the time is visited at
 * least once, however the table grows or shrinks in between. Return: the next cursor; 0:
 * all were visited.
 */
uint64_t table_scan(const struct table *table, uint64_t cursor,
		    void (*visit)(void *ctx, struct entry *entry), void *ctx);

/* table_clear - remove all entries, and free the table. @visit: may free the entry */
void table_clear(struct table *table,
		 void (*visit)(void *ctx, struct entry *entry), void *ctx);

/* table_free_some - remove about @count entries, and call @visit for each. Afterwards only
 * this function and table_clear() may be called. Return: false: none is left, and the table
 * is freed */
bool table_free_some(struct table *table, uint64_t count,
		     void (*visit)(void *ctx, struct entry *entry), void *ctx);

/* table_count - return the number of entries. Any thread, without the lock. */
static inline uint64_t table_count(const struct table *table)
{
	/* Relaxed: a number that changes. Pairs with nothing. */
	return __atomic_load_n(&table->used, __ATOMIC_RELAXED);
}

/* table_set_first - set the first array. table_prefetch() reads it without the lock. */
static inline void table_set_first(struct table *table, struct bucket *buckets,
				   uint64_t mask)
{
	/* Relaxed: the reader only computes an address from both. */
	__atomic_store_n(&table->buckets[0], buckets, __ATOMIC_RELAXED);
	__atomic_store_n(&table->masks[0], mask, __ATOMIC_RELAXED);
}

/* table_prefetch - ask the CPU for the bucket of a hash. Any thread, without the lock: the
 * address may be of an array that is gone, and is not read. */
void table_prefetch(const struct table *table, uint64_t hash);

/* table_prefetch_entry - ask the CPU for the entry that may have a hash. With the lock. */
void table_prefetch_entry(const struct table *table, uint64_t hash);

/* table_forget - make a table empty whose buckets belong to another one, or are freed */
static inline void table_forget(struct table *table)
{
	table_set_first(table, NULL, 0);
	table->buckets[1] = NULL;
	table->masks[1] = table->moved = 0;
	/* Relaxed: for table_count(). */
	__atomic_store_n(&table->used, 0, __ATOMIC_RELAXED);
}

#endif
