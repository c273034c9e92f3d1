/* SPDX-License-Identifier: MIT */
/**
 * poll.c - a poll task for each connection, instead of a fiber (--tasks)
 *
 * It does the same as connection.c, in steps: a step that must wait arms the wait of the task,
 * and is called again. Commands must not wait: all locks that a command may need are taken
 * before it, in the order stripes, channels, clients.
 *
 * The server cancels none of these tasks: a cancelled task cannot wait for a lock any more,
 * and polls cannot mask cancels. At the end, their sockets are shut down for reading instead.
 */
#include "bench/kv/poll.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>

#include "bench/kv/commands/command.h"
#include "bench/kv/commands/logged.h"
#include "bench/kv/output.h"
#include "bench/kv/parts.h"

#define SECOND UINT64_C(1000000000)

struct task;

/* The steps return whether the task goes on at once, waits, lets others run, or is over. */
enum next { GO, WAIT, YIELD, OVER };
typedef enum next (*step_fn)(struct task *t);

/**
 * struct task - a connection in the form of a task
 * @step: what comes next; @after: what comes after send()
 * @begun: the session is in the list
 * @wait: of the step that waits
 * @set, @wanted: the locks that the next command needs: stripes, and HELD_*
 * @stripe, @got: the locks of these that are held: stripes below @stripe, and HELD_*
 * @batch, @count, @at, @result: commands that were parsed; those below @at have run
 * @prefetched: steps of connection_prefetch() that the batch has taken
 * @records, @waiter: the records of a command, until they are added to the log; a wait for the log
 * @rest, @visits: a wait until a rewrite has visited these stripes
 * @select, @cases: a wait for the socket and for messages
 * @output: replies that are being sent
 * @drain_ns, @drained: a refused client: until when its bytes are read, and reads so far
 */
struct task {
	struct connection c;
	struct skua_task task;
	step_fn step, after;
	bool begun;
	struct skua_wait wait;
	struct store_set set;
	unsigned wanted, stripe, got;
	struct request batch[BATCH];
	unsigned count, at, prefetched;
	enum resp_result result;
	struct record_batch records;
	struct log_waiter waiter;
	struct store_set rest;
	struct rewrite_waiter visits;
	struct skua_select select;
	struct skua_select_case cases[2];
	struct output output;
	uint64_t drain_ns;
	unsigned drained;
};

static enum next to(struct task *t, step_fn step)
{
	t->step = step;
	return GO;
}

/* ---- locks -------------------------------------------------------------------- */

static void want(struct task *t, unsigned wanted)
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

/* Take the locks, one after the other. Return: 0; -EAGAIN: call it again. */
static int take_locks(struct task *t)
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

static void release_locks(struct task *t)
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

/* A shutdown of the runtime cancels the task. It then cannot wait, and tries again later. */
static enum next not_yet(int code)
{
	return code == -EAGAIN ? WAIT : YIELD;
}

/* ---- the end ------------------------------------------------------------------ */

static enum next close_socket(struct task *t)
{
	skua_io_close(t->c.io);
	return OVER;
}

static enum next end_session(struct task *t)
{
	int code = take_locks(t);

	if (code)
		return not_yet(code);
	session_end(&t->c.session);
	release_locks(t);
	return to(t, close_socket);
}

static enum next end(struct task *t)
{
	struct session *session = &t->c.session;

	if (!t->begun) {
		reply_free(&session->reply);
		return to(t, close_socket);
	}
	want(t, HELD_CLIENTS | HELD_PUBSUB);
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
	return got > 0 && ++t->drained < DRAINED ? GO : to(t, end);
}

static enum next shut_down(struct task *t)
{
	t->drain_ns = skua_now_ns() + SECOND;
	return to(t, skua_io_shutdown(t->c.io, SHUT_WR) ? end : drain);
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
	return to(t, code ? end : send_step);
}

static enum next send_step(struct task *t)
{
	int code = output_send_poll(&t->task, t->c.io, &t->c.session.reply,
				    &t->output, &t->wait);

	if (code == -EAGAIN)
		return WAIT;
	/* The send may have waited for the client. */
	t->c.session.clock.now_ms = 0;
	return to(t, code ? end : t->after);
}

static enum next send_then(struct task *t, step_fn after)
{
	t->after = after;
	return to(t, t->c.session.need ? wait_for_log : send_step);
}

static enum next refuse(struct task *t, const char *error)
{
	reply_error(&t->c.session.reply, "ERR %s", error);
	return send_then(t, shut_down);
}

/* ---- commands ----------------------------------------------------------------- */

static enum next parse(struct task *t);
static enum next receive(struct task *t);
static enum next next_command(struct task *t);

static enum next free_garbage(struct task *t)
{
	struct session *session = &t->c.session;

