/* SPDX-License-Identifier: MIT */
/* pubsub.c - commands on channels and patterns */
#include "bench/kv/commands/command.h"

#include "bench/kv/store/glob.h"

/* Write all letters that have come. */
static void write_mail(struct session *session)
{
	mail_write(&session->mailbox, &session->reply, SIZE_MAX);
}

static void reply_change(struct call *call, const char *what,
			 const struct bytes *name)
{
	reply_push(call->reply, 3);
	reply_text(call->reply, what);
	if (name)
		reply_bulk(call->reply, name->data, name->size);
	else
		reply_null(call->reply);
	reply_number(call->reply, (int64_t)call->session->subscriptions.count);
}

static void subscribe(struct call *call, enum topic_kind kind, const char *what)
{
	for (size_t i = 1; i < call->argc; i++) {
		if (kind == TOPIC_PATTERN && !call_pattern(call, i))
			return;
		if (!pubsub_subscribe(call->session, kind, call->argv[i])) {
			call_no_memory(call);
			return;
		}
		reply_change(call, what, &call->argv[i]);
	}
}

void run_subscribe(struct call *call)
{
	subscribe(call, TOPIC_CHANNEL, "subscribe");
}

void run_psubscribe(struct call *call)
{
	subscribe(call, TOPIC_PATTERN, "psubscribe");
}

/* End a subscription. Its last messages come before the reply. */
static void end_one(struct call *call, enum topic_kind kind, const char *what,
		    const struct bytes *name)
{
	pubsub_unsubscribe(call->session, kind, *name);
	write_mail(call->session);
	reply_change(call, what, name);
}

static void unsubscribe(struct call *call, enum topic_kind kind,
			const char *what)
{
	struct names *names = &call->session->subscriptions.names[kind];
	struct name *own = names_next(names, NULL), *next;

	for (size_t i = 1; i < call->argc; i++)
		end_one(call, kind, what, &call->argv[i]);
	if (call->argc > 1)
		return;
	if (!own)
		reply_change(call, what, NULL);
	/* As in pubsub_end(), the table may become smaller. */
	for (; own; own = next ? next : names_next(names, NULL)) {
		struct topic *topic = ((struct subscription *)own)->topic;
		struct blob *text = topic->text;
		struct bytes name = { text->data, text->size };

		next = names_next(names, own);
		blob_take(text);
		end_one(call, kind, what, &name);
		blob_drop(text);
	}
}

void run_unsubscribe(struct call *call)
{
	unsubscribe(call, TOPIC_CHANNEL, "unsubscribe");
}

void run_punsubscribe(struct call *call)
{
	unsubscribe(call, TOPIC_PATTERN, "punsubscribe");
}

void run_publish(struct call *call)
{
	int64_t receivers =
		pubsub_publish(call->session, call->argv[1], call->argv[2]);

	if (receivers < 0) {
		call_no_memory(call);
		return;
	}
	/* A client that has subscribed itself gets the message first, as of Redis. */
	if (call->session->subscriptions.count)
		write_mail(call->session);
	reply_number(call->reply, receivers);
}

/* ---- PUBSUB ------------------------------------------------------------------- */

void run_pubsub_channels(struct call *call)
{
	const struct names *names = &call->server->pubsub.topics[TOPIC_CHANNEL];
	struct name *name;
	size_t place, count = 0;

	if (call->argc > 3) {
		reply_error(call->reply,
			    "ERR unknown subcommand or wrong number of "
			    "arguments for '%.*s'. Try PUBSUB HELP.",
			    bytes_shown(call->argv[1]), call->argv[1].data);
		return;
	}
	if (call->argc == 3 && !call_pattern(call, 2))
		return;
	place = reply_array_later(call->reply);
	pubsub_enter(call->session);
	for (name = names_next(names, NULL); name;
	     name = names_next(names, name)) {
		if (call->argc == 3 &&
		    !glob_match(call->argv[2], name->bytes, false))
			continue;
		reply_bulk(call->reply, name->bytes.data, name->bytes.size);
		count++;
	}
	pubsub_leave(call->session);
	reply_array_count(call->reply, place, count);
}

void run_pubsub_numsub(struct call *call)
{
	reply_array(call->reply, (call->argc - 2) * 2);
	pubsub_enter(call->session);
	for (size_t i = 2; i < call->argc; i++) {
		struct topic *topic = pubsub_find(call->session, TOPIC_CHANNEL,
						  call->argv[i]);

		reply_bulk(call->reply, call->argv[i].data, call->argv[i].size);
		reply_number(call->reply, topic ? (int64_t)topic->count : 0);
	}
	pubsub_leave(call->session);
}

void run_pubsub_numpat(struct call *call)
{
	size_t count;

	pubsub_enter(call->session);
	count = call->server->pubsub.topics[TOPIC_PATTERN].count;
	pubsub_leave(call->session);
	reply_number(call->reply, (int64_t)count);
}
