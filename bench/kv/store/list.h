/* SPDX-License-Identifier: MIT */
/* list.h - a list of byte strings, open at both ends */
#ifndef SKUA_BENCH_KV_LIST_H
#define SKUA_BENCH_KV_LIST_H

#include "bench/kv/resp/number.h"

/* An element. */
struct list_item {
	uint32_t size;
	char data[];
};

/* Elements that follow each other: those from @first to @end. Chunks form a chain. */
#define LIST_CHUNK 125
struct list_chunk {
	struct list_chunk *before, *after;
	uint32_t first, end;
	struct list_item *items[LIST_CHUNK];
};

/* struct list - @count elements, which use @memory bytes */
struct list {
	struct list_chunk *head, *tail;
	size_t count, memory;
};

/* list_create, list_free - make an empty list, NULL: no memory; free a list */
struct list *list_create(void);
void list_free(struct list *list);

/* list_free_some - free some of the elements. Return: whether there are more; if there are
 * not, the list is freed, too */
bool list_free_some(struct list *list);

static inline size_t list_memory(const struct list *list)
{
	return list->memory;
}

/* list_push - add an element at the head, or at the tail. Return: false: no memory */
bool list_push(struct list *list, bool head, struct bytes value);

/* list_pop - take the element at the head, or at the tail; the caller frees it. The list is
 * not empty. */
struct list_item *list_pop(struct list *list, bool head);

/* The place of an element. */
struct list_place {
	const struct list_chunk *chunk;
	uint32_t at;
};

/* list_seek - return the place of element @index, which is below @count */
struct list_place list_seek(const struct list *list, size_t index);

/* list_next - return the element at a place, and go on to the next one */
const struct list_item *list_next(struct list_place *place);

#endif
