/* SPDX-License-Identifier: MIT */
/* wait_kind.h - what a task waits for, as people call it */
#ifndef SKUA_BPF_TARGET_WAIT_KIND_H
#define SKUA_BPF_TARGET_WAIT_KIND_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "probes/area.h"

/* wait_kind_name - the name of an enum area_wait_kind: "mutex", or, with what it is waited
 * for after a comma, "rwlock, to read"; "nothing" for a number that is none */
static inline const char *wait_kind_name(uint32_t kind)
{
	static const char *const names[] = {
		[AREA_WAITS_NOTHING] = "nothing",
		[AREA_WAITS_MUTEX] = "mutex",
		[AREA_WAITS_READ] = "rwlock, to read",
		[AREA_WAITS_WRITE] = "rwlock, to write",
		[AREA_WAITS_SEMAPHORE] = "semaphore",
		[AREA_WAITS_EVENT] = "event",
		[AREA_WAITS_NOTIFY] = "notify",
		[AREA_WAITS_CONDITION] = "condition",
		[AREA_WAITS_BARRIER] = "barrier",
		[AREA_WAITS_ONCE] = "once",
		[AREA_WAITS_JOIN] = "join",
		[AREA_WAITS_GROUP] = "group",
		[AREA_WAITS_TIME] = "time",
		[AREA_WAITS_SEND] = "channel, to send",
		[AREA_WAITS_RECEIVE] = "channel, to receive",
		[AREA_WAITS_ONESHOT] = "oneshot",
		[AREA_WAITS_WATCH] = "watch",
		[AREA_WAITS_BROADCAST] = "broadcast",
		[AREA_WAITS_SPSC_SEND] = "spsc, to send",
		[AREA_WAITS_SPSC_RECEIVE] = "spsc, to receive",
		[AREA_WAITS_BLOCKING] = "blocking call",
		[AREA_WAITS_SELECT] = "select",
		[AREA_WAITS_IO_READ] = "descriptor, to read",
		[AREA_WAITS_IO_WRITE] = "descriptor, to write",
		[AREA_WAITS_FILE] = "file",
	};
	_Static_assert(sizeof(names) / sizeof(names[0]) == AREA_WAITS_COUNT,
		       "the last kind has a name");

	return names[kind < AREA_WAITS_COUNT ? kind : AREA_WAITS_NOTHING];
}

/* wait_kind_noun - the length of the name of the object in wait_kind_name() */
static inline int wait_kind_noun(uint32_t kind)
{
	return (int)strcspn(wait_kind_name(kind), ",");
}

/* wait_kind_is_channel - is it an object of skua/channel.h? */
static inline bool wait_kind_is_channel(uint64_t kind)
{
	return kind >= AREA_WAITS_SEND && kind <= AREA_WAITS_SPSC_RECEIVE;
}

/* wait_kind_is_send - does the task wait for a place in a channel? */
static inline bool wait_kind_is_send(uint64_t kind)
{
	return kind == AREA_WAITS_SEND || kind == AREA_WAITS_SPSC_SEND;
}

/* wait_kind_state - the state of a channel for which a task waits: "full" */
static inline const char *wait_kind_state(uint32_t kind)
{
	return wait_kind_is_send(kind)    ? "full"
	       : kind == AREA_WAITS_WATCH ? "unchanged"
					  : "empty";
}

/* wait_kind_is_io - does the task wait for a descriptor, and so perhaps for a peer? */
static inline bool wait_kind_is_io(uint64_t kind)
{
	return kind == AREA_WAITS_IO_READ || kind == AREA_WAITS_IO_WRITE;
}

/* wait_kind_is_object - may the program have named what the task waits for? */
static inline bool wait_kind_is_object(uint64_t kind)
{
	return (kind >= AREA_WAITS_MUTEX && kind <= AREA_WAITS_ONCE) ||
	       wait_kind_is_channel(kind);
}

/* wait_kind_is_lock - has the object a holder, for which others wait? */
static inline bool wait_kind_is_lock(uint64_t kind)
{
	return kind == AREA_WAITS_MUTEX || kind == AREA_WAITS_READ ||
	       kind == AREA_WAITS_WRITE || kind == AREA_WAITS_ONCE;
}

#endif
