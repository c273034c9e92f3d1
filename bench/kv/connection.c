/* SPDX-License-Identifier: MIT */
/**
 * connection.c - a fiber for each connection: read, run, write
 *
 * A connection reads all that is there, runs each complete command, and sends all replies
 * by one write. It reads nothing while replies wait to be sent, so that a client that
 * takes no replies costs its two buffers, and delays no other client.
 *
 * Cancels are masked except while the fiber waits for its client to send: commands run to
 * their ends, and their replies are sent.
 */
#include "bench/kv/connection.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "bench/kv/commands/command.h"
#include "bench/kv/commands/logged.h"
#include "bench/kv/output.h"
#include "bench/kv/parts.h"

#define SECOND UINT64_C(1000000000)

/* A connection in the form of a fiber. */
struct connection_fiber {
	struct skua_fiber fiber; /* first: serve() casts back */
	struct connection c;
};

/* ---- input and output --------------------------------------------------------- */

/* Send all replies, once the changes that they report are durable. Return: false: the connection
 * cannot go on. */
static bool send_replies(struct connection *c)
{
	return logged_wait(&c->session) &&
	       output_send(c->io, &c->session.reply);
}

/* Wait for bytes, and send the messages that come meanwhile. Return: as skua_io_read(). */
static ssize_t read_subscribed(struct connection *c)
{
	struct session *session = &c->session;
	struct skua_select_case cases[] = {
		SKUA_SELECT_CASE(SKUA_SELECT_IO, &c->io, NULL, POLLIN),
		SKUA_SELECT_CASE(SKUA_SELECT_NOTIFY, &session->mailbox.notify,
				 NULL, 0),
	};
	ssize_t got = -EAGAIN;
	int ready;

	while (got == -EAGAIN) {
		while (mail_waits(&session->mailbox)) {
			mail_write(&session->mailbox, &session->reply, SEND_AT);
			if (!send_replies(c))
				return -EPIPE;
		}
		skua_cancel_unmask();
		ready = skua_select(cases, 2, 0, SKUA_FOREVER_NS);
		skua_cancel_mask();
		if (ready < 0)
			return ready;
		if (ready == 0)
			got = skua_io_read_try(c->io, c->in + c->end,
					       c->room - c->end);
	}
	return got;
}

static ssize_t read_some(struct connection *c)
{
	ssize_t got;

	if (c->session.subscriptions.count)
		return read_subscribed(c);
	skua_cancel_unmask();
	got = skua_io_read(c->io, c->in + c->end, c->room - c->end,
			   SKUA_FOREVER_NS);
	skua_cancel_mask();
	return got;
}

/* Wait for bytes. Return: false: the client has left, or the server ends. */
static bool receive(struct connection *c)
{
	ssize_t got;

	if (!connection_room(c))
		return false;
	got = read_some(c);
	if (got <= 0)
		return false;
	connection_received(c, (size_t)got);
	return true;
}

/* ---- commands ----------------------------------------------------------------- */

static void free_garbage(struct session *session)
{
	struct garbage *garbage = &session->garbage;

	if (!garbage->entries && !garbage->flushed)
		return;
	while (garbage_free(garbage)) {
		skua_yield();
		session->clock.now_ms = 0;
	}
}

static void run_batch(struct connection *c, const struct request *batch,
		      unsigned count)
{
	struct session *session = &c->session;

	for (unsigned i = 0; i < count; i++) {
		if (session->closing || session->reply.failed)
			return;
		command_run(session, batch[i].argc,
			    resp_kept(&c->parser, batch[i].args),
			    batch[i].argc > 1 ? &batch[i].hash : NULL);
		free_garbage(session);
		if (session->reply.waiting <= SEND_AT)
			continue;
		if (!send_replies(c))
			session->closing = true;
		/* The send may have waited for the client. */
		session->clock.now_ms = 0;
	}
}

/* Prefetch the keys of a batch, and let others run meanwhile. */
static void prefetch(struct connection *c, struct request *batch,
		     unsigned count)
{
	for (unsigned step = 0; connection_prefetch(c, batch, count, step);
	     step++)
		skua_yield();
}

/* Run the commands that are complete. Return: the last result of the parser */
static enum resp_result run_commands(struct connection *c)
{
	struct session *session = &c->session;
	struct request batch[BATCH];
	enum resp_result result;
	unsigned count;

	do {
		result = connection_collect(c, batch, &count);
		prefetch(c, batch, count);
		run_batch(c, batch, count);
		resp_drop(&c->parser);
		if (session->closing || session->reply.failed)
			return RESP_MORE;
	} while (result == RESP_COMMAND);
	return result;
}

/* Tell the client of an error that ends the connection. It may still send: take that, so
 * that the kernel does not drop the error with the connection. */
static void refuse(struct connection *c, const char *error)
{
	uint64_t deadline_ns = skua_now_ns() + SECOND;

	reply_error(&c->session.reply, "ERR %s", error);
	if (!send_replies(c) || skua_io_shutdown(c->io, SHUT_WR))
		return;
	for (int i = 0; i < DRAINED; i++)
		if (skua_io_read(c->io, c->in, c->room, deadline_ns) <= 0)
			return;
}

static void converse(struct connection *c)
{
	while (receive(c)) {
		enum resp_result result = run_commands(c);

		if (result == RESP_ERROR) {
			char error[80];

			snprintf(error, sizeof(error), "Protocol error: %s",
				 c->parser.error);
			refuse(c, error);
			return;
		}
		if (!send_replies(c) || c->session.closing ||
		    result == RESP_NO_MEMORY)
			return;
	}
}

/* ---- life --------------------------------------------------------------------- */

static void serve(struct skua_fiber *self)
{
	struct connection *c = &((struct connection_fiber *)self)->c;

	skua_cancel_mask();
	if (session_begin(c->session.server, &c->session)) {
		converse(c);
		session_end(&c->session);
	} else {
		refuse(c, "max number of clients reached");
		reply_free(&c->session.reply);
	}
	skua_io_close(c->io);
}

void connection_release(struct skua_task *task)
{
	struct connection_fiber *own =
		SKUA_CONTAINER_OF(task, struct connection_fiber, fiber.task);

	connection_end(&own->c);
	free(own);
}

int connection_start(struct server *server, struct skua_group *group,
		     struct skua_io io)
{
	struct connection_fiber *own = calloc(1, sizeof(*own));
	bool made = own && connection_begin(&own->c, server, io);
	int code = made ? skua_fiber_init(&own->fiber, serve, 0) : -ENOMEM;

	if (!code)
		code = skua_group_spawn(group, &own->fiber.task);
	if (!code)
		return 0;
	skua_io_close(io);
	if (made)
		connection_end(&own->c);
	free(own);
	return code;
}

void connection_kick(struct session *session)
{
	skua_io_shutdown(
		SKUA_CONTAINER_OF(session, struct connection, session)->io,
		SHUT_RDWR);
}

void connections_shut_down(struct server *server)
{
	clients_lock(server);
	server->ending = true;
	for (struct session *s = server->first; s; s = s->next)
		connection_kick(s);
	clients_unlock(server);
}
