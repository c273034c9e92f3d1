/* SPDX-License-Identifier: MIT */
/* left.c - see left.h */
#include "core/runtime/left.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/os/address.h"
#include "core/base/clock.h"
#include "core/os/log.h"
#include "core/runtime/runtime.h"
#include "core/telemetry/track.h"

#define PERIOD_NS UINT64_C(1000000000)
/* The number of kinds of tasks that a line can list. */
#define KINDS 16u

/* ---- a line ---------------------------------------------------------------- */

/* Tasks of one type that wait for the same thing. */
struct kind {
	uint64_t type;
	uint64_t poll;
	uint64_t state;
	uint64_t wait;
	uint64_t count;
};

struct kinds {
	struct kind kinds[KINDS];
	unsigned count;
};

static void count_kind(struct kinds *all, const struct area_task *slot)
{
	struct kind kind = { .type = counter_read(&slot->type),
			     .poll = counter_read(&slot->poll),
			     .state = counter_read(&slot->state),
			     .wait = counter_read(&slot->wait),
			     .count = 1 };

	/* A type identifies the tasks better than their poll function. */
	if (kind.type)
		kind.poll = 0;
	for (unsigned i = 0; i < all->count; i++) {
		struct kind *k = &all->kinds[i];

		if (k->type == kind.type && k->poll == kind.poll &&
		    k->state == kind.state && k->wait == kind.wait) {
			k->count++;
			return;
		}
	}
	if (all->count < KINDS)
		all->kinds[all->count++] = kind;
}

/* sort - put the most frequent kinds first */
static void sort(struct kinds *all)
{
	for (unsigned i = 1; i < all->count; i++) {
		for (unsigned k = i; k > 0; k--) {
			struct kind *a = &all->kinds[k - 1], *b = a + 1;
			struct kind swap = *a;

			if (a->count >= b->count)
				break;
			*a = *b;
			*b = swap;
		}
	}
}

__attribute__((format(printf, 2, 3))) static void add(struct skua_error *line,
						      const char *format, ...)
{
	size_t length = strlen(line->text);
	va_list args;

	va_start(args, format);
	vsnprintf(line->text + length, sizeof(line->text) - length, format,
		  args);
	va_end(args);
}

/* add_function - print an address in the format of stall reports, which skua symbolize
 * reads even after the process has ended */
static void add_function(struct skua_error *line, uint64_t poll)
{
	char text[ADDRESS_TEXT];

	address_print(text, (const void *)(uintptr_t)poll);
	add(line, "of no type, polled by %s", text);
}

static const char *doing(const struct kind *kind)
{
	/* In the order of enum area_wait. */
	static const char *const waits[] = { "pending",     "nothing wakes it",
					     "for a waker", "join",
					     "group",       "timer" };

	if (kind->state == AREA_TASK_QUEUED)
		return "queued";
	if (kind->state == AREA_TASK_POLLED)
		return "in a poll";
	if (kind->state == AREA_TASK_DONE)
		return kind->wait == AREA_WAIT_TIMER ? "done, timer left"
						     : "done, waker left";
	return waits[kind->wait <= AREA_WAIT_TIMER ? kind->wait : 0];
}

static_assert(AREA_STATE_DONE == TASK_COMPLETE &&
		      AREA_STATE_REFERENCE == TASK_REFERENCE,
	      "what others read of tasks");

/* ended - tell whether a task that was done with a waker left has ended by now
 *
 * The end of such a task does not update its slot. If its memory is gone or belongs to
 * another task, then it has ended. */
static bool ended(const struct area_task *slot)
{
	struct skua_task task;
	skua_task_fn function;

	return !task_peek(getpid(),
			  (const void *)(uintptr_t)counter_read(&slot->task),
			  &task, &function) ||
	       (uintptr_t)function != counter_read(&slot->poll) ||
	       !(task.state & TASK_COMPLETE) || task_state_ended(task.state);
}

static bool shown(const struct area_task *slot)
{
	return counter_read(&slot->task) &&
	       (counter_read(&slot->state) != AREA_TASK_DONE || !ended(slot));
}

