/* SPDX-License-Identifier: MIT */
/**
 * off_cpu.h - where polls of a process block: skua why --off-cpu
 *
 * A BPF program copies the stack of a worker that is going to sleep in a poll, and tells
 * of it when the worker has a CPU again. Threads: all of this belongs to one thread.
 */
#ifndef SKUA_BPF_OFF_CPU_H
#define SKUA_BPF_OFF_CPU_H

#include <stdio.h>

#include "bpf/flame/flame_names.h"

#define OFF_CPU_TEXT 400u

/**
 * struct off_cpu_place - where polls of a type blocked
 * @functions: the innermost first, up to the poll function; names are valid until
 *             off_cpu_stop()
 * @whole: no callers are missing
 * @ns: how long in all, until they had a CPU again; in @times pieces, of which
 *      @longest_ns is the longest
 * @still: so many of them have not ended; @before: some had begun before anybody looked
 */
struct off_cpu_place {
	char type[TARGET_NAME];
	struct flame_function *functions;
	unsigned function_count;
	bool whole, before;
	uint64_t ns, times, longest_ns;
	uint64_t still;
};

/**
 * struct off_cpu_counts - of all
 * @times, @ns: of polls that blocked and went on, also of short ones, which are in no place
 * @lost: for which there was no room
 */
struct off_cpu_counts {
	uint64_t times, ns;
	uint64_t lost;
};

struct off_cpu;

/**
 * off_cpu_start - look from now on
 * @target: borrowed
 * @least_ns: what is shorter is only counted
 * @why: OFF_CPU_TEXT bytes; receives a line on failure
 *
 * Return: 0, or -errno. To be stopped in any case.
 */
int off_cpu_start(struct off_cpu **out, struct target *target,
		  uint64_t least_ns, char *why);

/**
 * off_cpu_take - what has come since the last time; to be called each 0.1 s
 * @ended: the process is no more
 *
 * Return: 0; -ESRCH: it has executed another program; -ENOMEM.
 */
int off_cpu_take(struct off_cpu *off, bool ended);

/* off_cpu_finish - what sleeps still; and all places in order, the longest first. Return:
 * 0, or -ENOMEM */
int off_cpu_finish(struct off_cpu *off);

/* off_cpu_keep_type - drop the places of all other types. Return: how many are left */
size_t off_cpu_keep_type(struct off_cpu *off, const char *type);

const struct off_cpu_place *off_cpu_places(const struct off_cpu *off,
					   size_t *count);
struct off_cpu_counts off_cpu_counts(const struct off_cpu *off);

/* off_cpu_line - where a function of a place was left, as of flame_names_line() */
void off_cpu_line(const struct off_cpu *off,
		  const struct flame_function *function, struct line *out);

/* off_cpu_hurry - somebody waits for the end: as flame_names_hurry() */
void off_cpu_hurry(struct off_cpu *off);

/* off_cpu_stop - @off may be NULL */
void off_cpu_stop(struct off_cpu *off);

#endif
