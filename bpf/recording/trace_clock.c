/* SPDX-License-Identifier: MIT */
/* trace_clock.c - see trace_clock.h */
#include "bpf/cli/grow.h"
#include "bpf/cli/saturated.h"
#include "bpf/recording/trace_clock.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

typedef unsigned __int128 wide;

static struct trace_rate rate_between(const struct trace_moment *from,
				      const struct trace_moment *to)
{
	struct trace_rate none = { 0, 0 };

	if (to->counter <= from->counter)
		return none;
	return (struct trace_rate){ to->monotonic_ns - from->monotonic_ns,
				    to->counter - from->counter };
}

/* Ticks in ns; without a rate, one tick counts as 1 ns. */
static uint64_t scale(uint64_t ticks, const struct trace_rate *rate)
{
	wide ns = ticks;

	if (rate->ticks > 0)
		ns = ns * rate->ns / rate->ticks;
	return ns > UINT64_MAX ? UINT64_MAX : (uint64_t)ns;
}

/* Add up all rates; a sum that would overflow is left out. */
static void add_rate(struct trace_rate *sum, const struct trace_rate *more)
{
	uint64_t ns = add_saturated(sum->ns, more->ns);
	uint64_t ticks = add_saturated(sum->ticks, more->ticks);

	if (ns < UINT64_MAX && ticks < UINT64_MAX)
		*sum = (struct trace_rate){ ns, ticks };
}

int trace_clock_add(struct trace_clock *clock, uint64_t number,
		    struct trace_moment moment)
{
	if (clock->count > 0) {
		const struct trace_moment *last =
			&clock->pairs[clock->count - 1].moment;
		struct trace_rate rate;

		if (moment.monotonic_ns <= last->monotonic_ns)
			return 0;
		rate = rate_between(last, &moment);
		add_rate(&clock->rate, &rate);
	}
	if (!grow(&clock->pairs, sizeof(*clock->pairs), clock->count,
		  &clock->room))
		return -ENOMEM;
	clock->pairs[clock->count++] = (struct trace_pair){ number, moment };
	return 0;
}

int trace_clock_settle(struct trace_clock *clock,
		       const struct trace_clock *other)
{
	for (size_t i = 0; clock->count == 0 && i < other->count; i++)
		if (trace_clock_add(clock, other->pairs[i].number,
				    other->pairs[i].moment))
			return -ENOMEM;
	if (clock->rate.ticks == 0)
		clock->rate = other->rate;
	return 0;
}

void trace_clock_rewind(struct trace_clock *clock)
{
	clock->at = 0;
}

static uint64_t between(const struct trace_clock *clock,
			const struct trace_moment *from,
			const struct trace_moment *to, uint64_t counter)
{
	struct trace_rate rate = rate_between(from, to);
	uint64_t ns = from->monotonic_ns;

	if (rate.ticks == 0)
		rate = clock->rate;
	if (counter > from->counter)
		ns = add_saturated(ns, scale(counter - from->counter, &rate));
	return ns < to->monotonic_ns ? ns : to->monotonic_ns;
}

static uint64_t before(const struct trace_clock *clock,
		       const struct trace_moment *first, uint64_t counter)
{
	uint64_t ns = 0;

	if (counter < first->counter)
		ns = scale(first->counter - counter, &clock->rate);
	return ns < first->monotonic_ns ? first->monotonic_ns - ns : 0;
}

static uint64_t behind(const struct trace_clock *clock,
		       const struct trace_moment *last, uint64_t counter)
{
	if (counter <= last->counter)
		return last->monotonic_ns;
	return add_saturated(last->monotonic_ns,
			     scale(counter - last->counter, &clock->rate));
}

uint64_t trace_clock_ns(struct trace_clock *clock, uint64_t number,
			uint64_t counter)
{
	const struct trace_pair *pairs = clock->pairs;
	size_t at = clock->at;

	while (at < clock->count && pairs[at].number <= number)
		at++;
	clock->at = at;
	if (clock->count == 0)
		return scale(counter, &clock->rate);
	if (at == 0)
		return before(clock, &pairs[0].moment, counter);
	if (at == clock->count)
		return behind(clock, &pairs[at - 1].moment, counter);
	return between(clock, &pairs[at - 1].moment, &pairs[at].moment,
		       counter);
}

void trace_clock_free(struct trace_clock *clock)
{
	free(clock->pairs);
	memset(clock, 0, sizeof(*clock));
}
