/* SPDX-License-Identifier: MIT */
/* channels.c - see channels.h */
#include "bpf/waits/channels.h"

/* The numbers of items are above the bit of the close. */
#define ITEM (2 * AREA_CHANNEL_CLOSED)

/* The head is read together with the tail: a number that is not between 0 and the capacity
 * is of two moments. */
static struct channel_state of_channel(const struct area_channel *channel)
{
	uint64_t head = channel->head / ITEM, tail = channel->tail / ITEM;
	uint64_t capacity = (uint64_t)channel->mask + 1;
	uint64_t items = tail > head ? tail - head : 0;

	return (struct channel_state){
		.known = true,
		.closed = channel->tail & AREA_CHANNEL_CLOSED,
		.items = items < capacity ? items : capacity,
		.capacity = capacity,
	};
}

static struct channel_state of_oneshot(const struct area_oneshot *oneshot)
{
	return (struct channel_state){
		.known = true,
		.closed = oneshot->word & AREA_ONESHOT_CLOSED,
		.taken = oneshot->word & AREA_ONESHOT_TAKEN,
		.items = (oneshot->word & AREA_ONESHOT_SENT) != 0,
	};
}

static struct channel_state of_broadcast(const struct area_broadcast *broadcast)
{
	return (struct channel_state){
		.known = true,
		.closed = broadcast->tail & AREA_CHANNEL_CLOSED,
		.items = broadcast->tail / ITEM,
		.capacity = (uint64_t)broadcast->mask + 1,
	};
}

static struct channel_state of_watch(const struct area_watch *watch)
{
	return (struct channel_state){
		.known = true,
		.closed = watch->word & AREA_WATCH_CLOSED,
		.items = watch->word / (2 * AREA_WATCH_CLOSED),
	};
}

struct channel_state channel_read(struct target *target, uint32_t kind,
				  uint64_t address)
{
	union {
		struct area_channel channel;
		struct area_oneshot oneshot;
		struct area_broadcast broadcast;
		struct area_watch watch;
	} it;
	size_t bytes = kind == AREA_WAITS_ONESHOT     ? sizeof(it.oneshot)
		       : kind == AREA_WAITS_BROADCAST ? sizeof(it.broadcast)
		       : kind == AREA_WAITS_WATCH     ? sizeof(it.watch)
						      : sizeof(it.channel);

	if (target_read(target, address, &it, bytes) != 0)
		return (struct channel_state){ .known = false };
	switch (kind) {
	case AREA_WAITS_ONESHOT:
		return of_oneshot(&it.oneshot);
	case AREA_WAITS_BROADCAST:
		return of_broadcast(&it.broadcast);
	case AREA_WAITS_WATCH:
		return of_watch(&it.watch);
	default:
		return of_channel(&it.channel);
	}
}