	if (garbage_free(&session->garbage)) {
		session->clock.now_ms = 0;
		return YIELD;
	}
	return session->reply.waiting > SEND_AT ? send_then(t, next_command)
						: to(t, next_command);
}

/* The hash of the first argument, if there is one. */
static const uint64_t *hash_of(const struct request *request)
{
	return request->argc > 1 ? &request->hash : NULL;
}

/* The command has run, and its stripes are still locked. */
static enum next add_records(struct task *t)
{
	int code = logged_add_poll(&t->c.session, &t->set, &t->task, &t->wait);

	if (code)
		return not_yet(code);
	release_locks(t);
	t->at++;
	return to(t, free_garbage);
}

static enum next run(struct task *t);

/* The command needs stripes that a rewrite has visited, and others. No lock is held. */
static enum next wait_for_visits(struct task *t)
{
	int code = logged_uniform_poll(&t->c.session, &t->rest, &t->task,
				       &t->visits, &t->wait);

	return code ? not_yet(code) : to(t, run);
}

static enum next run(struct task *t)
{
	struct session *session = &t->c.session;
	const struct request *request = &t->batch[t->at];
	const struct bytes *argv = resp_kept(&t->c.parser, request->args);
	int code = take_locks(t);

	if (code)
		return not_yet(code);
	if (!logged_is_uniform(session, request->argc, argv, &t->rest)) {
		release_locks(t);
		return to(t, wait_for_visits);
	}
	command_run(session, request->argc, argv, hash_of(request));
	return to(t, add_records);
}

static enum next wait_for_room(struct task *t)
{
	int code =
		logged_room_poll(&t->c.session, &t->task, &t->waiter, &t->wait);

	return code ? not_yet(code) : to(t, run);
}

/* All commands of the batch have run. */
static enum next batch_end(struct task *t)
{
	struct session *session = &t->c.session;
	char error[80];

	resp_drop(&t->c.parser);
	if (session->closing)
		return send_then(t, end);
	switch (t->result) {
	case RESP_COMMAND:
		return to(t, parse);
	case RESP_ERROR:
		snprintf(error, sizeof(error), "Protocol error: %s",
			 t->c.parser.error);
		return refuse(t, error);
	case RESP_NO_MEMORY:
		return send_then(t, end);
	default:
		return send_then(t, receive);
	}
}

static enum next next_command(struct task *t)
{
	struct session *session = &t->c.session;
	const struct request *request = &t->batch[t->at];
	const struct bytes *argv;

	if (session->reply.failed)
		return to(t, end);
	if (t->at == t->count || session->closing)
		return batch_end(t);
	argv = resp_kept(&t->c.parser, request->args);
	if (request->argc > 1 && !session->server->log &&
	    command_run_try(session, request->argc, argv, request->hash)) {
		t->at++;
		return to(t, free_garbage);
	}
	want(t, 0);
	t->wanted = command_locks(session, request->argc, argv,
				  hash_of(request), &t->set);
	return to(t,
		  session->server->log && command_must_wait(session,
							    request->argc, argv)
			  ? wait_for_room
			  : run);
}

/* Prefetch the keys of the batch, and let others run meanwhile. */
static enum next prefetch(struct task *t)
{
	if (!connection_prefetch(&t->c, t->batch, t->count, t->prefetched))
		return to(t, next_command);
	t->prefetched++;
	return YIELD;
}

static enum next parse(struct task *t)
{
	t->result = connection_collect(&t->c, t->batch, &t->count);
	t->at = t->prefetched = 0;
	return to(t, prefetch);
}

/* ---- input -------------------------------------------------------------------- */

static enum next received(struct task *t, ssize_t got)
{
	if (got <= 0)
		return to(t, end);
	connection_received(&t->c, (size_t)got);
	return to(t, parse);
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
		return send_then(t, read_subscribed);
	}
	ready = skua_select_poll(&t->task, &t->select, &t->wait,
				 SKUA_FOREVER_NS);
	if (ready == -EAGAIN)
		return WAIT;
	if (ready < 0)
		return to(t, end);
	if (ready == 1)
		return GO;
	got = skua_io_read_try(c->io, c->in + c->end, c->room - c->end);
	return got == -EAGAIN ? GO : received(t, got);
}

static enum next receive(struct task *t)
{
	if (!connection_room(&t->c))
		return to(t, end);
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
	int code = take_locks(t);

	if (code)
		return not_yet(code);
	t->begun = session_begin(t->c.session.server, &t->c.session);
	release_locks(t);
	return t->begun ? to(t, receive)
			: refuse(t, "max number of clients reached");
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
		if (server->log)
			t->c.session.clock.batch = &t->records;
		want(t, HELD_CLIENTS);
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
