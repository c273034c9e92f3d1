/* SPDX-License-Identifier: MIT */
/* channels.c - see channels.h */
#include "bpf/waits/channels.h"

/* The numbers of items are above the bit of the close. */
#define ITEM (2 * AREA_CHANNEL_CLOSED)

/* Head and tail are read together, but may be of two moments: the difference may be any
 * number. */
static struct channel_state of_queue(uint64_t head, uint64_t tail,
				     uint32_t mask, bool closed)
{
	uint64_t capacity = (uint64_t)mask + 1;
	uint64_t items = tail > head ? tail - head : 0;

	return (struct channel_state){
		.known = true,
		.closed = closed,
		.items = items < capacity ? items : capacity,
		.capacity = capacity,
	};
}

static struct channel_state of_channel(const struct area_channel *channel)
{
	return of_queue(channel->head / ITEM, channel->tail / ITEM,
			channel->mask, channel->tail & AREA_CHANNEL_CLOSED);
}

static struct channel_state of_spsc(const struct area_spsc *spsc)
{
	return of_queue(spsc->received, spsc->sent, spsc->mask,
			spsc->flags & AREA_SPSC_CLOSED);
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

static size_t bytes_of(uint32_t kind)
{
	switch (kind) {
	case AREA_WAITS_ONESHOT:
		return sizeof(struct area_oneshot);
	case AREA_WAITS_BROADCAST:
		return sizeof(struct area_broadcast);
	case AREA_WAITS_WATCH:
		return sizeof(struct area_watch);
	case AREA_WAITS_SPSC_SEND:
	case AREA_WAITS_SPSC_RECEIVE:
		return sizeof(struct area_spsc);
	default:
		return sizeof(struct area_channel);
	}
}

struct channel_state channel_read(struct target *target, uint32_t kind,
				  uint64_t address)
{
	union {
		struct area_channel channel;
		struct area_spsc spsc;
		struct area_oneshot oneshot;
		struct area_broadcast broadcast;
		struct area_watch watch;
	} it;
	size_t bytes = bytes_of(kind);

	if (target_read(target, address, &it, bytes) != 0)
		return (struct channel_state){ .known = false };
	switch (kind) {
	case AREA_WAITS_ONESHOT:
		return of_oneshot(&it.oneshot);
	case AREA_WAITS_BROADCAST:
		return of_broadcast(&it.broadcast);
	case AREA_WAITS_WATCH:
		return of_watch(&it.watch);
	case AREA_WAITS_SPSC_SEND:
	case AREA_WAITS_SPSC_RECEIVE:
		return of_spsc(&it.spsc);
	default:
		return of_channel(&it.channel);
	}
}
