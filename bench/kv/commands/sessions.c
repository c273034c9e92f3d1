/* SPDX-License-Identifier: MIT */
/* sessions.c - commands on the connection itself */
#include "bench/kv/commands/command.h"

/* A client of version 2 that has subscriptions takes only arrays. */
static void reply_pong(struct call *call)
{
	reply_array(call->reply, 2);
	reply_text(call->reply, "pong");
	if (call->argc == 2)
		reply_bulk(call->reply, call->argv[1].data, call->argv[1].size);
	else
		reply_text(call->reply, "");
}

void run_ping(struct call *call)
{
	if (call->argc > 2)
		call_arity_error(call->reply, call->command);
	else if (call->session->subscriptions.count && call->reply->version < 3)
		reply_pong(call);
	else if (call->argc == 2)
		reply_bulk(call->reply, call->argv[1].data, call->argv[1].size);
	else
		REPLY_TEXT(call->reply, "+PONG");
}

void run_echo(struct call *call)
{
	reply_bulk(call->reply, call->argv[1].data, call->argv[1].size);
}

void run_select(struct call *call)
{
	int64_t number;

	if (!call_number(call, 1, &number))
		return;
	if (number < INT32_MIN || number > INT32_MAX)
		reply_error(call->reply,
			    "ERR value is out of range, value must between %d "
			    "and %d",
			    INT32_MIN, INT32_MAX);
	else if (number != 0)
		REPLY_TEXT(call->reply, "-ERR DB index is out of range");
	else
		reply_ok(call->reply);
}

void run_quit(struct call *call)
{
	reply_ok(call->reply);
	call->session->closing = true;
}

/* RESET - make the connection as it was at first */
void run_reset(struct call *call)
{
	struct session *session = call->session;

	transaction_reset(session);
	transaction_unwatch(session);
	pubsub_end(session);
	clients_enter(session);
	session->name[0] = '\0';
	clients_leave(session);
	session->authenticated = !setting(&call->server->settings.has_password);
	call->reply->version = 2;
	shared_write(&session->version, 2);
	REPLY_TEXT(call->reply, "+RESET");
}

/* ---- AUTH and HELLO --------------------------------------------------------------- */

static bool log_in(struct call *call, struct bytes user, struct bytes password)
{
	if (bytes_equal(user, (struct bytes){ "default", 7 }) &&
	    session_password(call->session, password)) {
		call->session->authenticated = true;
		return true;
	}
	REPLY_TEXT(call->reply, "-WRONGPASS invalid username-password pair or "
				"user is disabled.");
	return false;
}

void run_auth(struct call *call)
{
	struct bytes user = { "default", 7 };

	if (call->argc > 3) {
		call_syntax_error(call);
		return;
	}
	if (call->argc == 2 && !setting(&call->server->settings.has_password)) {
		REPLY_TEXT(call->reply,
			   "-ERR AUTH <password> called without any password "
			   "configured for the default user. Are you sure your "
			   "configuration is correct?");
		return;
	}
	if (call->argc == 3)
		user = call->argv[1];
	if (log_in(call, user, call->argv[call->argc - 1]))
		reply_ok(call->reply);
}

static void hello_reply(struct call *call)
{
	struct reply *reply = call->reply;

	reply_map(reply, 7);
	reply_text(reply, "server");
	reply_text(reply, "redis");
	reply_text(reply, "version");
	reply_text(reply, "7.0.15");
	reply_text(reply, "proto");
	reply_number(reply, reply->version);
	reply_text(reply, "id");
	reply_number(reply, (int64_t)call->session->id);
	reply_text(reply, "mode");
	reply_text(reply, "standalone");
	reply_text(reply, "role");
	reply_text(reply, "master");
	reply_text(reply, "modules");
	reply_array(reply, 0);
}

/* Read the version. Return: false: the reply is an error. */
static bool hello_version(struct call *call, int64_t *version)
{
	if (!number_parse(call->argv[1], version)) {
		REPLY_TEXT(call->reply,
			   "-ERR Protocol version is not an integer or out of "
			   "range");
		return false;
	}
	if (*version < 2 || *version > 3) {
		REPLY_TEXT(call->reply,
			   "-NOPROTO unsupported protocol version");
		return false;
	}
	return true;
}

/* Carry out the options, one after the other. Return: false: the reply is an error. */
static bool hello_options(struct call *call)
{
	for (size_t i = 2; i < call->argc; i++) {
		struct bytes word = call->argv[i];
		size_t more = call->argc - 1 - i;

		if (bytes_is(word, "auth") && more >= 2) {
			if (!log_in(call, call->argv[i + 1], call->argv[i + 2]))
				return false;
			i += 2;
		} else if (bytes_is(word, "setname") && more >= 1) {
			if (!client_set_name(call, call->argv[++i]))
				return false;
		} else {
			reply_error(call->reply,
				    "ERR Syntax error in HELLO option '%.*s'",
				    bytes_shown(word), word.data);
			return false;
		}
	}
	return true;
}

void run_hello(struct call *call)
{
	int64_t version = call->reply->version;

	if ((call->argc > 1 && !hello_version(call, &version)) ||
	    !hello_options(call))
		return;
	if (!call->session->authenticated) {
		REPLY_TEXT(call->reply,
			   "-NOAUTH HELLO must be called with the client "
			   "already authenticated, otherwise the HELLO "
			   "AUTH <user> <pass> option can be used to "
			   "authenticate the client and select the RESP "
			   "protocol version at the same time");
		return;
	}
	call->reply->version = (int)version;
	shared_write(&call->session->version, (uint64_t)version);
	hello_reply(call);
}
