/* SPDX-License-Identifier: MIT */
/* output.h - sends the replies of a connection */
#ifndef SKUA_BENCH_KV_OUTPUT_H
#define SKUA_BENCH_KV_OUTPUT_H

#include <skua/io.h>
#include <skua/task.h>

#include <sys/uio.h>

#include "bench/kv/resp/reply.h"

/**
 * output_send - send all replies, and wait until the client has taken them
 * @reply: empty afterwards
 *
 * In a fiber, with cancels masked. Return: false: the connection cannot go on: it is gone,
 * or a reply has failed.
 */
bool output_send(struct skua_io io, struct reply *reply);

/* Pieces of one write of output_send_poll(). */
#define OUTPUT_PIECES 16

/**
 * struct output - the replies that a task sends; zeroed at first. It must not move during a
 *                 send
 * @mark, @at, @inside: numbers of large values, of bytes of the buffer, and of bytes of the
 *                      next large value that were sent
 * @pieces, @count: what is being written
 */
struct output {
	size_t mark, at, inside;
	struct iovec pieces[OUTPUT_PIECES];
	int count;
};

/* output_send_poll - as output_send(), in a poll
 *
 * Return: 0; -EAGAIN: return SKUA_PENDING, and call it again; other negative values: the
 * connection cannot go on. */
int output_send_poll(struct skua_task *self, struct skua_io io,
		     struct reply *reply, struct output *output,
		     struct skua_wait *wait);

#endif
