/* SPDX-License-Identifier: MIT */
/**
 * blocked_polls.h - where polls of a process block: skua why --off-cpu
 *
 * A BPF program copies the stack of a worker that goes to sleep in a poll, and reports
 * it when the worker has a CPU again. Threads: all of this belongs to one thread.
 */
#ifndef SKUA_BPF_WHY_BLOCKED_POLLS_H
#define SKUA_BPF_WHY_BLOCKED_POLLS_H

#include <stdio.h>

#include "bpf/flame/flame_names.h"

#define BLOCKED_POLLS_TEXT 400u

/**
 * struct blocked_polls_place - a stack in which polls of a type blocked
 * @functions: the innermost first, up to the poll function; names are valid until
 *             blocked_polls_stop()
 * @whole: no callers are missing
 * @before: one or more of the blocks began before the tool started
 * @ns: time in all, until the worker had a CPU again
 * @times: number of blocks; @longest_ns: the longest of them
 * @still: number of blocks that have not ended
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
 * struct blocked_polls_counts - totals
 * @times, @ns: blocks that ended, including short ones, which are in no place
 * @lost: blocks for which there was no room
 */
struct blocked_polls_counts {
	uint64_t times, ns;
	uint64_t lost;
};

struct blocked_polls;

/**
 * blocked_polls_start - begin to watch
 * @target: borrowed
 * @least_ns: blocks shorter than this are only counted
 * @why: BLOCKED_POLLS_TEXT bytes; receives a message on failure
 *
 * Return: 0, or -errno. The caller calls blocked_polls_stop() in any case.
 */
int blocked_polls_start(struct blocked_polls **out, struct target *target,
			uint64_t least_ns, char *why);

/**
 * blocked_polls_take - add the blocks since the last call; call it every 0.1 s
 * @ended: the process has ended
 *
 * Return: 0; -ESRCH: the process has executed another program; -ENOMEM.
 */
int blocked_polls_take(struct blocked_polls *off, bool ended);

/* blocked_polls_finish - add the blocks that have not ended, and sort the
 * places, the longest time first. Return: 0, or -ENOMEM */
int blocked_polls_finish(struct blocked_polls *off);

/* blocked_polls_keep_type - drop the places of all other types. Return: the
 * number left */
size_t blocked_polls_keep_type(struct blocked_polls *off, const char *type);

const struct blocked_polls_place *
blocked_polls_places(const struct blocked_polls *off, size_t *count);
struct blocked_polls_counts
blocked_polls_counts(const struct blocked_polls *off);

/* blocked_polls_line - find the source line of a function in a place, as
 * flame_names_line() does */
void blocked_polls_line(const struct blocked_polls *off,
			const struct flame_function *function,
			struct line *out);

/* blocked_polls_hurry - limit the time for further answers, as
 * flame_names_hurry() does */
void blocked_polls_hurry(struct blocked_polls *off);

/* blocked_polls_stop - @off may be NULL */
void blocked_polls_stop(struct blocked_polls *off);

#endif
