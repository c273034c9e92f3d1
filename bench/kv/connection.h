/* SPDX-License-Identifier: MIT */
/* connection.h - the fibers of the connections */
#ifndef SKUA_BENCH_KV_CONNECTION_H
#define SKUA_BENCH_KV_CONNECTION_H

#include <skua/skua.h>

#include "bench/kv/server/session.h"

/**
 * connection_start - serve a connection in a fiber of its own
 * @io: of the runtime of @group; the connection closes it
 * @group: has connection_release() as its release function
 *
 * Return: 0; a negative errno value: @io is closed.
 */
int connection_start(struct server *server, struct skua_group *group,
		     struct skua_io io);

/* connection_release - free a connection that has ended */
void connection_release(struct skua_task *task);

/* connection_kick - end the socket of a connection, so that it does not wait for its
 * client */
void connection_kick(struct session *session);

/* connections_shut_down - end the sockets of all connections, so that none waits for its
 * client */
void connections_shut_down(struct server *server);

#endif