static void add_kinds(struct skua_error *line, const struct track *track,
		      uint64_t live)
{
	/* Leaves room for the advice that skua_runtime_left() appends. */
	const size_t most = sizeof(line->text) - 100;
	struct kinds all = { .count = 0 };
	uint64_t named = 0; /* live tasks that the line lists */

	for (unsigned i = 0; i < TRACK_SLOTS; i++)
		if (shown(&track->tasks[i]))
			count_kind(&all, &track->tasks[i]);
	sort(&all);
	for (unsigned i = 0; i < all.count; i++) {
		const struct kind *kind = &all.kinds[i];

		if (strlen(line->text) > most) {
			add(line, ", ...");
			return;
		}
		add(line, "%s %" PRIu64 " ", i ? "," : ":", kind->count);
		if (kind->type)
			add(line, "%.*s", SKUA_TASK_TYPE_NAME,
			    ((const struct skua_task_type *)(uintptr_t)
				     kind->type)
				    ->name);
		else
			add_function(line, kind->poll);
		add(line, " (%s)", doing(kind));
		if (kind->state != AREA_TASK_DONE)
			named += kind->count;
	}
	/* Tasks for which the table or the list of kinds had no room. */
	if (named > 0 && named < live)
		add(line, ", and %" PRIu64 " more", live - named);
}

int64_t skua_runtime_left(const struct skua_runtime *rt,
			  struct skua_error *what)
{
	uint64_t live;

	if (!rt)
		return -EINVAL;
	if (!runtime_alive(rt))
		return -EOWNERDEAD;
	live = pool_live(&rt->pool);
	if (!what)
		return (int64_t)live;
	what->code = live ? -ETIMEDOUT : 0;
	what->text[0] = '\0';
	add(what, "%" PRIu64 " task%s left", live, live == 1 ? " is" : "s are");
	if (rt->pool.telemetry.track)
		add_kinds(what, rt->pool.telemetry.track, live);
	if (live)
		add(what, "; to see them: %sskua tasks -p %d",
		    rt->pool.telemetry.track ? "" : "SKUA_TRACK_TASKS=1, and ",
		    getpid());
	return (int64_t)live;
}

/* ---- a wait ----------------------------------------------------------------- */

static uint64_t polls_begun(const struct skua_runtime *rt)
{
	uint64_t polls = 0;

	for (unsigned i = 0; i < rt->pool.worker_count; i++)
		polls += counter_read(
			&rt->pool.workers[i]->area.counters.tasks_polled);
	return polls;
}

/* all_sleep - tell whether no worker runs
 *
 * In a caller-driven runtime, the calling thread is the one that would drive. */
static bool all_sleep(const struct skua_runtime *rt)
{
	for (unsigned i = 0; i < rt->pool.worker_count; i++) {
		const struct worker *worker = rt->pool.workers[i];

		if (!rt->config.caller_driven &&
		    counter_read(&worker->area.times.state) != AREA_PARKED)
			return false;
	}
	return true;
}

void left_watch_begin(struct left_watch *watch, const struct skua_runtime *rt)
{
	watch->polls = polls_begun(rt);
	watch->next_ns = clock_now_ns() + PERIOD_NS;
	watch->told = false;
}

uint64_t left_watch_next_ns(const struct left_watch *watch,
			    uint64_t deadline_ns)
{
	return watch->told || deadline_ns < watch->next_ns ? deadline_ns
							   : watch->next_ns;
}

void left_watch_check(struct left_watch *watch, const struct skua_runtime *rt)
{
	uint64_t polls = polls_begun(rt);
	bool still = polls == watch->polls && all_sleep(rt) &&
		     pool_next_timer_ns(&rt->pool) == UINT64_MAX;
	struct skua_error what;

	watch->polls = polls;
	watch->next_ns = clock_now_ns() + PERIOD_NS;
	if (!still || skua_runtime_left(rt, &what) <= 0)
		return;
	watch->told = true;
	log_say(&rt->config.hooks, SKUA_LOG_WARNING,
		"waiting, and nothing happens: %s", what.text);
}
