/* SPDX-License-Identifier: MIT */
/* channels.h - the state of an object of skua/channel.h, read from outside */
#ifndef SKUA_BPF_WAITS_CHANNELS_H
#define SKUA_BPF_WAITS_CHANNELS_H

#include "bpf/target/target.h"

/**
 * struct channel_state - an object of skua/channel.h at one moment
 * @known: it could be read
 * @closed: no more items may be sent
 * @items: of a channel or spsc: those in it; of a broadcast: those sent so far; of a oneshot: 1 if
 *         it has a value; of a watch: its version
 * @capacity: of a channel; of a broadcast: the number of items that stay; otherwise 0
 * @taken: of a oneshot: its value was received
 */
struct channel_state {
	bool known, closed, taken;
	uint64_t items, capacity;
};

/* channel_read - read an object that a wait of @kind is for */
struct channel_state channel_read(struct target *target, uint32_t kind,
				  uint64_t address);

#endif
