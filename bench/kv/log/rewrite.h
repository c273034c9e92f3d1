/* SPDX-License-Identifier: MIT */
/**
 * rewrite.h - replaces the log by a shorter one that has the same effect
 *
 * A fiber, the rewriter, writes a new file beside the log while commands go on:
 *
 * - It visits one stripe after the other. Under the lock of the stripe, it adds records that
 *   create the keys of the stripe (dump.h) to the copy, which it writes to the new file.
 * - From then on, a record of this stripe goes to the log and to the copy. A record of a stripe
 *   that was not visited goes to the log alone.
 * - A command on several stripes needs all of them visited, or none. Otherwise it unlocks them,
 *   waits until the rewriter has visited the rest, and begins again. So the lock of a stripe is
 *   held for the dump of this stripe at most.
 * - When all were visited, the rewriter writes the rest, syncs the new file, and waits for the
 *   fiber of the log. This fiber takes the last records of the log and of the copy at the same
 *   position, and writes and syncs those of the log as ever. Then it writes and syncs those of
 *   the copy, renames the new file, syncs the folder, and goes on in the new file.
 *
 * Both files therefore have all records up to the position of the switch, and no client gets an
 * acknowledgement of a later one until the switch is over. A server that is killed at any moment
 * has one file or the other, and loses nothing.
 *
 * An error ends the rewrite, and the log goes on. Only if the folder cannot be synced after the
 * file was renamed, no name is certain, and nothing more is written, as after a failed sync.
 *
 * Memory: the copy has one dump, and the records that come while a part of it is written. While
 * they are many, the fiber of the log waits, so that commands wait for room as ever.
 *
 * Rejected: a forked child that writes the keys as they are at one moment, as in Redis. A fork
 * stops all commands while the kernel copies the page tables, and each page that changes
 * meanwhile takes memory twice.
 */
#ifndef SKUA_BENCH_KV_REWRITE_H
#define SKUA_BENCH_KV_REWRITE_H

#include <skua/skua.h>

#include "bench/kv/log/pieces.h"
#include "bench/kv/store/store.h"

struct log;

/* ASKED: it will begin. VISITING: records of visited stripes go to the copy, too; or the rewrite
 * is given up. READY: all is written, and the fiber of the log may switch. SWITCHING: it does.
 * SWITCHED: it has. */
enum rewrite_state {
	REWRITE_IDLE,
	REWRITE_ASKED,
	REWRITE_VISITING,
	REWRITE_READY,
	REWRITE_SWITCHING,
	REWRITE_SWITCHED
};

/**
 * struct rewrite_waiter - waits until stripes were visited, and the copy is written, or until the
 * rewrite has ended; the caller has the memory
 * @set: the stripes; NULL: none
 * @listed: for rewrite_wait_poll(): the wait has begun
 */
struct rewrite_waiter {
	struct skua_event event;
	struct rewrite_waiter *next;
	const struct store_set *set;
	bool listed;
};

/**
 * struct rewrite - the rewrite of a log
 *
 * The lock of the log protects these:
 * @state: others read it without the lock, and change it from IDLE to ASKED
 * @number: of the rewrite, while records go to the copy; 0: they do not. Others read it
 * @copy: what the rewriter has not taken
 * @waiters: commands, and the fiber of the log
 * @error: a negative errno value: the rewrite is given up
 * @stopping: the server ends
 *
 * The lock of the stripe protects each of these:
 * @visited: the last rewrite that has visited the stripe
 *
 * @store: the keys; set before the first rewrite
 * @path: of the new file; set by log_open()
 *
 * These belong to the rewriter, and in state SWITCHING to the fiber of the log:
 * @last: the number of the last rewrite
 * @fd, @file, @offset, @synced: of the new file, as in struct log; after the switch, @fd is the
 *                               old file
 *
 * @switched: the fiber of the log has switched, or the rewrite is given up
 * @rewrites, @failures, @begun_ns, @ended_ns, @took_ns: for rewrite_figures()
 */
