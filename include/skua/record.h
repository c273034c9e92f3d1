/* SPDX-License-Identifier: MIT */
/**
 * record.h - record what the workers do
 *
 * Each worker records when polls begin and end, which tasks it makes runnable, and
 * when it steals, sleeps and wakes. It writes to a ring of its latest 131,072 events,
 * which takes 4 MB and is allocated when the first recording starts.
 *
 * The command `skua record` does the same from outside, and writes a file. A program
 * may also keep a recording going by itself. `skua record --last` then saves the last
 * moments before something went wrong.
 */
#ifndef SKUA_RECORD_H
#define SKUA_RECORD_H

#include <skua/base.h>

SKUA_BEGIN_DECLS

struct skua_runtime;

/**
 * skua_record_start - start a recording
 * @rt: live runtime, borrowed
 *
 * Each worker starts between two ticks, or when it wakes up. Recording an event takes
 * about as long as reading the clock. A worker that cannot allocate its ring does not
 * record.
 *
 * Threads: any. Blocks: never. Allocates: nothing itself; each worker allocates its
 * ring.
 * Return: 0; -EINVAL (@rt is NULL); -EOWNERDEAD (in a forked child).
 */
SKUA_API int skua_record_start(struct skua_runtime *rt);

/**
 * skua_record_stop - stop the recording that skua_record_start() started
 * @rt: live runtime, borrowed
 *
 * The recorded events stay. A recording that another process started goes on.
 *
 * Threads: any. Blocks: never. Allocates: nothing.
 * Return: 0; -EINVAL (@rt is NULL); -EOWNERDEAD (in a forked child).
 */
SKUA_API int skua_record_stop(struct skua_runtime *rt);

SKUA_END_DECLS

#endif
