/* SPDX-License-Identifier: MIT */
/* name_api.c - the public functions that name objects that are waited for */
#include <errno.h>
#include <string.h>

#include "core/runtime/runtime.h"
#include "core/wait/await.h"
#include "skua/channel.h"
#include "skua/sync.h"

#define SAME(field)                                               \
	_Static_assert(offsetof(struct skua_sync_name, field) ==  \
			       offsetof(struct area_name, field), \
		       #field)
SAME(next);
SAME(object);
SAME(name);
SAME(verb);
_Static_assert(sizeof(((struct skua_sync_name *)0)->verb) ==
		       sizeof(struct area_verb),
	       "a verb");

/* Where the objects of each kind have what tools read. */
static const struct wait_verb verbs[] = {
	[SKUA_SYNC_MUTEX] = WAIT_VERB(NULL, MUTEX, skua_mutex, 0),
	[SKUA_SYNC_RWLOCK] = WAIT_VERB(NULL, WRITE, skua_rwlock,
				       offsetof(struct skua_rwlock, writer)),
	[SKUA_SYNC_SEMAPHORE] =
		WAIT_VERB(NULL, SEMAPHORE, skua_semaphore, WAIT_NO_HOLDER),
	[SKUA_SYNC_EVENT] = WAIT_VERB(NULL, EVENT, skua_event, WAIT_NO_HOLDER),
	[SKUA_SYNC_NOTIFY] =
		WAIT_VERB(NULL, NOTIFY, skua_notify, WAIT_NO_HOLDER),
	[SKUA_SYNC_CONDITION] =
		WAIT_VERB(NULL, CONDITION, skua_condition, WAIT_NO_HOLDER),
	[SKUA_SYNC_BARRIER] =
		WAIT_VERB(NULL, BARRIER, skua_barrier, WAIT_NO_HOLDER),
	[SKUA_SYNC_ONCE] = WAIT_VERB(NULL, ONCE, skua_once, 0),
	[SKUA_SYNC_CHANNEL] = { .kind = AREA_WAITS_RECEIVE,
				.waiters = offsetof(struct skua_channel,
						    receivers),
				.holder = WAIT_NO_HOLDER },
	[SKUA_SYNC_ONESHOT] =
		WAIT_VERB(NULL, ONESHOT, skua_oneshot, WAIT_NO_HOLDER),
	[SKUA_SYNC_BROADCAST] =
		WAIT_VERB(NULL, BROADCAST, skua_broadcast, WAIT_NO_HOLDER),
	[SKUA_SYNC_WATCH] = WAIT_VERB(NULL, WATCH, skua_watch, WAIT_NO_HOLDER),
	[SKUA_SYNC_SPSC] = { .kind = AREA_WAITS_SPSC_RECEIVE,
			     .waiters = offsetof(struct skua_spsc, receivers),
			     .holder = WAIT_NO_HOLDER },
};

static void set_link(uint64_t *link, struct skua_sync_name *entry)
{
	/* Release: the words of the entry. Tools order their reads by system calls. */
	atomic_store_release((atomic_u64 *)link, (uintptr_t)entry);
}

static struct skua_sync_name *entry_at(uint64_t link)
{
	return (struct skua_sync_name *)(uintptr_t)link;
}

int skua_sync_set_name(struct skua_runtime *rt, struct skua_sync_name *entry,
		       enum skua_sync_kind kind, const void *object,
		       const char *name)
{
	struct names *names;

	if (!rt || !entry || !object || !name || kind < SKUA_SYNC_MUTEX ||
	    kind > SKUA_SYNC_SPSC)
		return -EINVAL;
	if (!runtime_alive(rt))
		return -EOWNERDEAD;
	if (entry->runtime)
		return -EALREADY;
	names = &rt->names;
	*entry = (struct skua_sync_name){
		.object = (uintptr_t)object,
		.name = (uintptr_t)name,
		.runtime = rt,
	};
	memcpy(entry->verb, &verbs[kind], sizeof(entry->verb));
	pthread_mutex_lock(&names->lock);
	entry->next = names->first;
	if (entry->next)
		entry_at(entry->next)->before = entry;
	set_link(&names->first, entry);
	pthread_mutex_unlock(&names->lock);
	return 0;
}

int skua_sync_clear_name(struct skua_sync_name *entry)
{
	struct names *names;

	if (!entry)
		return -EINVAL;
	if (!entry->runtime)
		return 0;
	if (!runtime_alive(entry->runtime))
		return -EOWNERDEAD;
	names = &entry->runtime->names;
	pthread_mutex_lock(&names->lock);
	if (entry->next)
		entry_at(entry->next)->before = entry->before;
	set_link(entry->before ? &entry->before->next : &names->first,
		 entry_at(entry->next));
	pthread_mutex_unlock(&names->lock);
	*entry = (struct skua_sync_name){ .next = 0 };
	return 0;
}
