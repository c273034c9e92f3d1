/* SPDX-License-Identifier: MIT */
/**
 * poll.c - a poll task for each connection, instead of a fiber (--tasks): its input, beginning and
 * end
 *
 * The server cancels none of these tasks: a cancelled task cannot wait for a lock any more,
 * and polls cannot mask cancels. At the end, their sockets are shut down for reading instead.
 */
#include "bench/kv/poll.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "bench/kv/poll_task.h"

/* ---- input -------------------------------------------------------------------- */

static enum next received(struct task *t, ssize_t got)
{
	if (got <= 0)
		return to(t, poll_end);
	connection_received(&t->c, (size_t)got);
	return to(t, poll_parse);
}

static enum next read_step(struct task *t)
{
	struct connection *c = &t->c;
	ssize_t got =
		skua_io_read_poll(&t->task, c->io, c->in + c->end,
				  c->room - c->end, &t->wait, SKUA_FOREVER_NS);

	return got == -EAGAIN ? WAIT : received(t, got);
}

/* Wait for bytes, and send the messages that come meanwhile. */
static enum next read_subscribed(struct task *t)
{
	struct connection *c = &t->c;
	struct mailbox *mailbox = &c->session.mailbox;
	ssize_t got;
	int ready;

	if (!skua_wait_armed(&t->wait) && mail_waits(mailbox)) {
		mail_write(mailbox, &c->session.reply, SEND_AT);
		return poll_send_then(t, read_subscribed);
	}
	ready = skua_select_poll(&t->task, &t->select, &t->wait,
				 SKUA_FOREVER_NS);
	if (ready == -EAGAIN)
		return WAIT;
	if (ready < 0)
		return to(t, poll_end);
	if (ready == 1)
		return GO;
	got = skua_io_read_try(c->io, c->in + c->end, c->room - c->end);
	return got == -EAGAIN ? GO : received(t, got);
}

static enum next receive(struct task *t)
{
	if (!connection_room(&t->c))
		return to(t, poll_end);
	if (!t->c.session.subscriptions.count)
		return to(t, read_step);
	t->cases[0] = (struct skua_select_case){ .kind = SKUA_SELECT_IO,
						 .object = &t->c.io,
						 .amount = POLLIN };
	t->cases[1] = (struct skua_select_case){
		.kind = SKUA_SELECT_NOTIFY,
		.object = &t->c.session.mailbox.notify
	};
	t->select = (struct skua_select){ .cases = t->cases, .count = 2 };
	return to(t, read_subscribed);
}

/* ---- life --------------------------------------------------------------------- */

static enum next begin(struct task *t)
{
	int code = poll_take_locks(t);

	if (code)
		return not_yet(code);
	t->begun = session_begin(t->c.session.server, &t->c.session);
	poll_release_locks(t);
	return t->begun ? to(t, receive)
			: poll_refuse(t, "max number of clients reached");
}

static enum skua_poll poll_connection(struct skua_task *self)
{
	struct task *t = SKUA_CONTAINER_OF(self, struct task, task);

	if (t->c.session.label)
		skua_task_set_label(t->c.session.label);
	while (true) {
		switch (t->step(t)) {
		case WAIT:
			return SKUA_PENDING;
		case YIELD:
			return SKUA_YIELD;
		case OVER:
			return SKUA_DONE;
		case GO:
			break;
		}
	}
}

void poll_release(struct skua_task *task)
{
	struct task *t = SKUA_CONTAINER_OF(task, struct task, task);

	connection_end(&t->c);
	free(t->records.data);
	free(t);
}

int poll_start(struct server *server, struct skua_group *group,
	       struct skua_io io)
{
	struct task *t = calloc(1, sizeof(*t));
	bool made = t && connection_begin(&t->c, server, io);
	int code = made ? skua_task_init(&t->task, poll_connection) : -ENOMEM;

	if (!code) {
		t->step = begin;
		t->input = receive;
		if (server->log)
			t->c.session.clock.batch = &t->records;
		poll_want(t, HELD_CLIENTS);
		code = skua_group_spawn(group, &t->task);
	}
	if (!code)
		return 0;
	skua_io_close(io);
	if (made)
		connection_end(&t->c);
	free(t);
	return code;
}

void poll_stop_all(struct server *server)
{
	clients_lock(server);
	server->ending = true;
	for (struct session *s = server->first; s; s = s->next)
		skua_io_shutdown(
			SKUA_CONTAINER_OF(s, struct connection, session)->io,
			SHUT_RD);
	clients_unlock(server);
}
