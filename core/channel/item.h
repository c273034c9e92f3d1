/* SPDX-License-Identifier: MIT */
/* item.h - copy items of a size that is known at run time only */
#ifndef SKUA_CORE_CHANNEL_ITEM_H
#define SKUA_CORE_CHANNEL_ITEM_H

#include <stdint.h>
#include <string.h>

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
