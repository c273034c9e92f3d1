/* SPDX-License-Identifier: MIT */
/* logged.c - between commands and the log */
#include "bench/kv/commands/logged.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* Before its next reply, the client must wait for a position. */
static void need(struct session *session, uint64_t position)
{
	struct log *log = session->server->log;

	if (log->mode == LOG_ALWAYS && session->need < position)
		session->need = position;
}

/* The same for a command that has only read. While nothing can be written, clients read what is
 * in memory, without a wait. */
static void need_to_read(struct session *session, uint64_t position)
{
	if (!log_error(session->server->log))
		need(session, position);
}

/* Collect the record of a command that has changed something. A replay would do the whole command:
 * if it has done a part, no record is right. */
static void collect(struct record_batch *batch, const struct call *call)
{
	batch->changed = true;
	if (call->no_memory)
		batch->failed = true;
	else
		record_batch_add(batch, call->argc, call->argv);
}

/* Add the record of a command at once. As collect(). */
static uint64_t add(struct call *call, uint64_t rewrite)
{
	if (call->no_memory) {
		log_lose(call->server->log);
		return UINT64_MAX;
	}
	return log_add(call->server->log, store_now_ms(&call->session->clock),
		       1, NULL, call->argc, call->argv, rewrite);
}

void logged_one(struct call *call, const struct stripe *stripe, uint64_t before)
{
	unsigned i = (unsigned)(stripe - call->store->stripes);
	uint64_t *logged = &call->server->logged[i];

	if (!(call->command->flags & COMMAND_WRITE) ||
	    stripe->changes == before) {
		need_to_read(call->session, *logged);
	} else if (call->session->clock.batch) {
		collect(call->session->clock.batch, call);
	} else {
		*logged = add(call, call->server->log->rewrite.visited[i]);
		need(call->session, *logged);
	}
}

/* ---- several stripes ------------------------------------------------------------- */

uint64_t logged_changes(const struct store *store, const struct store_set *set)
{
	uint64_t changes = 0;

	for (STORE_SET_EACH(i, set))
		changes += store->stripes[i].changes;
	return changes;
}

/* Note the position of a change of stripes. */
static void changed(struct session *session, const struct store_set *set,
		    uint64_t position)
{
	for (STORE_SET_EACH(i, set))
		session->server->logged[i] = position;
	need(session, position);
}

/* A command has changed stripes. @rewrite: for log_add() */
static void add_many(struct call *call, const struct store_set *set,
		     uint64_t rewrite)
{
	struct session *session = call->session;

	if (session->clock.batch)
		collect(session->clock.batch, call);
	else
		changed(session, set, add(call, rewrite));
}

void logged_read(struct call *call, const struct store_set *set)
{
	uint64_t most = 0;

	for (STORE_SET_EACH(i, set))
		if (most < call->server->logged[i])
			most = call->server->logged[i];
	need_to_read(call->session, most);
}

void logged_many(struct call *call, const struct store_set *set,
		 uint64_t before)
{
	if (call->command->flags & COMMAND_WRITE &&
	    logged_changes(call->store, set) != before)
		add_many(call, set, call->rewrite);
	else
		logged_read(call, set);
}

void logged_flush(struct call *call)
{
	struct store_set all;

	memset(&all, 0xff, sizeof(all));
	/* Nothing is left in stripes that were not visited: a replay of the copy does the same
	 * as one of the log. */
	add_many(call, &all, rewrite_number(&call->server->log->rewrite));
}

void logged_read_all(struct call *call)
{
	need_to_read(call->session, log_added(call->server->log));
}

/* May the removals of expired keys be added? Otherwise writes have been refused for so long that no
 * command is left that may have read the clock earlier. */
static bool may_note_expired(const struct log *log)
{
	return !log_error(log) || !log_is_behind(log);
}

/* Is there a record to add? */
static bool is_wanted(const struct log *log, const struct record_batch *batch)
{
	return batch->failed || batch->changed ||
	       (batch->commands && may_note_expired(log));
}

/* ---- transactions ---------------------------------------------------------------- */

void logged_begin(struct call *call, struct record_batch *batch)
{
	if (call->session->clock.batch)
		return;
	batch->rewrite = call->rewrite;
	call->session->clock.batch = batch;
}

void logged_queued(struct call *call)
{
	const struct command *command = call->command;
	struct store_set set = { .used = 0 };
	uint64_t before;

	if (!(command->flags & COMMAND_WRITE)) {
		command->run(call);
		if (command->flags & COMMAND_READ && !command->first)
			logged_read_all(call);
		return;
	}
	command_keys(call->store, command, call->argc, call->argv, &set);
	before = logged_changes(call->store, &set);
	command->run(call);
	if (logged_changes(call->store, &set) != before)
		collect(call->session->clock.batch, call);
}

