/* SPDX-License-Identifier: MIT */
/* run.c - checks that all commands have in common, and the locks */
#include "bench/kv/commands/command.h"

#include <stdio.h>

#include "bench/kv/commands/logged.h"
#include "bench/kv/store/glob.h"

/* ---- replies of many commands --------------------------------------------------- */

void call_syntax_error(struct call *call)
{
	REPLY_TEXT(call->reply, "-ERR syntax error");
}

void call_wrong_type(struct call *call)
{
	REPLY_TEXT(call->reply,
		   "-WRONGTYPE Operation against a key holding the wrong kind "
		   "of value");
}

#define NO_MEMORY "OOM command not allowed when used memory > 'maxmemory'."

void call_no_memory(struct call *call)
{
	call->no_memory = true;
	REPLY_TEXT(call->reply, "-" NO_MEMORY);
}

bool call_pattern(struct call *call, size_t i)
{
	if (call->argv[i].size <= GLOB_MAX)
		return true;
	reply_error(call->reply,
		    "ERR pattern has %zu bytes; allowed: at most %d",
		    call->argv[i].size, GLOB_MAX);
	return false;
}

void call_arity_error(struct reply *reply, const struct command *command)
{
	reply_error(reply, "ERR wrong number of arguments for '%s' command",
		    command->name);
}

bool call_number(struct call *call, size_t i, int64_t *out)
{
	if (number_parse(call->argv[i], out))
		return true;
	REPLY_TEXT(call->reply, "-ERR value is not an integer or out of range");
	return false;
}

/* ---- checks ------------------------------------------------------------------- */

static void unknown_command(struct session *session, size_t argc,
			    const struct bytes *argv)
{
	char args[300] = "";
	int used = 0;

	for (size_t i = 1; i < argc && used < BYTES_SHOWN; i++) {
		int most = BYTES_SHOWN - used;

		if ((size_t)most > argv[i].size)
			most = (int)argv[i].size;
		used += snprintf(args + used, sizeof(args) - (size_t)used,
				 "'%.*s' ", most, argv[i].data);
	}
	reply_error(&session->reply,
		    "ERR unknown command '%.*s', with args beginning with: %s",
		    bytes_shown(argv[0]), argv[0].data, args);
}

static void unknown_subcommand(struct session *session,
			       const struct command *command, struct bytes word)
{
	char upper[16] = "";

	for (size_t i = 0; command->name[i]; i++)
		upper[i] = (char)(command->name[i] & ~0x20);
	reply_error(&session->reply,
		    "ERR unknown subcommand '%.*s'. Try %s HELP.",
		    bytes_shown(word), word.data, upper);
}

/* Find the command or subcommand. Return: NULL: the reply is an error. */
static const struct command *find(struct session *session, size_t argc,
				  const struct bytes *argv)
{
	const struct command *container;
	const struct command *command =
		command_find_called(argc, argv, &container);

	if (!container)
		unknown_command(session, argc, argv);
	else if (!command)
		unknown_subcommand(session, container, argv[1]);
	return command;
}

/* Refuse a command. If it is EXEC, discard the transaction. @reason: the error, without "-" */
static void refuse(struct session *session, const struct command *command,
		   const char *reason)
{
	if (!(command->flags & COMMAND_QUEUED)) {
		reply_error(&session->reply, "%s", reason);
		return;
	}
	transaction_reset(session);
	transaction_unwatch(session);
	reply_error(&session->reply,
		    "EXECABORT Transaction discarded because of: %s", reason);
}

/* Tell whether the memory is used up; @flags: of the command. */
static bool is_full(struct server *server, unsigned flags)
{
	uint64_t most = setting(&server->settings.max_memory);

	return most && flags & COMMAND_GROWS &&
	       store_memory(server->store) > most;
}

/* Has the command so many arguments? Return: false: the reply is an error. */
static bool arity_fits(struct session *session, const struct command *command,
		       size_t argc)
{
	if (command_arity_fits(command, argc))
		return true;
	if (command->flags & COMMAND_QUEUED)
		refuse(session, command,
		       "wrong number of arguments for 'exec' command");
	else
		call_arity_error(&session->reply, command);
	return false;
}

/* Refuse a command of a client of version 2 that has subscriptions. */
static void refuse_subscriber(struct session *session,
			      const struct command *command)
{
	char reason[200];

	/* As in Redis, the error of EXEC has no second code in it. */
	snprintf(reason, sizeof(reason),
		 "%sCan't execute '%s': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE "
		 "/ PING / QUIT / RESET are allowed in this context",
		 command->flags & COMMAND_QUEUED ? "" : "ERR ", command->name);
	refuse(session, command, reason);
}

/* May the client call the command in its state: before it has given the password, with
 * subscriptions, in a transaction? Return: false: the reply is an error. */
static bool suits_client(struct session *session, const struct command *command)
{
	if (!session->authenticated && !(command->flags & COMMAND_NO_AUTH)) {
		refuse(session, command, "NOAUTH Authentication required.");
		return false;
	}
	if (session->subscriptions.count && session->reply.version < 3 &&
	    !(command->flags & COMMAND_SUBSCRIBED)) {
		refuse_subscriber(session, command);
		return false;
	}
	if (session->transaction.active && command->flags & COMMAND_NO_MULTI) {
		REPLY_TEXT(&session->reply,
			   "-ERR Command not allowed inside a transaction");
		return false;
	}
	return true;
}

/* Flags of the commands that look for keys: some of these may have expired. */
#define FINDS (COMMAND_READ | COMMAND_OWN_LOCKS | COMMAND_QUEUED)

