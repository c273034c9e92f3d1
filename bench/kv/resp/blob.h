/* SPDX-License-Identifier: MIT */
/* blob.h - large values, which the store and replies share */
#ifndef SKUA_BENCH_KV_BLOB_H
#define SKUA_BENCH_KV_BLOB_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

/**
 * struct blob - bytes that several owners share
 * @references: number of owners. Any thread that owns one may add or drop one
 * @size, @room: bytes in use, and bytes that are there. Changed only by the store, under
 *               the lock of the stripe, while there is one reference
 * @left: the store has no reference any more. Set by it, before it drops its own
 */
struct blob {
	uint64_t references;
	size_t size, room;
	bool left;
	char data[];
};

/* blob_create - make a blob without bytes, with one reference. Return: NULL: no memory */
static inline struct blob *blob_create(size_t room)
{
	struct blob *blob = malloc(sizeof(*blob) + room);

	if (!blob)
		return NULL;
	blob->references = 1;
	blob->size = 0;
	blob->room = room;
	blob->left = false;
	return blob;
}

/* blob_is_shared - tell whether there is another owner. Only the store asks, under the
 * lock that it also holds when it adds references. */
static inline int blob_is_shared(const struct blob *blob)
{
	/* Acquire: the reads of the owner that dropped its reference are over. Pairs
	 * with the release in blob_drop(). */
	return __atomic_load_n(&blob->references, __ATOMIC_ACQUIRE) > 1;
}

/* blob_take - add a reference */
static inline void blob_take(struct blob *blob)
{
	/* Relaxed: the caller has a reference, or the lock of its owner. */
	__atomic_fetch_add(&blob->references, 1, __ATOMIC_RELAXED);
}

/* blob_drop - drop a reference; the last one frees the blob */
void blob_drop(struct blob *blob);

/* blob_leave - drop the reference of the store. If there are others, the blob counts in blob_left()
 * until they are dropped */
void blob_leave(struct blob *blob);

/* blob_left - return the bytes of all blobs that the store has left to other owners */
uint64_t blob_left(void);

#endif
