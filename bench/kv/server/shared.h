/* SPDX-License-Identifier: MIT */
/* shared.h - fields that others read while their only writer, or the holder of a lock, writes */
#ifndef SKUA_BENCH_KV_SHARED_H
#define SKUA_BENCH_KV_SHARED_H

/* shared_read, shared_write - an atomic load and store of a field
 *
 * Relaxed: each field says something by itself. */
#define shared_read(field) __atomic_load_n(field, __ATOMIC_RELAXED)
#define shared_write(field, value) \
	__atomic_store_n(field, value, __ATOMIC_RELAXED)

#endif
