/* SPDX-License-Identifier: MIT */
/* blob.c - the references of large values */
#include "bench/kv/resp/blob.h"

/* See blob_left(). Any thread changes it. Relaxed: a sum, which bounds nothing exactly. */
static uint64_t left_bytes;

static uint64_t bytes_of(const struct blob *blob)
{
	return sizeof(*blob) + blob->room;
}

void blob_drop(struct blob *blob)
{
	/* Release: the uses of this owner, and the mark of blob_leave(), come before the
	 * free() or the change of another one. Acquire: the uses of the others come before
	 * this free(). Pairs with itself and with blob_is_shared(). */
	if (__atomic_fetch_sub(&blob->references, 1, __ATOMIC_ACQ_REL) != 1)
		return;
	if (blob->left)
		__atomic_fetch_sub(&left_bytes, bytes_of(blob),
				   __ATOMIC_RELAXED);
	free(blob);
}

void blob_leave(struct blob *blob)
{
	/* The drop of the last reference takes the bytes away again. */
	if (blob_is_shared(blob)) {
		blob->left = true;
		__atomic_fetch_add(&left_bytes, bytes_of(blob),
				   __ATOMIC_RELAXED);
	}
	blob_drop(blob);
}

uint64_t blob_left(void)
{
	return __atomic_load_n(&left_bytes, __ATOMIC_RELAXED);
}
