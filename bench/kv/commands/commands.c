/* SPDX-License-Identifier: MIT */
/* commands.c - the commands, and their lookup */
#include "bench/kv/commands/command.h"

#include <ctype.h>

#define WRITE    COMMAND_WRITE
#define GROWS    (COMMAND_WRITE | COMMAND_GROWS)
#define READ     COMMAND_READ
#define FAST     COMMAND_FAST
#define ALL      COMMAND_ALL_KEYS
#define NO_AUTH  COMMAND_NO_AUTH
#define AT_ONCE  COMMAND_AT_ONCE
#define ADMIN    COMMAND_ADMIN
#define NO_MULTI COMMAND_NO_MULTI
#define SUB      COMMAND_SUBSCRIBED
#define PUBSUB   COMMAND_PUBSUB
#define CLIENTS  COMMAND_CLIENTS
#define OWN      COMMAND_OWN_LOCKS
#define QUEUED   COMMAND_QUEUED

/* clang-format off */
static const struct command client_commands[] = {
	{ "client|getname", 2, 0, 0, 0, 0, run_client_getname, "connection", "2.6.9", "Get the current connection name", NULL },
	{ "client|id", 2, 0, 0, 0, 0, run_client_id, "connection", "5.0.0", "Returns the client ID for the current connection", NULL },
	{ "client|info", 2, CLIENTS, 0, 0, 0, run_client_info, "connection", "6.2.0", "Returns information about the current client connection.", NULL },
	{ "client|list", -2, ADMIN | CLIENTS, 0, 0, 0, run_client_list, "connection", "2.4.0", "Get the list of client connections", NULL },
	{ "client|setinfo", 4, CLIENTS, 0, 0, 0, run_client_setinfo, "connection", "7.2.0", "Sets information specific to the client or connection.", NULL },
	{ "client|setname", 3, CLIENTS, 0, 0, 0, run_client_setname, "connection", "2.6.9", "Set the current connection name", NULL },
	{ 0 }
};

static const struct command command_commands[] = {
	{ "command|count", 2, 0, 0, 0, 0, run_command_count, "server", "2.8.13", "Get total number of Redis commands", NULL },
	{ "command|docs", -2, 0, 0, 0, 0, run_command_docs, "server", "7.0.0", "Get array of specific Redis command documentation", NULL },
	{ "command|info", -2, 0, 0, 0, 0, run_command_info, "server", "2.8.13", "Get array of specific Redis command details, or all when no argument is given.", NULL },
	{ 0 }
};

static const struct command config_commands[] = {
	{ "config|get", -3, ADMIN | CLIENTS, 0, 0, 0, run_config_get, "server", "2.0.0", "Get the values of configuration parameters", NULL },
	{ "config|set", -4, ADMIN | CLIENTS, 0, 0, 0, run_config_set, "server", "2.0.0", "Set configuration parameters to the given values", NULL },
	{ 0 }
};

static const struct command pubsub_commands[] = {
	{ "pubsub|channels", -2, PUBSUB, 0, 0, 0, run_pubsub_channels, "pubsub", "2.8.0", "List active channels", NULL },
	{ "pubsub|numpat", 2, PUBSUB, 0, 0, 0, run_pubsub_numpat, "pubsub", "2.8.0", "Get the count of unique patterns pattern subscriptions", NULL },
	{ "pubsub|numsub", -2, PUBSUB, 0, 0, 0, run_pubsub_numsub, "pubsub", "2.8.0", "Get the count of subscribers for channels", NULL },
	{ 0 }
};

