/* SPDX-License-Identifier: MIT */
/* settings.h - the settings of the server, which CONFIG GET and CONFIG SET see */
#ifndef SKUA_BENCH_KV_SETTINGS_H
#define SKUA_BENCH_KV_SETTINGS_H

#include "bench/kv/resp/number.h"
#include "bench/kv/server/shared.h"

#define SETTING_MAX_BULK (512ull << 20) /* bytes, as in Redis */
#define SETTING_MAX_ARGS (1ull << 20)

/**
 * struct settings - the settings
 * @max_memory: bytes of the keys and values; 0: no limit
 * @max_buffers: bytes of the large buffers and queued commands of all clients; 0: as
 *               @max_memory
 * @max_clients: connections at the same time
 * @max_bulk: bytes of an argument
 * @max_reply: bytes of replies that may wait for a client; more closes its connection
 * @pubsub_hard: bytes of messages that may wait for a subscriber; 0: no limit
 * @pubsub_soft, @pubsub_soft_s: bytes that may wait for it for so many seconds
 * @rewrite_percent: a log that has grown by so much since its last rewrite is rewritten; 0: none is
 * @rewrite_min_size: if it has more than so many bytes
 * @has_password: is there a password? For those without the lock
 * @password: of all clients; empty: none
 * @append_only, @append_fsync, @folder, @append_file: the log, as texts of CONFIG
 * @port, @address, @workers: set before the server listens
 *
 * The numbers up to @has_password are read and changed atomically, in any order: each
 * command reads them once. The texts do not change. The lock of the clients (session.h)
 * protects the password.
 */
struct settings {
	uint64_t max_memory;
	uint64_t max_buffers;
	uint64_t max_clients;
	uint64_t max_bulk;
	uint64_t max_reply;
	uint64_t pubsub_hard;
	uint64_t pubsub_soft;
	uint64_t pubsub_soft_s;
	uint64_t rewrite_percent;
	uint64_t rewrite_min_size;
	uint64_t has_password;
	char password[128];
	const char *append_only, *append_fsync, *folder, *append_file;
	uint16_t port;
	char address[64];
	unsigned workers;
};

static inline uint64_t setting(const uint64_t *number)
{
	return shared_read(number);
}

static inline void setting_store(uint64_t *number, uint64_t value)
{
	shared_write(number, value);
}

/* Room for the text of a setting. */
#define SETTING_TEXT 128

/* settings_init - set the defaults */
void settings_init(struct settings *settings);

/**
 * settings_read - return the value of a setting as text
 * @i: 0, 1, 2, ...
 * @name: receives its name
 *
 * Return: the value, in @text if it has numbers; NULL: there is no such setting.
 */
const char *settings_read(const struct settings *settings, unsigned i,
			  const char **name, char text[SETTING_TEXT]);

/* settings_know - tell whether there is a setting of this name. *@refused: it cannot be changed,
 * and its value is not @value */
bool settings_know(const struct settings *settings, struct bytes name,
		   struct bytes value, bool *refused);

/* settings_write - change a setting that settings_know() knows, and has not refused.
 * Return: NULL; or the error, in @text if it has numbers */
const char *settings_write(struct settings *settings, struct bytes name,
			   struct bytes value, char text[SETTING_TEXT]);

/* memory_parse - read a size such as 100mb. Return: false: it is none */
bool memory_parse(struct bytes text, uint64_t *out);

#endif
