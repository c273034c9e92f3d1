/* SPDX-License-Identifier: MIT */
/**
 * dump.h - the keys of a stripe as records that create them
 *
 * The time of these records is 1 ms after 1970, so that a replay finds no key expired: a
 * command that comes later in the log may have seen an earlier time than that of the dump, and
 * a key that had not expired.
 */
#ifndef SKUA_BENCH_KV_DUMP_H
#define SKUA_BENCH_KV_DUMP_H

#include "bench/kv/log/pieces.h"
#include "bench/kv/store/store.h"

/**
 * dump_stripe - add the records of all keys of a stripe
 *
 * The stripe is locked. A list or a hash becomes several records. A string of 64 KiB or more is
 * not copied: the pieces share it.
 *
 * Return: false: no memory.
 */
bool dump_stripe(const struct stripe *stripe, struct pieces *pieces);

#endif
