/* SPDX-License-Identifier: MIT */
/**
 * tick.h - how long polls take, and what follows from it
 *
 * A tick is up to TICK_BUDGET polls, fewer if they are long: as many as fit
 * into TICK_NS. At its end the worker reads the clock once, looks at the
 * timers, and from the mean poll time sets the next tick, and how many polls
 * may pass until it looks at the injection queue while it has work of its own:
 * as many as fit into the target latency. So a worker with long polls looks
 * often, and one with short polls does not pay for looking.
 */
#ifndef SKUA_CORE_BASE_TICK_H
#define SKUA_CORE_BASE_TICK_H

#include <stdint.h>

#define TICK_BUDGET 128u
/* How late a timer may be for the sake of fewer looks. A guess; `timers`
 * retunes it. */
#define TICK_NS UINT64_C(50000)
/*
 * How long work from outside waits for a busy worker. A guess: a look costs one
 * load, or a cache miss if somebody pushed. With 1 ms, from the seeds,
 * spawn_many_remote_busy1 took twice as long; that, `spawn_many_remote_busy2` and
 * `rpc` retune it.
 */
#define TICK_TARGET_NS    UINT64_C(20000)
#define TICK_INTERVAL_MIN 1u
#define TICK_INTERVAL_MAX 255u
/* The mean before the first measurement. */
#define TICK_FIRST_MEAN_NS UINT64_C(50000)

struct tick {
	uint64_t start_ns;
	uint64_t mean_ns;  /* of a poll, moving with weight 1/10 */
	uint32_t polls;    /* in this tick */
	uint32_t budget;   /* polls of this tick at most */
	uint32_t interval; /* polls between looks at the injection queue */
};

/* How many polls fit into a time, between two bounds? */
static inline uint32_t tick_fit(uint64_t time_ns, uint64_t mean_ns,
				uint32_t min, uint32_t max)
{
	uint64_t polls = time_ns / (mean_ns ? mean_ns : 1);

	if (polls < min)
		return min;
	return polls > max ? max : (uint32_t)polls;
}

static inline void tick_plan(struct tick *tick)
{
	tick->budget = tick_fit(TICK_NS, tick->mean_ns, 1, TICK_BUDGET);
	tick->interval = tick_fit(TICK_TARGET_NS, tick->mean_ns,
				  TICK_INTERVAL_MIN, TICK_INTERVAL_MAX);
}

static inline void tick_init(struct tick *tick)
{
	tick->start_ns = 0;
	tick->mean_ns = TICK_FIRST_MEAN_NS;
	tick->polls = 0;
	tick_plan(tick);
}

/* tick_begin - after a pause that was no poll, as a park */
static inline void tick_begin(struct tick *tick, uint64_t now_ns)
{
	tick->start_ns = now_ns;
	tick->polls = 0;
}

/* tick_end - learn from the polls since the tick began, and begin another */
static inline void tick_end(struct tick *tick, uint64_t now_ns)
{
	if (tick->polls > 0) {
		uint64_t poll_ns = (now_ns - tick->start_ns) / tick->polls;

		tick->mean_ns = (poll_ns + 9 * tick->mean_ns) / 10;
		tick_plan(tick);
	}
	tick_begin(tick, now_ns);
}

#endif
