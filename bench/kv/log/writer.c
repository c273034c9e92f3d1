/* SPDX-License-Identifier: MIT */
/* writer.c - the fiber that writes the log */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "bench/kv/log/file.h"
#include "bench/kv/log/log.h"

#define MS     UINT64_C(1000000)
#define SECOND (1000 * MS)
/* How long a write may take to become durable in mode no: about as long as Linux itself lets
 * it wait. */
#define SYNC_SELDOM (30 * SECOND)
/* Modes everysec and no: the pause between two frames, so that one write takes many records.
 * A guess. */
#define PAUSE (5 * MS)
/* The longest wait for clients that are likely to come, and the time after which the wait ends
 * if none has come meanwhile. Guesses; redis-benchmark -t set -c 50 with --append always retunes
 * them. */
#define GATHER_MOST (2 * MS)
#define GATHER_STEP (MS / 10)
/* Zeros that are written ahead. A sync is cheaper if the file has not grown: the file system
 * need not record a new size. */
#define AHEAD (1u << 18)
/* A buffer of more bytes is given back when it is empty. */
#define KEPT (1u << 20)

static void lock(struct log *log)
{
	skua_mutex_lock(&log->lock, SKUA_FOREVER_NS);
}

static void unlock(struct log *log)
{
	skua_mutex_unlock(&log->lock);
}

/* ---- waiters --------------------------------------------------------------------- */

/* With the lock. */
static void set_error(struct log *log, int error)
{
	/* Relaxed: see log_error(). */
	__atomic_store_n(&log->error, error, __ATOMIC_RELAXED);
}

/* Wake all waiters of a list. */
static void wake_all(struct log_waiter *waiter)
{
	struct log_waiter *next;

	for (; waiter; waiter = next) {
		next = waiter->next;
		skua_event_set(&waiter->event);
	}
}

/* Release the clients whose positions are durable, or all clients if nothing can be written. */
static void grant(struct log *log)
{
	struct log_waiter **link = &log->waiters, *waiter, *granted = NULL;
	uint64_t count = 0;

	lock(log);
	while ((waiter = *link)) {
		waiter->granted = log_is_durable(log, waiter->need);
		if (!waiter->granted && !log_error(log)) {
			link = &waiter->next;
			continue;
		}
		*link = waiter->next;
		waiter->next = granted;
		granted = waiter;
		count++;
	}
	/* Released clients are likely to come back soon: the next frame waits for them and for
	 * the others. */
	log->wanted = log->waiting;
	log->waiting -= count;
	if (!log->wanted)
		log->wanted = 1;
	unlock(log);
	wake_all(granted);
}

/* ---- the file ---------------------------------------------------------------------- */

/* Write zeros after the place of the next frame, so that its sync is cheaper. An error does not
 * matter here: the write of the frame meets it, too. */
static void write_ahead(struct log *log, size_t size)
{
	static const char zeros[AHEAD];
	uint64_t end = log->offset + size;

	if (log->zeros < log->offset)
		log->zeros = log->offset;
	while (log->zeros < end) {
		if (file_write(log->runtime, log->fd, zeros, sizeof(zeros),
			       log->zeros))
			return;
		log->zeros += sizeof(zeros);
	}
}

static int sync_file(struct log *log)
{
	uint64_t begin_ns = skua_now_ns();
	int code = skua_file_sync(log->runtime, log->fd, SKUA_FILE_DATA_ONLY,
				  SKUA_FOREVER_NS);

	/* Relaxed, here and below: figures for INFO. */
	__atomic_store_n(&log->sync_ns,
			 (log->sync_ns * 7 + (skua_now_ns() - begin_ns)) / 8,
			 __ATOMIC_RELAXED);
	log->sync_due_ns =
		begin_ns + (log->mode == LOG_NO ? SYNC_SELDOM : SECOND);
	if (code) {
		/* Frames that were written since the last sync may be gone. */
		lock(log);
		log->lost = true;
		unlock(log);
		return code;
	}
	log->synced = log->offset;
	/* Relaxed: see log_is_durable(). */
	__atomic_store_n(&log->durable, log->taken, __ATOMIC_RELAXED);
	return 0;
}

/* Write the frame that was taken. Return: 0; a negative errno value */
static int write_frame(struct log *log)
{
	struct log_buffer *buffer = &log->writing;
	int code;

	if (buffer->used <= FRAME_HEADER)
		return 0;
	if (log->mode == LOG_ALWAYS)
		write_ahead(log, buffer->used);
	frame_seal(&log->file, buffer->data, buffer->used - FRAME_HEADER,
		   log->offset, log->synced);
	code = file_write(log->runtime, log->fd, buffer->data, buffer->used,
			  log->offset);
	if (code)
		return code;
	log_set_offset(log, log->offset + buffer->used);
	__atomic_store_n(&log->frames, log->frames + 1, __ATOMIC_RELAXED);
	buffer->used = 0;
	if (buffer->room > KEPT) {
		free(buffer->data);
		*buffer = (struct log_buffer){ NULL, 0, 0 };
	}
	return 0;
}

/* ---- the fiber --------------------------------------------------------------------- */

/* The wait for clients (mode always). @end_ns: when it ends at the latest, 0 at first; @seen:
 * the number of waiters at the last check; @until_ns: time of the next check */
struct gathering {
	uint64_t end_ns, seen, until_ns;
};

