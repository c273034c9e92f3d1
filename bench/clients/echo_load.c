/* SPDX-License-Identifier: MIT */
/* echo_load.c - see echo_load.h */
#include "bench/clients/echo_load.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bench/harness/clock.h"

/* Events of one call of epoll_wait(). */
#define BATCH 64

/* A client that sleeps and gets no answer for this long gives up. */
#define SILENCE_MS 30000

static int complain(const char *what, int err)
{
	fprintf(stderr, "skua-echo-client: %s: %s\n", what, strerror(-err));
	return err;
}

/* ---- connections ---------------------------------------------------------- */

static int open_socket(unsigned port, int *out)
{
	const struct linger reset = { .l_onoff = 1 };
	const struct sockaddr_in address = {
		.sin_family = AF_INET,
		.sin_port = htons((uint16_t)port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	const int on = 1;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -errno;
	*out = fd;
	/* A reset leaves no port behind that waits for a minute. */
	if (setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset)) != 0 ||
	    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) != 0 ||
	    connect(fd, (const struct sockaddr *)&address, sizeof(address)) !=
		    0)
		return -errno;
	return 0;
}

/* Have the server answer once. */
static int first_request(struct echo_load *load, int fd)
{
	struct echo_message answer;

	if (send(fd, &load->request, ECHO_BYTES, MSG_NOSIGNAL) != ECHO_BYTES ||
	    recv(fd, &answer, ECHO_BYTES, MSG_WAITALL) != ECHO_BYTES)
		return errno != 0 ? -errno : -ECONNRESET;
	return memcmp(&answer, &load->request, ECHO_BYTES) == 0 ? 0 : -EBADMSG;
}

static int open_connection(struct echo_load *load, unsigned i, unsigned port)
{
	struct echo_connection *connection = &load->connection[i];
	struct epoll_event event = { .events = EPOLLIN | EPOLLET,
				     .data.u32 = i };
	int err = open_socket(port, &connection->fd);

	if (err == 0)
		err = first_request(load, connection->fd);
	if (err != 0)
		return err;
	if (epoll_ctl(load->epoll, EPOLL_CTL_ADD, connection->fd, &event) != 0)
		return -errno;
	load->idle[load->idle_count++] = i;
	return 0;
}

int echo_load_open(struct echo_load *load, unsigned port)
{
	int err = 0;

	for (unsigned i = 0; i < ECHO_BYTES / 8 - 1; i++)
		load->request.filler[i] = UINT64_C(0x0123456789abcdef) * i;
	load->connection = calloc(load->connections, sizeof(*load->connection));
	load->idle = calloc(load->connections, sizeof(*load->idle));
	if (load->connection == NULL || load->idle == NULL)
		return complain("no connections", -ENOMEM);
	for (unsigned i = 0; i < load->connections; i++)
		load->connection[i].fd = -1;
	load->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (load->epoll < 0)
		return complain("no epoll", -errno);
	for (unsigned i = 0; err == 0 && i < load->connections; i++) {
		err = open_connection(load, i, port);
		if (err != 0)
			complain("cannot connect, or no answer", err);
	}
	return err;
}

void echo_load_close(struct echo_load *load)
{
	for (unsigned i = 0; load->connection != NULL && i < load->connections;
	     i++)
		if (load->connection[i].fd >= 0)
			close(load->connection[i].fd);
	if (load->epoll > 0)
		close(load->epoll);
	free(load->connection);
	free(load->idle);
}

/* ---- a round -------------------------------------------------------------- */

/* The requests of a round. */
struct round {
	uint64_t to_send;
	uint64_t to_receive;
	struct histogram *latencies;
	uint64_t wrong;
};

static int send_next(struct echo_load *load, struct round *round,
		     uint64_t now_ns)
{
	struct echo_connection *connection =
		&load->connection[load->idle[load->idle_first]];

	load->idle_first = (load->idle_first + 1) % load->connections;
	load->idle_count--;
	load->request.number++;
	connection->number = load->request.number;
	connection->received = 0;
	connection->sent_ns = now_ns;
	round->to_send--;
	if (send(connection->fd, &load->request, ECHO_BYTES,
		 MSG_NOSIGNAL | MSG_DONTWAIT) != ECHO_BYTES)
		return complain("cannot send", -errno);
	return 0;
}

static void make_idle(struct echo_load *load, unsigned i)
{
	unsigned last = load->idle_first + load->idle_count;

	load->idle[last % load->connections] = i;
	load->idle_count++;
}

/* The whole answer is here. */
static int finish(struct echo_load *load, struct round *round, unsigned i)
{
	const struct echo_connection *connection = &load->connection[i];
	uint64_t now_ns = clock_ns();

	histogram_record(round->latencies, now_ns - connection->sent_ns);
	round->wrong += connection->answer.number != connection->number ||
			memcmp(connection->answer.filler, load->request.filler,
			       sizeof(load->request.filler)) != 0;
	round->to_receive--;
	make_idle(load, i);
	return round->to_send > 0 ? send_next(load, round, now_ns) : 0;
}

static int receive(struct echo_load *load, struct round *round, unsigned i)
{
	struct echo_connection *connection = &load->connection[i];
	unsigned received = connection->received;
	ssize_t n = recv(connection->fd, (char *)&connection->answer + received,
			 ECHO_BYTES - received, MSG_DONTWAIT);

	if (n < 0 && errno == EAGAIN)
		return 0;
	if (n <= 0)
		return complain("a connection ended",
				n < 0 ? -errno : -ECONNRESET);
	connection->received += (unsigned)n;
	return connection->received == ECHO_BYTES ? finish(load, round, i) : 0;
}

/* Wait for events, and handle them. Return: their number, or -errno. */
static int handle_events(struct echo_load *load, struct round *round)
{
	struct epoll_event events[BATCH];
	int count = epoll_wait(load->epoll, events, BATCH,
			       load->spin ? 0 : SILENCE_MS);
	int err = 0;

	if (count < 0)
		return errno == EINTR ? 0 : complain("epoll_wait", -errno);
	if (count == 0 && !load->spin)
		return complain("no answer", -ETIMEDOUT);
	for (int i = 0; err == 0 && i < count; i++)
		err = receive(load, round, events[i].data.u32);
	return err != 0 ? err : count;
}

int echo_load_round(struct echo_load *load, uint64_t requests,
		    struct histogram *latencies, uint64_t *wrong)
{
	struct round round = { .to_send = requests,
			       .to_receive = requests,
			       .latencies = latencies };
	int err = 0;

	for (unsigned i = 0; err == 0 && i < load->active; i++)
		if (round.to_send > 0)
			err = send_next(load, &round, clock_ns());
	while (err >= 0 && round.to_receive > 0)
		err = handle_events(load, &round);
	*wrong = round.wrong;
	return err < 0 ? err : 0;
}
