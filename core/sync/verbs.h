/* SPDX-License-Identifier: MIT */
/* verbs.h - the operations of this room that may be cases of a select */
#ifndef SKUA_CORE_SYNC_VERBS_H
#define SKUA_CORE_SYNC_VERBS_H

#include "core/wait/await.h"
#include "skua/sync.h"

#define VERB(name) \
	extern const struct wait_verb name __attribute__((visibility("hidden")))
VERB(mutex_verb);
VERB(semaphore_verb); /* amount: of permits */
VERB(event_verb);
VERB(notify_verb);
VERB(rwlock_read_verb);  /* amount: 0 */
VERB(rwlock_write_verb); /* amount: 1 */
#undef VERB

/* notify_take - take the notification that is kept, if there is one */
bool notify_take(struct skua_notify *notify)
	__attribute__((visibility("hidden")));

#endif
