/* SPDX-License-Identifier: MIT */
/* pollers.c - see pollers.h */
#include "core/loop/pollers.h"

#include <errno.h>

#include "core/base/boundary.h"

void pollers_init(struct pollers *pollers)
{
	atomic_init(&pollers->added, NULL);
	atomic_init(&pollers->parks, 0);
	pollers->list = NULL;
}

int pollers_add(struct pollers *pollers, struct skua_poller *poller)
{
	struct skua_poller *first;

	/* Relaxed: says no more than that there is one. */
	if (poller->park && atomic_fetch_or_relaxed(&pollers->parks, 1))
		return -EEXIST;
	/* Relaxed: only the compare-exchange counts. */
	first = atomic_load_relaxed(&pollers->added);

	/* A further round means that another one was added, or all were taken.
	 * Release: the poller. Pairs with the exchange in take_added(). */
	do {
		poller->next = first;
	} while (!atomic_cas_release(&pollers->added, &first, poller));
	return 0;
}

/* Move what was added to the worker's own list. */
static void take_added(struct pollers *pollers)
{
	struct skua_poller *poller;

	/* A hint; it is looked at again. */
	if (!pollers_added(pollers))
		return;
	/* Acquire: the pollers. Pairs with the release in pollers_add(). */
	poller = atomic_exchange_acquire(&pollers->added, NULL);
	while (poller) {
		struct skua_poller *next = poller->next;

		poller->next = pollers->list;
		pollers->list = poller;
		poller = next;
	}
}

bool pollers_added(const struct pollers *pollers)
{
	/* Relaxed: ordered by the caller's fence. */
	return atomic_load_relaxed(&pollers->added) != NULL;
}

void pollers_run_owner(struct pollers *pollers)
{
	struct skua_poller **link = &pollers->list;

	take_added(pollers);
	while (*link) {
		struct skua_poller *poller = *link;
		/* Read first: a poller that is done may be gone. */
		struct skua_poller *next = poller->next;
		bool parks = poller->park != NULL;

		if (poller->poll(poller) != SKUA_POLLER_DONE) {
			link = &poller->next;
		} else {
			*link = next;
			/* Relaxed: as in pollers_add(). */
			if (parks)
				atomic_store_relaxed(&pollers->parks, 0);
		}
		BOUNDARY(poller);
	}
}

bool pollers_awake_owner(const struct pollers *pollers)
{
	for (const struct skua_poller *p = pollers->list; p; p = p->next) {
		if (!p->park)
			return true;
	}
	return false;
}

static void wake(void *ctx)
{
	struct skua_poller *poller = ctx;

	poller->unpark(poller);
	BOUNDARY(poller);
}

bool pollers_park_owner(struct pollers *pollers, struct parker *parker,
			uint64_t deadline_ns)
{
	/* All have a park, or the worker would stay awake: it is the one. */
	struct skua_poller *poller = pollers->list;

	if (!poller)
		return false;
	parker->wake = wake;
	parker->ctx = poller;
	if (parker_begin(parker)) {
		poller->park(poller, deadline_ns);
		BOUNDARY(poller);
		parker_end(parker);
	}
	return true;
}
