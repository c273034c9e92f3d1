/* SPDX-License-Identifier: MIT */
/* table.c - a hash table of entries */
#include "bench/kv/store/table.h"

#include <stdlib.h>
#include <sys/mman.h>

/* The lowest bits of a hash choose the stripe. */
#define BUCKET_SHIFT 10
/* Entries of a bucket, on average, above which a table grows, and below which it
 * shrinks. Guesses. */
#define MOST_ENTRIES  5
#define LEAST_ENTRIES 1

#define LOW_BITS  UINT64_C(0x0101010101010101)
#define HIGH_BITS UINT64_C(0x8080808080808080)

static uint8_t tag_of(uint64_t hash)
{
	return (uint8_t)(hash >> 56);
}

static uint64_t place_of(const struct table *table, int array, uint64_t hash)
{
	return hash >> BUCKET_SHIFT & table->masks[array];
}

static struct bucket *next_of(const struct bucket *bucket)
{
	return bucket->bits & BUCKET_CHAINED ? bucket->next : NULL;
}

/* A bit for each place that may hold an entry. */
static unsigned places(const struct bucket *bucket)
{
	return bucket->bits & BUCKET_CHAINED ? 0x3f : 0x7f;
}

static void set_used(struct table *table, uint64_t used)
{
	/* Relaxed: for table_count(). */
	__atomic_store_n(&table->used, used, __ATOMIC_RELAXED);
}

/* ---- search ------------------------------------------------------------------- */

/* Find the entries of a bucket whose tag is the one that is wanted: the highest bit of
 * their bytes. There may be bits too many, for which the key is compared in vain. */
static uint64_t find_tags(const struct bucket *bucket, uint8_t tag)
{
	uint64_t tags;

	memcpy(&tags, bucket->tags, sizeof(tags));
	tags ^= tag * LOW_BITS;
	return (tags - LOW_BITS) & ~tags & HIGH_BITS;
}

/* Return the place of a key in a bucket; -1: there is none. */
static int find_in(const struct bucket *bucket, uint8_t tag, struct bytes key)
{
	uint64_t found = find_tags(bucket, tag);

	for (; found; found &= found - 1) {
		int i = __builtin_ctzll(found) / 8;

		if (i < BUCKET_ENTRIES && bucket->bits >> i & 1 &&
		    bytes_equal(entry_key(bucket->entries[i]), key))
			return i;
	}
	return -1;
}

/* Where a key is. @before: the bucket before it in the chain, or NULL. */
struct spot {
	struct bucket *bucket, *before;
	int at;
};

static bool locate(const struct table *table, uint64_t hash, struct bytes key,
		   struct spot *spot)
{
	for (int array = 0; array < 2 && table->buckets[array]; array++) {
		uint64_t place = place_of(table, array, hash);

		if (array == 0 && table->buckets[1] && place < table->moved)
			continue;
		spot->before = NULL;
		spot->bucket = &table->buckets[array][place];
		while (spot->bucket) {
			spot->at = find_in(spot->bucket, tag_of(hash), key);
			if (spot->at >= 0)
				return true;
			spot->before = spot->bucket;
			spot->bucket = next_of(spot->bucket);
		}
	}
	return false;
}

struct entry **table_find(const struct table *table, uint64_t hash,
			  struct bytes key)
{
	struct spot spot;

	if (!locate(table, hash, key, &spot))
		return NULL;
	return &spot.bucket->entries[spot.at];
}

/* ---- growth ------------------------------------------------------------------- */

/* Get another bucket for one that is full. Its last entry moves there. */
static struct bucket *chain(struct bucket *bucket)
{
	struct bucket *next = aligned_alloc(64, sizeof(*next));

	if (!next)
		return NULL;
	memset(next, 0, sizeof(*next));
	next->tags[0] = bucket->tags[BUCKET_ENTRIES - 1];
	next->entries[0] = bucket->entries[BUCKET_ENTRIES - 1];
	next->bits = 1;
	bucket->bits = (uint8_t)((bucket->bits & 0x3f) | BUCKET_CHAINED);
	bucket->next = next;
	return next;
}

static bool add_to(struct bucket *bucket, uint8_t tag, struct entry *entry)
{
	unsigned empty;

	while (!(empty = places(bucket) & ~(unsigned)bucket->bits)) {
		struct bucket *next = next_of(bucket);

		bucket = next ? next : chain(bucket);
		if (!bucket)
			return false;
	}
	empty = (unsigned)__builtin_ctz(empty);
	bucket->tags[empty] = tag;
	bucket->entries[empty] = entry;
	bucket->bits = (uint8_t)(bucket->bits | 1u << empty);
	return true;
}

