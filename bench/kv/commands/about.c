/* SPDX-License-Identifier: MIT */
/* about.c - COMMAND, CONFIG, BGREWRITEAOF and SHUTDOWN */
#include "bench/kv/commands/command.h"

#include <errno.h>
#include <stdio.h>

#include "bench/kv/log/log.h"
#include "bench/kv/store/glob.h"

/* ---- COMMAND -------------------------------------------------------------------- */

static size_t count_subcommands(const struct command *command)
{
	const struct command *sub = command->subcommands;
	size_t count = 0;

	for (; sub && sub->name; sub++)
		count++;
	return count;
}

static const struct {
	unsigned flag;
	const char *name;
} flag_names[] = {
	{ COMMAND_WRITE, "write" },     { COMMAND_READ, "readonly" },
	{ COMMAND_GROWS, "denyoom" },   { COMMAND_ADMIN, "admin" },
	{ COMMAND_NO_AUTH, "no_auth" }, { COMMAND_NO_MULTI, "no_multi" },
	{ COMMAND_FAST, "fast" }
};
#define FLAG_NAMES (sizeof(flag_names) / sizeof(flag_names[0]))

static void describe(struct reply *reply, const struct command *command)
{
	size_t flags = 0;

	for (size_t i = 0; i < FLAG_NAMES; i++)
		flags += (command->flags & flag_names[i].flag) != 0;
	reply_array(reply, 10);
	reply_text(reply, command->name);
	reply_number(reply, command->arity);
	reply_set(reply, flags);
	for (size_t i = 0; i < FLAG_NAMES; i++)
		if (command->flags & flag_names[i].flag)
			reply_status(reply, flag_names[i].name);
	reply_number(reply, command->first);
	reply_number(reply, command->last);
	reply_number(reply, command->step);
	reply_set(reply, 0);
	reply_array(reply, 0);
	reply_array(reply, 0);
	reply_array(reply, count_subcommands(command));
	for (size_t i = 0; i < count_subcommands(command); i++)
		describe(reply, &command->subcommands[i]);
}

void run_command(struct call *call)
{
	reply_array(call->reply, command_count);
	for (unsigned i = 0; i < command_count; i++)
		describe(call->reply, &commands[i]);
}

void run_command_count(struct call *call)
{
	reply_number(call->reply, command_count);
}

void run_command_info(struct call *call)
{
	if (call->argc == 2) {
		run_command(call);
		return;
	}
	reply_array(call->reply, call->argc - 2);
	for (size_t i = 2; i < call->argc; i++) {
		const struct command *command = command_find(call->argv[i]);

		if (command)
			describe(call->reply, command);
		else
			reply_null_array(call->reply);
	}
}

static void document(struct reply *reply, const struct command *command)
{
	size_t subs = count_subcommands(command);

	reply_text(reply, command->name);
	reply_map(reply, subs ? 4 : 3);
	reply_text(reply, "summary");
	reply_text(reply, command->summary);
	reply_text(reply, "since");
	reply_text(reply, command->since);
	reply_text(reply, "group");
	reply_text(reply, command->group);
	if (!subs)
		return;
	reply_text(reply, "subcommands");
	reply_map(reply, subs);
	for (size_t i = 0; i < subs; i++)
		document(reply, &command->subcommands[i]);
}

void run_command_docs(struct call *call)
{
	size_t known = 0;

	if (call->argc == 2) {
		reply_map(call->reply, command_count);
		for (unsigned i = 0; i < command_count; i++)
			document(call->reply, &commands[i]);
		return;
	}
	for (size_t i = 2; i < call->argc; i++)
		known += command_find(call->argv[i]) != NULL;
	reply_map(call->reply, known);
	for (size_t i = 2; i < call->argc; i++) {
		const struct command *command = command_find(call->argv[i]);

		if (command)
			document(call->reply, command);
	}
}

/* ---- CONFIG ---------------------------------------------------------------------- */

/* Return the argument that names a setting, or is a pattern that matches it. NULL: there
 * is none. */
static const struct bytes *wanted_as(const struct call *call, const char *name)
{
	struct bytes text = { name, strlen(name) };

	for (size_t i = 2; i < call->argc; i++)
		if (glob_match(call->argv[i], text, true))
			return &call->argv[i];
	return NULL;
}

