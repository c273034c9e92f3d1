/* SPDX-License-Identifier: MIT */
/**
 * trace_clock.h - converts the processor's counter in a stream of events to ns
 *
 * A stream has pairs of a counter value and a time between its events. A counter that
 * goes back, for example because the machine was suspended or migrated, therefore
 * spoils only the times between two pairs.
 */
#ifndef SKUA_BPF_TRACE_CLOCK_H
#define SKUA_BPF_TRACE_CLOCK_H

#include <stddef.h>
#include <stdint.h>

#include "probes/trace_file.h"

/* @number: of the event that has the pair. */
struct trace_pair {
	uint64_t number;
	struct trace_moment moment;
};

/* @ns for every @ticks of the counter; ticks 0: unknown. */
struct trace_rate {
	uint64_t ns;
	uint64_t ticks;
};

/* Zero it before the first use. */
struct trace_clock {
	struct trace_pair *pairs;
	size_t count;
	size_t room;
	size_t at; /* the first pair after the last event converted */
	struct trace_rate rate;
};

/**
 * trace_clock_add - add a pair
 * @number: not less than that of the previous pair
 *
 * A pair whose time does not advance is left out. Return: 0, -ENOMEM.
 */
int trace_clock_add(struct trace_clock *clock, uint64_t number,
		    struct trace_moment moment);

/* trace_clock_settle - call after all pairs were added; takes pairs and rate
 * from @other if there are none. Return: 0, -ENOMEM */
int trace_clock_settle(struct trace_clock *clock,
		       const struct trace_clock *other);

/* trace_clock_rewind - allow the next number to be lower */
void trace_clock_rewind(struct trace_clock *clock);

/**
 * trace_clock_ns - return CLOCK_MONOTONIC, in ns, at a value of the counter
 * @number: of the event with this value: not less than in the previous call
 *
 * Between two pairs it interpolates. Before the first pair and after the last one it
 * extrapolates from that pair, by the rate of all pairs.
 */
uint64_t trace_clock_ns(struct trace_clock *clock, uint64_t number,
			uint64_t counter);

void trace_clock_free(struct trace_clock *clock);

#endif
