/* SPDX-License-Identifier: MIT */
/* logged.c - between commands and the log */
#include "bench/kv/commands/logged.h"

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

/* Add the record of a command that has changed something. A replay would do the whole command:
 * if it has done a part, no record is right. */
static uint64_t add(struct call *call)
{
	if (call->no_memory) {
		log_lose(call->server->log);
		return UINT64_MAX;
	}
	return log_add(call->server->log, store_now_ms(&call->session->clock),
		       1, NULL, call->argc, call->argv);
}

void logged_one(struct call *call, const struct stripe *stripe, uint64_t before)
{
	uint64_t *logged = &call->server->logged[stripe - call->store->stripes];

	if (call->command->flags & COMMAND_WRITE && stripe->changes != before) {
		*logged = add(call);
		need(call->session, *logged);
	} else {
		need_to_read(call->session, *logged);
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
static void changed(struct call *call, const struct store_set *set,
		    uint64_t position)
{
	for (STORE_SET_EACH(i, set))
		call->server->logged[i] = position;
	need(call->session, position);
}

static void read_some(struct call *call, const struct store_set *set)
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
		changed(call, set, add(call));
	else
		read_some(call, set);
}

void logged_flush(struct call *call)
{
	struct store_set all;

	memset(&all, 0xff, sizeof(all));
	changed(call, &all, add(call));
}

void logged_read_all(struct call *call)
{
	need_to_read(call->session, log_added(call->server->log));
}

/* ---- transactions ---------------------------------------------------------------- */

void logged_begin(struct call *call, struct record_batch *batch)
{
	call->session->clock.batch = batch;
}

void logged_queued(struct call *call)
{
	const struct command *command = call->command;
	struct store_set set = { .used = 0 };
	uint64_t before;

	if (!(command->flags & COMMAND_WRITE)) {
		command->run(call);
		return;
	}
	command_keys(call->store, command, call->argc, call->argv, &set);
	before = logged_changes(call->store, &set);
	command->run(call);
	if (logged_changes(call->store, &set) == before)
		return;
	if (call->no_memory) /* as in add() */
		call->session->clock.batch->failed = true;
	else
		record_batch_add(call->session->clock.batch, call->argc,
				 call->argv);
}

void logged_end(struct call *call, const struct store_set *set)
{
	struct record_batch *batch = call->session->clock.batch;
	struct bytes body = { batch->data, batch->used };
	struct log *log = call->server->log;

	call->session->clock.batch = NULL;
	if (batch->failed) {
		log_lose(log);
		changed(call, set, UINT64_MAX);
	} else if (batch->commands) {
		changed(call, set,
			log_add(log, store_now_ms(&call->session->clock),
				batch->commands, &body, 0, NULL));
	} else {
		read_some(call, set);
	}
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
	else if (!log_error(log) || !log_is_behind(log))
		log_add(log, store_now_ms(clock), 1, NULL, 2, argv);
	/* Otherwise writes have been refused for so long that no such command is left. */
}

void logged_room_to_read(struct session *session)
{
	struct log *log = session->server->log;

	if (log_is_behind(log) &&
	    store_count_expiring(session->server->store) &&
	    log_wait_for_room(log))
		session->clock.now_ms = 0;
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
	struct log *log = session->server->log;
	int error;

	if (log_wait_for_room(log))
		session->clock.now_ms = 0;
	error = log_error(log);
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

bool logged_start(struct server *server, struct log *log)
{
	server->logged = calloc(STORE_STRIPES, sizeof(*server->logged));
	if (!server->logged)
		return false;
	server->store->owner = log;
	server->store->on_expired = note_expired;
	server->log = log;
	return true;
}
