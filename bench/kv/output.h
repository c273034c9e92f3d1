/* SPDX-License-Identifier: MIT */
/* output.h - sends the replies of a connection */
#ifndef SKUA_BENCH_KV_OUTPUT_H
#define SKUA_BENCH_KV_OUTPUT_H

#include <skua/io.h>

#include "bench/kv/server/session.h"

/**
 * output_send - send all replies, and wait until the client has taken them
 * @server: has the limit of large buffers
 * @reply: empty afterwards
 *
 * In a fiber, with cancels masked. Return: false: the connection cannot go on: it is gone,
 * a reply has failed, or too much memory would wait with it.
 */
bool output_send(struct server *server, struct skua_io io, struct reply *reply);

#endif
