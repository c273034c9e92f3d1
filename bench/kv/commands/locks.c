/* SPDX-License-Identifier: MIT */
/* locks.c - the locks of a command, taken before it */
#include "bench/kv/commands/command.h"

static unsigned held(unsigned flags)
{
	return (flags & COMMAND_PUBSUB ? HELD_PUBSUB : 0) |
	       (flags & COMMAND_CLIENTS ? HELD_CLIENTS : 0);
}

/* Whether argv[1] is the only key. */
static bool has_first_key_alone(const struct command *command)
{
	return command->first == 1 && command->last == 1 &&
	       !(command->flags & COMMAND_ALL_KEYS);
}

unsigned command_locks(struct session *session, size_t argc,
		       const struct bytes *argv, const uint64_t *hash,
		       struct store_set *set)
{
	const struct transaction *transaction = &session->transaction;
	const struct command *container;
	const struct command *command =
		command_find_called(argc, argv, &container);

	if (command)
		session_label(session, command->name);
	/* Many commands end the watches, among them EXEC, also if it fails. */
	transaction_watched(session, set);
	if (!command || !command_arity_fits(command, argc) ||
	    (transaction->active && !(command->flags & COMMAND_AT_ONCE)))
		return 0;
	if (command->flags & COMMAND_QUEUED) {
		transaction_stripes(session, set);
		return held(transaction->flags);
	}
	if (hash && has_first_key_alone(command))
		store_set_add(set, *hash);
	else
		command_keys(session->server->store, command, argc, argv, set);
	return held(command->flags);
}

/* Return a command that would take no other lock than that of the stripe of argv[1]; NULL: it may
 * take others, or cannot run. */
static const struct command *find_alone(const struct session *session,
					size_t argc, const struct bytes *argv)
{
	const struct transaction *transaction = &session->transaction;
	const struct command *command;

	if (transaction->active || transaction->watches || argc < 2)
		return NULL;
	command = command_find(argv[0]);
	return command && command_arity_fits(command, argc) &&
			       has_first_key_alone(command) &&
			       !held(command->flags)
		       ? command
		       : NULL;
}

bool command_run_try(struct session *session, size_t argc,
		     const struct bytes *argv, uint64_t hash)
{
	struct stripe *stripe = store_stripe(session->server->store, hash);
	const struct command *command = find_alone(session, argc, argv);

	if (!command || skua_mutex_lock_try(&stripe->lock))
		return false;
	session->held = HELD_STRIPES;
	command_run_found(session, command, argc, argv, &hash);
	session->held = 0;
	skua_mutex_unlock(&stripe->lock);
	return true;
}
