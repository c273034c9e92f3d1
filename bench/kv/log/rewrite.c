/* SPDX-License-Identifier: MIT */
/* rewrite.c - the state of a rewrite, as commands and the log see it */
#include "bench/kv/log/rewrite_parts.h"

#include <errno.h>
#include <string.h>

#include "bench/kv/log/file.h"

/* ---- states ----------------------------------------------------------------------- */

int rewrite_ask(struct log *log)
{
	enum rewrite_state idle = REWRITE_IDLE;

	if (log_error(log))
		return log_error(log);
	/* Relaxed: the notification orders what was done before. */
	if (!__atomic_compare_exchange_n(&log->rewrite.state, &idle,
					 REWRITE_ASKED, false, __ATOMIC_RELAXED,
					 __ATOMIC_RELAXED))
		return -EALREADY;
	skua_notify_one(&log->rewrite.work);
	return 0;
}

struct rewrite_figures rewrite_figures(const struct log *log)
{
	const struct rewrite *r = &log->rewrite;

	return (struct rewrite_figures){
		.running = rewrite_state_of(r) != REWRITE_IDLE,
		.rewrites = rewrite_figure(&r->rewrites),
		.failures = rewrite_figure(&r->failures),
		.begun_ns = rewrite_figure(&r->begun_ns),
		.ended_ns = rewrite_figure(&r->ended_ns),
		.took_ns = rewrite_figure(&r->took_ns),
	};
}

bool rewrite_give_up_locked(struct rewrite *r, int error)
{
	if (rewrite_state_of(r) < REWRITE_VISITING)
		return false;
	if (rewrite_state_of(r) == REWRITE_SWITCHED)
		return true;
	if (!r->error)
		r->error = error;
	rewrite_set_number(r, 0);
	if (rewrite_state_of(r) != REWRITE_VISITING) {
		rewrite_set_state(r, REWRITE_VISITING);
		skua_event_set(&r->switched);
	}
	return true;
}

void rewrite_give_up(struct log *log, int error)
{
	rewrite_lock(log);
	rewrite_give_up_locked(&log->rewrite, error);
	rewrite_unlock(log);
}

void rewrite_add(struct rewrite *rewrite, const char *record, size_t size)
{
	char *at = pieces_add(&rewrite->copy, size);

	if (at)
		memcpy(at, record, size);
	else
		rewrite_give_up_locked(rewrite, -ENOMEM);
}

/* ---- waits ------------------------------------------------------------------------ */

static void wait_for(struct log *log, struct rewrite_waiter *waiter)
{
	rewrite_unlock(log);
	skua_event_wait(&waiter->event, SKUA_FOREVER_NS);
	rewrite_lock(log);
}

/* Begin to wait. With the lock of the log. */
static void add_waiter(struct rewrite *r, struct rewrite_waiter *waiter)
{
	waiter->next = r->waiters;
	r->waiters = waiter;
}

void rewrite_wake_all(struct rewrite_waiter *waiter)
{
	struct rewrite_waiter *next;

	for (; waiter; waiter = next) {
		next = waiter->next;
		skua_event_set(&waiter->event);
	}
}

/* Begin to wait for stripes that a rewrite has not visited. With the lock of the log. Return:
 * false: it has visited all, or has ended */
static bool begin_wait(struct rewrite *r, struct rewrite_waiter *waiter,
		       uint64_t number, const struct store_set *set)
{
	if (r->number != number || rewrite_state_of(r) != REWRITE_VISITING)
		return false;
	*waiter = (struct rewrite_waiter){ .event = SKUA_EVENT_INIT,
					   .set = set,
					   .listed = true };
	add_waiter(r, waiter);
	return true;
}

void rewrite_wait(struct log *log, uint64_t number, const struct store_set *set)
{
	struct rewrite_waiter waiter;

	rewrite_lock(log);
	if (begin_wait(&log->rewrite, &waiter, number, set))
		wait_for(log, &waiter);
	rewrite_unlock(log);
}

int rewrite_wait_poll(struct log *log, uint64_t number,
		      const struct store_set *set, struct skua_task *self,
		      struct rewrite_waiter *waiter, struct skua_wait *wait)
{
	bool waits;
	int code;

	if (!waiter->listed) {
		code = skua_mutex_lock_poll(self, &log->lock, wait,
					    SKUA_FOREVER_NS);
		if (code)
			return code;
		waits = begin_wait(&log->rewrite, waiter, number, set);
		rewrite_unlock(log);
		if (!waits)
			return 0;
	}
	code = skua_event_wait_poll(self, &waiter->event, wait,
				    SKUA_FOREVER_NS);
	if (!code)
		waiter->listed = false;
	return code;
}

void rewrite_keep_up(struct log *log)
{
	struct rewrite_waiter waiter = { .event = SKUA_EVENT_INIT };

	rewrite_lock(log);
	if (log->rewrite.copy.bytes >= LOG_BEHIND && log->rewrite.number &&
	    rewrite_state_of(&log->rewrite) == REWRITE_VISITING) {
		add_waiter(&log->rewrite, &waiter);
		wait_for(log, &waiter);
	}
	rewrite_unlock(log);
}

bool rewrite_make_room(struct log *log, int error)
{
	struct rewrite_waiter waiter = { .event = SKUA_EVENT_INIT };
	bool begun;

	rewrite_lock(log);
	begun = rewrite_give_up_locked(&log->rewrite, error);
	if (begun) {
		add_waiter(&log->rewrite, &waiter);
		wait_for(log, &waiter);
	}
	rewrite_unlock(log);
	return begun;
}

/* ---- the fiber of the log --------------------------------------------------------- */

bool rewrite_is_ready(const struct rewrite *rewrite)
{
	return rewrite_state_of(rewrite) == REWRITE_READY;
}

void rewrite_take(struct log *log)
{
	if (!rewrite_is_ready(&log->rewrite) || log->lost)
		return;
	rewrite_set_state(&log->rewrite, REWRITE_SWITCHING);
	rewrite_set_number(&log->rewrite, 0);
}

int rewrite_switch(struct log *log)
{
	struct rewrite *r = &log->rewrite;
	int code, old;

	if (rewrite_state_of(r) != REWRITE_SWITCHING)
		return 0;
	skua_task_set_label("switch");
	code = rewrite_file_replace(log);
	if (code) {
		rewrite_give_up(log, code);
		return 0;
	}
	/* From here on, the new file is the log, whatever happens. */
	code = file_sync_folder(log->runtime, log->path);
	old = log->fd;
	log->fd = r->fd;
	r->fd = old;
	log->file = r->file;
	log_set_offset(log, r->offset);
	log->synced = log->zeros = r->offset;
	log_set_base(log, r->offset);
	rewrite_lock(log);
	rewrite_set_state(r, REWRITE_SWITCHED);
	rewrite_unlock(log);
	skua_event_set(&r->switched);
	return code;
}
