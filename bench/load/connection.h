/* SPDX-License-Identifier: MIT */
/**
 * connection.h - a connection to the server, and the batches that wait for replies
 *
 * Batches are answered in the order in which they were sent. A batch that the socket does
 * not take at once is sent later; it keeps its intended time.
 */
#ifndef SKUA_BENCH_LOAD_CONNECTION_H
#define SKUA_BENCH_LOAD_CONNECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "bench/load/reply.h"
#include "bench/load/requests.h"

/**
 * struct batch - requests that are sent together
 * @intended_ns: when they should be sent
 * @first: number of the first request
 * @answered: replies that have come
 */
struct batch {
	uint64_t intended_ns;
	uint32_t first;
	uint32_t answered;
};

/**
 * struct connection - a connection
 * @fd: -1: closed
 * @blocked: the socket takes no more for now
 * @head, @unsent, @tail: the oldest batch, the first one that was not sent completely, and
 *                        the place of the next one; they wrap, and index @ring by @mask
 * @sent: bytes of batch @unsent that were sent
 * @ring: mask + 1 batches
 */
struct connection {
	int fd;
	bool blocked;
	uint32_t head, unsent, tail, mask;
	size_t sent;
	struct batch *ring;
	struct reply_reader reader;
};

/* connection_open - connect; waits for the server. Return: 0; -errno. */
int connection_open(struct connection *connection,
		    const struct sockaddr *address, socklen_t size);

/* connection_close - close the socket. The batches stay. */
void connection_close(struct connection *connection);

void connection_free(struct connection *connection);

/* connection_push - add a batch, without sending it. Return: 0; -ENOMEM. */
int connection_push(struct connection *connection, uint64_t intended_ns,
		    uint32_t first);

/* connection_send - send what was not sent. Return: 0: all is sent; -EAGAIN: the socket
 * takes no more for now; another -errno. */
int connection_send(struct connection *connection,
		    const struct requests *requests);

/* connection_oldest - return the batch whose reply comes next; NULL: no batch was
 * sent, not even in part */
static inline struct batch *connection_oldest(struct connection *connection)
{
	if (connection->head == connection->unsent && !connection->sent)
		return NULL;
	return &connection->ring[connection->head & connection->mask];
}

#endif
