/* SPDX-License-Identifier: MIT */
/**
 * blocked_polls.h - where polls of a process block: skua why --off-cpu
 *
 * A BPF program copies the stack of a worker that is going to sleep in a poll, and tells
 * of it when the worker has a CPU again. Threads: all of this belongs to one thread.
 */
#ifndef SKUA_BPF_WHY_BLOCKED_POLLS_H
#define SKUA_BPF_WHY_BLOCKED_POLLS_H

#include <stdio.h>

#include "bpf/flame/flame_names.h"

#define BLOCKED_POLLS_TEXT 400u

/**
 * struct blocked_polls_place - where polls of a type blocked
 * @functions: the innermost first, up to the poll function; names are valid until
 *             blocked_polls_stop()
 * @whole: no callers are missing
 * @ns: how long in all, until they had a CPU again; in @times pieces, of which
 *      @longest_ns is the longest
 * @still: so many of them have not ended; @before: some had begun before anybody looked
 */
struct blocked_polls_place {
	char type[TARGET_NAME];
	struct flame_function *functions;
	unsigned function_count;
	bool whole, before;
	uint64_t ns, times, longest_ns;
	uint64_t still;
};

/**
 * struct blocked_polls_counts - of all
 * @times, @ns: of polls that blocked and went on, also of short ones, which are in no place
 * @lost: for which there was no room
 */
struct blocked_polls_counts {
	uint64_t times, ns;
	uint64_t lost;
};

struct blocked_polls;

/**
 * blocked_polls_start - look from now on
 * @target: borrowed
 * @least_ns: what is shorter is only counted
 * @why: BLOCKED_POLLS_TEXT bytes; receives a line on failure
 *
 * Return: 0, or -errno. To be stopped in any case.
 */
int blocked_polls_start(struct blocked_polls **out, struct target *target,
			uint64_t least_ns, char *why);

/**
 * blocked_polls_take - what has come since the last time; to be called each 0.1 s
 * @ended: the process is no more
 *
 * Return: 0; -ESRCH: it has executed another program; -ENOMEM.
 */
int blocked_polls_take(struct blocked_polls *off, bool ended);

/* blocked_polls_finish - what sleeps still; and all places in order, the longest first. Return:
 * 0, or -ENOMEM */
int blocked_polls_finish(struct blocked_polls *off);

/* blocked_polls_keep_type - drop the places of all other types. Return: how many are left */
size_t blocked_polls_keep_type(struct blocked_polls *off, const char *type);

const struct blocked_polls_place *
blocked_polls_places(const struct blocked_polls *off, size_t *count);
struct blocked_polls_counts
blocked_polls_counts(const struct blocked_polls *off);

/* blocked_polls_line - where a function of a place was left, as of flame_names_line() */
void blocked_polls_line(const struct blocked_polls *off,
			const struct flame_function *function,
			struct line *out);

/* blocked_polls_hurry - somebody waits for the end: as flame_names_hurry() */
void blocked_polls_hurry(struct blocked_polls *off);

/* blocked_polls_stop - @off may be NULL */
void blocked_polls_stop(struct blocked_polls *off);

#endif
