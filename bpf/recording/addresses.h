/* SPDX-License-Identifier: MIT */
/* addresses.h - a hash table with an entry for each address, such as that of a
 * task */
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

/* Zero it before the first use. @key: chosen at random, so that a process
 * cannot choose addresses that collide. */
struct addresses {
	struct address *slots;
	size_t size; /* a power of two, or 0 */
	size_t count;
	uint64_t key;
};

/* addresses_put - add an entry, or replace the one of the same address. Return:
 * 0 or -ENOMEM */
int addresses_put(struct addresses *table, const struct address *entry);

/* addresses_has - return true if the address has an entry */
bool addresses_has(const struct addresses *table, uint64_t address);

/* addresses_find - copy the entry of an address to @out. Return: false if there is none */
bool addresses_find(const struct addresses *table, uint64_t address,
		    struct address *out);

/* addresses_take - remove the entry of an address and copy it to @out. Return:
 * false if there is none */
bool addresses_take(struct addresses *table, uint64_t address,
		    struct address *out);

void addresses_clear(struct addresses *table);
void addresses_free(struct addresses *table);

#endif