/* Large arrays are mapped: the kernel provides a page when it is first written to, so that
 * a table grows in no time, however large it is. */
#define MAPPED 65536u

static struct bucket *new_array(uint64_t mask)
{
	size_t size = (size_t)(mask + 1) * sizeof(struct bucket);
	void *array;

	if (size >= MAPPED) {
		array = mmap(NULL, size, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		return array == MAP_FAILED ? NULL : array;
	}
	array = aligned_alloc(64, size);
	if (array)
		memset(array, 0, size);
	return array;
}

static void free_array(struct bucket *array, uint64_t mask)
{
	size_t size = (size_t)(mask + 1) * sizeof(struct bucket);

	if (array && size >= MAPPED)
		munmap(array, size);
	else
		free(array);
}

/* The entries of the first array have all been moved. */
static void finish_move(struct table *table)
{
	free_array(table->buckets[0], table->masks[0]);
	table_set_first(table, table->buckets[1], table->masks[1]);
	table->buckets[1] = NULL;
	table->moved = 0;
}

/* Move the entries of one bucket. Without memory, the rest stays for the next call. */
static void move_bucket(struct table *table, const struct hash_secret *secret)
{
	struct bucket *first = &table->buckets[0][table->moved];
	struct bucket *bucket = first, *next;

	for (; bucket; bucket = next) {
		unsigned bits = bucket->bits & places(bucket);

		for (; bits; bits &= bits - 1) {
			int i = __builtin_ctz(bits);
			struct entry *entry = bucket->entries[i];
			struct bytes key = entry_key(entry);
			uint64_t hash = hash_bytes(secret, key.data, key.size);

			if (!add_to(&table->buckets[1]
						   [place_of(table, 1, hash)],
				    tag_of(hash), entry))
				return;
			bucket->bits = (uint8_t)(bucket->bits & ~(1u << i));
		}
		next = next_of(bucket);
		if (bucket != first) {
			first->bits = next ? BUCKET_CHAINED : 0;
			first->next = next;
			free(bucket);
		}
	}
	first->bits = 0;
	if (++table->moved > table->masks[0])
		finish_move(table);
}

/* Begin to move to an array of another size, if there are too many or too few
 * entries. Without memory, the table stays as it is. */
static void resize(struct table *table)
{
	uint64_t mask = table->masks[0], size = mask + 1;

	if (table->buckets[1])
		return;
	if (table->used > size * MOST_ENTRIES)
		mask = size * 2 - 1;
	else if (size > 1 && table->used < size * LEAST_ENTRIES)
		mask = size / 2 - 1;
	else
		return;
	table->buckets[1] = new_array(mask);
	table->masks[1] = mask;
	table->moved = 0;
}

static void step(struct table *table, const struct hash_secret *secret)
{
	resize(table);
	/* Several: a table that shrinks has more buckets than entries. */
	for (int i = 0; i < 4 && table->buckets[1]; i++)
		move_bucket(table, secret);
}

bool table_add(struct table *table, const struct hash_secret *secret,
	       uint64_t hash, struct entry *entry)
{
	int array;

	if (!table->buckets[0]) {
		table_set_first(table, new_array(0), 0);
		if (!table->buckets[0])
			return false;
	}
	step(table, secret);
	array = table->buckets[1] != NULL;
	if (!add_to(&table->buckets[array][place_of(table, array, hash)],
		    tag_of(hash), entry))
		return false;
	set_used(table, table->used + 1);
	return true;
}

struct entry *table_remove(struct table *table,
			   const struct hash_secret *secret, uint64_t hash,
			   struct bytes key)
{
	struct entry *entry;
	struct spot spot;

