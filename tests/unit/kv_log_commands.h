/* SPDX-License-Identifier: MIT */
/* kv_log_commands.h - commands of skua-kv, with a log on a disk that fails on request */
#ifndef SKUA_TESTS_UNIT_KV_LOG_COMMANDS_H
#define SKUA_TESTS_UNIT_KV_LOG_COMMANDS_H

#include "bench/kv/commands/command.h"
#include "bench/kv/commands/logged.h"
#include "tests/unit/kv_log_writer.h"

extern struct server server;
/* A client. */
extern struct session session;

/* begin_all - prepare all tests */
int begin_all(void **state);

/* begin_commands - start a server with an empty log; end_commands - end it, after log_stop() */
void begin_commands(enum log_mode mode);
void end_commands(void);

/* begin_session - prepare another client */
void begin_session(struct session *it);

/* command_of - run a command of a client. @line: words; command - the same as @session */
void command_of(struct session *it, const char *line);
void command(const char *line);

#endif
