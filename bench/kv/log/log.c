/* SPDX-License-Identifier: MIT */
/* log.c - the log of all changes: records are added, and clients wait for positions */
#include "bench/kv/log/log.h"

#include <errno.h>
#include <stdlib.h>

static void lock(struct log *log)
{
	skua_mutex_lock(&log->lock, SKUA_FOREVER_NS);
}

static int lock_poll(struct log *log, struct skua_task *self,
		     struct skua_wait *wait)
{
	return skua_mutex_lock_poll(self, &log->lock, wait, SKUA_FOREVER_NS);
}

static void unlock(struct log *log)
{
	skua_mutex_unlock(&log->lock);
}

/* Wake the fiber if it waits. With the lock. */
static void wake(struct log *log)
{
	if (!log->idle)
		return;
	log->idle = false;
	skua_notify_one(&log->work);
}

/* ---- records -------------------------------------------------------------------- */

static bool make_room(struct log_buffer *buffer, size_t more)
{
	size_t room = buffer->room ? buffer->room : 1u << 16;
	char *data;

	if (!buffer->used)
		buffer->used = FRAME_HEADER;
	while (room - buffer->used < more)
		room *= 2;
	if (room == buffer->room)
		return true;
	data = realloc(buffer->data, room);
	if (!data)
		return false;
	buffer->data = data;
	buffer->room = room;
	return true;
}

/* With the lock. */
static void lose(struct log *log)
{
	log->lost = true;
	if (!log_error(log))
		/* Relaxed: see log_error(). */
		__atomic_store_n(&log->error, -ENOMEM, __ATOMIC_RELAXED);
	wake(log);
}

void log_lose(struct log *log)
{
	lock(log);
	lose(log);
	unlock(log);
}

/* log_add(), with the lock. */
static uint64_t add(struct log *log, int64_t now_ms, uint32_t commands,
		    const struct bytes *body, size_t argc,
		    const struct bytes *argv, uint64_t rewrite)
{
	size_t size = RECORD_HEADER +
		      (body ? body->size : record_command_size(argc, argv));
	uint64_t position;
	char *at;

	if (log->lost || !make_room(&log->adding, size)) {
		lose(log);
		return UINT64_MAX;
	}
	position = log->added + size;
	/* Relaxed: see log_added(). */
	__atomic_store_n(&log->added, position, __ATOMIC_RELAXED);
	at = record_put_header(log->adding.data + log->adding.used, now_ms,
			       commands);
	if (body)
		memcpy(at, body->data, body->size);
	else
		record_put_command(at, argc, argv);
	if (rewrite && rewrite == log->rewrite.number)
		rewrite_add(&log->rewrite, log->adding.data + log->adding.used,
			    size);
	log->adding.used += size;
	/* In mode always, log_wait() wakes the fiber. */
	if (log->mode != LOG_ALWAYS || log->adding.used >= LOG_MANY)
		wake(log);
	return position;
}

uint64_t log_add(struct log *log, int64_t now_ms, uint32_t commands,
		 const struct bytes *body, size_t argc,
		 const struct bytes *argv, uint64_t rewrite)
{
	uint64_t position;

	lock(log);
	position = add(log, now_ms, commands, body, argc, argv, rewrite);
	unlock(log);
	return position;
}

int log_add_poll(struct log *log, int64_t now_ms,
		 const struct record_batch *batch, struct skua_task *self,
		 struct skua_wait *wait, uint64_t *position)
{
	struct bytes body = { batch->data, batch->used };
	int code = lock_poll(log, self, wait);

	if (code)
		return code;
	*position = UINT64_MAX;
	if (batch->failed)
		lose(log);
	else
		*position = add(log, now_ms, batch->commands, &body, 0, NULL,
				batch->rewrite);
	unlock(log);
	return 0;
}

/* ---- waits ------------------------------------------------------------------------ */

/* Begin to wait for a position. With the lock. Return: false: the position has been reached, or
 * nothing can be written */
static bool begin_wait(struct log *log, struct log_waiter *waiter,
		       uint64_t position)
{
	if (log_is_durable(log, position) || log_error(log))
		return false;
	*waiter = (struct log_waiter){ .event = SKUA_EVENT_INIT,
				       .next = log->waiters,
				       .need = position,
				       .listed = true };
	log->waiters = waiter;
	log->waiting++;
	if (log->waiting == 1 || log->waiting >= log->wanted)
		wake(log);
	return true;
}

bool log_wait(struct log *log, uint64_t position)
{
	struct log_waiter waiter;
	bool waits;

	if (log_is_durable(log, position))
		return true;
	lock(log);
	waits = begin_wait(log, &waiter, position);
	unlock(log);
	if (!waits)
		return log_is_durable(log, position);
	skua_event_wait(&waiter.event, SKUA_FOREVER_NS);
	return waiter.granted;
}

int log_wait_poll(struct log *log, uint64_t position, struct skua_task *self,
		  struct log_waiter *waiter, struct skua_wait *wait)
{
	bool waits;
	int code;

	if (!waiter->listed) {
		if (!skua_wait_armed(wait) && log_is_durable(log, position))
			return 0;
		code = lock_poll(log, self, wait);
		if (code)
			return code;
		waits = begin_wait(log, waiter, position);
		unlock(log);
		if (!waits)
			return log_is_durable(log, position) ? 0 : -EIO;
	}
	code = skua_event_wait_poll(self, &waiter->event, wait,
				    SKUA_FOREVER_NS);
	if (code)
		return code;
	waiter->listed = false;
	return waiter->granted ? 0 : -EIO;
}

/* Begin to wait for room. With the lock. Return: false: there is room, or nothing can be
 * written */
static bool begin_wait_for_room(struct log *log, struct log_waiter *waiter)
{
	if (log->adding.used < LOG_BEHIND || log_error(log))
		return false;
	*waiter = (struct log_waiter){ .event = SKUA_EVENT_INIT,
				       .next = log->behind,
				       .listed = true };
	log->behind = waiter;
	wake(log);
	return true;
}

bool log_wait_for_room(struct log *log)
{
	struct log_waiter waiter;
	bool waits;

	if (!log_is_behind(log))
		return false;
	lock(log);
	waits = begin_wait_for_room(log, &waiter);
	unlock(log);
	if (waits)
		skua_event_wait(&waiter.event, SKUA_FOREVER_NS);
	return waits;
}

int log_wait_for_room_poll(struct log *log, struct skua_task *self,
			   struct log_waiter *waiter, struct skua_wait *wait)
{
	bool waits;
	int code;

	if (!waiter->listed) {
		if (!skua_wait_armed(wait) && !log_is_behind(log))
			return 0;
		code = lock_poll(log, self, wait);
		if (code)
			return code;
		waits = begin_wait_for_room(log, waiter);
		unlock(log);
		if (!waits)
			return 0;
	}
	code = skua_event_wait_poll(self, &waiter->event, wait,
				    SKUA_FOREVER_NS);
	if (!code)
		waiter->listed = false;
	return code;
}
