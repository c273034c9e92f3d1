/* SPDX-License-Identifier: MIT */
/* echo_server.h - an echo server: a poll function or a fiber for each connection */
#ifndef SKUA_BENCH_WORKLOADS_IO_ECHO_SERVER_H
#define SKUA_BENCH_WORKLOADS_IO_ECHO_SERVER_H

#include <stdbool.h>

#include "skua/skua.h"

/**
 * struct echo_server - a server; private, except for @failed
 * @failed: tasks that could not be started
 */
struct echo_server {
	struct skua_runtime *rt;
	struct skua_io listener;
	struct skua_group connections;
	struct skua_task acceptor;
	struct skua_fiber accepting;
	struct skua_wait wait;
	bool fibers;
	unsigned failed;
};

/**
 * echo_server_start - accept connections, and answer each message with itself
 * @rt: live runtime, borrowed
 * @socket: a non-blocking socket that listens; owned by the server
 * @fibers: use fibers, not polls
 *
 * Return: 0; -errno.
 */
int echo_server_start(struct echo_server *server, struct skua_runtime *rt,
		      int socket, bool fibers);

/* echo_server_stop - close the listener, and wait until all connections have ended, which
 * the clients must end. Return: 0; -errno. */
int echo_server_stop(struct echo_server *server);

#endif
