/* SPDX-License-Identifier: MIT */
/**
 * log.h - the log of all changes, and the fiber that writes it
 *
 * A command that has changed keys adds a record while it still holds the locks of their
 * stripes. The records of a key are therefore in the order of its changes. One fiber takes
 * all records that were added, writes them as one frame (frame.h), and syncs the file as the
 * mode says:
 *
 *	always	  each frame is synced, and a client gets its reply afterwards
 *	everysec  a frame is written at once, and the file is synced every second
 *	no	  the same, and the file is synced every 30 seconds
 *
 * Group commit: records that come while a frame is written and synced share the next frame.
 * In mode always, the fiber also waits, before a frame, for the clients that the last frame
 * has released, while they keep coming: for the time of two syncs at most, and for 2 ms at
 * most. Without this wait, two halves of the clients would alternate, and each sync would
 * serve one half.
 *
 * A position is a number of bytes that were added since the start of the server. A client
 * that has written, or has read what another one has written, waits for the position of that
 * record before it gets its reply.
 *
 * Errors: if a write fails, for example because the disk is full, the fiber tries again every
 * second until the write succeeds. If a sync fails, the kernel may have dropped the bytes that
 * it could not write, and a later sync would succeed without them. The fiber then writes
 * nothing more until the server is started again. In both cases writes are refused, and a
 * client that waits for its record gets no reply: its connection ends.
 *
 * The file grows, until a rewrite replaces it by a shorter one (rewrite.h).
 *
 * Memory: while LOG_BEHIND bytes wait to be written, a command that writes, or may find expired
 * keys, waits before it begins.
 */
#ifndef SKUA_BENCH_KV_LOG_H
#define SKUA_BENCH_KV_LOG_H

#include <skua/skua.h>

#include "bench/kv/log/reader.h"
#include "bench/kv/log/rewrite.h"

#define LOG_BEHIND (8u << 20)
/* In mode always, this many bytes are written even if no client waits for them: the records of
 * keys that have expired. */
#define LOG_MANY (1u << 20)

enum log_mode { LOG_NO, LOG_EVERYSEC, LOG_ALWAYS };

/* Records, after room for the header of a frame. */
struct log_buffer {
	char *data;
	size_t used, room;
};

/**
 * struct log_waiter - waits for a position, or for room; it must stay in place until the wait is
 *                     over
 * @need: the position
 * @granted: the position was reached; valid when the event is set
 * @listed: for the forms _poll: the wait has begun
 */
struct log_waiter {
	struct skua_event event;
	struct log_waiter *next;
	uint64_t need;
	bool granted, listed;
};

/**
 * struct log - the log
 * @lock: protects the fields up to @lost; held for the copy of a record at most
 * @adding: the records that the fiber has not taken yet
 * @waiters: clients that wait for a position; @waiting: their number
 * @wanted: the number of waiters that begins the next frame (mode always)
 * @behind: clients that wait until fewer bytes wait
 * @idle: the fiber waits for @work
 * @ending: write the rest, and end
 * @lost: a record, or a frame that was written, may be missing: no frame may follow
 *
 * Others read these without the lock:
 * @added: the position after all records; changed under the lock
 * @durable: the position up to which all is on the disk; changed by the fiber
 * @error: a negative errno value while nothing can be written, else 0; changed under the lock
 *
 * The rest belongs to the fiber:
 * @writing: the records of the frame that is written
 * @taken: the position after that frame; others read it
 * @path: of the file, without symbolic links
 * @offset: place of the next frame in the file; others read it
 * @base: @offset after the start, or after the last rewrite; others read it
 * @synced: bytes of the file that have reached the disk
 * @zeros: the file has zeros up to here at least
 * @sync_ns, @frames: the time that a sync takes, smoothed, and the number of frames; others
 *                    read both
 * @sync_due_ns: time of the next sync (modes everysec and no)
 */
struct log {
	struct skua_mutex lock;
	struct log_buffer adding;
	struct log_waiter *waiters;
	uint64_t waiting, wanted;
	struct log_waiter *behind;
	bool idle, ending, lost;

	uint64_t added, durable;
	int error;

	struct skua_runtime *runtime;
	enum log_mode mode;
	int fd;
	char *path;
	struct skua_notify work;
	struct skua_fiber fiber;
	struct log_buffer writing;
	uint64_t taken;
	struct frame_file file;
	uint64_t offset, base, synced, zeros;
	uint64_t sync_ns, sync_due_ns, frames;

	struct rewrite rewrite;
};

/**
 * log_open - open or create the file of a log, lock it, and read it
 * @log: zeroed, except for @runtime and @mode
 * @path: of the file
 * @visit: called with the records of each frame, as in log_read(). If it returns false,
 *         log_open() fails with -EBADMSG, and leaves the file as it is
 * @cut: receives the number of bytes that were cut off the end of the file
 * @err: receives the error
 *
 * In a thread. Return: 0; a negative errno value.
 */
int log_open(struct log *log, const char *path, log_visit_fn visit, void *ctx,
	     uint64_t *cut, struct skua_error *err);

