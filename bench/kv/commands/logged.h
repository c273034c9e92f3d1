/* SPDX-License-Identifier: MIT */
/**
 * logged.h - between commands and the log
 *
 * A command that has changed keys is added to the log before their stripes are unlocked. The
 * store counts the changes of a stripe, so that no command has to say that it has changed
 * something. A command that only removes an expired key is added, too. This does no harm: the
 * removal is in the log already.
 *
 * In mode always, a command also notes how far the log must be durable before the client may
 * have its reply: up to the last change of the stripes that it has used.
 *
 * All functions except logged_sweep() and the last two are called only if the server has a log.
 */
#ifndef SKUA_BENCH_KV_LOGGED_H
#define SKUA_BENCH_KV_LOGGED_H

#include "bench/kv/commands/command.h"
#include "bench/kv/log/log.h"

/* logged_one - a command has run on one stripe, whose lock is held. @before: the changes of
 * the stripe before */
void logged_one(struct call *call, const struct stripe *stripe,
		uint64_t before);

/* logged_changes - return the sum of the changes of stripes, whose locks are held */
uint64_t logged_changes(const struct store *store, const struct store_set *set);

/* logged_many - a command has run on several stripes, whose locks are held. @before:
 * logged_changes() before */
void logged_many(struct call *call, const struct store_set *set,
		 uint64_t before);

/* logged_flush - a command has removed all keys; all stripes are locked */
void logged_flush(struct call *call);

/* logged_read_all - a command has read keys of any stripe */
void logged_read_all(struct call *call);

/* logged_refusal - wait until the log has room for what a command may write. Return: NULL: the
 * command may run; or the error, without "-", in @text */
const char *logged_refusal(struct session *session, char text[128]);

/* logged_room_to_read - wait until the log has room for the expired keys that a command may find.
 * If no key has a time to live, return at once */
void logged_room_to_read(struct session *session);

/* logged_sweep - wait until the log, if there is one, has room; then call store_sweep(). In a
 * fiber or a thread */
bool logged_sweep(struct server *server, struct stripe *stripe,
		  struct garbage *garbage);

/* logged_begin, logged_queued, logged_end - the commands of a transaction become one record.
 * logged_queued() runs one command. @set: all stripes of the transaction, whose locks are held.
 * @batch: zeroed */
void logged_begin(struct call *call, struct record_batch *batch);
void logged_queued(struct call *call);
void logged_end(struct call *call, const struct store_set *set);

/* logged_start - from now on, add all changes to the log of the server. Return: false: no
 * memory */
bool logged_start(struct server *server, struct log *log);

/* logged_wait - wait until the replies of a client may be sent. Return: false: they may not */
bool logged_wait(struct session *session);

#endif
