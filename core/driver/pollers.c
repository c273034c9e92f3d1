/* SPDX-License-Identifier: MIT */
/* pollers.c - see pollers.h */
#include "core/driver/pollers.h"

#include <errno.h>

#include "core/base/boundary.h"
#include "core/base/hot.h"

void pollers_init(struct pollers *pollers)
{
	atomic_init(&pollers->added, NULL);
	atomic_init(&pollers->parks, 0);
	pollers->list = NULL;
}

int pollers_add(struct pollers *pollers, struct skua_poller *poller)
{
	struct skua_poller *first;

	/* Relaxed: the flag publishes no data. */
	if (poller->park && atomic_fetch_or_relaxed(&pollers->parks, 1))
		return -EEXIST;
	/* Relaxed: a first guess, which the compare-exchange verifies. */
	first = atomic_load_relaxed(&pollers->added);

	/* The loop repeats when another thread has added a poller, or the
	 * worker has taken all. Release: publishes the poller. Pairs with the
	 * acquire in take_added(). */
	do {
		poller->next = first;
	} while (!atomic_cas_release(&pollers->added, &first, poller));
	return 0;
}

/* Move the added pollers to the worker's own list. */
static void take_added(struct pollers *pollers)
{
	struct skua_poller *poller;

	/* A hint, which spares the exchange: a poller missed here is taken in a
	 * later call. */
	if (!pollers_added(pollers))
		return;
	/* Acquire: the pollers' fields. Pairs with the release in
	 * pollers_add(). */
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

HOT void pollers_run_owner(struct pollers *pollers)
{
	struct skua_poller **link = &pollers->list;

	take_added(pollers);
	while (*link) {
		struct skua_poller *poller = *link;
		/* Read before the call: a poller that is done may have been
		 * freed. */
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
	int saved = errno; /* the library never sets it */

	poller->unpark(poller);
	BOUNDARY(poller);
	errno = saved;
}

bool pollers_park_owner(struct pollers *pollers, struct parker *parker,
			uint64_t deadline_ns)
{
	/* The worker parks only if all pollers have a park, and pollers_add()
	 * allows only one such poller. */
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