	if (!locate(table, hash, key, &spot))
		return NULL;
	entry = spot.bucket->entries[spot.at];
	spot.bucket->bits = (uint8_t)(spot.bucket->bits & ~(1u << spot.at));
	set_used(table, table->used - 1);
	if (spot.before && !(spot.bucket->bits & places(spot.bucket))) {
		spot.before->next = next_of(spot.bucket);
		if (!spot.before->next)
			spot.before->bits &= (uint8_t)~BUCKET_CHAINED;
		free(spot.bucket);
	}
	step(table, secret);
	return entry;
}

/* ---- all entries -------------------------------------------------------------- */

static uint64_t reversed(uint64_t word)
{
	word = (word >> 1 & UINT64_C(0x5555555555555555)) |
	       (word & UINT64_C(0x5555555555555555)) << 1;
	word = (word >> 2 & UINT64_C(0x3333333333333333)) |
	       (word & UINT64_C(0x3333333333333333)) << 2;
	word = (word >> 4 & UINT64_C(0x0f0f0f0f0f0f0f0f)) |
	       (word & UINT64_C(0x0f0f0f0f0f0f0f0f)) << 4;
	return __builtin_bswap64(word);
}

/* Count up from the highest bit within the mask: the buckets into which one splits, or
 * that merge into one, then follow each other (the method of Redis). */
static uint64_t next_cursor(uint64_t cursor, uint64_t mask)
{
	return reversed(reversed(cursor | ~mask) + 1);
}

static void visit_chain(const struct bucket *bucket,
			void (*visit)(void *ctx, struct entry *entry),
			void *ctx)
{
	for (; bucket; bucket = next_of(bucket)) {
		unsigned bits = bucket->bits & places(bucket);

		for (; bits; bits &= bits - 1)
			visit(ctx, bucket->entries[__builtin_ctz(bits)]);
	}
}

uint64_t table_scan(const struct table *table, uint64_t cursor,
		    void (*visit)(void *ctx, struct entry *entry), void *ctx)
{
	int small = 0, large = 1;
	uint64_t masks;

	if (!table->buckets[0])
		return 0;
	if (!table->buckets[1]) {
		uint64_t mask = table->masks[0];

		visit_chain(&table->buckets[0][cursor & mask], visit, ctx);
		return next_cursor(cursor, mask);
	}
	if (table->masks[0] > table->masks[1]) {
		small = 1;
		large = 0;
	}
	masks = table->masks[small] ^ table->masks[large];
	visit_chain(&table->buckets[small][cursor & table->masks[small]], visit,
		    ctx);
	do {
		visit_chain(
			&table->buckets[large][cursor & table->masks[large]],
			visit, ctx);
		cursor = next_cursor(cursor, table->masks[large]);
	} while (cursor & masks);
	return cursor;
}

/* Visit the entries of a bucket, and make it empty. */
static void clear_bucket(struct bucket *bucket,
			 void (*visit)(void *ctx, struct entry *entry),
			 void *ctx)
{
	struct bucket *more = next_of(bucket), *next;

	visit_chain(bucket, visit, ctx);
	for (; more; more = next) {
		next = next_of(more);
		free(more);
	}
	bucket->bits = 0;
}

void table_clear(struct table *table,
		 void (*visit)(void *ctx, struct entry *entry), void *ctx)
{
	while (table_free_some(table, UINT64_MAX, visit, ctx))
		;
}

bool table_free_some(struct table *table, uint64_t count,
		     void (*visit)(void *ctx, struct entry *entry), void *ctx)
{
	/* A bucket has about three entries. */
	uint64_t left = count / 3 + 1;

	/* The buckets that were moved are empty; the others follow them in turn. */
	while (table->buckets[0] && left--) {
		clear_bucket(&table->buckets[0][table->moved], visit, ctx);
		if (++table->moved > table->masks[0])
			finish_move(table);
	}
	if (table->buckets[0])
		return true;
	table_forget(table);
	return false;
}

void table_prefetch(const struct table *table, uint64_t hash)
{
	/* Relaxed: see table_set_first(). */
	const struct bucket *buckets =
		__atomic_load_n(&table->buckets[0], __ATOMIC_RELAXED);
	uint64_t mask = __atomic_load_n(&table->masks[0], __ATOMIC_RELAXED);
	uintptr_t place = (hash >> BUCKET_SHIFT & mask) * sizeof(*buckets);

	__builtin_prefetch((const void *)((uintptr_t)buckets + place));
}

void table_prefetch_entry(const struct table *table, uint64_t hash)
{
	const struct bucket *bucket;
	uintptr_t entry;
	uint64_t found;

	/* The first array alone, and the first bucket: most entries are there. */
	if (!table->buckets[0])
		return;
	bucket = &table->buckets[0][place_of(table, 0, hash)];
	found = find_tags(bucket, tag_of(hash));
	if (!found)
		return;
	entry = (uintptr_t)bucket
			->entries[__builtin_ctzll(found) / 8 % BUCKET_ENTRIES];
	/* An entry is rarely within one line: its key may begin in the second. */
	__builtin_prefetch((const void *)entry);
	__builtin_prefetch((const void *)(entry + 64));
}
