/* SPDX-License-Identifier: MIT */
/**
 * record.h - have the workers note what they do
 *
 * Each worker notes when polls begin and end, what it makes runnable, steals,
 * sleeps and wakes, in a ring of the latest 131,072 events, 4 MB, that it gets when
 * it is first wanted. `skua record` does the same from outside, and writes a
 * file. A program may keep a recording going by itself, of which `skua record
 * --last` then saves the last moments, before something that should not have
 * happened.
 */
#ifndef SKUA_RECORD_H
#define SKUA_RECORD_H

#include <skua/base.h>

SKUA_BEGIN_DECLS

struct skua_runtime;

/**
 * skua_record_start - let the workers record from now on
 * @rt: live runtime, borrowed
 *
 * They notice between two ticks, and when they wake up. An event takes about as
 * long as a look at the clock. A worker that gets no memory for its ring does
 * not record.
 *
 * Threads: any. Blocks: never. Allocates: nothing; the workers, their rings.
 * Return: 0; -EINVAL (NULL); -EOWNERDEAD.
 */
SKUA_API int skua_record_start(struct skua_runtime *rt);

/**
 * skua_record_stop - no longer
 * @rt: live runtime, borrowed
 *
 * What was recorded stays. A recording from outside goes on.
 *
 * Threads: any. Blocks: never. Allocates: nothing.
 * Return: 0; -EINVAL (NULL); -EOWNERDEAD.
 */
SKUA_API int skua_record_stop(struct skua_runtime *rt);

SKUA_END_DECLS

#endif