/* Have the clients that were released last come back, or does no more come? With the lock. */
static bool have_gathered(const struct log *log, struct gathering *g)
{
	uint64_t now_ns, most_ns = log->sync_ns * 2;

	if (log->waiting >= log->wanted)
		return true;
	if (!log->waiting) {
		g->until_ns = SKUA_FOREVER_NS;
		return false;
	}
	now_ns = skua_now_ns();
	if (!g->end_ns)
		g->end_ns = now_ns +
			    (most_ns < GATHER_MOST ? most_ns : GATHER_MOST);
	else if (now_ns >= g->until_ns && log->waiting == g->seen)
		return true;
	if (now_ns >= g->until_ns || g->until_ns == SKUA_FOREVER_NS) {
		g->until_ns = now_ns + GATHER_STEP;
		g->seen = log->waiting;
	}
	return now_ns >= g->end_ns;
}

/* Is it time to write or to sync? With the lock. Otherwise the fiber may wait until
 * @g->until_ns. */
static bool is_due(const struct log *log, struct gathering *g)
{
	bool records = log->adding.used > FRAME_HEADER;
	bool unsynced = log->synced < log->offset;

	if (log->ending || log->lost || log->behind ||
	    rewrite_is_ready(&log->rewrite))
		return true;
	if (log->mode == LOG_ALWAYS)
		return log->adding.used >= LOG_MANY || have_gathered(log, g);
	g->until_ns = unsynced ? log->sync_due_ns : SKUA_FOREVER_NS;
	return records || (unsynced && skua_now_ns() >= log->sync_due_ns);
}

/* Wait until it is time to write or to sync, and take the records. Return: false: the server
 * ends, and there are none. */
static bool take(struct log *log)
{
	struct gathering gathering = { 0, 0, 0 };
	struct log_waiter *behind;
	struct log_buffer taken;
	bool ending;

	lock(log);
	while (!is_due(log, &gathering)) {
		log->idle = true;
		unlock(log);
		skua_notify_wait(&log->work, gathering.until_ns);
		lock(log);
		log->idle = false;
	}
	taken = log->adding;
	log->adding = log->writing;
	log->writing = taken;
	/* Relaxed: see log_wait_for_room(). */
	__atomic_store_n(&log->taken, log->added, __ATOMIC_RELAXED);
	rewrite_take(log);
	behind = log->behind;
	log->behind = NULL;
	ending = log->ending;
	unlock(log);
	wake_all(behind);
	return !ending || taken.used > FRAME_HEADER;
}

/* Report an error, and release all clients that wait. Return: false: the server ends. */
static bool report(struct log *log, int code)
{
	struct log_waiter *behind;
	bool ending, known, lost;

	lock(log);
	known = log_error(log) == code && !log->lost;
	set_error(log, code);
	lost = log->lost;
	ending = log->ending;
	behind = log->behind;
	log->behind = NULL;
	unlock(log);
	if (!known)
		fprintf(stderr, "skua-kv: the log cannot be written: %s%s\n",
			strerror(-code),
			lost ? "; writes are refused until a restart" : "");
	rewrite_give_up(log, code);
	grant(log);
	wake_all(behind);
	return !ending;
}

/* Write the records that were taken; repeat that until it succeeds. Return: false: the server
 * ends. */
static bool write_taken(struct log *log)
{
	int code;

	skua_task_set_label("write");
	while ((code = write_frame(log))) {
		/* The file of a rewrite may have taken the room. */
		if (rewrite_make_room(log, code))
			continue;
		if (!report(log, code))
			return false;
		skua_notify_wait(&log->work, skua_now_ns() + SECOND);
	}
	return true;
}

/* A write has succeeded: end the error of those that failed before. Return: false: records are
 * lost. */
static bool recover(struct log *log)
{
	bool lost, again;

	lock(log);
	lost = log->lost;
	again = log_error(log) && !lost;
	if (again)
		set_error(log, 0);
	unlock(log);
	if (again)
		fprintf(stderr, "skua-kv: the log can be written again\n");
	return !lost;
}

/* Write and sync the records that were taken, and release the clients that wait for them.
 * Return: false: the fiber ends. */
static bool commit(struct log *log)
{
	int code = 0;

	if (!write_taken(log))
		return false;
	if (log->mode == LOG_ALWAYS || skua_now_ns() >= log->sync_due_ns) {
		skua_task_set_label("sync");
		code = sync_file(log);
	}
	if (!recover(log)) {
		report(log, code ? code : -ENOMEM);
		return false;
	}
	grant(log);
	code = rewrite_switch(log);
	if (code) {
		lock(log);
		log->lost = true;
		unlock(log);
		report(log, code);
	}
	return !code;
}

static void write_log(struct skua_fiber *self)
{
	struct log *log =
		(struct log *)((char *)self - offsetof(struct log, fiber));

	skua_cancel_mask();
	while (take(log) && commit(log)) {
		rewrite_keep_up(log);
		skua_task_set_label(NULL);
		if (log->mode != LOG_ALWAYS)
			skua_sleep_until(skua_now_ns() + PAUSE);
	}
}

int log_start(struct log *log)
{
	int code = skua_fiber_init(&log->fiber, write_log, 0);

	log->wanted = 1;
	log->sync_due_ns = skua_now_ns() + SECOND;
	if (!code)
		code = skua_task_spawn(log->runtime, &log->fiber.task);
	return code ? code : rewrite_start(log);
}

int log_stop(struct log *log)
{
	int code;

	rewrite_stop(log);
	lock(log);
	log->ending = true;
	unlock(log);
	skua_notify_one(&log->work);
	skua_task_join(&log->fiber.task);
	code = log_error(log);
	if (!code && log->synced < log->offset)
		code = sync_file(log);
	/* Without the zeros, the next start has less to read. */
	if (!code && log->zeros > log->offset &&
	    ftruncate(log->fd, (off_t)log->offset) == 0)
		skua_file_sync(log->runtime, log->fd, 0, SKUA_FOREVER_NS);
	log_close(log);
	return code;
}