void run_config_get(struct call *call)
{
	const struct settings *settings = &call->server->settings;
	char text[SETTING_TEXT];
	const char *name, *value;
	const struct bytes *wanted;
	size_t count = 0;

	clients_enter(call->session); /* for the password */
	for (unsigned i = 0; settings_read(settings, i, &name, text); i++)
		count += wanted_as(call, name) != NULL;
	reply_map(call->reply, count);
	for (unsigned i = 0; (value = settings_read(settings, i, &name, text));
	     i++) {
		wanted = wanted_as(call, name);
		if (!wanted)
			continue;
		/* A name is spelled as the client has spelled it. */
		if (bytes_is(*wanted, name))
			reply_bulk(call->reply, wanted->data, wanted->size);
		else
			reply_text(call->reply, name);
		reply_text(call->reply, value);
	}
	clients_leave(call->session);
}

static void set_error(struct call *call, size_t i, const char *error)
{
	reply_error(call->reply,
		    "ERR CONFIG SET failed (possibly related to argument "
		    "'%.*s') - %s",
		    bytes_shown(call->argv[i]), call->argv[i].data, error);
}

/* Is the setting of argument @i one of those before it? */
static bool is_repeated(const struct call *call, size_t i)
{
	for (size_t k = 2; k < i; k += 2)
		if (call->argv[k].size == call->argv[i].size &&
		    !strncasecmp(call->argv[k].data, call->argv[i].data,
				 call->argv[i].size))
			return true;
	return false;
}

/* Check the names of the settings, as Redis does before it sets any. Return: false: the
 * reply is an error. */
static bool check_names(struct call *call)
{
	for (size_t i = 2; i < call->argc; i += 2) {
		struct bytes name = call->argv[i];
		bool refused;

		if (!settings_know(&call->server->settings, name,
				   call->argv[i + 1], &refused)) {
			reply_error(call->reply,
				    "ERR Unknown option or number of arguments "
				    "for CONFIG SET - '%.*s'",
				    bytes_shown(name), name.data);
			return false;
		}
		if (refused)
			set_error(call, i, "can't set immutable config");
		else if (is_repeated(call, i))
			set_error(call, i, "duplicate parameter");
		else
			continue;
		return false;
	}
	return true;
}

/* Change settings. Return: the argument that is wrong, with its error, which may be in @text; 0:
 * none. */
static size_t change(const struct call *call, struct settings *settings,
		     const char **error, char text[SETTING_TEXT])
{
	for (size_t i = 2; i < call->argc; i += 2) {
		*error = settings_write(settings, call->argv[i],
					call->argv[i + 1], text);
		if (*error)
			return i;
	}
	return 0;
}

void run_config_set(struct call *call)
{
	struct settings trial;
	char text[SETTING_TEXT];
	const char *error;
	size_t wrong;

	if (call->argc % 2) {
		call_syntax_error(call);
		return;
	}
	if (!check_names(call))
		return;
	/* All of them, or none: a copy has the changes first. The lock is for the
	 * password, and all writers of settings have it. */
	clients_enter(call->session);
	trial = call->server->settings;
	wrong = change(call, &trial, &error, text);
	if (!wrong)
		change(call, &call->server->settings, &error, text);
	clients_leave(call->session);
	if (wrong)
		set_error(call, wrong, error);
	else
		reply_ok(call->reply);
}

/* ---- BGREWRITEAOF and SHUTDOWN -------------------------------------------------- */

void run_bgrewriteaof(struct call *call)
{
	struct log *log = call->server->log;
	int code = log ? rewrite_ask(log) : -ENOENT;

	if (!log)
		REPLY_TEXT(call->reply,
			   "-ERR Can't execute an AOF background rewriting: "
			   "the server has no log (option --append)");
	else if (code == -EALREADY)
		REPLY_TEXT(call->reply,
			   "-ERR Background append only file rewriting already "
			   "in progress");
	else if (code)
		reply_error(call->reply,
			    "ERR Can't execute an AOF background rewriting: "
			    "the log cannot be written: %s",
			    strerror(-code));
	else if (call->session->transaction.active)
		REPLY_TEXT(call->reply,
			   "+Background append only file rewriting scheduled");
	else
		REPLY_TEXT(call->reply,
			   "+Background append only file rewriting started");
}

void run_shutdown(struct call *call)
{
	for (size_t i = 1; i < call->argc; i++) {
		struct bytes word = call->argv[i];

		if (!bytes_is(word, "nosave") && !bytes_is(word, "save") &&
		    !bytes_is(word, "now") && !bytes_is(word, "force")) {
			call_syntax_error(call);
			return;
		}
	}
	call->session->closing = true;
	call->server->stop();
}
