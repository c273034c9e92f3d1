/* SPDX-License-Identifier: MIT */
/* reap.c - events of descriptors become runnable tasks; see loop.h */
#include "core/loop/loop.h"
#include "core/base/hot.h"
#include "core/loop/work.h"
#include "core/loop/worker.h"

/* Record an event for tools, before it makes a task runnable. Not inlined, as the recorder
 * is mostly off. */
static __attribute__((noinline)) void
record(struct worker *w, const struct driver_batch *batch, unsigned i)
{
	unsigned how = (batch->slept ? EVENT_REAP_SLEPT : 0) |
		       (batch->full ? EVENT_REAP_FULL : 0);

	telemetry_reap(&w->telemetry, batch->events[i].data.u64,
		       batch->events[i].events, batch->since_ns, how);
}

/* Called after events. A look that finds none begins no round: an event soon after it would
 * then wait for two rounds, one until a worker sees it, and another until its task runs. */
static void begin_round(struct worker *w)
{
	w->round_end =
		w->area.counters.tasks_polled + local_queue_length(w->queue);
}

/* Vote for the worker on whose CPU a single event has arrived. Several events vote against all
 * workers: they share a wake-up, whose cost then matters little, and their CPU has enough to
 * do. Not inlined, as it is rare. */
static __attribute__((noinline)) void vote(struct worker *w,
					   const struct driver_batch *batch)
{
	struct driver *driver = w->driver;
	const struct idle *idle = &w->pool->idle;
	int i = (int)driver_candidate(driver) - 1;
	int cpu;

	if (!driver->cpu_of || w->pool->worker_count == 1)
		return;
	if (batch->count > 1) {
		driver_arrived(driver, DRIVER_NOBODY);
		return;
	}
	cpu = driver->cpu_of(batch->events[0].data.u64);
	if (cpu < 0)
		return;
	/* Mostly the same worker: a search would read a line of each worker. */
	if (i < 0 || !idle_sleeps_on(idle, (unsigned)i, (unsigned)cpu))
		i = idle_find_on(idle, w->group, (unsigned)cpu);
	if (i >= 0)
		driver_arrived(driver, (unsigned)i);
}

static void deliver_batch(struct worker *w, const struct driver_batch *batch)
{
	struct driver *driver = w->driver;
	uint64_t before = w->area.counters.io_events;

	counter_add_owner(&w->area.counters.io_reaps, 1);
	counter_add_owner(&w->area.counters.io_events, batch->count);
	if (before / DRIVER_VOTE_EVENTS !=
	    (before + batch->count) / DRIVER_VOTE_EVENTS)
		vote(w, batch);
	for (unsigned i = 0; i < batch->count; i++) {
		if (w->telemetry.recorder.on)
			record(w, batch, i);
		driver->deliver(driver, batch->events[i].data.u64,
				batch->events[i].events);
	}
}

/*
 * The tasks of several events go to the local queue, where other workers can take them: in
 * the order of the events, after the tasks that wait there already. The task of a single
 * event goes to the LIFO slot if the worker has nothing else.
 */
HOT void reap_deliver_owner(struct worker *w, const struct driver_batch *batch)
{
	bool alone = batch->count == 1 && !lifo_slot_peek(&w->lifo) &&
		     local_queue_length(w->queue) == 0;
	void *first = alone ? NULL : lifo_slot_take_owner(&w->lifo);
	void *last;

	deliver_batch(w, batch);
	last = alone ? NULL : lifo_slot_take_owner(&w->lifo);
	if (last)
		work_push_back_owner(w, last);
	if (first)
		lifo_slot_put_owner(&w->lifo, first);
	begin_round(w);
}

HOT void reap_resign_if_long(struct worker *w)
{
	struct driver *driver = w->driver;

	if (driver_leads(driver, w->index) &&
	    w->tick.mean_ns > DRIVER_KEEP_NS && w->pool->worker_count > 1)
		driver_resign(driver, w->index);
}

/* Has the worker polled as many tasks as it had after its last events, without those that
 * others have stolen? Until then the tasks of further events would wait behind them, unless
 * they are urgent or bound. */
static bool round_over(struct worker *w)
{
	uint64_t polled = w->area.counters.tasks_polled;
	uint64_t end = polled + local_queue_length(w->queue);

	if ((int64_t)(w->round_end - end) > 0)
		w->round_end = end;
	/* Relaxed: a hint. */
	return (int64_t)(polled - w->round_end) >= 0 ||
	       atomic_load_relaxed(&w->pool->prioritises) != 0;
}

bool reap_leads(const struct worker *w)
{
	const struct driver *driver = w->driver;

	return driver_leads(driver, w->index) || !driver_led(driver);
}

/* Return how old the last look must be before the worker looks again. A leader without work
 * looks at each step of its search. */
static uint64_t look_age_ns(struct worker *w, bool busy)
{
	bool leads = reap_leads(w);

	if (!busy)
		return leads ? 0 : DRIVER_LOOK_NS;
	if (!round_over(w))
		return DRIVER_ROUND_NS;
	return leads ? DRIVER_LOOK_NS : DRIVER_HELP_NS;
}

HOT bool reap_owner(struct worker *w, uint64_t now_ns, bool busy)
{
	struct driver *driver = w->driver;
	struct driver_batch batch;

	if (!driver_attached(driver))
		return false;
	if (busy)
		reap_resign_if_long(w);
	if (!driver_take(driver, now_ns, look_age_ns(w, busy), &batch))
		return false;
	reap_deliver_owner(w, &batch);
	return true;
}

bool reap_turn_owner(struct worker *w, uint64_t now_ns)
{
	struct driver *driver = &w->pool->drivers[w->group_turn];
	struct driver_batch batch;

	if (driver == w->driver || !driver_attached(driver) ||
	    !driver_take(driver, now_ns, DRIVER_ROUND_NS, &batch))
		return false;
	reap_deliver_owner(w, &batch);
	return true;
}
