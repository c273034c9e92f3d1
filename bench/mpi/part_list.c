/* SPDX-License-Identifier: MIT */
/* part_list.c - see part_list.h */
#include "bench/mpi/part_list.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_CAPACITY 64

void part_list_free(struct part_list *list)
{
	free(list->parts);
}

static int make_room(struct part_list *list, size_t count)
{
	size_t capacity = list->capacity > 0 ? list->capacity : FIRST_CAPACITY;
	char *parts;

	if (list->count + count <= list->capacity)
		return 0;
	while (capacity < list->count + count)
		capacity *= 2;
	parts = reallocarray(list->parts, capacity, list->part_bytes);
	if (!parts)
		return -ENOMEM;
	list->parts = parts;
	list->capacity = capacity;
	return 0;
}

int part_list_put(struct part_list *list, const void *parts, size_t count)
{
	int err = make_room(list, count);

	if (err != 0)
		return err;
	memcpy(list->parts + list->count * list->part_bytes, parts,
	       count * list->part_bytes);
	list->count += count;
	return 0;
}

bool part_list_take(struct part_list *list, void *part)
{
	if (list->count == 0)
		return false;
	memcpy(part, list->parts + --list->count * list->part_bytes,
	       list->part_bytes);
	return true;
}

static int take_oldest(struct part_list *list, void *parts, size_t count)
{
	const size_t bytes = count * list->part_bytes;

	memcpy(parts, list->parts, bytes);
	list->count -= count;
	memmove(list->parts, list->parts + bytes,
		list->count * list->part_bytes);
	return (int)count;
}

int part_list_answer(struct part_list *list, void *parts, unsigned wanted,
		     unsigned max)
{
	size_t count = (list->count + 1) / 2;

	if (list->count == 0 && !part_list_idle(list))
		return -EAGAIN;
	list->asked -= wanted;
	if (list->count == 0) /* there may be no memory yet */
		return 0;
	if (count < wanted)
		count = wanted < list->count ? wanted : list->count;
	return take_oldest(list, parts, count < max ? count : max);
}

bool part_list_idle(const struct part_list *list)
{
	return list->count == 0 &&
	       (list->over || list->waiting == list->searchers);
}

size_t part_list_missing(const struct part_list *list)
{
	const size_t wanted = (size_t)list->waiting + list->asked;

	return wanted > list->count ? wanted - list->count : 0;
}
