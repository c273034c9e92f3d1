/* SPDX-License-Identifier: MIT */
/**
 * watches.h - the keys of a stripe that clients watch, or those that one client watches
 *
 * A hash table, because each change of a key looks for the watches of this key, and others may have
 * many; and because each WATCH looks for keys that its client watches already. The caller holds the
 * lock of the stripe.
 */
#ifndef SKUA_BENCH_KV_WATCHES_H
#define SKUA_BENCH_KV_WATCHES_H

#include <stdbool.h>

#include "bench/kv/resp/number.h"

/* A key and its hash. */
struct key {
	struct bytes bytes;
	uint64_t hash;
};

/**
 * struct watch - a key that a client watches
 * @next, @link: the next one of the list, and the pointer to this one
 * @touched: set by the first change of the key. A change happens under the lock of the
 *           stripe; the client reads it under that lock, or to give up early
 * @key: the bytes are the client's
 * @expired: the key had expired when the watch began, so that its removal is no change
 */
struct watch {
	struct watch *next, **link;
	bool *touched;
	struct key key;
	bool expired;
};

/**
 * struct watches - all watches of a stripe, or of a client
 * @mask: number of lists - 1
 * @count: number of watches
 * @lists: the hash of a key chooses one
 */
struct watches {
	uint64_t mask, count;
	struct watch *lists[];
};

/* watches_add - add a watch. @watches: NULL: there are none. Return: false: no memory */
bool watches_add(struct watches **watches, struct watch *watch);

/* watches_remove - remove a watch. @watches: NULL after the last one */
void watches_remove(struct watches **watches, struct watch *watch);

/* watches_list - return the first watch of the list of a hash; NULL: there is none */
struct watch *watches_list(const struct watches *watches, uint64_t hash);

/* watches_each - call @visit for each watch */
void watches_each(const struct watches *watches,
		  void (*visit)(void *ctx, struct watch *watch), void *ctx);

#endif