/* The flags of a command, with those of the commands that it runs. */
static unsigned all_flags(const struct session *session,
			  const struct command *command)
{
	unsigned flags = command->flags;

	return flags & COMMAND_QUEUED ? flags | session->transaction.flags
				      : flags;
}

bool command_must_wait(struct session *session, size_t argc,
		       const struct bytes *argv)
{
	const struct command *command, *container;
	unsigned flags;

	if (!log_is_behind(session->server->log))
		return false;
	command = command_find_called(argc, argv, &container);
	flags = command ? all_flags(session, command) : 0;
	return flags & (COMMAND_WRITE | FINDS) &&
	       logged_must_wait(session, flags & COMMAND_WRITE);
}

/* Have the memory and the log room for what the command may write? Waits for room in the log.
 * Return: false: the reply is an error. */
static bool suits_server(struct session *session, const struct command *command)
{
	unsigned flags = all_flags(session, command);
	bool writes = flags & COMMAND_WRITE;
	const char *reason = NULL;
	char text[128];

	if (is_full(session->server, flags)) {
		reason = NO_MEMORY;
	} else if (flags & (COMMAND_WRITE | FINDS) && session->server->log) {
		logged_wait_for_room(session, writes);
		if (writes)
			reason = logged_refusal(session, text);
	}
	if (reason)
		refuse(session, command, reason);
	return !reason;
}

/* May the command run now? Return: false: the reply is an error. */
static bool is_permitted(struct session *session, const struct command *command,
			 size_t argc)
{
	session_label(session, command->name);
	return arity_fits(session, command, argc) &&
	       suits_client(session, command) && suits_server(session, command);
}

/* ---- locks -------------------------------------------------------------------- */

void command_keys(const struct store *store, const struct command *command,
		  size_t argc, const struct bytes *argv, struct store_set *set)
{
	size_t last;

	if (command->flags & COMMAND_ALL_KEYS) {
		memset(set, 0xff, sizeof(*set));
		return;
	}
	if (!command->first)
		return;
	last = command->last < 0 ? argc - (size_t)-command->last
				 : (size_t)command->last;
	for (size_t i = (size_t)command->first; i <= last;
	     i += (size_t)command->step)
		store_set_add(set, store_key(store, argv[i]).hash);
}

/* Run a command that uses one stripe. */
static void run_on_one(struct call *call, bool locked)
{
	struct stripe *stripe = store_stripe(call->store, call->key.hash);
	uint64_t before;

	if (!locked)
		store_lock(stripe);
	before = stripe->changes;
	call->command->run(call);
	if (call->server->log)
		logged_one(call, stripe, before);
	if (!locked)
		store_unlock(stripe);
}

/* Run a command that uses the stripes of several keys. */
static void run_on_many(struct call *call, bool locked)
{
	struct store_set set = { .used = 0 };
	bool logged = call->server->log;
	uint64_t before;

	if (locked && !logged) {
		call->command->run(call);
		return;
	}
	command_keys(call->store, call->command, call->argc, call->argv, &set);
	if (!locked)
		logged_lock(call, &set);
	before = logged ? logged_changes(call->store, &set) : 0;
	call->command->run(call);
	if (logged)
		logged_many(call, &set, before);
	if (!locked)
		store_unlock_set(call->store, &set);
}

static void run_locked(struct call *call, const uint64_t *hash)
{
	const struct command *command = call->command;
	bool locked = call->session->held & HELD_STRIPES;

	if (!command->first ||
	    command->flags & (COMMAND_ALL_KEYS | COMMAND_OWN_LOCKS)) {
		command->run(call);
		if (call->server->log && command->flags & COMMAND_READ)
			logged_read_all(call);
		return;
	}
	if (hash && command->first == 1)
		call->key = (struct key){ call->argv[1], *hash };
	else
		call->key = call_key(call, (size_t)command->first);
	if (command->last == command->first || call->argc == 2)
		run_on_one(call, locked);
	else
		run_on_many(call, locked);
}

static struct call call_of(struct session *session,
			   const struct command *command, size_t argc,
			   const struct bytes *argv)
{
	return (struct call){ .session = session,
			      .server = session->server,
			      .store = session->server->store,
			      .reply = &session->reply,
			      .command = command,
			      .argc = argc,
			      .argv = argv };
}

void command_run_found(struct session *session, const struct command *command,
		       size_t argc, const struct bytes *argv,
		       const uint64_t *hash)
{
	struct call call = call_of(session, command, argc, argv);

	if (!command || !is_permitted(session, command, argc)) {
		session->transaction.failed = session->transaction.active;
		return;
	}
	shared_write(&session->commands, session->commands + 1);
	shared_write(&session->command, command);
	if (session->transaction.active &&
	    !(command->flags & COMMAND_AT_ONCE)) {
		if (transaction_queue(session, command, argc, argv)) {
			REPLY_TEXT(&session->reply, "+QUEUED");
		} else {
			session->transaction.failed = true;
			call_no_memory(&call);
		}
		return;
	}
	run_locked(&call, hash);
}

void command_run(struct session *session, size_t argc, const struct bytes *argv,
		 const uint64_t *hash)
{
	command_run_found(session, find(session, argc, argv), argc, argv, hash);
}

bool command_replay(struct session *session, size_t argc,
		    const struct bytes *argv)
{
	const struct command *command = command_find(argv[0]);
	struct call call = call_of(session, command, argc, argv);

	if (!command || !(command->flags & COMMAND_WRITE) ||
	    !command_arity_fits(command, argc))
		return false;
	run_locked(&call, NULL);
	return true;
}
