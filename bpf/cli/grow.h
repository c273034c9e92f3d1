/* SPDX-License-Identifier: MIT */
/* grow.h - makes room for one more item in an array */
#ifndef SKUA_BPF_CLI_GROW_H
#define SKUA_BPF_CLI_GROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/**
 * grow - make sure that an array of @count items has room for one more
 * @array: address of the pointer to the array, which may change
 * @item: size of an item in bytes
 * @room: number of items that the array has room for
 *
 * Return: false if there is no memory; then nothing has changed.
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
