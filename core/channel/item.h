/* SPDX-License-Identifier: MIT */
/* item.h - items of a size that is known at run time only, and their memory */
#ifndef SKUA_CORE_CHANNEL_ITEM_H
#define SKUA_CORE_CHANNEL_ITEM_H

#include <string.h>

#include "skua/channel.h"

/* items_fit - is @memory fit for items of so many bytes? */
static inline bool items_fit(const void *memory, uint32_t item_bytes)
{
	return memory && (uintptr_t)memory % 8 == 0 && item_bytes > 0 &&
	       item_bytes <= SKUA_MAX_ITEM_BYTES;
}

/* items_count_fits - can a ring have so many items? */
static inline bool items_count_fits(uint32_t capacity)
{
	return capacity >= 2 && capacity <= SKUA_MAX_CAPACITY &&
	       (capacity & (capacity - 1)) == 0;
}

/* item_copy - copy an item; the sizes that most programs use need no call */
static inline void item_copy(void *to, const void *from, uint32_t bytes)
{
	if (bytes == 8)
		memcpy(to, from, 8);
	else if (bytes == 16)
		memcpy(to, from, 16);
	else
		memcpy(to, from, bytes);
}

#endif