const struct command commands[] = {
	{ "append", 3, GROWS | FAST, 1, 1, 1, run_append, "string", "2.0.0", "Append a value to a key", NULL },
	{ "auth", -2, NO_AUTH | FAST | CLIENTS, 0, 0, 0, run_auth, "connection", "1.0.0", "Authenticate to the server", NULL },
	{ "bgrewriteaof", 1, ADMIN, 0, 0, 0, run_bgrewriteaof, "server", "1.0.0", "Asynchronously rewrite the append-only file", NULL },
	{ "client", -2, 0, 0, 0, 0, NULL, "connection", "2.4.0", "A container for client connection commands", client_commands },
	{ "command", -1, 0, 0, 0, 0, run_command, "server", "2.8.13", "Get array of Redis command details", command_commands },
	{ "config", -2, 0, 0, 0, 0, NULL, "server", "2.0.0", "A container for server configuration commands", config_commands },
	{ "dbsize", 1, READ | FAST | ALL, 0, 0, 0, run_dbsize, "server", "1.0.0", "Return the number of keys in the selected database", NULL },
	{ "decr", 2, GROWS | FAST, 1, 1, 1, run_decr, "string", "1.0.0", "Decrement the integer value of a key by one", NULL },
	{ "decrby", 3, GROWS | FAST, 1, 1, 1, run_decrby, "string", "1.0.0", "Decrement the integer value of a key by the given number", NULL },
	{ "del", -2, WRITE, 1, -1, 1, run_del, "generic", "1.0.0", "Delete a key", NULL },
	{ "discard", 1, FAST | AT_ONCE, 0, 0, 0, run_discard, "transactions", "2.0.0", "Discard all commands issued after MULTI", NULL },
	{ "echo", 2, FAST, 0, 0, 0, run_echo, "connection", "1.0.0", "Echo the given string", NULL },
	{ "exec", 1, AT_ONCE | QUEUED, 0, 0, 0, run_exec, "transactions", "1.2.0", "Execute all commands issued after MULTI", NULL },
	{ "exists", -2, READ | FAST, 1, -1, 1, run_exists, "generic", "1.0.0", "Determine if a key exists", NULL },
	{ "expire", -3, WRITE | FAST, 1, 1, 1, run_expire, "generic", "1.0.0", "Set a key's time to live in seconds", NULL },
	{ "flushall", -1, WRITE | ALL, 0, 0, 0, run_flush, "server", "1.0.0", "Remove all keys from all databases", NULL },
	{ "flushdb", -1, WRITE | ALL, 0, 0, 0, run_flush, "server", "1.0.0", "Remove all keys from the current database", NULL },
	{ "get", 2, READ | FAST, 1, 1, 1, run_get, "string", "1.0.0", "Get the value of a key", NULL },
	{ "getdel", 2, WRITE | FAST, 1, 1, 1, run_getdel, "string", "6.2.0", "Get the value of a key and delete the key", NULL },
	{ "hdel", -3, WRITE | FAST, 1, 1, 1, run_hdel, "hash", "2.0.0", "Delete one or more hash fields", NULL },
	{ "hello", -1, NO_AUTH | FAST | CLIENTS, 0, 0, 0, run_hello, "connection", "6.0.0", "Handshake with Redis", NULL },
	{ "hexists", 3, READ | FAST, 1, 1, 1, run_hexists, "hash", "2.0.0", "Determine if a hash field exists", NULL },
	{ "hget", 3, READ | FAST, 1, 1, 1, run_hget, "hash", "2.0.0", "Get the value of a hash field", NULL },
	{ "hgetall", 2, READ, 1, 1, 1, run_hgetall, "hash", "2.0.0", "Get all the fields and values in a hash", NULL },
	{ "hincrby", 4, GROWS | FAST, 1, 1, 1, run_hincrby, "hash", "2.0.0", "Increment the integer value of a hash field by the given number", NULL },
	{ "hkeys", 2, READ, 1, 1, 1, run_hkeys, "hash", "2.0.0", "Get all the fields in a hash", NULL },
	{ "hlen", 2, READ | FAST, 1, 1, 1, run_hlen, "hash", "2.0.0", "Get the number of fields in a hash", NULL },
	{ "hmget", -3, READ | FAST, 1, 1, 1, run_hmget, "hash", "2.0.0", "Get the values of all the given hash fields", NULL },
	{ "hmset", -4, GROWS | FAST, 1, 1, 1, run_hmset, "hash", "2.0.0", "Set multiple hash fields to multiple values", NULL },
	{ "hscan", -3, READ, 1, 1, 1, run_hscan, "hash", "2.8.0", "Incrementally iterate hash fields and associated values", NULL },
	{ "hset", -4, GROWS | FAST, 1, 1, 1, run_hset, "hash", "2.0.0", "Set the string value of a hash field", NULL },
	{ "hsetnx", 4, GROWS | FAST, 1, 1, 1, run_hsetnx, "hash", "2.0.0", "Set the value of a hash field, only if the field does not exist", NULL },
	{ "hstrlen", 3, READ | FAST, 1, 1, 1, run_hstrlen, "hash", "3.2.0", "Get the length of the value of a hash field", NULL },
	{ "hvals", 2, READ, 1, 1, 1, run_hvals, "hash", "2.0.0", "Get all the values in a hash", NULL },
	{ "incr", 2, GROWS | FAST, 1, 1, 1, run_incr, "string", "1.0.0", "Increment the integer value of a key by one", NULL },
	{ "incrby", 3, GROWS | FAST, 1, 1, 1, run_incrby, "string", "1.0.0", "Increment the integer value of a key by the given amount", NULL },
	{ "info", -1, CLIENTS | PUBSUB, 0, 0, 0, run_info, "server", "1.0.0", "Get information and statistics about the server", NULL },
	{ "keys", 2, READ | ALL, 0, 0, 0, run_keys, "generic", "1.0.0", "Find all keys matching the given pattern", NULL },
	{ "llen", 2, READ | FAST, 1, 1, 1, run_llen, "list", "1.0.0", "Get the length of a list", NULL },
	{ "lpop", -2, WRITE | FAST, 1, 1, 1, run_lpop, "list", "1.0.0", "Remove and get the first elements in a list", NULL },
	{ "lpush", -3, GROWS | FAST, 1, 1, 1, run_lpush, "list", "1.0.0", "Prepend one or multiple elements to a list", NULL },
	{ "lrange", 4, READ, 1, 1, 1, run_lrange, "list", "1.0.0", "Get a range of elements from a list", NULL },
	{ "mget", -2, READ | FAST, 1, -1, 1, run_mget, "string", "1.0.0", "Get the values of all the given keys", NULL },
	{ "mset", -3, GROWS, 1, -1, 2, run_mset, "string", "1.0.1", "Set multiple keys to multiple values", NULL },
	{ "multi", 1, FAST | AT_ONCE, 0, 0, 0, run_multi, "transactions", "1.2.0", "Mark the start of a transaction block", NULL },
	{ "persist", 2, WRITE | FAST, 1, 1, 1, run_persist, "generic", "2.2.0", "Remove the expiration from a key", NULL },
	{ "pexpire", -3, WRITE | FAST, 1, 1, 1, run_pexpire, "generic", "2.6.0", "Set a key's time to live in milliseconds", NULL },
	{ "ping", -1, FAST | SUB, 0, 0, 0, run_ping, "connection", "1.0.0", "Ping the server", NULL },
	{ "psubscribe", -2, PUBSUB | SUB, 0, 0, 0, run_psubscribe, "pubsub", "2.0.0", "Listen for messages published to channels matching the given patterns", NULL },
	{ "pttl", 2, READ | FAST, 1, 1, 1, run_pttl, "generic", "2.6.0", "Get the time to live for a key in milliseconds", NULL },
	{ "publish", 3, PUBSUB | FAST, 0, 0, 0, run_publish, "pubsub", "2.0.0", "Post a message to a channel", NULL },
	{ "pubsub", -2, 0, 0, 0, 0, NULL, "pubsub", "2.8.0", "A container for Pub/Sub commands", pubsub_commands },
	{ "punsubscribe", -1, PUBSUB | SUB, 0, 0, 0, run_punsubscribe, "pubsub", "2.0.0", "Stop listening for messages posted to channels matching the given patterns", NULL },
	{ "quit", -1, NO_AUTH | FAST | AT_ONCE | SUB, 0, 0, 0, run_quit, "connection", "1.0.0", "Close the connection", NULL },
	{ "reset", 1, NO_AUTH | FAST | AT_ONCE | SUB | PUBSUB | CLIENTS, 0, 0, 0, run_reset, "connection", "6.2.0", "Reset the connection", NULL },
	{ "rpop", -2, WRITE | FAST, 1, 1, 1, run_rpop, "list", "1.0.0", "Remove and get the last elements in a list", NULL },
	{ "rpush", -3, GROWS | FAST, 1, 1, 1, run_rpush, "list", "1.0.0", "Append one or multiple elements to a list", NULL },
	{ "scan", -2, READ | ALL, 0, 0, 0, run_scan, "generic", "2.8.0", "Incrementally iterate the keys space", NULL },
	{ "select", 2, FAST, 0, 0, 0, run_select, "connection", "1.0.0", "Change the selected database for the current connection", NULL },
	{ "set", -3, GROWS, 1, 1, 1, run_set, "string", "1.0.0", "Set the string value of a key", NULL },
	{ "setnx", 3, GROWS | FAST, 1, 1, 1, run_setnx, "string", "1.0.0", "Set the value of a key, only if the key does not exist", NULL },
	{ "shutdown", -1, ADMIN | NO_MULTI, 0, 0, 0, run_shutdown, "server", "1.0.0", "Synchronously save the dataset to disk and then shut down the server", NULL },
	{ "strlen", 2, READ | FAST, 1, 1, 1, run_strlen, "string", "2.2.0", "Get the length of the value stored in a key", NULL },
	{ "subscribe", -2, PUBSUB | SUB, 0, 0, 0, run_subscribe, "pubsub", "2.0.0", "Listen for messages published to the given channels", NULL },
	{ "ttl", 2, READ | FAST, 1, 1, 1, run_ttl, "generic", "1.0.0", "Get the time to live for a key in seconds", NULL },
	{ "type", 2, READ | FAST, 1, 1, 1, run_type, "generic", "1.0.0", "Determine the type stored at key", NULL },
	{ "unlink", -2, WRITE | FAST, 1, -1, 1, run_del, "generic", "4.0.0", "Delete a key asynchronously in another thread. Otherwise it is just as DEL, but non blocking.", NULL },
	{ "unsubscribe", -1, PUBSUB | SUB, 0, 0, 0, run_unsubscribe, "pubsub", "2.0.0", "Stop listening for messages posted to the given channels", NULL },
	{ "unwatch", 1, FAST, 0, 0, 0, run_unwatch, "transactions", "2.2.0", "Forget about all watched keys", NULL },
	{ "watch", -2, FAST | AT_ONCE | OWN, 1, -1, 1, run_watch, "transactions", "2.2.0", "Watch the given keys to determine execution of the MULTI/EXEC block", NULL },
	{ 0 }
};
/* clang-format on */
const unsigned command_count = sizeof(commands) / sizeof(commands[0]) - 1;

