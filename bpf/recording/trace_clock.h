/* SPDX-License-Identifier: MIT */
/**
 * trace_clock.h - what the processor's counter says in a stream of events, in ns
 *
 * From pairs of a value of the counter and a time, in the order in which they are
 * between the events: so that a counter that goes back, as where a machine was
 * suspended or moved, spoils no more than what is between two pairs.
 */
#ifndef SKUA_BPF_TRACE_CLOCK_H
#define SKUA_BPF_TRACE_CLOCK_H

#include <stddef.h>
#include <stdint.h>

#include "probes/trace_file.h"

/* Number: of the event that says so. */
struct trace_pair {
	uint64_t number;
	struct trace_moment moment;
};

/* Of so many ticks of the counter; none: unknown. */
struct trace_rate {
	uint64_t ns;
	uint64_t ticks;
};

/* Zero it before the first use. */
struct trace_clock {
	struct trace_pair *pairs;
	size_t count;
	size_t room;
	size_t at; /* the first pair behind the last event asked for */
	struct trace_rate rate;
};

/**
 * trace_clock_add - a pair
 * @number: not below those before
 *
 * A pair in which time goes back, or stands still, is left out. Return: 0, -ENOMEM.
 */
int trace_clock_add(struct trace_clock *clock, uint64_t number,
		    struct trace_moment moment);

/* trace_clock_settle - all pairs are there; what is missing is as in @other */
int trace_clock_settle(struct trace_clock *clock,
		       const struct trace_clock *other);

/* trace_clock_rewind - the next number may be a lower one */
void trace_clock_rewind(struct trace_clock *clock);

/**
 * trace_clock_ns - CLOCK_MONOTONIC when the counter had that value
 * @number: of the event that has it: not below those before
 *
 * Between two pairs: between their times, in proportion. Before the first and
 * behind the last: from that one, by the rate of all.
 */
uint64_t trace_clock_ns(struct trace_clock *clock, uint64_t number,
			uint64_t counter);

void trace_clock_free(struct trace_clock *clock);

#endif
