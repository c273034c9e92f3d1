/* SPDX-License-Identifier: MIT */
/* list.c - a list of byte strings: a chain of chunks */
#include "bench/kv/store/list.h"

#include <stdlib.h>

/* As malloc() of the C library counts. */
static size_t item_memory(size_t size)
{
	size_t memory =
		(sizeof(struct list_item) + size + 8 + 15) & ~(size_t)15;

	return memory < 32 ? 32 : memory;
}

struct list *list_create(void)
{
	struct list *list = calloc(1, sizeof(*list));

	if (list)
		list->memory = sizeof(*list) + 16;
	return list;
}

/* Free the first chunk. */
static void free_chunk(struct list *list)
{
	struct list_chunk *chunk = list->head;

	list->head = chunk->after;
	for (uint32_t i = chunk->first; i < chunk->end; i++)
		free(chunk->items[i]);
	free(chunk);
}

void list_free(struct list *list)
{
	while (list->head)
		free_chunk(list);
	free(list);
}

bool list_free_some(struct list *list)
{
	for (int i = 0; i < 4 && list->head; i++)
		free_chunk(list);
	if (list->head)
		return true;
	free(list);
	return false;
}

/* Link an empty chunk at the head, or at the tail. */
static struct list_chunk *add_chunk(struct list *list, bool head)
{
	struct list_chunk *chunk = malloc(sizeof(*chunk));

	if (!chunk)
		return NULL;
	chunk->first = chunk->end = head ? LIST_CHUNK : 0;
	chunk->before = head ? NULL : list->tail;
	chunk->after = head ? list->head : NULL;
	if (chunk->before)
		chunk->before->after = chunk;
	else
		list->head = chunk;
	if (chunk->after)
		chunk->after->before = chunk;
	else
		list->tail = chunk;
	list->memory += sizeof(*chunk) + 16;
	return chunk;
}

static void remove_chunk(struct list *list, struct list_chunk *chunk)
{
	if (chunk->before)
		chunk->before->after = chunk->after;
	else
		list->head = chunk->after;
	if (chunk->after)
		chunk->after->before = chunk->before;
	else
		list->tail = chunk->before;
	list->memory -= sizeof(*chunk) + 16;
	free(chunk);
}

bool list_push(struct list *list, bool head, struct bytes value)
{
	struct list_chunk *chunk = head ? list->head : list->tail;
	struct list_item *item;

	if (value.size > UINT32_MAX)
		return false;
	item = malloc(sizeof(*item) + value.size);
	if (!item)
		return false;
	if (!chunk || (head ? chunk->first == 0 : chunk->end == LIST_CHUNK))
		chunk = add_chunk(list, head);
	if (!chunk) {
		free(item);
		return false;
	}
	item->size = (uint32_t)value.size;
	memcpy(item->data, value.data, value.size);
	if (head)
		chunk->items[--chunk->first] = item;
	else
		chunk->items[chunk->end++] = item;
	list->count++;
	list->memory += item_memory(value.size);
	return true;
}

struct list_item *list_pop(struct list *list, bool head)
{
	struct list_chunk *chunk = head ? list->head : list->tail;
	struct list_item *item = head ? chunk->items[chunk->first++]
				      : chunk->items[--chunk->end];

	list->count--;
	list->memory -= item_memory(item->size);
	if (chunk->first == chunk->end)
		remove_chunk(list, chunk);
	return item;
}

struct list_place list_seek(const struct list *list, size_t index)
{
	const struct list_chunk *chunk = list->head;

	if (index < list->count / 2) {
		while (index >= chunk->end - chunk->first) {
			index -= chunk->end - chunk->first;
			chunk = chunk->after;
		}
		return (struct list_place){ chunk,
					    chunk->first + (uint32_t)index };
	}
	index = list->count - index; /* 1 is the last element */
	chunk = list->tail;
	while (index > chunk->end - chunk->first) {
		index -= chunk->end - chunk->first;
		chunk = chunk->before;
	}
	return (struct list_place){ chunk, chunk->end - (uint32_t)index };
}

const struct list_item *list_next(struct list_place *place)
{
	const struct list_item *item;

	if (place->at == place->chunk->end) {
		place->chunk = place->chunk->after;
		place->at = place->chunk->first;
	}
	item = place->chunk->items[place->at++];
	return item;
}
