/* SPDX-License-Identifier: MIT */
/* lifo_thief.h - take from a LIFO slot as the sentinel does */
#ifndef SKUA_TESTS_LIFO_THIEF_H
#define SKUA_TESTS_LIFO_THIEF_H

#include "core/os/membarrier.h"
#include "core/queue/lifo_slot.h"

/* lifo_thief_take - take the item as thief number @thief; NULL: the slot is
 * empty, or the owner or another thief was faster */
static inline void *lifo_thief_take(struct lifo_slot *slot, uint32_t thief)
{
	void *item = lifo_slot_seen(slot);

	if (!item || !lifo_slot_claim(slot, thief))
		return NULL;
	if (!membarrier_or_fence(!slot->owner_fences)) {
		lifo_slot_give_back(slot, thief);
		return NULL;
	}
	return lifo_slot_take_claimed(slot, item, thief) ? item : NULL;
}

#endif
