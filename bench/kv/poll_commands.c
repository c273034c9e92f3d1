/* SPDX-License-Identifier: MIT */
/* poll_commands.c - the commands of a poll task; see poll_task.h */
#include "bench/kv/poll_task.h"

#include <stdio.h>

#include "bench/kv/commands/command.h"

static enum next next_command(struct task *t);

static enum next free_garbage(struct task *t)
{
	struct session *session = &t->c.session;

	if (garbage_free(&session->garbage)) {
		session->clock.now_ms = 0;
		return YIELD;
	}
	return session->reply.waiting > SEND_AT
		       ? poll_send_then(t, next_command)
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
	poll_release_locks(t);
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
	int code = poll_take_locks(t);

	if (code)
		return not_yet(code);
	if (!logged_is_uniform(session, request->argc, argv, &t->rest)) {
		poll_release_locks(t);
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
		return poll_send_then(t, poll_end);
	switch (t->result) {
	case RESP_COMMAND:
		return to(t, poll_parse);
	case RESP_ERROR:
		snprintf(error, sizeof(error), "Protocol error: %s",
			 t->c.parser.error);
		return poll_refuse(t, error);
	case RESP_NO_MEMORY:
		return poll_send_then(t, poll_end);
	default:
		return poll_send_then(t, t->input);
	}
}

static enum next next_command(struct task *t)
{
	struct session *session = &t->c.session;
	const struct request *request = &t->batch[t->at];
	const struct bytes *argv;

	if (session->reply.failed)
		return to(t, poll_end);
	if (t->at == t->count || session->closing)
		return batch_end(t);
	argv = resp_kept(&t->c.parser, request->args);
	if (request->argc > 1 && !session->server->log &&
	    command_run_try(session, request->argc, argv, request->hash)) {
		t->at++;
		return to(t, free_garbage);
	}
	poll_want(t, 0);
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

enum next poll_parse(struct task *t)
{
	t->result = connection_collect(&t->c, t->batch, &t->count);
	t->at = t->prefetched = 0;
	return to(t, prefetch);
}
