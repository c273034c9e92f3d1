/* SPDX-License-Identifier: MIT */
/* names.c - a hash table of things that have a name */
#include "bench/kv/server/names.h"

#include <stdlib.h>

#define FIRST_SIZE 8u
/* A table with fewer names than this part of its buckets is halved. It is then still far from
 * growing again. */
#define SPARSE 8u

static struct name **bucket_of(const struct names *names, uint64_t hash)
{
	return &names->buckets[hash & (names->size - 1)];
}

struct name *names_find(const struct names *names, uint64_t hash,
			struct bytes bytes)
{
	struct name *name = names->count ? *bucket_of(names, hash) : NULL;

	while (name && (name->hash != hash || !bytes_equal(name->bytes, bytes)))
		name = name->next;
	return name;
}

static void link_in(struct names *names, struct name *name)
{
	struct name **bucket = bucket_of(names, name->hash);

	name->next = *bucket;
	*bucket = name;
}

/* Give the table another size. Without memory it stays as it is. */
static void resize(struct names *names, size_t size)
{
	struct names other = { calloc(size, sizeof(struct name *)), size,
			       names->count };
	struct name *name, *next;

	if (!other.buckets)
		return;
	for (size_t i = 0; i < names->size; i++) {
		for (name = names->buckets[i]; name; name = next) {
			next = name->next;
			link_in(&other, name);
		}
	}
	free(names->buckets);
	*names = other;
}

bool names_add(struct names *names, struct name *name)
{
	if (names->count >= names->size)
		resize(names, names->size ? names->size * 2 : FIRST_SIZE);
	if (!names->buckets)
		return false;
	link_in(names, name);
	names->count++;
	return true;
}

void names_remove(struct names *names, struct name *name)
{
	struct name **link = bucket_of(names, name->hash);

	while (*link != name)
		link = &(*link)->next;
	*link = name->next;
	if (!--names->count) {
		free(names->buckets);
		*names = (struct names){ NULL, 0, 0 };
	} else if (names->size > FIRST_SIZE &&
		   names->count < names->size / SPARSE) {
		resize(names, names->size / 2);
	}
}

struct name *names_next(const struct names *names, const struct name *name)
{
	size_t i = 0;

	if (name && name->next)
		return name->next;
	if (name)
		i = (name->hash & (names->size - 1)) + 1;
	for (; i < names->size; i++)
		if (names->buckets[i])
			return names->buckets[i];
	return NULL;
}
