/* SPDX-License-Identifier: MIT */
/* poll_steps.c - the locks, the replies and the end of a poll task; see poll_task.h */
#include "bench/kv/poll_task.h"

#include <errno.h>
#include <sys/socket.h>

#include "bench/kv/commands/command.h"

#define SECOND UINT64_C(1000000000)

/* ---- locks -------------------------------------------------------------------- */

void poll_want(struct task *t, unsigned wanted)
{
	memset(&t->set, 0, sizeof(t->set));
	t->wanted = wanted;
	t->stripe = t->got = 0;
}

static int take_one(struct task *t, unsigned which, struct skua_mutex *mutex)
{
	int code;

	if (!(t->wanted & ~t->got & which))
		return 0;
	code = skua_mutex_lock_poll(&t->task, mutex, &t->wait, SKUA_FOREVER_NS);
	if (!code)
		t->got |= which;
	return code;
}

int poll_take_locks(struct task *t)
{
	struct server *server = t->c.session.server;
	int code;

	while ((t->stripe = store_set_next(&t->set, t->stripe)) <
	       STORE_STRIPES) {
		code = skua_mutex_lock_poll(
			&t->task, &server->store->stripes[t->stripe].lock,
			&t->wait, SKUA_FOREVER_NS);
		if (code)
			return code;
		t->stripe++;
	}
	code = take_one(t, HELD_PUBSUB, &server->pubsub.lock);
	if (!code)
		code = take_one(t, HELD_CLIENTS, &server->clients_lock);
	if (!code)
		t->c.session.held = HELD_STRIPES | t->wanted;
	return code;
}

void poll_release_locks(struct task *t)
{
	struct server *server = t->c.session.server;

	t->c.session.held = 0;
	if (t->got & HELD_CLIENTS)
		clients_unlock(server);
	if (t->got & HELD_PUBSUB)
		skua_mutex_unlock(&server->pubsub.lock);
	store_unlock_set(server->store, &t->set);
	t->stripe = t->got = 0;
}

/* ---- the end ------------------------------------------------------------------ */

static enum next close_socket(struct task *t)
{
	skua_io_close(t->c.io);
	return OVER;
}

static enum next end_session(struct task *t)
{
	int code = poll_take_locks(t);

	if (code)
		return not_yet(code);
	session_end(&t->c.session);
	poll_release_locks(t);
	return to(t, close_socket);
}

enum next poll_end(struct task *t)
{
	struct session *session = &t->c.session;

	if (!t->begun) {
		reply_free(&session->reply);
		return to(t, close_socket);
	}
	poll_want(t, HELD_CLIENTS | HELD_PUBSUB);
	transaction_watched(session, &t->set);
	return to(t, end_session);
}

/* Take what a refused client still sends, as in connection.c. */
static enum next drain(struct task *t)
{
	ssize_t got = skua_io_read_poll(&t->task, t->c.io, t->c.in, t->c.room,
					&t->wait, t->drain_ns);

	if (got == -EAGAIN)
		return WAIT;
	return got > 0 && ++t->drained < DRAINED ? GO : to(t, poll_end);
}

static enum next shut_down(struct task *t)
{
	t->drain_ns = skua_now_ns() + SECOND;
	return to(t, skua_io_shutdown(t->c.io, SHUT_WR) ? poll_end : drain);
}

/* ---- replies ------------------------------------------------------------------ */

static enum next send_step(struct task *t);

/* The replies wait until the changes that they report are durable. */
static enum next wait_for_log(struct task *t)
{
	int code =
		logged_wait_poll(&t->c.session, &t->task, &t->waiter, &t->wait);

	if (code == -EAGAIN || code == -ECANCELED)
		return not_yet(code);
	return to(t, code ? poll_end : send_step);
}

static enum next send_step(struct task *t)
{
	int code = output_send_poll(&t->task, t->c.io, &t->c.session.reply,
				    &t->output, &t->wait);

	if (code == -EAGAIN)
		return WAIT;
	/* The send may have waited for the client. */
	t->c.session.clock.now_ms = 0;
	return to(t, code ? poll_end : t->after);
}

enum next poll_send_then(struct task *t, step_fn after)
{
	t->after = after;
	return to(t, t->c.session.need ? wait_for_log : send_step);
}

enum next poll_refuse(struct task *t, const char *error)
{
	reply_error(&t->c.session.reply, "ERR %s", error);
	return poll_send_then(t, shut_down);
}
