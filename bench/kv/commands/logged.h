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
 * A command in a poll cannot wait for the lock of the log. Its records are collected in the batch
 * of the session's clock, and logged_add_poll() adds them while the stripes are still locked.
 *
 * Only logged_lock(), logged_lock_transaction(), logged_is_uniform(), logged_sweep(),
 * logged_rewrite_if_large(), logged_start() and those after it may be called if the server has no
 * log.
 */
#ifndef SKUA_BENCH_KV_LOGGED_H
#define SKUA_BENCH_KV_LOGGED_H

#include "bench/kv/commands/command.h"
#include "bench/kv/log/log.h"

/* logged_one - a command has run on one stripe, whose lock is held. @before: the changes of
 * the stripe before */
void logged_one(struct call *call, const struct stripe *stripe,
		uint64_t before);

/* logged_lock - lock the stripes of a command, so that its record may go to the copy of a rewrite
 * that goes on: all stripes were visited, or none. Sets call->rewrite. Also without a log. In a
 * fiber */
void logged_lock(struct call *call, const struct store_set *set);

/* logged_lock_transaction - the same for EXEC. @set: all stripes that it needs */
void logged_lock_transaction(struct call *call, const struct store_set *set);

/* logged_is_uniform - the same for a command in a poll, with the locks of command_locks(). Return:
 * true: it may run. false: unlock them, call logged_uniform_poll(), and lock again. @rest: receives
 * the stripes that were not visited. Also without a log */
bool logged_is_uniform(struct session *session, size_t argc,
		       const struct bytes *argv, struct store_set *rest);

/* logged_uniform_poll - wait until stripes were visited. Return: as rewrite_wait_poll() */
int logged_uniform_poll(struct session *session, const struct store_set *rest,
			struct skua_task *self, struct rewrite_waiter *waiter,
			struct skua_wait *wait);

/* logged_changes - return the sum of the changes of stripes, whose locks are held */
uint64_t logged_changes(const struct store *store, const struct store_set *set);

/* logged_many - a command has run on several stripes, whose locks are held. @before:
 * logged_changes() before */
void logged_many(struct call *call, const struct store_set *set,
		 uint64_t before);

/* logged_flush - a command has removed all keys; all stripes are locked */
void logged_flush(struct call *call);

/* logged_read - a command has read keys of stripes, whose locks are held */
void logged_read(struct call *call, const struct store_set *set);

/* logged_read_all - a command has read keys of any stripe */
void logged_read_all(struct call *call);

/* logged_must_wait - tell whether the log has no room for what a command may write. @writes:
 * otherwise it may remove expired keys, unless no key has a time to live */
bool logged_must_wait(struct session *session, bool writes);

/* logged_wait_for_room - wait if logged_must_wait(). In a poll, do nothing: the poll has waited
 * before it has taken the locks, by logged_room_poll() */
void logged_wait_for_room(struct session *session, bool writes);

/* logged_room_poll - wait in a poll. Return: as log_wait_for_room_poll() */
int logged_room_poll(struct session *session, struct skua_task *self,
		     struct log_waiter *waiter, struct skua_wait *wait);

/* logged_refusal - return NULL: commands may write; or the error, without "-", in @text */
const char *logged_refusal(struct session *session, char text[128]);

/* logged_sweep - wait until the log, if there is one, has room; then call store_sweep(). In a
 * fiber or a thread */
bool logged_sweep(struct server *server, struct stripe *stripe,
		  struct garbage *garbage);

/* logged_begin, logged_queued, logged_end - the commands of a transaction become one record.
 * logged_queued() runs one command. @set: all stripes of the transaction, whose locks are held.
 * @batch: zeroed; for a session that has none */
void logged_begin(struct call *call, struct record_batch *batch);
void logged_queued(struct call *call);
void logged_end(struct call *call, struct record_batch *batch,
		const struct store_set *set);

/* logged_rewrite_if_large - begin a rewrite if the settings say that the log is large enough. Also
 * without a log. Any thread */
void logged_rewrite_if_large(struct server *server);

/* logged_start - from now on, add all changes to the log of the server. Return: false: no
 * memory */
bool logged_start(struct server *server, struct log *log);

/* logged_wait - wait until the replies of a client may be sent. Return: false: they may not */
bool logged_wait(struct session *session);

/* logged_wait_poll - the same in a poll. Return: as log_wait_poll() */
int logged_wait_poll(struct session *session, struct skua_task *self,
		     struct log_waiter *waiter, struct skua_wait *wait);

/* logged_add_poll - add the records of a command that has run in a poll. @set: the stripes, whose
 * locks are still held. Return: 0; -EAGAIN and -ECANCELED: as log_add_poll() */
int logged_add_poll(struct session *session, const struct store_set *set,
		    struct skua_task *self, struct skua_wait *wait);

#endif
