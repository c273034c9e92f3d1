/* SPDX-License-Identifier: MIT */
/* names.h - a hash table of things that have a name */
#ifndef SKUA_BENCH_KV_NAMES_H
#define SKUA_BENCH_KV_NAMES_H

#include "bench/kv/resp/number.h"

/**
 * struct name - embedded in what has a name
 * @next: of the same bucket
 * @bytes: owned by what has the name
 */
struct name {
	struct name *next;
	uint64_t hash;
	struct bytes bytes;
};

/* struct names - @count of them; zeroed at first */
struct names {
	struct name **buckets;
	size_t size, count;
};

/* names_find - return what has a name; NULL: there is none */
struct name *names_find(const struct names *names, uint64_t hash,
			struct bytes bytes);

/* names_add - add something, whose name is new. Return: false: no memory */
bool names_add(struct names *names, struct name *name);

/* names_remove - remove something; the last one frees the table. The others may come into
 * another order when the table becomes smaller: a loop over names that removes some of them
 * begins again at its end, until it finds none */
void names_remove(struct names *names, struct name *name);

/* names_next - return the one after @name; of NULL, the first one. NULL: there is none */
struct name *names_next(const struct names *names, const struct name *name);

#endif
