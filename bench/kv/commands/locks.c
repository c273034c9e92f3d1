/* SPDX-License-Identifier: MIT */
/* locks.c - the locks of a command, for callers that take them before it */
#include "bench/kv/commands/command.h"

/* Find the command or subcommand that runs. NULL: the reply is an error. */
static const struct command *find(size_t argc, const struct bytes *argv)
{
	const struct command *command = command_find(argv[0]);

	if (command && command->subcommands && argc > 1)
		command = command_find_sub(command, argv[1]);
	return command && command_arity_fits(command, argc) ? command : NULL;
}

static unsigned held(unsigned flags)
{
	return (flags & COMMAND_PUBSUB ? HELD_PUBSUB : 0) |
	       (flags & COMMAND_CLIENTS ? HELD_CLIENTS : 0);
}

unsigned command_locks(const struct session *session, size_t argc,
		       const struct bytes *argv, struct store_set *set)
{
	const struct transaction *transaction = &session->transaction;
	const struct command *command = find(argc, argv);
	struct command keys;

	/* Many commands end the watches, among them EXEC, also if it fails. */
	transaction_watched(session, set);
	if (!command ||
	    (transaction->active && !(command->flags & COMMAND_AT_ONCE)))
		return 0;
	if (command->run == run_exec) {
		transaction_stripes(session, set);
		return held(transaction->flags);
	}
	keys = *command;
	if (command->run == run_watch)
		keys.flags = 0; /* locks only the stripes of its keys */
	command_keys(session->server->store, &keys, argc, argv, set);
	return held(command->flags);
}
