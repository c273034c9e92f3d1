/* SPDX-License-Identifier: MIT */
/* grow.h - room for one more in an array */
#ifndef SKUA_BPF_CLI_GROW_H
#define SKUA_BPF_CLI_GROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/**
 * grow - an array has @count items, and may have room for another
 * @array: where its address is, which may change
 * @item: bytes of one
 * @room: for how many there is room
 *
 * Return: false if there is no memory; nothing has changed then.
 */
static inline bool grow(void *array, size_t item, size_t count, size_t *room)
{
	size_t more = *room ? 2 * *room : 64;
	void *old, *grown;

	if (count < *room)
		return true;
	memcpy(&old, array, sizeof(old));
	grown = reallocarray(old, more, item);
	if (!grown)
		return false;
	memcpy(array, &grown, sizeof(grown));
	*room = more;
	return true;
}

#endif
