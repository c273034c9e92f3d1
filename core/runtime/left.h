/* SPDX-License-Identifier: MIT */
/**
 * left.h - what tasks are left, and a wait for them that will not end
 *
 * skua_runtime_left() says it in a line. A struct left_watch makes a drain say the
 * line to the log. It decides nothing but that: the drain goes on.
 */
#ifndef SKUA_CORE_RUNTIME_LEFT_H
#define SKUA_CORE_RUNTIME_LEFT_H

#include <stdbool.h>
#include <stdint.h>

struct skua_runtime;

struct left_watch {
	uint64_t polls; /* begun, as of the last look */
	uint64_t next_ns;
	bool told;
};

void left_watch_begin(struct left_watch *watch, const struct skua_runtime *rt);

/* left_watch_next_ns - until when to wait before the next look, at most until
 * @deadline_ns; UINT64_MAX: without end */
uint64_t left_watch_next_ns(const struct left_watch *watch,
			    uint64_t deadline_ns);

/* left_watch_check - tell the log, if since the last look no task was polled, all
 * workers sleep, and no timer is pending */
void left_watch_check(struct left_watch *watch, const struct skua_runtime *rt);

#endif
