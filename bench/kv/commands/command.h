/* SPDX-License-Identifier: MIT */
/**
 * command.h - the commands of the server
 *
 * command_run() looks a command up, checks what all commands have in common, locks the
 * stripes of its keys, and calls its function, which works on the store and writes a
 * reply. Commands of a transaction are queued instead; EXEC locks the stripes of all of
 * them first.
 */
#ifndef SKUA_BENCH_KV_COMMAND_H
#define SKUA_BENCH_KV_COMMAND_H

#include "bench/kv/server/session.h"

/* Flags of a command. */
#define COMMAND_WRITE (1u << 0) /* changes keys */
#define COMMAND_GROWS \
	(1u << 1) /* may need memory: refused when it is used up */
#define COMMAND_NO_AUTH   (1u << 2) /* allowed without a password */
#define COMMAND_NO_MULTI  (1u << 3) /* not allowed in a transaction */
#define COMMAND_AT_ONCE   (1u << 4) /* not queued in a transaction */
#define COMMAND_ALL_KEYS  (1u << 5) /* may use all keys; locks stripes itself */
#define COMMAND_OWN_LOCKS (1u << 12) /* locks the stripes of its keys itself */
#define COMMAND_QUEUED    (1u << 13) /* runs the commands of the transaction */
#define COMMAND_SUBSCRIBED \
	(1u << 9) /* allowed to a client of version 2 that has subscriptions */
#define COMMAND_PUBSUB  (1u << 10) /* uses the lock of struct pubsub */
#define COMMAND_CLIENTS (1u << 11) /* uses the lock of the list of clients */
/* Only for the replies of COMMAND. */
#define COMMAND_FAST  (1u << 6)
#define COMMAND_READ  (1u << 7)
#define COMMAND_ADMIN (1u << 8)

/**
 * struct call - one call of a command
 * @key: the first key, if the command has keys
 * @rewrite: for log_add(), if it has several keys; see logged_lock()
 * @no_memory: it has ended early, for lack of memory, and may have done a part
 */
struct call {
	struct session *session;
	struct server *server;
	struct store *store;
	struct reply *reply;
	const struct command *command;
	size_t argc;
	const struct bytes *argv;
	struct key key;
	uint64_t rewrite;
	bool no_memory;
};

/**
 * struct command - a command or a subcommand
 * @name: in lower case; of a subcommand with its container: "config|get"
 * @arity: number of arguments, the name included; negative: at least
 * @first, @last, @step: the arguments that are keys; @last counts from the end if it is
 *                       negative; all 0: none
 * @subcommands: ends with an entry without a name; NULL: none
 */
struct command {
	const char *name;
	int arity;
	unsigned flags;
	int first, last, step;
	void (*run)(struct call *call);
	const char *group, *since, *summary;
	const struct command *subcommands;
};

/* commands - all commands; ends with an entry without a name */
extern const struct command commands[];
extern const unsigned command_count;

/* commands_init - prepare the lookup; call it once, before all others */
void commands_init(void);

/* command_find - return the command of a name; NULL: there is none */
const struct command *command_find(struct bytes name);

/* command_find_sub - return a subcommand; NULL: there is none */
const struct command *command_find_sub(const struct command *command,
				       struct bytes name);

/* command_find_called - return the command or subcommand that a client calls; NULL: there is
 * none. *@container: the command of its first word; NULL: there is none */
const struct command *command_find_called(size_t argc, const struct bytes *argv,
					  const struct command **container);

/* command_arity_fits - tell whether a command may have so many arguments */
static inline bool command_arity_fits(const struct command *command,
				      size_t argc)
{
	return command->arity < 0 ? argc >= (size_t)-command->arity
				  : argc == (size_t)command->arity;
}

/**
 * command_locks - find the locks that a command would take if it ran now, and label the session
 *                 with it
 * @hash: as for command_run()
 * @set: receives the stripes
 *
 * A caller that cannot wait in command_run() takes them before it. Return: HELD_PUBSUB and
 * HELD_CLIENTS.
 */
unsigned command_locks(struct session *session, size_t argc,
		       const struct bytes *argv, const uint64_t *hash,
		       struct store_set *set);

/* command_must_wait - tell whether a command waits for room in the log, which the server has,
 * before it runs. A poll waits by logged_room_poll() */
bool command_must_wait(struct session *session, size_t argc,
		       const struct bytes *argv);

/**
 * command_run - run or queue one command of a client
 * @argc: 1 or more
 * @argv: borrowed for the call
 * @hash: that of argv[1], if the caller knows it; NULL: it does not
 *
 * In a fiber, with cancels masked; or in a poll, with the locks of command_locks() held and
 * noted in session->held. If there is a log, the clock of a session in polls has a batch,
 * logged_is_uniform() comes before, and logged_add_poll() follows before the unlock.
 */
void command_run(struct session *session, size_t argc, const struct bytes *argv,
		 const uint64_t *hash);

/* command_run_found - the same for a caller that has found the command. @command: NULL: there is
 * none, and the reply says so */
void command_run_found(struct session *session, const struct command *command,
		       size_t argc, const struct bytes *argv,
		       const uint64_t *hash);

