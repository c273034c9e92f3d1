/* SPDX-License-Identifier: MIT */
/* transactions.c - MULTI, EXEC, DISCARD and WATCH */
#include "bench/kv/commands/command.h"

#include <stdlib.h>

#include "bench/kv/commands/logged.h"

/* The most bytes of the queued commands of a client: as many as of one command. */
#define MOST_QUEUED (1ull << 30)

bool transaction_queue(struct session *session, const struct command *command,
		       size_t argc, const struct bytes *argv)
{
	struct transaction *transaction = &session->transaction;
	size_t size = sizeof(struct queued) + argc * sizeof(struct bytes);
	struct queued *queued = NULL;
	char *next;

	for (size_t i = 0; i < argc; i++)
		size += argv[i].size;
	if (transaction->memory + size > MOST_QUEUED)
		return false;
	if (session_buffers(session->server, (int64_t)size))
		queued = malloc(size);
	if (!queued) {
		session_buffers(session->server, -(int64_t)size);
		return false;
	}
	*queued = (struct queued){ .command = command,
				   .argc = argc,
				   .memory = size };
	next = (char *)(queued->argv + argc);
	for (size_t i = 0; i < argc; i++) {
		memcpy(next, argv[i].data, argv[i].size);
		queued->argv[i] = (struct bytes){ next, argv[i].size };
		next += argv[i].size;
	}
	if (transaction->last)
		transaction->last->next = queued;
	else
		transaction->first = queued;
	transaction->last = queued;
	transaction->count++;
	transaction->memory += size;
	transaction->flags |= command->flags;
	return true;
}

void run_multi(struct call *call)
{
	struct transaction *transaction = &call->session->transaction;

	if (transaction->active) {
		REPLY_TEXT(call->reply, "-ERR MULTI calls can not be nested");
		return;
	}
	transaction->active = true;
	reply_ok(call->reply);
}

void run_discard(struct call *call)
{
	struct transaction *transaction = &call->session->transaction;

	if (!transaction->active) {
		REPLY_TEXT(call->reply, "-ERR DISCARD without MULTI");
		return;
	}
	transaction_reset(call->session);
	transaction_unwatch(call->session);
	reply_ok(call->reply);
}

/* ---- WATCH -------------------------------------------------------------------- */

static bool is_watched(const struct transaction *transaction,
		       const struct key *key)
{
	const struct watch *own =
		watches_list(transaction->own_watches, key->hash);

	for (; own; own = own->next)
		if (own->key.hash == key->hash &&
		    bytes_equal(own->key.bytes, key->bytes))
			return true;
	return false;
}

/* Let the store watch a key for a client. Return: false: no memory */
static bool begin_watch(struct call *call, struct watch *watch)
{
	struct stripe *stripe = store_stripe(call->store, watch->key.hash);
	bool locked = call->session->held & HELD_STRIPES;
	bool begun;

	if (!locked)
		store_lock(stripe);
	begun = store_watch(call->store, watch, &call->session->clock);
	if (!locked)
		store_unlock(stripe);
	return begun;
}

/* Return: false: no memory */
static bool watch(struct call *call, const struct key *key)
{
	struct transaction *transaction = &call->session->transaction;
	int64_t memory = (int64_t)watched_memory(key->bytes.size);
	struct watched *watched = NULL;
	char *bytes;

	if (session_buffers(call->server, memory))
		watched = malloc(sizeof(*watched) + key->bytes.size);
	if (!watched)
		goto refused;
	bytes = (char *)(watched + 1);
	memcpy(bytes, key->bytes.data, key->bytes.size);
	watched->watch = (struct watch){ .touched = &transaction->touched,
					 .key = { { bytes, key->bytes.size },
						  key->hash } };
	watched->own = (struct watch){ .key = watched->watch.key };
	if (!watches_add(&transaction->own_watches, &watched->own))
		goto refused;
	if (!begin_watch(call, &watched->watch)) {
		watches_remove(&transaction->own_watches, &watched->own);
		goto refused;
	}
	watched->next = transaction->watches;
	transaction->watches = watched;
	transaction->watch_count++;
	return true;
refused:
	free(watched);
	session_buffers(call->server, -memory);
	return false;
}