struct rewrite {
	enum rewrite_state state;
	uint64_t number;
	struct pieces copy;
	struct rewrite_waiter *waiters;
	int error;
	bool stopping;

	uint64_t visited[STORE_STRIPES];

	struct store *store;
	char *path;
	struct skua_fiber fiber;
	struct skua_notify work;
	struct skua_event switched;
	uint64_t last;
	int fd;
	struct frame_file file;
	uint64_t offset, synced;
	uint64_t rewrites, failures, begun_ns, ended_ns, took_ns;
};

/**
 * struct rewrite_figures - what is known of the rewrites
 * @running: one has begun, or will
 * @rewrites: number of those that have begun
 * @failures: number of those that have failed since one succeeded
 * @begun_ns, @ended_ns, @took_ns: times of the last one; @took_ns is 0 if none has ended
 */
struct rewrite_figures {
	bool running;
	uint64_t rewrites, failures, begun_ns, ended_ns, took_ns;
};

/* rewrite_start - start the rewriter. As log_start() */
int rewrite_start(struct log *log);

/* rewrite_stop - give up a rewrite, and end the rewriter. As log_stop() */
void rewrite_stop(struct log *log);

/* rewrite_ask - begin a rewrite of the keys of rewrite.store. Any thread, and in polls. Return: 0; -EALREADY: one is running;
 * another negative errno value: the log cannot be written */
int rewrite_ask(struct log *log);

/* rewrite_figures - tell what is known. Any thread, and in polls */
struct rewrite_figures rewrite_figures(const struct log *log);

/* ---- for commands ----------------------------------------------------------------- */

/* rewrite_number - return the number of the rewrite to which records of visited stripes go; 0:
 * there is none. With the lock of a stripe, the number is not older than @visited of it. */
static inline uint64_t rewrite_number(const struct rewrite *rewrite)
{
	/* Relaxed: the rewriter has set it before it has locked the first stripe. If the caller
	 * sees an earlier one, it holds stripes that were not visited since, and log_add()
	 * compares under the lock. */
	return __atomic_load_n(&rewrite->number, __ATOMIC_RELAXED);
}

/* rewrite_wait - wait until the rewrite @number has visited stripes, or has ended. In a fiber or
 * thread, with cancels masked, without locks */
void rewrite_wait(struct log *log, uint64_t number,
		  const struct store_set *set);

/* rewrite_wait_poll - the same in a poll. @waiter: zeroed before the first wait. It and @set stay
 * until the wait is over. Return: 0; -EAGAIN and -ECANCELED: as log_add_poll() */
int rewrite_wait_poll(struct log *log, uint64_t number,
		      const struct store_set *set, struct skua_task *self,
		      struct rewrite_waiter *waiter, struct skua_wait *wait);

/* ---- for the log ------------------------------------------------------------------ */

/* rewrite_add - add a record to the copy. With the lock of the log */
void rewrite_add(struct rewrite *rewrite, const char *record, size_t size);

/* rewrite_is_ready - tell whether the fiber of the log shall switch. With the lock of the log */
bool rewrite_is_ready(const struct rewrite *rewrite);

/* rewrite_take - the fiber of the log takes the last records: begin to switch if the rewrite is
 * ready. With the lock of the log */
void rewrite_take(struct log *log);

/* rewrite_switch - end what rewrite_take() has begun, if it has. Return: 0; a negative errno
 * value: nothing more may be written to the log */
int rewrite_switch(struct log *log);

/* rewrite_keep_up - wait until the copy is small. In the fiber of the log */
void rewrite_keep_up(struct log *log);

/* rewrite_give_up - end a rewrite because of an error of the log */
void rewrite_give_up(struct log *log, int error);

/* rewrite_make_room - give up a rewrite because a write has failed, and wait until its file is
 * gone. In the fiber of the log. Return: false: there was no rewrite */
bool rewrite_make_room(struct log *log, int error);

#endif
