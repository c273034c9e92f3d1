/* SPDX-License-Identifier: MIT */
/* ready.h - waits until a descriptor is ready, also as a case of a select */
#ifndef SKUA_CORE_IO_READY_H
#define SKUA_CORE_IO_READY_H

#include <poll.h>

#include "core/io/slot.h"
#include "core/wait/await.h"
#include "skua/io.h"

/* ready_events_fit - are these events that a call waits for? */
static inline bool ready_events_fit(uint64_t events)
{
	return events == POLLIN || events == POLLOUT;
}

/**
 * ready_begin - prepare a wait for the step of its verb
 * @wait: idle
 * @io: a handle for which a try has found the slot
 * @events: POLLIN or POLLOUT
 * @slot: receives the object of the wait; its address is also the amount of the wait
 *
 * Return: the verb.
 */
const struct wait_verb *ready_begin(struct skua_wait *wait, struct skua_io io,
				    uint64_t events, void **slot);

#endif
