/* SPDX-License-Identifier: MIT */
/* output.h - sends the replies of a connection */
#ifndef SKUA_BENCH_KV_OUTPUT_H
#define SKUA_BENCH_KV_OUTPUT_H

#include <skua/io.h>

#include "bench/kv/resp/reply.h"

/**
 * output_send - send all replies, and wait until the client has taken them
 * @reply: empty afterwards
 *
 * In a fiber, with cancels masked. Return: false: the connection cannot go on: it is gone,
 * or a reply has failed.
 */
bool output_send(struct skua_io io, struct reply *reply);

#endif
