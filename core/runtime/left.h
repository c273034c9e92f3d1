/* SPDX-License-Identifier: MIT */
/**
 * left.h - report the remaining tasks, and warn of a drain that makes no progress
 *
 * skua_runtime_left() describes the remaining tasks in a line of text. A struct
 * left_watch lets a drain log this line once if nothing happens. It only reports: the
 * drain goes on.
 */
#ifndef SKUA_CORE_RUNTIME_LEFT_H
#define SKUA_CORE_RUNTIME_LEFT_H

#include <stdbool.h>
#include <stdint.h>

struct skua_runtime;

struct left_watch {
	uint64_t polls;   /* begun, at the last check */
	uint64_t next_ns; /* when to check next */
	bool told;        /* the warning was logged */
};

void left_watch_begin(struct left_watch *watch, const struct skua_runtime *rt);

/* left_watch_next_ns - return how long to wait before the next check, at most until
 * @deadline_ns; UINT64_MAX: no end */
uint64_t left_watch_next_ns(const struct left_watch *watch,
			    uint64_t deadline_ns);

/* left_watch_check - log a warning if no poll has begun since the last check, all workers
 * sleep, and no timer is pending */
void left_watch_check(struct left_watch *watch, const struct skua_runtime *rt);

#endif
