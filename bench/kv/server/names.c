/* SPDX-License-Identifier: MIT */
/* names.c - a hash table of things that have a name */
#include "bench/kv/server/names.h"

#include <stdlib.h>

#define FIRST_SIZE 8u

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

/* Make the table larger. Return: false: there is none yet, and no memory for one. */
static bool grow(struct names *names)
{
	size_t size = names->size ? names->size * 2 : FIRST_SIZE;
	struct names larger = { calloc(size, sizeof(struct name *)), size,
				names->count };
	struct name *name, *next;

	if (!larger.buckets)
		return names->buckets;
	for (size_t i = 0; i < names->size; i++) {
		for (name = names->buckets[i]; name; name = next) {
			next = name->next;
			link_in(&larger, name);
		}
	}
	free(names->buckets);
	*names = larger;
	return true;
}

bool names_add(struct names *names, struct name *name)
{
	if (names->count >= names->size && !grow(names))
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
	if (--names->count)
		return;
	free(names->buckets);
	*names = (struct names){ NULL, 0, 0 };
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
