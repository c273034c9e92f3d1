/* SPDX-License-Identifier: MIT */
/**
 * session.h - the server, and one client as the commands see it
 *
 * A session knows nothing of sockets and fibers: bench/kv/connection.c embeds it.
 */
#ifndef SKUA_BENCH_KV_SESSION_H
#define SKUA_BENCH_KV_SESSION_H

#include <skua/task.h>

#include "bench/kv/resp/parse.h"
#include "bench/kv/server/mail.h"
#include "bench/kv/server/pubsub.h"
#include "bench/kv/server/settings.h"
#include "bench/kv/server/shared.h"
#include "bench/kv/store/store.h"

#define SESSION_NAME 64

struct session;
struct clients_cursor;
struct command;
struct log;

/**
 * struct server - what all sessions share
 * @clients_lock: protects @first, @cursors, @ending, @next_id, @received, @rejected, @ended,
 *                the password, and the names of sessions
 * @clients: number of sessions; changed under the lock, and read also without it
 * @buffers: bytes of the large buffers, queued commands and subscriptions of all sessions,
 *           changed atomically
 * @first: the sessions, in a list, the newest first
 * @cursors: the visits of the list that have begun and not ended
 * @ending: no session begins any more
 * @next_id: of the session that comes next
 * @received: connections so far; @rejected: those for which there was no room
 * @ended: commands of the sessions that have ended
 * @runtime: runs the server; for INFO
 * @log: of all changes; NULL: there is none
 * @logged: position in the log of the last change of each stripe, under its lock
 * @started_ns: time of skua_now_ns()
 * @kick: ends the socket of a session. Any thread may call it while the session cannot end
 * @stop: ends the server; any thread may call it
 */
struct server {
	struct store *store;
	struct settings settings;
	struct skua_mutex clients_lock;
	uint64_t clients, buffers;
	struct session *first;
	struct clients_cursor *cursors;
	bool ending;
	uint64_t next_id, received, rejected, ended;
	uint64_t started_ns;
	struct skua_runtime *runtime;
	void (*kick)(struct session *session);
	struct log *log;
	uint64_t *logged;
	void (*stop)(void);
	struct pubsub pubsub;
};

/* A command of a transaction. Its arguments follow it in memory. */
struct queued {
	struct queued *next;
	const struct command *command;
	size_t argc, memory;
	struct bytes argv[];
};

/* The most keys that a session may watch: EXEC looks at all of them with their stripes locked. */
#define MAX_WATCHES 1024u

/**
 * struct watched - a watched key, whose bytes follow it in memory
 * @next: the next one of the session
 * @watch: in the table of the stripe
 * @own: in the table of the session
 */
struct watched {
	struct watched *next;
	struct watch watch, own;
};

/**
 * struct transaction - MULTI, and WATCH
 * @active: after MULTI
 * @failed: a command could not be queued
 * @touched: a watched key has changed; set by any client that changes it
 * @flags: of all queued commands
 * @count, @memory: number and bytes of the queued commands
 * @watches: the watched keys; @own_watches: the same, for a search by key; @watch_count: their
 *           number
 */
struct transaction {
	bool active, failed, touched;
	unsigned flags;
	size_t count, memory;
	struct queued *first, *last;
	struct watched *watches;
	struct watches *own_watches;
	size_t watch_count;
};

/* watched_memory - return the bytes that a watched key takes, its part of the two tables included.
 * @key_bytes: size of the key */
static inline size_t watched_memory(size_t key_bytes)
{
	return sizeof(struct watched) + 4 * sizeof(struct watch *) + key_bytes;
}

/* Locks that a session holds while a command runs, so that the command does not take them. */
#define HELD_STRIPES (1u << 0) /* those of all keys of the command */
#define HELD_PUBSUB  (1u << 1)
#define HELD_CLIENTS (1u << 2)

/**
 * struct session - one client
 * @next, @before: the list of all, under its lock
 * @id, @fd, @peer, @local, @created_s: set once
 * @name, @library, @library_version: under the lock of the list
 * @commands, @active_s, @command, @version (of the protocol): written by the session, and
 *     read by others without order
 * @label: what the session does, for the tools; NULL: it waits for the next request
 * @closing: the connection ends when its replies have been sent
 * @held: locks that are held for the command: HELD_*
 * @subscriptions, @mailbox: see pubsub.h
 * @garbage: freed after each command
 * @need: position in the log that must be durable before the replies are sent; 0: none
 */
struct session {
	struct server *server;
	struct session *next, *before;
	uint64_t id;
	int fd;
	char peer[64], local[64];
	uint64_t created_s, active_s;
	char name[SESSION_NAME], library[SESSION_NAME];
	char library_version[SESSION_NAME];
	uint64_t commands;
	const struct command *command;
	uint64_t version;
	const char *label;
	bool authenticated, closing;
	unsigned held;
	struct reply reply;
	struct store_clock clock;
	struct garbage garbage;
	uint64_t need;
	struct transaction transaction;
	struct subscriptions subscriptions;
	struct mailbox mailbox;
};

/* clients_lock, clients_unlock - the lock of the list. A fiber masks cancels. */
void clients_lock(struct server *server);
void clients_unlock(struct server *server);

/* clients_enter, clients_leave - the same, unless the session holds the lock for the command */
void clients_enter(struct session *session);
void clients_leave(struct session *session);

/**
 * struct clients_cursor - a visit of the list in steps, between which the list is not locked
 * @next: the session that is visited next; NULL: none is left
 * @other: another visit of the same server
 *
 * If a session ends, each cursor that has it next moves on to the session after it. Sessions
 * that begin meanwhile are not visited: they come before the first one.
 */
struct clients_cursor {
	struct session *next;
	struct clients_cursor *other;
};

/* clients_visit, clients_visited - begin and end a visit. The list is locked. */
void clients_visit(struct server *server, struct clients_cursor *cursor);
void clients_visited(struct server *server, struct clients_cursor *cursor);

/* session_begin - add a session to the list. Return: false: there is no room */
bool session_begin(struct server *server, struct session *session);

/* session_label - set the label of a session, and of the task that calls this. A poll task loses
 * it at the end of each poll, and sets it again */
static inline void session_label(struct session *session, const char *label)
{
	session->label = label;
	skua_task_set_label(label);
}

/* session_end - drop all that a session has, and remove it from the list */
void session_end(struct session *session);

/* session_buffers - add bytes to those of the large buffers, queued commands and subscriptions
 * of all sessions, or take them away. Return: whether they are within their limit. The bytes
 * are added in any case */
bool session_buffers(struct server *server, int64_t change);

/* session_password - check a password. Return: whether it is right */
bool session_password(struct session *session, struct bytes password);

/* transaction_reset - forget the queued commands */
void transaction_reset(struct session *session);

/* transaction_watched - add the stripes of the watched keys to a set */
void transaction_watched(const struct session *session, struct store_set *set);

/* transaction_unwatch - watch no key any more */
void transaction_unwatch(struct session *session);

/* transaction_unwatch_locked - the same, with the locks of the stripes held */
void transaction_unwatch_locked(struct session *session);

#endif
