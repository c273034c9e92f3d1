/* SPDX-License-Identifier: MIT */
/**
 * tick.h - how long polls take, and how many of them make a tick
 *
 * A tick is at most TICK_BUDGET polls. If polls are long, it is only as many as
 * fit into TICK_NS. At the end of a tick the worker reads the clock once,
 * checks its timers, and computes the budget of the next tick from the mean poll
 * time. The budget also follows the last tick alone, if its polls took longer
 * than the mean, so that only one tick is long when polls become long.
 */
#ifndef SKUA_CORE_BASE_TICK_H
#define SKUA_CORE_BASE_TICK_H

#include <stdint.h>

#define TICK_BUDGET 128u
/*
 * How late a timer may be, as the price of fewer checks, if no poll is longer.
 * A guess: the end of a tick costs about 0.1 us. With 50 us, timers were late by
 * 27 us beside polls of 10 us, and now by 5 us. The benchmark `timers` retunes
 * it.
 */
#define TICK_NS UINT64_C(10000)
/* How long a busy worker leaves its pollers uncalled, and the timers of other
 * groups unchecked. A guess: a call is often a system call, of 0.3 us to 1 us. */
#define TICK_POLLERS_NS UINT64_C(50000)
/* The assumed mean poll time before the first measurement. */
#define TICK_FIRST_MEAN_NS UINT64_C(50000)

struct tick {
	uint64_t start_ns;
	uint64_t mean_ns; /* mean poll time; a new value weighs 1/10 */
	uint32_t polls;   /* so far in this tick */
	uint32_t budget;  /* most polls in this tick */
};

/* Return how many polls of @mean_ns fit into @time_ns, limited to [@min, @max]. */
static inline uint32_t tick_fit(uint64_t time_ns, uint64_t mean_ns,
				uint32_t min, uint32_t max)
{
	uint64_t polls = time_ns / (mean_ns ? mean_ns : 1);

	if (polls < min)
		return min;
	return polls > max ? max : (uint32_t)polls;
}

/* Plan the next tick; @poll_ns is the mean poll time of the last one. */
static inline void tick_plan(struct tick *tick, uint64_t poll_ns)
{
	tick->budget = tick_fit(
		TICK_NS, poll_ns > tick->mean_ns ? poll_ns : tick->mean_ns, 1,
		TICK_BUDGET);
}

static inline void tick_init(struct tick *tick)
{
	tick->start_ns = 0;
	tick->mean_ns = TICK_FIRST_MEAN_NS;
	tick->polls = 0;
	tick_plan(tick, TICK_FIRST_MEAN_NS);
}

/* tick_begin - begin a tick after time without polls, such as a park */
static inline void tick_begin(struct tick *tick, uint64_t now_ns)
{
	tick->start_ns = now_ns;
	tick->polls = 0;
}

/* tick_end - end a tick: update the mean poll time and the plan, and begin the
 * next */
static inline void tick_end(struct tick *tick, uint64_t now_ns)
{
	if (tick->polls > 0) {
		uint64_t poll_ns = (now_ns - tick->start_ns) / tick->polls;

		tick->mean_ns = (poll_ns + 9 * tick->mean_ns) / 10;
		tick_plan(tick, poll_ns);
	}
	tick_begin(tick, now_ns);
}

#endif
