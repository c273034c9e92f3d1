/* SPDX-License-Identifier: MIT */
/* session.c - the list of the sessions, and the end of one */
#include "bench/kv/server/session.h"

#include <stdlib.h>

void clients_lock(struct server *server)
{
	/* It fails in a poll, which must have the lock already. */
	if (skua_mutex_lock(&server->clients_lock, SKUA_FOREVER_NS))
		abort();
}

void clients_unlock(struct server *server)
{
	skua_mutex_unlock(&server->clients_lock);
}

void clients_enter(struct session *session)
{
	if (!(session->held & HELD_CLIENTS))
		clients_lock(session->server);
}

void clients_leave(struct session *session)
{
	if (!(session->held & HELD_CLIENTS))
		clients_unlock(session->server);
}

void clients_visit(struct server *server, struct clients_cursor *cursor)
{
	cursor->next = server->first;
	cursor->other = server->cursors;
	server->cursors = cursor;
}

void clients_visited(struct server *server, struct clients_cursor *cursor)
{
	struct clients_cursor **link = &server->cursors;

	while (*link != cursor)
		link = &(*link)->other;
	*link = cursor->other;
}

/* Move the cursors that have this session next: it leaves the list, which is locked. */
static void move_cursors(struct server *server, const struct session *session)
{
	struct clients_cursor *cursor = server->cursors;

	for (; cursor; cursor = cursor->other)
		if (cursor->next == session)
			cursor->next = session->next;
}

static bool count_reply(void *owner, int64_t change)
{
	return session_buffers(owner, change);
}

bool session_begin(struct server *server, struct session *session)
{
	bool room;

	session->server = server;
	session->clock.garbage = &session->garbage;
	session->reply.version = 2;
	session->reply.count = count_reply;
	session->reply.owner = server;
	session->version = 2;
	session->reply.limit = setting(&server->settings.max_reply);
	session->authenticated = !setting(&server->settings.has_password);
	session->created_s = session->active_s =
		skua_now_ns() / UINT64_C(1000000000);
	clients_enter(session);
	server->received++;
	room = !server->ending &&
	       server->clients < setting(&server->settings.max_clients);
	if (room) {
		session->id = ++server->next_id;
		session->next = server->first;
		if (session->next)
			session->next->before = session;
		server->first = session;
		shared_write(&server->clients, server->clients + 1);
	} else {
		server->rejected++;
	}
	clients_leave(session);
	return room;
}

void session_end(struct session *session)
{
	struct server *server = session->server;

	transaction_reset(session);
	transaction_unwatch(session);
	pubsub_end(session);
	reply_free(&session->reply);
	while (garbage_free(&session->garbage))
		;
	clients_enter(session);
	move_cursors(server, session);
	if (session->before)
		session->before->next = session->next;
	else
		server->first = session->next;
	if (session->next)
		session->next->before = session->before;
	shared_write(&server->clients, server->clients - 1);
	server->ended += session->commands;
	clients_leave(session);
}

bool session_buffers(struct server *server, int64_t change)
{
	/* Relaxed: a sum, which bounds nothing exactly. */
	uint64_t sum = __atomic_add_fetch(&server->buffers, (uint64_t)change,
					  __ATOMIC_RELAXED);
	uint64_t most = setting(&server->settings.max_buffers);

	if (!most)
		most = setting(&server->settings.max_memory);
	return !most || sum <= most;
}

bool session_password(struct session *session, struct bytes password)
{
	struct server *server = session->server;
	const char *right = server->settings.password;
	unsigned char differs;
	size_t size;

	clients_enter(session);
	/* Takes the same time for each wrong password of the same size. */
	size = strlen(right);
	differs = size != password.size;
	for (size_t i = 0; i < password.size && size; i++)
		differs |= (unsigned char)(right[i % size] ^ password.data[i]);
	clients_leave(session);
	return !differs || size == 0;
}

void transaction_reset(struct session *session)
{
	struct transaction *transaction = &session->transaction;
	struct queued *queued = transaction->first, *next;

	for (; queued; queued = next) {
		next = queued->next;
		free(queued);
	}
	if (transaction->memory)
		session_buffers(session->server, -(int64_t)transaction->memory);
	transaction->first = transaction->last = NULL;
	transaction->active = transaction->failed = false;
	transaction->flags = 0;
	transaction->count = transaction->memory = 0;
}

void transaction_unwatch_locked(struct session *session)
{
	struct transaction *transaction = &session->transaction;
	struct watched *watched = transaction->watches, *next;

	for (; watched; watched = next) {
		next = watched->next;
		store_unwatch(session->server->store, &watched->watch);
		watches_remove(&transaction->own_watches, &watched->own);
		session_buffers(session->server,
				-(int64_t)watched_memory(
					watched->watch.key.bytes.size));
		free(watched);
	}
	transaction->watches = NULL;
	transaction->watch_count = 0;
	/* Relaxed: no other thread knows this address any more. */
	__atomic_store_n(&transaction->touched, false, __ATOMIC_RELAXED);
}

void transaction_watched(const struct session *session, struct store_set *set)
{
	const struct watched *watched = session->transaction.watches;

	for (; watched; watched = watched->next)
		store_set_add(set, watched->watch.key.hash);
}

void transaction_unwatch(struct session *session)
{
	struct store *store = session->server->store;
	struct store_set set = { .used = 0 };

	if (!session->transaction.watches)
		return;
	if (session->held & HELD_STRIPES) {
		transaction_unwatch_locked(session);
		return;
	}
	transaction_watched(session, &set);
	store_lock_set(store, &set);
	transaction_unwatch_locked(session);
	store_unlock_set(store, &set);
}