/* log_close - close the file, and free the memory, after log_open() or by log_stop() */
void log_close(struct log *log);

/* log_start - start the fibers. Return: 0; a negative errno value */
int log_start(struct log *log);

/* log_stop - write and sync all, end the fibers, and close the file. In a thread. Return: 0; a
 * negative errno value: not all is on the disk */
int log_stop(struct log *log);

/**
 * log_add - add a record
 * @commands: number of commands in @body; 1 without it
 * @body: the commands, as record_put_command() writes them; NULL: @argv is the only one
 * @rewrite: number of the rewrite whose copy has the record, too, if it goes on: that of the
 *           visits of all stripes of the record. 0: none
 *
 * In a fiber, with cancels masked, with the locks of the keys. Return: the position after it;
 * UINT64_MAX: it was not added. There was no memory for it, or the log is lost already; nothing
 * is written from now on.
 */
uint64_t log_add(struct log *log, int64_t now_ms, uint32_t commands,
		 const struct bytes *body, size_t argc,
		 const struct bytes *argv, uint64_t rewrite);

/**
 * log_add_poll - add a record, or lose it, in a poll. As log_add()
 * @batch: the commands; if it has failed, the record is lost
 * @position: receives what log_add() returns
 *
 * Return: 0; -EAGAIN: return SKUA_PENDING, and call it again; -ECANCELED: the task was cancelled,
 * and cannot wait: call it again later.
 */
int log_add_poll(struct log *log, int64_t now_ms,
		 const struct record_batch *batch, struct skua_task *self,
		 struct skua_wait *wait, uint64_t *position);

/* log_lose - report a record that is missing because there was no memory for it, or for the
 * whole of its command. As log_add() */
void log_lose(struct log *log);

/* log_added - return the position after all records. Any thread. */
static inline uint64_t log_added(const struct log *log)
{
	/* Relaxed: a caller that must see a record holds the lock under which it was added. */
	return __atomic_load_n(&log->added, __ATOMIC_RELAXED);
}

/* log_error - return why nothing can be written: a negative errno value; 0: all is well */
static inline int log_error(const struct log *log)
{
	/* Relaxed: the number orders no other access. */
	return __atomic_load_n(&log->error, __ATOMIC_RELAXED);
}

/* log_is_durable - tell whether a position has reached the disk */
static inline bool log_is_durable(const struct log *log, uint64_t position)
{
	/* Relaxed: the bytes are on the disk; the number orders no access to memory. */
	return __atomic_load_n(&log->durable, __ATOMIC_RELAXED) >= position;
}

/* log_set_offset, log_set_base - change the numbers. The fiber of the log, and log_open() */
static inline void log_set_offset(struct log *log, uint64_t offset)
{
	/* Relaxed: a figure for other threads. */
	__atomic_store_n(&log->offset, offset, __ATOMIC_RELAXED);
}

static inline void log_set_base(struct log *log, uint64_t base)
{
	/* Relaxed: as above. */
	__atomic_store_n(&log->base, base, __ATOMIC_RELAXED);
}

/* log_size, log_base - return @offset and @base. Any thread. */
static inline uint64_t log_size(const struct log *log)
{
	/* Relaxed: a figure. */
	return __atomic_load_n(&log->offset, __ATOMIC_RELAXED);
}

static inline uint64_t log_base(const struct log *log)
{
	/* Relaxed: a figure. */
	return __atomic_load_n(&log->base, __ATOMIC_RELAXED);
}

/* log_wait - wait until a position has reached the disk. In a fiber, with cancels masked,
 * without locks. Return: false: it has not, and nothing can be written */
bool log_wait(struct log *log, uint64_t position);

/* log_wait_poll - the same in a poll. @waiter: zeroed before the first wait. Return: 0: the
 * position has reached the disk; -EIO: it has not, and nothing can be written; -EAGAIN and
 * -ECANCELED: as log_add_poll() */
int log_wait_poll(struct log *log, uint64_t position, struct skua_task *self,
		  struct log_waiter *waiter, struct skua_wait *wait);

/* log_is_behind - tell whether so many bytes wait to be written that writers should wait. Any
 * thread. */
static inline bool log_is_behind(const struct log *log)
{
	/* Relaxed: a bound that need not be exact. If @taken is newer than @added, the
	 * difference wraps, and log_wait_for_room() checks again under the lock. */
	return __atomic_load_n(&log->added, __ATOMIC_RELAXED) -
		       __atomic_load_n(&log->taken, __ATOMIC_RELAXED) >=
	       LOG_BEHIND;
}

/* log_wait_for_room - wait once if too many bytes wait to be written. As log_wait(). Return:
 * whether it has waited */
bool log_wait_for_room(struct log *log);

/* log_wait_for_room_poll - the same in a poll. @waiter: as for log_wait_poll(). Return: 0: it has
 * waited, or need not wait; -EAGAIN and -ECANCELED: as log_add_poll() */
int log_wait_for_room_poll(struct log *log, struct skua_task *self,
			   struct log_waiter *waiter, struct skua_wait *wait);

#endif
