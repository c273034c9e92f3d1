/* SPDX-License-Identifier: MIT */
/* clients.c - CLIENT: the names of the clients, and what they do */
#include "bench/kv/commands/command.h"

#include <stdio.h>

/* The longest line of CLIENT LIST. */
#define LINE 1024

static bool is_name(struct bytes name)
{
	if (name.size >= SESSION_NAME)
		return false;
	for (size_t i = 0; i < name.size; i++)
		if (name.data[i] < '!' || name.data[i] > '~')
			return false;
	return true;
}

static void store_name(struct session *session, char *field, struct bytes name)
{
	clients_lock(session->server);
	memcpy(field, name.data, name.size);
	field[name.size] = '\0';
	clients_unlock(session->server);
}

bool client_set_name(struct call *call, struct bytes name)
{
	if (!is_name(name)) {
		REPLY_TEXT(call->reply,
			   "-ERR Client names cannot contain spaces, newlines "
			   "or special characters.");
		return false;
	}
	store_name(call->session, call->session->name, name);
	return true;
}

void run_client_setname(struct call *call)
{
	if (client_set_name(call, call->argv[2]))
		reply_ok(call->reply);
}

void run_client_getname(struct call *call)
{
	/* Only this session changes its name. */
	if (call->session->name[0])
		reply_text(call->reply, call->session->name);
	else
		reply_null(call->reply);
}

void run_client_id(struct call *call)
{
	reply_number(call->reply, (int64_t)call->session->id);
}

void run_client_setinfo(struct call *call)
{
	struct session *session = call->session;
	struct bytes option = call->argv[2];
	bool is_library = bytes_is(option, "lib-name");

	if (!is_library && !bytes_is(option, "lib-ver")) {
		reply_error(call->reply, "ERR Unrecognized option '%.*s'",
			    option.size > 128 ? 128 : (int)option.size,
			    option.data);
	} else if (!is_name(call->argv[3])) {
		reply_error(call->reply,
			    "ERR %s cannot contain spaces, newlines or special "
			    "characters.",
			    is_library ? "lib-name" : "lib-ver");
	} else {
		store_name(session,
			   is_library ? session->library
				      : session->library_version,
			   call->argv[3]);
		reply_ok(call->reply);
	}
}

/* ---- CLIENT LIST ---------------------------------------------------------------- */

/* Describe a session in one line. The list is locked. Return: its size */
static size_t describe(const struct session *session, char *line)
{
	uint64_t now = skua_now_ns() / UINT64_C(1000000000);
	const struct command *command = session_read(&session->command);
	int size = snprintf(
		line, LINE,
		"id=%llu addr=%s laddr=%s fd=%d name=%s age=%llu idle=%llu "
		"flags=N db=0 sub=0 psub=0 ssub=0 multi=-1 cmd=%s user=default "
		"resp=%d lib-name=%s lib-ver=%s\n",
		(unsigned long long)session->id, session->peer, session->local,
		session->fd, session->name,
		(unsigned long long)(now - session->created_s),
		(unsigned long long)(now - session_read(&session->active_s)),
		command ? command->name : "NULL",
		(int)session_read(&session->version), session->library,
		session->library_version);

	return size < LINE ? (size_t)size : LINE - 1;
}

void run_client_info(struct call *call)
{
	char line[LINE];
	size_t size;

	clients_lock(call->server);
	size = describe(call->session, line);
	clients_unlock(call->server);
	reply_verbatim(call->reply, line, size);
}

/* Is the client one that was asked for? */
static bool is_wanted(const struct call *call, const struct session *session)
{
	int64_t id;

	if (call->argc < 4 || !bytes_is(call->argv[2], "id"))
		return true;
	for (size_t i = 3; i < call->argc; i++)
		if (number_parse(call->argv[i], &id) &&
		    id == (int64_t)session->id)
			return true;
	return false;
}

/* Read the options: TYPE normal, or ID and numbers. Return: false: the reply is an
 * error. */
static bool list_options(struct call *call)
{
	int64_t id;

	if (call->argc == 2)
		return true;
	if (call->argc == 4 && bytes_is(call->argv[2], "type")) {
		if (bytes_is(call->argv[3], "normal"))
			return true;
		reply_error(call->reply, "ERR Unknown client type '%.*s'",
			    call->argv[3].size > 128 ? 128
						     : (int)call->argv[3].size,
			    call->argv[3].data);
		return false;
	}
	if (call->argc > 3 && bytes_is(call->argv[2], "id")) {
		for (size_t i = 3; i < call->argc; i++) {
			if (!number_parse(call->argv[i], &id) || id <= 0) {
				REPLY_TEXT(call->reply,
					   "-ERR Invalid client ID");
				return false;
			}
		}
		return true;
	}
	call_syntax_error(call);
	return false;
}

void run_client_list(struct call *call)
{
	/* The lines, collected as a reply. */
	struct reply lines = { .limit = call->reply->limit };
	char line[LINE];

	if (!list_options(call))
		return;
	clients_lock(call->server);
	for (struct session *s = call->server->first; s; s = s->next)
		if (is_wanted(call, s))
			reply_raw(&lines, line, describe(s, line));
	clients_unlock(call->server);
	reply_verbatim(call->reply, lines.data, lines.used);
	call->reply->failed |= lines.failed;
	reply_free(&lines);
}
