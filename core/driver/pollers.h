/* SPDX-License-Identifier: MIT */
/* pollers.h - the pollers (event sources) that a worker calls */
#ifndef SKUA_CORE_DRIVER_POLLERS_H
#define SKUA_CORE_DRIVER_POLLERS_H

#include "core/base/atomic.h"
#include "core/idle/parker.h"
#include "skua/poller.h"

struct pollers {
	/* Newly registered pollers. Writers: any thread, to push; the worker,
	 * to take all. */
	_Atomic(struct skua_poller *) added;
	/* 1: one of the pollers has a park. Writers: any thread that registers
	 * it; the worker, when that poller is done. */
	atomic_u32 parks;
	/* The pollers in use. Accessed by the worker only. */
	struct skua_poller *list;
};

void pollers_init(struct pollers *pollers);

/* pollers_add - register a poller; the caller wakes the worker afterwards.
 * Threads: any.
 * Return: 0; -EEXIST: a registered poller has a park already, and this one also
 * has a park. */
int pollers_add(struct pollers *pollers, struct skua_poller *poller);

/* pollers_added - is there a poller that the worker has not called yet? The
 * caller has issued a fence before. */
bool pollers_added(const struct pollers *pollers);

/* pollers_run_owner - call each poller once, and remove those that are done */
void pollers_run_owner(struct pollers *pollers);

/* pollers_awake_owner - is there a poller without a park, so that the worker
 * must stay awake? */
bool pollers_awake_owner(const struct pollers *pollers);

/**
 * pollers_park_owner - sleep in the poller that has a park
 * @parker: the worker's; its notification ends the sleep
 * @deadline_ns: monotonic time; UINT64_MAX: none
 *
 * Return: true if it slept there, or had been notified already; false if there
 * is no poller, and the parker was not used.
 */
bool pollers_park_owner(struct pollers *pollers, struct parker *parker,
			uint64_t deadline_ns);

#endif
