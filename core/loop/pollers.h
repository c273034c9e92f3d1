/* SPDX-License-Identifier: MIT */
/* pollers.h - the event sources that a worker looks at */
#ifndef SKUA_CORE_LOOP_POLLERS_H
#define SKUA_CORE_LOOP_POLLERS_H

#include "core/base/atomic.h"
#include "core/idle/parker.h"
#include "skua/poller.h"

struct pollers {
	/* Newly registered. Writers: any, to push; the worker takes all. */
	_Atomic(struct skua_poller *) added;
	/* 1: one of them can be waited in. Writers: any, as it is registered; the
	 * worker, as it goes. */
	atomic_u32 parks;
	/* The worker's own. */
	struct skua_poller *list;
};

void pollers_init(struct pollers *pollers);

/* pollers_add - register one; any thread, which then wakes the worker. Return: 0;
 * -EEXIST: it can be waited in, and there is such a one already */
int pollers_add(struct pollers *pollers, struct skua_poller *poller);

/* pollers_added - is there one that was not called yet? After a fence. */
bool pollers_added(const struct pollers *pollers);

/* pollers_run_owner - call each once */
void pollers_run_owner(struct pollers *pollers);

/* pollers_awake_owner - is there one that cannot be waited in? */
bool pollers_awake_owner(const struct pollers *pollers);

/**
 * pollers_park_owner - sleep in the one that can be waited in
 *
 * Return: false if there is none; the parker was not used.
 */
bool pollers_park_owner(struct pollers *pollers, struct parker *parker,
			uint64_t deadline_ns);

#endif
