/* SPDX-License-Identifier: MIT */
/* log.c - the log of all changes: records are added, and clients wait for positions */
#include "bench/kv/log/log.h"

#include <errno.h>
#include <stdlib.h>

static void lock(struct log *log)
{
	skua_mutex_lock(&log->lock, SKUA_FOREVER_NS);
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

uint64_t log_add(struct log *log, int64_t now_ms, uint32_t commands,
		 const struct bytes *body, size_t argc,
		 const struct bytes *argv)
{
	size_t size = RECORD_HEADER +
		      (body ? body->size : record_command_size(argc, argv));
	uint64_t position;
	char *at;

	lock(log);
	if (log->lost || !make_room(&log->adding, size)) {
		lose(log);
		unlock(log);
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
	log->adding.used += size;
	/* In mode always, log_wait() wakes the fiber. */
	if (log->mode != LOG_ALWAYS || log->adding.used >= LOG_MANY)
		wake(log);
	unlock(log);
	return position;
}

/* ---- waits ------------------------------------------------------------------------ */

bool log_wait(struct log *log, uint64_t position)
{
	struct log_waiter waiter = { .event = SKUA_EVENT_INIT,
				     .need = position };

	if (log_is_durable(log, position))
		return true;
	lock(log);
	if (log_is_durable(log, position) || log_error(log)) {
		unlock(log);
		return log_is_durable(log, position);
	}
	waiter.next = log->waiters;
	log->waiters = &waiter;
	log->waiting++;
	if (log->waiting == 1 || log->waiting >= log->wanted)
		wake(log);
	unlock(log);
	skua_event_wait(&waiter.event, SKUA_FOREVER_NS);
	return waiter.granted;
}

bool log_wait_for_room(struct log *log)
{
	struct log_waiter waiter = { .event = SKUA_EVENT_INIT };

	if (!log_is_behind(log))
		return false;
	lock(log);
	if (log->adding.used < LOG_BEHIND || log_error(log)) {
		unlock(log);
		return false;
	}
	waiter.next = log->behind;
	log->behind = &waiter;
	wake(log);
	unlock(log);
	skua_event_wait(&waiter.event, SKUA_FOREVER_NS);
	return true;
}
