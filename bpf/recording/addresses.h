/* SPDX-License-Identifier: MIT */
/* addresses.h - what is known of addresses, as of tasks: a hash table */
#ifndef SKUA_BPF_ADDRESSES_H
#define SKUA_BPF_ADDRESSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct address {
	uint64_t address; /* not 0 */
	uint64_t ns;
	uint64_t number;
	unsigned track;
};

/* Zero it before the first use. @key: chosen at random, so that nobody can choose
 * addresses that get in each other's way. */
struct addresses {
	struct address *slots;
	size_t size; /* a power of two, or 0 */
	size_t count;
	uint64_t key;
};

/* addresses_put - in the place of what is there of that address; 0 or -ENOMEM */
int addresses_put(struct addresses *table, const struct address *entry);

/* addresses_has - is something there of it? */
bool addresses_has(const struct addresses *table, uint64_t address);

/* addresses_take - take out what is there of it; false: nothing */
bool addresses_take(struct addresses *table, uint64_t address,
		    struct address *out);

void addresses_clear(struct addresses *table);
void addresses_free(struct addresses *table);

#endif