/* A hash table of the commands: large enough that most names have a place of their own. */
#define PLACES 512u
static const struct command *places[PLACES];

static unsigned place_of(struct bytes name)
{
	unsigned hash = (unsigned)name.size;

	for (size_t i = 0; i < name.size; i++)
		hash = hash * 31 + ((unsigned char)name.data[i] | 0x20u);
	return (hash ^ hash >> 9) % PLACES;
}

void commands_init(void)
{
	for (unsigned i = 0; i < command_count; i++) {
		struct bytes name = { commands[i].name,
				      strlen(commands[i].name) };
		unsigned place = place_of(name);

		while (places[place])
			place = (place + 1) % PLACES;
		places[place] = &commands[i];
	}
}

/* Is it the name of a command, in upper or lower case? The names have letters only. */
static bool is_named(struct bytes text, const char *name)
{
	size_t i;

	for (i = 0; i < text.size; i++)
		if ((char)(text.data[i] | 0x20) != name[i])
			return false;
	return !name[i];
}

const struct command *command_find(struct bytes name)
{
	unsigned place;

	if (name.size > 16)
		return NULL;
	for (place = place_of(name); places[place];
	     place = (place + 1) % PLACES)
		if (is_named(name, places[place]->name))
			return places[place];
	return NULL;
}

const struct command *command_find_sub(const struct command *command,
				       struct bytes name)
{
	const struct command *sub = command->subcommands;

	for (; sub->name; sub++)
		if (bytes_is(name, strchr(sub->name, '|') + 1))
			return sub;
	return NULL;
}

const struct command *command_find_called(size_t argc, const struct bytes *argv,
					  const struct command **container)
{
	const struct command *command = command_find(argv[0]);

	*container = command;
	if (command && command->subcommands && argc > 1)
		return command_find_sub(command, argv[1]);
	return command;
}
