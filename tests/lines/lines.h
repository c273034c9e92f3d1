/* SPDX-License-Identifier: MIT */
/**
 * lines.h - count the cache lines that operations of the core touch
 *
 * The core is compiled unchanged with `-include tests/lines/lines.h
 * -fsanitize=thread`: the compiler then adds a call before each access to
 * memory, plain or atomic, and lines.c implements these calls. This header
 * also replaces the clock and the futex, so that one thread can act as any
 * worker in turn, and each run takes the same steps.
 *
 * Some memory has an owner: a worker, a group of workers, or the runtime as a
 * whole. lines_end() returns how many lines of others an operation has touched.
 * A line that is written by nobody once the workers run is not counted,
 * because each processor keeps a copy of it. So the operations of a machine
 * run twice: the first time to learn which lines are written.
 */
#ifndef SKUA_TESTS_LINES_LINES_H
#define SKUA_TESTS_LINES_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/atomic.h"

enum { LINE_BYTES = 64 };

enum lines_owner {
	LINES_NOBODY, /* not counted */
	LINES_WORKER,
	LINES_GROUP,
	LINES_ALL,
};

/* Lines of others that were touched, each counted once. */
struct lines {
	unsigned group; /* of the group, or of its other workers */
	unsigned other; /* of other groups, or of their workers */
	unsigned all;   /* of the runtime as a whole */
};

/* lines_reset - forget all owners and all writes. @memory: all that may have an
 * owner later */
void lines_reset(const void *memory, size_t bytes);

/* lines_own - set the owner of this memory; @index: of the worker or group */
void lines_own(const void *memory, size_t bytes, enum lines_owner owner,
	       unsigned index);

/* lines_watch - from now on, note which lines are written, or no longer */
void lines_watch(bool on);

/* lines_begin - begin an operation */
void lines_begin(void);

/**
 * lines_end - end the operation, and count
 * @worker: index of the worker that acted; -1: a thread that is none
 * @group: its group; @group_of: returns the group of a worker
 */
struct lines lines_end(int worker, unsigned group,
		       unsigned (*group_of)(unsigned worker));

/* lines_show - print each line that lines_end() counts, from now on */
void lines_show(bool on);

/* ---- in place of core/base/clock.h and core/os/futex.h ---------------------- */

#define SKUA_CORE_BASE_CLOCK_H
#define SKUA_CORE_OS_FUTEX_H
#define NS_PER_S UINT64_C(1000000000)

/* clock_now_ns - return a time that is later at each call */
uint64_t clock_now_ns(void);

/* lines_slept - called when the acting worker would sleep; the test defines it,
 * and ends the sleep */
void lines_slept(void);

#define futex_wait(word, expected) \
	((void)(word), (void)(expected), lines_slept())
#define futex_wait_until(word, expected, deadline_ns) \
	((void)(word), (void)(expected), (void)(deadline_ns), lines_slept())
#define futex_wake(word, count) ((void)(word), (void)(count))

#endif