/* Add a batch at once. Return: as log_add() */
static uint64_t add_batch(struct session *session,
			  const struct record_batch *batch)
{
	struct bytes body = { batch->data, batch->used };
	struct log *log = session->server->log;

	if (!batch->failed)
		return log_add(log, store_now_ms(&session->clock),
			       batch->commands, &body, 0, NULL, batch->rewrite);
	log_lose(log);
	return UINT64_MAX;
}

void logged_end(struct call *call, struct record_batch *batch,
		const struct store_set *set)
{
	struct session *session = call->session;
	uint64_t position = 0;

	if (!session->clock.batch->changed)
		logged_read(call, set);
	/* Otherwise logged_add_poll() adds the batch of the session. */
	if (session->clock.batch != batch)
		return;
	session->clock.batch = NULL;
	if (is_wanted(session->server->log, batch))
		position = add_batch(session, batch);
	if (batch->changed)
		changed(session, set, position);
	free(batch->data);
}

/* ---- expiry ----------------------------------------------------------------------- */

/* A key is removed because it has expired. The log says so: a command that runs later may
 * have read the clock earlier, and would find the key in a replay. */
static void note_expired(struct store *store, struct store_clock *clock,
			 const struct key *key)
{
	struct bytes argv[] = { { "DEL", 3 }, key->bytes };
	struct log *log = store->owner;

	if (clock->batch)
		record_batch_add(clock->batch, 2, argv);
	else if (may_note_expired(log))
		log_add(log, store_now_ms(clock), 1, NULL, 2, argv,
			log->rewrite.visited[key->hash % STORE_STRIPES]);
}

bool logged_must_wait(struct session *session, bool writes)
{
	const struct server *server = session->server;

	return log_is_behind(server->log) &&
	       (writes || store_count_expiring(server->store));
}

void logged_wait_for_room(struct session *session, bool writes)
{
	if (!session->clock.batch && logged_must_wait(session, writes) &&
	    log_wait_for_room(session->server->log))
		session->clock.now_ms = 0;
}

int logged_room_poll(struct session *session, struct skua_task *self,
		     struct log_waiter *waiter, struct skua_wait *wait)
{
	session->clock.now_ms = 0;
	return log_wait_for_room_poll(session->server->log, self, waiter, wait);
}

bool logged_sweep(struct server *server, struct stripe *stripe,
		  struct garbage *garbage)
{
	if (server->log)
		log_wait_for_room(server->log);
	return store_sweep(server->store, stripe, garbage);
}

/* ---- the server ------------------------------------------------------------------- */

const char *logged_refusal(struct session *session, char text[128])
{
	int error = log_error(session->server->log);

	if (!error)
		return NULL;
	snprintf(text, 128, "MISCONF Errors writing to the AOF file: %s",
		 strerror(-error));
	return text;
}

bool logged_wait(struct session *session)
{
	uint64_t position = session->need;

	if (!position)
		return true;
	session->need = 0;
	return log_wait(session->server->log, position);
}

int logged_wait_poll(struct session *session, struct skua_task *self,
		     struct log_waiter *waiter, struct skua_wait *wait)
{
	int code;

	if (!session->need)
		return 0;
	code = log_wait_poll(session->server->log, session->need, self, waiter,
			     wait);
	if (code != -EAGAIN && code != -ECANCELED)
		session->need = 0;
	return code;
}

int logged_add_poll(struct session *session, const struct store_set *set,
		    struct skua_task *self, struct skua_wait *wait)
{
	struct record_batch *batch = session->clock.batch;
	struct log *log = session->server->log;
	uint64_t position = 0;
	int code;

	if (!batch || !(batch->commands || batch->failed))
		return 0;
	if (is_wanted(log, batch)) {
		code = log_add_poll(log, store_now_ms(&session->clock), batch,
				    self, wait, &position);
		if (code)
			return code;
	}
	if (batch->changed)
		changed(session, set, position);
	record_batch_clear(batch);
	return 0;
}

bool logged_start(struct server *server, struct log *log)
{
	server->logged = calloc(STORE_STRIPES, sizeof(*server->logged));
	if (!server->logged)
		return false;
	server->store->owner = log;
	server->store->on_expired = note_expired;
	log->rewrite.store = server->store;
	server->log = log;
	return true;
}
