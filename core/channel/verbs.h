/* SPDX-License-Identifier: MIT */
/* verbs.h - the operations of this room that may be cases of a select */
#ifndef SKUA_CORE_CHANNEL_VERBS_H
#define SKUA_CORE_CHANNEL_VERBS_H

#include "core/wait/await.h"
#include "skua/channel.h"

#define VERB(name) \
	extern const struct wait_verb name __attribute__((visibility("hidden")))
VERB(channel_send_verb);    /* amount: address of the item */
VERB(channel_receive_verb); /* likewise */
VERB(spsc_send_verb);       /* likewise */
VERB(spsc_receive_verb);    /* likewise */
VERB(oneshot_verb);         /* amount: address of the value */
/* A step that returns 0 has got nothing yet: the caller tries again, and gets it. */
VERB(broadcast_verb); /* amount: the next ticket */
VERB(watch_verb);     /* amount: the version that was seen */
#undef VERB

#endif
