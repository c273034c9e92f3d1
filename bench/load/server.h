/* SPDX-License-Identifier: MIT */
/* server.h - the CPU time and the instructions of the server's process */
#ifndef SKUA_BENCH_LOAD_SERVER_H
#define SKUA_BENCH_LOAD_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "bench/clients/threads_usage.h"

struct perf_group;

/**
 * struct server - the server's process
 * @pid: 0: unknown, or on another machine
 * @why: why there are no figures, or ""
 * @group, @groups: a counter of instructions for each thread that the process has at the
 *                  start of the measurement
 * @counter_why: why instructions are not counted, or ""
 * @begun: @begin was read
 * @begin: CPU time and switches at the start
 */
struct server {
	pid_t pid;
	char why[160];
	struct perf_group **group;
	unsigned groups;
	char counter_why[160];
	bool begun;
	struct threads_usage begin;
};

/**
 * struct server_usage - what the server used
 * @known: false: struct server says why not
 * @instructions: in user mode; valid if @counted
 */
struct server_usage {
	bool known, counted;
	uint64_t cpu_ns, switches, instructions;
};

/**
 * server_find - ask the server for its process, by INFO
 * @fd: a connection; blocking, and without other requests
 *
 * Sets @pid, or @why. Return: 0; -errno: the server does not answer as it should: the
 * connection is of no use.
 */
int server_find(struct server *server, int fd);

/* server_check - drop a process that does not exist here; sets @pid and @why */
void server_check(struct server *server);

/* server_prepare - open the counters of instructions */
void server_prepare(struct server *server);

/* server_begin - begin to measure. Without success, @why or @counter_why says why */
void server_begin(struct server *server);

/* server_end - return what the server has used since server_begin() */
struct server_usage server_end(struct server *server);

void server_free(struct server *server);

#endif
