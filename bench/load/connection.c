/* SPDX-License-Identifier: MIT */
/* connection.c - see connection.h */
#include "bench/load/connection.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Batches for which a new connection has room. */
#define RING_MIN 16

int connection_open(struct connection *connection,
		    const struct sockaddr *address, socklen_t size)
{
	const struct linger reset = { .l_onoff = 1 };
	const int on = 1;
	int fd = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int err;

	*connection = (struct connection){ .fd = fd, .mask = RING_MIN - 1 };
	if (fd < 0)
		return -errno;
	connection->ring = malloc(RING_MIN * sizeof(*connection->ring));
	/* A reset leaves no port behind that waits for a minute. */
	if (connection->ring &&
	    !setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset)) &&
	    !setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) &&
	    !connect(fd, address, size))
		return 0;
	err = connection->ring ? -errno : -ENOMEM;
	connection_close(connection);
	return err;
}

void connection_close(struct connection *connection)
{
	if (connection->fd >= 0)
		close(connection->fd);
	connection->fd = -1;
}

void connection_free(struct connection *connection)
{
	connection_close(connection);
	free(connection->ring);
	connection->ring = NULL;
}

/* Double the ring. */
static int grow(struct connection *connection)
{
	uint32_t old = connection->mask, new = 2 * old + 1;
	struct batch *ring = malloc(((size_t) new + 1) * sizeof(*ring));

	if (!ring)
		return -ENOMEM;
	for (uint32_t i = connection->head; i != connection->tail; i++)
		ring[i & new] = connection->ring[i & old];
	free(connection->ring);
	connection->ring = ring;
	connection->mask = new;
	return 0;
}

int connection_push(struct connection *connection, uint64_t intended_ns,
		    uint32_t first)
{
	if (connection->tail - connection->head > connection->mask &&
	    grow(connection))
		return -ENOMEM;
	connection->ring[connection->tail++ & connection->mask] =
		(struct batch){ .intended_ns = intended_ns, .first = first };
	return 0;
}

int connection_send(struct connection *connection,
		    const struct requests *requests)
{
	while (connection->unsent != connection->tail) {
		const struct batch *batch =
			&connection
				 ->ring[connection->unsent & connection->mask];
		size_t from = requests->at[batch->first] + connection->sent;
		size_t end = requests->at[batch->first + requests->batch];
		ssize_t n = send(connection->fd, requests->bytes + from,
				 end - from, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0)
			return -errno;
		connection->sent += (size_t)n;
		if ((size_t)n < end - from)
			return -EAGAIN;
		connection->sent = 0;
		connection->unsent++;
	}
	return 0;
}
