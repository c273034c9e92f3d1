/* SPDX-License-Identifier: MIT */
/*
 * main.c - echo servers of epoll alone: the least that a server can do
 *
 *   echo_1, echo_50, echo_10k   each thread waits in an epoll of its own. A connection
 *                               belongs to the thread that accepted it, and is registered
 *                               once, edge-triggered. A message costs one recv() and one
 *                               send(): after a read that did not fill the buffer, the
 *                               call that would return EAGAIN is left out
 *
 * It is no scheduler: other work, such as timers or tasks, has no place in it.
 */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "bench/peers/harness/harness.h"

/* Events of one call of epoll_wait(). */
#define BATCH 64

struct server {
	int epoll;
	int listener;
};

static void accept_all(const struct server *server)
{
	const int on = 1;

	for (;;) {
		int fd = accept4(server->listener, NULL, NULL,
				 SOCK_NONBLOCK | SOCK_CLOEXEC);
		struct epoll_event event = {
			.events = EPOLLIN | EPOLLRDHUP | EPOLLET, .data.fd = fd
		};

		if (fd < 0)
			return;
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
		if (epoll_ctl(server->epoll, EPOLL_CTL_ADD, fd, &event) != 0)
			close(fd);
	}
}

/* Send all of a message. The client's requests fit into the socket's buffer; nevertheless
 * the thread waits if it is full. */
static bool send_all(int fd, const char *data, size_t size)
{
	while (size > 0) {
		ssize_t n = send(fd, data, size, MSG_NOSIGNAL);

		if (n < 0 && errno == EAGAIN) {
			poll(&(struct pollfd){ .fd = fd, .events = POLLOUT }, 1,
			     -1);
			continue;
		}
		if (n <= 0)
			return false;
		data += n;
		size -= (size_t)n;
	}
	return true;
}

static void echo(int fd, uint32_t events)
{
	char buffer[4096];
	ssize_t n;

	do {
		n = recv(fd, buffer, sizeof(buffer), 0);
		if (n < 0 && errno == EAGAIN)
			return;
		if (n <= 0 || !send_all(fd, buffer, (size_t)n)) {
			close(fd);
			return;
		}
		/* If the client has closed, no further edge will come. */
	} while (n == sizeof(buffer) || (events & EPOLLRDHUP) != 0);
}

static void *serve_thread(void *arg)
{
	const struct server *server = arg;
	struct epoll_event events[BATCH];

	for (;;) {
		int count = epoll_wait(server->epoll, events, BATCH, -1);

		for (int i = 0; i < count; i++)
			if (events[i].data.fd == server->listener)
				accept_all(server);
			else
				echo(events[i].data.fd, events[i].events);
	}
	return NULL;
}

static void serve(struct harness *h)
{
	for (unsigned i = 0; i < h->workers; i++) {
		struct server *server = malloc(sizeof(*server));
		struct epoll_event event = { .events = EPOLLIN | EPOLLEXCLUSIVE,
					     .data.fd = h->listener };
		pthread_t thread;

		if (server == NULL)
			exit(1);
		*server =
			(struct server){ .epoll = epoll_create1(EPOLL_CLOEXEC),
					 .listener = h->listener };
		if (server->epoll < 0 ||
		    epoll_ctl(server->epoll, EPOLL_CTL_ADD, h->listener,
			      &event) != 0 ||
		    pthread_create(&thread, NULL, serve_thread, server) != 0) {
			fputs("epoll: cannot start a thread\n", stderr);
			exit(1);
		}
		pthread_detach(thread);
	}
}

int main(int argc, char **argv)
{
	static const struct harness_round rounds[] = {
		{ "echo_1", serve },
		{ "echo_50", serve },
		{ "echo_10k", serve },
		{ NULL, NULL },
	};
	struct utsname kernel;
	const struct harness_peer peer = {
		.name = "epoll",
		.version = uname(&kernel) == 0 ? kernel.release : "",
		.rounds = rounds,
	};

	(void)argc;
	return harness_main(&peer, argv);
}
