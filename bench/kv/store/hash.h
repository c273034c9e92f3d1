/* SPDX-License-Identifier: MIT */
/* hash.h - SipHash-1-3 of keys, so that clients cannot choose keys that collide */
#ifndef SKUA_BENCH_KV_HASH_H
#define SKUA_BENCH_KV_HASH_H

#include <stddef.h>
#include <stdint.h>

/* A secret of the process. */
struct hash_secret {
	uint64_t words[2];
};

/* hash_bytes - return the hash of @size bytes */
uint64_t hash_bytes(const struct hash_secret *secret, const void *data,
		    size_t size);

#endif
