/* SPDX-License-Identifier: MIT */
/* addresses.c - see addresses.h; open addressing, at most half full */
#include "bpf/recording/addresses.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define SMALLEST 256u

/* Addresses differ in few bits: spread them over all. */
static size_t home_of(const struct addresses *t, uint64_t address)
{
	address ^= t->key;
	address ^= address >> 33;
	address *= t->key | 1;
	address ^= address >> 33;
	address *= UINT64_C(0xff51afd7ed558ccd);
	address ^= address >> 33;
	return (size_t)address & (t->size - 1);
}

/* The slot of an address, or the empty slot where it belongs. */
static size_t find(const struct addresses *t, uint64_t address)
{
	size_t at = home_of(t, address);

	while (t->slots[at].address != 0 && t->slots[at].address != address)
		at = (at + 1) & (t->size - 1);
	return at;
}

static int grow(struct addresses *t)
{
	struct addresses larger = { .size = t->size ? 2 * t->size : SMALLEST,
				    .count = t->count,
				    .key = t->key };

	/* Without random bytes (early at boot), a fixed key also spreads them. */
	if (t->size == 0 &&
	    getrandom(&larger.key, sizeof(larger.key), GRND_NONBLOCK) < 0)
		larger.key = UINT64_C(0x9e3779b97f4a7c15);
	larger.slots = calloc(larger.size, sizeof(*larger.slots));
	if (!larger.slots)
		return -ENOMEM;
	for (size_t i = 0; i < t->size; i++)
		if (t->slots[i].address != 0)
			larger.slots[find(&larger, t->slots[i].address)] =
				t->slots[i];
	free(t->slots);
	*t = larger;
	return 0;
}

int addresses_put(struct addresses *t, const struct address *entry)
{
	size_t at;

	if (entry->address == 0)
		return 0;
	if (2 * (t->count + 1) > t->size && grow(t))
		return -ENOMEM;
	at = find(t, entry->address);
	t->count += t->slots[at].address == 0;
	t->slots[at] = *entry;
	return 0;
}

/* An empty slot ends each search: move up the entries that it would hide. */
static void close_hole(struct addresses *t, size_t hole)
{
	size_t mask = t->size - 1;

	for (size_t at = (hole + 1) & mask; t->slots[at].address != 0;
	     at = (at + 1) & mask) {
		size_t home = home_of(t, t->slots[at].address);

		if (((at - home) & mask) < ((at - hole) & mask))
			continue;
		t->slots[hole] = t->slots[at];
		hole = at;
	}
	t->slots[hole].address = 0;
}

bool addresses_find(const struct addresses *t, uint64_t address,
		    struct address *out)
{
	size_t at;

	if (address == 0 || t->count == 0)
		return false;
	at = find(t, address);
	*out = t->slots[at];
	return t->slots[at].address != 0;
}

bool addresses_has(const struct addresses *t, uint64_t address)
{
	struct address found;

	return addresses_find(t, address, &found);
}

bool addresses_take(struct addresses *t, uint64_t address, struct address *out)
{
	if (!addresses_find(t, address, out))
		return false;
	t->count--;
	close_hole(t, find(t, address));
	return true;
}

void addresses_clear(struct addresses *t)
{
	/* Free a large table: this is called often, and clearing takes long. */
	if (t->size > SMALLEST)
		addresses_free(t);
	else if (t->count > 0)
		memset(t->slots, 0, t->size * sizeof(*t->slots));
	t->count = 0;
}

void addresses_free(struct addresses *t)
{
	free(t->slots);
	memset(t, 0, sizeof(*t));
}
