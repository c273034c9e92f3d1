/* SPDX-License-Identifier: MIT */
/* uniform.c - commands on several stripes during a rewrite of the log, and its automatic start */
#include "bench/kv/commands/logged.h"

/* Has the rewrite @number visited all of the stripes, or, unless @all is wanted, none of them?
 * Otherwise, @rest receives those that it has not. */
static bool is_uniform(const struct log *log, const struct store_set *set,
		       bool all, uint64_t *number, struct store_set *rest)
{
	bool some = false, left = false;

	memset(rest, 0, sizeof(*rest));
	for (STORE_SET_EACH(i, set)) {
		if (log->rewrite.visited[i] == *number) {
			some = true;
		} else {
			store_set_add(rest, i);
			left = true;
		}
	}
	if (!left)
		return true;
	if (!some && !all)
		*number = 0;
	return !some && !all;
}

/* @set: stripes to lock. @changing: those of them whose keys may be in the record. @flush: the
 * record may remove all keys */
static void lock_uniform(struct call *call, const struct store_set *set,
			 const struct store_set *changing, bool flush)
{
	struct log *log = call->server->log;
	struct store_set rest;

	for (;;) {
		store_lock_set(call->store, set);
		call->rewrite = rewrite_number(&log->rewrite);
		if (!call->rewrite ||
		    is_uniform(log, changing, flush, &call->rewrite, &rest))
			return;
		store_unlock_set(call->store, set);
		rewrite_wait(log, call->rewrite, &rest);
		call->session->clock.now_ms = 0;
	}
}

void logged_lock(struct call *call, const struct store_set *set)
{
	if (call->server->log && call->command->flags & COMMAND_WRITE)
		lock_uniform(call, set, set, false);
	else
		store_lock_set(call->store, set);
}

/* Add the stripes of the keys that a command may change. One on all keys that only reads changes
 * none of them. Return: whether it may remove all keys */
static bool add_changing(const struct store *store,
			 const struct command *command, size_t argc,
			 const struct bytes *argv, struct store_set *changing)
{
	if (command->flags & COMMAND_ALL_KEYS)
		return command->flags & COMMAND_WRITE;
	command_keys(store, command, argc, argv, changing);
	return false;
}

/* The same for the commands of a transaction. */
static bool add_changing_queued(const struct session *session,
				struct store_set *changing)
{
	const struct queued *queued = session->transaction.first;
	bool flush = false;

	for (; queued; queued = queued->next)
		flush |= add_changing(session->server->store, queued->command,
				      queued->argc, queued->argv, changing);
	return flush;
}

void logged_lock_transaction(struct call *call, const struct store_set *set)
{
	struct store_set changing = { .used = 0 };
	bool flush;

	if (!call->server->log) {
		store_lock_set(call->store, set);
		return;
	}
	flush = add_changing_queued(call->session, &changing);
	lock_uniform(call, set, &changing, flush);
}

/* ---- polls ------------------------------------------------------------------------ */

/* Find what a command of a client may change, as add_changing(). Return: false: nothing */
static bool find_changing(const struct session *session, size_t argc,
			  const struct bytes *argv, struct store_set *changing,
			  bool *flush)
{
	const struct transaction *transaction = &session->transaction;
	const struct command *container;
	const struct command *command =
		command_find_called(argc, argv, &container);

	if (!command || !command_arity_fits(command, argc) ||
	    (transaction->active && !(command->flags & COMMAND_AT_ONCE)))
		return false;
	if (command->flags & COMMAND_QUEUED) {
		/* EXEC also removes watched keys that have expired. */
		transaction_watched(session, changing);
		*flush = add_changing_queued(session, changing);
		return transaction->flags & COMMAND_WRITE;
	}
	*flush = add_changing(session->server->store, command, argc, argv,
			      changing);
	return command->flags & COMMAND_WRITE;
}

/* logged_is_uniform() while there is a rewrite. */
static bool is_uniform_now(struct session *session, size_t argc,
			   const struct bytes *argv, struct store_set *rest)
{
	struct store_set changing = { .used = 0 };
	bool flush;

	/* A command that changes nothing may remove expired keys. The copy may have such removals
	 * also of stripes that were not visited: their keys are not in it yet. */
	return !find_changing(session, argc, argv, &changing, &flush) ||
	       is_uniform(session->server->log, &changing, flush,
			  &session->clock.batch->rewrite, rest);
}

bool logged_is_uniform(struct session *session, size_t argc,
		       const struct bytes *argv, struct store_set *rest)
{
	struct record_batch *batch = session->clock.batch;

	if (!batch)
		return true;
	batch->rewrite = rewrite_number(&session->server->log->rewrite);
	return !batch->rewrite || is_uniform_now(session, argc, argv, rest);
}

int logged_uniform_poll(struct session *session, const struct store_set *rest,
			struct skua_task *self, struct rewrite_waiter *waiter,
			struct skua_wait *wait)
{
	session->clock.now_ms = 0;
	return rewrite_wait_poll(session->server->log,
				 session->clock.batch->rewrite, rest, self,
				 waiter, wait);
}

/* ---- the start of a rewrite --------------------------------------------------------- */

/* After so many failures in a row, an automatic rewrite waits: a minute, and then twice as long
 * after each further failure, up to an hour. As in Redis. */
#define FAILURES 3
#define MINUTE   UINT64_C(60000000000)

static bool is_limited(const struct rewrite_figures *figures)
{
	uint64_t wait_ns = 60 * MINUTE;

	if (figures->failures < FAILURES)
		return false;
	if (figures->failures - FAILURES < 6)
		wait_ns = MINUTE << (figures->failures - FAILURES);
	return skua_now_ns() < figures->ended_ns + wait_ns;
}

void logged_rewrite_if_large(struct server *server)
{
	const struct settings *settings = &server->settings;
	uint64_t percent = setting(&settings->rewrite_percent);
	struct log *log = server->log;
	struct rewrite_figures figures;
	uint64_t size, base;

	if (!log || !percent)
		return;
	figures = rewrite_figures(log);
	size = log_size(log);
	base = log_base(log);
	if (figures.running || is_limited(&figures) ||
	    size <= setting(&settings->rewrite_min_size))
		return;
	if (size >= base && (size - base) * 100 / base >= percent)
		rewrite_ask(log);
}