void run_watch(struct call *call)
{
	if (call->session->transaction.active) {
		REPLY_TEXT(call->reply,
			   "-ERR WATCH inside MULTI is not allowed");
		return;
	}
	for (size_t i = 1; i < call->argc; i++) {
		struct transaction *transaction = &call->session->transaction;
		struct key key = call_key(call, i);

		if (is_watched(transaction, &key))
			continue;
		if (transaction->watch_count == MAX_WATCHES) {
			REPLY_TEXT(call->reply, "-ERR too many watched keys");
			return;
		}
		if (!watch(call, &key)) {
			call_no_memory(call);
			return;
		}
	}
	reply_ok(call->reply);
}

void run_unwatch(struct call *call)
{
	/* In EXEC nothing is watched any more. */
	transaction_unwatch(call->session);
	reply_ok(call->reply);
}

/* ---- EXEC --------------------------------------------------------------------- */

void transaction_stripes(const struct session *session, struct store_set *set)
{
	const struct queued *queued = session->transaction.first;

	for (; queued; queued = queued->next)
		command_keys(session->server->store, queued->command,
			     queued->argc, queued->argv, set);
}

/* Has a watched key changed, or expired? The stripes are locked. */
static bool is_stale(struct call *call)
{
	struct session *session = call->session;
	struct watched *watched = session->transaction.watches;

	/* A key that has expired is removed, which touches it. */
	for (; watched; watched = watched->next)
		store_find(call->store, &watched->watch.key, &session->clock);
	/* Relaxed: changes of these keys happen under the locks that are held. */
	return __atomic_load_n(&session->transaction.touched, __ATOMIC_RELAXED);
}

static void run_queued(struct call *call)
{
	struct transaction *transaction = &call->session->transaction;
	const struct queued *queued = transaction->first;

	reply_array(call->reply, transaction->count);
	for (; queued; queued = queued->next) {
		struct call one = *call;

		one.command = queued->command;
		one.argc = queued->argc;
		one.argv = queued->argv;
		if (one.command->first)
			one.key = call_key(&one, (size_t)one.command->first);
		if (call->server->log)
			logged_queued(&one);
		else
			one.command->run(&one);
	}
}

/* Run the queued commands, with the locks of @set. */
static void run_transaction(struct call *call, const struct store_set *set)
{
	struct record_batch batch = { .data = NULL };

	call->session->held |= HELD_STRIPES;
	if (call->server->log)
		logged_begin(call, &batch);
	run_queued(call);
	if (call->server->log)
		logged_end(call, &batch, set);
}

void run_exec(struct call *call)
{
	struct session *session = call->session;
	struct transaction *transaction = &session->transaction;
	struct store_set set = { .used = 0 };
	unsigned held = session->held;
	bool stale;

	if (!transaction->active) {
		REPLY_TEXT(call->reply, "-ERR EXEC without MULTI");
		return;
	}
	if (transaction->failed) {
		transaction_reset(session);
		transaction_unwatch(session);
		REPLY_TEXT(call->reply, "-EXECABORT Transaction discarded "
					"because of previous errors.");
		return;
	}
	transaction_stripes(session, &set);
	transaction_watched(session, &set);
	if (!(held & HELD_STRIPES))
		logged_lock_transaction(call, &set);
	stale = is_stale(call);
	transaction_unwatch_locked(session);
	if (!stale) {
		run_transaction(call, &set);
	} else {
		reply_null_array(call->reply);
		/* The reply tells that a watched key has changed: it waits for
		 * the record of that change. */
		if (call->server->log)
			logged_read(call, &set);
	}
	session->held = held;
	if (!(held & HELD_STRIPES))
		store_unlock_set(call->store, &set);
	transaction_reset(session);
}
