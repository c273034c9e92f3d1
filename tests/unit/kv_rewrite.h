/* SPDX-License-Identifier: MIT */
/* kv_rewrite.h - a server of skua-kv that rewrites its log, on a disk that fails on request */
#ifndef SKUA_TESTS_UNIT_KV_REWRITE_H
#define SKUA_TESTS_UNIT_KV_REWRITE_H

#include "bench/kv/commands/command.h"
#include "bench/kv/log/log.h"
#include "tests/unit/kv_disk.h"
#include "tests/unit/unit.h"

/* ---- the disk (kv_rewrite_disk.c) ------------------------------------------------- */

/* The log, and the file that a rewrite makes. */
extern char path[64], new_path[64];

/* The results of the next calls; 0: those of the kernel. */
extern int open_error, rename_error, folder_error;
/* The same for the new file; and for the log while there is a new file. */
extern int new_write_error, new_sync_error, old_write_error;
/* Writes of the new file wait until this is 0. */
extern unsigned new_stuck;
/* How often the name of the new file was removed, and how often a worker did it. */
extern unsigned removals, removals_by_workers;
/* The descriptor of the new file; -1: there is none. */
extern int new_fd;

/* disk_begin, disk_end - create an empty folder, and remove it. Return: false if it cannot be
 * created */
bool disk_begin(void);
void disk_end(void);

/* ---- a server --------------------------------------------------------------------- */

/* A server, and a client. */
struct kv {
	struct server server;
	struct session session;
};

extern struct kv kv;
extern struct skua_runtime *runtime;
extern struct log server_log;

/* kv_begin_all - prepare all tests; kv_begin, kv_end - prepare each, and clean up after it */
int kv_begin_all(void **state);
int kv_begin(void **state);
int kv_end(void **state);

/* client_begin, client_end - begin and end the session of another client */
void client_begin(struct session *session, struct server *server);
void client_end(struct session *session);

/* try_start - open the log of a server, and run the commands that are in it. Return: 0, or the
 * error of log_open() */
int try_start(struct kv *to, struct log *log, enum log_mode mode);

/* start - start @kv with @server_log */
void start(enum log_mode mode);

/* stop - stop a server that was started */
void stop(struct kv *of, struct log *log);

/* ---- commands --------------------------------------------------------------------- */

/* Commands do not wait for their records: many are added fast, also in mode always. */
extern bool hurried;

/* run_as - run a command, and wait until its record is durable. @line: words; @name takes the
 * place of a word that begins with % */
void run_as(struct session *session, const char *line, const char *name);

/* run, run_on - the same as the client of @kv; run_long - with a long last argument */
void run(const char *line);
void run_on(const char *line, const char *name);
void run_long(const char *name, const char *key, size_t size);

/* ---- rewrites --------------------------------------------------------------------- */

void sleep_a_little(void);

/* until_ended - wait until no rewrite runs; rewrite_now - run one */
void until_ended(void);
void rewrite_now(void);

/* expect_rewritten - the last rewrite ends without an error */
void expect_rewritten(void);

/* A rewrite that waits in the middle, for the lock of this stripe, until go_on(). */
#define MIDDLE 512u

void rewrite_to_the_middle(void);
void go_on(void);

/* key_of - return a key of a stripe that was visited, or was not, by a rewrite that is in the
 * middle. @number: of the key */
const char *key_of(bool visited, unsigned number);

/* expect_same_after_start - stop @kv, and compare its keys with those of a server that starts
 * with its log (kv_rewrite_same.c) */
void expect_same_after_start(void);

#endif
