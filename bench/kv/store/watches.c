/* SPDX-License-Identifier: MIT */
/* watches.c - a hash table of watches, with about one watch for each list */
#include "bench/kv/store/watches.h"

#include <stdlib.h>

/* The lowest bits of a hash choose the stripe. */
#define LIST_SHIFT 10

static struct watches *create(uint64_t mask)
{
	struct watches *watches =
		calloc(1, sizeof(*watches) +
				  (size_t)(mask + 1) * sizeof(struct watch *));

	if (watches)
		watches->mask = mask;
	return watches;
}

static void put(struct watches *watches, struct watch *watch)
{
	struct watch **list =
		&watches->lists[watch->key.hash >> LIST_SHIFT & watches->mask];

	watch->next = *list;
	watch->link = list;
	if (watch->next)
		watch->next->link = &watch->next;
	*list = watch;
	watches->count++;
}

/* Make twice as many lists. Without memory, the lists get longer instead. */
static void grow(struct watches **watches)
{
	struct watches *old = *watches, *next = create(old->mask * 2 + 1);

	if (!next)
		return;
	for (uint64_t i = 0; i <= old->mask; i++) {
		struct watch *watch = old->lists[i], *after;

		for (; watch; watch = after) {
			after = watch->next;
			put(next, watch);
		}
	}
	free(old);
	*watches = next;
}

bool watches_add(struct watches **watches, struct watch *watch)
{
	if (!*watches)
		*watches = create(0);
	if (!*watches)
		return false;
	if ((*watches)->count > (*watches)->mask)
		grow(watches);
	put(*watches, watch);
	return true;
}

void watches_remove(struct watches **watches, struct watch *watch)
{
	*watch->link = watch->next;
	if (watch->next)
		watch->next->link = watch->link;
	if (--(*watches)->count > 0)
		return;
	free(*watches);
	*watches = NULL;
}

struct watch *watches_list(const struct watches *watches, uint64_t hash)
{
	return watches ? watches->lists[hash >> LIST_SHIFT & watches->mask]
		       : NULL;
}

void watches_each(const struct watches *watches,
		  void (*visit)(void *ctx, struct watch *watch), void *ctx)
{
	for (uint64_t i = 0; watches && i <= watches->mask; i++)
		for (struct watch *w = watches->lists[i]; w; w = w->next)
			visit(ctx, w);
}
