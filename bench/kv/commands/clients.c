/* SPDX-License-Identifier: MIT */
/* clients.c - CLIENT: the names of the clients, and what they do */
#include "bench/kv/commands/command.h"

#include <skua/fiber.h>

#include <stdio.h>
#include <stdlib.h>

/* The longest line of CLIENT LIST. */
#define LINE 1024

/* May a text be a name? @what: what it names. @complaint: of other characters. Return: false: the
 * reply is an error. */
static bool check_name(struct call *call, struct bytes name, const char *what,
		       const char *complaint)
{
	if (name.size >= SESSION_NAME) {
		reply_error(call->reply,
			    "ERR %s has %zu bytes; allowed: at most %d", what,
			    name.size, SESSION_NAME - 1);
		return false;
	}
	for (size_t i = 0; i < name.size; i++) {
		if (name.data[i] >= '!' && name.data[i] <= '~')
			continue;
		reply_error(call->reply,
			    "ERR %s cannot contain spaces, newlines or special "
			    "characters.",
			    complaint);
		return false;
	}
	return true;
}

static void store_name(struct session *session, char *field, struct bytes name)
{
	clients_enter(session);
	memcpy(field, name.data, name.size);
	field[name.size] = '\0';
	clients_leave(session);
}

bool client_set_name(struct call *call, struct bytes name)
{
	if (!check_name(call, name, "Client name", "Client names"))
		return false;
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
	const char *what = is_library ? "lib-name" : "lib-ver";

	if (!is_library && !bytes_is(option, "lib-ver")) {
		reply_error(call->reply, "ERR Unrecognized option '%.*s'",
			    bytes_shown(option), option.data);
		return;
	}
	if (!check_name(call, call->argv[3], what, what))
		return;
	store_name(session,
		   is_library ? session->library : session->library_version,
		   call->argv[3]);
	reply_ok(call->reply);
}

/* ---- CLIENT LIST ---------------------------------------------------------------- */

/* Describe a session in one line. The list is locked. Return: its size */
static size_t describe(const struct session *session, char *line)
{
	uint64_t now = skua_now_ns() / UINT64_C(1000000000);
	const struct command *command = shared_read(&session->command);
	unsigned long long channels =
		shared_read(&session->subscriptions.counts[TOPIC_CHANNEL]);
	unsigned long long patterns =
		shared_read(&session->subscriptions.counts[TOPIC_PATTERN]);
	int size = snprintf(
		line, LINE,
		"id=%llu addr=%s laddr=%s fd=%d name=%s age=%llu idle=%llu "
		"flags=%c db=0 sub=%llu psub=%llu ssub=0 multi=-1 cmd=%s "
		"user=default "
		"resp=%d lib-name=%s lib-ver=%s\n",
		(unsigned long long)session->id, session->peer, session->local,
		session->fd, session->name,
		(unsigned long long)(now - session->created_s),
		(unsigned long long)(now - shared_read(&session->active_s)),
		patterns || channels ? 'P' : 'N', channels, patterns,
		command ? command->name : "NULL",
		(int)shared_read(&session->version), session->library,
		session->library_version);

	return size < LINE ? (size_t)size : LINE - 1;
}

void run_client_info(struct call *call)
{
	char line[LINE];
	size_t size;

	clients_enter(call->session);
	size = describe(call->session, line);
	clients_leave(call->session);
	reply_verbatim(call->reply, line, size);
}

/**
 * struct wanted - the clients that were asked for
 * @ids, @count: their numbers, in order; NULL: all
 * @normal, @subscribed: those without subscriptions, those with some
 */
struct wanted {
	int64_t *ids;
	size_t count;
	bool normal, subscribed;
};

static int compare(const void *a, const void *b)
{
	const int64_t *one = a, *two = b;

	return (*one > *two) - (*one < *two);
}

static bool is_wanted(const struct wanted *wanted,
		      const struct session *session)
{
	int64_t id = (int64_t)session->id;

	if (shared_read(&session->subscriptions.count) ? !wanted->subscribed
						       : !wanted->normal)
		return false;
	return !wanted->ids ||
	       bsearch(&id, wanted->ids, wanted->count, sizeof(id), compare);
}

/* Read the numbers. Return: false: the reply is an error. */
static bool read_ids(struct call *call, struct wanted *wanted)
{
	wanted->ids = malloc((call->argc - 3) * sizeof(*wanted->ids));
	if (!wanted->ids) {
		call_no_memory(call);
		return false;
	}
	for (size_t i = 3; i < call->argc; i++) {
		int64_t *id = &wanted->ids[wanted->count++];

		if (number_parse(call->argv[i], id) && *id > 0)
			continue;
		REPLY_TEXT(call->reply, "-ERR Invalid client ID");
		free(wanted->ids);
		return false;
	}
	qsort(wanted->ids, wanted->count, sizeof(*wanted->ids), compare);
	return true;
}

/* Read the options: TYPE normal or pubsub, or ID and numbers. Return: false: the reply is an
 * error. */
static bool list_options(struct call *call, struct wanted *wanted)
{
	if (call->argc == 2)
		return true;
	if (call->argc == 4 && bytes_is(call->argv[2], "type")) {
		wanted->normal = bytes_is(call->argv[3], "normal");
		wanted->subscribed = bytes_is(call->argv[3], "pubsub");
		if (wanted->normal || wanted->subscribed)
			return true;
		reply_error(call->reply, "ERR Unknown client type '%.*s'",
			    bytes_shown(call->argv[3]), call->argv[3].data);
		return false;
	}
	if (call->argc > 3 && bytes_is(call->argv[2], "id"))
		return read_ids(call, wanted);
	call_syntax_error(call);
	return false;
}

/* Sessions that are described, and those that are visited, while the list is locked: tens of
 * microseconds. */
#define DESCRIBED 32
#define SEEN      1024

/* Describe some sessions. The list is locked. Return: whether there are more */
static bool list_some(const struct wanted *wanted, struct reply *lines,
		      struct clients_cursor *cursor)
{
	unsigned described = 0, seen = 0;
	char line[LINE];

	while (cursor->next && described < DESCRIBED && seen < SEEN) {
		const struct session *s = cursor->next;

		cursor->next = s->next;
		seen++;
		if (!is_wanted(wanted, s))
			continue;
		reply_raw(lines, line, describe(s, line));
		described++;
	}
	return cursor->next;
}

static void list(struct session *session, const struct wanted *wanted,
		 struct reply *lines)
{
	struct clients_cursor cursor;

	clients_enter(session);
	clients_visit(session->server, &cursor);
	while (list_some(wanted, lines, &cursor)) {
		if (session->held)
			continue;
		clients_leave(session);
		skua_yield();
		clients_enter(session);
	}
	clients_visited(session->server, &cursor);
	clients_leave(session);
}

void run_client_list(struct call *call)
{
	/* The lines, collected as a reply. */
	struct reply lines = reply_part(call->reply);
	struct wanted wanted = { NULL, 0, true, true };

	if (!list_options(call, &wanted))
		return;
	list(call->session, &wanted, &lines);
	free(wanted.ids);
	reply_verbatim(call->reply, lines.data, lines.used);
	call->reply->failed |= lines.failed;
	reply_free(&lines);
}