/**
 * command_run_try - run a command if it needs a single lock, which is free
 * @hash: that of argv[1]
 *
 * In a poll of a server without a log: most commands need no step for their locks. Return: false:
 * nothing was done.
 */
bool command_run_try(struct session *session, size_t argc,
		     const struct bytes *argv, uint64_t hash);

/* command_replay - run a command of the log. In a thread. Return: false: there is no such
 * command that writes */
bool command_replay(struct session *session, size_t argc,
		    const struct bytes *argv);

/* command_keys - add the stripes of the keys of a command to a set */
void command_keys(const struct store *store, const struct command *command,
		  size_t argc, const struct bytes *argv, struct store_set *set);

/* call_key - return argument @i as a key */
static inline struct key call_key(const struct call *call, size_t i)
{
	return store_key(call->store, call->argv[i]);
}

/* call_find - return the place of the entry of the first key; NULL: there is none */
static inline struct entry **call_find(struct call *call)
{
	return store_find(call->store, &call->key, &call->session->clock);
}

/* call_number - read an argument as an integer. Return: false: the reply is an error */
bool call_number(struct call *call, size_t i, int64_t *out);

/* reply_string - reply with a string; a large one is shared, not copied */
void reply_string(struct reply *reply, const struct entry *entry);

/* Replies of many commands. */
void call_syntax_error(struct call *call);
void call_wrong_type(struct call *call);
void call_no_memory(struct call *call);

/* call_pattern - check that argument @i is not too long for a pattern. Return: false: it is;
 * the reply says so */
bool call_pattern(struct call *call, size_t i);
void call_arity_error(struct reply *reply, const struct command *command);

/* The functions of the commands, by file. */
void run_append(struct call *call); /* strings.c */
void run_get(struct call *call);
void run_getdel(struct call *call);
void run_mget(struct call *call);
void run_mset(struct call *call);
void run_set(struct call *call);
void run_setnx(struct call *call);
void run_strlen(struct call *call);
void run_decr(struct call *call); /* counters.c */
void run_decrby(struct call *call);
void run_incr(struct call *call);
void run_incrby(struct call *call);
void run_del(struct call *call); /* keys.c */
void run_exists(struct call *call);
void run_expire(struct call *call);
void run_pexpire(struct call *call);
void run_persist(struct call *call);
void run_pttl(struct call *call);
void run_ttl(struct call *call);
void run_type(struct call *call);
void run_dbsize(struct call *call); /* keyspace.c */
void run_flush(struct call *call);
void run_keys(struct call *call);
void run_scan(struct call *call);
void run_llen(struct call *call); /* lists.c */
void run_lpop(struct call *call);
void run_lpush(struct call *call);
void run_lrange(struct call *call);
void run_rpop(struct call *call);
void run_rpush(struct call *call);
void run_discard(struct call *call); /* transactions.c */
void run_exec(struct call *call);
void run_multi(struct call *call);
void run_unwatch(struct call *call);
void run_watch(struct call *call);
void run_auth(struct call *call); /* sessions.c */
void run_echo(struct call *call);
void run_hello(struct call *call);
void run_ping(struct call *call);
void run_reset(struct call *call);
void run_quit(struct call *call);
void run_select(struct call *call);
void run_client_getname(struct call *call); /* clients.c */
void run_client_id(struct call *call);
void run_client_info(struct call *call);
void run_client_list(struct call *call);
void run_client_setinfo(struct call *call);
void run_client_setname(struct call *call);
void run_command(struct call *call); /* about.c */
void run_command_count(struct call *call);
void run_command_docs(struct call *call);
void run_command_info(struct call *call);
void run_bgrewriteaof(struct call *call);
void run_config_get(struct call *call);
void run_config_set(struct call *call);
void run_shutdown(struct call *call);
void run_hdel(struct call *call); /* hashes.c */
void run_hexists(struct call *call);
void run_hget(struct call *call);
void run_hgetall(struct call *call);
void run_hincrby(struct call *call);
void run_hkeys(struct call *call);
void run_hlen(struct call *call);
void run_hmget(struct call *call);
void run_hmset(struct call *call);
void run_hscan(struct call *call);
void run_hset(struct call *call);
void run_hsetnx(struct call *call);
void run_hstrlen(struct call *call);
void run_hvals(struct call *call);
void run_psubscribe(struct call *call); /* pubsub.c */
void run_publish(struct call *call);
void run_pubsub_channels(struct call *call);
void run_pubsub_numpat(struct call *call);
void run_pubsub_numsub(struct call *call);
void run_punsubscribe(struct call *call);
void run_subscribe(struct call *call);
void run_unsubscribe(struct call *call);
void run_info(struct call *call); /* info.c */

/* client_set_name - set the name of the client. Return: false: it has characters that are
 * not allowed, and the reply is an error */
bool client_set_name(struct call *call, struct bytes name);

/* transaction_queue - queue a command. Return: false: no memory */
bool transaction_queue(struct session *session, const struct command *command,
		       size_t argc, const struct bytes *argv);

/* transaction_stripes - add the stripes of the queued commands to a set */
void transaction_stripes(const struct session *session, struct store_set *set);

#endif
