/* SPDX-License-Identifier: MIT */
/* poll.h - the poll tasks of the connections */
#ifndef SKUA_BENCH_KV_POLL_H
#define SKUA_BENCH_KV_POLL_H

#include <skua/skua.h>

#include "bench/kv/server/session.h"

/* poll_start - serve a connection in a poll task of its own. As connection_start(), with
 * poll_release() */
int poll_start(struct server *server, struct skua_group *group,
	       struct skua_io io);

/* poll_release - free a connection that has ended */
void poll_release(struct skua_task *task);

/* poll_stop_all - let all connections end when they have answered what they have received */
void poll_stop_all(struct server *server);

#endif
